# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the command lines that argparse reads have in common."""

from __future__ import annotations

import argparse
from typing import NoReturn

from .. import __version__
from .usage import UsageError

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
