# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton's layouts of shared memory, as places of a tile's elements.

Each is written down by its bases, as Triton's `toLinearLayout` does (LinearLayoutConversions.cpp):
for each bit of a place the coordinates that it stands for. `test_triton_text.py` holds them to
tables that Triton's own functions gave.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from types import MappingProxyType

from ..bank_model.accesses import LdsTile
from ..bank_model.errors import is_power_of_two
from ..bank_model.linear_layout import Gap, LinearLayout
from ..bank_model.linear_swizzle import LinearSwizzle, NotExpressible
from ..bank_model.notations import TritonSwizzle
from ..bank_model.strided_layout import Mode, StridedLayout
from .tile_errors import LayoutTextError
from .triton_text import Encoding

_LONGEST_BOX = 256
"""Elements of a dimension that TMA copies at once."""
_CORE_ROWS = 8
_GROUP_BITS, _GROUP_BYTES, _LINE_BYTES = 128, 16, 128
"""The swizzles of `nvmma_shared` move 16 bytes by the number of the 128 bytes they lie in."""


class _Bases:
    """Bases of places that grow dimension by dimension."""

    def __init__(self, rank: int) -> None:
        self.sizes = [1] * rank
        self.found: list[tuple[int, ...]] = []

    def push(self, coordinates: Mapping[int, int]) -> None:
        """Adds a bit of a place that stands for these coordinates."""
        rank = len(self.sizes)
        self.found.append(tuple(coordinates.get(dimension, 0) for dimension in range(rank)))

    def identity(self, dimension: int, size: int) -> None:
        """Adds bits until `dimension` has `size` elements."""
        while self.sizes[dimension] < size:
            self.push({dimension: self.sizes[dimension]})
            self.sizes[dimension] *= 2

    def layout(self, shape: Sequence[int], gaps: tuple[Gap, ...] = ()) -> LinearLayout:
        """Returns the layout of a tile of this shape.

        Raises:
            LayoutTextError: the bases are those of another tile.
        """
        layout = LinearLayout(tuple(self.found), gaps)
        if layout.shape != tuple(shape):
            raise LayoutTextError(
                f"it is a layout of {'x'.join(map(str, layout.shape))}, and the tile is "
                f"{'x'.join(map(str, shape))}"
            )
        return layout


def shared_layout(
    encoding: Encoding, tile: LdsTile
) -> LinearSwizzle | StridedLayout | LinearLayout:
    """Returns where a layout of Triton's puts the elements of a tile.

    Raises:
        LayoutTextError: it is none of shared memory, or one of another tile.
        InvalidParameterError: a number in it has no meaning.
    """
    reader = _READERS.get(encoding.name)
    if reader is None:
        raise encoding.refuse(
            f"it is no layout of shared memory that is read; there are {', '.join(_READERS)}"
        )
    if tile.elements > 1 and all(map(is_power_of_two, tile.shape)):
        return reader(encoding, tile).simplified(tile)
    return _any_size(encoding, tile)


def _any_size(encoding: Encoding, tile: LdsTile) -> StridedLayout:
    """Returns the layout of a tile of which only the sizes that a swizzle sees are powers of two.

    Triton has no other tiles than those of powers of two; what it would be is plain.
    """
    if encoding.name != "swizzled_shared" or len(tile.shape) > 2:
        raise encoding.refuse("the sizes of Triton's tiles are powers of two")
    encoding.check(("vec", "perPhase", "maxPhase", "order"))
    order = _order(encoding, tile)
    row = tile.shape[order[0]]
    vec, per_phase, max_phase = (encoding.number(name) for name in ("vec", "perPhase", "maxPhase"))
    step = None
    if max_phase > 1 and len(order) > 1:
        found = TritonSwizzle(vec, per_phase, max_phase, row).linear().field_step()
        step = None if isinstance(found, NotExpressible) else found
    strides = {dimension: row**place for place, dimension in enumerate(order)}
    dimensions = tuple((Mode(size, strides[d]),) for d, size in enumerate(tile.shape))
    return StridedLayout(dimensions, step)


def _order(encoding: Encoding, tile: LdsTile) -> list[int]:
    """Returns the dimensions, the one that runs fastest first."""
    rank = len(tile.shape)
    order = encoding.numbers("order", list(reversed(range(rank))))
    if sorted(order) != list(range(rank)):
        raise encoding.refuse(f"order has to name the tile's {rank} dimensions, 0 to {rank - 1}")
    return order


