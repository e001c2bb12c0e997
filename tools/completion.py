# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scripts that complete the programs' command lines in a shell, for `--print-completion=<shell>`.

shtab writes them from a parser of argparse: that of a tool, or one with the flags that a help in
LLVM's style lists. A script is made once and asks no program later, so that completing costs no
start of a compiler.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module

import shtab

from ..bank_model.lds_tables import known_targets
from ..emulator.chips import EMULATED_CHIPS
from ..report.formats import FORMATS
from ..runtime.module_run import DEVICES
from .argument_parser import SHELLS
from .endings import fail
from .sweep_arguments import listed_values
from .usage import UsageError, check_choice, flag_of, value_of

_FLAG = "--print-completion"
_WITH_PARSER = ("run", "sweep", "tile")
_WITH_HELP = {
    "compile": ("compile",),
    "executable": ("executable",),
    "opt": ("opt",),
    "report": ("compile", "report"),
    "run": ("compile",),
}
"""The tools whose helps list flags of one, beside those of its parser."""
_WITHOUT_INPUT = ("executable", "sweep", "tile")


def print_completion(tool: str, argv: Sequence[str]) -> int:
    """Prints the script that completes `bankwise-<tool>`; returns the exit code."""
    program = f"bankwise-{tool}"
    try:
        shell = _shell_in(argv)
    except UsageError as error:
        return fail(program, str(error))
    parser = argparse.ArgumentParser(program, add_help=False)
    if tool in _WITH_PARSER:
        parser = import_module(f".{tool}_arguments", __package__).make_parser()
    for each in _WITH_HELP.get(tool, ()):
        add_listed_flags(parser, _printed(sys.executable, "-m", f"{__package__}.{each}", "--help"))
    if tool == "opt":
        from ..iree_plugin.embedding import compiler_tool

        add_listed_flags(parser, _printed(str(compiler_tool("iree-opt")), "--list-passes"))
    offer_values(parser, tool)
    if tool not in _WITHOUT_INPUT:
        parser.add_argument("inputs", nargs="*", metavar="FILE", help="input file")
    print(script(parser, shell))
    return 0


def offer_values(parser: argparse.ArgumentParser, tool: str) -> None:
    """Gives flags values to offer that may have others too, such as a product or a device's URI."""
    offered: Mapping[str, Collection[str]] = {}
    if tool == "run":
        offered = {"--device": DEVICES, "--target": EMULATED_CHIPS}
    elif tool == "sweep":
        offered = listed_values()
    elif tool in ("report", "tile"):
        offered = {"--target": known_targets(), "--format": FORMATS}
    for flag, values in offered.items():
        parser._option_string_actions[flag].choices = [*values]


def _printed(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _shell_in(argv: Sequence[str]) -> str:
    words = iter(argv)
    for word in words:
        if flag_of(word) == _FLAG:
            shell = value_of(word, words)
            check_choice(_FLAG, shell, SHELLS)
            return shell
    raise UsageError(f"unknown flag '{next(w for w in argv if w.startswith(_FLAG))}'")


_LINE = re.compile(r"  (--?\w.*?)(?:\s\s+(?:-\s+)?(\S.*))?")
_NAME_AND_VALUE = re.compile(r"(?:^|, )(--?\w[\w-]*)(?:[= ]<(.*?)>)?")
_VALUE = re.compile(r"    =(\S+)")


def add_listed_flags(parser: argparse.ArgumentParser, text: str) -> None:
    """Adds the flags that a help in LLVM's style lists, but those that the parser has.

    -o <filename>                Output file
    --level=<value>              What may change:
      =layout                    the layouts of tiles
    --verify, --dump-to=<directory>
    --cse                        -   Eliminate common sub-expressions
    """
    last: argparse.Action | None = None
    for line in text.splitlines():
        if last is not None and (value := _VALUE.match(line)):
            last.choices = [*(last.choices or ()), value[1]]
        elif listed := _LINE.fullmatch(line.rstrip()):
            for name, placeholder in _NAME_AND_VALUE.findall(listed[1]):
                last = None
                about = (listed[2] or name).replace("%", "%%")
                if name in parser._option_string_actions:
                    continue
                if placeholder:
                    last = parser.add_argument(name, metavar=placeholder, help=about)
                else:
                    parser.add_argument(name, action="store_true", help=about)


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Returns the script for `bash` or `zsh`; a metavar with FILE or DIR in it says what a value
    is."""
    for action in parser._actions:
        place = str(action.metavar).lower()
        if action.nargs != 0 and ("file" in place or "dir" in place):
            complete = shtab.FILE if "file" in place else shtab.DIRECTORY
            action.complete = complete  # pyright: ignore[reportAttributeAccessIssue]
        if action.nargs != 0 and shell == "zsh":
            # zsh has to be told that the value may stand behind `=`.
            names = action.option_strings
            action.option_strings = [f"{n}=" if n.startswith("--") else n for n in names]
    text = shtab.complete(parser, shell)
    return (
        text
        if shell == "zsh"
        else f"{text}\n{_BASH.format(program=parser.prog, name=parser.prog.replace('-', '_'))}"
    )


_BASH = """
# `--flag=value`, which bash cuts at the sign, is what `--flag value` is.
_{name}() {{
  local word
  local -a words=()
  for word in "${{COMP_WORDS[@]:0:COMP_CWORD+1}}"; do
    [[ $word == "=" ]] || words+=("$word")
  done
  [[ ${{COMP_WORDS[COMP_CWORD]}} != "=" ]] || words+=("")
  local -a COMP_WORDS=("${{words[@]}}")
  local COMP_CWORD=$(( ${{#words[@]}} - 1 ))
  _shtab_{name} "$@"
}}
complete -o bashdefault -o default -F _{name} {program}"""
