# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emitting `nvgpu.ldmatrix` for loads that have been proven to read matrices.

Every lane computes the address of one row. It computes what the lane that reads there computes now
(`dialect_utils/index/index_cloner.py`), plus what lies between the matrices. Groups of loads that
are the same distance apart in all lanes share this base, and differ by constants:

    %u = %t / 32 * 32 + %t % 8 * 4
    %i = ... the row index of the first load, of %u ...
    %j = arith.addi %column, (%t / 8 % 2 * 8)
    nvgpu.ldmatrix %a[%i, %j] numTiles = 4
    %j16 = arith.addi %j, %c16
    nvgpu.ldmatrix %a[%i, %j16] numTiles = 4

What comes from the thread id alone is emitted as shifts and masks behind it. Of `affine.apply`,
MLIR makes signed divisions with their corner cases, of which IREE's range analysis leaves some:
code for sm_80 has 3 to 20 % more instructions of PTX then, and an attention of 256 elements spills.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import cached_property
from math import prod

import numpy as np
from iree.compiler import ir

from ...bank_model.descriptor_tiles import LANES
from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.index.index_builder import EmittedIndex, IndexBuilder
from ...dialect_utils.index.index_cloner import (
    SAME_IN_A_WAVE,
    THREAD_ID,
    IndexCloner,
    is_index_arithmetic,
)
from ...dialect_utils.index.index_ops import block_owner, dimension_of
from ...dialect_utils.index.lane_values import LaneValues, Unknown, combine
from ...dialect_utils.loops import is_induction
from ...dialect_utils.memory.memref_types import type_of
from ...dialect_utils.memory.mma_operands import REGISTER_BITS
from ...dialect_utils.operations import defining_operation
from .matrix_fragments import ROWS, FragmentProver, MatrixAddresses, Steps


@dataclass
class _Base:
    """Indices that each lane computes once, for all groups of loads alike.

    Attributes:
        addresses: the rows that the lanes start there.
        indices: one along each dimension.
        proven: of how many matrices it is known that the lanes have the indices of their rows.
    """

    addresses: MatrixAddresses
    indices: tuple[ir.Value, ...]
    proven: int = 0


_Alike = tuple[ir.Block, bool, Steps, Steps, Steps]
"""What matrices have in common that one base can serve, of whatever memrefs: the block, whether
they are transposed, and how far their rows are apart."""


