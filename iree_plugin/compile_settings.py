# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The settings of one `bankwise-compile`, and the values they may have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

MITIGATIONS = {
    "auto": "a swizzle where legal and useful, else padding (default)",
    "swizzle": "swizzles only",
    "pad": "the best padding only",
    "none": "neither: the baseline",
    "stock": "what iree-compile does",
}
"""How bank conflicts can be dealt with, as the tools' helps say it. What each mode splices into the
codegen pipelines stands in `mitigation.STEPS`."""

LEVELS = {
    "layout": "the memory layouts of tiles only",
    "exact": "register layouts too, as far as outputs stay the same bits (default)",
    "fast": "the order of sums and the form of exponentials too: outputs are right to rounding",
}
"""What a compile may change besides the layouts in memory, as the tools' helps say it. The levels
are those of the mitigations `auto` and `swizzle`; the others change no register layout. Each level
does what the ones before it do."""

RETILE = {
    "auto": (
        "for sm_80, sm_90 and sm_90a, and for gfx942 and gfx950 where they save 10 % or more, "
        "or 6.5 % of a matmul on 2-byte elements (default)"
    ),
    "on": "on all GPUs that there is a prediction for",
    "off": "nowhere",
}
"""Where the tiles of workgroups are replaced by those that are predicted to be faster, as the
tools' helps say it: at the levels `exact` and `fast`, and never those that the user has chosen."""

NOTE = "note: "
"""What a line begins with that says what another level would gain."""

_GONE = "search"
"""A value that earlier versions had."""

_ASKING = "on"
"""The value that asks for tiles where these are not replaced by default."""

LEVELLED = ("auto", "swizzle")
"""The mitigations that have levels."""

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
BEFORE_CONFIGURATION = "executable-sources"
"""The phase at whose end tools of the user's get each executable. It has no configuration yet."""
AFTER_LLVM = "executable-targets"
"""The phase after which device code is in the LLVM dialect."""


def has_codegen(start: str, end: str) -> bool:
    """Returns whether a compile from after phase `start` up to phase `end` includes codegen."""
    return PHASES.index(start) <= PHASES.index(BEFORE_CODEGEN) < PHASES.index(end)


@dataclass(frozen=True)
class CompileSettings:
    """What `bankwise-compile` was asked for. Paths are as given; `-` is a standard stream.

    `process_flags` are the flags that LLVM's option parser reads. `given` holds the names of the
    attributes that somebody asked for, where that is known.
    """

    input: str | None = None
    output: str = "-"
    mitigation: str = "auto"
    level: str = "exact"
    retile: str = "auto"
    remarks: bool = False
    quiet: bool = False
    decisions: str | None = None
    tuning_spec: str | None = None
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
    given: frozenset[str] = field(default=frozenset(), compare=False)

    @property
    def generates_code(self) -> bool:
        """Returns whether codegen for GPUs is part of the compile, whose phases exist."""
        return self.compile_mode == "std" and has_codegen(self.compile_from, self.compile_to)

    @property
    def why_no_code(self) -> str:
        """Returns why codegen is no part of the compile."""
        if self.compile_mode != "std":
            return f"--compile-mode={self.compile_mode} generates no GPU code"
        if PHASES.index(self.compile_from) > PHASES.index(BEFORE_CODEGEN):
            return f"--compile-from={self.compile_from} begins behind the codegen for GPUs"
        return f"--compile-to={self.compile_to} ends before the codegen for GPUs"

    @property
    def mode(self) -> Mode:
        """Returns the settings that make a mode."""
        return Mode(self.mitigation, self.level, self.retile)


class Mode(NamedTuple):
    """How a compile deals with bank conflicts, as one word: `auto`, `auto/fast`, `auto/exact/on`.

    Attributes:
        mitigation: one of `MITIGATIONS`.
        level: one of `LEVELS`.
        retile: one of `RETILE`.
    """

    mitigation: str = CompileSettings.mitigation
    level: str = CompileSettings.level
    retile: str = CompileSettings.retile

    @staticmethod
    def parse(mode: str) -> Mode:
        """Reads a mitigation, and behind slashes a level and where tiles are replaced, if given.

        Raises:
            ValueError: one of them does not exist, or no longer, or nothing would come of it.
        """
        tables = {"mitigation": MITIGATIONS, "level": LEVELS, "retile": RETILE}
        words = dict(zip(tables, mode.split("/", len(tables) - 1), strict=False))
        if gone := gone_value("--bankwise-retile", words.get("retile", "")):
            raise ValueError(gone)
        for name, word in words.items():
            if word not in tables[name]:
                known = ", ".join(f"'{each}'" for each in tables[name])
                raise ValueError(f"{name} is {word!r}; it can be {known}")
        ignored = without_effect(words["mitigation"], words.get("level"), words.get("retile"))
        if ignored:
            raise ValueError(f"{ignored.part} is {words[ignored.part]!r}: {ignored.reason}")
        return Mode(**words)

    def flags(self) -> list[str]:
        """Returns the flags of `bankwise-compile` that ask for the mode."""
        usual = Mode()
        flags = [f"--bankwise-mitigation={self.mitigation}"]
        if self.mitigation in LEVELLED:
            flags.append(f"--bankwise-level={self.level}")
        return flags + ([] if self.retile == usual.retile else [f"--bankwise-retile={self.retile}"])


def gone_value(flag: str, word: str) -> str:
    """Returns what is said of a value that `RETILE` had once; nothing for any other one.

    Args:
        flag: the flag, or the variable, that was given the value.
    """
    return f"{flag}={word} is gone; use on" if word == _GONE else ""


class Ignored(NamedTuple):
    """A part of a mode that nothing comes of because of another part.

    Attributes:
        part: `level` or `retile`.
        reason: why.
    """

    part: str
    reason: str


def without_effect(
    mitigation: str, level: str | None, retile: str | None, usual: str = CompileSettings.level
) -> Ignored | None:
    """Returns the part of a mode that nothing would come of, if there is one.

    Args:
        level: the level that somebody asked for; None where nobody has.
        usual: the level where nobody has asked for one.
    """
    others = " and ".join(LEVELLED)
    if mitigation not in LEVELLED:
        if level is not None:
            return Ignored("level", f"the mitigation '{mitigation}' has no levels; {others} have")
        if retile == _ASKING:
            reason = f"the mitigation '{mitigation}' replaces no tiles; {others} do"
            return Ignored("retile", reason)
    elif (level or usual) == "layout" and retile == _ASKING:
        return Ignored("retile", "the level 'layout' replaces no tiles; exact and fast do")
    return None


def unread_variables(environment: Mapping[str, str]) -> list[str]:
    """Returns the variables that are settings of `bankwise-executable`, and that nobody else reads.

    An empty value counts as none.
    """
    return sorted(
        name for name in environment if name.startswith("BANKWISE_") and environment[name]
    )


def modes() -> tuple[str, ...]:
    """Returns every mitigation, those that have levels with each of them, as `auto/fast`, and
    `auto` with tiles that are replaced on all GPUs, as `auto/fast/on`."""
    levels = (f"{name}/{level}" for name in LEVELLED for level in LEVELS)
    return (*MITIGATIONS, *levels, "auto/exact/on", "auto/fast/on")


def joined_flags(flags: Sequence[str]) -> tuple[str, ...]:
    """Joins each flag with a value that follows it as a word of its own: `--flag=value`."""
    joined: list[str] = []
    for word in flags:
        if joined and "=" not in joined[-1] and not word.startswith("-"):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return tuple(joined)
