# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-overlap-copies`: the next tiles are copied while this iteration computes.

    scf.for ... {                            issue the first copies
      gpu.barrier                            scf.for ... {
      %v = vector.load %global[...]            nvgpu.device_async_wait; gpu.barrier
      vector.store %v, %tile[...]      ->      nvgpu.device_async_copy %global[next], %slots[...]
      gpu.barrier                              nvgpu.ldmatrix %slots[...]
      nvgpu.ldmatrix %tile[...]                nvgpu.mma.sync ...
      nvgpu.mma.sync ...                     }
    }

Without it an iteration waits for its own loads, and then for all waves to have stored. With it the
loads have the time of a whole iteration, no registers hold what is copied, and one barrier per
iteration is left. The tiles are the same ones in slots that rotate
(`tuning/overlap/rotated_slots.py`): each slot has the layout that was chosen for the tile, and
every result keeps its bits.

A decision says the bank conflicts of the copies, and of the stores in whose place they are
(`tuning/overlap/copy_conflicts.py`).

How many slots there are was noted when the tile was chosen, by the predicted time with each number;
of other tiles `rotating_slots` says it (`tuning/costs/tile_cost.py`).

On AMD GPUs, the copies are `amdgpu.gather_to_lds`, which `bankwise-form-direct-loads` has made.

Runs on resolved, flat accesses, for NVIDIA GPUs from sm_80 on and for gfx950, on loops that
multiply matrices. A loop stays as it is where something is not proven
(`tuning/copies/staged_copies.py`), or where the slots do not fit the LDS.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.descriptor_tiles import GROUP_WARPS
from ...bank_model.features import Features, features_of
from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.copy_slots import has_noted_slots, loads_directly, take_noted_slots
from ...dialect_utils.described_tiles import has_described_tile
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.element_moves import element_count
from ...dialect_utils.gpu_target import gpu_features_of, launch_of, lds_limit
from ...dialect_utils.handed_attributes import ARRANGED
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.index.lane_values import LaneEvaluator
from ...dialect_utils.loops import FOR
from ...dialect_utils.memory.flow import allocated_bytes, is_lds_allocation
from ...dialect_utils.memory.lds_ops import ALLOC, COPY, LDMATRIX
from ...dialect_utils.memory.memref_types import (
    lds_bytes,
    shown_type,
    type_of,
    whole_element_bits,
)
from ...dialect_utils.memory.mma_operands import MMA
from ...dialect_utils.multiplications import EXPONENTIALS, MFMA, MULTIPLY_ADD
from ...dialect_utils.operations import operations_in
from ...passes.base import FunctionPass, PassContext
from ...passes.decisions import Action
from ..copies.staged_copies import StagedCopy, StagedTile, StagingLoop, staging_loops
from ..costs.processors import processor_of
from ..costs.tile_cost import (
    MULTIPLY_ADDS,
    SCHEDULERS,
    SECTOR_BYTES,
    SLOTS_TO_SPARE,
    SPARED_SLOTS,
    rotating_slots,
)
from ..fragments.carried_sums import carried_sums
from .copy_conflicts import ConflictCounter, CopyConflicts
from .rotated_slots import AsyncCopies, check_copies, slots_bytes

_UNROLLED = 16
"""The most iterations of a loop with `wgmma` that ptxas is known to unroll whole."""
_FEW_COPIES, _WIDE = 6, 4
"""The most copies that a lane of a lone warpgroup issues before it waits, and how many times as
wide as high its part of the result is where these are no longer few (`_part_before_wait`)."""
_LONG = 20
"""How many iterations a loop has for each that copies nothing, if that shall not cost much."""


