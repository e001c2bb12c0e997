# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which elements of its allocation a memref shows, in every lane and iteration.

Every view of a row-major allocation is strided, so that index (i, j) of a view is the element

    view offset + i * stride of dimension 0 + j * stride of dimension 1

of the allocation. `lane_values` knows the offset in each lane and in each iteration of a loop.
"""

from __future__ import annotations

import numpy as np
from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass, replace
from ...bank_model.swizzles import chain_period
from ..diagnostics import Refusal
from ..index.lane_values import LaneEvaluator, LaneValues, Unknown, constant
from ..loops import FOR, YIELD, loop_depth
from ..operations import defining_operation, mixed_operands
from ..swizzle_hint import Chain, hint_swizzle, is_hint, stowed_swizzles
from .flow import Use
from .lds_ops import ASSUME_ALIGNMENT, SUBVIEW, view_row
from .memref_types import static_strides, strides_and_offset, type_of


@dataclass(frozen=True, eq=False)
class TracedView:
    """A memref value inside the allocation; offset and strides in elements of the latter."""

    offset: LaneValues | Unknown
    strides: tuple[int, ...]
    sizes: tuple[int, ...]
    chain: Chain | Unknown = ()
    """The swizzles between it and the allocation."""

    @staticmethod
    def of(memory: ir.Value, offset: LaneValues | None = None) -> TracedView:
        """Returns all of a memref whose type is that of a tile.

        Args:
            offset: the element of the tile at which it begins, if that is not the first one.
        """
        kind, allocation = type_of(memory), defining_operation(memory)
        try:
            chain: Chain | Unknown = () if allocation is None else stowed_swizzles(allocation)
        except Refusal as refusal:
            chain = Unknown(refusal.reason)
        strides = strides_and_offset(kind)[0] or ()
        return TracedView(offset or constant(0), strides, tuple(kind.shape), chain)

    def same_elements(self, other: TracedView) -> bool:
        """Returns whether both show the same elements in the same order."""
        mine, theirs = self.offset, other.offset
        if isinstance(mine, Unknown) or isinstance(theirs, Unknown):
            return False
        if mine.loops != theirs.loops or not np.array_equal(mine.values, theirs.values):
            return False
        return (self.strides, self.sizes, self.chain) == (other.strides, other.sizes, other.chain)

    def through(self, operation: ir.Operation, evaluator: LaneEvaluator) -> TracedView:
        """Returns the view that `operation` makes of this one.

        Raises:
            Refusal: it shows other elements than can be told.
        """
        result, row = operation.results[0], view_row(operation)
        if row is None or not row.is_traced:
            raise Refusal("the elements of its result are not known")
        if not isinstance(result.type, ir.MemRefType):
            raise Refusal(f"result of type {result.type}")
        source = replace(self, chain=self._behind(operation)) if is_hint(operation) else self
        if is_hint(operation) or operation.name in ("memref.cast", ASSUME_ALIGNMENT):
            # These may forget static information; what they are given still holds.
            if result.type.rank != len(source.sizes):
                raise Refusal("change of rank")
            return source
        strides = static_strides(result.type)
        if strides is None or not result.type.has_static_shape:
            raise Refusal("view with dynamic sizes or strides")
        view = replace(source, strides=strides, sizes=tuple(result.type.shape))
        if row.same_start:
            return view
        offsets = mixed_operands(operation, "static_offsets", 1)
        if operation.name == SUBVIEW:
            return replace(view, offset=evaluator.element(offsets, source.strides, source.offset))
        # The offset of a reinterpret_cast counts from the allocation's start.
        return replace(view, offset=evaluator.element(offsets, (1,)))

    def _behind(self, hint: ir.Operation) -> Chain | Unknown:
        """Returns the swizzles behind a hint on the view, if they are the whole allocation's."""
        if isinstance(self.chain, Unknown):
            return self.chain
        try:
            chain = (*self.chain, hint_swizzle(hint))
        except Refusal as refusal:
            return Unknown(refusal.reason)
        if isinstance(self.offset, Unknown):
            return Unknown("hint on a part that starts at an unknown element")
        # The period of a chain may be more than NumPy's integers hold.
        if int(np.gcd.reduce(self.offset.values, None)) % chain_period(chain):
            return Unknown("hint on a part in which the swizzle does not begin anew")
        return chain

    def carried(self, use: Use, target: ir.Value) -> TracedView:
        """Returns the view where a loop or a choice has carried it.

        The next iteration of a loop sees what this one yields, and the result of the loop is what
        the last one yields: of offsets 0, 64, 0, 64 the argument has 64, 0, 64, 0 and the result
        64. The first iteration has the initial value, which is followed by itself.
        """
        offset, parent = self.offset, use.user.parent
        if parent is None or use.user.name != YIELD or parent.name != FOR:
            return self
        if isinstance(offset, Unknown):
            return self
        depth = loop_depth(parent.operation)
        axes = [axis for axis, loop in enumerate(offset.loops) if loop.depth == depth]
        if not axes:
            return self
        if isinstance(target.owner, ir.Block):
            rolled = np.roll(offset.values, 1, axes[0])
            return replace(self, offset=replace(offset, values=rolled))
        if offset.loops[axes[0]].iterations == 0:
            return replace(self, offset=Unknown("value of a loop that never runs"))
        loops = tuple(loop for loop in offset.loops if loop.depth != depth)
        last = LaneValues(np.take(offset.values, -1, axes[0]), loops)
        return replace(self, offset=last)