def _swizzled(encoding: Encoding, tile: LdsTile) -> LinearLayout:
    """Group c of `vec` columns of row r goes to c ^ (r / perPhase) % maxPhase.

    `amd_rotating_shared` XORs the number of the block of perPhase * maxPhase rows besides.
    """
    if encoding.fields.get("hasLeadingOffset", False) is not False:
        raise encoding.refuse("hasLeadingOffset is not read; write the nvmma_shared of today")
    encoding.check(("vec", "perPhase", "maxPhase", "order", "hasLeadingOffset"))
    order, shape = _order(encoding, tile), tile.shape
    vec, per_phase, max_phase = (encoding.number(name) for name in ("vec", "perPhase", "maxPhase"))
    for name, value in (("vec", vec), ("perPhase", per_phase), ("maxPhase", max_phase)):
        if not is_power_of_two(value):
            raise encoding.refuse(f"{name} = {value} is no power of two")
    bases = _Bases(len(shape))
    bases.identity(order[0], shape[order[0]])
    if len(shape) > 1:
        column, row = order[:2]
        while bases.sizes[row] < shape[row]:
            at = bases.sizes[row]
            phase = at // per_phase % max_phase
            if encoding.name == "amd_rotating_shared":
                phase ^= at // per_phase // max_phase % max_phase
            bases.push({row: at, column: vec * phase % shape[column]})
            bases.sizes[row] *= 2
    for dimension in order[2:]:
        bases.identity(dimension, shape[dimension])
    return bases.layout(shape)


