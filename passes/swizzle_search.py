# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cheapest chain of `xor_shuffle` hints for the accesses of one LDS tile, by exact count.

**Which swizzles there are.** With power-of-two parameters `xor_shuffle<W, A, R, P>` works on the
bits of the element offset: with W = 2^(a+n), A = 2^a and R * P = 2^(a+s) it adds the n bits from
a + s on to the n bits from a on,

    bit[a + k] ^= bit[a + s + k]    for k = 0 .. n - 1,

so (a, n, s) says everything, and P = 1 suffices. IREE wants R to be a multiple of W: s >= n.
Example: `xor_shuffle<128, 8>` is a = 3, n = 4, s = 4: it adds bits 7..10, the row of a tile with
128 columns, to bits 3..6, the group of 8 within the row.

**Which of them can matter.** A destination bit below the 4-byte bank word or above the banks'
address bits leaves every lane on its bank up to a relabelling, and a source bit that is the same
in all lanes of every wave adds a constant. The destination's bits must lie inside the tile: W
divides its number of elements.

**Why few lanes need counting.** All these swizzles are linear over F2: S(x ^ c) = S(x) ^ S(c).
Two issues whose lanes differ by one XOR constant (the next batch of a transfer, another wave)
therefore conflict alike under each of them, and one representative is counted. The V tile of an
attention has 64 reads in 4 waves, and one representative.

**What is cheapest.** The LDS serves one phase of an instruction per cycle, plus one cycle per
conflict. The sum, the *wavefronts*, comes first, so that a swizzle that tears a vector access
into pieces with more phases has to earn it; then the conflict cycles; then the instructions, so
that of two conflict-free swizzles the one that leaves vectors whole wins; then the length of the
chain, the address registers (below), and the number of bits. LDS bytes never differ.

**Address registers.** An unrolled transfer reads at S(base ^ c) = S(base) ^ S(c), with base
depending on the lane and c constant. With M the bits in which the lanes' S(base) differ, the
part S(c) & ~M goes into the instruction's offset field and only S(c) & M needs a XOR and a
register of its own: one per distinct S(c) & M.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import groupby
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..bank_model.accesses import LdsAccess, LdsTile
from ..bank_model.conflicts import phase_costs
from ..bank_model.layouts import MAX_USEFUL_ALIGNMENT, PlainLayout, SwizzledLayout, access_cost
from ..bank_model.swizzles import XorShuffle
from ..bank_model.targets import AccessKind, LdsInstruction, Target
from ..dialect_utils.swizzle_legality import AccessFootprint, illegality

IntArray = npt.NDArray[np.int64]

_BEAM = 8
_TIES = 64


@dataclass(frozen=True)
class SwizzleChoice:
    """A chain of swizzles and what it does, per execution of all accesses by one workgroup."""

    swizzles: tuple[XorShuffle, ...]
    """From the allocation outwards: the first is the hint on the allocation itself."""
    conflict_cycles: int
    plain_conflict_cycles: int
    """Conflict cycles of the plain layout."""
    wavefronts: int
    """Cycles the LDS is busy, conflict cycles included."""
    plain_wavefronts: int
    instructions: int
    """LDS instructions issued, counted per wave and execution."""
    plain_instructions: int
    address_registers: int
    """Registers for lane-dependent LDS addresses, over all transfers."""


def best_swizzle(
    target: Target, tile: LdsTile, accesses: Sequence[LdsAccess], *, max_chain: int = 3
) -> SwizzleChoice | None:
    """The best legal chain of at most `max_chain` swizzles; None where the plain layout is best.

    Raises InvalidParameterError where `accesses` do not fit the target or the tile.
    """
    problem = _Problem(target, tile, tuple(accesses))
    plain = problem.plain_cost()
    if plain.conflicts == 0 or max_chain < 1:
        return None
    best = _best_chain(problem, plain, max_chain)
    if best is None or best.cost.conflicts >= plain.conflicts:
        return None
    return SwizzleChoice(
        tuple(step.attribute() for step in best.steps),
        best.cost.conflicts,
        plain.conflicts,
        best.cost.wavefronts,
        plain.wavefronts,
        best.cost.instructions,
        plain.instructions,
        problem.address_registers([best.steps])[0],
    )


