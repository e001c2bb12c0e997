# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The passes of all rooms, over which tests of properties of every pass go."""

from __future__ import annotations

from bankwise.iree_plugin.rooms import rooms_of
from bankwise.passes.base import FunctionPass


def our_passes() -> tuple[type[FunctionPass], ...]:
    """Returns the passes of all rooms that are there."""
    return tuple(kind for room in rooms_of() for kind in room.passes)
