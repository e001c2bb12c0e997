# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Into how many parts the keys of an attention are split, by the predicted time.

A workgroup has some rows of the output, and goes over all keys. Where the rows are few, most of a
GPU has no workgroup: 8 x 128 rows are 64 tiles of 16 rows, and an H200 has 132 multiprocessors.
With the keys in s parts there are s times as many workgroups, each with an s-th of the steps, and
one more kernel, which merges the parts (`tuning/costs/split_cost.py`). Both are predicted for every
number of parts that divides the keys, each with its best tile.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from math import prod

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.lowering_config import WarpLaunch
from ..attention.attention_tiles import AttentionLoops, K, V, WarpTiledAttention
from ..attention.matrix_tilings import matrix_attentions, ranked_tilings
from ..costs.scalar_cost import RowReduction, row_reduction_microseconds
from ..costs.split_cost import memory_microseconds, merge_microseconds
from ..costs.tile_cost import AttentionShape
from ..tiles.tiled_operation import Circumstances
from .program_attention import ProgramAttention

MOST_SPLITS = 32
"""Each part of a row is three operands of the merge."""
_LEAST_KEYS = 32
"""The keys of a part; fewer are no step of most tiles."""
_LEAST_GAIN = 0.1
"""The part of the predicted time that has to be saved: another kernel and its memory are certain,
and predictions are not."""
_ONE_ROW = RowReduction(
    columns=32, keys=128, warps=8, key_lanes=16, head_lanes=2, column_lanes=2, vector=8
)
"""How IREE computes an attention of one row, a head of 128 and many keys."""


@dataclass(frozen=True)
class KeySplits:
    """A number of parts, and what it is predicted to take.

    Attributes:
        count: the number of parts.
        time: microseconds, the merge included; 0 where nothing was predicted.
        whole: those of the attention with all keys in one workgroup.
    """

    count: int
    time: float = 0.0
    whole: float = 0.0

    @property
    def gains(self) -> bool:
        """Returns whether enough of the time is saved."""
        return self.time <= self.whole * (1 - _LEAST_GAIN)

    def __str__(self) -> str:
        if not self.time:
            return f"keys are in {self.count} parts"
        return (
            f"keys in {self.count} parts are predicted to take {self.time:.1f} us, "
            f"and in one {self.whole:.1f} us"
        )


def key_splits(
    attention: ProgramAttention, listed: tuple[str, ...], circumstances: Circumstances
) -> KeySplits:
    """Returns into how many parts the keys are split.

    Args:
        listed: the names that the compiler has for the matrix instructions of the GPU.

    Raises:
        Refusal: one part is the best number, or there is no matrix instruction.
    """
    keys = attention.extents[attention.parts.keys]
    counts = _counts(keys)
    if not counts:
        raise Refusal(f"its {keys} keys are no 2 to {MOST_SPLITS} equal parts of {_LEAST_KEYS}")
    whole, *times = split_microseconds(attention, [1, *counts], listed, circumstances)
    time, best = min(zip(times, counts, strict=True))
    found = KeySplits(best, time, whole)
    if not found.gains:
        raise Refusal(str(found))
    return found


def least_microseconds(
    attention: ProgramAttention, listed: tuple[str, ...], circumstances: Circumstances
) -> float:
    """Returns the predicted time with the keys in as many parts as they are split into.

    Args:
        listed: as for `key_splits`.

    Raises:
        Refusal: there is no matrix instruction, or no tile fits the LDS.
    """
    counts = [1, *_counts(attention.extents[attention.parts.keys])]
    whole, *times = split_microseconds(attention, counts, listed, circumstances)
    splits = KeySplits(0, min(times, default=whole), whole)
    return splits.time if splits.gains else whole


def _counts(keys: int) -> list[int]:
    """Returns the numbers of parts that so many keys may be split into."""
    return [
        count
        for count in range(2, MOST_SPLITS + 1)
        if keys % count == 0 and keys // count >= _LEAST_KEYS
    ]


