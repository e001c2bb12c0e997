# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Physical layouts of an LDS tile, and the exact conflict count of accesses under a layout.

A layout places the logical row-major element `e` of a tile at a physical element offset. It keeps
*groups* of consecutive elements consecutive: everything for the plain layout, a row for a padded
one, `access_width` elements for a swizzle. A vector access that crosses a group boundary must be
split there, in all lanes alike because they run the same code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from functools import cache
from itertools import pairwise
from math import gcd
from typing import TYPE_CHECKING

import numpy as np

from .accesses import LdsAccess, LdsTile
from .async_copies import CopyCost, copy_cost
from .conflicts import phase_costs, served_lanes
from .errors import InvalidParameterError, require_integer
from .lds_rules import Lds, LdsInstruction
from .linear_layout import LinearLayout
from .quick_dataclass import dataclass
from .quick_tuple import NamedTuple
from .strided_layout import StridedLayout
from .swizzles import Swizzle

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt


IntArray: TypeAlias = "npt.NDArray[np.integer]"

# LLVM never needs more for an LDS access, and allocations of vectors are aligned to it.
MAX_USEFUL_ALIGNMENT = 16


MOST_BYTES = 1 << 31
"""What a layout may take to be counted, far beyond any LDS; addresses are counted in 32 bits."""


class SubByteAccessError(InvalidParameterError):
    """An access to sub-byte elements starts or ends inside a byte."""


