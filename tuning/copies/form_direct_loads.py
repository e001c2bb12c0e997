# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-form-direct-loads`: tiles are copied to the LDS without going through registers.

    %v = vector.load %global[...]           amdgpu.gather_to_lds async %global[...], %tile[...]
    vector.store %v, %tile[...]      ->     rocdl.asyncmark
    gpu.barrier                             rocdl.wait.asyncmark 0
                                            gpu.barrier

CDNA4 moves 16 bytes of each lane from memory straight to the LDS (`buffer_load_dwordx4 ... lds`).
What a wave moves lies there in the order of its lanes, 1024 bytes in a row: the addresses of all
lanes prove that the stores do the same. Where tiles get a swizzle afterwards, lanes read in another
order instead (`passes/swizzles/gather_sources.py`). `bankwise-overlap-copies` lets the copies of
later iterations run while this one computes.

Where a lane takes zero in the place of what it loads, as for keys that are not there, it loads
behind the end of the buffer, which the buffer's descriptor answers by zeros.

A copy keeps its form where it is more than that, where a lane moves another number of
bytes, where some lanes of a wave take no part, or where other tiles of the loop are copied
otherwise.
"""

from __future__ import annotations

from math import prod
from typing import ClassVar

import numpy as np
from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.copy_slots import loads_directly
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.gpu_target import Launch
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.index.index_cloner import THREAD_ID
from ...dialect_utils.index.lane_values import LaneEvaluator, Unknown, existing_lanes
from ...dialect_utils.loops import FOR
from ...dialect_utils.memory.buffer_starts import BUFFER_CAST
from ...dialect_utils.memory.flat_allocations import align_allocation
from ...dialect_utils.memory.flow import lds_allocations
from ...dialect_utils.memory.memref_types import (
    has_identity_layout,
    row_major_strides,
    shown_type,
    type_of,
    whole_element_bits,
)
from ...dialect_utils.memory.surroundings import surroundings_of
from ...dialect_utils.operations import defining_operation, operations_in
from ...passes.base import FunctionPass, PassContext
from ..ldmatrix.ldmatrix_emission import other_lane, thread_x
from .staged_copies import StagedCopy, StagingLoop, staging_loops

_BYTES = 16
"""What a lane moves."""
_LARGEST = 1 << 31
"""The most bytes that an offset into a buffer may be, as a number with a sign."""


class FormDirectLoads(FunctionPass):
    """Replaces copies of tiles by loads straight to the LDS."""

    name: ClassVar[str] = "bankwise-form-direct-loads"
    summary: ClassVar[str] = "copy tiles to the LDS without registers, on CDNA4"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether the function's GPU has such loads, and it has loops."""
        return loads_directly(function, None)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Replaces the copies of loops for which it is proven; never fails."""
        function = function.operation
        model = context.lds_model(function)
        if model is None:
            return
        _, launch = model
        if not loads_directly(function, context.test_target):
            return
        allocations = lds_allocations(function)
        with function.context:
            evaluator = LaneEvaluator(launch)
            bits = IndexBits(function, evaluator)
            for loop in staging_loops(operations_in(function, FOR), allocations, bits):
                try:
                    former = _Former(function, launch, evaluator, loop)
                    former.check()
                except Refusal as refusal:
                    reason = f"copies to the LDS go through registers: {refusal.reason}"
                    context.sink.remark(loop.operation.location, reason)
                    continue
                former.carry_out()
                for tile in loop.tiles:
                    text = f"{shown_type(type_of(tile.allocation))} is filled without registers"
                    context.sink.remark(tile.allocation.location, text)


class _Former(NamedTuple):
    """Replaces the copies of a loop."""

    function: ir.Operation
    launch: Launch
    evaluator: LaneEvaluator
    loop: StagingLoop

    def check(self) -> None:
        """Makes sure that each wave stores its vectors one behind another.

        Raises:
            Refusal: one does not, or something else is in the way.
        """
        if self.loop.refusals:
            raise self.loop.refusals[0]
        size = self.launch.subgroup_size
        if not existing_lanes(self.launch).all() or self.launch.workgroup_size[0] % size:
            raise Refusal("the waves of the workgroup are not full")
        for tile in self.loop.tiles:
            for copy in tile.copies:
                self._check(copy)

    def _check(self, copy: StagedCopy) -> None:
        if copy.choice is not None:
            _check_descriptor(copy.source[0])
        if copy.bytes != _BYTES or copy.alignment < _BYTES:
            raise Refusal(f"a lane copies {copy.bytes} bytes at multiples of {copy.alignment}")
        around = surroundings_of(copy.store, self.function, self.evaluator)
        takes_part = [mask.full(self.launch) != 0 for mask in around.masks if not mask.loops]
        if len(takes_part) < len(around.masks):
            raise Refusal("whether lanes take part in a copy differs between iterations")
        waves = np.all([existing_lanes(self.launch), *takes_part], axis=0)
        if (waves != waves[..., :1]).any():
            raise Refusal("some lanes of a wave take no part in a copy")
        strides = row_major_strides(type_of(copy.store.operands[1]).shape)
        found = self.evaluator.element(list(copy.store.operands)[2:], strides)
        if isinstance(found, Unknown) or found.loops:
            raise Refusal("it is not known where a lane stores")
        place = found.full(self.launch)
        count = ir.VectorType(copy.load.results[0].type).shape[0]
        lanes = count * np.arange(self.launch.subgroup_size)
        if (waves & (place != place[..., :1] + lanes)).any():
            raise Refusal("lanes do not store one behind another")

    def carry_out(self) -> None:
        """Replaces the copies, and waits for them."""
        copies = [copy for tile in self.loop.tiles for copy in tile.copies]
        barrier = self.loop.barrier_behind([copy.store for copy in copies])
        thread = thread_x(self.function, operations_in(self.function, THREAD_ID))
        size = self.launch.subgroup_size
        behind = Builder.behind(thread)
        wave = behind.same_in_wave(behind.apply(f"d0 floordiv {size} * {size}", thread))
        for copy in copies:
            at = Builder.before(copy.store)
            first = other_lane(at, wave)
            memory, *indices = list(copy.store.operands)[1:]
            target = [memory, *map(first.clone, indices)]
            at.gather_to_lds(target, _source_of(copy, at), copy.moved)
            for each in (copy.store, copy.choice, copy.load):
                if each is not None:
                    each.erase()
        for tile in self.loop.tiles:
            align_allocation(tile.allocation, _BYTES)
        at = Builder.before(barrier)
        at.mark_copies()
        at.wait_for_marks(0)


def _source_of(copy: StagedCopy, at: Builder) -> list[ir.Value]:
    """Returns the memref that a copy reads and its indices, beyond the end where zero is chosen."""
    memory, first, *rest = copy.source
    if copy.choice is not None:
        beyond = at.index(type_of(memory).shape[0])
        first = at.select(copy.choice.operands[0], first, beyond)
    return [memory, first, *rest]


def _check_descriptor(memory: ir.Value) -> None:
    """Makes sure that what is read of a buffer beyond its end is zero.

    A descriptor ends where its buffer does, and the GPU gives zeros for what lies behind it. Rows
    within the buffer that are not to be read are read behind its end.

    Raises:
        Refusal: nothing says where the buffer ends, or an offset may not fit 32 bits.
    """
    cast = defining_operation(memory)
    if cast is None or cast.name != BUFFER_CAST or len(cast.operands) != 1:
        raise Refusal("zeros are chosen in the place of what is loaded, without a descriptor")
    if "boundsCheck" in cast.attributes and not ir.BoolAttr(cast.attributes["boundsCheck"]).value:
        raise Refusal("zeros are chosen in the place of what is loaded, and no bounds are checked")
    kind = type_of(memory)
    if not kind.has_static_shape or not kind.rank or not has_identity_layout(kind):
        raise Refusal("zeros are chosen in the place of what is loaded, and the size is not known")
    bits = whole_element_bits(kind.element_type)
    if bits is None or 2 * prod(kind.shape) * bits // 8 > _LARGEST:
        raise Refusal("zeros are chosen in the place of what is loaded of too large a buffer")