class _Step(NamedTuple):
    """One xor_shuffle as (a, n, s): `bits` bits from `low` are XORed with those `shift` above."""

    low: int
    bits: int
    shift: int

    def attribute(self) -> XorShuffle:
        low, bits, shift = self.low, self.bits, self.shift
        return XorShuffle(1 << (low + bits), 1 << low, 1 << (low + shift), 1)

    @property
    def mask(self) -> int:
        return ((1 << self.bits) - 1) << self.low


Chain = tuple[_Step, ...]


class _Cost(NamedTuple):
    """Weighted counts, in the order in which costs are compared."""

    wavefronts: int
    conflicts: int
    instructions: int


@dataclass(frozen=True)
class _Rated:
    cost: _Cost
    steps: Chain


@dataclass
class _Class:
    """Issues that conflict alike under every swizzle, and their first one's lanes."""

    kind: AccessKind
    count: int
    starts: IntArray
    active: npt.NDArray[np.bool_] | None
    issues: int = 0
    """Weighted number of issues."""

    @cached_property
    def is_linear(self) -> bool:
        """Whether start(x ^ y) ^ start(0) = (start(x) ^ start(0)) ^ (start(y) ^ start(0))."""
        if self.active is not None:
            return False
        expected = self.starts[:1]
        for bit in range(len(self.starts).bit_length() - 1):
            expected = np.concatenate([expected, expected ^ expected[0] ^ self.starts[1 << bit]])
        return np.array_equal(expected, self.starts)