def _bytes_for(elements: int, element_bits: int) -> int:
    return -(-elements * element_bits // 8)


@dataclass(frozen=True)
class PlainLayout:
    """Row-major without gaps: what the program's types say."""

    def offsets(self, tile: LdsTile, elements: IntArray) -> npt.NDArray[np.int64]:
        """Returns physical element offsets of logical `elements` (any shape)."""
        return np.asarray(elements, dtype=np.int64)

    def size_bytes(self, tile: LdsTile) -> int:
        """Returns LDS bytes of the tile."""
        return _bytes_for(tile.elements, tile.element_bits)

    def group_elements(self, tile: LdsTile) -> int:
        """Returns consecutive elements, counted from 0, that the layout keeps together."""
        return tile.elements

    def __str__(self) -> str:
        return "plain"


@dataclass(frozen=True)
class PlainInGroups(PlainLayout):
    """The plain layout with accesses split as a swizzle of groups of `group` elements does."""

    group: int = 1

    def group_elements(self, tile: LdsTile) -> int:
        """Returns consecutive elements, counted from 0, that the layout keeps together."""
        return self.group


def _check_padding(layout: PaddedLayout | SwizzledLayout, padding: int) -> None:
    """Makes a padding a number without limits; raises InvalidParameterError for a negative one."""
    whole = require_integer("padding_elements", padding, "integers >= 0")
    if whole < 0:
        raise InvalidParameterError("padding_elements", padding, "integers >= 0")
    object.__setattr__(layout, "padding_elements", whole)


@dataclass(frozen=True)
class PaddedLayout:
    """Rows (the innermost dimension) followed by `padding_elements` unused elements each."""

    padding_elements: int

    def __post_init__(self) -> None:
        _check_padding(self, self.padding_elements)

    def offsets(self, tile: LdsTile, elements: IntArray) -> npt.NDArray[np.int64]:
        """Returns physical element offsets of logical `elements` (any shape)."""
        e = np.asarray(elements, dtype=np.int64)
        return e + e // tile.row_elements * self.padding_elements

    def size_bytes(self, tile: LdsTile) -> int:
        """Returns LDS bytes of the tile, the padding of the last row included."""
        rows = tile.elements // tile.row_elements
        pitch = tile.row_elements + self.padding_elements
        return _bytes_for(rows * pitch, tile.element_bits)

    def group_elements(self, tile: LdsTile) -> int:
        """Returns consecutive elements, counted from 0, that the layout keeps together."""
        return tile.row_elements if self.padding_elements else tile.elements

    def __str__(self) -> str:
        return f"padded by {self.padding_elements} elements"


@dataclass(frozen=True)
class SwizzledLayout:
    """A chain of swizzles of the flat allocation, from the allocation outwards.

    `swizzles = (S0, S1)` places logical element e at `S0(S1(e))`: S0 is the hint on the allocation
    itself, S1 the hint on S0's result. With `padding_elements` the rows are padded first and the
    swizzles permute the padded allocation.

    The layout is one only if every swizzle permutes the allocation: see `is_bijection`.
    """

    swizzles: tuple[Swizzle, ...]
    padding_elements: int = 0

    def __post_init__(self) -> None:
        if not self.swizzles:
            raise InvalidParameterError("swizzles", self.swizzles, "at least one swizzle")
        _check_padding(self, self.padding_elements)

    def offsets(self, tile: LdsTile, elements: IntArray) -> npt.NDArray[np.int64]:
        """Returns physical element offsets of logical `elements` (any shape)."""
        o = PaddedLayout(self.padding_elements).offsets(tile, elements)
        for swizzle in reversed(self.swizzles):
            o = swizzle.apply(o)
        return o

    def physical_elements(self, tile: LdsTile) -> int:
        """Returns elements of the allocation, padding included."""
        rows = tile.elements // tile.row_elements
        return rows * (tile.row_elements + self.padding_elements)

    def is_bijection(self, tile: LdsTile) -> bool:
        """Returns whether every swizzle of the chain permutes the allocation."""
        size = self.physical_elements(tile)
        return all(swizzle.is_bijection(size) for swizzle in self.swizzles)

    def size_bytes(self, tile: LdsTile) -> int:
        """Returns LDS bytes of the tile."""
        return PaddedLayout(self.padding_elements).size_bytes(tile)

    def group_elements(self, tile: LdsTile) -> int:
        """Returns consecutive elements, counted from 0, that the layout keeps together."""
        group = PaddedLayout(self.padding_elements).group_elements(tile)
        if self.padding_elements:
            group = gcd(group, tile.row_elements + self.padding_elements)
        for swizzle in self.swizzles:
            group = gcd(group, swizzle.access_width)
        return group

    def __str__(self) -> str:
        chain = " of ".join(map(str, self.swizzles))
        return f"{chain}, padded by {self.padding_elements}" if self.padding_elements else chain


Layout = PlainLayout | PaddedLayout | SwizzledLayout | StridedLayout | LinearLayout


class LayoutKind(IntEnum):
    """Families of layouts, the preferred ones first."""

    PLAIN = 0
    XOR_SHUFFLE = 1
    CHAIN = 2
    ROTATE_ROWS = 3
    """Swizzles that add where `xor_shuffle` XORs."""
    PADDING = 4
    SWIZZLE_AND_PADDING = 5


ALL_KINDS = frozenset(LayoutKind)


def layout_kind(layout: Layout) -> LayoutKind:
    """Returns the family that `layout` belongs to.

    Raises InvalidParameterError for strides of one's own, which no search finds.
    """
    if isinstance(layout, PlainLayout):
        return LayoutKind.PLAIN
    if isinstance(layout, PaddedLayout):
        return LayoutKind.PADDING
    if isinstance(layout, StridedLayout | LinearLayout):
        raise InvalidParameterError("layout", layout, "rows, padded or swizzled")
    if layout.padding_elements:
        return LayoutKind.SWIZZLE_AND_PADDING
    if not all(swizzle.IS_OWN_INVERSE for swizzle in layout.swizzles):
        return LayoutKind.ROTATE_ROWS
    return LayoutKind.XOR_SHUFFLE if len(layout.swizzles) == 1 else LayoutKind.CHAIN


class MachineAccess(NamedTuple):
    """One machine instruction that accesses become.

    `addresses` are bytes, [..., issues, wave_size]; `active` masks lanes off, likewise.
    """

    instruction: LdsInstruction
    addresses: npt.NDArray[np.int64]
    active: npt.NDArray[np.bool_] | None

    def served(self, issue: int) -> tuple[tuple[int, ...], ...]:
        """Returns the lanes that an issue serves together, as `served_lanes` does.

        The addresses are [issues, wave_size].
        """
        active = None
        if self.active is not None:
            active = np.broadcast_to(self.active, self.addresses.shape)[issue]
        return served_lanes(self.instruction, self.addresses[issue], active)


Batch: TypeAlias = "tuple[MachineAccess, npt.NDArray[np.int64]]"
"""A machine access with addresses [members, issues, wave_size], and each member's access."""
Runs = tuple[tuple[int, int], ...]
"""The (first, count) of the runs into which accesses are split."""


def split_into_runs(group: int, access: LdsAccess) -> Runs:
    """Returns the runs (first, count) of an access that stay inside groups of `group` elements.

    A run ends where any active lane reaches a group boundary. Two lanes that start 2 and 3
    elements before a boundary therefore split a vector of 8 into 2 + 1 + 5 (group >= 8).
    """
    return _runs(group, access.count, access.starts)


def _runs(group: int, count: int, starts: IntArray) -> Runs:
    if starts.size == 0:
        return ()
    to_boundary = -starts.ravel() % group
    cuts = {0}
    for distance in set(to_boundary[to_boundary < count].tolist()):
        cuts.update(range(distance, count, group))
    return tuple((a, b - a) for a, b in pairwise([*sorted(cuts), count]))


def misaligned_element(tile: LdsTile, layout: Layout, access: LdsAccess) -> int | None:
    """Returns the first element at which a lane has an offset that `access` cannot take, if any.

    Elements count from an address that is aligned to everything.
    """
    if access.alignment == 1:
        return None
    starts = access.starts
    wrong = starts[layout.offsets(tile, starts) % access.alignment != 0]
    return int(wrong[0]) if wrong.size else None


def machine_accesses(
    lds: Lds, tile: LdsTile, layout: Layout, access: LdsAccess
) -> tuple[MachineAccess, ...]:
    """Returns the machine instructions that `access` becomes, in address order in each run.

    The access is split into runs that the layout keeps contiguous, unless a swizzle reorders these
    alike in all lanes, within the access's own aligned block; the alignment of a run is the
    largest power of two that divides all its byte addresses; the target splits it accordingly.

    Raises InvalidParameterError for a wave of another size than the target's, elements outside
    the tile or more than `MOST_BYTES` of it, SubByteAccessError where a run of sub-byte elements
    starts or ends inside a byte.
    """
    return tuple(
        MachineAccess(m.instruction, m.addresses[0], None if m.active is None else m.active[0])
        for m, _ in machine_batches(lds, tile, layout, [access])
    )


class AlikeAccesses(NamedTuple):
    """One access, or unmasked ones of one kind, count and issues.

    Attributes:
        members: their places among all accesses.
        starts: their elements [members, issues, wave_size].
    """

    access: LdsAccess
    members: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    active: npt.NDArray[np.bool_] | None


def machine_batches(
    lds: Lds,
    tile: LdsTile,
    layout: Layout,
    accesses: Sequence[LdsAccess],
    alike: Sequence[AlikeAccesses] | None = None,
) -> list[Batch]:
    """Returns `machine_accesses` of many accesses, alike ones together for speed.

    Args:
        alike: `alike_accesses` of these, for a caller that counts several layouts.

    Returns pairs (machine access with addresses [members, issues, wave_size], index of each
    member's access in `accesses`). It raises what `machine_accesses` raises.
    """
    size = layout.size_bytes(tile)
    if size > MOST_BYTES:
        raise InvalidParameterError("bytes of the tile", size, f"1 to {MOST_BYTES}")
    batches: list[Batch] = []
    for group in alike_accesses(lds, tile, accesses) if alike is None else alike:
        batches += _batches_of_alike(lds, tile, layout, group)
    return batches


def alike_accesses(lds: Lds, tile: LdsTile, accesses: Sequence[LdsAccess]) -> list[AlikeAccesses]:
    """Returns accesses sorted into alike ones; those without any active lane are left out.

    It raises what `machine_accesses` raises for accesses that fit no layout.
    """
    alike: dict[tuple[object, ...], list[int]] = {}
    for index, access in enumerate(accesses):
        if access.elements.shape[1] != lds.wave_size:
            raise InvalidParameterError(
                "elements.shape[1]",
                access.elements.shape[1],
                f"{lds.wave_size}, the wave size of {lds.arch}",
            )
        # Masked accesses stay alone: their masks decide where they split.
        mask = None if access.active is None else index
        shape = (access.kind, access.count, access.instruction, len(access.elements))
        alike.setdefault((*shape, mask), []).append(index)
    found: list[AlikeAccesses] = []
    for members in alike.values():
        access = accesses[members[0]]
        starts, active = _stacked([accesses[index] for index in members])
        if starts.size == 0:
            continue
        first, last = int(starts.min()), int(starts.max()) + access.count - 1
        if first < 0 or last >= tile.elements:
            raise InvalidParameterError(
                "elements",
                f"{first} .. {last}",
                f"0 .. {tile.elements - 1}, the elements of the tile",
            )
        found.append(AlikeAccesses(access, np.array(members, dtype=np.int64), starts, active))
    return found


Piece: TypeAlias = "tuple[npt.NDArray[np.int64], int, npt.NDArray[np.int64]]"
"""Element offsets [members, issues, wave_size] of one run, its length, the members' accesses."""


def _batches_of_alike(lds: Lds, tile: LdsTile, layout: Layout, group: AlikeAccesses) -> list[Batch]:
    """Returns the batches of alike accesses."""
    access, members, starts, active = group
    batches: list[Batch] = []
    for piece in _pieces(tile, layout, starts, access.count, members):
        instruction = access.instruction if piece[1] == access.count else ""
        for width, alignment, addresses, owners in _aligned_alike(tile, layout, piece):
            for part, offset in lds.legalize(access.kind, width, alignment, instruction):
                batches.append((MachineAccess(part, addresses + offset, active), owners))
    return batches


def _stacked(
    accesses: Sequence[LdsAccess],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_] | None]:
    """Returns the elements [members, issues, wave_size] of alike accesses, and their mask.

    Inactive lanes may point anywhere; they get the element of an active one. Without any active
    lane there are no elements.
    """
    active = accesses[0].active
    starts = np.stack([access.elements for access in accesses])
    if active is None:
        return starts, None
    used = starts[0][active]
    if not used.size:
        return starts[:0], None
    return np.where(active, starts, used[0]), active[None]


