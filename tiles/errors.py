# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is wrong with a question about a tile."""

from __future__ import annotations


class TileArgumentError(ValueError):
    """An argument that cannot be used; the message names it, and says what can be used.

    Attributes:
        argument: its name in Python, such as `tile` or `read`; the command line's flag is the same.
        reason: the message without the name.
    """

    def __init__(self, argument: str, reason: str) -> None:
        super().__init__(f"{argument}: {reason}")
        self.argument = argument
        self.reason = reason


class AccessError(ValueError):
    """What is wrong with an access, in a few words; whoever knows the argument names it."""