@dataclass
class _Problem:
    """The accesses of one tile, prepared for counting many swizzles."""

    target: Target
    tile: LdsTile
    accesses: tuple[LdsAccess, ...]
    classes: list[_Class] = field(init=False)
    footprints: list[AccessFootprint] = field(init=False)
    is_regular: bool = field(init=False)
    """Whether every access starts at a multiple of its power-of-two size.

    Only then does a XOR with a constant keep all its words together.
    """

    def __post_init__(self) -> None:
        self.classes = list(_classes(self.accesses))
        by_count: dict[int, list[LdsAccess]] = {}
        for access in self.accesses:
            by_count.setdefault(access.count, []).append(access)
        self.footprints = [_footprint(count, same) for count, same in sorted(by_count.items())]
        bits = self.tile.element_bits
        self.is_regular = (
            bits % 8 == 0
            and _is_power_of_two(bits)
            and all(_is_power_of_two(f.count) for f in self.footprints)
            and not any(f.multiple % f.count or f.residue % f.count for f in self.footprints)
        )

    @property
    def element_bytes(self) -> int:
        """Bytes of an element, rounded up."""
        return -(-self.tile.element_bits // 8)

    @property
    def max_banks(self) -> int:
        """The most banks that any instruction sees."""
        return max(i.banks for i in self.target.instructions)

    def plain_cost(self) -> _Cost:
        """The cost without a swizzle."""
        return self.costs([()])[0]

    def costs(self, chains: Sequence[Chain]) -> list[_Cost]:
        """The exact cost of every chain; all of them are counted together."""
        if not self.is_regular:
            return [self._irregular_cost(chain) for chain in chains]
        costs: list[_Cost] = [_Cost(0, 0, 0)] * len(chains)
        order = sorted(range(len(chains)), key=lambda i: _group(chains[i]))
        for group, members in groupby(order, key=lambda i: _group(chains[i])):
            indices = list(members)
            together = [chains[i] for i in indices]
            counted = np.zeros((2, len(indices)), dtype=np.int64)
            for c in self.classes:
                for instruction, times in self._instructions(c, group).items():
                    counted += c.issues * times * self._cycles(c, instruction, together)
            instructions = self._instruction_count(group)
            for i, (wavefronts, conflicts) in zip(indices, counted.T.tolist(), strict=True):
                costs[i] = _Cost(wavefronts, conflicts, instructions)
        return costs

    def least_cost(self, group: int) -> _Cost:
        """A lower bound for every chain that keeps together `group` elements and no more.

        Word bits below the group stay as they are, so at most as many of a phase's other
        dimensions as there are bank bits above the group can be spread over banks.
        """
        if not self.is_regular:
            return _Cost(0, 0, 0)
        wavefronts = conflicts = 0
        group_words = max(group * self.element_bytes // self.target.bank_width_bytes, 1)
        for c in self.classes:
            for instruction, times in self._instructions(c, group).items():
                if not c.is_linear or _phase_basis(instruction) is None:
                    continue
                words = self._phase_words(c, instruction, [()])
                fixed_banks = min(group_words, instruction.banks)
                fixed = int(_rank(words & (fixed_banks - 1))[0])
                free = int(_rank(words)[0]) - fixed
                room = (instruction.banks // fixed_banks).bit_length() - 1
                worst = 1 << max(free - room, 0)
                phases = c.issues * times * len(instruction.phases)
                wavefronts += phases * worst
                conflicts += phases * (worst - 1)
        return _Cost(wavefronts, conflicts, self._instruction_count(group))

    def steps(self) -> list[_Step]:
        """Every swizzle that is legal and can move a lane to another bank."""
        word = self.target.bank_width_bytes
        lowest = max(word // self.element_bytes, 1).bit_length() - 1
        highest = max(word * self.max_banks // self.element_bytes, 1).bit_length() - 1
        varying = 0
        for c in self.classes:
            varying |= int(np.bitwise_or.reduce(c.starts ^ c.starts[0]))
        found: list[_Step] = []
        for low in range(lowest, highest):
            for bits in range(1, highest - low + 1):
                for shift in range(bits, varying.bit_length() - low - bits + 1):
                    # A window whose lowest or highest source bit is the same in all lanes
                    # does what a smaller window does.
                    ends = (1 << low | 1 << (low + bits - 1)) << shift
                    if varying & ends == ends:
                        step = _Step(low, bits, shift)
                        if self.is_legal((step,)):
                            found.append(step)
        return found

    def is_legal(self, chain: Chain) -> bool:
        """Whether the chain may be emitted."""
        swizzles = tuple(step.attribute() for step in chain)
        return illegality(swizzles, self.tile.elements, self.footprints) is None

    def address_registers(self, chains: Sequence[Chain]) -> list[int]:
        """Registers that hold lane-dependent addresses, per chain; see the module's text."""
        registers = np.zeros(len(chains), dtype=np.int64)
        groups = {_group(chain) for chain in chains}
        for _, members in groupby(sorted(self.accesses, key=_transfer_key), key=_transfer_key):
            transfer = list(members)
            count = transfer[0].count
            starts = np.stack([a.elements.ravel() for a in transfer])
            for group in groups:
                mine = [i for i, chain in enumerate(chains) if _group(chain) == group]
                run = min(count, group) if group else count
                issued = np.concatenate([starts + k for k in range(0, count, run)])
                registers[mine] += _distinct_addresses([chains[i] for i in mine], issued)
        return registers.tolist()

    def _instructions(self, c: _Class, group: int) -> Counter[LdsInstruction]:
        """The machine instructions of one issue when `group` elements stay together (0: all).

        Their addresses differ by constants only, so equal ones conflict alike.
        """
        run = min(c.count, group) if group else c.count
        width = run * self.element_bytes
        pieces = self.target.legalize(c.kind, width, min(width, MAX_USEFUL_ALIGNMENT))
        return Counter([instruction for instruction, _ in pieces] * (c.count // run))

    def _instruction_count(self, group: int) -> int:
        return sum(c.issues * self._instructions(c, group).total() for c in self.classes)

    def _cycles(self, c: _Class, instruction: LdsInstruction, chains: Sequence[Chain]) -> IntArray:
        """Wavefronts and conflict cycles [2, chains] of one issue of a regular class.

        Where the lanes' addresses are linear in the lane number, a phase touches an affine
        subspace of words of some dimension d, and the banks of these words form one of
        dimension r: every bank that is hit delivers 2^(d - r) words.
        """
        if c.is_linear and _phase_basis(instruction) is not None:
            words = self._phase_words(c, instruction, chains)
            cost = 1 << (_rank(words) - _rank(words & (instruction.banks - 1)))
            return len(instruction.phases) * np.stack([cost, cost - 1])
        addresses = _apply(chains, c.starts) * self.element_bytes
        costs = phase_costs(instruction, addresses, c.active, self.target.bank_width_bytes)
        return np.stack([costs.sum(axis=-1), np.maximum(costs - 1, 0).sum(axis=-1)])

    def _phase_words(
        self, c: _Class, instruction: LdsInstruction, chains: Sequence[Chain]
    ) -> IntArray:
        """Vectors [chains, n] that span the words of the instruction's first phase."""
        lanes = _phase_basis(instruction) or ()
        vectors = c.starts[list(lanes)] ^ c.starts[0]
        words = _apply(chains, vectors) * self.element_bytes // self.target.bank_width_bytes
        width = instruction.width_bytes // self.target.bank_width_bytes
        inside = np.array([1 << k for k in range(max(width, 1).bit_length() - 1)], dtype=np.int64)
        return np.concatenate([words, np.broadcast_to(inside, (len(chains), len(inside)))], axis=1)

    def _irregular_cost(self, chain: Chain) -> _Cost:
        layout = SwizzledLayout(tuple(s.attribute() for s in chain)) if chain else PlainLayout()
        wavefronts = conflicts = instructions = 0
        for access in self.accesses:
            cost = access_cost(self.target, self.tile, layout, access)
            wavefronts += access.weight * cost.wavefronts
            conflicts += access.weight * cost.conflict_cycles
            instructions += access.weight * cost.instructions * len(access.elements)
        return _Cost(wavefronts, conflicts, instructions)


def _best_chain(problem: _Problem, plain: _Cost, max_chain: int) -> _Rated | None:
    """Searches the group sizes in the order of what they could reach at best.

    For each, chains grow from single swizzles, a few of the best at a time, until one reaches
    the lower bound of the group size.
    """
    steps = problem.steps()
    groups = sorted({1 << step.low for step in steps})
    bounds = {group: problem.least_cost(group) for group in groups}
    best: _Rated | None = None
    for group in sorted(groups, key=lambda g: (bounds[g], -g)):
        if bounds[group] >= (best.cost if best else plain):
            break
        usable = [step for step in steps if 1 << step.low >= group]
        found = _grow_chain(problem, plain, usable, bounds[group], max_chain)
        if found and (best is None or found.cost < best.cost):
            best = found
    return best


def _grow_chain(
    problem: _Problem, plain: _Cost, steps: list[_Step], bound: _Cost, max_chain: int
) -> _Rated | None:
    best: _Rated | None = None
    beam: list[_Rated] = [_Rated(plain, ())]
    for _ in range(max_chain):
        chains = sorted({(step, *rated.steps) for rated in beam for step in steps})
        costs = problem.costs(chains)
        rated_chains = [_Rated(cost, chain) for cost, chain in zip(costs, chains, strict=True)]
        rated_chains.sort(key=lambda r: (r.cost, _bits(r.steps)))
        rated_chains = [r for r in rated_chains[:_TIES] if problem.is_legal(r.steps)]
        if not rated_chains:
            break
        leader = _cheapest_addresses(problem, rated_chains)
        if best is None or leader.cost < best.cost:
            best = leader
        if best.cost <= bound:
            break
        beam = rated_chains[:_BEAM]
    return best


def _cheapest_addresses(problem: _Problem, ordered: Sequence[_Rated]) -> _Rated:
    """Of the cheapest chains, the one with the cheapest addresses."""
    ties = [r for r in ordered if r.cost == ordered[0].cost]
    registers = problem.address_registers([r.steps for r in ties])
    ranked = zip(registers, (_bits(r.steps) for r in ties), range(len(ties)), strict=True)
    return ties[min(ranked)[2]]


def _distinct_addresses(chains: Sequence[Chain], starts: IntArray) -> IntArray:
    """Address registers of one transfer per chain; `starts` is [issues, waves * lanes]."""
    constants = starts[:, 0] ^ starts[0, 0]
    if ((starts ^ starts[0]) == constants[:, None]).all():
        lanes = np.bitwise_or.reduce(_apply(chains, starts[0] ^ starts[0, 0]), axis=1)
        kept = np.sort(_apply(chains, constants) & lanes[:, None], axis=1)
        return (kept[:, 1:] != kept[:, :-1]).sum(axis=1) + 1
    moved = _apply(chains, starts)
    return np.array([len(np.unique(m - m[:, :1], axis=0)) for m in moved])


def _classes(accesses: Sequence[LdsAccess]) -> Iterator[_Class]:
    """Groups the issues of all accesses by their lanes up to a XOR constant."""
    found: dict[tuple[object, ...], _Class] = {}
    for access in accesses:
        for i, row in enumerate(access.elements):
            active = None if access.active is None else access.active[i]
            if active is not None:
                if not active.any():
                    continue
                row = np.where(active, row, row[int(active.argmax())])
                active = None if active.all() else active
            mask = b"" if active is None else active.tobytes()
            key = (access.kind, access.count, mask, (row ^ row[0]).tobytes())
            c = found.setdefault(key, _Class(access.kind, access.count, row, active))
            c.issues += access.weight
    yield from found.values()


@lru_cache(maxsize=256)
def _phase_basis(instruction: LdsInstruction) -> tuple[int, ...] | None:
    """Lanes whose XOR combinations are the first phase; None unless the others are its cosets."""
    first, *others = instruction.phases
    basis: list[int] = []
    span = [0]
    for lane in first:
        if lane not in span:
            basis.append(lane)
            span += [lane ^ member for member in span]
    cosets = [sorted(phase[0] ^ member for member in span) for phase in instruction.phases]
    return tuple(basis) if cosets == [sorted(p) for p in (first, *others)] else None


def _rank(vectors: IntArray) -> IntArray:
    """Rank over F2 of each row of `vectors` [rows, n]; a vector is the bits of an integer.

    Gauss: take each vector as pivot in turn and clear its lowest bit from all vectors after it.
    """
    v = vectors.copy()
    rank = np.zeros(len(v), dtype=np.int64)
    for i in range(v.shape[1]):
        pivot = v[:, i]
        rank += pivot != 0
        lowest = (pivot & -pivot)[:, None]
        rest = v[:, i + 1 :]
        rest ^= np.where(rest & lowest, pivot[:, None], 0)
    return rank


def _footprint(count: int, accesses: Sequence[LdsAccess]) -> AccessFootprint:
    """What all the accesses' offsets have in common."""
    first = int(accesses[0].elements[0, 0])
    multiple = int(np.gcd.reduce([np.gcd.reduce(a.elements - first, None) for a in accesses]))
    return AccessFootprint(count, multiple, first % multiple if multiple else first)


def _transfer_key(access: LdsAccess) -> tuple[str, str, int, tuple[int, ...]]:
    return (access.kind.value, access.location, access.count, access.elements.shape)


def _group(chain: Chain) -> int:
    """Elements that the chain keeps together; 0 for no bound."""
    return min((1 << step.low for step in chain), default=0)


def _bits(chain: Chain) -> tuple[int, int]:
    return (sum(step.bits for step in chain), sum(step.shift for step in chain))


def _apply(chains: Sequence[Chain], offsets: IntArray) -> IntArray:
    """Physical offsets [len(chains), *offsets.shape]: the chain's last step acts first."""
    length = max(map(len, chains), default=0)
    moved = np.broadcast_to(offsets, (len(chains), *offsets.shape))
    column = (len(chains), *[1] * offsets.ndim)
    for position in range(length):
        # Shorter chains are filled up with steps that do nothing (mask 0).
        steps = [c[-1 - position] if position < len(c) else None for c in chains]
        masks = np.array([s.mask if s else 0 for s in steps], dtype=np.int64).reshape(column)
        shifts = np.array([s.shift if s else 0 for s in steps], dtype=np.int64).reshape(column)
        moved = moved ^ ((moved >> shifts) & masks)
    return moved


def _is_power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0