def _pieces(
    tile: LdsTile,
    layout: Layout,
    starts: npt.NDArray[np.int64],
    count: int,
    owners: npt.NDArray[np.int64],
) -> list[Piece]:
    """Returns the runs into which `layout` splits accesses of `count` elements."""
    group = layout.group_elements(tile)
    aligned = tuple((k, min(group, count - k)) for k in range(0, count, group))
    pieces: list[Piece] = []
    for runs, chosen in _members_by_runs(group, count, starts, aligned).items():
        whole = len(chosen) == len(starts)
        part, part_owners = (starts, owners) if whole else (starts[chosen], owners[chosen])
        cut = [(layout.offsets(tile, part + k), length, part_owners) for k, length in runs]
        permutes = not isinstance(layout, PlainLayout | PaddedLayout)
        if permutes and runs == aligned and len(runs) > 1:
            cut = _rejoined(cut, count)
        pieces += cut
    return pieces


def _members_by_runs(
    group: int, count: int, starts: npt.NDArray[np.int64], aligned: Runs
) -> dict[Runs, list[int]]:
    """Returns which members are split into which runs; `aligned` are those of aligned ones."""
    if count == 1:
        return {aligned: list(range(len(starts)))}
    to_boundary = -starts.reshape(len(starts), -1) % group
    crosses = np.any((to_boundary > 0) & (to_boundary < count), axis=1)
    found: dict[Runs, list[int]] = {}
    for member, uneven in enumerate(np.asarray(crosses).tolist()):
        runs = _runs(group, count, starts[member]) if uneven else aligned
        found.setdefault(runs, []).append(member)
    return found


