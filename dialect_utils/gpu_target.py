# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which GPU a function is compiled for, and how many lanes and waves run it.

The target is IREE's `#iree_gpu.target` attribute inside the configuration of the
`hal.executable.target` that encloses the function. That attribute has no Python binding, so it
is read from its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from iree.compiler import ir
from iree.compiler._mlir_libs._ireeCompilerDialects import iree_codegen

from ..bank_model.targets import Target, UnknownTargetError, target_named
from .diagnostics import Refusal
from .operations import children

_TARGET = re.compile(r'#iree_gpu\.target<\s*arch\s*=\s*"([^"]+)"')
_MATRIX_INSTRUCTIONS = re.compile(r"\bmma = \[([^\]]*)\]")
_NAME = re.compile(r"<(\w+)>")
_WORKGROUP_MEMORY = re.compile(r"max_workgroup_memory_bytes\s*=\s*(\d+)")


DEFAULT_LDS_BYTES = 64 * 1024
"""The limit that the stock pass assumes for a function without a target."""


class GpuTargetInfo(NamedTuple):
    """What the compiler knows of the GPU; None where the attribute does not say."""

    arch: str
    """The architecture as IREE spells it: "gfx942", "sm_80"."""
    max_workgroup_memory_bytes: int | None = None
    """LDS that one workgroup may allocate."""
    matrix_instructions: tuple[str, ...] = ()
    """The names that the compiler has for the matrix instructions of the GPU."""

    @property
    def chip(self) -> Target | None:
        """Returns what is known of the GPU, that of `sm_120` for `sm_120a`; None if nothing is."""
        try:
            return target_named(self.arch)
        except UnknownTargetError:
            return None

    @staticmethod
    def parse(text: str) -> GpuTargetInfo | None:
        """Reads the first `#iree_gpu.target` in the text of an attribute; None without one."""
        match = _TARGET.search(text)
        if match is None:
            return None
        memory = _WORKGROUP_MEMORY.search(text, match.end())
        listed = _MATRIX_INSTRUCTIONS.search(text, match.end())
        return GpuTargetInfo(
            match[1],
            int(memory[1]) if memory else None,
            tuple(_NAME.findall(listed[1])) if listed else (),
        )


class Launch(NamedTuple):
    """How a function is launched; lanes are numbered x first, as the hardware fills waves."""

    workgroup_size: tuple[int, ...]
    """Lanes of a workgroup along x, y and z."""
    subgroup_size: int
    """Lanes of a wave."""

    @property
    def threads(self) -> int:
        """Returns the number of lanes of a workgroup."""
        return prod(self.workgroup_size)

    @property
    def waves(self) -> int:
        """Returns the number of waves of a workgroup, the last of which may not be full."""
        return -(-self.threads // self.subgroup_size)


def gpu_target_of(
    function: ir.Operation | ir.OpView, test_target: str | None = None
) -> GpuTargetInfo | None:
    """Returns the target of `function`: its own, the nearest enclosing op's, else `test_target`.

    A `hal.executable.variant` names the target in its attribute `target`; any op may carry one
    as `hal.executable.target`, and tests do. A function of a program has that of the program's
    devices, if they are of one kind.
    """
    is_told, info = False, None
    for op in _self_and_parents(function.operation):
        for name in ("hal.executable.target", "target", "iree_codegen.target_info"):
            if name in op.attributes:
                is_told, info = True, GpuTargetInfo.parse(str(op.attributes[name]))
                if info is not None:
                    return info
        if op.name == "builtin.module" and not is_told:
            info = _target_of_devices(op) or info
    return info or (GpuTargetInfo(test_target) if test_target else None)


def _target_of_devices(module: ir.Operation) -> GpuTargetInfo | None:
    """Returns the target of the devices that a program names, if it is the only one.

    IREE writes each device into a global of type `!hal.device`, before it forms dispatches.
    """
    found: set[GpuTargetInfo | None] = set()
    for each in children(module):
        if each.name == "util.global" and str(each.attributes["type"]) == "!hal.device":
            known = "initial_value" in each.attributes
            text = str(each.attributes["initial_value"]) if known else ""
            targets = [GpuTargetInfo.parse(text[m.start() :]) for m in _TARGET.finditer(text)]
            found.update(targets or [None])
    return found.pop() if len(found) == 1 else None


def launch_of(function: ir.Operation | ir.OpView) -> Launch | None:
    """Returns the workgroup and subgroup size that the function's `translation_info` states.

    Returns None where one of them is missing, and for more lanes than a GPU runs in one workgroup,
    of which nothing can be said lane by lane.
    """
    attributes = function.operation.attributes
    if "translation_info" not in attributes:
        return None
    info = attributes["translation_info"]
    if not isinstance(info, iree_codegen.TranslationInfoAttr):
        return None
    launch = Launch(tuple(info.workgroup_size), info.subgroup_size)
    if not launch.workgroup_size or launch.threads <= 0 or launch.subgroup_size <= 0:
        return None
    return launch if launch.waves * launch.subgroup_size <= _MOST_LANES else None


_MOST_LANES = 1 << 14
"""Far beyond the 1024 lanes of a workgroup that the GPUs of AMD and NVIDIA allow."""


def chip_of(function: ir.Operation | ir.OpView, test_target: str | None = None) -> Target | None:
    """Returns what is known of the GPU that a function is compiled for; None if nothing is."""
    info = gpu_target_of(function, test_target)
    return None if info is None else info.chip


def lds_model(function: ir.Operation, test_target: str | None) -> tuple[Target, Launch]:
    """Returns the bank model of the function's GPU and the function's launch.

    Returns the reason where there is none.

    Raises:
        Refusal: there is no such model.
    """
    info = gpu_target_of(function, test_target)
    if info is None:
        raise Refusal("the function has no GPU target")
    lds = info.chip
    if lds is None:
        raise Refusal(f"the LDS of {info.arch} is not known")
    launch = launch_of(function)
    if launch is None:
        raise Refusal(
            "the function has no translation_info with workgroup and subgroup size of at most "
            f"{_MOST_LANES} lanes"
        )
    if launch.subgroup_size != lds.wave_size:
        raise Refusal(
            f"waves of {launch.subgroup_size} lanes: the LDS of {info.arch} is only known "
            f"for {lds.wave_size}"
        )
    return lds, launch


def lds_limit(function: ir.Operation, test_target: str | None) -> int:
    """Returns the bytes of LDS that a workgroup of the function may have.

    It is `DEFAULT_LDS_BYTES` where nothing is known of the GPU. What the compiler says counts as
    far as the chip has it: IREE 3.13 gives sm_86 the shared memory of sm_80.
    """
    info = gpu_target_of(function, test_target)
    if info is None:
        return DEFAULT_LDS_BYTES
    chip, said = info.chip, info.max_workgroup_memory_bytes
    if chip is None:
        return DEFAULT_LDS_BYTES if said is None else said
    return chip.lds_bytes if said is None else min(said, chip.lds_bytes)


def _self_and_parents(op: ir.Operation) -> Iterator[ir.Operation]:
    current: ir.Operation | None = op
    while current is not None:
        yield current
        parent = current.parent
        current = parent.operation if parent is not None else None
