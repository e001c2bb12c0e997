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
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from iree.compiler import ir

from ...bank_model.copy_layouts import copy_layouts
from ...bank_model.scalar_cost import LaneTile, lane_attention_work, lane_slots, vector_elements
from ...bank_model.tile_cost import AttentionShape, predicted_microseconds
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.lowering_config import (
    CONFIG,
    REDUCTION,
    TRANSLATION_INFO,
    WORKGROUP,
    LoweringConfig,
    numbers_attribute,
)
from .attention_tiles import (
    BASIS,
    DECOMPOSITION,
    OUTPUTS,
    PROMOTED_ALL,
    SCORES,
    AttentionLoops,
    K,
    Q,
    V,
    basis_attribute,
    promoting,
)
from .scalar_attention import LANE_BASIS, THREAD, ScalarAttention
from .tiled_operation import Circumstances

_WARPS = (1, 2, 4, 8)
_LANE_ROWS = (1, 2, 4, 8)
_KEY_STEPS = (8, 16, 32, 64, 128)
_MOST_MULTIPLICATIONS = 6144
"""The most instructions that multiply in a step, all of which are written out: 96 KiB of code, of
the 128 KiB that a multiprocessor caches."""


@dataclass(frozen=True)
class LaneTiledAttention:
    """An attention and the tile by which its lanes compute it.

    Attributes:
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
        rows, _, columns = _single(loops)
        batch = dict.fromkeys(loops.batch, 1)
        tiles = {
            WORKGROUP: batch | {rows: self.tile.rows, columns: self.tile.columns},
            REDUCTION: {loops.keys: self.tile.keys},
        }
        config = LoweringConfig(promoting((Q, K, V), context))
        return config.with_tiles(len(self.attention.extents), tiles, context).attribute(context)

    def _decomposition(self) -> ir.Attribute:
        context, keys = self.attention.operation.context, self.attention.loops.keys
        rows, head, columns = _single(self.attention.loops)
        tile, shape = self.tile, self.attention.shape
        size = shape.element_bytes
        shared = {SCORES: (columns, keys), OUTPUTS: (head, columns)}
        # Lanes beside each other have keys beside each other: layouts keep such reads apart.
        beside = {SCORES: 1, OUTPUTS: vector_elements(tile.lane_columns, size)}
        summed = {
            SCORES: (head, vector_elements(shape.head, size)),
            OUTPUTS: (keys, vector_elements(tile.keys, size)),
        }
        parts: dict[str, ir.Attribute] = {}
        for name, (out, across) in shared.items():
            own = [loop for loop in range(len(self.attention.extents)) if loop != out]
            elements = dict([summed[name], (across, beside[name])])
            lanes = {rows: tile.row_lanes, across: tile.column_lanes}
            config = LoweringConfig(
                {
                    **promoting(PROMOTED_ALL[name], context),
                    BASIS: self._basis({rows: tile.warps}, own),
                    LANE_BASIS: self._basis(lanes, own),
                    THREAD: numbers_attribute([elements.get(loop, 0) for loop in own], context),
                }
            )
            parts[name] = ir.DictAttr.get({CONFIG: config.attribute(context)}, context)
        return ir.DictAttr.get(parts, context)

    def _basis(self, along: dict[int, int], own: list[int]) -> ir.Attribute:
        counts = [along.get(loop, 1) for loop in range(len(self.attention.extents))]
        return basis_attribute(counts, own, self.attention.operation.context)


def lane_tiled_attention(
    attention: ScalarAttention, circumstances: Circumstances
) -> LaneTiledAttention:
    """Returns the attention with the tile that is predicted to take the least time.

    Raises:
        Refusal: its elements are others than f32, its rows, head or columns are several loops, or
            no tile divides its sizes.
    """
    if not isinstance(attention.element, ir.F32Type):
        raise Refusal(f"lanes multiply no {attention.element}")
    _single(attention.loops)
    shape = replace(
        attention.shape, exponential=circumstances.exponential, reloads=circumstances.reloads
    )
    best: LaneTiledAttention | None = None
    for tile in _tiles(shape, attention.launch.warp_size):
        slots = lane_slots(shape, tile, circumstances.lds_bytes) if circumstances.overlap else 1
        work = lane_attention_work(shape, replace(tile, slots=slots), circumstances.processor)
        time = math.inf
        if work.lds_bytes <= circumstances.lds_bytes:
            time = predicted_microseconds(work, circumstances.processor)
        if time < (math.inf if best is None else best.time):
            best = LaneTiledAttention(attention, tile, time)
    if best is None:
        raise Refusal("no tile of lanes divides its sizes")
    return best


def _single(loops: AttentionLoops) -> tuple[int, int, int]:
    """Returns the loops over rows, head and columns.

    Raises:
        Refusal: one of them is that of several loops.
    """
    parts = (loops.rows, loops.head, loops.columns)
    if any(len(part) != 1 for part in parts):
        raise Refusal("its rows, head or columns are several loops")
    (rows,), (head,), (columns,) = parts
    return rows, head, columns


def _tiles(shape: AttentionShape, lanes: int) -> Iterator[LaneTile]:
    """Yields the tiles that divide an attention, of whole heads."""
    row_lanes = [1 << bit for bit in range(lanes.bit_length())]
    for warps, rows, along, keys in product(_WARPS, _LANE_ROWS, row_lanes, _KEY_STEPS):
        tile = LaneTile(warps * along * rows, shape.columns, keys, warps, along, lanes)
        if _divides(tile, shape):
            yield tile


def _divides(tile: LaneTile, shape: AttentionShape) -> bool:
    """Returns whether such tiles, and the lanes of a workgroup, divide an attention evenly."""
    if (
        shape.queries % tile.rows
        or shape.keys % tile.keys
        or tile.keys % tile.column_lanes
        or shape.columns % tile.column_lanes
        or tile.multiplications(shape.head) > _MOST_MULTIPLICATIONS
    ):
        return False
    threads, bits = tile.warps * tile.lanes, 8 * shape.element_bytes
    copied = ((tile.rows, shape.head), (tile.keys, shape.head), (tile.keys, shape.columns))
    return all(any(copy_layouts(each, bits, threads, each[-1])) for each in copied)
