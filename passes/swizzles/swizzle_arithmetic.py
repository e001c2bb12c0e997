# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emitting the swizzled offset S(o) of an access with as little arithmetic as possible.

A chain of `xor_shuffle`s with power-of-two parameters is linear over F2: each one is
`x ^ ((x >> d) & mask)`, so S(a ^ b) = S(a) ^ S(b). An access offset is `base + c` with a constant
c. Where no bit can be 1 in both, base + c = base ^ c, so

    S(base + c) = S(base) ^ S(c).

With M the bits that S(base) can set, the part of S(c) outside of M is an addend of its own,

    S(base + c) = (S(base) ^ (S(c) & M)) + (S(c) & ~M),

and that constant goes into the offset field of the memory instruction. Accesses that agree in
base and S(c) & M share one address register.

    rows of 64 in groups of 8, x ^ ((x >> 3) & 0b111000), base = 64 * row + 8 * col:
    c = 8:    S(c) = 8 lies in M: one XOR
    c = 4096: S(c) = 4096, with row < 64 outside of M: no instruction at all

Swizzles repeat after a period P, and stay in their row: S(o + k P) = S(o) + k P. So whole periods
of c are addends too, whatever base is. `rotate_rows` adds where `xor_shuffle` XORs: in

    S(o) = (o outside the group field) | ((o + (row of o)) inside the group field)

the field is a sum modulo the groups N of a row, to which c adds (row of c + group of c) mod N, and
the rest of c is again an addend. All other swizzles and mixed chains go link by link. Where the
base is known in every lane, S(base + c) is looked up: of constants for which it differs by one
addend in all lanes, only the first is swizzled. With rows of 392 in groups of 2, 147 accesses of a
lane lie a constant behind 4 of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import reduce

import numpy as np
from iree.compiler import ir

from ...bank_model.linear_swizzle import FieldStep, LinearSwizzle
from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...bank_model.swizzles import Swizzle, chain_period
from ...dialect_utils.builders import Builder
from ...dialect_utils.index.index_bits import IndexBits, add, constant_bits
from ...dialect_utils.index.index_builder import EmittedIndex, IndexBuilder
from ...dialect_utils.index.lane_values import IntArray, Unknown
from .offset_terms import OffsetSplitter

_ALL = (1 << 64) - 1


def swizzle_constant(chain: Sequence[Swizzle], offset: int) -> int:
    """Returns S(offset) of a chain that is listed from the allocation outwards."""
    for swizzle in reversed(chain):
        offset = swizzle.apply(np.array([offset])).item()
    return offset


class XorTerm(NamedTuple):
    """`x ^= (x >> distance) & mask`: the bits of mask lie below the bits they come from."""

    distance: int
    mask: int

    def image(self, bits: int) -> int:
        """Returns the bits that can be set after the term when `bits` can be before."""
        return bits | bits >> self.distance & self.mask


def xor_terms(swizzle: Swizzle) -> tuple[XorTerm, ...] | None:
    """Returns the terms of a swizzle in the order of application; None if it is not linear."""
    linear = swizzle.linear()
    if not isinstance(linear, LinearSwizzle):
        return None
    return tuple(XorTerm(step.distance, step.mask) for step in reversed(linear.field_steps()))


class XorNetwork(NamedTuple):
    """A linear map on offset bits as terms, applied one after the other."""

    terms: tuple[XorTerm, ...]

    @staticmethod
    def of(chain: Sequence[Swizzle]) -> XorNetwork | None:
        """Returns the network of a chain; None when a link is not linear over F2."""
        terms: list[XorTerm] = []
        for swizzle in reversed(chain):
            known = xor_terms(swizzle)
            if known is None:
                return None
            terms += known
        return XorNetwork(tuple(terms))

    def apply(self, offset: int) -> int:
        """Returns the image of a constant."""
        for term in self.terms:
            offset ^= offset >> term.distance & term.mask
        return offset

    def image(self, bits: int) -> int:
        """Returns the bits that can be set in the image of a value with `bits`."""
        for term in self.terms:
            bits = term.image(bits)
        return bits

    def trimmed(self, bits: int) -> XorNetwork:
        """Returns the same map for values that have only `bits`.

        Terms that see no set bit are left out.
        """
        terms: list[XorTerm] = []
        for term in self.terms:
            mask = bits >> term.distance & term.mask
            if mask:
                terms.append(XorTerm(term.distance, mask))
            bits = term.image(bits)
        return XorNetwork(tuple(terms))

    def parallel(self, bits: int) -> tuple[XorTerm, ...]:
        """Returns the same map with all terms applied to the input: x ^ sum of ((x >> d) & mask_d).

        Column j of the matrix is the image of bit j; its other bits i are fed over distance j - i.
        """
        masks: dict[int, int] = {}
        sources = 0
        for term in self.terms:
            sources |= term.mask << term.distance | term.mask
        for source in range(sources.bit_length()):
            if not (bits & sources) >> source & 1:
                continue
            fed = self.apply(1 << source) ^ 1 << source
            while fed:
                target = fed.bit_length() - 1
                fed ^= 1 << target
                distance = source - target
                masks[distance] = masks.get(distance, 0) | 1 << target
        return tuple(XorTerm(distance, mask) for distance, mask in sorted(masks.items()))


