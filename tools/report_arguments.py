# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of `bankwise-report`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ..bank_model.lds_tables import known_targets
from ..iree_plugin.compile_settings import BEFORE_CODEGEN, CompileSettings, has_codegen
from ..passes.mode import LEVELS, MITIGATIONS, RETILE
from ..report.formats import FORMATS
from .compile_arguments import parse_arguments, unhonoured_flags
from .usage import UsageError, block_of, check_choice, flag_of, switch_of, unknown_flag, value_of

HELP = """\
OVERVIEW: Bank conflicts of every LDS allocation and access, before and after a layout is chosen

USAGE: bankwise-report [options] <.mlir files, or '-' for stdin>
       bankwise-report [options] <.mlir file> --iree-hal-target-device=... [compiler flags]

The first form reads IR before or after the passes: tensors or memrefs in workgroup memory.
The second compiles the file in this process, as bankwise-compile would, and reports on every
dispatch. A flag that starts with --iree- or --bankwise-, or --compile, asks for it.

OPTIONS:

  --format=<value>              text (default), json, markdown, html
  -o <filename>                 Output file, '-' (default) for stdout
  --target=<arch>               Count for this GPU, whatever target the IR names: {targets}
  --block=<X[,Y[,Z]]>           The size of the workgroups of functions that state none, neither in
                                a translation_info nor as MLIR's known block size
  --bank-map                    Draw the worst phase of each access, before and after
  --allocation=<N>, --access=<N>
                                Report only on these, by the numbers in the tables; may be repeated
  --fail-on-conflicts           Exit with 1 if the IR as it stands, or the code that was compiled,
                                has conflict cycles or accesses that cannot be read
  --check-proofs                Count every layout again by the definition, and search again where
                                no better one is claimed to exist; exit with 1 if a claim is wrong
  --measured=<file>             Put what rocprofv3, rocprof or ncu has measured (CSV, or rocprofv3's
                                directory) beside the predicted counters; may be repeated
  --split-input-file            Read the parts between '// -----' separately
  --compile                     Compile, also without a compiler flag
  --bankwise-mitigation=<value> What to compile with: {modes}
  --bankwise-level=<value>      What the compile may change: {levels}
  --bankwise-retile=<value>     Where it replaces the tiles of workgroups: {retile}
  --print-completion=<shell>    Print a script that completes this command, for bash or zsh
  --help, --version

A compile also takes iree-compile's flags: bankwise-compile --help lists them.
"""


def help_text() -> str:
    """Returns what `--help` prints."""
    modes = _listed(MITIGATIONS, CompileSettings.mitigation)
    levels = _listed(LEVELS, CompileSettings.level)
    retile = _listed(RETILE, CompileSettings.retile)
    return HELP.format(
        targets=", ".join(known_targets()), modes=modes, levels=levels, retile=retile
    )


def _listed(values: Iterable[str], usual: str) -> str:
    return ", ".join(f"{value} (default)" if value == usual else value for value in values)


@dataclass(frozen=True)
class ReportSettings:
    """What `bankwise-report` was asked for. Paths are as given; `-` is a standard stream.

    `compile` holds the compile's settings, or None when `inputs` are read as IR.
    """

    inputs: tuple[str, ...] = ()
    output: str = "-"
    format: str = "text"
    target: str | None = None
    block: tuple[int, ...] = ()
    bank_map: bool = False
    allocations: frozenset[int] = frozenset()
    accesses: frozenset[int] = frozenset()
    fail_on_conflicts: bool = False
    check_proofs: bool = False
    measured: tuple[str, ...] = ()
    split_input: bool = False
    compile: CompileSettings | None = None


_SWITCHES = {
    "bank-map": "bank_map",
    "fail-on-conflicts": "fail_on_conflicts",
    "check-proofs": "check_proofs",
    "split-input-file": "split_input",
}
_VALUES = {"o": "output", "output": "output", "format": "format", "target": "target"}
_NUMBERS = {"allocation": "allocations", "access": "accesses"}
_COMPILE = "compile"
_BLOCK = "block"
_MEASURED = "measured"
_FLAGS = (*_SWITCHES, *_VALUES, *_NUMBERS, _COMPILE, _BLOCK, _MEASURED)
# Flags of bankwise-compile that a report can honour; the others change or name its outputs.
_HONOURED = ("input", "mitigation", "level", "retile", "compile_from", "verify", "process_flags")


