# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the command lines that argparse reads have in common."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from .. import __version__
from .usage import UsageError, check_choice, unknown_flag

SHELLS = ("bash", "zsh")
"""The shells that there are scripts for."""


class ArgumentParser(argparse.ArgumentParser):
    """Takes whole flags only, prints help as it is written, and raises UsageError."""

    def __init__(self, program: str, description: str, epilog: str) -> None:
        super().__init__(
            prog=program,
            description=description,
            epilog=epilog,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.add_argument("--version", action="version", version=f"{program} {__version__}")
        # The programs read this flag before a parser is made; here it is for the help.
        self.add_argument("--print-completion", choices=SHELLS,
            help="print a script that completes this command in a shell, and end")  # fmt: skip

    def error(self, message: str) -> NoReturn:
        """Raises UsageError, where argparse prints its usage and exits with 2."""
        raise UsageError(message)

    @property
    def flags(self) -> list[str]:
        """Returns all flags, as they are written."""
        return [flag for action in self._actions for flag in action.option_strings]

    def parse_all(self, words: Sequence[str]) -> argparse.Namespace:
        """Returns what the words say; raises UsageError for one that is not known."""
        known, rest = self.parse_known_args(words)
        for word in rest:
            raise unknown_flag(word, self.flags, "; see --help")
        return known

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None:
            check_choice(action.option_strings[-1], value, [*action.choices])