@dataclass(frozen=True)
class OverlapCopies(FunctionPass):
    """Makes the copies of tiles that a loop stages asynchronous.

    Attributes:
        slots: how many iterations' tiles the LDS holds; 0 chooses.
    """

    name: ClassVar[str] = "bankwise-overlap-copies"
    summary: ClassVar[str] = "copy the next tiles to the LDS while contractions run"
    slots: int = 0

    def __post_init__(self) -> None:
        self._expect("slots", self.slots == 0 or self.slots >= 2, "0, or a number of slots from 2")

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has loops, and LDS that copies may go to meanwhile.

        A note of slots is work, too: it has to go.
        """
        return _overlaps(function) or has_noted_slots(function)

    def mostly_counts(self, function: ir.Operation, context: PassContext) -> bool:
        """Returns whether the conflicts of copies are counted, which no remark is to say."""
        counts = context.explains and not context.sink.remarks
        return counts and _overlaps(function.operation)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the loops for which it is proven; never fails."""
        function = function.operation
        overlaps = _copies_asynchronously(function, context.test_target)
        noted = take_noted_slots(function)
        if not overlaps:
            return
        loops, allocations = _loops_and_tiles(function)
        if not loops or not allocations:
            return
        with function.context:
            model = context.lds_model(function)
            if model is None:
                return
            lds, launch = model
            bits = IndexBits(function, LaneEvaluator(launch))
            for loop in staging_loops(loops, allocations, bits):
                if not _may_overlap(loop, features_of(lds.arch)):
                    continue
                # An overlapped loop is another function: its values are looked at anew.
                counter = ConflictCounter(function, lds, launch) if context.explains else None
                what_stays = "copies to the LDS are not overlapped"
                with context.refusals_said(loop.operation.location, what_stays):
                    self._overlap(function, loop, noted, counter, context)

    def _overlap(
        self,
        function: ir.Operation,
        loop: StagingLoop,
        noted: int,
        counter: ConflictCounter | None,
        context: PassContext,
    ) -> None:
        computing = operations_in(loop.operation, MMA, MFMA, MULTIPLY_ADD, *EXPONENTIALS)
        contractions = _contractions(computing)
        if loop.refusals:
            raise loop.refusals[0]
        check_copies(loop)
        others = allocated_bytes(function, {tile.allocation for tile in loop.tiles})
        slots = self._slots(function, loop, contractions, noted, others, context)
        slots_read = SPARED_SLOTS if slots >= SLOTS_TO_SPARE and _is_read_behind(loop) else 1
        later = slots - slots_read
        # What is read before a loop of `wgmma` shall lie where the copies go (`share_lds.py`).
        described = has_described_tile(function)
        launch = launch_of(function, context.test_target)
        alone = launch is not None and launch.threads <= GROUP_WARPS * launch.subgroup_size
        before_wait = _part_before_wait(loop, alone=alone) if slots_read > 1 else 0.0
        one_block = self._is_one_block(
            function, loop, computing, slots, others, before_wait > 0, context
        )
        for tile in loop.tiles:
            kind, before = type_of(tile.allocation), lds_bytes(type_of(tile.allocation))
            after = slots_bytes(tile, slots)
            ahead = "the next iteration" if later == 1 else f"the next {later} iterations"
            reason = f"the copies of {ahead} run while an iteration computes"
            before_loop = later if one_block else None
            conflicts = None if counter is None else _conflicts(counter, tile, loop, before_loop)
            memory = tile.allocation.results[0]
            self.record(
                context,
                function,
                memory,
                Action.OVERLAP,
                reason,
                detail=f"{slots} slots",
                lds_bytes_before=before,
                lds_bytes_after=after,
                conflict_cycles_before=None if conflicts is None else conflicts.by_stores,
                conflict_cycles_after=None if conflicts is None else conflicts.by_copies,
            )
            text = f"{shown_type(kind)} gets {slots} slots ({before} -> {after} bytes): {reason}"
            if conflicts is not None and not tile.copies[0].is_direct:
                text = f"{text}; {conflicts}"
            context.sink.remark(tile.allocation.location, text)
        AsyncCopies(loop, slots, not described, one_block, slots_read, before_wait).carry_out()

    def _is_one_block(
        self,
        function: ir.Operation,
        loop: StagingLoop,
        computing: Sequence[ir.Operation],
        slots: int,
        others: int,
        before_wait: bool,
        context: PassContext,
    ) -> bool:
        """Returns whether the copies of a loop are better issued without a branch.

        That lets the compiler spread them among the contractions, and costs copies of the last
        iterations that read nothing. On an H200 it gained where a scheduler has one warp, which
        nobody stands in for (f16 512x4096x4096 took 0.93 times as long), and lost where there are
        two (i8 4096x4096x4096: 1.06 times), in short loops (a convolution of 18 iterations: 1.09
        times), and beside exponentials (attention 32x1000x128: 1.05 times). Copies that are issued
        before an iteration waits stand among no contractions, and lost, too (f16 4096^3, B by
        columns: 1.05 times), but in loops that ptxas unrolls whole where there is no branch
        (8192x8192x1024: 0.92 times).

        Args:
            computing: the exponentials of the loop, beside other operations.
            others: the bytes of LDS beside the tiles.
        """
        given = context.test_target
        processor = processor_of(gpu_features_of(function, given).arch)
        launch = launch_of(function, given)
        if processor is None or launch is None:
            return False
        if loop.is_repeated or any(each.name in EXPONENTIALS for each in computing):
            return False
        if has_described_tile(function):
            return not before_wait or (loop.trip_count or _UNROLLED + 1) <= _UNROLLED
        lds = others + sum(slots_bytes(tile, slots) for tile in loop.tiles)
        alone = 2 * (lds + processor.lds_overhead) > processor.lds_bytes
        few = launch.threads <= SCHEDULERS * launch.subgroup_size
        return alone and few and (loop.trip_count or 0) >= _LONG * (slots - 1)

    def _slots(
        self,
        function: ir.Operation,
        loop: StagingLoop,
        contractions: int,
        noted: int,
        others: int,
        context: PassContext,
    ) -> int:
        """Returns how many slots each tile gets of a loop that takes as long as so many `mma.sync`.

        Args:
            noted: how many were predicted to be the best when the tile was chosen; 0 if none were.
            others: the bytes of LDS beside the tiles.

        Raises:
            Refusal: not even two fit.
        """
        limit = lds_limit(function, context.test_target)
        copied = sum(slots_bytes(tile, 1) for tile in loop.tiles)
        slots = self.slots or noted
        if not slots or (not self.slots and others + slots * copied > limit):
            slots = rotating_slots(contractions, loop.trip_count, copied, others, limit)
        needed = others + max(slots, 2) * copied
        if needed > limit:
            raise Refusal(f"{max(slots, 2)} slots take {needed} bytes of LDS, of {limit}")
        return slots


