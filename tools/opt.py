# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-opt`: runs Bankwise passes, mixed with the compiler's own, on MLIR text."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from .. import __version__
from ..dialect_utils.diagnostics import Diagnostic, Severity, SourceLocation
from ..iree_plugin import embedding
from ..iree_plugin.atomic_file import OutputError
from ..iree_plugin.input_text import SPLIT_MARKER, InputText
from ..iree_plugin.native_passes import (
    NativePassError,
    is_native_pass,
    nest_for_module,
    read_pipeline,
)
from ..iree_plugin.opt_driver import OptError, OptSettings, optimize
from ..iree_plugin.plugins import contribute_plugin_passes
from ..iree_plugin.replay import IrPrinting
from ..iree_plugin.rooms import rooms_of
from ..passes.base import FunctionPass, PassOptionError, option_text
from ..passes.pipeline_edit import PipelineEditError
from ..passes.pipeline_text import (
    NativeText,
    OurPass,
    Piece,
    PipelineTextError,
    is_ours,
    join_native,
    pieces_of,
)
from ..passes.registry import (
    PIPELINES,
    UnknownPassError,
    contributed_passes,
    make_pass,
    registered_passes,
)
from .endings import fail, let_pipes_end_process
from .pass_options import option_descriptions
from .usage import UsageError, block_of, check_target, flag_of, refuse_mistyped, truth

PROGRAM = "bankwise-opt"
HELP = """\
OVERVIEW: Bankwise modular optimizer driver

USAGE: bankwise-opt [options] <input file or '-' for stdin>

OPTIONS:

  -o <filename>                          Output file, '-' (default) for stdout
  --pass-pipeline=<string>               Passes to run, such as
                                         'builtin.module(func.func(bankwise-...,canonicalize))'
  --<pass>[=<options>]                   Run a pass, ours or the compiler's, in the order given;
                                         ours run on every func.func
  --dump-pass-pipeline                   Print the pipeline to stderr, as --pass-pipeline takes it,
                                         and run it
  --list-passes                          Print the Bankwise passes and exit
  --show-dialects                        Print the registered dialects and exit
  --emit-bytecode                        Write the result as bytecode
  --emit-bytecode-version=<value>        Write bytecode of this version
  --verify-roundtrip                     Check that the input, printed and read again, is the same
  --split-input-file[=<marker>]          Process the parts between '// -----' separately
  --output-split-marker=<marker>         What to print between the results of the parts
  --verify-diagnostics[=only-expected]   Compare diagnostics with `expected-*` comments
  --verify-each[=<bool>]                 Verify the IR after each pass (default true)
  --allow-unregistered-dialect           Allow operations of unknown dialects
  --bankwise-remarks                     Print what each allocation got and why, as remarks
  --bankwise-decisions=<file>            Write the same as JSON
  --iree-gpu-test-target=<arch>          Target of functions that name none, such as gfx942
  --block=<X[,Y[,Z]]>                    Size of the workgroups of functions that state none, such
                                         as 32,32; it is written to them as MLIR's known block size
  --mlir-print-ir-before=<passes>, --mlir-print-ir-after=<passes>
  --mlir-print-ir-before-all, --mlir-print-ir-after-all, --mlir-print-ir-module-scope
  --mlir-print-local-scope, --mlir-print-op-generic, --mlir-print-debuginfo, --mlir-timing
  --print-completion=<shell>             Print a script that completes this command, for bash or zsh
  --help, --version

PASSES:

{passes}
The compiler's own passes: iree-opt --list-passes

IREE AND LLVM OPTIONS:
"""


@dataclass
class _CommandLine:
    """What has been read of the command line.

    Attributes:
        settings: what the driver needs.
        pipeline: the text of `--pass-pipeline`, if given.
        shorthands: the passes that were named by flags, in order.
        library_flags: what LLVM's option parser will read.
        inputs: the positional arguments.
    """

    settings: OptSettings = field(default_factory=OptSettings)
    pipeline: str | None = None
    shorthands: list[Piece] = field(default_factory=list)
    library_flags: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the tool; returns its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    names = {word.lstrip("-") for word in arguments if word.startswith("-")}
    try:
        contribute_plugin_passes()
        if "list-passes" in names:
            print(pass_list(), end="")
            return 0
        if "show-dialects" in names:
            print(f"Available Dialects: {','.join(embedding.registered_dialects())}")
            return 0
        if "version" in names:
            print(f"{PROGRAM} {__version__}", flush=True)
        if any(name.startswith("help") for name in names):
            let_pipes_end_process()
            print(HELP.format(passes=pass_list()), flush=True)
        return _run(arguments)
    except (UsageError, OptError, OutputError, PassOptionError, PipelineEditError) as error:
        return fail(PROGRAM, str(error))