@dataclass
class LdmatrixEmitter:
    """Emits the `nvgpu.ldmatrix` of one function, those of a block in the order of its text.

    Attributes:
        thread_ids: the `gpu.thread_id` of the function.
    """

    prover: FragmentProver
    builder: IndexBuilder
    thread_ids: Sequence[ir.Operation]
    _bases: dict[_Alike, list[_Base]] = field(default_factory=dict)

    def emit(self, addresses: MatrixAddresses) -> ir.Value:
        """Emits one right before the first of the loads, and returns its result.

        The result is a vector with a row per register: matrices x elements of a register.

        Raises:
            Refusal: no lane can compute where another one reads.
        """
        base, constants = self._base(addresses)
        if base.proven < addresses.matrices:
            self._check(base, addresses.matrices)
            base.proven = addresses.matrices
        load = addresses.origin
        indices = [
            self.builder.add_constant_before(load, index, constant, no_unsigned_wrap=False)
            for index, constant in zip(base.indices, constants, strict=True)
        ]
        return _ldmatrix(addresses, indices)

    def _base(self, addresses: MatrixAddresses) -> tuple[_Base, Steps]:
        """Returns indices for the lanes, and the constants to be added to them.

        In all lanes and iterations, the rows of `addresses` start where those of the base do, plus
        the constants.
        """
        origin, parts = addresses.origin, (addresses.parity, addresses.low, addresses.high)
        bases = self._bases.setdefault((origin.block, addresses.transposed, *parts), [])
        for base in bases:
            try:
                away = self.prover.distance(origin, base.addresses.origin)
            except Refusal:
                continue
            steps = zip(away, addresses.first, base.addresses.first, strict=True)
            return base, tuple(a + mine - theirs for a, mine, theirs in steps)
        base = _Base(addresses, self._lane_indices(addresses))
        bases.append(base)
        return base, (0,) * len(base.indices)

    @cached_property
    def _thread(self) -> ir.Value:
        return thread_x(self.prover.function, self.thread_ids)

    def _lane_indices(self, addresses: MatrixAddresses) -> tuple[ir.Value, ...]:
        load = addresses.origin
        thread = self.builder.index(self._thread)
        row = (thread & 7) // 2 if addresses.transposed else (thread & 7) * 4
        at = Builder.before(load)
        cloner = other_lane(at, (thread // LANES * LANES + row).value)
        return tuple(
            _moved(at, cloner.clone(index), thread, dimension, addresses)
            for dimension, index in enumerate(list(load.operands)[1:])
        )

    def _check(self, base: _Base, matrices: int) -> None:
        """Makes sure that each lane of a base has its row's indices, in all warps and iterations.

        Raises:
            Refusal: a lane has not.
        """
        evaluator, addresses = self.prover.evaluator, base.addresses._replace(matrices=matrices)
        lanes = ROWS * matrices
        for index, expected in zip(base.indices, self.prover.expected(addresses), strict=True):
            value = evaluator.known(index)
            given = LaneValues(value.full(self.prover.launch)[..., :lanes], value.loops)
            away = combine(np.subtract, given, expected)
            if isinstance(away, Unknown) or away.values.any():
                raise Refusal("no lane can compute where another one reads")


def other_lane(at: Builder, thread_x: ir.Value) -> IndexCloner:
    """Returns what emits the indices of the lane that has another thread id along x.

    Warps must lie along x. Nothing is exchanged between lanes: what an index depends on besides
    must be the same for the warp. The induction variable of a loop counts as that.
    """

    def leaf(value: ir.Value) -> ir.Value | None:
        operation = defining_operation(value)
        if operation is None:
            if not is_induction(value):
                name = block_owner(ir.BlockArgument(value)).name
                raise Refusal(f"an index depends on a block argument of {name}")
            return value
        if operation.name == THREAD_ID:
            return thread_x if dimension_of(operation) == 0 else value
        if operation.name in SAME_IN_A_WAVE:
            return value
        if not is_index_arithmetic(operation):
            raise Refusal(f"an index depends on the result of {operation.name}")
        return None

    return IndexCloner(at, leaf)


def _moved(
    at: Builder, index: ir.Value, thread: EmittedIndex, dimension: int, addresses: MatrixAddresses
) -> ir.Value:
    """Emits an index of row 0 or 1 and so on moved to the matrix of the lane."""
    first, parity, low, high = (
        steps[dimension]
        for steps in (addresses.first, addresses.parity, addresses.low, addresses.high)
    )
    for step, divisor in ((parity, 1), (low, 8), (high, 16)):
        if step:
            index = at.addi(index, ((thread // divisor & 1) * step).value)
    return at.addi(index, at.index(first)) if first else index


def thread_x(function: ir.Operation, thread_ids: Sequence[ir.Operation]) -> ir.Value:
    """Returns the thread id along x, at the entry of the function."""
    entry = function.regions[0].blocks[0]
    known = [each for each in thread_ids if dimension_of(each) == 0]
    for each in known:
        if each.block == entry:
            return each.results[0]
    at = Builder.at_begin(entry, function.location)
    return at.clone(known[0], []).results[0] if known else at.thread_id("x")


def _ldmatrix(addresses: MatrixAddresses, indices: list[ir.Value]) -> ir.Value:
    load = addresses.origin
    buffer = load.operands[0]
    element = type_of(buffer).element_type
    bits = element_bits(element)
    assert bits is not None
    at = Builder.before(load)
    kind = at.vector_type([addresses.matrices, REGISTER_BITS // bits], element)
    return at.ldmatrix(buffer, indices, kind, addresses.transposed)


# What takes the place of the loads.


def replace_load(load: ir.Operation, matrices: ir.Value, register: int, element: int) -> None:
    """Gives the users of a load its elements of a register, from `element` on.

    The load stays, without users. `matrices` must come before it.
    """
    result = load.results[0]
    kind, at = result.type, Builder.before(load)
    if not isinstance(kind, ir.VectorType):
        new = at.extract(matrices, [register, element])
    elif prod(kind.shape) == 1:
        new = at.from_elements([at.extract(matrices, [register, element])], kind.shape)
    else:
        new = at.shaped(at.extract(matrices, [register]), kind.shape)
    result.replace_all_uses_with(new)