def _nvmma(encoding: Encoding, tile: LdsTile) -> LinearLayout:
    """Boxes as TMA copies them: rows of as many bytes as the swizzle has, one behind the other."""
    encoding.check(("swizzlingByteWidth", "transposed", "elementBitWidth", "fp4Padded", "rank"))
    span, bits = encoding.number("swizzlingByteWidth"), tile.element_bits
    given = encoding.number("elementBitWidth", bits)
    rank = len(tile.shape)
    if given != bits:
        raise encoding.refuse(f"its elements have {given} bits, and those of the tile {bits}")
    if encoding.number("rank", rank) != rank:
        raise encoding.refuse(f"its rank is {encoding.number('rank')}, and the tile's {rank}")
    if span not in (0, 32, 64, 128):
        raise encoding.refuse(f"swizzlingByteWidth = {span} is none of 0, 32, 64, 128")
    packed = encoding.truth("fp4Padded")
    transposed = encoding.truth("transposed")
    # The dimensions, the contiguous one last.
    dims = [*range(1, rank), 0] if transposed else list(range(rank))
    box = {dimension: min(tile.shape[dimension], _LONGEST_BOX) for dimension in dims}
    inner = dims[-1]
    if span:
        box[inner] = span * 8 // bits // (2 if packed else 1)
    rows = box[rank - 1] if transposed else prod(box[dimension] for dimension in dims[:-1])
    if rank > 1 and span and (box[inner] > tile.shape[inner] or rows < _CORE_ROWS):
        raise encoding.refuse(
            f"it moves parts of {_CORE_ROWS} rows of {box[inner]} elements, and the tile has "
            f"{rows} of {tile.shape[inner]}"
        )
    bases = _Bases(rank)
    group = _GROUP_BITS // bits // (2 if packed else 1)
    for bit in range(box[inner].bit_length() - 1):
        if packed and 1 << bit == group:
            # 8 unused bytes follow every 8 bytes.
            bases.push({})
        bases.push({inner: 1 << bit})
    for place, (dimension, row) in enumerate(_box_rows(dims, box, transposed)):
        moved = 0
        if span and place < _CORE_ROWS.bit_length() - 1:
            moved = group * ((1 << place) * span // _LINE_BYTES % (span // _GROUP_BYTES))
        bases.push({dimension: row, inner: moved})
    bases.sizes = [box[dimension] for dimension in range(rank)]
    for dimension in range(rank):
        bases.identity(dimension, tile.shape[dimension])
    return bases.layout(tile.shape)


def _box_rows(
    dims: Sequence[int], box: Mapping[int, int], transposed: bool
) -> list[tuple[int, int]]:
    """Returns the coordinate that each bit of a box's row stands for, the lowest first.

    Args:
        dims: the dimensions, the contiguous one last.
        box: their sizes in a box.
    """
    found = [(d, 1 << bit) for d in dims[-2::-1] for bit in range(box[d].bit_length() - 1)]
    if not transposed:
        return found
    # Triton takes the middle dimensions for a part of the row, and numbers what that makes anew.
    columns = prod(box[dimension] for dimension in dims[:-2]).bit_length() - 1
    return found[columns:] + found[:columns]


def _linear(encoding: Encoding, tile: LdsTile) -> LinearLayout:
    encoding.check(("offset", "alignment"))
    return _given_bases(encoding, tile, ())


def _padded(encoding: Encoding, tile: LdsTile) -> LinearLayout:
    encoding.check(("gaps", "offset", "order", "shape"))
    gaps: list[Gap] = []
    for pair in encoding.bases("gaps"):
        if len(pair) != 2:
            raise encoding.refuse("its gaps are pairs, as in [512:+8]")
        gaps.append(Gap(*pair))
    if "offset" in encoding.fields:
        return _given_bases(encoding, tile, tuple(gaps))
    shape = encoding.numbers("shape", list(tile.shape))
    if tuple(shape) != tile.shape:
        raise encoding.refuse(f"its shape is {shape}, and the tile's {list(tile.shape)}")
    bases = _Bases(len(shape))
    for dimension in _order(encoding, tile):
        bases.identity(dimension, shape[dimension])
    return bases.layout(shape, tuple(gaps))


def _given_bases(encoding: Encoding, tile: LdsTile, gaps: tuple[Gap, ...]) -> LinearLayout:
    bases = _Bases(len(tile.shape))
    for basis in encoding.bases("offset"):
        if len(basis) != len(tile.shape):
            raise encoding.refuse(
                f"its offset has {len(basis)} coordinates, and the tile {len(tile.shape)}"
            )
        bases.found.append(basis)
    if not bases.found:
        raise encoding.refuse("it needs offset = [[0, 1], ...]")
    return bases.layout(tile.shape, gaps)


def _partitioned(encoding: Encoding, tile: LdsTile) -> LinearLayout:
    """The tile in pieces, those of each partition one behind the other.

    Partitions are memory of their own; here they lie one behind the other, which changes no bank.
    """
    encoding.check(("numPartitions", "numGroups", "partitionDim", "partitionLayout"))
    partitions, groups = encoding.number("numPartitions"), encoding.number("numGroups")
    dimension = encoding.number("partitionDim")
    if not 0 <= dimension < len(tile.shape):
        raise encoding.refuse(f"the tile has no dimension {dimension}")
    if not (is_power_of_two(partitions) and is_power_of_two(groups)):
        raise encoding.refuse("numPartitions and numGroups are powers of two")
    size = tile.shape[dimension] // (partitions * groups)
    if size < 1:
        raise encoding.refuse(f"dimension {dimension} has fewer rows than pieces")
    shape = tuple(size if d == dimension else each for d, each in enumerate(tile.shape))
    inner = encoding.inner("partitionLayout")
    if inner.name not in _READERS or inner.name == encoding.name:
        raise encoding.refuse(f"a partitionLayout of {inner.name} is not read")
    piece = _READERS[inner.name](inner, LdsTile(shape, tile.element_bits))
    bases = _Bases(len(tile.shape))
    bases.found = list(piece.bases)
    # A partition's pieces are every `partitions`-th one.
    pieces = [1 << bit for bit in range((partitions * groups).bit_length() - 1)]
    first = partitions.bit_length() - 1
    for number in (*pieces[first:], *pieces[:first]):
        bases.push({dimension: number * size})
    return bases.layout(tile.shape, piece.gaps)


_READERS: Mapping[str, Callable[[Encoding, LdsTile], LinearLayout]] = MappingProxyType(
    {
        "swizzled_shared": _swizzled,
        "amd_rotating_shared": _swizzled,
        "nvmma_shared": _nvmma,
        "shared_linear": _linear,
        "padded_shared": _padded,
        "partitioned_shared": _partitioned,
    }
)