def _run(arguments: Sequence[str]) -> int:
    line = _parse(arguments)
    if len(line.inputs) > 1:
        raise UsageError(
            f"too many positional arguments: {', '.join(map(repr, line.inputs))}; "
            "write a flag's value as --flag=value"
        )
    if line.settings.emit_bytecode and line.settings.split_marker is not None:
        raise UsageError(
            "--emit-bytecode can't be used with --split-input-file: nothing separates the bytecode "
            "of one part from that of the next"
        )
    pieces = tuple(join_native(line.shorthands))
    anchor = "builtin.module"
    if line.pipeline is not None:
        if pieces:
            raise UsageError("--pass-pipeline can't be used with individual pass options")
        try:
            anchor, pieces = read_pipeline(line.pipeline)
        except PipelineTextError as error:
            print_in_pipeline(line.pipeline, error)
            return 1
    refuse_mistyped(_library_flags(line), _FLAGS)
    target = line.settings.test_target
    if target and any(isinstance(piece, OurPass) for piece in pieces):
        check_target("--iree-gpu-test-target", target)
    source = line.inputs[0] if line.inputs else "-"
    embedding.set_process_flags(PROGRAM, _library_flags(line))
    settings = replace(line.settings, input=source, anchor=anchor, pieces=pieces)
    return 0 if optimize(settings) else 1


_PRINT_OP = "mlir-print-op-on-diagnostic"


def _library_flags(line: _CommandLine) -> list[str]:
    """Returns the flags for LLVM's option parser; where diagnostics are compared, no op is printed.

    mlir-opt, too, switches the note "see current operation" off then, whatever the flag says.
    """
    if not line.settings.verify_diagnostics:
        return line.library_flags
    others = [word for word in line.library_flags if flag_of(word).lstrip("-") != _PRINT_OP]
    return [*others, f"--{_PRINT_OP}=false"]


def print_in_pipeline(text: str, error: PipelineTextError) -> None:
    """Prints an error with its place in the pipeline, as the compiler does for a source file."""
    before = text[: error.position]
    column = len(before) - before.rfind("\n")
    place = SourceLocation("<pass-pipeline>", before.count("\n") + 1, column)
    shown = InputText(text.encode(), place.file if text else "")
    shown.show(Diagnostic(Severity.ERROR, str(error), place))


_VALUES = {
    "o": "output",
    "bankwise-decisions": "decisions",
    "output-split-marker": "output_split_marker",
    "iree-gpu-test-target": "test_target",
}
_SWITCHES = {
    "bankwise-remarks": "remarks",
    "allow-unregistered-dialect": "allow_unregistered_dialects",
    "verify-each": "verify_each",
    "verify-roundtrip": "verify_roundtrip",
    "mlir-timing": "timing",
    "dump-pass-pipeline": "dump_pipeline",
    "emit-bytecode": "emit_bytecode",
}
_BLOCK = "block"
_BYTECODE_VERSION = "emit-bytecode-version"
_PRINT_SWITCHES = {
    "mlir-print-ir-before-all": "before_all",
    "mlir-print-ir-after-all": "after_all",
    "mlir-print-ir-module-scope": "module_scope",
}
_PRINT_LISTS = {"mlir-print-ir-before": "before", "mlir-print-ir-after": "after"}
_WITH_VALUES = ("pass-pipeline", _BYTECODE_VERSION, _BLOCK, *_VALUES, *_PRINT_LISTS)
_FLAGS = (*_WITH_VALUES, *_SWITCHES, *_PRINT_SWITCHES, "split-input-file", "verify-diagnostics",
          "list-passes", "show-dialects", "print-completion", "help", "version")  # fmt: skip
# Flags that our passes and the compiler's library must both know.
_SHARED = {"iree-gpu-test-target", "mlir-timing", *_PRINT_SWITCHES}


def _parse(arguments: Sequence[str]) -> _CommandLine:
    line = _CommandLine()
    words = iter(arguments)
    for word in words:
        name, separator, text = word.lstrip("-").partition("=")
        if not word.startswith("-") or word == "-":
            line.inputs.append(word)
            continue
        if not separator and name in _WITH_VALUES:
            text = next(words, "")
            if not text:
                raise UsageError(f"for the {word} option: requires a value!")
        _read_flag(line, word, name, text if separator or text else None)
        if name in _SHARED:
            line.library_flags.append(f"--{name}={text}" if text else word)
    return line


