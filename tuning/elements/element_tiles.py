# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiles of elementwise operations, transposes and copies: what a workgroup and a lane move.

    lowering_config = #iree_gpu.lowering_config<{thread = [32, 1, 4], workgroup = [32, 1, 1024]}>

Tiles divide the loops, so that no lane has a part of a vector. Where no tile of several warps does,
the innermost loop is rounded up to lanes beside each other, and what lies beyond its end is neither
read nor written (`tuning/shapes/enlarged_shapes.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.lowering_config import (
    CONFIG,
    THREAD,
    TRANSLATION_INFO,
    WORKGROUP,
    LoweringConfig,
    WarpLaunch,
    changed_info,
    numbers_attribute,
)
from ..costs.processors import Processor
from .elements import Elements

_VECTOR_BYTES, _SECTOR_BYTES = 16, 32
_LANES = (256, 512, 1024)
"""How many lanes a workgroup has at most; more where the sizes have no such divisor."""
_LEAST_LANES = 96
_WARP, _IDLE = 32, (32, 8)
"""Rows that no tile divides are rounded up to lanes of whole warps, of which one in 32 has no
element if that can be, and one in eight at most."""
_RUN_BYTES = 64
"""How many bytes lanes beside each other write at least as neighbours, where the row has them."""
_SMALL_SHARE = 4
"""A tensor is small where another one has more than so many times its bytes."""
_MOST_COPIES = 32
"""How many copies of what it computes a lane writes at most."""
_MOST_BY_INDEX = 4
"""The same where they differ, since elements depend on where they are."""


class ElementTile(NamedTuple):
    """What a workgroup and a lane have of each loop.

    Attributes:
        thread: the elements of a lane.
        workgroup: those of a workgroup.
    """

    thread: tuple[int, ...]
    workgroup: tuple[int, ...]

    @property
    def lanes(self) -> int:
        """Returns how many lanes have elements."""
        return prod(self.workgroup) // prod(self.thread)

    def lengths(self, extents: Sequence[int]) -> tuple[int, ...]:
        """Returns how long loops are that are rounded up to whole tiles."""
        pairs = zip(extents, self.workgroup, strict=True)
        return tuple(-(-extent // size) * size for extent, size in pairs)

    def configure(
        self, function: ir.Operation, operation: ir.Operation, launch: WarpLaunch
    ) -> None:
        """Gives an operation and its function the tile."""
        context = operation.context
        entries = {
            THREAD: numbers_attribute(self.thread, context),
            WORKGROUP: numbers_attribute(self.workgroup, context),
        }
        operation.attributes[CONFIG] = LoweringConfig(entries).attribute(context)
        lanes = -(-self.lanes // launch.warp_size) * launch.warp_size
        function.attributes[TRANSLATION_INFO] = changed_info(
            launch.attribute,
            pipeline=ir.Attribute.parse("#iree_gpu.pipeline<TileAndFuse>", context),
            workgroup_size=[lanes, 1, 1],
        )

    def __str__(self) -> str:
        by = " x ".join(str(each) for each in self.workgroup)
        return f"{by}, of which a lane has {' x '.join(str(each) for each in self.thread)}"


def element_tile(elements: Elements, processor: Processor) -> ElementTile | None:
    """Returns the tile of an operation; None where IREE's is as good.

    That is so where fewer lanes than a workgroup for each multiprocessor would have elements, and
    where what is written has no common order. With parts of 1x1024x128 that are merged, of which
    16,384 lanes have 8 elements each, an f16 attention takes 1.07 times as long on an H100.

    Raises:
        Refusal: no tile of several warps divides its sizes.
    """
    written = elements.writes[0]
    along = elements.innermost(written)
    lanes = processor.multiprocessors * _LANES[0]
    if along is None or any(each.loops != written.loops for each in elements.writes):
        return None
    if prod(elements.extents) < lanes:
        return None
    outwards = [loop for loop in reversed(written.loops) if loop != along]
    thread = _thread(elements, along, outwards, lanes)
    if prod(elements.extents) < lanes * prod(thread):
        return None
    run = min(elements.extents[along], _RUN_BYTES // written.size)
    for most in _LANES:
        tile = _of_lanes(elements, thread, [along, *outwards], most)
        if tile.lanes >= _LEAST_LANES and tile.workgroup[along] >= run:
            return tile
    tile = None
    if not _transposed(elements, along):
        tile = _rounded_up(elements, thread, [along, *outwards], run)
    if tile is None or tile.lanes < _LEAST_LANES:
        raise Refusal("no tile of several warps divides its sizes")
    return tile


def _rounded_up(
    elements: Elements, thread: list[int], order: list[int], run: int
) -> ElementTile | None:
    """Returns the longest tile of whole warps along the innermost loop that leaves few lanes idle.

    None stands for rows that are so short that many lanes would have nothing.

    Args:
        order: the innermost loop, and the others outwards.
        run: how many neighbours a workgroup has at least.
    """
    along, *outwards = order
    vectors = elements.extents[along] // thread[along]
    counts = range(_LANES[0], max(1, run // thread[along]) - 1, -_WARP)
    ways = ((each, share) for share in _IDLE for each in counts)
    fit = (each for each, share in ways if share * (-vectors % each) <= vectors)
    if (lanes := next(fit, 0)) == 0:
        return None
    tile = _of_lanes(elements, thread, outwards, _LANES[0] // lanes)
    workgroup = [*tile.workgroup]
    workgroup[along] *= lanes
    return tile._replace(workgroup=tuple(workgroup))


def _thread(elements: Elements, along: int, outwards: list[int], lanes: int) -> list[int]:
    """Returns what a lane has of each loop.

    Args:
        along: the loop along which it writes neighbours.
        outwards: the other loops, from the innermost.
        lanes: how many there are to be at least.
    """
    thread, sectors = [1] * len(elements.extents), _transposed(elements, along)

    def take(loop: int, most: int, *, any_number: bool = False) -> None:
        most = max(1, min(most, prod(elements.extents) // prod(thread) // lanes))
        rest = elements.extents[loop] // thread[loop]
        thread[loop] *= _divisor(rest, most) if any_number else _part(rest, most)

    if sectors:
        for loop, size in sectors.items():
            take(loop, _SECTOR_BYTES // size)
        return thread
    thread[along] = _part(elements.extents[along], _neighbours(elements, along))
    read = {loop for each in elements.reads for loop in each.loops}
    copies = [loop for loop in outwards if loop not in read] if elements.reads else []
    for loop in copies:
        most = _MOST_BY_INDEX if elements.by_index else _MOST_COPIES
        take(loop, most // prod(thread[each] for each in copies), any_number=True)
    return thread


def _neighbours(elements: Elements, along: int) -> int:
    """Returns how many neighbours a lane has at most.

    It has 16 bytes of the tensors of which most bytes are moved, and a sector of all others.
    """
    moved = [*elements.reads, *elements.writes]
    most = max(elements.bytes_of(each) for each in moved)
    found = []
    for each in moved:
        if elements.innermost(each) == along:
            is_large = elements.bytes_of(each) * _SMALL_SHARE >= most
            count = (_VECTOR_BYTES if is_large else _SECTOR_BYTES) // each.size
            found.append(min(count, each.aligned) if is_large else count)
    return max(1, min(found))


def _transposed(elements: Elements, along: int) -> dict[int, int]:
    """Returns the loops along which large tensors are read that are written along another one.

    For each of them it is the bytes of the largest element.
    """
    found: dict[int, int] = {}
    most = max(elements.bytes_of(each) for each in (*elements.reads, *elements.writes))
    for each in elements.reads:
        across = elements.innermost(each)
        if across not in (None, along) and elements.bytes_of(each) * _SMALL_SHARE >= most:
            found[across] = max(found.get(across, 0), each.size)
    return found


def _of_lanes(elements: Elements, thread: list[int], order: list[int], lanes: int) -> ElementTile:
    """Returns the tile of a workgroup of at most so many lanes, along loops in their order."""
    workgroup = [*thread]
    for loop in order:
        found = _divisor(elements.extents[loop] // thread[loop], lanes)
        workgroup[loop] *= found
        lanes //= found
    return ElementTile(tuple(thread), tuple(workgroup))


def _part(number: int, most: int) -> int:
    """Returns the largest power of two that divides a number and is at most `most`."""
    return gcd(number, 1 << most.bit_length() - 1)


def _divisor(number: int, most: int) -> int:
    """Returns the largest divisor of a number that is at most `most`."""
    return next(each for each in range(min(number, most), 0, -1) if number % each == 0)
