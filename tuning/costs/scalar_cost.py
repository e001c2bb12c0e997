# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long attentions take that no matrix instruction computes, predicted from what a step does.

**One row at a time.** IREE's own kernel gives a workgroup one row of Q and some columns of the
output. Its lanes share the head and the keys, and read K and V from global memory for one row of
scores, so that loads decide. What a load takes of a multiprocessor grows with the bytes from one
row of K or V to the next, because its lanes read a few bytes each of 8, 16 or 32 rows:

| attention | row in bytes | rows of a load | loads of a step | cycles, measured | predicted |
| --- | ---: | ---: | ---: | ---: | ---: |
| 64x1024x48 f16 | 96 | 32 | 8 | 17 | 17 |
| 20x1500x64 f16 | 128 | 4 | 10 | 16 | 20 |
| 40x2048x80 f16 | 160 | 16 | 7 | 19 | 22 |
| 24x2048x96 f16 | 192 | 16 | 8 | 25 | 24 |
| 32x1024x112 f16 | 224 | 16 | 9 | 22 | 26 |
| 16x2048x64 f32 | 256 | 16 | 10 | 33 | 29 |
| 32x1000x128 f16 | 256 | 8 | 10 | 32 | 29 |
| 2x512x160 f16 | 320 | 8 | 7 | 28 | 33 |
| 16x2048x192 f16 | 384 | 8 | 8 | 34 | 38 |

(An H200 by ncu, at the 1,500 MHz of `Processor`.) Where the keys have no power of two as a factor,
a step is one key, and all lanes load from the same row. That takes a constant time:

| attention | row in bytes | loads of a step | cycles, measured | predicted |
| --- | ---: | ---: | ---: | ---: |
| 8x4096x40 f16, 77 keys | 80 | 7 | 9 | 8.5 |
| 16x577x64 f16 | 128 | 10 | 8 | 8.5 |
| 12x197x64 f16 | 128 | 10 | 9 | 8.5 |
| 16x333x100 f16 | 200 | 15 | 9 | 8.5 |

Each part of the columns computes all scores again. The time is that of the multiprocessor with the
most workgroups, and at least what one workgroup waits in its steps, for K and then for V. Of one
row, 32x1x128 with 4,096 keys, 0.79 of the measured time is predicted.

**Masks.** A kernel with matrix instructions loads a mask from global memory for the scores that a
lane has, two beside each other or, where the keys are odd, one. Such a load takes about as long as
one of another row: with a mask in f16, 32x1024x128 takes 16 cycles a load more, and 16x577x64 23
(what it loads beyond the end is not counted).

**Lanes with tiles.** A workgroup has a tile of rows, and each lane a part of it: rows, keys of the
scores, and columns of the output. Q, K and V and the probabilities are read from the LDS. A step is
then that of `tile_cost.py` without matrix instructions. Each lane multiplies r rows by k keys and
r rows by c columns, by an instruction for each multiplication:

    r k head + r c keys

It reads r + k and r + c vectors of up to 16 bytes for 4 r k and 4 r c of them, so that large parts
of a lane keep the LDS out of the way, and registers end that.