class _Form(NamedTuple):
    """How the offsets of a chain are emitted.

    Attributes:
        number: which of the chains of the function it is.
        network: the chain, if it is linear over F2.
        rotated: what it adds to a field, if it is one swizzle that does so.
    """

    number: int
    period: int
    network: XorNetwork | None
    rotated: FieldStep | None

    @staticmethod
    def of(chain: tuple[Swizzle, ...], number: int) -> _Form:
        """Returns the form of a chain."""
        rotated = chain[0].rotated_field() if len(chain) == 1 else None
        return _Form(number, chain_period(chain), XorNetwork.of(chain), rotated)


@dataclass
class SwizzledOffsets:
    """Emits swizzled offsets in one function, sharing what accesses have in common."""

    builder: IndexBuilder
    bits: IndexBits
    splitter: OffsetSplitter
    _forms: dict[tuple[Swizzle, ...], _Form] = field(default_factory=dict)
    _shared: dict[tuple[object, ...], EmittedIndex] = field(default_factory=dict)
    _anchors: dict[tuple[object, ...], list[tuple[int, IntArray]]] = field(default_factory=dict)
    """By chain and base: constants that were added to it, and where they lie in all lanes."""

    def __post_init__(self) -> None:
        self._without_lanes = IndexBits(self.builder.function)

    def emit(
        self,
        user: ir.Operation,
        chain: Sequence[Swizzle],
        offset: ir.Value,
        constant: int = 0,
        row_length: int = 0,
    ) -> ir.Value:
        """Emits S(offset + constant) as an operand for `user`; the sum lies in the allocation.

        Args:
            row_length: the length of the rows of the memref of which the flat one is a view; 0
                where it is none. The compiler takes the offset apart again into such rows.
        """
        chain = tuple(chain)
        base, split_off = self.splitter.split(offset)
        constant += split_off
        if base is None:
            return self.builder.constant(swizzle_constant(chain, constant))
        if chain not in self._forms:
            self._forms[chain] = _Form.of(chain, len(self._forms))
        number, period, network, rotated = self._forms[chain]
        inside = constant % period
        periods = constant - inside
        if network is None and rotated is None:
            return self._link_by_link(user, chain, base, constant, period)
        base, inside = self._made_disjoint(self._shown_bounded(base), inside)
        if network is not None:
            register, rest = self._xored(number, network, base, inside)
        else:
            assert rotated is not None
            register, rest = self._rotated(rotated, base, inside)
        behind = rest + periods
        if row_length and behind > 0 and self._are_rows(register, behind, row_length):
            return self._rows_behind(user, register, behind // row_length, row_length)
        # Without whole periods the addend has no bit in common with the register.
        no_unsigned_wrap = not periods or (periods > 0 and self.bits.of(base).bounded)
        return self.builder.add_constant_before(user, register, behind, no_unsigned_wrap)

    def _are_rows(self, register: ir.Value, constant: int, length: int) -> bool:
        """Returns whether a constant is whole rows of an offset that a shift and a mask divide."""
        is_power = length & (length - 1) == 0
        return is_power and constant % length == 0 and self.bits.of(register).bounded

    def _rows_behind(
        self, user: ir.Operation, register: ir.Value, behind: int, length: int
    ) -> ir.Value:
        """Emits the offset that is so many rows behind another one, digit by digit.

        A sum would be taken apart into `(sum >> n) & ...` and `sum & ...`, and LLVM does not see
        that only the first one differs, by a constant.
        """
        index, shift = self.builder.index(register), length.bit_length() - 1
        row = self._once(("row", register, length), lambda: index >> shift)
        place = self._once(("place", register, length), lambda: index & (length - 1))
        moved = self.builder.add_constant_before(user, row.value, behind, True)
        return Builder.before(user).linearize([moved, place.value], [length])

    def _shown_bounded(self, base: ir.Value) -> ir.Value:
        """Returns the base, with a mask where LLVM would not see that it is small.

        That is where only its values in all lanes show it, which LLVM does not know. It takes what
        may be negative apart with signed divisions, where memrefs of several dimensions are behind
        this one, and then it no longer sees that two accesses are a constant apart:

            %l = arith.subi %thread_id_x, %lane_id      0 or more, but that is not in the bits
        """
        facts = self.bits.of(base)
        if not facts.bounded or self.bits.has_known_as_much(self._without_lanes):
            return base
        if self._without_lanes.of(base).bounded:
            return base
        mask = (1 << facts.upper.bit_length()) - 1
        return self._once(("bounded", base), lambda: self.builder.index(base) & mask).value

    def _made_disjoint(self, base: ir.Value, constant: int) -> tuple[ir.Value, int]:
        """Moves constant bits into the base until the two have no bit in common."""
        facts = self.bits.of(base)
        inner = constant & facts.may
        if not inner:
            return base, constant
        while overlap := (constant & ~inner) & add(facts, constant_bits(inner)).may:
            inner |= overlap
        return self._plus(base, inner).value, constant & ~inner

    def _plus(self, base: ir.Value, constant: int) -> EmittedIndex:
        return self._once(("plus", base, constant), lambda: self.builder.index(base) + constant)

    def _xored(
        self, number: int, network: XorNetwork, base: ir.Value, constant: int
    ) -> tuple[ir.Value, int]:
        """Emits S(base + constant) of disjoint bits; returns it as (register, addend)."""
        may = self.bits.of(base).may
        key = ("xor", number, base)
        swizzled_base = self._once(key, lambda: _network(network, self.builder.index(base), may))
        image = network.image(may)
        moved = network.apply(constant)
        inside = moved & image
        return self._once((*key, inside), lambda: swizzled_base ^ inside).value, moved & ~image

    def _rotated(self, step: FieldStep, base: ir.Value, constant: int) -> tuple[ir.Value, int]:
        """Emits S(base + constant) of disjoint bits; returns it as (register, addend)."""
        added = (constant + (constant >> step.distance & step.mask)) & step.mask
        key, index, mask = ("rotate", step, base), self.builder.index(base), step.mask
        total = self._once((*key, "sum"), lambda: index + ((index >> step.distance) & mask))
        outside = self._once((*key, "outside"), lambda: index & ~mask)
        rotated = self._once((*key, added), lambda: ((total + added) & mask) | outside)
        return rotated.value, constant & ~mask

    def _link_by_link(
        self,
        user: ir.Operation,
        chain: tuple[Swizzle, ...],
        base: ir.Value,
        constant: int,
        period: int,
    ) -> ir.Value:
        """Emits any chain, one swizzle after the other.

        Whole periods are split off where the remaining offset cannot be negative.
        """
        bounded = self.bits.of(base).bounded
        inside = constant % period if bounded else constant
        anchor, distance = self._anchored(chain, base, inside)
        key = ("chain", chain, base, anchor)
        start = self._plus(base, anchor)
        index = self._once(key, lambda: reduce(swizzled, reversed(chain), start))
        behind = constant - inside + distance
        return self.builder.add_constant_before(user, index.value, behind, behind > 0)

    def _anchored(
        self, chain: tuple[Swizzle, ...], base: ir.Value, constant: int
    ) -> tuple[int, int]:
        """Returns (c, d) with S(base + constant) = S(base + c) + d in all lanes, and d >= 0.

        That is an earlier constant where there is such a one, and else the constant itself.
        """
        exact = Unknown("") if self.bits.lanes is None else self.bits.lanes.evaluate(base)
        if isinstance(exact, Unknown) or not exact.values.size or exact.values.min() < -constant:
            return constant, 0
        places = exact.values + constant
        for swizzle in reversed(chain):
            places = swizzle.apply(places)
        known = self._anchors.setdefault((chain, base), [])
        for anchor, anchored in known:
            distances = places - anchored
            if (nearest := int(distances.min())) >= 0 and (distances == nearest).all():
                return anchor, nearest
        known.append((constant, places))
        return constant, 0

    def _once(self, key: tuple[object, ...], emit: Callable[[], EmittedIndex]) -> EmittedIndex:
        """Returns what `emit` has emitted for a key, now or earlier."""
        if key not in self._shared:
            self._shared[key] = emit()
        return self._shared[key]


def swizzled(offset: EmittedIndex, swizzle: Swizzle) -> EmittedIndex:
    """Emits one swizzle of an offset that is not negative, by its terms or by its formula."""
    terms = xor_terms(swizzle)
    if terms is None:
        return swizzle.place(offset)
    for term in terms:
        offset = offset ^ _moved(offset, term, _ALL)
    return offset


def _network(network: XorNetwork, base: EmittedIndex, may: int) -> EmittedIndex:
    """Emits S(base) of a base with the bits `may`, by whichever form has fewer terms."""
    serial = network.trimmed(may).terms
    parallel = network.parallel(may)
    value = base
    if len(parallel) <= len(serial):
        for term in parallel:
            value = value ^ _moved(base, term, may)
        return value
    for term in serial:
        value = value ^ _moved(value, term, may)
        may = term.image(may)
    return value


def _moved(value: EmittedIndex, term: XorTerm, may: int) -> EmittedIndex:
    """Emits (value >> distance) & mask, without the mask where it clears no bit."""
    shifted = value >> term.distance
    return shifted if (may >> term.distance) & ~term.mask == 0 else shifted & term.mask
