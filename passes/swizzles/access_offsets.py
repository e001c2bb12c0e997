# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is known of where accesses to flat buffers lie, before and after swizzling."""

from __future__ import annotations

from math import prod

import numpy as np
from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...bank_model.swizzle_legality import AccessFootprint, Placement, placement
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.index.lane_values import LaneEvaluator, Unknown
from ...dialect_utils.memory.lds_ops import access_row, in_elements, required_alignment
from ...dialect_utils.swizzle_hint import Chain
from .hinted_buffers import BufferAccess


def element_count(access: BufferAccess) -> int:
    """Returns elements that one lane accesses from its offset on."""
    return prod(access.footprint.extents)


def _alignment(access: BufferAccess) -> int:
    """Returns elements of which the offset of an access must be a multiple in every layout."""
    bits = element_bits(ir.MemRefType(access.buffer.type).element_type)
    return 1 if bits is None else in_elements(required_alignment(access.operation), bits)


class KnownOffsets(NamedTuple):
    """What is known of the offsets of accesses in one function."""

    bits: IndexBits
    lanes: LaneEvaluator | None
    """Without a launch there are no lanes to look at."""

    def footprint(self, access: BufferAccess, run: int, count: int) -> AccessFootprint:
        """Returns what tells how an access of `count` elements lies relative to runs of `run`.

        Bits of an expression tell it cheaply and for any workgroup. They lose what ties two values
        together: `thread_id % 16 - lane_id % 16` is 0. Looking at every lane finds that.
        """
        found = self.bits.of(access.offset).congruence
        row = access_row(access.operation)
        whole = row is not None and row.is_whole
        footprint = AccessFootprint(
            count,
            found.modulus,
            found.residue,
            whole,
            _alignment(access) if whole else 1,
        )
        placed = placement(run, footprint)
        if self.lanes is None or placed not in (None, Placement.PARTS):
            return footprint
        exact = self.lanes.evaluate(access.offset)
        if isinstance(exact, Unknown) or not exact.values.size:
            return footprint
        first = int(exact.values.flat[0])
        multiple = int(np.gcd.reduce(exact.values - first, None))
        residue = first % multiple if multiple else first
        return footprint._replace(multiple=multiple, residue=residue)

    def common_order(self, access: BufferAccess, chain: Chain, run: int) -> list[int] | None:
        """Returns the place of each run of a vector in the vector's own block, if all lanes agree.

        The swizzle may only reorder the runs of a vector, and alike wherever it is accessed.
        Splitting it would leave it to the backend to see that.
        """
        exact = Unknown("") if self.lanes is None else self.lanes.evaluate(access.offset)
        if isinstance(exact, Unknown) or not exact.values.size or exact.values.min() < 0:
            return None
        count = element_count(access)
        runs = exact.values.reshape(-1) + np.arange(0, count, run)[:, None]
        for swizzle in reversed(chain):
            runs = swizzle.apply(runs)
        blocks = runs.min(axis=0)
        places = (runs - blocks) // run
        fills = np.sort(places[:, 0]).tolist() == list(range(count // run))
        if (blocks % count).any() or (places != places[:, :1]).any() or not fills:
            return None
        return places[:, 0].tolist()