def useful_alignments(addresses: IntArray) -> IntArray:
    """Returns of how many bytes all addresses of a row are multiples, as far as that matters."""
    common = np.bitwise_or.reduce(addresses.reshape(len(addresses), -1), axis=1)
    common |= MAX_USEFUL_ALIGNMENT
    return common & -common


def _aligned_alike(
    tile: LdsTile, layout: Layout, piece: Piece
) -> Iterator[tuple[int, int, npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """Yields (bytes, alignment, addresses, owners) for the members of each alignment."""
    offsets, length, owners = piece
    bits = offsets * tile.element_bits
    if length * tile.element_bits % 8 or (tile.element_bits % 8 and (bits % 8).any()):
        raise SubByteAccessError(
            "element_bits",
            tile.element_bits,
            f"accesses that start and end at bytes; {layout} splits off {length} elements",
        )
    addresses = bits // 8
    alignments = useful_alignments(addresses)
    width = length * tile.element_bits // 8
    for alignment in sorted(set(alignments.tolist())):
        here = alignments == alignment
        if here.all():
            yield width, alignment, addresses, owners
        else:
            yield width, alignment, addresses[here], owners[here]


def _rejoined(pieces: list[Piece], count: int) -> list[Piece]:
    """Returns `pieces` with those of one access made one again where a swizzle only reorders them.

    A swizzle may move the groups of a vector within the vector's own block of memory. If it does
    so alike in all lanes of all waves, the order is known when the code is compiled: the backend
    reorders registers and issues the whole vector. Example: with `xor_shuffle<4, 2, 1024, 1>` a
    store of 4 elements in row 8 of a tile of 128 columns writes its halves swapped.
    """
    offsets = np.stack([offsets for offsets, _, _ in pieces])
    lengths = {length for _, length, _ in pieces}
    base = offsets.min(axis=0)
    relative = (offsets - base).reshape(*offsets.shape[:2], -1)
    same = (relative == relative[..., :1]).all(axis=(0, 2))
    expected = np.arange(len(pieces))[:, None] * pieces[0][1]
    fills = (np.sort(relative[..., 0], axis=0) == expected).all(axis=0)
    in_block = (base % count == 0).reshape(len(base), -1).all(axis=1)
    whole = same & fills & in_block
    if len(lengths) > 1 or not whole.any():
        return pieces
    members = pieces[0][2]
    rest = [(o[~whole], length, members[~whole]) for o, length, _ in pieces if not whole.all()]
    return [(base[whole], count, members[whole]), *rest]


class AccessCost(NamedTuple):
    """What one access costs under a layout, all issues together, without its weight."""

    conflict_cycles: int
    wavefronts: int
    instructions: int
    """Machine instructions of one wave."""


def access_costs(
    lds: Lds, tile: LdsTile, layout: Layout, accesses: Sequence[LdsAccess]
) -> tuple[AccessCost, ...]:
    """Counts every access exactly; raises what `machine_accesses` raises."""
    batches = machine_batches(lds, tile, layout, accesses)
    return access_costs_of(counted_batches(lds, tile, layout, accesses, batches))


def access_costs_of(totals: npt.NDArray[np.int64]) -> tuple[AccessCost, ...]:
    """Returns the costs of the accesses that `counted_batches` has counted."""
    return tuple(AccessCost(*column) for column in totals.T.tolist())


def counted_batches(
    lds: Lds,
    tile: LdsTile,
    layout: Layout,
    accesses: Sequence[LdsAccess],
    batches: Sequence[Batch],
) -> npt.NDArray[np.int64]:
    """Returns the fields of `access_costs` [fields, accesses], counted from `machine_batches`."""
    totals = np.zeros((3, len(accesses)), dtype=np.int64)
    for machine, owner in batches:
        costs = _phase_costs_once(machine, lds.bank_width_bytes)
        totals[0, owner] += np.maximum(costs - 1, 0).sum(axis=(1, 2))
        totals[1, owner] += costs.sum(axis=(1, 2))
        totals[2, owner] += 1
    for number, access in enumerate(accesses):
        copy = None if access.copied is None else access_copy(lds, tile, layout, access)
        if copy is not None:
            totals[:2, number] = copy.conflict_cycles, copy.lds_cycles
    return totals


def access_copy(lds: Lds, tile: LdsTile, layout: Layout, access: LdsAccess) -> CopyCost | None:
    """Returns what a `cp.async` takes under a layout; None for any other access.

    It is no `cp.async` either where the layout parts what a lane copies.
    """
    machines = () if access.copied is None else machine_accesses(lds, tile, layout, access)
    if len(machines) != 1 or machines[0].instruction.name != access.instruction:
        return None
    assert access.copied is not None
    (machine,) = machines
    return copy_cost(machine.instruction, machine.addresses, access.copied, machine.active)


def _phase_costs_once(machine: MachineAccess, bank_width_bytes: int) -> npt.NDArray[np.int64]:
    """Returns `phase_costs`, counting issues only once that differ by a whole number of words.

    Adding the same number of words to all addresses rotates the banks and changes no cost.
    """
    addresses = machine.addresses
    rows = addresses.reshape(-1, addresses.shape[-1])
    if machine.active is not None or len(rows) == 1:
        return phase_costs(machine.instruction, addresses, machine.active, bank_width_bytes)
    base = rows.min(axis=1, keepdims=True)
    relative = (rows - base // bank_width_bytes * bank_width_bytes).astype(np.int32)
    first, inverse = _distinct_rows(relative)
    costs = phase_costs(machine.instruction, relative[first], None, bank_width_bytes)
    return costs[inverse].reshape(*addresses.shape[:-1], -1)


def _distinct_rows(
    rows: npt.NDArray[np.int32],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Returns the places of rows [rows, lanes] that differ from each other, and for each row which
    of these it is equal to.

    Rows are told apart by a number for each, and then compared.
    """
    numbers = rows @ _factors(rows.shape[1])
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    if not np.array_equal(rows[first][inverse], rows):
        every = np.arange(len(rows))
        return every, every
    return first, inverse


@cache
def _factors(count: int) -> npt.NDArray[np.int64]:
    """Returns odd numbers without a pattern, by which rows are multiplied: powers of one."""
    powers = [pow(0x9E3779B97F4A7C15, place + 1, 1 << 64) for place in range(count)]
    return np.array(powers, dtype=np.uint64).view(np.int64)


def layout_conflicts(lds: Lds, tile: LdsTile, layout: Layout, accesses: Iterable[LdsAccess]) -> int:
    """Returns weighted conflict cycles of `accesses` under `layout`, by exact count.

    It raises what `machine_accesses` raises.
    """
    counted = list(accesses)
    costs = access_costs(lds, tile, layout, counted)
    return sum(a.weight * c.conflict_cycles for a, c in zip(counted, costs, strict=True))
