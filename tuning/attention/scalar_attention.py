# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions that IREE computes by scalar instructions, one row of Q a workgroup.

    lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 0, 0, 128],
        workgroup = [1, 1, 32, 0, 0]}>

The lanes share the keys of a step. Each contraction says by a `lane_basis` how many lanes there are
along each loop, and by `thread` how many elements one of them loads at once:

    qk_attrs = {lowering_config = #iree_gpu.lowering_config<{thread = [0, 0, 8, 0],
      lane_basis = [[1, 1, 1, 2, 16], [1, 0, 3, 4]], subgroup_basis = [[1, 1, 1, 1, 8], ...]}>}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from math import prod

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.indexing_maps import loops_of
from ...dialect_utils.lowering_config import (
    CONFIG,
    LANE_BASIS,
    PARTIAL,
    THREAD,
    WORKGROUP,
    LoweringConfig,
    WarpLaunch,
    basis_of,
)
from ..costs.processors import Processor
from ..costs.scalar_cost import RowReduction, row_reduction_microseconds
from ..costs.tile_cost import AttentionShape
from ..tiles.tiled_operation import written_sizes
from .attention_tiles import (
    OUTPUTS,
    SCORES,
    AttentionLoops,
    K,
    Q,
    V,
    attention_loops,
    contractions_of,
    only_attention,
)

_OPERANDS_WITHOUT_MASK = 7
"""Q, K, V, the scale, the output, and the maxima and sums of its rows."""


@dataclass(frozen=True)
class ScalarAttention:
    """An attention that is computed one row at a time.

    Attributes:
        extents: how long each loop is.
        element: the type of the elements of Q, K and V.
        computed: the loops whose lengths the program computes; `extents` has typical ones for them.
        multiples: what the lengths of loops are rounded up to, where they are.
    """

    operation: ir.Operation
    extents: tuple[int, ...]
    loops: AttentionLoops
    launch: WarpLaunch
    element: ir.Type
    computed: frozenset[int] = frozenset()
    multiples: Mapping[int, int] = field(default_factory=dict)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Returns how long the loops are, as `tuning/shapes/enlarged_shapes.py` writes sizes."""
        return written_sizes(self.extents, self.computed, self.multiples)

    @property
    def shape(self) -> AttentionShape:
        """Returns its sizes."""
        loops = self.loops
        parts = (loops.batch, loops.rows, (loops.keys,), loops.head, loops.columns)
        sizes = (prod(self.extents[loop] for loop in part) for part in parts)
        return AttentionShape(*sizes, element_bytes=(element_bits(self.element) or 0) // 8)

    @property
    def masked(self) -> bool:
        """Returns whether the scores have a mask."""
        return has_mask(self.operation)

    def microseconds(self, processor: Processor) -> float:
        """Returns the predicted time.

        Raises:
            Refusal: its configuration has another form than this module describes.
        """
        return row_reduction_microseconds(self.shape, self._reduction(), processor)

    def _reduction(self) -> RowReduction:
        count = len(self.extents)
        config = LoweringConfig.of(self.operation.attributes[CONFIG])
        contractions = contractions_of(self.operation)
        scores, outputs = (basis_of(contractions[each], LANE_BASIS) for each in (SCORES, OUTPUTS))
        threads = contractions[SCORES].numbers(THREAD)
        along, behind = (
            _along(basis, left_out, count)
            for basis, left_out in ((scores, self.loops.columns), (outputs, self.loops.head))
        )
        workgroup = config.per_loop(WORKGROUP, count)
        return RowReduction(
            columns=prod(workgroup[loop] or self.extents[loop] for loop in self.loops.columns),
            keys=config.per_loop(PARTIAL, count)[self.loops.keys],
            warps=self.launch.warps,
            key_lanes=along[self.loops.keys],
            head_lanes=prod(along[loop] for loop in self.loops.head),
            column_lanes=prod(behind[loop] for loop in self.loops.columns),
            vector=max((1, *threads)),
        )


def _along(
    basis: tuple[tuple[int, ...], tuple[int, ...]], left_out: tuple[int, ...], loops: int
) -> dict[int, int]:
    """Returns the lanes along each loop of a contraction, which has all loops but some."""
    counts, order = basis
    own = [loop for loop in range(loops) if loop not in left_out]
    if len(order) != len(own) or any(not 0 <= each < len(counts) for each in order):
        raise Refusal("its lanes are not given for each loop")
    return {loop: counts[place] for loop, place in zip(own, order, strict=True)}


def has_mask(attention: ir.Operation) -> bool:
    """Returns whether an attention that is being tiled adds a mask to its scores."""
    return len(loops_of(attention)) > _OPERANDS_WITHOUT_MASK


def scalar_operation(function: ir.Operation) -> ir.Operation | None:
    """Returns the attention that decides on the workgroups of a function, if lanes reduce it."""
    operation = only_attention(function)
    if operation is None or PARTIAL not in LoweringConfig.of(operation.attributes[CONFIG]).entries:
        return None
    return operation


def scalar_attention(function: ir.Operation) -> ScalarAttention | None:
    """Returns the attention of a function that is computed one row at a time, if there is one.

    Raises:
        Refusal: there is one, but its loops or sizes are not known.
    """
    operation = scalar_operation(function)
    if operation is None:
        return None
    kinds = {ir.ShapedType(operation.operands[each].type).element_type for each in (Q, K, V)}
    if len(kinds) != 1:
        raise Refusal("the elements of Q, K and V differ")
    loops, extents, computed = attention_loops(operation)
    launch = WarpLaunch.of(function)
    return ScalarAttention(operation, extents, loops, launch, kinds.pop(), computed)