@dataclass
class _CommandLine:
    settings: ReportSettings = field(default_factory=ReportSettings)
    compiles: bool = False
    rest: list[str] = field(default_factory=list)


def parse_report_arguments(argv: Sequence[str]) -> ReportSettings:
    """Reads a command line.

    Raises:
        UsageError: a flag that is unknown, incomplete or contradicts another; no input.
    """
    line = _CommandLine()
    words = iter(argv)
    for word in words:
        name = flag_of(word).lstrip("-")
        if not word.startswith("-") or word == "-":
            line.rest.append(word)
        elif name in _VALUES or name in _NUMBERS or name in (_MEASURED, _BLOCK):
            _read_value(line, name, value_of(word, words))
        elif name in _SWITCHES or name == _COMPILE:
            on = switch_of(word)
            if name == _COMPILE:
                line.compiles |= on
            else:
                line.settings = replace(line.settings, **{_SWITCHES[name]: on})
        else:
            line.rest.append(word)
            line.compiles |= name.startswith(("iree-", "bankwise-"))
    return _with_compile(line) if line.compiles else _with_files(line)


def _read_value(line: _CommandLine, name: str, value: str) -> None:
    if name in _NUMBERS:
        if not value.isascii() or not value.isdigit() or int(value) < 1:
            raise UsageError(f"--{name} expects a number from a report's table, got '{value}'")
        known: frozenset[int] = getattr(line.settings, _NUMBERS[name])
        line.settings = replace(line.settings, **{_NUMBERS[name]: known | {int(value)}})
        return
    if name == _BLOCK:
        line.settings = replace(line.settings, block=block_of(value))
        return
    if name == _MEASURED:
        line.settings = replace(line.settings, measured=(*line.settings.measured, value))
        return
    if name == "format":
        check_choice("--format", value, FORMATS)
    line.settings = replace(line.settings, **{_VALUES[name]: value})


def _with_files(line: _CommandLine) -> ReportSettings:
    for word in line.rest:
        if word.startswith("-") and word != "-":
            raise unknown_flag(
                word, _FLAGS, "; compiler flags start with --iree-, others need --compile"
            )
    if not line.rest:
        raise UsageError("no input file; name one, or `-` for stdin")
    return replace(line.settings, inputs=tuple(line.rest))


def _with_compile(line: _CommandLine) -> ReportSettings:
    settings = line.settings
    if settings.target is not None:
        raise UsageError(
            "--target is for IR that is only read; a compile takes its target from a flag such as "
            "--iree-rocm-target"
        )
    if settings.block:
        raise UsageError("--block is for IR that is only read; a compile knows its workgroups")
    if settings.split_input:
        raise UsageError("--split-input-file is for IR that is only read, not for a compile")
    compiled = parse_arguments(line.rest, _FLAGS)
    for flag in unhonoured_flags(compiled, _HONOURED):
        raise UsageError(f"{flag} has no meaning for a report")
    if compiled.input is None:
        raise UsageError("no input file; name one, or `-` for stdin")
    if not has_codegen(compiled.compile_from, "end"):
        raise UsageError(
            f"--compile-from={compiled.compile_from}: the code of the GPU is made before this "
            f"phase, and nothing can be observed; begin at {BEFORE_CODEGEN} or before"
        )
    model = _execution_model(compiled.process_flags)
    if model and not model.startswith("async-"):
        raise UsageError(
            f"--iree-execution-model={model} has no phase of codegen that can be observed; leave "
            "it out for the report"
        )
    return replace(settings, inputs=(compiled.input,), compile=compiled)


def _execution_model(flags: Sequence[str]) -> str:
    """Returns the last value of IREE's flag; empty without one."""
    given = ""
    words = iter(flags)
    for word in words:
        if flag_of(word).lstrip("-") == "iree-execution-model":
            given = value_of(word, words)
    return given
