# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The settings of one `bankwise-compile`, and the values they may have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field

from ..bank_model.quick_dataclass import dataclass
from ..passes.mode import Mode

NOTE = "note: "
"""What a line begins with that says what another level would gain."""

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

EVALUATED = "global-optimization"
"""The phase whose last but one pass evaluates constants."""
CONSTANT_EVALUATION = "iree-opt-const-eval"
"""The flag of a session that says whether it does."""

BEFORE_CODEGEN = "executable-configurations"
"""The phase after which every device function carries its codegen configuration."""
BEFORE_CONFIGURATION = "executable-sources"
"""The phase at whose end tools of the user's get each executable. It has no configuration yet."""
AFTER_LLVM = "executable-targets"
"""The phase after which device code is in the LLVM dialect."""
SERIALIZED = "hal"
"""The phase after which executables are machine code, whose assembly it writes if asked."""

_LINKING = "iree-hal-link-executables"
_LINKS = re.compile(rf"--?{_LINKING}(=|$)")
_HOST = re.compile(r"--?iree-hal-target-(device|backends?)=.*\b(local|llvm-cpu|vmvx)\b")
"""A flag that asks for code for processors of the host, of which one library is made."""


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
    mitigation: str = Mode().mitigation
    level: str = Mode().level
    retile: str = Mode().retile
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
    def verifies_each_pass(self) -> bool:
        """Returns whether the compiler verifies the module behind each of its passes that follow
        codegen, as it does before.

        That takes a third of their time. The module is verified before the first of them.
        """
        return self.verify and ("verify" in self.given or self.mitigation == "stock")

    @property
    def evaluates_constants(self) -> bool:
        """Returns whether constants may be evaluated behind the phase that does, rather than in it.

        They may where nobody asks for what is between, or has an opinion on it.
        """
        first, last = PHASES.index(self.compile_from), PHASES.index(self.compile_to)
        seen = any(
            flag.lstrip("-").startswith(("mlir-", "iree-consteval-", CONSTANT_EVALUATION))
            for flag in self.process_flags
        )
        return (
            self.compile_mode == "std"
            and self.mitigation != "stock"
            and first < PHASES.index(EVALUATED) < last
            and not (self.dump_phases_to or seen)
        )

    @property
    def links_executables(self) -> bool:
        """Returns whether the kernels of a module become one executable, as they do with
        `iree-compile`, or one each.

        IREE works on executables beside each other, and on the kernels of one in turn.
        """
        asked = [flag for flag in joined_flags(self.process_flags) if _LINKS.match(flag)]
        if asked:
            return asked[-1].partition("=")[2].lower() not in ("false", "0")
        hosts = any(_HOST.search(flag) for flag in joined_flags(self.process_flags))
        return self.mitigation == "stock" or hosts

    @property
    def library_flags(self) -> list[str]:
        """Returns what the compiler's library gets as the command line of a process."""
        asked = any(_LINKS.match(flag) for flag in self.process_flags)
        own = [] if asked or self.links_executables else [f"--{_LINKING}=false"]
        return [*self.process_flags, *own]

    @property
    def mode(self) -> Mode:
        """Returns the settings that make a mode."""
        return Mode(self.mitigation, self.level, self.retile)


def unread_variables(environment: Mapping[str, str]) -> list[str]:
    """Returns the variables that are settings of `bankwise-executable`, and that nobody else reads.

    An empty value counts as none.
    """
    return sorted(
        name for name in environment if name.startswith("BANKWISE_") and environment[name]
    )


def joined_flags(flags: Sequence[str]) -> tuple[str, ...]:
    """Joins each flag with a value that follows it as a word of its own: `--flag=value`."""
    joined: list[str] = []
    for word in flags:
        if joined and "=" not in joined[-1] and not word.startswith("-"):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return tuple(joined)
