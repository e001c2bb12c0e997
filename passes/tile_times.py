# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What compiled tiles of an operation take, which somebody outside of the passes predicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from iree.compiler import ir

from ..bank_model.tile_cost import AttentionTile, MatmulTile, ScalarTile
from ..dialect_utils.diagnostics import Refusal

AnyTile = AttentionTile | MatmulTile | ScalarTile


@dataclass(frozen=True)
class TileTime:
    """What a kernel with one tile is predicted to take.

    Attributes:
        microseconds: the time.
        ratio: the factor by which the ratio of two such times of a kernel may be off.
    """

    microseconds: float
    ratio: float


TileTimes = Callable[[ir.Operation, Sequence[AnyTile]], Sequence[TileTime | Refusal]]
"""Compiles a function with each of the tiles, and returns what each takes, or why that is not
known. Raises a Refusal where it is known of no tile."""
