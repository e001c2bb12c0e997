# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels that move data through the LDS: what they are, their MLIR, and what they compute.

A `Kernel` is a few tiles. Each workgroup brings each of its tiles from global memory into the LDS
once per iteration, as the tile's producer says, and takes it away in each way that its consumers
say:

    in[workgroup, iteration, slot] -> tile[producer's place of the slot]
    tile[consumer's place of the slot] -> out[workgroup, iteration, slot]

A *slot* is one vector that one thread moves. Its *place* is that of its elements in the tile,
through the access's own chain of views. `render` spells this in MLIR, `expected` in NumPy, and
`lds_accesses` as what the bank model counts; all three start from the description alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.features import features_of
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.lds_tables import lds_of
from bankwise.runtime.dtypes import dtype_of
from bankwise.test.memref_views import Memref, row_major

from .dispatches import BodyWriter, dispatch_module

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]

CHIPS = ("gfx942", "gfx950")
ELEMENT_BYTES = {"f16": 2, "bf16": 2, "f32": 4, "i8": 1, "i32": 4, "f64": 8, "i64": 8}
_FINITE = {"f16": 0x7BFF, "bf16": 0xFF7F, "f32": 0xFF7FFFFF, "f64": 0xFFEFFFFFFFFFFFFF}
"""Bits to keep of random ones, so that an exponent is not all ones."""
_UNROLLED = 4
"""The most slots of one thread that are spelled one by one; more of them become a loop."""


class Spelling(Enum):
    """With which operations indices are computed."""

    AFFINE = "affine"
    ARITH = "arith"
    DELINEARIZE = "delinearize"


class Twist(Enum):
    """What the slowest coordinate does to the one along the vectors."""

    NONE = "none"
    ROTATE = "rotate"
    XOR = "xor"


class Op(Enum):
    """Which operations move vectors to and from the LDS."""

    VECTOR = "vector"
    MEMREF = "memref"
    """Single elements by `memref.load` and `memref.store`."""
    TRANSFER = "transfer"


@dataclass(frozen=True)
class Expand:
    """`expand_shape`: splits dimension `dim`, the inner part having `inner` elements."""

    dim: int
    inner: int


@dataclass(frozen=True)
class Collapse:
    """`collapse_shape`: joins dimensions `dim` and `dim + 1`."""

    dim: int


class Cast(Enum):
    """`memref.cast`: forgets what is static. Only as the last view."""

    SIZE = "size"
    """Of the first dimension."""
    OFFSET = "offset"


View = Expand | Collapse | Cast


@dataclass(frozen=True)
class Places:
    """An order of vectors in a shape; slots count through them.

    Attributes:
        order: the dimensions of the shape, that which changes slowest first.
        blocked: a thread moves consecutive slots, not one in every so many threads.
    """

    order: tuple[int, ...] = (0,)
    twist: Twist = Twist.NONE
    spelling: Spelling = Spelling.AFFINE
    blocked: bool = False


@dataclass(frozen=True)
class Access:
    """How threads write or read a tile.

    Attributes:
        width: elements of a vector.
        views: between the tile and the access.
        column: vectors run along the last but one dimension (transfers only).
        flat: behind the views, everything is collapsed and indices are linearized.
        row_view: each access has a subview of its own, at its first index.
    """

    width: int = 1
    places: Places = Places()
    views: tuple[View, ...] = ()
    op: Op = Op.VECTOR
    column: bool = False
    flat: bool = False
    row_view: bool = False


@dataclass(frozen=True)
class Gather:
    """`amdgpu.gather_to_lds`: lanes store in order what they fetch at `places`.

    Attributes:
        width: elements of a lane.
        places: in the tile's shape, for which source vector a slot fetches.
    """

    width: int
    places: Places = Places()
    flat: bool = False


class Buffers(Enum):
    """How a tile of several buffers has them."""

    CARRIED = "carried"
    """One allocation each, which a loop rotates."""
    INDEXED = "indexed"
    """In one allocation, by a first index of iteration modulo buffers."""


class Spoiler(Enum):
    """A use of the first tile for which it must keep its layout, behind all others."""

    BYTES = "memref.view addresses its memory in another order"
    REINTERPRET = "memref.reinterpret_cast addresses its memory in another order"
    ATOMIC = "used by memref.atomic_rmw"
    PREFETCH = "used by memref.prefetch"
    MASKED = "used by vector.maskedstore"
    OUT_OF_BOUNDS = "a vector.transfer_write may be out of bounds"
    LOADED_INDEX = "an access is not known: memref.store: index depends on"
    CHOSEN_PART = "a view of it meets other memory"
    CARRIED_PART = "a view of it meets other memory "

    @property
    def reason(self) -> str:
        """Returns how the decision's reason begins."""
        return self.value.rstrip()


@dataclass(frozen=True)
class Tile:
    """One tile in the LDS.

    Attributes:
        margins: elements (before, behind) of each dimension of the allocation that nobody uses.
    """

    element: str
    shape: tuple[int, ...]
    producer: Access | Gather
    consumers: tuple[Access, ...]
    margins: tuple[tuple[int, int], ...] = ()
    buffers: int = 1
    kept: Buffers = Buffers.CARRIED

    @property
    def bytes(self) -> int:
        return ELEMENT_BYTES[self.element]

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def padded_margins(self) -> tuple[tuple[int, int], ...]:
        return self.margins or ((0, 0),) * len(self.shape)

    @property
    def allocated(self) -> tuple[int, ...]:
        """Returns the shape of one buffer."""
        margins = zip(self.padded_margins, self.shape, strict=True)
        return tuple(before + size + behind for (before, behind), size in margins)

    @property
    def indexed(self) -> bool:
        return self.buffers > 1 and self.kept is Buffers.INDEXED

    @property
    def allocation(self) -> tuple[int, ...]:
        """Returns the shape of one allocation."""
        return (self.buffers, *self.allocated) if self.indexed else self.allocated

    @property
    def allocations(self) -> int:
        return 1 if self.indexed else self.buffers

    def outputs(self, consumer: Access) -> int:
        """Returns how many elements a consumer takes away in one iteration."""
        return consumer.width * prod(unit_grid(self, consumer))


@dataclass(frozen=True)
class Kernel:
    """A kernel of `workgroups` workgroups that each make `iterations` iterations."""

    arch: str
    workgroup_size: tuple[int, int, int]
    tiles: tuple[Tile, ...]
    workgroups: int = 1
    iterations: int = 1
    spoiler: Spoiler | None = None

    @property
    def threads(self) -> int:
        return prod(self.workgroup_size)

    @property
    def wave(self) -> int:
        """Returns the lanes of a wave."""
        return lds_of(self.arch).wave_size

    @property
    def stages(self) -> int:
        """Returns how often a tile is moved."""
        return self.workgroups * self.iterations


# What it computes.


def viewed_shape(tile: Tile, access: Access) -> tuple[int, ...]:
    """Returns the shape behind the views of an access."""
    shape = list(tile.shape)
    for view in access.views:
        if isinstance(view, Expand):
            shape[view.dim : view.dim + 1] = [shape[view.dim] // view.inner, view.inner]
        elif isinstance(view, Collapse):
            shape[view.dim : view.dim + 2] = [shape[view.dim] * shape[view.dim + 1]]
    return tuple(shape)


def unit_grid(tile: Tile, access: Access | Gather) -> tuple[int, ...]:
    """Returns how many vectors lie along each dimension."""
    grid = list(tile.shape if isinstance(access, Gather) else viewed_shape(tile, access))
    grid[_axis(access)] //= access.width
    return tuple(grid)


def _axis(access: Access | Gather) -> int:
    return -2 if isinstance(access, Access) and access.column else -1


def _coordinates(grid: tuple[int, ...], axis: int, places: Places, slots: Ints) -> list[Ints]:
    """Returns the coordinates, in vectors, of each slot's place."""
    sizes = [grid[d] for d in places.order]
    found = dict(zip(places.order, np.unravel_index(slots, sizes), strict=True))
    axis %= len(grid)
    if places.twist is Twist.ROTATE:
        found[axis] = (found[axis] + found[places.order[0]]) % grid[axis]
    elif places.twist is Twist.XOR:
        found[axis] = found[axis] ^ (found[places.order[0]] % grid[axis])
    return [np.asarray(found[d], dtype=np.int64) for d in range(len(grid))]


def _window(tile: Tile) -> Ints:
    """Returns the element of one buffer at each place of the tile."""
    elements = np.arange(prod(tile.allocated), dtype=np.int64).reshape(tile.allocated)
    ends = zip(tile.padded_margins, tile.shape, strict=True)
    return elements[tuple(slice(before, before + size) for (before, _), size in ends)]


def places_of(tile: Tile, access: Access, slots: Ints) -> Ints:
    """Returns the elements [slots, width] of one buffer that each slot has."""
    elements = _window(tile).reshape(viewed_shape(tile, access))
    axis = _axis(access)
    found = _coordinates(unit_grid(tile, access), axis, access.places, slots)
    index = [each[:, None] for each in found]
    index[axis] = index[axis] * access.width + np.arange(access.width)
    return elements[tuple(index)]


def gathered_places(tile: Tile, gather: Gather) -> tuple[Ints, Ints]:
    """Returns for each slot of a gather its elements of one buffer, and their source vector."""
    slots = np.arange(tile.elements // gather.width)
    stored = _window(tile).reshape(-1, gather.width)
    grid = unit_grid(tile, gather)
    found = _coordinates(grid, -1, gather.places, slots)
    return stored, np.ravel_multi_index(found, grid)


def input_arrays(kernel: Kernel, seed: int = 0) -> list[Array]:
    """Returns random finite values, one input per tile."""
    random = np.random.default_rng(seed)
    arrays: list[Array] = []
    for tile in kernel.tiles:
        size = kernel.stages * tile.elements
        bits = random.integers(0, 256, size * tile.bytes, np.uint8)
        words = bits.view(f"<u{tile.bytes}")
        if tile.element in _FINITE:
            words &= np.array(_FINITE[tile.element], words.dtype)
        arrays.append(words.view(dtype_of(tile.element)))
    return arrays


def expected(kernel: Kernel, inputs: Sequence[Array]) -> list[Array]:
    """Returns what the kernel returns: for each tile one output per consumer."""
    outputs: list[Array] = []
    for tile, given in zip(kernel.tiles, inputs, strict=True):
        stages = given.reshape(kernel.stages, tile.elements)
        memory = np.zeros((kernel.stages, prod(tile.allocated)), given.dtype)
        producer = tile.producer
        vectors = stages.reshape(kernel.stages, -1, producer.width)
        if isinstance(producer, Gather):
            stored, source = gathered_places(tile, producer)
            memory[:, stored] = vectors[:, source]
        else:
            slots = np.arange(vectors.shape[1])
            memory[:, places_of(tile, producer, slots)] = vectors
        for consumer in tile.consumers:
            slots = np.arange(prod(unit_grid(tile, consumer)))
            outputs.append(memory[:, places_of(tile, consumer, slots)].reshape(-1))
    return outputs


# What the bank model counts.


def lds_tile(tile: Tile) -> LdsTile:
    """Returns one allocation of the tile."""
    return LdsTile(tile.allocation, 8 * tile.bytes)


def lds_accesses(kernel: Kernel, tile: Tile) -> list[LdsAccess]:
    """Returns all loads and stores of one workgroup to a tile, gathers aside.

    Carried buffers count as one allocation: each access is made to one of them.
    """
    found: list[LdsAccess] = []
    iterations = np.arange(kernel.iterations)
    if isinstance(tile.producer, Access):
        ahead = min(tile.buffers - 1, kernel.iterations)
        for stage in range(ahead):
            found += _accesses_in(kernel, tile, tile.producer, np.array([stage]))
        found += _accesses_in(kernel, tile, tile.producer, iterations[ahead:])
    for consumer in tile.consumers:
        found += _accesses_in(kernel, tile, consumer, iterations)
    return found


def _accesses_in(
    kernel: Kernel, tile: Tile, access: Access, stages: npt.NDArray[np.intp]
) -> list[LdsAccess]:
    """Returns the accesses of one producer or consumer in all iterations."""
    units, threads, wave = prod(unit_grid(tile, access)), kernel.threads, kernel.wave
    thread = np.arange(-(-threads // wave) * wave)
    count = -(-units // threads)
    base = (stages % tile.buffers * prod(tile.allocated)) if tile.indexed else stages * 0
    by_round: list[tuple[Ints, npt.NDArray[np.bool_]]] = []
    for number in range(count):
        slots = thread * count + number if access.places.blocked else thread + number * threads
        active = (thread < threads) & (slots < units)
        by_round.append((np.where(active, slots, 0), active))
    if count > _UNROLLED:
        joined = [np.concatenate(each) for each in zip(*by_round, strict=True)]
        by_round = [(joined[0], joined[1])]
    kind = AccessKind.WRITE if access is tile.producer else AccessKind.READ
    found: list[LdsAccess] = []
    for slots, active in by_round:
        elements = places_of(tile, access, slots)
        mask = np.tile(active.reshape(-1, wave), (len(base), 1))
        # A vector along a column is one access per element.
        parts = range(access.width) if access.column else (0,)
        for part in parts:
            lanes = (elements[:, part][None] + base[:, None]).reshape(-1, wave)
            length = 1 if access.column else access.width
            found.append(LdsAccess(kind, lanes, length, active=mask))
    return found


# Its MLIR.


def render(kernel: Kernel) -> str:
    """Returns the kernel as a module whose function `run` takes one tensor per tile."""
    return _Renderer(kernel).module()


class _Renderer(BodyWriter):
    """Writes the text of one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self._kernel = kernel

    def module(self) -> str:
        kernel = self._kernel
        inputs = [f"{kernel.stages * t.elements}x{t.element}" for t in kernel.tiles]
        outputs = [
            f"{kernel.stages * t.outputs(c)}x{t.element}" for t in kernel.tiles for c in t.consumers
        ]
        self._function(inputs, outputs)
        return dispatch_module(
            self.body(),
            inputs,
            outputs,
            threads=kernel.workgroup_size,
            workgroups=kernel.workgroups,
            subgroup=kernel.wave,
        )

    def _function(self, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        kernel = self._kernel
        self._sources: list[tuple[str, str]] = []
        for number, (kind, tile) in enumerate(zip(inputs, kernel.tiles, strict=True)):
            gathers = isinstance(tile.producer, Gather)
            layout = "" if gathers else ", strided<[1], offset: ?>"
            found = f"memref<{kind}{layout}>"
            name, _ = self.binding("from", f"%in{number}", found)
            if gathers:
                raw = f"memref<{kind}, #raw>"
                cast = f"amdgpu.fat_raw_buffer_cast {name} resetOffset : {found} to {raw}"
                name, found = self.let("raw", cast), raw
            self._sources.append((name, found))
        self._results = [
            self.binding("to", f"%out{number}", f"memref<{kind}, strided<[1], offset: ?>>")
            for number, kind in enumerate(outputs)
        ]
        self._group = self.let("group", f"gpu.block_id x upper_bound {kernel.workgroups}")
        self._thread = self._thread_id()
        buffers = [self._allocate(tile) for tile in kernel.tiles]
        if kernel.iterations == 1:
            only = [each[0] for each in buffers]
            self._iteration(only, only)
        else:
            self._loop(buffers)
        if kernel.spoiler is not None:
            self._spoil(buffers[0][0])

    def _thread_id(self) -> str:
        x, y, z = self._kernel.workgroup_size
        sizes = {"x": x, "y": y, "z": z}
        ids = {
            axis: self.let(f"t{axis}", f"gpu.thread_id {axis} upper_bound {size}")
            for axis, size in sizes.items()
            if size > 1
        }
        if list(ids) == ["x"]:
            return ids["x"]
        formula = " + ".join(
            f"{axis} * {stride}"
            for axis, stride in zip("xyz", (1, x, x * y), strict=True)
            if axis in ids
        )
        return self.apply("thread", formula, **ids)

    def _allocate(self, tile: Tile) -> list[Memref]:
        found: list[Memref] = []
        for _ in range(tile.allocations):
            if self._kernel.spoiler is Spoiler.BYTES and tile is self._kernel.tiles[0]:
                size = prod(tile.allocation) * tile.bytes
                raw = self.let("bytes", f"memref.alloc() : memref<{size}xi8, #lds>")
                memref = Memref.of("", tile.element, tile.allocation)
                view = f"memref.view {raw}[{self.index(0)}][] : memref<{size}xi8, #lds> to "
                found.append(memref.renamed(self.let("tile", view + memref.type)))
                continue
            memref = Memref.of("", tile.element, tile.allocation)
            found.append(memref.renamed(self.let("tile", f"memref.alloc() : {memref.type}")))
        return found

    # Iterations.

    def _loop(self, buffers: list[list[Memref]]) -> None:
        """Emits the loop; tiles with several buffers are brought ahead, in those nobody reads."""
        kernel = self._kernel
        zero, one = self.index(0), self.index(1)
        ahead = [tile for tile in kernel.tiles if tile.buffers > 1]
        for number, tile in enumerate(kernel.tiles):
            for stage in range(min(tile.buffers - 1, kernel.iterations)):
                memref = buffers[number][0 if tile.indexed else stage]
                self._produce(number, memref, self.index(stage), self.index(stage))
        if ahead:
            self.emit("gpu.barrier")
        carried = [
            (number, each)
            for number, tile in enumerate(kernel.tiles)
            if tile.buffers > 1 and not tile.indexed
            for each in buffers[number]
        ]
        iteration = self.name("iteration")
        inner = [each.renamed(self.name("buffer")) for _, each in carried]
        head = f"scf.for {iteration} = {zero} to {self.index(kernel.iterations)} step {one}"
        if carried:
            pairs = zip(inner, carried, strict=True)
            given = ", ".join(f"{inside.name} = {each.name}" for inside, (_, each) in pairs)
            kinds = ", ".join(each.type for each in inner)
            head = f"{self.name('last')}:{len(inner)} = {head} iter_args({given}) -> ({kinds})"
        by_tile: list[list[Memref]] = [
            [inside for inside, (owner, _) in zip(inner, carried, strict=True) if owner == number]
            or buffers[number]
            for number in range(len(kernel.tiles))
        ]

        def body() -> None:
            now = [each[0] for each in by_tile]
            later = [each[-1] for each in by_tile]
            self._iteration(now, later, iteration)
            self.emit("gpu.barrier")
            if carried:
                rotated = [
                    each
                    for tile, memrefs in zip(kernel.tiles, by_tile, strict=True)
                    if tile.buffers > 1 and not tile.indexed
                    for each in (*memrefs[1:], memrefs[0])
                ]
                names = ", ".join(each.name for each in rotated)
                self.emit(f"scf.yield {names} : {', '.join(each.type for each in rotated)}")

        self.block(head, body)

    def _iteration(
        self, now: list[Memref], later: list[Memref], iteration: str | None = None
    ) -> None:
        kernel = self._kernel
        stage = iteration or self.index(0)
        for number, tile in enumerate(kernel.tiles):
            if tile.buffers == 1:
                self._produce(number, later[number], stage, stage)
                continue
            by = tile.buffers - 1
            ahead = self.apply("stage", f"k + {by}", k=stage)
            buffer = self.apply("turn", f"(k + {by}) mod {tile.buffers}", k=stage)
            count = self.index(kernel.iterations)
            more = self.let("more", f"arith.cmpi ult, {ahead}, {count} : index")
            use = (number, later[number], ahead, buffer)
            self.block(f"scf.if {more}", lambda use=use: self._produce(*use))
        if any(tile.buffers == 1 for tile in kernel.tiles):
            self.emit("gpu.barrier")
        output = 0
        for number, tile in enumerate(kernel.tiles):
            buffer = stage
            if tile.indexed:
                buffer = self.apply("turn", f"k mod {tile.buffers}", k=stage)
            for consumer in tile.consumers:
                self._consume(tile, consumer, self._results[output], now[number], stage, buffer)
                output += 1

    def _start(self, stage: str, size: int) -> str:
        """Returns where the elements of this workgroup's stage begin."""
        formula = f"(b * {self._kernel.iterations} + k) * {size}"
        return self.apply("start", formula, b=self._group, k=stage)

    def _produce(self, number: int, memref: Memref, stage: str, buffer: str) -> None:
        tile = self._kernel.tiles[number]
        source = self._sources[number]
        start = self._start(stage, tile.elements)
        part = self._part(tile, memref, buffer)
        if isinstance(tile.producer, Gather):
            self._gather(tile, tile.producer, source, start, part)
            return
        access = tile.producer
        target = self._viewed(access, part)
        kind = self._vector(tile, access)

        def body(slot: str) -> None:
            place = self.apply("place", f"a + s * {access.width}", a=start, s=slot)
            value = self._load("value", f"{source[0]}[{place}]", source[1], kind)
            self._store_at(tile, access, value, target, slot)

        self._each_slot(prod(unit_grid(tile, access)), access.places.blocked, body)

    def _consume(
        self,
        tile: Tile,
        access: Access,
        result: tuple[str, str],
        memref: Memref,
        stage: str,
        buffer: str,
    ) -> None:
        source = self._viewed(access, self._part(tile, memref, buffer))
        start = self._start(stage, tile.outputs(access))
        kind = self._vector(tile, access)

        def body(slot: str) -> None:
            value = self._load_at(tile, access, source, slot)
            place = self.apply("place", f"a + s * {access.width}", a=start, s=slot)
            self._store(value, f"{result[0]}[{place}]", result[1], kind)

        self._each_slot(prod(unit_grid(tile, access)), access.places.blocked, body)

    def _each_slot(self, units: int, blocked: bool, body: Callable[[str], None]) -> None:
        """Runs `body` for the slots of a thread, those that exist."""
        threads = self._kernel.threads
        count = -(-units // threads)

        def guarded(slot: str, is_full: bool) -> None:
            if is_full:
                body(slot)
                return
            limit = self.index(units)
            on = self.let("on", f"arith.cmpi ult, {slot}, {limit} : index")
            self.block(f"scf.if {on}", lambda: body(slot))

        formula = f"t * {count} + i" if blocked else f"t + i * {threads}"
        if count > _UNROLLED:
            step = self.name("i")
            bounds = f"{self.index(0)} to {self.index(count)} step {self.index(1)}"

            def inside() -> None:
                slot = self.apply("slot", formula, t=self._thread, i=step)
                guarded(slot, count * threads == units)

            self.block(f"scf.for {step} = {bounds}", inside)
            return
        for number in range(count):
            slot = self._thread
            if count > 1:
                slot = self.apply("slot", formula.replace("i", str(number)), t=self._thread)
            last = threads * count if blocked else (number + 1) * threads
            guarded(slot, last <= units)

    # Views.

    def _part(self, tile: Tile, memref: Memref, buffer: str) -> Memref:
        """Returns the tile in its buffer, without margins."""
        befores = [before for before, _ in tile.padded_margins]
        if not tile.indexed and tile.shape == tile.allocated:
            return memref
        offset: int | None = sum(
            before * stride
            for before, stride in zip(befores, memref.strides[-len(tile.shape) :], strict=True)
        )
        offsets, sizes = list(map(str, befores)), list(tile.shape)
        if tile.indexed:
            offsets, sizes, offset = [buffer, *offsets], [1, *sizes], None
        found = memref.renamed(
            "",
            shape=tile.shape,
            strides=memref.strides[-len(tile.shape) :],
            offset=offset,
            plain=False,
        )
        return self._subview("part", memref, offsets, sizes, found)

    def _subview(
        self, hint: str, memref: Memref, offsets: list[str], sizes: list[int], result: Memref
    ) -> Memref:
        text = memref.subview(offsets, sizes, [1] * len(sizes), result)
        return result.renamed(self.let(hint, text))

    def _viewed(self, access: Access, memref: Memref) -> Memref:
        for view in access.views:
            memref = self._view(view, memref)
        if access.flat and len(memref.shape) > 1:
            memref = self._reshaped(*memref.collapsed(0, len(memref.shape)))
        return memref

    def _view(self, view: View, memref: Memref) -> Memref:
        if isinstance(view, Expand):
            return self._reshaped(*memref.expanded(view.dim, view.inner))
        if isinstance(view, Collapse):
            return self._reshaped(*memref.collapsed(view.dim))
        if view is Cast.SIZE:
            found = memref.renamed("", unknown_size=True)
        else:
            found = memref.renamed("", offset=None, plain=False)
        return found.renamed(
            self.let("cast", f"memref.cast {memref.name} : {memref.type} to {found.type}")
        )

    def _reshaped(self, text: str, found: Memref) -> Memref:
        return found.renamed(self.let("view", text))

    # Indices.

    def _coordinates(
        self, grid: tuple[int, ...], axis: int, places: Places, slot: str
    ) -> list[str]:
        """Emits what the function of the same name computes."""
        sizes = [grid[d] for d in places.order]
        if len(grid) == 1:
            names = [slot]
        elif places.spelling is Spelling.DELINEARIZE:
            name = self.name("at")
            kinds = ", ".join("index" for _ in sizes)
            shown = ", ".join(map(str, sizes))
            self.emit(
                f"{name}:{len(sizes)} = affine.delinearize_index {slot} into ({shown}) : {kinds}"
            )
            names = [f"{name}#{n}" for n in range(len(sizes))]
        else:
            names = []
            for position, size in enumerate(sizes):
                inner = prod(sizes[position + 1 :])
                names.append(self._digit(places.spelling, slot, inner, size, position == 0))
        found = dict(zip(places.order, names, strict=True))
        axis %= len(grid)
        slow = found[places.order[0]]
        if places.twist is Twist.ROTATE:
            found[axis] = self.apply("turned", f"(a + b) mod {grid[axis]}", a=found[axis], b=slow)
        elif places.twist is Twist.XOR:
            low = self.let("low", f"arith.remui {slow}, {self.index(grid[axis])} : index")
            found[axis] = self.let("turned", f"arith.xori {found[axis]}, {low} : index")
        return [found[d] for d in range(len(grid))]

    def _digit(self, spelling: Spelling, slot: str, inner: int, size: int, slowest: bool) -> str:
        """Emits `slot / inner mod size`."""
        if spelling is Spelling.AFFINE:
            formula = "s" if inner == 1 else f"s floordiv {inner}"
            return self.apply("at", formula if slowest else f"{formula} mod {size}", s=slot)
        value = slot
        if inner > 1:
            value = self.let("at", f"arith.divui {value}, {self.index(inner)} : index")
        if not slowest:
            value = self.let("at", f"arith.remui {value}, {self.index(size)} : index")
        return value

    def _times(self, spelling: Spelling, value: str, by: int) -> str:
        if by == 1:
            return value
        if spelling is Spelling.ARITH:
            return self.let("first", f"arith.muli {value}, {self.index(by)} : index")
        return self.apply("first", f"u * {by}", u=value)

    def _linearized(self, spelling: Spelling, indices: list[str], shape: tuple[int, ...]) -> str:
        if spelling is Spelling.AFFINE:
            names = [f"i{n}" for n in range(len(indices))]
            terms = zip(names, row_major(shape), strict=True)
            formula = " + ".join(f"{name} * {stride}" for name, stride in terms)
            return self.apply("flat", formula, **dict(zip(names, indices, strict=True)))
        if spelling is Spelling.DELINEARIZE:
            sizes = ", ".join(map(str, shape))
            text = f"affine.linearize_index disjoint [{', '.join(indices)}] by ({sizes}) : index"
            return self.let("flat", text)
        total = indices[0]
        for index, size in zip(indices[1:], shape[1:], strict=True):
            scaled = self.let("flat", f"arith.muli {total}, {self.index(size)} : index")
            total = self.let("flat", f"arith.addi {scaled}, {index} : index")
        return total

    def _target(
        self, tile: Tile, access: Access, memref: Memref, slot: str
    ) -> tuple[Memref, list[str]]:
        """Returns what a slot accesses, and where."""
        shape, axis = viewed_shape(tile, access), _axis(access)
        spelling = access.places.spelling
        indices = self._coordinates(unit_grid(tile, access), axis, access.places, slot)
        indices[axis] = self._times(spelling, indices[axis], access.width)
        if access.flat and len(shape) > 1:
            indices = [self._linearized(spelling, indices, shape)]
        if not access.row_view:
            return memref, indices
        sizes = [1, *memref.shape[1:]]
        if axis % len(indices) == 0:
            sizes[0] = access.width
        kept = memref.renamed("", shape=tuple(sizes), offset=None, plain=False, unknown_size=False)
        rest = ["0" for _ in sizes[1:]]
        row = self._subview("row", memref, [indices[0], *rest], sizes, kept)
        return row, [self.index(0), *indices[1:]]

    # Accesses.

    @staticmethod
    def _vector(tile: Tile, access: Access) -> str:
        """Returns the type that one slot moves."""
        if access.op is Op.MEMREF:
            return tile.element
        return f"vector<{access.width}x{tile.element}>"

    def _load(self, hint: str, place: str, memref: str, kind: str) -> str:
        if kind.startswith("vector"):
            return self.let(hint, f"vector.load {place} : {memref}, {kind}")
        return self.let(hint, f"memref.load {place} : {memref}")

    def _store(self, value: str, place: str, memref: str, kind: str) -> None:
        if kind.startswith("vector"):
            self.emit(f"vector.store {value}, {place} : {memref}, {kind}")
        else:
            self.emit(f"memref.store {value}, {place} : {memref}")

    def _store_at(self, tile: Tile, access: Access, value: str, memref: Memref, slot: str) -> None:
        memref, indices = self._target(tile, access, memref, slot)
        place, kind = f"{memref.name}[{', '.join(indices)}]", self._vector(tile, access)
        if access.op is not Op.TRANSFER:
            self._store(value, place, memref.type, kind)
            return
        bounds = "true"
        if access.column:
            tall = f"vector<{access.width}x1x{tile.element}>"
            value = self.let("column", f"vector.shape_cast {value} : {kind} to {tall}")
            kind, bounds = tall, "true, true"
        self.emit(
            f"vector.transfer_write {value}, {place} {{in_bounds = [{bounds}]}} : "
            f"{kind}, {memref.type}"
        )

    def _load_at(self, tile: Tile, access: Access, memref: Memref, slot: str) -> str:
        memref, indices = self._target(tile, access, memref, slot)
        place, kind = f"{memref.name}[{', '.join(indices)}]", self._vector(tile, access)
        if access.op is not Op.TRANSFER:
            return self._load("read", place, memref.type, kind)
        zero = self._zero(tile.element)
        tall = f"vector<{access.width}x1x{tile.element}>" if access.column else kind
        bounds = "true, true" if access.column else "true"
        value = self.let(
            "read",
            f"vector.transfer_read {place}, {zero} {{in_bounds = [{bounds}]}} : "
            f"{memref.type}, {tall}",
        )
        if access.column:
            value = self.let("read", f"vector.shape_cast {value} : {tall} to {kind}")
        return value

    def _zero(self, element: str) -> str:
        zero = "0" if element.startswith("i") else "0.0"
        return self.constant(f"%zero_{element}", f"{zero} : {element}")

    def _gather(
        self, tile: Tile, gather: Gather, source: tuple[str, str], start: str, memref: Memref
    ) -> None:
        """Emits a gather, of whose pieces of the tile waves take turns."""
        size = self._kernel.wave
        chunks, waves = tile.elements // (size * gather.width), self._kernel.threads // size
        count = -(-chunks // waves)
        wave = self.apply("wave", f"t floordiv {size}", t=self._thread)
        lane = self.apply("lane", f"t mod {size}", t=self._thread)
        kind = f"vector<{gather.width}x{tile.element}>"
        flat = gather.flat and len(memref.shape) > 1
        target = self._viewed(Access(flat=True), memref) if flat else memref

        def one(chunk: str) -> None:
            slot = self.apply("slot", f"c * {size} + l", c=chunk, l=lane)
            grid = unit_grid(tile, gather)
            found = self._coordinates(grid, -1, gather.places, slot)
            unit = self._linearized(gather.places.spelling, found, grid)
            place = self.apply("place", f"a + u * {gather.width}", a=start, u=unit)
            first = self.apply("first", f"c * {size * gather.width}", c=chunk)
            plain = Places(tuple(range(len(tile.shape))), spelling=gather.places.spelling)
            into = [first] if flat else self._coordinates(tile.shape, -1, plain, first)
            self.emit(
                f"amdgpu.gather_to_lds {source[0]}[{place}], {target.name}[{', '.join(into)}] : "
                f"{kind}, {source[1]}, {target.type}"
            )

        for number in range(count):
            blocked = gather.places.blocked
            formula = f"w * {count} + {number}" if blocked else f"w + {number * waves}"
            chunk = self.apply("chunk", formula, w=wave)
            last = waves * count if blocked else (number + 1) * waves
            if last <= chunks:
                one(chunk)
                continue
            on = self.let("on", f"arith.cmpi ult, {chunk}, {self.index(chunks)} : index")
            self.block(f"scf.if {on}", lambda at=chunk: one(at))

    # Uses that no swizzle survives.

    def _spoil(self, memref: Memref) -> None:
        self.emit("gpu.barrier")
        first = self.let("first_thread", f"arith.cmpi eq, {self._thread}, {self.index(0)} : index")
        self.block(f"scf.if {first}", lambda: self._spoiling_use(memref))

    def _spoiling_use(self, memref: Memref) -> None:
        """Emits some use of the memory that changes nothing that anybody reads."""
        spoiler, element = self._kernel.spoiler, memref.element
        zero, zero_index = self._zero(element), self.index(0)
        zeros = ", ".join([zero_index] * len(memref.shape))
        place = f"{memref.name}[{zeros}]"
        size = prod(memref.shape)
        if spoiler is Spoiler.REINTERPRET:
            turned = f"memref<{size}x{element}, #lds>"
            view = self.let(
                "turned",
                f"memref.reinterpret_cast {memref.name} to offset: [0], sizes: [{size}], "
                f"strides: [1] : {memref.type} to {turned}",
            )
            self.emit(f"memref.store {zero}, {view}[{zero_index}] : {turned}")
        elif spoiler is Spoiler.ATOMIC:
            add = "addi" if element.startswith("i") else "addf"
            text = f"memref.atomic_rmw {add} {zero}, {place} : ({element}, {memref.type})"
            self.let("old", f"{text} -> {element}")
        elif spoiler is Spoiler.PREFETCH:
            self.emit(f"memref.prefetch {place}, read, locality<3>, data : {memref.type}")
        elif spoiler is Spoiler.MASKED:
            mask = self.let("mask", f"vector.create_mask {self._unknown_bit()} : vector<2xi1>")
            pair = self.let("pair", f"vector.broadcast {zero} : {element} to vector<2x{element}>")
            kinds = f"{memref.type}, vector<2xi1>, vector<2x{element}>"
            self.emit(f"vector.maskedstore {place}, {mask}, {pair} : {kinds}")
        elif spoiler is Spoiler.OUT_OF_BOUNDS:
            pair = self.let("pair", f"vector.broadcast {zero} : {element} to vector<2x{element}>")
            indices = ", ".join([zero_index] * (len(memref.shape) - 1) + [self._unknown_bit()])
            kinds = f"vector<2x{element}>, {memref.type}"
            self.emit(f"vector.transfer_write {pair}, {memref.name}[{indices}] : {kinds}")
        elif spoiler is Spoiler.LOADED_INDEX:
            indices = ", ".join([zero_index] * (len(memref.shape) - 1) + [self._unknown_bit()])
            self.emit(f"memref.store {zero}, {memref.name}[{indices}] : {memref.type}")
        elif spoiler in (Spoiler.CHOSEN_PART, Spoiler.CARRIED_PART):
            self._parts_meet(memref, zero)

    def _parts_meet(self, memref: Memref, zero: str) -> None:
        rest = ["0" for _ in memref.shape[1:]]
        sizes = [1, *memref.shape[1:]]
        kept = memref.renamed("", shape=tuple(sizes), offset=None, plain=False)
        bit = self._unknown_bit()
        parts = [
            self._subview("half", memref, [at, *rest], sizes, kept)
            for at in (bit, self.apply("other", "1 - b", b=bit))
        ]
        zeros = ", ".join([self.index(0)] * len(sizes))
        if self._kernel.spoiler is Spoiler.CHOSEN_PART:
            even = self.let("even", f"arith.cmpi eq, {bit}, {self.index(0)} : index")
            names = ", ".join(part.name for part in parts)
            chosen = self.let("chosen", f"arith.select {even}, {names} : {kept.type}")
            self.emit(f"memref.store {zero}, {chosen}[{zeros}] : {kept.type}")
            return
        inner = [self.name("side") for _ in parts]
        given = ", ".join(f"{name} = {part.name}" for name, part in zip(inner, parts, strict=True))
        bounds = f"{self.index(0)} to {self.index(3)} step {self.index(1)}"
        head = f"{self.name('sides')}:2 = scf.for {self.name('i')} = {bounds} iter_args({given})"

        def body() -> None:
            self.emit(f"memref.store {zero}, {inner[0]}[{zeros}] : {kept.type}")
            self.emit(f"scf.yield {inner[1]}, {inner[0]} : {kept.type}, {kept.type}")

        self.block(f"{head} -> ({kept.type}, {kept.type})", body)

    def _unknown_bit(self) -> str:
        """Returns 0 or 1 as an index that depends on the first input."""
        tile = self._kernel.tiles[0]
        name, kind = self._sources[0]
        value = self.let("data", f"memref.load {name}[{self.index(0)}] : {kind}")
        word = f"i{8 * tile.bytes}"
        if not tile.element.startswith("i"):
            value = self.let("bits", f"arith.bitcast {value} : {tile.element} to {word}")
        one = self.constant(f"%one_{word}", f"1 : {word}")
        bit = self.let("bit", f"arith.andi {value}, {one} : {word}")
        return self.let("bit", f"arith.index_castui {bit} : {word} to index")


# Random descriptions. What comes first in a list is what a failing kernel is reduced to.

_WORKGROUPS = (
    *((64, 1, 1), (128, 1, 1), (256, 1, 1), (64, 2, 1), (32, 4, 1), (16, 16, 1), (8, 8, 2)),
    *((96, 1, 1), (24, 4, 1)),
)
_LDS_BYTES = 12 * 1024
"""Of one tile, all its buffers together."""


def kernels(
    spoilers: Sequence[Spoiler] = (), gathers: bool = False, chips: Sequence[str] = CHIPS
) -> st.SearchStrategy[Kernel]:
    """Returns kernels that compile; each with one of `spoilers` if there are any.

    With `gathers` every tile is filled by `gather_to_lds` that can be.
    """
    return _kernels(tuple(spoilers), gathers, tuple(chips))


@st.composite
def _kernels(
    draw: st.DrawFn, spoilers: tuple[Spoiler, ...], gathers: bool, chips: tuple[str, ...]
) -> Kernel:
    arch = draw(st.sampled_from(chips))
    size = draw(st.sampled_from(_WORKGROUPS))
    spoiler = draw(st.sampled_from(spoilers)) if spoilers else None
    iterations = 1 if spoilers else draw(st.sampled_from((1, 1, 2, 3, 5)))
    tiles = [draw(_tiles(arch, prod(size), iterations, spoiler, gathers))]
    if draw(st.sampled_from((False, False, True))):
        tiles.append(draw(_tiles(arch, prod(size), iterations, None, gathers)))
    return Kernel(arch, size, tuple(tiles), draw(st.sampled_from((1, 2))), iterations, spoiler)


_SHAPES = {
    2: ((4, 8, 12, 16, 20, 24, 32, 48, 64), (8, 12, 16, 24, 32, 40, 64, 80, 96, 128)),
    1: ((256, 384, 512, 1000, 1024, 2048, 4096),),
    3: ((2, 3, 4, 5, 8), (4, 8, 12, 16), (8, 16, 24, 32, 64)),
}


@st.composite
def _tiles(
    draw: st.DrawFn, arch: str, threads: int, iterations: int, spoiler: Spoiler | None, direct: bool
) -> Tile:
    """Returns tiles; with `direct` they are filled by `gather_to_lds` wherever they can be."""
    elements = tuple(ELEMENT_BYTES)
    if spoiler is Spoiler.ATOMIC:
        elements = ("i32", "f32")
    element = draw(st.sampled_from(elements))
    rank = 2 if spoiler else draw(st.sampled_from((2, 2, 2, 3, 1)))
    shape = [draw(st.sampled_from(sizes)) for sizes in _SHAPES[rank]]
    buffers = draw(st.sampled_from((1, 2, 3))) if iterations > 1 else 1
    budget = _LDS_BYTES // ELEMENT_BYTES[element] // buffers
    while prod(shape) > budget:
        shape[0] = max(shape[0] // 2, 2)
        if shape[0] == 2:
            shape[-1] = max(shape[-1] // 2, 8)
    kept = draw(st.sampled_from(Buffers)) if buffers > 1 else Buffers.CARRIED
    margins: tuple[tuple[int, int], ...] = ()
    if spoiler is None and draw(st.sampled_from((False, False, True))):
        amounts = st.sampled_from((0, 0, 1, 2, 4, 8))
        margins = tuple((draw(amounts), draw(amounts)) for _ in shape)
    plain = Tile(element, tuple(shape), Access(), (), margins, buffers, kept)
    if prod(plain.allocated) * plain.buffers * plain.bytes > 2 * _LDS_BYTES:
        margins = ()
        plain = replace(plain, margins=margins)
    gathers = _gather_widths(plain, arch, threads)
    producer: Access | Gather
    # A gather's sources live in a buffer resource, which `_unknown_bit` does not load from.
    may_gather = spoiler is None and gathers
    if may_gather and (direct or draw(st.sampled_from((False, True, True)))):
        producer = draw(_gathers(plain, gathers))
    else:
        producer = draw(_accesses(plain, covers=True))
    consumers = tuple(
        draw(_accesses(plain, covers=False)) for _ in range(draw(st.sampled_from((1, 1, 2))))
    )
    return Tile(element, tuple(shape), producer, consumers, margins, buffers, kept)


def _gather_widths(tile: Tile, arch: str, threads: int) -> list[int]:
    # A copy of 16 bytes goes without registers where the GPU has it; MLIR has none for RDNA.
    widest = (16,) if features_of(arch).direct_loads else ()
    sizes = (4, *widest) if features_of(arch).matrix_generation else ()
    wave = lds_of(arch).wave_size
    return [
        size // tile.bytes
        for size in sizes
        if size >= tile.bytes
        and threads % wave == 0
        and tile.elements % (wave * size // tile.bytes) == 0
        and tile.shape[-1] % (size // tile.bytes) == 0
        and _is_contiguous(tile)
        and _is_aligned(tile, size)
    ]


def _is_contiguous(tile: Tile) -> bool:
    """Returns whether nothing lies between the elements of a buffer."""
    return not any(before + behind for before, behind in tile.padded_margins[1:])


def _is_aligned(tile: Tile, size: int) -> bool:
    """Returns whether each buffer of a contiguous tile begins at a multiple of `size` bytes."""
    before, _ = tile.padded_margins[0]
    starts = (before * prod(tile.shape[1:]), prod(tile.allocated))
    return all(start * tile.bytes % size == 0 for start in starts)


@st.composite
def _gathers(draw: st.DrawFn, tile: Tile, widths: list[int]) -> Gather:
    width = draw(st.sampled_from(widths))
    grid = unit_grid(tile, Gather(width))
    return Gather(width, draw(_places(grid, -1)), draw(st.booleans()))


@st.composite
def _places(draw: st.DrawFn, grid: tuple[int, ...], axis: int) -> Places:
    order = tuple(draw(st.permutations(range(len(grid)))))
    twists = [Twist.NONE]
    if order[0] != axis % len(grid):
        twists.append(Twist.ROTATE)
        if grid[axis] & (grid[axis] - 1) == 0:
            twists.append(Twist.XOR)
    spelling = draw(st.sampled_from(Spelling))
    return Places(order, draw(st.sampled_from(twists)), spelling, draw(st.booleans()))


@st.composite
def _accesses(draw: st.DrawFn, tile: Tile, covers: bool) -> Access:
    """Returns accesses that reach every element if `covers`, and most of them otherwise."""
    views: list[View] = []
    for _ in range(draw(st.sampled_from((0, 0, 1, 2)))):
        choices = _possible_views(tile, viewed_shape(tile, Access(views=tuple(views))))
        if choices:
            views.append(draw(st.sampled_from(choices)))
    shape = list(viewed_shape(tile, Access(views=tuple(views))))
    flat = _is_contiguous(tile) and draw(st.sampled_from((False, False, True)))
    column = len(shape) > 1 and not flat and draw(st.sampled_from((False, False, False, True)))
    if not flat and draw(st.sampled_from((False, False, False, True))):
        views.append(draw(st.sampled_from(Cast)))
    axis = shape[-2] if column else shape[-1]
    widths = [
        width
        for width in (1, 2, 4, 8, 16)
        if width * tile.bytes <= 16 and (axis % width == 0 if covers else axis >= width)
    ]
    width = draw(st.sampled_from(widths))
    ops = [Op.VECTOR, Op.TRANSFER] + ([Op.MEMREF] if width == 1 else [])
    op = Op.TRANSFER if column else draw(st.sampled_from(ops))
    shape[-2 if column else -1] //= width
    places = draw(_places(tuple(shape), -2 if column else -1))
    row_view = not flat and draw(st.sampled_from((False, False, False, True)))
    return Access(width, places, tuple(views), op, column, flat, row_view)


def _possible_views(tile: Tile, shape: tuple[int, ...]) -> list[View]:
    found: list[View] = []
    for dim, size in enumerate(shape):
        if len(shape) < 4:
            found += [Expand(dim, n) for n in (2, 4, 3, 8) if size % n == 0 and size > n]
        if dim + 1 < len(shape) and _is_contiguous(tile):
            found.append(Collapse(dim))
    return found
