# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scripts that complete the programs' command lines in a shell, for `--print-completion=<shell>`.

shtab writes them from a parser of argparse. A script is made once and asks no program later, so
that completing costs no start of a compiler.
"""

from __future__ import annotations

import argparse
import re
import shlex
import zlib
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

import shtab

from .completed_flags import SHELLS, CompletedFlag, Takes, distinct
from .endings import fail
from .usage import UsageError, check_choice, flag_of, value_of

_FLAG = "--print-completion"
_SOURCES = {
    "compile": "compile_arguments",
    "executable": "executable",
    "opt": "opt",
    "report": "report_arguments",
    "run": "run_arguments",
    "sweep": "sweep_arguments",
    "tile": "tile_arguments",
}
"""The module of each tool that lists its flags, by `completed_flags()`."""
_WITHOUT_INPUT = ("executable", "sweep", "tile")


def print_completion(tool: str, argv: Sequence[str]) -> int:
    """Prints the script that completes `bankwise-<tool>`; returns the exit code."""
    program = f"bankwise-{tool}"
    try:
        shell = _shell_in(argv)
    except UsageError as error:
        return fail(program, str(error))
    flags = import_module(f".{_SOURCES[tool]}", __package__).completed_flags()
    print(script(shell, program, flags, takes_files=tool not in _WITHOUT_INPUT), end="")
    return 0


def _shell_in(argv: Sequence[str]) -> str:
    words = iter(argv)
    for word in words:
        if flag_of(word) == _FLAG:
            shell = value_of(word, words)
            check_choice(_FLAG, shell, SHELLS)
            return shell
    raise UsageError(f"unknown flag '{next(w for w in argv if w.startswith(_FLAG))}'")


def script(shell: str, program: str, flags: Iterable[CompletedFlag], takes_files: bool) -> str:
    """Returns the script for `bash` or `zsh`; `takes_files` says whether inputs are files."""
    # Of a flag with a value zsh has to be told that the value may stand behind `=`.
    mark = "=" if shell == "zsh" else ""
    parser = argparse.ArgumentParser(program, add_help=False)
    kept = distinct(flags)
    for flag in kept:
        _add(parser, flag, mark)
    if takes_files:
        _complete(parser.add_argument("input", nargs="*", help="input file"), shtab.FILE)
    text = shtab.complete(parser, shell)
    return text + _bash_wrapper(program, kept) if shell == "bash" else text + "\n"


def _add(parser: argparse.ArgumentParser, flag: CompletedFlag, mark: str) -> None:
    about = flag.help.replace("%", "%%") or flag.name
    if flag.takes is Takes.NOTHING:
        parser.add_argument(flag.name, action="store_true", help=about)
        return
    name = flag.name + mark if flag.name.startswith("--") else flag.name
    # `append` has zsh offer a flag again that has been given: many may be repeated.
    action = parser.add_argument(name, action="append", metavar="value", help=about)
    if flag.takes is Takes.FILE:
        _complete(action, _file_or(flag.values) if flag.values else shtab.FILE)
    elif flag.takes is Takes.DIRECTORY:
        _complete(action, shtab.DIRECTORY)
    elif flag.takes is Takes.ONE_OF:
        action.choices = flag.values
    elif flag.takes is Takes.LIST_OF:
        _complete(action, _list_of(flag.values))


def _complete(action: argparse.Action, by: Any) -> None:
    action.complete = by  # pyright: ignore[reportAttributeAccessIssue]


def _file_or(values: Sequence[str]) -> Any:
    """Returns what completes one of some values or a file."""
    choices, words = " ".join(values), shlex.quote(" ".join(values))
    function = f"_bankwise_file_or_{zlib.crc32(words.encode()):08x}"
    body = f'compgen -W {words} -- "$1"; compgen -f -- "$1"'
    return {
        "zsh": f" _alternative 'value\\:value\\:({choices})' 'file\\:file\\:_files'",
        "bash": function,
        "preamble": {"bash": f"{function}() {{ {body}; }}"},
    }


def _list_of(values: Sequence[str]) -> Any:
    """Returns what completes the last of several values that commas separate."""
    choices, words = " ".join(values), shlex.quote(" ".join(values))
    function = f"_bankwise_list_{zlib.crc32(words.encode()):08x}"
    body = f"""\
  local before=""
  [[ $1 == *,* ]] && before="${{1%,*}},"
  compgen -P "$before" -W {words} -- "${{1##*,}}"
"""
    return {
        # The blank keeps zsh from putting options of its own behind the command.
        "zsh": f" _values -s , value {choices}",
        "bash": function,
        "preamble": {"bash": f"{function}() {{\n{body}}}"},
    }


def _bash_wrapper(program: str, flags: Iterable[CompletedFlag]) -> str:
    """Returns what teaches shtab's function that `--flag=value` is what `--flag value` is.

    bash cuts words at `=`, unless the user has set COMP_WORDBREAKS otherwise. A flag that takes a
    value is completed with its `=`.
    """
    name = re.sub(r"\W", "_", program)
    valued = [f.name for f in flags if f.takes is not Takes.NOTHING and f.name.startswith("--")]
    return f"""

_{name}_valued=" {" ".join(valued)} "

_{name}() {{
  local -a words=()
  local index last="" before=""
  for index in "${{!COMP_WORDS[@]}}"; do
    local word="${{COMP_WORDS[index]}}"
    (( index > COMP_CWORD )) && break
    before=""
    if [[ $word == "=" && $last == -* ]]; then
      (( index == COMP_CWORD )) && words+=("")
    elif [[ $word == -*=* ]]; then
      before="${{word%%=*}}="
      words+=("${{word%%=*}}" "${{word#*=}}")
    else
      words+=("$word")
    fi
    last="$word"
  done
  local -a COMP_WORDS=("${{words[@]}}")
  local COMP_CWORD=$(( ${{#words[@]}} - 1 ))
  _shtab_{name} "$@"
  COMPREPLY=("${{COMPREPLY[@]/#/$before}}")
  if [[ ${{#COMPREPLY[@]}} == 1 && $_{name}_valued == *" ${{COMPREPLY[0]}} "* ]]; then
    COMPREPLY[0]+="="
    compopt -o nospace 2>/dev/null || :
  fi
  return 0
}}

complete -o bashdefault -o default -F _{name} {program}
"""
