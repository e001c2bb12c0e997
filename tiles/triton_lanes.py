# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton's layouts of registers: which elements of a tile each lane of each warp holds.

Each is written down by its bases, as Triton's `toLinearLayout` does (LinearLayoutConversions.cpp):
for each bit of a register's, a lane's and a warp's number the coordinates that it stands for. A
layout that is smaller than the tile repeats in more registers, and coordinates outside the tile are
dropped, so that several lanes hold the same element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from ..bank_model.errors import is_power_of_two
from .triton_text import Encoding

REGISTER, LANE, WARP = "register", "lane", "warp"
_MFMA_LANES = 64


@dataclass
class LaneBases:
    """The coordinates that bits of the numbers of registers, lanes and warps stand for.

    Attributes:
        sizes: what they cover of each dimension.
        found: the coordinates, the lowest bit first.
    """

    sizes: list[int]
    found: dict[str, list[tuple[int, ...]]] = field(
        default_factory=lambda: {REGISTER: [], LANE: [], WARP: []}
    )

    def identity(self, what: str, dimension: int, count: int) -> None:
        """Adds bits for `count` times what is covered of `dimension`."""
        for _ in range(count.bit_length() - 1):
            basis = [0] * len(self.sizes)
            basis[dimension] = self.sizes[dimension]
            self.found[what].append(tuple(basis))
            self.sizes[dimension] *= 2

    def zeros(self, what: str, count: int) -> None:
        """Adds bits that change nothing."""
        nothing = (0,) * len(self.sizes)
        self.found[what] += [nothing] * (count.bit_length() - 1)

    def spread(
        self, what: str, counts: Sequence[int], order: Sequence[int], but: int | None = None
    ) -> None:
        """Adds bits for the counts of all dimensions, but those of dimension `but` are zeros."""
        for dimension in order:
            if dimension == but:
                self.zeros(what, counts[dimension])
            else:
                self.identity(what, dimension, counts[dimension])

    def fit(self, shape: Sequence[int], order: Sequence[int]) -> LaneBases:
        """Repeats what is smaller than `shape` in registers, and drops what is larger."""
        for dimension in order:
            self.identity(REGISTER, dimension, max(shape[dimension] // self.sizes[dimension], 1))
        for what, bases in self.found.items():
            self.found[what] = [
                tuple(c if c < size else 0 for c, size in zip(basis, shape, strict=True))
                for basis in bases
            ]
        return self


def lane_bases(encoding: Encoding, shape: Sequence[int]) -> LaneBases:
    """Returns the bases of a layout of registers for a tile of this shape.

    Raises:
        LayoutTextError: it is no such layout, or one of another tile.
    """
    reader = _READERS.get(encoding.name)
    if reader is None:
        raise encoding.refuse(
            f"it is no layout of registers that is read; there are {', '.join(_READERS)}"
        )
    if not all(map(is_power_of_two, shape)):
        raise encoding.refuse("the sizes of Triton's tiles are powers of two")
    return reader(encoding, shape)


def warps_of(encoding: Encoding) -> int:
    """Returns how many warps a layout of registers is for."""
    if encoding.name in ("dot_op", "slice"):
        return warps_of(encoding.inner("parent"))
    if encoding.name == "linear":
        return 1 << len(encoding.bases(WARP))
    product = 1
    for count in encoding.numbers("warpsPerCTA"):
        product *= count
    return product


def _counts(encoding: Encoding, name: str, rank: int) -> list[int]:
    counts = encoding.numbers(name)
    if len(counts) != rank:
        raise encoding.refuse(f"{name} has {len(counts)} numbers, and the tile {rank} dimensions")
    for count in counts:
        if not is_power_of_two(count):
            raise encoding.refuse(f"{name} = {counts} are no powers of two")
    return counts


def _row_major(rank: int) -> list[int]:
    return list(reversed(range(rank)))


def _order(encoding: Encoding, rank: int) -> list[int]:
    order = encoding.numbers("order", _row_major(rank))
    if sorted(order) != list(range(rank)):
        raise encoding.refuse(f"order has to name the tile's {rank} dimensions, 0 to {rank - 1}")
    return order


def _blocked(encoding: Encoding, shape: Sequence[int]) -> LaneBases:
    encoding.check(("sizePerThread", "threadsPerWarp", "warpsPerCTA", "order"))
    rank, order = len(shape), _order(encoding, len(shape))
    bases = LaneBases([1] * rank)
    for what, name in (
        (REGISTER, "sizePerThread"),
        (LANE, "threadsPerWarp"),
        (WARP, "warpsPerCTA"),
    ):
        bases.spread(what, _counts(encoding, name, rank), order)
    return bases.fit(shape, order)


def _linear(encoding: Encoding, shape: Sequence[int]) -> LaneBases:
    encoding.check((REGISTER, LANE, WARP, "shape"))
    bases = LaneBases([1] * len(shape))
    for what in bases.found:
        bases.found[what] = encoding.bases(what)
        for basis in bases.found[what]:
            if len(basis) != len(shape):
                raise encoding.refuse(f"its bases have other dimensions than the tile: {basis}")
    every = [basis for found in bases.found.values() for basis in found]
    bases.sizes = [
        1 << max((basis[d] for basis in every), default=0).bit_length() for d in range(len(shape))
    ]
    return bases.fit(shape, range(len(shape)))


def _slice(encoding: Encoding, shape: Sequence[int]) -> LaneBases:
    encoding.check(("dim", "parent"))
    dropped = encoding.number("dim")
    if not 0 <= dropped <= len(shape):
        raise encoding.refuse(f"there is no dim {dropped}")
    parent = lane_bases(encoding.inner("parent"), [*shape[:dropped], 1, *shape[dropped:]])
    found = {
        what: [basis[:dropped] + basis[dropped + 1 :] for basis in bases]
        for what, bases in parent.found.items()
    }
    return LaneBases(list(shape), found)


def _matrix(encoding: Encoding, shape: Sequence[int]) -> None:
    if len(shape) != 2:
        raise encoding.refuse("it is read for tiles of two dimensions")


def _mfma_parts(encoding: Encoding) -> tuple[int, int, list[int], list[int]]:
    """Returns rows and columns of an instruction's result, tiles of a warp, and warps."""
    encoding.check(
        ("version", "warpsPerCTA", "instrShape", "isTransposed", "tilesPerWarp", "elementBitWidth")
    )
    rows, columns, *_ = [*encoding.numbers("instrShape"), 0, 0]
    if (rows, columns) not in ((32, 32), (16, 16), (64, 4), (4, 64)):
        raise encoding.refuse(f"there is no instruction of {rows} x {columns}")
    tiles = encoding.numbers("tilesPerWarp", [1, 1])
    return rows, columns, tiles, _counts(encoding, "warpsPerCTA", 2)


def _mfma(encoding: Encoding, shape: Sequence[int]) -> LaneBases:
    _matrix(encoding, shape)
    rows, columns, tiles, warps = _mfma_parts(encoding)
    transposed = encoding.truth("isTransposed")
    height = 1 if encoding.number("elementBitWidth", 32) == 64 else 4
    along, across = (1, 0) if transposed else (0, 1)
    lanes = rows if transposed else columns
    bases = LaneBases([1, 1])
    bases.identity(REGISTER, along, height)
    bases.identity(LANE, across, lanes)
    bases.identity(LANE, along, _MFMA_LANES // lanes)
    bases.identity(REGISTER, along, max(rows * columns // (_MFMA_LANES * height), 1))
    bases.identity(REGISTER, 1, tiles[1])
    bases.identity(WARP, 1, warps[1])
    bases.identity(REGISTER, 1, max(shape[1] // (columns * warps[1] * tiles[1]), 1))
    bases.identity(REGISTER, 0, tiles[0])
    bases.identity(WARP, 0, warps[0])
    return bases.fit(shape, (1, 0))


def _mfma_operand(encoding: Encoding, parent: Encoding, shape: Sequence[int]) -> LaneBases:
    rows, columns, tiles, warps = _mfma_parts(parent)
    operand, width = encoding.number("opIdx"), encoding.number("kWidth")
    k, other = (1, 0) if operand == 0 else (0, 1)
    lanes = rows if operand == 0 else columns
    bases = LaneBases([1, 1])
    bases.identity(REGISTER, k, width)
    bases.identity(LANE, other, lanes)
    bases.identity(LANE, k, _MFMA_LANES // lanes)
    if lanes == _MFMA_LANES:
        bases.identity(REGISTER, k, 16)
    bases.identity(REGISTER, k, max(shape[k] // bases.sizes[k], 1))
    bases.identity(REGISTER, other, tiles[other])
    bases.spread(WARP, warps, (1, 0))
    return bases.fit(shape, (k, other))


def _mma_parts(encoding: Encoding) -> tuple[bool, list[int], list[int]]:
    """Returns whether it is of Hopper, warps, and the order of warps."""
    encoding.check(("versionMajor", "versionMinor", "warpsPerCTA", "instrShape"))
    version = encoding.number("versionMajor")
    if version not in (2, 3):
        raise encoding.refuse(f"versionMajor = {version} is none of 2 and 3")
    hopper = version == 3
    return hopper, _counts(encoding, "warpsPerCTA", 2), [0, 1] if hopper else [1, 0]


def _mma_tile(bases: LaneBases, inner: int, size: tuple[int, int], width: int) -> None:
    """Adds a tile of `size` outer and inner elements, of which a lane has `width` in a row."""
    bases.identity(REGISTER, inner, width)
    bases.identity(LANE, inner, 4)
    bases.identity(LANE, 1 - inner, 8)
    bases.identity(REGISTER, 1 - inner, size[0] // 8)
    bases.identity(REGISTER, inner, size[1] // (4 * width))


def _mma(encoding: Encoding, shape: Sequence[int]) -> LaneBases:
    _matrix(encoding, shape)
    _, warps, order = _mma_parts(encoding)
    rows, columns, *_ = [*encoding.numbers("instrShape"), 0, 0]
    if rows % 8 or columns % 8 or not (is_power_of_two(rows) and is_power_of_two(columns)):
        raise encoding.refuse(f"instrShape = {rows} x {columns} is not read")
    bases = LaneBases([1, 1])
    _mma_tile(bases, 1, (rows, columns), 2)
    bases.spread(WARP, warps, order)
    return bases.fit(shape, (1, 0))


def _mma_operand(encoding: Encoding, parent: Encoding, shape: Sequence[int]) -> LaneBases:
    hopper, warps, order = _mma_parts(parent)
    operand, width = encoding.number("opIdx"), encoding.number("kWidth")
    if hopper and operand == 1:
        raise encoding.refuse("Hopper reads B by a descriptor; ask for 'wgmma:B'")
    k = 1 if operand == 0 else 0
    bases = LaneBases([1, 1])
    _mma_tile(bases, k, (16 if operand == 0 else 8, 8 * width), width)
    bases.spread(WARP, warps, order, but=k)
    return bases.fit(shape, (k, 1 - k))


def _fma_operand(encoding: Encoding, parent: Encoding, shape: Sequence[int]) -> LaneBases:
    k, order = 1 - encoding.number("opIdx"), _order(parent, 2)
    sizes = _counts(parent, "sizePerThread", 2)
    sizes[k] = shape[k]
    bases = LaneBases([1, 1])
    bases.spread(REGISTER, sizes, order)
    bases.spread(LANE, _counts(parent, "threadsPerWarp", 2), order, but=k)
    bases.spread(WARP, _counts(parent, "warpsPerCTA", 2), order, but=k)
    return bases.fit(shape, order)


def _operand(encoding: Encoding, shape: Sequence[int]) -> LaneBases:
    encoding.check(("opIdx", "parent", "kWidth"))
    _matrix(encoding, shape)
    parent = encoding.inner("parent")
    if encoding.number("opIdx") not in (0, 1):
        raise encoding.refuse("opIdx is 0 or 1")
    if parent.name != "blocked" and not is_power_of_two(encoding.number("kWidth")):
        raise encoding.refuse("kWidth is a power of two")
    reader = _OPERANDS.get(parent.name)
    if reader is None:
        raise encoding.refuse(f"operands of {parent.name} are not read")
    return reader(encoding, parent, shape)


_OPERANDS: Mapping[str, Callable[[Encoding, Encoding, Sequence[int]], LaneBases]] = (
    MappingProxyType(
        {"amd_mfma": _mfma_operand, "nvidia_mma": _mma_operand, "blocked": _fma_operand}
    )
)
_READERS: Mapping[str, Callable[[Encoding, Sequence[int]], LaneBases]] = MappingProxyType(
    {
        "blocked": _blocked,
        "dot_op": _operand,
        "amd_mfma": _mfma,
        "nvidia_mma": _mma,
        "slice": _slice,
        "linear": _linear,
    }
)
