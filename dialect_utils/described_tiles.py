# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Noting on a function that its tile was chosen for operands that descriptors give.

What chooses a tile predicts its time with `wgmma` (`bank_model/tile_cost.py`), and knows of which
operations such times were measured. The passes that form `wgmma` leave others alone.
"""

from __future__ import annotations

from iree.compiler import ir

_DESCRIBED = "bankwise.described_tile"


def note_described_tile(function: ir.Operation) -> None:
    """Notes that the tile of `function` was chosen for operands that descriptors give."""
    function.attributes[_DESCRIBED] = ir.UnitAttr.get(function.context)


def has_described_tile(function: ir.Operation) -> bool:
    """Returns whether `note_described_tile` has marked `function`."""
    return _DESCRIBED in function.attributes


def forget_described_tile(function: ir.Operation) -> None:
    """Removes the note, if there is one."""
    if has_described_tile(function):
        del function.attributes[_DESCRIBED]