def _conflicts(
    counter: ConflictCounter, tile: StagedTile, loop: StagingLoop, before: int | None
) -> CopyConflicts:
    """Returns the bank conflicts of a tile's copies, as `ConflictCounter.count`."""
    if any(copy.is_direct for copy in tile.copies):
        # Loads that go direct to the LDS have been so before.
        return CopyConflicts(0, 0)
    return counter.count(tile, loop, before)


def _is_read_behind(loop: StagingLoop) -> bool:
    """Returns whether matrix units may read tiles while the next iteration begins.

    `fragments/groups_under_way.py` decides it, from what becomes of the loop.
    """
    if not all(ARRANGED in tile.allocation.attributes for tile in loop.tiles):
        return False
    try:
        return bool(carried_sums(loop.operation))
    except Refusal:
        return False


def _part_before_wait(loop: StagingLoop, *, alone: bool) -> float:
    """Returns which part of its copies an iteration issues before it waits for its own.

    Where the units read all tiles as they lie, copies are best spread. Where they transpose one,
    all are best issued early, unless its rows begin within sectors of global memory, of which more
    have to come, or a warpgroup is alone in its workgroup: nobody else multiplies while it copies.
    f16 on an H100 at ncu's base clocks, in us, with none of the copies before the
    wait, half of them, and all:

                                          none    half     all
        3000x3000x3000                   156.0   166.3   167.7
        2500x5000x4100                   321.1   369.5   331.1
        5000x5000x4992                   641.6   638.2   646.9
        4096x4096x4096                   253.1   248.4   244.0
        4096x11008x4096                  697.9   686.0   655.9
        4096x4096x4100                   310.0   316.6   301.4
        4096x4096x4096, B transposed     271.3   235.3   251.4
        2048x2048x2048, B transposed      40.4    35.8    37.9
        8192x1024x4096, B transposed     140.1   120.5   130.4
        4096x11008x4096, B transposed    721.1   646.9   678.5
        3000x3000x3000, B transposed     215.4   212.3   213.9

    A warpgroup alone copies first what it issues while the units still multiply: half of its copies
    or a few, whichever are fewer, but half of them for 256 columns. f16 on an H200, by the copies
    of a lane, us:

                          copies   none    1/4    0.3    0.4   half    3/4    all
        333x2048x5632
        64 x 96, 64           10   42.2                        38.3           44.2
        64 x 128, 64          12           43.1                38.7   38.8    45.8
        64 x 96, 128          20           33.8                35.6   38.0    39.3
        64 x 128, 128         24           33.2                35.0   35.0    36.2
        180x4096x4096
        64 x 192, 64          16           38.1                37.7           40.1
        64 x 256, 64          20                  53.0   52.0   45.7   48.3   41.3
        150x11008x4096
        64 x 256, 64          20                  55.4   54.6   48.3   49.5   56.3

    Args:
        alone: whether a workgroup has no more than one warpgroup.
    """
    transposed = [tile for tile in loop.tiles if any(map(_is_transposing, tile.reads))]
    if not transposed:
        return 0.5
    copies = (copy for tile in transposed for copy in tile.copies)
    if any(map(_begins_within_sectors, copies)):
        return 0.0
    issued = sum(len(tile.copies) for tile in loop.tiles)
    of_transposed = sum(len(tile.copies) for tile in transposed)
    return early_part(of_transposed, issued - of_transposed) if alone else 1.0