**Worked example.** f32 16x2048x64, 128 rows and 32 keys a step, 4 warps of 4 x 8 lanes: a lane has
8 rows, 4 keys and 8 columns. It multiplies 4,096 times in a step, and reads 320 vectors of 16
bytes, 4 LDS cycles each. 0.74 ms are predicted. (No time of such tiles was compared yet.)
"""

from __future__ import annotations

import math

from ...bank_model.descriptor_tiles import CYCLE_BYTES
from ...bank_model.quick_tuple import NamedTuple
from .processors import Processor
from .tile_cost import MULTIPLY_ADDS, AttentionShape, TileWork, rotating_slots

_LOAD_CYCLES, _LOAD_CYCLES_PER_BYTE = 10.6, 0.0706
"""The cycles of a load: those of any, and those for each byte from one row to the next."""
_ONE_ROW_CYCLES = 8.5
"""The cycles of a load of which all lanes read the same row."""
_MASK_CYCLES = 17.0
"""The cycles of a load of a mask, from the rows that a matrix instruction has."""


class RowReduction(NamedTuple):
    """How IREE computes an attention one row at a time.

    Attributes:
        columns: columns of the output of a workgroup.
        keys: rows of K and V per step.
        warps: warps of a workgroup, which share the keys.
        key_lanes: lanes of a warp that share the keys.
        head_lanes, column_lanes: lanes that share a row of K, and of V.
        vector: how many elements a lane loads at once.
    """

    columns: int
    keys: int
    warps: int
    key_lanes: int
    head_lanes: int
    column_lanes: int
    vector: int


def row_reduction_microseconds(
    shape: AttentionShape, reduction: RowReduction, processor: Processor
) -> float:
    """Returns the predicted time of an attention that is computed one row at a time."""
    parts = math.ceil(shape.columns / reduction.columns)
    steps = math.ceil(shape.keys / reduction.keys)
    workgroups = shape.batch * shape.queries * parts
    # Those of the multiprocessor that has the most workgroups.
    warp_steps = math.ceil(workgroups / processor.multiprocessors) * steps * reduction.warps
    keys = math.ceil(reduction.keys / (reduction.warps * reduction.key_lanes))
    head = math.ceil(shape.head / (reduction.head_lanes * reduction.vector))
    columns = math.ceil(reduction.columns / (reduction.column_lanes * reduction.vector))
    rows = reduction.key_lanes
    cycles = keys * (
        head * _load_cycles(rows, shape.head * shape.element_bytes)
        + columns * _load_cycles(rows, shape.columns * shape.element_bytes)
    )
    # A step waits for K, and then for V.
    latency = (steps + processor.outer_steps) * 2 * processor.wait_cycles
    return (max(warp_steps * cycles, latency) + processor.launch_cycles) / processor.megahertz


def mask_microseconds(shape: AttentionShape, processor: Processor) -> float:
    """Returns the predicted time for which matrix instructions wait for a mask of all scores."""
    loads = shape.batch * shape.queries * shape.keys / (math.gcd(shape.keys, 2) * processor.lanes)
    return loads * _MASK_CYCLES / processor.multiprocessors / processor.megahertz


def _load_cycles(rows: int, row_bytes: int) -> float:
    """Returns the cycles of a multiprocessor that a load of a warp from so many rows takes."""
    return _ONE_ROW_CYCLES if rows == 1 else _LOAD_CYCLES + _LOAD_CYCLES_PER_BYTE * row_bytes


_VECTOR_BYTES = 16


class LaneTile(NamedTuple):
    """How an attention is cut where lanes multiply.

    Attributes:
        rows: rows of Q of a workgroup.
        columns: columns of the output of a workgroup.
        keys: rows of K and V per step.
        warps: warps of a workgroup, which share the rows.
        row_lanes: lanes of a warp that share its rows; the others share keys, and columns.
        lanes: the lanes of a warp.
        slots: how many steps' tiles of K and V the LDS holds.
    """

    rows: int
    columns: int
    keys: int
    warps: int
    row_lanes: int
    lanes: int
    slots: int = 1

    @property
    def column_lanes(self) -> int:
        """Returns how many lanes share the keys of the scores, and the columns of the output."""
        return self.lanes // self.row_lanes

    @property
    def lane_rows(self) -> int:
        """Returns the rows of a lane."""
        return self.rows // (self.warps * self.row_lanes)

    @property
    def lane_keys(self) -> int:
        """Returns the keys of a lane, of whose scores it has those with its rows."""
        return self.keys // self.column_lanes

    @property
    def lane_columns(self) -> int:
        """Returns the columns of the output of a lane."""
        return self.columns // self.column_lanes

    def multiplications(self, head: int) -> int:
        """Returns how often a lane multiplies in a step."""
        return self.lane_rows * (self.lane_keys * head + self.lane_columns * self.keys)

    def __str__(self) -> str:
        return (
            f"{self.rows} rows x {self.columns} columns, {self.keys} keys a step, "
            f"{self.warps} warps of {self.row_lanes} x {self.column_lanes} lanes"
        )


def vector_elements(extent: int, element_bytes: int) -> int:
    """Returns how many of so many elements beside each other a lane moves at once."""
    return math.gcd(extent, _VECTOR_BYTES // element_bytes)


def lane_slots(shape: AttentionShape, tile: LaneTile, limit: int) -> int:
    """Returns how many steps' tiles of K and V the LDS shall hold while copies overlap."""
    copied, others = _copied_bytes(shape, tile), _other_bytes(shape, tile)
    contractions = tile.multiplications(shape.head) / MULTIPLY_ADDS
    steps = math.ceil(shape.keys / tile.keys)
    return rotating_slots(contractions, steps, copied, others, limit)


def lane_attention_work(shape: AttentionShape, tile: LaneTile, processor: Processor) -> TileWork:
    """Returns what a workgroup of an attention does in which lanes multiply.

    Q is read anew in every step where the registers of a lane do not hold it, if it can be.
    """
    rows, keys, columns = tile.lane_rows, tile.lane_keys, tile.lane_columns
    size = shape.element_bytes
    # What of Q a lane uses in a step.
    queries = rows * shape.head
    held = queries * size / 4
    reloads = shape.reloads and _registers(tile) + held > processor.lane_registers
    loads = (
        ((queries if reloads else 0) + keys * shape.head, vector_elements(shape.head, size)),
        (rows * tile.keys, vector_elements(tile.keys, size)),
        (columns * tile.keys, vector_elements(columns, size)),
    )
    scores, copied = rows * keys, _copied_bytes(shape, tile)
    copies = copied / (_VECTOR_BYTES * tile.lanes * tile.warps)
    loaded = sum(count for count, _ in loads)
    return TileWork(
        workgroups=shape.batch
        * math.ceil(shape.queries / tile.rows)
        * math.ceil(shape.columns / tile.columns),
        warps=tile.warps,
        steps=math.ceil(shape.keys / tile.keys),
        matrix_instructions=0,
        lds_cycles=(tile.warps * tile.lanes * size * (loaded + scores) + copied) / CYCLE_BYTES,
        # A score is shifted, raised, added and stored; the lanes of a row find its maximum.
        instructions=tile.multiplications(shape.head)
        + sum(count / vector for count, vector in loads)
        + scores * (4 + shape.exponential)
        + rows * (columns + 2 * math.log2(tile.column_lanes) + 10)
        + 2 * copies
        + 50,
        copies=copies,
        registers=_registers(tile) + (0 if reloads else held),
        lds_bytes=_other_bytes(shape, tile) + tile.slots * copied,
        slots=tile.slots,
    )


def _registers(tile: LaneTile) -> float:
    """Returns the registers of a lane besides those for Q, as ptxas takes them, up to a tenth."""
    accumulated = tile.lane_rows * (tile.lane_columns + tile.lane_keys)
    return 1.15 * (accumulated + 4 * (tile.lane_rows + tile.lane_keys) + 30)


def _copied_bytes(shape: AttentionShape, tile: LaneTile) -> int:
    """Returns the bytes of K and V that a step copies."""
    return tile.keys * (shape.head + tile.columns) * shape.element_bytes


def _other_bytes(shape: AttentionShape, tile: LaneTile) -> int:
    """Returns the bytes of Q and of the probabilities."""
    return tile.rows * (shape.head + tile.keys) * shape.element_bytes
