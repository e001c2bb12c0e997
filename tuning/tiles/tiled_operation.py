# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An operation that decides on the workgroups of a function, with the tile that each computes.

What an attention (`attention_tiles.py`) and a matmul (`matmul_tiles.py`) have in common: how long
the loops are, which tiles they can be cut into, how much work such a tile is, and how it is written
into the configuration (`dialect_utils/lowering_config.py`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from dataclasses import fields as dataclass_fields
from functools import cache, cached_property
from itertools import chain
from typing import Any, ClassVar, Generic, Self, TypeVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.copy_slots import note_slots
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.gpu_target import gpu_features_of, lds_limit
from ...dialect_utils.lowering_config import TRANSLATION_INFO, WarpLaunch
from ..costs.later_arithmetic import ROUNDED_DIVISION, SHORT_DIVISION
from ..costs.processors import Processor, processor_of
from ..costs.tile_cost import (
    AnyTile,
    TileWork,
    concurrent_workgroups,
    described_slots,
    least_microseconds,
    least_microseconds_of_lanes,
    predicted_microseconds,
    slot_counts,
)
from ..shapes.enlarged_shapes import computed_size

Found = TypeVar("Found")
Tile = TypeVar("Tile", bound=AnyTile)
Sized = TypeVar("Sized", bound="TiledOperation[Any]")

_POLYNOMIAL = 17.0
"""The instructions of the exponential for NVIDIA that IREE evaluates as a polynomial, as
`tuning/arithmetic/shorten_exponentials.py` leaves it."""

MODELLED_GAIN = 0.1
"""The part of the predicted time that must be saved where no time was measured: twice the standard
deviation of the predictions for a kernel's tiles from those of a more exact model
(`bench/results/timing_tiles.md`)."""

_EXACT = 1 - 1e-9
"""What bounds are multiplied by, so that rounding lifts none above what it bounds."""
_BY_LANES = {16: 1.1, 8: 1.05}
"""How many times as long as predicted a matmul counts as taking of which lanes load A or both
operands, where descriptors may give them, by the bytes of a copy: of 28 products of 40 to 1000 rows
0.87 times the measured time is predicted by `mma.sync`, and about the measured time by `wgmma`. f16
72x5120x5120 takes 39.6 us on an H200 by `mma.sync`, for which 31.3 are predicted, and 33.3 by
`wgmma`. By copies of 8 bytes 512x2000x1100 takes 18.3 and 15.7 us, and 15.3 and 15.4 are predicted,
but 300x300x9000 takes 53.1 and 51.2."""
_DOUBTED, _MEASURED_WARPS = 1.05, 8
"""The same where descriptors give both operands, and a step sums so few elements that rows have 64
bytes: of four such tiles 0.93 to 1.00 times as much of the measured time is predicted as of the
best one of their matmul, and none was the best of 281 kernels on an H200. Where lanes compute with
results, that is not said, but tiles by more warps than were measured then count so."""
_SAVED_BY_SLOTS = 0.05
"""The part of the predicted time that more slots than usual must save. With 4 slots f16 40x2048x80,
for which 4.0 % are predicted, takes 0.8 % longer; 64x2048x64, for which 7.1 % are, 1.4 % less."""

Maps = Sequence[Sequence[int]]
"""The loops of each operand's dimensions, in the order of `indexing_maps`."""


class Circumstances(NamedTuple):
    """What a tile is compiled with and runs on.

    Attributes:
        lds_bytes: the LDS that a workgroup may have.
        other_order: whether a step may sum another number of keys of an attention, or of elements
            of a matmul without matrix instructions. That changes the order of sums, and of the
            rescaling by row maxima: outputs are right to rounding.
        overlap: whether copies to the LDS overlap with contractions.
        reloads: whether an attention reads Q in every step where registers do not suffice.
        exponential: the instructions of an exponential.
        division: those of a division.
        ldmatrix: whether `ldmatrix` loads the operands of matrix instructions.
        prefetches: whether registers can hold what the next step copies.
        larger_instructions: whether attentions get matrix instructions of 32 rows and columns where
            these divide their tiles.
        direct_loads: whether copies may go to the LDS without registers.
        unaligned_loads: whether lanes load vectors of global memory from any address.
        short_steps: whether passes follow that make steps of attentions short on AMD
            (`AttentionShape`).
    """

    processor: Processor
    lds_bytes: int
    other_order: bool = False
    overlap: bool = False
    reloads: bool = False
    exponential: float = 1.0
    division: float = ROUNDED_DIVISION
    ldmatrix: bool = True
    prefetches: bool = False
    larger_instructions: bool = False
    direct_loads: bool = False
    unaligned_loads: bool = False
    short_steps: bool = False

    def in_order(self) -> Circumstances:
        """Returns them for sums that keep their order."""
        return self._replace(other_order=False)

    @staticmethod
    def of(
        function: ir.Operation,
        test_target: str | None,
        *,
        other_order: bool,
        overlap: bool,
        reloads: bool = False,
        native_exponentials: bool = False,
        larger_instructions: bool = False,
        short_steps: bool = False,
    ) -> Circumstances | None:
        """Returns what tiles of a function are judged by; None for a GPU without a model.

        Args:
            overlap, reloads, native_exponentials, larger_instructions, short_steps: whether passes
                follow that do so where the GPU can.
        """
        features = gpu_features_of(function, test_target)
        processor = processor_of(features.arch)
        if processor is None:
            return None
        return Circumstances(
            processor,
            lds_limit(function, test_target),
            other_order=other_order,
            overlap=features.async_copies and overlap,
            reloads=features.mma_sync and reloads,
            exponential=_POLYNOMIAL if features.native_exp2 and not native_exponentials else 1.0,
            division=SHORT_DIVISION if native_exponentials else ROUNDED_DIVISION,
            ldmatrix=features.mma_sync,
            prefetches=features.prefetches,
            larger_instructions=larger_instructions,
            # Where sums may have another order, no probabilities go through the LDS.
            direct_loads=features.direct_loads and other_order,
            unaligned_loads=features.unaligned_loads,
            short_steps=short_steps,
        )

    def slotted(self, tiled: TiledOperation[Tile], tile: Tile) -> Tile:
        """Returns a tile with the slots for its copies that let it take the least time.

        They are as many as usual, unless others save enough. Where descriptors give the operands of
        a matmul, times were measured with many numbers of slots, and any saving is enough.
        """
        usual, *others = self.ways(tiled, tile)
        if not others:
            return usual
        work = tiled.work(usual, self)
        saved = 0.0 if work.rows_described else _SAVED_BY_SLOTS
        times = {each: self.time(tiled.work(each, self)) for each in others}
        best = min(others, key=times.__getitem__)
        return best if times[best] < self.time(work) * (1 - saved) else usual

    def in_slots(self, tiled: Sized) -> Sized:
        """Returns an operation whose tile has as many slots as let it take the least time."""
        return tiled.changed(tile=self.slotted(tiled, tiled.tile))

    def ways(self, tiled: TiledOperation[Tile], tile: Tile) -> list[Tile]:
        """Returns a tile with each number of slots that is compared, the usual one first."""
        if not self.overlap or tile.slots > 1 or not tiled.is_copied_meanwhile:
            return [tile]
        work, copied = tiled.work(tile, self), tiled.copied_bytes(tile)
        counts = slot_counts(work, copied, self.lds_bytes)
        if counts[0] > 1 and work.described and work.result_bytes:
            held = concurrent_workgroups(work._replace(lds_bytes=0), self.processor)
            counts = described_slots(work.steps, copied, held, self.processor)
        return [tile._replace(slots=slots) for slots in counts]

    def work(self, tiled: TiledOperation[Tile], tile: Tile) -> TileWork:
        """Returns the work of a tile with its slots, or those that it gets where none are noted."""
        return tiled.work(self.ways(tiled, tile)[0], self)

    def time(self, work: TileWork) -> float:
        """Returns the predicted microseconds; infinitely many where a workgroup does not fit."""
        fits = work.lds_bytes <= self.lds_bytes
        return predicted_microseconds(work, self.processor) if fits else math.inf

    def least(self, work: TileWork) -> float:
        """Returns microseconds that `time` is never below, in any number of slots.

        It is zero where descriptors may give operands in some numbers of slots.
        """
        if self.processor.described_cycles and work.matrix_instructions:
            return 0.0
        return _EXACT * least_microseconds(work, self.processor)

    def least_by_lanes(self, work: TileWork) -> list[float]:
        """Returns microseconds that `time` is never below, in any number of slots, of works without
        matrix instructions, whose numbers are arrays."""
        return (_EXACT * least_microseconds_of_lanes(work, self.processor)).tolist()

    def counted(self, tiled: TiledOperation[Any], work: TileWork) -> float:
        """Returns the predicted microseconds by which tiles are chosen."""
        return self.time(work) * self._doubted(tiled, work)

    def _doubted(self, tiled: TiledOperation[Any], work: TileWork) -> float:
        """Returns how many times as long as predicted a tile counts as taking."""
        if not self.processor.described_cycles:
            return 1
        if work.rows_described:
            # Where lanes compute with results, small tiles gain, by narrow rows too.
            doubted = work.warps > _MEASURED_WARPS if work.later else work.narrow_rows
            return _DOUBTED if doubted else 1
        return _BY_LANES.get(tiled.vector_bytes, 1)


@cache
def _fields_of(kind: type[TiledOperation[Any]]) -> tuple[str, ...]:
    return tuple(each.name for each in dataclass_fields(kind))


class of_operation(Generic[Found]):
    """A property of a `TiledOperation` that depends on its operation and its loops alone.

    It is looked at once for all tiles, and for all sizes, that `changed` gives an operation.
    """

    def __init__(self, look: Callable[[Any], Found]) -> None:
        self._look = look
        self.__doc__ = look.__doc__

    def __get__(self, tiled: TiledOperation[Any], owner: type) -> Found:
        name, known = self._look.__name__, tiled.known
        if name not in known:
            known[name] = self._look(tiled)
        return known[name]


@dataclass(frozen=True)
class TiledOperation(ABC, Generic[Tile]):
    """A configured operation whose tile can be another.

    Attributes:
        extents: how long each loop is.
        tile: the tile that it has.
        computed: the loops whose lengths the program computes; `extents` has typical ones for them.
        multiples: what the lengths of loops are rounded up to, where they are.
    """

    operation: ir.Operation
    extents: tuple[int, ...]
    launch: WarpLaunch
    tile: Tile
    computed: frozenset[int] = field(default=frozenset(), kw_only=True)
    multiples: Mapping[int, int] = field(default_factory=dict, kw_only=True)

    multiplied: ClassVar[tuple[int, ...]]
    """The numbers of the operands that are multiplied."""
    sizes_differ: ClassVar[str]
    """The reason to refuse an operation whose multiplied elements have no common size."""
    handicapped_by: ClassVar[str] = ""
    """Why the time of the operation's own tile counts more, where it does."""

    @cached_property
    def known(self) -> dict[str, Any]:
        """Returns what is known of the operation, whatever its tile, by the property's name."""
        return {}

    @of_operation
    def element_bytes(self) -> int:
        """Returns the bytes of an element of each operand that is multiplied.

        Raises:
            Refusal: they differ, or have no known size.
        """
        kinds = [ir.ShapedType(self.operation.operands[each].type) for each in self.multiplied]
        bits = {element_bits(kind.element_type) or 0 for kind in kinds}
        if len(bits) != 1 or 0 in bits:
            raise Refusal(self.sizes_differ)
        return bits.pop() // 8

    def changed(self, **fields: Any) -> Self:
        """Returns the same operation, of the same loops, with other fields; see `of_operation`.

        Tiles are compared by hundreds, and `dataclasses.replace` takes four times as long.
        """
        made = object.__new__(type(self))
        vars(made).update(self._kept, **fields)
        return made

    @cached_property
    def _kept(self) -> dict[str, Any]:
        """Returns the fields, and what `of_operation` knows."""
        own = vars(self)
        return {name: own[name] for name in _fields_of(type(self))} | {"known": self.known}

    def least_times(
        self, others: Sequence[TiledOperation[Tile]], circumstances: Circumstances
    ) -> list[float]:
        """Returns the microseconds that the operation takes at least with each of other tiles."""
        return [circumstances.least(each.work(each.tile, circumstances)) for each in others]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Returns how long the loops are, as `tuning/shapes/enlarged_shapes.py` writes sizes."""
        return written_sizes(self.extents, self.computed, self.multiples)

    def typical(self, size: int) -> tuple[int, ...]:
        """Returns how long the loops are where the program computes this size."""
        return tuple(
            size if loop in self.computed else each for loop, each in enumerate(self.extents)
        )

    @property
    def modelled_gain(self) -> float:
        """Returns the part of its time that another tile must save where no time was measured."""
        return MODELLED_GAIN

    @property
    def handicap(self) -> float:
        """Returns what the time of the operation's own tile counts."""
        return 1.0

    @property
    def is_copied_meanwhile(self) -> bool:
        """Returns whether `cp.async` can copy the operands, where there is such a thing."""
        return True

    @property
    def vector_bytes(self) -> int:
        """Returns the bytes of the vectors by which it copies the operands of a matmul, or 0."""
        return 0

    @abstractmethod
    def takes(self, tile: Tile) -> bool:
        """Returns whether the loops and the instructions divide evenly into such tiles."""

    @abstractmethod
    def candidates(self, circumstances: Circumstances) -> Iterator[Tile]:
        """Yields the tiles that may be chosen; the operation does not take all of them."""

    @abstractmethod
    def copied_bytes(self, tile: Tile) -> int:
        """Returns the bytes that a step copies to the LDS."""

    @abstractmethod
    def work(self, tile: Tile, circumstances: Circumstances) -> TileWork:
        """Returns how much work a tile is.

        Raises:
            Refusal: the elements have no size that is known.
        """

    @abstractmethod
    def attributes(self, tile: Tile) -> dict[str, ir.Attribute]:
        """Returns the attributes of the operation and, as `TRANSLATION_INFO`, of its function."""

    def configure(self, function: ir.Operation, tile: Tile) -> None:
        """Makes `tile` that of the operation in its function, with its slots if it has some."""
        attributes = self.attributes(tile)
        function.attributes[TRANSLATION_INFO] = attributes.pop(TRANSLATION_INFO)
        for name, attribute in attributes.items():
            self.operation.attributes[name] = attribute
        if tile.slots > 1:
            note_slots(function, tile.slots)


def loop_sizes(operation: ir.Operation, maps: Maps, operands: Sequence[int]) -> tuple[int, ...]:
    """Returns how long each loop is by the sizes of some operands.

    It is 0 for a loop that none of them has, and `DYNAMIC` for one whose length the program
    computes.
    """
    sizes = dict.fromkeys(chain.from_iterable(maps), 0)
    for number in operands:
        kind = operation.operands[number].type
        if not isinstance(kind, ir.ShapedType):
            continue  # A number has no loops.
        known = zip(maps[number], ir.ShapedType(kind).shape, strict=True)
        sizes.update((loop, size) for loop, size in known if sizes[loop] in (0, DYNAMIC))
    return tuple(sizes[loop] for loop in sorted(sizes))


def written_sizes(
    extents: Sequence[int], computed: Collection[int], multiples: Mapping[int, int]
) -> tuple[int, ...]:
    """Returns how long loops are, as `tuning/shapes/enlarged_shapes.py` writes sizes.

    Args:
        extents: the lengths that are known.
        computed: the loops whose lengths the program computes.
        multiples: what these are rounded up to, where they are.
    """
    return tuple(
        extent if loop not in computed else computed_size(multiples.get(loop, 1))
        for loop, extent in enumerate(extents)
    )


def loop_extents(operation: ir.Operation, maps: Maps, operands: Sequence[int]) -> tuple[int, ...]:
    """Returns what `loop_sizes` does, of an operation whose sizes are known.

    Raises:
        Refusal: a size is not known.
    """
    sizes = loop_sizes(operation, maps, operands)
    if DYNAMIC in sizes:
        raise Refusal("its sizes are not all known")
    return sizes


def single_loops(
    parts: Mapping[str, frozenset[int]], batch: frozenset[int], loops: int
) -> list[int]:
    """Returns the loops of an operation by their parts in it.

    Args:
        parts: the loops that have each part.
        batch: those that index every operand.
        loops: how many there are.

    Raises:
        Refusal: a part is that of several loops, or a loop has none of them.
    """
    for name, found in parts.items():
        if len(found) != 1:
            raise Refusal(f"its {name} are no single loop")
    if batch.union(*parts.values()) != {*range(loops)}:
        raise Refusal("not all of its loops are known")
    return [next(iter(found)) for found in parts.values()]


def needed_gain(processor: Processor, modelled: float = MODELLED_GAIN) -> float:
    """Returns the part of a predicted time that a change has to save to be trusted on a GPU.

    Args:
        modelled: that part where no time was measured, but predictions were compared.
    """
    if processor.measured:
        return 0.0
    return modelled if processor.modelled else math.inf


def doubt(
    time: float, usual: float, processor: Processor, arch: str, modelled: float = MODELLED_GAIN
) -> str:
    """Returns why what is predicted to be faster may not be; empty where there is no doubt.

    Args:
        time, usual: the predicted microseconds with and without the change.
        arch: the name of the GPU.
        modelled: as for `needed_gain`.
    """
    gain = needed_gain(processor, modelled)
    if not gain or time <= usual * (1 - gain):
        return ""
    less = f"it saves less than {100 * gain:g}%, and " if processor.modelled else ""
    return f"{less}no time was measured on {arch}"


def check_saves(
    change: object,
    time: float,
    usual: float,
    processor: Processor,
    arch: str,
    modelled: float = MODELLED_GAIN,
) -> None:
    """Raises Refusal where there is a `doubt` that a change saves time.

    Args:
        change: what is predicted of it, as a text.
    """
    if why_not := doubt(time, usual, processor, arch, modelled):
        raise Refusal(f"{change}; {why_not}, and --bankwise-retile=on does so anyway")


def rounded_up(extents: Sequence[int], multiples: Mapping[int, int]) -> tuple[int, ...]:
    """Returns lengths of loops, some of them rounded up."""
    found = [*extents]
    for loop, multiple in multiples.items():
        found[loop] = -(-found[loop] // multiple) * multiple
    return tuple(found)