def split_microseconds(
    attention: ProgramAttention,
    counts: Sequence[int],
    listed: tuple[str, ...],
    circumstances: Circumstances,
) -> Sequence[float]:
    """Returns the predicted times of numbers of parts, merges included; 1 splits nothing.

    Infinity stands for that of a number which is surely not the best.

    Raises:
        Refusal: there is no matrix instruction, or no tile fits the LDS.
    """
    asked = (attention.likeness, tuple(counts), listed, circumstances)
    if asked not in _predicted:
        if len(_predicted) >= _MOST_PREDICTED:
            _predicted.clear()
        _predicted[asked] = tuple(_predict(attention, counts, listed, circumstances))
    return _predicted[asked]


_MOST_PREDICTED = 256
_predicted: dict[Hashable, tuple[float, ...]] = {}
"""What was predicted. The layers of a model ask the same again and again."""


def _predict(
    attention: ProgramAttention,
    counts: Sequence[int],
    listed: tuple[str, ...],
    circumstances: Circumstances,
) -> list[float]:
    """Returns what `split_microseconds` does."""
    planned = planned_attentions(attention, listed, circumstances)
    element_bytes, processor = planned[0].element_bytes, circumstances.processor
    rows = prod(attention.sizes(attention.row_dims))
    columns = prod(attention.sizes(attention.output.dims)) // rows
    floor = memory_microseconds(_read_bytes(attention, element_bytes), processor)
    # A kernel of its own doubles a single row, unless it becomes part of the one that makes Q.
    doubling = 0.0 if attention.doubled is None else processor.launch_cycles / processor.megahertz
    launch = processor.launch_cycles / processor.megahertz
    times, best = list[float](), math.inf
    for count in counts:
        if count == 1:
            times.append(max(floor, _whole_time(attention, planned, circumstances)))
            continue
        merge = merge_microseconds(rows, columns, count, element_bytes, processor)
        time = doubling + max(floor, launch) + merge
        if time <= best:
            time = doubling + max(floor, _part_time(planned, count, circumstances)) + merge
            best = min(best, time)
        else:
            time = math.inf
        times.append(time)
    return times


def _read_bytes(attention: ProgramAttention, element_bytes: int) -> int:
    """Returns the bytes of K and V."""
    return sum(prod(attention.sizes(attention.inputs[e].dims)) for e in (K, V)) * element_bytes


def _part_time(
    planned: Sequence[WarpTiledAttention], count: int, circumstances: Circumstances
) -> float:
    """Returns the microseconds of all parts without their merge.

    Raises:
        Refusal: no tile fits the LDS.
    """
    split: list[WarpTiledAttention] = []
    for each in planned:
        extents = [*each.extents, count]
        extents[each.loops.keys] //= count
        loops = each.loops._replace(batch=(*each.loops.batch, len(each.extents)))
        split.append(each.changed(extents=tuple(extents), loops=loops))
    _, (best, *_) = ranked_tilings(split, circumstances, circumstances.lds_bytes)
    return circumstances.time(circumstances.work(best, best.tile))


def _whole_time(
    attention: ProgramAttention,
    planned: Sequence[WarpTiledAttention],
    circumstances: Circumstances,
) -> float:
    """Returns the microseconds of an attention whose keys are not split.

    IREE computes one row by scalar instructions.
    """
    (whole, *_) = planned
    is_single = attention.doubled is not None
    shape = AttentionShape(
        whole.batch,
        1 if is_single else whole.rows,
        whole.keys,
        whole.head,
        whole.columns,
        element_bytes=whole.element_bytes,
    )
    scalar = row_reduction_microseconds(shape, _ONE_ROW, circumstances.processor)
    return scalar if is_single else min(scalar, _part_time(planned, 1, circumstances))


def planned_attentions(
    attention: ProgramAttention, listed: tuple[str, ...], circumstances: Circumstances
) -> list[WarpTiledAttention]:
    """Returns an attention as each pair of matrix instructions computes it, with no tile yet.

    Raises:
        Refusal: there is no matrix instruction for its elements, or it has no such parts.
    """
    operation, lanes = attention.operation, circumstances.processor.lanes
    launch = WarpLaunch.of_one_warp(lanes, operation.context)
    loops = AttentionLoops.of(attention.maps, len(attention.order))
    sized = loops, tuple(attention.sizes(attention.order)), frozenset[int]()
    parts = attention.parts
    memory = (
        attention.memory_rows(K, parts.head[-1]),
        attention.memory_rows(V, parts.columns[-1]),
    )
    planned = matrix_attentions(operation, sized, listed, launch)
    return [replace(each, memory=memory) for each in planned]
