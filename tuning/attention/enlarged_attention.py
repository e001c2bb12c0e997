# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the shapes of tensors in a function whose attention gets loops that tiles divide."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.indexing_maps import loops_of
from ..shapes.enlarged_shapes import EnlargedShapes, check_zeros, enlarged_shapes, note_keys
from .attention_tiles import AttentionLoops, K, Q, V


class EnlargedAttention(NamedTuple):
    """What follows for a function if the loops of its attention are longer.

    Attributes:
        shapes: the shapes of its tensors.
        keys: how many rows of K there are, as the size of a shape.
        enlarged_keys: how many rows the loop goes over, likewise.
    """

    shapes: EnlargedShapes
    keys: int
    enlarged_keys: int

    @staticmethod
    def of(
        operation: ir.Operation,
        loops: AttentionLoops,
        sizes: Sequence[int],
        enlarged: Sequence[int],
    ) -> EnlargedAttention:
        """Finds the shapes that tensors have with longer loops.

        Args:
            sizes: how long each loop is, as `enlarged_shapes` takes it.
            enlarged: how long each becomes.

        Raises:
            Refusal: something uses the attention or its operands that cannot have other sizes.
        """
        maps = loops_of(operation)
        shapes = enlarged_shapes(operation, maps, dict(enumerate(enlarged)))
        changed = {loop for loop in (*loops.head, loops.keys) if sizes[loop] != enlarged[loop]}
        for number in (Q, K, V):
            if changed.intersection(maps[number]):
                check_zeros(operation.operands[number], shapes)
        return EnlargedAttention(shapes, sizes[loops.keys], enlarged[loops.keys])

    def apply(self, function: ir.Operation) -> None:
        """Gives the tensors of a function their shapes."""
        if self.shapes.shapes:
            self.shapes.apply(function)
            note_keys(function, self.keys, self.enlarged_keys)
