# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The settings of one `bankwise-compile`, and the values they may have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MITIGATIONS = {
    "auto": "a swizzle where legal and useful, else padding (default)",
    "swizzle": "swizzles only",
    "pad": "the best padding only",
    "none": "neither: the baseline",
    "stock": "what iree-compile does",
}
"""How bank conflicts can be dealt with, as the tools' helps say it. What each mode splices into the
codegen pipelines stands in `mitigation.MODES`."""

LEVELS = {
    "layout": "the memory layouts of tiles only",
    "exact": "register layouts too, as far as outputs stay the same bits (default)",
    "fast": "the order of sums and the form of exponentials too: outputs are right to rounding",
}
"""What a compile may change besides the layouts in memory, as the tools' helps say it. The levels
are those of the mitigations `auto` and `swizzle`; the others change no register layout."""

OUTPUT_FORMATS = ("vm-bytecode", "vm-asm", "vm-c")
COMPILE_MODES = ("std", "vm", "precompile")

PHASES = (
    "start",
    "input",
    "abi",
    "preprocessing",
    "global-optimization",
    "dispatch-creation",
    "flow",
    "stream",
    "executable-sources",
    "executable-configurations",
    "executable-targets",
    "hal",
    "vm",
    "end",
)
"""The compile phases in order, as `--compile-to` spells them."""

BEFORE_CODEGEN = "executable-configurations"
"""The phase after which every device function carries its codegen configuration."""
AFTER_LLVM = "executable-targets"
"""The phase after which device code is in the LLVM dialect."""


def has_codegen(start: str, end: str) -> bool:
    """Returns whether a compile from after phase `start` up to phase `end` includes codegen."""
    return PHASES.index(start) <= PHASES.index(BEFORE_CODEGEN) < PHASES.index(end)


@dataclass(frozen=True)
class CompileSettings:
    """What `bankwise-compile` was asked for. Paths are as given; `-` is a standard stream.

    `process_flags` are the flags that LLVM's option parser reads.
    """

    input: str | None = None
    output: str = "-"
    mitigation: str = "auto"
    level: str = "exact"
    remarks: bool = False
    decisions: str | None = None
    dump_ir: str | None = None
    verify_lds: bool = False
    output_format: str = "vm-bytecode"
    compile_mode: str = "std"
    compile_from: str = "start"
    compile_to: str = "end"
    verify: bool = True
    dump_phases_to: str = ""
    emit_bytecode: bool = False
    bytecode_version: int | None = None
    remarks_filter: str = ""
    remarks_file: str = "mlir-remarks.yaml"
    split_input: bool = False
    list_backends: bool = False
    list_plugins: bool = False
    print_before: tuple[str, ...] = ()
    print_after: tuple[str, ...] = ()
    process_flags: tuple[str, ...] = ()


def modes() -> tuple[str, ...]:
    """Returns every mitigation, and those that have levels with each of them, as `auto/fast`."""
    return (*MITIGATIONS, *(f"{name}/{level}" for name in ("auto", "swizzle") for level in LEVELS))


def mitigation_and_level(mode: str) -> tuple[str, str]:
    """Returns the mitigation and the level of a mode, such as `auto`, `auto/fast` or `stock`.

    Raises:
        ValueError: one of them does not exist.
    """
    mitigation, separator, level = mode.partition("/")
    if mitigation not in MITIGATIONS:
        known = ", ".join(f"'{name}'" for name in MITIGATIONS)
        raise ValueError(f"mitigation is {mitigation!r}; it can be {known}")
    if separator and level not in LEVELS:
        known = ", ".join(f"'{name}'" for name in LEVELS)
        raise ValueError(f"level is {level!r}; it can be {known}")
    return mitigation, level or CompileSettings.level


def mode_flags(mode: str) -> list[str]:
    """Returns the flags of `bankwise-compile` that ask for a mode."""
    mitigation, level = mitigation_and_level(mode)
    return [f"--bankwise-mitigation={mitigation}", f"--bankwise-level={level}"]


def joined_flags(flags: Sequence[str]) -> tuple[str, ...]:
    """Joins each flag with a value that follows it as a word of its own: `--flag=value`."""
    joined: list[str] = []
    for word in flags:
        if joined and not word.startswith("-"):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return tuple(joined)
