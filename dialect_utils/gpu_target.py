# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which GPU a function is compiled for, and how many lanes and waves run it.

The target is IREE's `#iree_gpu.target` attribute inside the configuration of the
`hal.executable.target` that encloses the function, or MLIR's `#nvvm.target` or `#rocdl.target` on a
`gpu.module`. These attributes have no Python binding, so they are read from their text.

The launch is what the function's `translation_info` says. A `gpu.func`, a `gpu.launch`, or any
function with MLIR's attribute `gpu.known_block_size`, may say the size of its workgroups alone;
then its waves are as large as the GPU has them.

Part of it works around IREE 3.13 (`docs/for_iree.md#the-shared-memory-of-sm_86`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from iree.compiler import ir
from iree.compiler._mlir_libs._ireeCompilerDialects import iree_codegen

from ..bank_model.families import MLIR_DEFAULT_CHIPS, MOST_THREADS
from ..bank_model.features import Features, features_of
from ..bank_model.lds_rules import Lds
from ..bank_model.lds_tables import UnknownTargetError, lds_of
from ..bank_model.quick_tuple import NamedTuple
from ..bank_model.targets import arch_named
from .diagnostics import Refusal
from .operations import GPU_FUNC, GPU_LAUNCH, children, constant_value, segments_of

_TARGET = re.compile(r'#iree_gpu\.target<\s*arch\s*=\s*"([^"]+)"')
_MODULE_TARGET = re.compile(r"#(?:nvvm|rocdl)\.target(?:<[^>]*>)?")
_CHIP = re.compile(r'\bchip\s*=\s*"([^"]+)"')
_MATRIX_INSTRUCTIONS = re.compile(r"\bmma = \[([^\]]*)\]")
_NAME = re.compile(r"<(\w+)>")
_WORKGROUP_MEMORY = re.compile(r"max_workgroup_memory_bytes\s*=\s*(\d+)")


TARGET_ATTRIBUTES = ("hal.executable.target", "target", "iree_codegen.target_info")
"""The names of the attributes by which an operation names its GPU."""

ASKED_WORKGROUPS = "nvvm.minctasm"
"""The attribute of a function that becomes `.minnctapersm` of PTX: with so many registers at most
that a multiprocessor holds as many workgroups."""

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
    def lds(self) -> Lds | None:
        """Returns the LDS of the GPU, that of `sm_120` for `sm_120a`; None if it is not known."""
        try:
            return lds_of(arch_named(self.arch))
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
        for name in TARGET_ATTRIBUTES:
            if name in op.attributes:
                is_told, info = True, GpuTargetInfo.parse(str(op.attributes[name]))
                if info is not None:
                    return info
        if op.name == "gpu.module" and "targets" in op.attributes:
            is_told, info = True, _target_of_module(str(op.attributes["targets"]))
            if info is not None:
                return info
        if op.name == "builtin.module" and not is_told:
            info = _target_of_devices(op) or info
    return info or (GpuTargetInfo(test_target) if test_target else None)


def _target_of_module(targets: str) -> GpuTargetInfo | None:
    """Returns the target that a `gpu.module` is compiled for, if it is the only one."""
    archs: set[str] = set()
    for match in _MODULE_TARGET.finditer(targets):
        chip = _CHIP.search(match[0])
        dialect = match[0][1:].partition(".")[0]
        archs.add(chip[1] if chip else MLIR_DEFAULT_CHIPS[dialect])
    return GpuTargetInfo(archs.pop()) if len(archs) == 1 else None


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


def launch_of(
    function: ir.Operation | ir.OpView,
    test_target: str | None = None,
    *,
    arch: str | None = None,
) -> Launch | None:
    """Returns the workgroup and subgroup size of a function or of a `gpu.launch`.

    Returns None where one of them is missing, and for more lanes than a GPU runs in one workgroup,
    of which nothing can be said lane by lane.

    Args:
        test_target: the GPU of a function that names none.
        arch: the GPU on which it runs, whatever it names.
    """
    operation = function.operation
    launch = _translated(operation) or _launched(operation, test_target, arch)
    if launch is None or launch.threads <= 0 or launch.subgroup_size <= 0:
        return None
    return launch if launch.waves * launch.subgroup_size <= MOST_THREADS else None


def _translated(operation: ir.Operation) -> Launch | None:
    """Returns what the `translation_info` says; None without one, or where it says nothing."""
    attributes = operation.attributes
    if "translation_info" not in attributes:
        return None
    info = attributes["translation_info"]
    if not isinstance(info, iree_codegen.TranslationInfoAttr) or not info.workgroup_size:
        return None
    return Launch(tuple(info.workgroup_size), info.subgroup_size)


def _launched(operation: ir.Operation, test_target: str | None, arch: str | None) -> Launch | None:
    """Returns the launch of a function that says the size of its workgroups alone."""
    block = block_size_of(operation)
    if block is None:
        return None
    if arch is not None:
        return Launch(block, lds_of(arch_named(arch)).wave_size)
    info = gpu_target_of(operation, test_target)
    return None if info is None or info.lds is None else Launch(block, info.lds.wave_size)


KNOWN_BLOCK_SIZES = {GPU_FUNC: "known_block_size"}
"""The attribute by which an operation says the size of its workgroups, where it has one of its own
for that. All others have `KNOWN_BLOCK_SIZE`."""
KNOWN_BLOCK_SIZE = "gpu.known_block_size"


def block_size_of(operation: ir.Operation) -> tuple[int, ...] | None:
    """Returns the lanes of a workgroup along x, y and z that MLIR's gpu dialect states.

    These are the constants that a `gpu.launch` gets, or an attribute. None where there are none.
    """
    if operation.name == GPU_LAUNCH:
        sizes = [constant_value(value) for each in segments_of(operation)[4:7] for value in each]
        known = [size for size in sizes if size is not None]
        if len(known) == len(sizes):
            return tuple(known)
    for name in (KNOWN_BLOCK_SIZES.get(operation.name), KNOWN_BLOCK_SIZE):
        if name is not None and name in operation.attributes:
            found = operation.attributes[name]
            if isinstance(found, ir.DenseI32ArrayAttr):
                return tuple(found)
    return None


def why_no_launch(function: ir.Operation) -> str:
    """Returns why `launch_of` knows no launch of a function."""
    said = _translated(function)
    block = prod(block_size_of(function) or ())
    lanes = block if said is None else max(said.threads, said.subgroup_size)
    if lanes > MOST_THREADS:
        return f"its workgroups have {lanes:,} lanes, and GPUs run at most {MOST_THREADS:,} in one"
    return (
        "the function has no translation_info with workgroup and subgroup size, and no known block "
        "size, which --block=X,Y,Z gives to bankwise-opt and bankwise-report"
    )


_NO_FEATURES = Features("")


def gpu_features_of(function: ir.Operation | ir.OpView, test_target: str | None = None) -> Features:
    """Returns what the GPU that a function is compiled for has; nothing for one that is unknown."""
    info = gpu_target_of(function, test_target)
    lds = None if info is None else info.lds
    return _NO_FEATURES if lds is None else features_of(lds.arch)


def lds_model(function: ir.Operation, test_target: str | None) -> tuple[Lds, Launch]:
    """Returns the bank model of the function's GPU and the function's launch.

    Raises:
        Refusal: there is no such model, for the reason that it gives.
    """
    info = gpu_target_of(function, test_target)
    if info is None:
        raise Refusal("the function has no GPU target")
    lds = info.lds
    if lds is None:
        raise Refusal(f"the LDS of {info.arch} is not known")
    launch = launch_of(function, test_target)
    if launch is None:
        raise Refusal(why_no_launch(function))
    of_waves = lds.of_waves(launch.subgroup_size)
    if of_waves is None:
        raise Refusal(
            f"waves of {launch.subgroup_size} lanes: the LDS of {info.arch} is only known "
            f"for {lds.wave_size}"
        )
    return of_waves, launch


def lds_limit(function: ir.Operation, test_target: str | None) -> int:
    """Returns the bytes of LDS that a workgroup of the function may have.

    It is `DEFAULT_LDS_BYTES` where nothing is known of the GPU. What the compiler says counts as
    far as the chip has it: IREE 3.13 gives sm_86 the shared memory of sm_80.
    """
    info = gpu_target_of(function, test_target)
    if info is None:
        return DEFAULT_LDS_BYTES
    lds, said = info.lds, info.max_workgroup_memory_bytes
    if lds is None:
        return DEFAULT_LDS_BYTES if said is None else said
    return lds.workgroup_bytes if said is None else min(said, lds.workgroup_bytes)


def ask_for_workgroups(function: ir.Operation, number: int) -> None:
    """Lets ptxas give lanes so few registers that a multiprocessor holds so many workgroups."""
    kind = ir.IntegerType.get_signless(32, function.context)
    function.attributes[ASKED_WORKGROUPS] = ir.IntegerAttr.get(kind, number)


def _self_and_parents(op: ir.Operation) -> Iterator[ir.Operation]:
    current: ir.Operation | None = op
    while current is not None:
        yield current
        parent = current.parent
        current = parent.operation if parent is not None else None
