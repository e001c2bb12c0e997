# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The flags of a command line as a shell completes them, read from what defines or lists them."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

SHELLS = ("bash", "zsh")
"""The shells that there are scripts for."""
LIBRARY_OPTIONS = "IREE AND LLVM OPTIONS:"
"""The line of a help behind which the compiler lists its own flags."""


class Takes(Enum):
    """What the value of a flag is, or that it has none."""

    NOTHING = "nothing"
    TEXT = "text"
    FILE = "file"
    DIRECTORY = "directory"
    ONE_OF = "one of"
    LIST_OF = "list of"


@dataclass(frozen=True)
class CompletedFlag:
    """A flag with its dashes, such as `--format`.

    Attributes:
        values: the values that it may have, for `ONE_OF` and, separated by commas, for `LIST_OF`;
            for `FILE` those that are no files.
    """

    name: str
    help: str = ""
    takes: Takes = Takes.NOTHING
    values: tuple[str, ...] = ()

    def with_values(self, values: Iterable[str], listed: bool = False) -> CompletedFlag:
        """Returns the flag with the values that it may have; with `listed`, several at once."""
        takes = Takes.LIST_OF if listed else Takes.ONE_OF
        if self.takes is Takes.FILE:
            takes = Takes.FILE
        return replace(self, takes=takes, values=tuple(values))


def with_values(
    flags: Iterable[CompletedFlag],
    values: Mapping[str, Collection[str]],
    lists: Mapping[str, Collection[str]] | None = None,
) -> list[CompletedFlag]:
    """Returns flags with the values that some may have, by their names.

    Args:
        values: of flags that take one of them.
        lists: of flags that take several, separated by commas.
    """
    lists = lists or {}
    return [
        flag.with_values(values[flag.name])
        if flag.name in values
        else flag.with_values(lists[flag.name], listed=True)
        if flag.name in lists
        else flag
        for flag in flags
    ]


def distinct(flags: Iterable[CompletedFlag]) -> list[CompletedFlag]:
    """Returns the first flag of each name."""
    found: dict[str, CompletedFlag] = {}
    for flag in flags:
        found.setdefault(flag.name, flag)
    return list(found.values())


def flags_of_parser(parser: argparse.ArgumentParser) -> Iterator[CompletedFlag]:
    """Yields the flags of a parser; a metavar with FILE or DIR in it says what a value is."""
    for action in parser._actions:
        metavar = action.metavar if isinstance(action.metavar, str) else ""
        takes = Takes.NOTHING if action.nargs == 0 else _kind(metavar.lower())
        for name in action.option_strings:
            flag = CompletedFlag(name, action.help or "", takes)
            yield flag.with_values(map(str, action.choices)) if action.choices else flag


_FLAG = r"--?\w[\w-]*(?:[= ]?<.*?>|\[=.*?\])?"
_LINE = re.compile(rf"  (?P<flags>{_FLAG}(?:, {_FLAG})*)(?:\s\s+(?:-(?:\s+|$))?(?P<help>.*))?")
_NAME_AND_VALUE = re.compile(r"(--?[\w-]+)(?:[= ]?<(.*)>)?")
_VALUE = re.compile(r"    =(\S+)\s+(?:-\s+)?(.*)")


def flags_of_help(text: str) -> Iterator[CompletedFlag]:
    """Yields the flags that a help in LLVM's style lists.

        -o <filename>                Output file
        --level=<value>              What may change:
          =layout                    the layouts of tiles
        --verify, --dump-to=<directory>
        --cse                        -   Eliminate common sub-expressions

    The lines are indented by two blanks, those of values by four. The options of a pass, which are
    indented as far, are no flags of the program.
    """
    flags: list[CompletedFlag] = []
    for line in text.splitlines():
        value = _VALUE.fullmatch(line)
        if value and flags and flags[-1].takes is not Takes.NOTHING:
            flags[-1] = flags[-1].with_values((*flags[-1].values, value[1]))
            continue
        listed = _LINE.fullmatch(line.rstrip())
        if listed:
            yield from flags
            found = [_flag_in_help(text) for text in listed["flags"].split(", ")]
            # A line with several flags describes none of them.
            flags = found if len(found) > 1 else [replace(found[0], help=listed["help"] or "")]
    yield from flags


def _flag_in_help(text: str) -> CompletedFlag:
    match = _NAME_AND_VALUE.match(text)
    assert match
    placeholder: str | None = match[2]
    return CompletedFlag(match[1], "", Takes.NOTHING if placeholder is None else _kind(placeholder))


def _kind(placeholder: str) -> Takes:
    """Returns what a value is whose placeholder is `file`, `filename`, `directory` or another."""
    if "file" in placeholder:
        return Takes.FILE
    return Takes.DIRECTORY if "dir" in placeholder else Takes.TEXT


def help_of_program(tool: str) -> str:
    """Returns what `bankwise-<tool> --help` prints, of which the compiler prints a part."""
    import subprocess

    command = [sys.executable, "-m", f"{__package__}.{tool}", "--help"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
