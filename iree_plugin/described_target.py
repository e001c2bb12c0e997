# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NVIDIA GPUs that IREE 3.13 generates code for, once it is told what they are: Hopper.

`iree-compile` describes a GPU to its codegen by an `#iree_gpu.target`. It has none for sm_90, gives
the device a target without one, and ends with "missing GPU target", although LLVM knows the chip.
Here the description is made of what `bank_model/` knows, and put in this place: into the
devices of a program, or into the variants of executables.

The name of a variant, such as sm_90a, has a letter behind the number, with which IREE's
`iree-convert-to-nvvm` does not read it: it takes the GPU for an old one, and `arith.maximumf` then
forgets NaNs. So code is lowered for sm_90, and becomes that of sm_90a before it is assembled.

Part of it works around IREE 3.13 (`docs/for_iree.md#targets-with-a-letter`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .. import bank_model
from ..bank_model.families import AMD, NVIDIA, Family, family_of
from ..bank_model.quick_tuple import NamedTuple
from ..bank_model.shown_text import did_you_mean
from .compile_settings import joined_flags
from .later_import import imported_later

# Every compile waits for this module, and most need no table of GPUs before they wait no more.
with (
    imported_later(f"{bank_model.__name__}.features"),
    imported_later(f"{bank_model.__name__}.lds_tables"),
    imported_later(f"{bank_model.__name__}.targets"),
):
    from ..bank_model import features, lds_tables, targets

if TYPE_CHECKING:
    from iree.compiler import ir

    from ..bank_model.lds_rules import Lds

DEVICES_ASSIGNED = "preprocessing"
"""The phase behind which a program names its devices."""

_DESCRIBED = (90,)
"""The compute capabilities that are described here."""
_UNKNOWN = (*_DESCRIBED, 100, 103)
"""Those that IREE 3.13 does not know."""
_REFUSED = (f"{AMD.prefix}1102",)
"""What it says of these: "Unknown ROCM target"."""
_FLAG = re.compile(rf"(--?iree-{NVIDIA.backend}-target)(?:=(.*))?")
_FEATURES_FLAG = re.compile(rf"--?iree-{NVIDIA.backend}-target-features=(.*)")
_BARE = '#hal.executable.target<"cuda", "cuda-nvptx-fb"'
_FEATURES = "+ptx84"
"""PTX 8.4 has `mma.sync` for 8-bit floats; IREE asks for it too where it lists these."""


class DescribedTarget(NamedTuple):
    """A GPU that IREE does not describe.

    Attributes:
        lds: its LDS.
        features: the features for LLVM's backend, as `--iree-cuda-target-features` gives them.
    """

    lds: Lds
    features: str = _FEATURES

    @staticmethod
    def of_flags(flags: Sequence[str]) -> DescribedTarget | None:
        """Returns the GPU that flags name; None where it is none of these."""
        lds = _described(named_cuda_target(flags))
        given = [m[1] for flag in joined_flags(flags) if (m := _FEATURES_FLAG.fullmatch(flag))]
        return lds and DescribedTarget(lds, *given[-1:])

    def __str__(self) -> str:
        """Returns the `#iree_gpu.target`, which has all that IREE says of sm_89."""
        floats = ["F32_16x8x16_F16", "F16_16x8x16_F16", "F32_16x8x16_BF16"]
        bytes_ = ["F32_16x8x32_F8E4M3FN", "F32_16x8x32_F8E5M2"]
        instructions = [f"<NV_MMA_SYNC_{each}>" for each in (*floats, *bytes_)]
        instructions += [f"<NV_WMMA_{each}_16x16x16_F16>" for each in ("F32", "F16")]
        return (
            f'#iree_gpu.target<{self._arch}, features = "{self.features}", wgp = <'
            "compute = fp64|fp32|fp16|int64|int32|int16|int8, storage = b64|b32|b16|b8, "
            "subgroup = shuffle|arithmetic, dot = dp4xi8toi32, "
            f"mma = [{', '.join(instructions)}], "
            f"subgroup_size_choices = [{self.lds.wave_size}], "
            "max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, "
            f"max_workgroup_memory_bytes = {self.lds.workgroup_bytes}, "
            "max_workgroup_counts = [2147483647, 65535, 65535]>>"
        )

    @property
    def general(self) -> DescribedTarget:
        """Returns the GPU without a letter: its code runs on newer ones too, and lacks `wgmma`."""
        return self._replace(lds=lds_tables.lds_of(f"{NVIDIA.prefix}{_capability(self.lds.arch)}"))

    @property
    def is_variant(self) -> bool:
        """Returns whether the code runs on this GPU alone."""
        return self.lds is not self.general.lds

    def describe(self, module: ir.Operation) -> None:
        """Adds the description to the CUDA targets of a module that have no configuration."""
        configured = f"{_BARE}, {{iree_codegen.target_info = {self}}}>"
        _replace_in_targets(module, f"{_BARE}>", configured)

    def rename(self, module: ir.Operation, other: DescribedTarget) -> None:
        """Makes the targets of a module that are this GPU another one."""
        _replace_in_targets(module, self._arch, other._arch)

    @property
    def _arch(self) -> str:
        return f'arch = "{self.lds.arch}"'


def compiles_for(arch: str) -> bool:
    """Returns whether IREE 3.13 compiles for a known GPU, if it is told what that is."""
    capability = _capability(arch)
    if capability is None:
        return arch not in _REFUSED
    return capability in _DESCRIBED or capability not in _UNKNOWN


def named_cuda_target(flags: Sequence[str]) -> str:
    """Returns the NVIDIA GPU that flags name, as they name it; empty where they name none."""
    given = [match for flag in joined_flags(flags) if (match := _FLAG.fullmatch(flag))]
    return (given[-1][2] or "") if given else ""


_NAMES_OF_IREE = re.compile(r"a100|ampere|ada|turing|volta|rtx[34]0\d\d(?:ti|super|d)*")
"""The names of products and generations that IREE 3.13 takes (`KnownTargets.cpp`). For some it
knows more than of their architecture."""


def understood_flags(flags: Sequence[str]) -> list[str]:
    """Returns flags in which the products of NVIDIA have names that the compiler knows.

    It crashes on others, such as `--iree-cuda-target=h100`. This works around IREE 3.13
    (`docs/for_iree.md#names-of-nvidias-products`).
    """
    words: list[str] = []
    for word in flags:
        match = _FLAG.fullmatch(word)
        if match and match[2] is not None:
            word = f"{match[1]}={_understood(match[2])}"
        elif words and (before := _FLAG.fullmatch(words[-1])) and before[2] is None:
            word = _understood(word)
        words.append(word)
    return words


def _understood(name: str) -> str:
    if not name or _NAMES_OF_IREE.fullmatch(name) or name.startswith(NVIDIA.prefix):
        return name
    try:
        arch = targets.arch_named(name)
    except lds_tables.UnknownTargetError:
        return name
    return arch if family_of(arch) is NVIDIA else name


def refuse_unknown_names(flags: Sequence[str]) -> str:
    """Returns what is wrong with the name of an NVIDIA GPU in flags, on which the compiler would
    crash; nothing if it takes the name.

    A number that the compiler does not know, as that of `sm_100`, is an error of its own.
    """
    name = _understood(named_cuda_target(flags))
    if not name or re.fullmatch(r"sm_\d+[af]?", name) or _NAMES_OF_IREE.fullmatch(name):
        return ""
    known = ", ".join(each for each in lds_tables.known_targets() if family_of(each) is NVIDIA)
    return (
        f"--iree-{NVIDIA.backend}-target={name}: no GPU of this name is known (known: {known}, and "
        "products such as a100, h100 and rtx4090)"
    )


_VARIANT_NAME = re.compile(rf"{NVIDIA.prefix}(\d+)[af]?")
_AMD_FAULT = re.compile(
    r"error: (?:loc\(unknown\): )?(ROCM target not set.*|Unknown ROCM target '(.*)')"
)
_FAULT = re.compile(r"^(.*?: )?error: missing GPU target", re.MULTILINE)


def unknown_cuda_target(flags: Sequence[str]) -> str:
    """Returns the NVIDIA GPU that flags name and that is not known; nothing if there is none.

    A program that says itself what its target is compiles for it all the same.
    """
    name = named_cuda_target(understood_flags(flags))
    return name if _VARIANT_NAME.fullmatch(name) and name not in _compiled() else ""


_AMD_FLAG = re.compile(rf"--?iree-{AMD.backend}-target=(.*)")
_FOR_AMD = re.compile(r"--?iree-hal-target-(?:device|backends)=.*(?:hip|amdgpu|rocm)")


def unknown_amd_target(flags: Sequence[str]) -> str:
    """Returns the AMD GPU that flags name and that may not be known, or "hip" where they ask for
    one and name none; nothing otherwise.

    A program that says itself what its target is compiles all the same.
    """
    words = joined_flags(flags)
    names = [match[1] for word in words if (match := _AMD_FLAG.fullmatch(word))]
    if not names:
        return AMD.device if any(map(_FOR_AMD.match, words)) else ""
    try:
        return "" if compiles_for(targets.arch_named(names[-1])) else names[-1]
    except lds_tables.UnknownTargetError:
        return names[-1]


def _compiled(family: Family = NVIDIA) -> list[str]:
    """Returns the GPUs that code can be compiled for, but for names of products."""
    known = lds_tables.known_targets()
    return [each for each in known if family_of(each) is family and compiles_for(each)]


def missing_target(arch: str, diagnostics: str, version: str) -> str:
    """Returns the sentence for diagnostics that come from this GPU; nothing for any others."""
    if fault := _AMD_FAULT.search(diagnostics):
        hint = did_you_mean(fault[2], _compiled(AMD)) if fault[2] else ""
        return f"error: {fault[1]}{hint}"
    fault = _FAULT.search(diagnostics)
    if fault is None or not arch.startswith(NVIDIA.prefix):
        return ""
    sentence = f"{fault[1] or ''}error: IREE {version} does not know the GPU {arch}"
    best = _replacement(arch)
    if not best:
        return sentence
    return f"{sentence}; compile for {best}, whose code runs on it: {NVIDIA.flags(best)[1]}"


def _replacement(arch: str) -> str:
    """Returns a GPU whose code runs on another one; empty where none is known."""
    name = _VARIANT_NAME.fullmatch(arch)
    assert name is not None
    compiled, number = _compiled(), int(name[1])
    if f"{NVIDIA.prefix}{number}" in compiled:
        return f"{NVIDIA.prefix}{number}"
    # The code of a variant, such as sm_90a, runs on no other GPU.
    older = {
        each: capability
        for each in compiled
        if (capability := features.features_of(each).compute_capability) is not None
        and capability < number
        and each == f"{NVIDIA.prefix}{capability}"
    }
    # The one with the most shared memory, the oldest of these: an H200 runs code for sm_80.
    return min(
        older, key=lambda arch: (-lds_tables.lds_of(arch).workgroup_bytes, older[arch]), default=""
    )


def _described(name: str) -> Lds | None:
    """Returns the GPU of this name, unless IREE describes it or nothing is known of it.

    A name such as `sm_90f`, of a variant that does not exist, is none.
    """
    capability = _VARIANT_NAME.fullmatch(name)
    if not name or (capability and int(capability[1]) not in _DESCRIBED):
        return None
    try:
        arch = targets.arch_named(name)
    except lds_tables.UnknownTargetError:
        return None
    if _capability(arch) not in _DESCRIBED or (name.startswith(NVIDIA.prefix) and name != arch):
        return None
    return lds_tables.lds_of(arch)


def _capability(arch: str) -> int | None:
    return features.features_of(arch).compute_capability


def _replace_in_targets(module: ir.Operation, text: str, other: str) -> None:
    from iree.compiler import ir

    for op, name in _targets(module):
        before = str(op.attributes[name])
        if text in before:
            op.attributes[name] = ir.Attribute.parse(before.replace(text, other), op.context)


def _targets(module: ir.Operation) -> Iterator[tuple[ir.Operation, str]]:
    """Yields the ops of a module that name targets of executables, and by which attribute."""
    from ..dialect_utils.operations import children

    if "hal.device.targets" in module.attributes:
        yield module, "hal.device.targets"
    for op in children(module):
        if op.name == "util.global" and "initial_value" in op.attributes:
            if str(op.attributes["type"]) == "!hal.device":
                yield op, "initial_value"
        elif op.name == "hal.executable":
            yield from ((each, "target") for each in children(op) if "target" in each.attributes)
