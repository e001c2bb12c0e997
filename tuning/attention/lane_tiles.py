# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions whose lanes multiply, each a tile of rows, keys and columns.

Where a GPU has no matrix instruction for the elements, the configuration of both contractions says
instead how many lanes of a warp there are along each loop, and how many elements of a loop a lane
takes beside each other; the warps share the rows:

    qk_attrs = {lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1],
      subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]],
      lane_basis = [[1, 4, 1, 1, 8], [0, 1, 3, 4]], thread = [0, 0, 4, 1]}>}

4 lanes share the rows and 8 the keys, and a lane reads 4 elements of the head at once. For the
output the 8 lanes share its columns. What a lane has beyond that are repetitions.

The rows may be those of several loops. Where tiles and lanes do not divide the sizes, these are
enlarged (`tuning/shapes/enlarged_shapes.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.lowering_config import (
    BASIS,
    CONFIG,
    LANE_BASIS,
    REDUCTION,
    THREAD,
    TRANSLATION_INFO,
    WORKGROUP,
    LoweringConfig,
    basis_attribute,
    numbers_attribute,
    promoting,
)
from ..costs.copy_layouts import share_evenly
from ..costs.scalar_cost import LaneTile, lane_attention_work, lane_slots, vector_elements
from ..tiles.tiled_operation import Circumstances, rounded_up
from .attention_tiles import (
    DECOMPOSITION,
    OUTPUTS,
    PROMOTED_ALL,
    SCORES,
    K,
    LoopShare,
    Q,
    V,
    contractions_of,
    only_attention,
)
from .scalar_attention import ScalarAttention

_WARPS = (1, 2, 4, 8)
_LANE_ROWS = (1, 2, 4, 8)
_KEY_STEPS = (8, 16, 32, 64, 128)
_VECTOR = 4
"""The elements of the head that a lane reads at once."""
_MOST_MULTIPLICATIONS = 6144
"""The most instructions that multiply in a step, all of which are written out: 96 KiB of code, of
the 128 KiB that a multiprocessor caches."""


class LaneTiledAttention(NamedTuple):
    """An attention and the tile by which its lanes compute it.

    Attributes:
        attention: the attention with sizes that the tile and its lanes divide.
        time: the predicted time in microseconds.
    """

    attention: ScalarAttention
    tile: LaneTile
    time: float

    def configure(self, function: ir.Operation) -> None:
        """Gives the attention the tile in its function."""
        operation = self.attention.operation
        function.attributes[TRANSLATION_INFO] = self.attention.launch.with_warps(self.tile.warps)
        operation.attributes[CONFIG] = self._config()
        operation.attributes[DECOMPOSITION] = self._decomposition()

    def _config(self) -> ir.Attribute:
        context, loops = self.attention.operation.context, self.attention.loops
        workgroup, _ = self._rows()
        rows = dict(zip(loops.rows, workgroup.tiles, strict=True))
        columns = dict.fromkeys(loops.columns, self.tile.columns)
        tiles = {
            WORKGROUP: dict.fromkeys(loops.batch, 1) | rows | columns,
            REDUCTION: {loops.keys: self.tile.keys},
        }
        config = LoweringConfig(promoting((Q, K, V), context))
        return config.with_tiles(len(self.attention.extents), tiles, context).attribute(context)

    def _decomposition(self) -> ir.Attribute:
        context, loops = self.attention.operation.context, self.attention.loops
        (head,), (columns,), keys = loops.head, loops.columns, loops.keys
        tile, shape = self.tile, self.attention.shape
        size = shape.element_bytes
        shared = {SCORES: (columns, keys), OUTPUTS: (head, columns)}
        # Lanes beside each other have keys beside each other: layouts keep such reads apart.
        beside = {SCORES: 1, OUTPUTS: vector_elements(tile.lane_columns, size)}
        summed = {
            SCORES: (head, vector_elements(shape.head, size)),
            OUTPUTS: (keys, vector_elements(tile.keys, size)),
        }
        workgroup, warp = self._rows()
        warps = dict(zip(loops.rows, workgroup.warps, strict=True))
        row_lanes = dict(zip(loops.rows, warp.warps, strict=True))
        parts: dict[str, ir.Attribute] = {}
        for name, (out, across) in shared.items():
            own = [loop for loop in range(len(self.attention.extents)) if loop != out]
            elements = dict([summed[name], (across, beside[name])])
            lanes = {**row_lanes, across: tile.column_lanes}
            config = LoweringConfig(
                {
                    **promoting(PROMOTED_ALL[name], context),
                    BASIS: self._basis(warps, own),
                    LANE_BASIS: self._basis(lanes, own),
                    THREAD: numbers_attribute([elements.get(loop, 0) for loop in own], context),
                }
            )
            parts[name] = ir.DictAttr.get({CONFIG: config.attribute(context)}, context)
        return ir.DictAttr.get(parts, context)

    def _rows(self) -> tuple[LoopShare, LoopShare]:
        """Returns what a workgroup has of the loops over rows, and what a warp has of that.

        The lanes of a warp share its part as warps share that of the workgroup.
        """
        extents = [self.attention.extents[loop] for loop in self.attention.loops.rows]
        workgroup = LoopShare.of(extents, self.tile.rows, self.tile.warps, 1)
        assert workgroup is not None
        parts = [
            size // warps for size, warps in zip(workgroup.tiles, workgroup.warps, strict=True)
        ]
        warp = LoopShare.of(parts, self.tile.rows // self.tile.warps, self.tile.row_lanes, 1)
        assert warp is not None
        return workgroup, warp

    def _basis(self, along: Mapping[int, int], own: list[int]) -> ir.Attribute:
        counts = [along.get(loop, 1) for loop in range(len(self.attention.extents))]
        return basis_attribute(counts, own, self.attention.operation.context)


def is_tiled_by_lanes(function: ir.Operation) -> bool:
    """Returns whether an attention of a function is configured for tiles of lanes."""
    operation = only_attention(function)
    if operation is None:
        return False
    try:
        config = LoweringConfig.of(operation.attributes[CONFIG])
        scores = contractions_of(operation)[SCORES]
    except Refusal:
        return False
    return REDUCTION in config.entries and LANE_BASIS in scores.entries


def lane_tiled_attentions(
    attention: ScalarAttention, circumstances: Circumstances
) -> list[LaneTiledAttention]:
    """Returns the attention with all tiles that it may have, the least predicted time first.

    Raises:
        Refusal: its elements are others than f32, its head or columns are several loops, or no tile
            fits.
    """
    if not isinstance(attention.element, ir.F32Type):
        raise Refusal(f"lanes multiply no {attention.element}")
    if len(attention.loops.head) > 1 or len(attention.loops.columns) > 1:
        raise Refusal("its head or columns are several loops")
    found: list[LaneTiledAttention] = []
    for enlarged, tile in _tiles(attention):
        shape = enlarged.shape._replace(
            exponential=circumstances.exponential, reloads=circumstances.reloads
        )
        slots = lane_slots(shape, tile, circumstances.lds_bytes) if circumstances.overlap else 1
        work = lane_attention_work(shape, tile._replace(slots=slots), circumstances.processor)
        time = circumstances.time(work)
        if time < math.inf:
            found.append(LaneTiledAttention(enlarged, tile, time))
    if not found:
        raise Refusal("no tile of lanes fits in the LDS, or all have too many multiplications")
    return sorted(found, key=lambda each: (each.time, each.attention.extents))


def _tiles(attention: ScalarAttention) -> Iterator[tuple[ScalarAttention, LaneTile]]:
    """Yields the tiles of whole heads, each with the attention whose sizes it divides."""
    loops, lanes = attention.loops, attention.launch.warp_size
    (head,), (columns,) = loops.head, loops.columns
    row_lanes = [1 << bit for bit in range(lanes.bit_length())]
    for warps, rows, along, keys in product(_WARPS, _LANE_ROWS, row_lanes, _KEY_STEPS):
        across = lanes // along
        if keys % across:
            continue
        multiples = loops.row_tiles(attention.extents, warps * along * rows)
        multiples |= {loops.keys: keys, columns: across, head: _VECTOR}
        extents = rounded_up(attention.extents, multiples)
        enlarged = replace(attention, extents=extents, multiples=multiples)
        tile = LaneTile(warps * along * rows, enlarged.extents[columns], keys, warps, along, lanes)
        summed = enlarged.shape.head
        if tile.multiplications(summed) > _MOST_MULTIPLICATIONS:
            continue
        copied = ((tile.rows, summed), (keys, summed), (keys, tile.columns))
        if share_evenly(copied, warps * lanes):
            yield enlarged, tile