def early_part(transposed: int, others: int) -> float:
    """Returns which part of its copies a warpgroup alone issues before it waits for its own.

    Args:
        transposed, others: the copies of a lane of the tile whose matrices the units transpose, and
            of the other one, which has 64 rows.
    """
    is_wide = transposed >= _WIDE * others > 0
    return 0.5 if is_wide else min(0.5, _FEW_COPIES / (transposed + others))


def _is_transposing(read: ir.Operation) -> bool:
    """Returns whether a read of a tile gives matrices that are transposed."""
    return read.name == LDMATRIX and ir.BoolAttr(read.attributes["transpose"]).value


def _begins_within_sectors(copy: StagedCopy) -> bool:
    """Returns whether rows of what is copied may begin within a sector of global memory."""
    kind = type_of(copy.source[0])
    bits = whole_element_bits(kind.element_type) or 1
    row = kind.shape[-1] if kind.rank else 1
    return row == DYNAMIC or row * bits % (8 * SECTOR_BYTES) != 0


def _contractions(operations: Sequence[ir.Operation]) -> int:
    """Returns how many matrix instructions there are, or what multiply-adds count as.

    Raises:
        Refusal: there are none of both.
    """
    contractions = sum(each.name in (MMA, MFMA) for each in operations)
    if contractions:
        return contractions
    results = [each.results[0].type for each in operations if each.name == MULTIPLY_ADD]
    contractions = sum(map(element_count, results)) // MULTIPLY_ADDS
    if not contractions:
        raise Refusal("the loop multiplies no matrices")
    return contractions


def _overlaps(function: ir.Operation) -> bool:
    """Returns whether `function` has loops, and LDS that copies may go to meanwhile."""
    return _copies_asynchronously(function, None) and all(_loops_and_tiles(function))


def _loops_and_tiles(
    function: ir.Operation,
) -> tuple[list[ir.Operation], list[ir.Operation]]:
    """Returns the loops and the LDS allocations of a function; none where it uses `cp.async`."""
    operations = operations_in(function, FOR, ALLOC, COPY)
    if any(each.name == COPY for each in operations):
        return [], []
    loops = [each for each in operations if each.name == FOR]
    return loops, [each for each in operations if is_lds_allocation(each)]


def _copies_asynchronously(function: ir.Operation, test_target: str | None) -> bool:
    """Returns whether copies may be `cp.async`, or are to go straight to the LDS."""
    features = gpu_features_of(function, test_target)
    return features.async_copies or loads_directly(function, test_target)


def _may_overlap(loop: StagingLoop, features: Features) -> bool:
    """Returns whether a loop's copies are of a kind that may be on its way on a GPU."""
    copies = [copy for tile in loop.tiles for copy in tile.copies]
    return features.async_copies or any(copy.is_direct for copy in copies)
