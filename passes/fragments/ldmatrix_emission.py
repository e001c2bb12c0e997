# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emitting `nvgpu.ldmatrix` for loads that have been proven to read matrices.

Every lane computes the address of one row. It does so as the lane that reads there computes it now
(`passes/fragments/other_lane.py`), plus what lies between the matrices. Groups of loads that are
the same distance apart in all lanes share this base, and differ by constants:

    %u = affine.apply affine_map<(t) -> (t floordiv 32 * 32 + t mod 8 * 4)>(%t)
    %i = ... the row index of the first load, of %u ...
    %j = affine.apply affine_map<(c, t) -> (c + t floordiv 8 mod 2 * 8)>(%column, %t)
    nvgpu.ldmatrix %a[%i, %j] numTiles = 4
    %j16 = arith.addi %j, %c16
    nvgpu.ldmatrix %a[%i, %j16] numTiles = 4
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np
from iree.compiler import ir

from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.index.index_builder import IndexBuilder
from ...dialect_utils.index.index_ops import dimension_of
from ...dialect_utils.index.lane_values import LaneValues, Unknown, combine
from ...dialect_utils.memory.lds_ops import LDMATRIX
from ...dialect_utils.memory.memref_types import type_of
from ...dialect_utils.memory.mma_operands import REGISTER_BITS
from .matrix_fragments import LANES, ROWS, FragmentProver, MatrixAddresses, Steps
from .other_lane import THREAD_ID, OtherLane


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

        In all lanes and trips, the rows of `addresses` start where those of the base do, plus the
        constants.
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
        return _thread_x(self.prover.function, self.thread_ids)

    def _lane_indices(self, addresses: MatrixAddresses) -> tuple[ir.Value, ...]:
        load = addresses.origin
        thread = self._thread
        row = "mod 8 floordiv 2" if addresses.transposed else "mod 8 * 4"
        with ir.InsertionPoint(load), load.location:
            warp = f"d0 floordiv {LANES} * {LANES}"
            other = OtherLane(_apply(f"(d0) -> ({warp} + (d0 {row}))", thread))
            return tuple(
                _moved(other.index(index), thread, dimension, addresses)
                for dimension, index in enumerate(list(load.operands)[1:])
            )

    def _check(self, base: _Base, matrices: int) -> None:
        """Makes sure that each lane of a base has the indices of its row, in all warps and trips.

        Raises:
            Refusal: a lane has not.
        """
        evaluator, addresses = self.prover.evaluator, base.addresses._replace(matrices=matrices)
        lanes = ROWS * matrices
        for index, expected in zip(base.indices, self.prover.expected(addresses), strict=True):
            value = evaluator.evaluate(index)
            if isinstance(value, Unknown):
                raise Refusal(f"an index depends on the {value.reason}")
            given = LaneValues(value.full(self.prover.launch)[..., :lanes], value.loops)
            away = combine(np.subtract, given, expected)
            if isinstance(away, Unknown) or away.values.any():
                raise Refusal("no lane can compute where another one reads")


def _moved(
    index: ir.Value, thread: ir.Value, dimension: int, addresses: MatrixAddresses
) -> ir.Value:
    """Emits an index of row 0 or 1 and so on moved to the matrix of the lane."""
    first, parity, low, high = (
        steps[dimension]
        for steps in (addresses.first, addresses.parity, addresses.low, addresses.high)
    )
    terms = [(parity, "d1 mod 2"), (low, "d1 floordiv 8 mod 2"), (high, "d1 floordiv 16 mod 2")]
    moves = "".join(f" + {step} * ({bit})" for step, bit in terms if step)
    if not moves and not first:
        return index
    return _apply(f"(d0, d1) -> (d0 + {first}{moves})", index, thread)


def _apply(text: str, *operands: ir.Value) -> ir.Value:
    created = ir.Operation.create(
        "affine.apply",
        results=[ir.IndexType.get()],
        operands=list(operands),
        attributes={"map": ir.Attribute.parse(f"affine_map<{text}>")},
    )
    return created.results[0]


def _thread_x(function: ir.Operation, thread_ids: Sequence[ir.Operation]) -> ir.Value:
    """Returns the thread id along x, at the entry of the function."""
    entry = function.regions[0].blocks[0]
    known = [each for each in thread_ids if dimension_of(each) == 0]
    for each in known:
        if each.block == entry:
            return each.results[0]
    with ir.InsertionPoint.at_block_begin(entry), function.location:
        created = known[0].clone() if known else _thread_id()
        return created.operation.results[0]


def _thread_id() -> ir.Operation:
    attributes = {"dimension": ir.Attribute.parse("#gpu.dim<x>")}
    return ir.Operation.create(THREAD_ID, results=[ir.IndexType.get()], attributes=attributes)


def _ldmatrix(addresses: MatrixAddresses, indices: list[ir.Value]) -> ir.Value:
    load = addresses.origin
    buffer = load.operands[0]
    element = type_of(buffer).element_type
    bits = element_bits(element)
    assert bits is not None
    context = load.context
    count = ir.IntegerAttr.get(ir.IntegerType.get_signless(32, context), addresses.matrices)
    created = ir.Operation.create(
        LDMATRIX,
        results=[
            ir.VectorType.get(
                [addresses.matrices, REGISTER_BITS // bits], element, loc=load.location
            )
        ],
        operands=[buffer, *indices],
        attributes={
            "transpose": ir.BoolAttr.get(addresses.transposed, context),
            "numTiles": count,
        },
        loc=load.location,
        ip=ir.InsertionPoint(load),
    )
    return created.results[0]


# What takes the place of the loads.


def replace_load(load: ir.Operation, matrices: ir.Value, register: int, element: int) -> None:
    """Gives the users of a load its elements of a register, from `element` on.

    The load stays, without users. `matrices` must come before it.
    """
    result = load.results[0]
    kind, at = result.type, _Place(ir.InsertionPoint(load), load.location)
    if not isinstance(kind, ir.VectorType):
        new = at.extract(matrices, [register, element], kind)
    else:
        shape, count = kind.shape, ir.VectorType(matrices.type).shape[1]
        if prod(shape) == 1:
            scalar = at.extract(matrices, [register, element], kind.element_type)
            new = at.create("vector.from_elements", kind, scalar)
        elif shape == [count]:
            new = at.extract(matrices, [register], kind)
        else:
            flat = ir.VectorType.get([count], kind.element_type)
            new = at.create("vector.shape_cast", kind, at.extract(matrices, [register], flat))
    result.replace_all_uses_with(new)


class _Place(NamedTuple):
    """Where operations are created, and the location that they get."""

    point: ir.InsertionPoint
    location: ir.Location

    def extract(self, vector: ir.Value, position: list[int], kind: ir.Type) -> ir.Value:
        """Creates a `vector.extract` at a static position."""
        static = ir.DenseI64ArrayAttr.get(position, kind.context)
        return self.create("vector.extract", kind, vector, static_position=static)

    def create(
        self, name: str, kind: ir.Type, operand: ir.Value, **attributes: ir.Attribute
    ) -> ir.Value:
        """Creates an operation with one operand and one result."""
        created = ir.Operation.create(
            name,
            results=[kind],
            operands=[operand],
            attributes=attributes,
            loc=self.location,
            ip=self.point,
        )
        return created.results[0]