def _read_flag(line: _CommandLine, word: str, name: str, text: str | None) -> None:
    """Reads one flag; `text` is None for a flag without a value."""
    if name == "pass-pipeline":
        line.pipeline = text or ""
    elif name in _VALUES:
        line.settings = replace(line.settings, **{_VALUES[name]: text})
    elif name == _BLOCK:
        line.settings = replace(line.settings, block=block_of(text or ""))
    elif name in _SWITCHES:
        line.settings = replace(line.settings, **{_SWITCHES[name]: _switch(word, text)})
    elif name in _PRINT_SWITCHES:
        _set_printing(line, **{_PRINT_SWITCHES[name]: _switch(word, text)})
    elif name in _PRINT_LISTS:
        _print_around(line, name, (text or "").split(","))
    elif name == _BYTECODE_VERSION:
        line.settings = replace(line.settings, bytecode_version=_number(word, text or ""))
    elif name == "split-input-file":
        line.settings = replace(line.settings, split_marker=text or SPLIT_MARKER)
    elif name == "verify-diagnostics":
        if text not in (None, "all", "only-expected"):
            raise UsageError(f"{word}: expected 'all' or 'only-expected'")
        line.settings = replace(
            line.settings, verify_diagnostics=True, only_expected=text == "only-expected"
        )
    elif name in PIPELINES:
        if text:
            raise UsageError(f"{name} has no options")
        line.shorthands += pieces_of(name)
    elif is_ours(name):
        line.shorthands.append(OurPass(_our_shorthand(name, text or ""), None))
    elif is_native_pass(name):
        line.shorthands.append(NativeText(_native_shorthand(word, name, text)))
    else:
        line.library_flags.append(word)


def _switch(word: str, text: str | None) -> bool:
    try:
        return text is None or truth(text)
    except ValueError:
        raise UsageError(
            f"for the {flag_of(word)} option: '{text}' is invalid value for boolean "
            "argument! Try 0 or 1"
        ) from None


def _number(word: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UsageError(
            f"for the {flag_of(word)} option: Invalid argument '{text}', only integer is supported."
        ) from None


def _set_printing(line: _CommandLine, **changes: bool | frozenset[str]) -> None:
    printing: IrPrinting = line.settings.printing._replace(**changes)
    line.settings = replace(line.settings, printing=printing)


def _print_around(line: _CommandLine, flag: str, names: Sequence[str]) -> None:
    """Notes where to print our passes' IR and leaves the compiler's own to the library."""
    ours = frozenset(name for name in names if is_ours(name))
    for name in ours:
        if name not in registered_passes():
            raise UsageError(f"for the --{flag} option: Cannot find option named '{name}'!")
    known: frozenset[str] = getattr(line.settings.printing, _PRINT_LISTS[flag])
    _set_printing(line, **{_PRINT_LISTS[flag]: known | ours})
    native = ",".join(name for name in names if name not in ours)
    if native:
        line.library_flags.append(f"--{flag}={native}")


def _our_shorthand(name: str, options: str) -> FunctionPass:
    try:
        return make_pass(name, options)
    except UnknownPassError as error:
        raise UsageError(f"Unknown command line argument '--{name}': {error}") from None


def _native_shorthand(word: str, name: str, options: str | None) -> str:
    try:
        return nest_for_module(f"{name}{{{options}}}" if options else name)
    except NativePassError as error:
        raise UsageError(f"{word}: {error}") from None


def pass_list() -> str:
    """Returns every pass of ours with its summary and its options, and every pipeline."""
    theirs = contributed_passes()
    lines = list[str]()
    for room in rooms_of():
        lines.append(f"Passes of {room.name}/, for the {_levels(room.levels)}:")
        lines += [line for each in room.passes for line in _describe(each)]
    if theirs:
        lines.append("Passes of plugins:")
        lines += [line for each in theirs.values() for line in _describe(each)]
    lines.append("Pass pipelines:")
    lines += [f"  --{name:<36} - {each.summary}" for name, each in PIPELINES.items()]
    return "".join(f"{line}\n" for line in lines)


def _levels(names: Sequence[str]) -> str:
    return f"{'level' if len(names) == 1 else 'levels'} {' and '.join(names)}"


def _describe(kind: type[FunctionPass]) -> Iterator[str]:
    yield f"  --{kind.name:<36} - {kind.summary}"
    hints, meanings = kind.option_types(), option_descriptions(kind)
    for option in kind.option_fields():
        if not _can_be_text(hints[option.name]):
            continue
        flag = f"--{option.name.replace('_', '-')}=<{_values(hints[option.name])}>"
        meaning = meanings.get(option.name, "").rstrip(".")
        # LDS stays what it is.
        first = meaning[:1] if meaning[1:2].isupper() else meaning[:1].lower()
        shown = f"{first}{meaning[1:]}; " if meaning else ""
        needed = option.default is dataclasses.MISSING
        usual = "needs a value" if needed else f"default: {option_text(option.default)}"
        yield f"    {flag:<36} - {shown}{usual}"


def _can_be_text(kind: object) -> bool:
    return isinstance(kind, type) and (issubclass(kind, Enum) or kind in (bool, int, str))


def _values(kind: type) -> str:
    if issubclass(kind, Enum):
        return "|".join(str(member.value) for member in kind)
    return {bool: "bool", int: "int", str: "string"}[kind]


if __name__ == "__main__":
    from .commands import opt_command

    opt_command()
