# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`#iree_vector_ext.nested_layout`: which lane of which wave holds which element of a vector.

Every dimension of the vector is cut five times, from the outside in: subgroup, batch, outer,
thread, element. With the sizes S, B, O, T, E of the five tiles, element (s, b, o, t, e) of a
dimension has the index

    (((s * B + b) * O + o) * T + t) * E + e.

Subgroup s and thread t come from the flat thread id `tid` of the workgroup (not from the lane):
`s = tid / subgroup_size / subgroup_stride % S` and `t = tid / thread_stride % T`, so a thread
tile may span several waves. Batch, outer and element are unrolled into the program.

Example: 64x128 with thread_tile = [16, 16], thread_strides = [16, 1], batch_tile = [4, 1] and
element_tile = [1, 8], on 256 threads: thread 17 holds row 1 + 16 * b, columns 8 to 15, for the
batches b = 0 to 3.

A `vector.transfer_read` or `_write` of such a vector becomes one transfer of shape `element_tile`
per batch and outer tile (IREE's GPUNestedLayoutDistributionPatterns.cpp), and each of those
becomes one machine access per run of elements that are contiguous in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import gcd, prod
from typing import TYPE_CHECKING

import numpy as np

from .accesses import LdsAccess, LdsTile
from .lds_rules import AccessKind
from .quick_dataclass import dataclass
from .quick_tuple import NamedTuple

if TYPE_CHECKING:
    import numpy.typing as npt

Ints = tuple[int, ...]

_LEVELS = ("subgroup_tile", "batch_tile", "outer_tile", "thread_tile", "element_tile")
_NESTED_LAYOUT = re.compile(r"#iree_vector_ext\.nested_layout<(.*)>\s*\Z", re.DOTALL)
_FIELD = re.compile(r"(\w+)\s*=\s*\[([-\d,\s]*)\]")


class NestedLayoutError(ValueError):
    """A nested layout that is malformed or that IREE cannot distribute."""


class TilePart(NamedTuple):
    """Where in a tile a transferred vector lies.

    Attributes:
        memory_dims: the tile dimension of each vector dimension, None for one that is broadcast
            (the transfer's permutation map). By default they are the innermost dimensions.
        origin: the transfer's indices into the tile, one per tile dimension, by default zeros.
    """

    tile: LdsTile
    memory_dims: Sequence[int | None] | None = None
    origin: Sequence[int] | None = None

    @property
    def first(self) -> Sequence[int]:
        """Returns the origin."""
        return (0,) * len(self.tile.shape) if self.origin is None else self.origin

    @property
    def pitch(self) -> Ints:
        """Returns how many elements of the tile a step in each of its dimensions goes."""
        dims = self.tile.shape
        return tuple(prod(dims[m + 1 :]) for m in range(len(dims)))

    def mapped(self, vector_rank: int) -> list[tuple[int, int]]:
        """Returns the pairs (vector dimension, tile dimension) that are not broadcast."""
        rank = len(self.tile.shape)
        dims = range(rank - vector_rank, rank) if self.memory_dims is None else self.memory_dims
        return [(v, m) for v, m in enumerate(dims) if m is not None]


@dataclass(frozen=True)
class NestedLayout:
    """The attribute's fields; all have one entry per vector dimension."""

    subgroup_tile: Ints
    batch_tile: Ints
    outer_tile: Ints
    thread_tile: Ints
    element_tile: Ints
    subgroup_strides: Ints
    thread_strides: Ints

    def __post_init__(self) -> None:
        ranks = {len(values) for values in self._fields()}
        if len(ranks) != 1:
            raise NestedLayoutError("all fields of a nested layout must have the same rank")
        for name in _LEVELS:
            if any(size < 1 for size in getattr(self, name)):
                raise NestedLayoutError(f"{name} of a nested layout must be positive")
        if any(stride < 0 for stride in (*self.subgroup_strides, *self.thread_strides)):
            raise NestedLayoutError("strides of a nested layout must not be negative")

    @staticmethod
    def parse(text: str) -> NestedLayout:
        """Reads the attribute's text, `#iree_vector_ext.nested_layout<...>`.

        Raises:
            NestedLayoutError: another attribute, or a field is missing or malformed.
        """
        match = _NESTED_LAYOUT.fullmatch(text.strip())
        if match is None:
            raise NestedLayoutError(f"not a nested layout: {text}")
        found = {
            key: tuple(int(item) for item in values.split(",") if item.strip())
            for key, values in _FIELD.findall(match[1])
        }
        names = [*NestedLayout.__annotations__]
        if sorted(found) != sorted(names):
            raise NestedLayoutError(f"nested layout needs the fields {', '.join(names)}")
        return NestedLayout(**found)

    def __str__(self) -> str:
        body = ", ".join(f"{name} = {list(value)}" for name, value in vars(self).items())
        return f"#iree_vector_ext.nested_layout<{body}>"

    @property
    def rank(self) -> int:
        """Returns the number of the vector's dimensions."""
        return len(self.subgroup_tile)

    @property
    def shape(self) -> Ints:
        """Returns the undistributed vector's shape."""
        return tuple(prod(sizes) for sizes in zip(*self._levels(), strict=True))

    def permute(self, permutation: Sequence[int]) -> NestedLayout:
        """Returns the layout of `vector.transpose`: dim i of the result is dim permutation[i]."""
        if sorted(permutation) != list(range(self.rank)):
            raise NestedLayoutError(f"{list(permutation)} does not permute {self.rank} dimensions")
        return self._select(permutation)

    def project(self, dropped: Sequence[bool]) -> NestedLayout:
        """Returns the layout without the dimensions marked in `dropped`, as after a reduction."""
        if len(dropped) != self.rank:
            raise NestedLayoutError(f"{len(dropped)} marks for {self.rank} dimensions")
        return self._select([dim for dim, drop in enumerate(dropped) if not drop])

    def reshape(self, new_shape: Sequence[int]) -> NestedLayout | None:
        """Returns the layout of `vector.shape_cast` to `new_shape`; None where there is none.

        The vector's index is a mixed-radix number whose digits, from the last dimension's element
        to the first dimension's subgroup, are dealt to the new dimensions from the inside out.
        A new dimension takes digits while they go outwards (element, thread, outer, batch,
        subgroup) and each level's digits lie contiguously in the thread id, because one
        dimension of a layout is cut once per level and in that order.

        Example: 64 = [subgroup 4] x [thread 16] with subgroup stride 1 and thread stride 1
        becomes 4x16 with subgroup_tile = [4, 1] and thread_tile = [1, 16].
        """
        if prod(self.shape) != prod(new_shape):
            return None
        digits = self._digits()
        columns: list[dict[str, tuple[int, int]]] = []
        for size in reversed(new_shape):
            column: dict[str, tuple[int, int]] = {}
            depth = len(_LEVELS)
            remaining = size
            while remaining > 1:
                level, count, stride = digits.pop()
                take = gcd(remaining, count)
                if take == 1 or take not in (remaining, count) or level > depth:
                    return None
                depth = level
                name = _LEVELS[level]
                held, first_stride = column.get(name, (1, stride))
                if name in ("subgroup_tile", "thread_tile") and first_stride * held != stride:
                    return None
                column[name] = (held * take, first_stride)
                if take < count:
                    digits.append((level, count // take, stride * take))
                remaining //= take
            columns.append(column)
        columns.reverse()
        tiles = [tuple(c.get(name, (1, 0))[0] for c in columns) for name in _LEVELS]
        strides = [
            tuple(c.get(name, (1, 0))[1] for c in columns)
            for name in ("subgroup_tile", "thread_tile")
        ]
        return NestedLayout(*tiles, *strides)

    def thread_digits(
        self, thread_ids: npt.NDArray[np.int64], subgroup_size: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Returns the indices s and t of every dimension, each [rank, *thread_ids.shape].

        Raises:
            NestedLayoutError: IREE cannot split the thread id by these tiles and strides.
        """
        _mixed_radix(self.subgroup_tile, self.subgroup_strides)
        _mixed_radix(self.thread_tile, self.thread_strides)
        zero = np.zeros_like(thread_ids)
        subgroup = [
            thread_ids // subgroup_size // stride % size if stride else zero
            for size, stride in zip(self.subgroup_tile, self.subgroup_strides, strict=True)
        ]
        thread = [
            thread_ids // stride % size if stride else zero
            for size, stride in zip(self.thread_tile, self.thread_strides, strict=True)
        ]
        shape = (self.rank, *thread_ids.shape)
        return np.reshape(subgroup, shape), np.reshape(thread, shape)

    def writers(
        self, thread_ids: npt.NDArray[np.int64], subgroup_size: int
    ) -> npt.NDArray[np.bool_]:
        """Returns which threads of `thread_ids` take part in a write, of the same shape.

        Where the layout gives an element to several threads, IREE lets only the first of them
        write: the parts of the thread id that neither tile uses must be 0.
        """
        strides = [stride * subgroup_size for stride in self.subgroup_strides]
        unused = _mixed_radix(
            (*self.subgroup_tile, *self.thread_tile), (*strides, *self.thread_strides)
        )
        active = np.ones(thread_ids.shape, dtype=bool)
        for stride, size in unused:
            digit = thread_ids // stride
            active &= (digit % size if size else digit) == 0
        return active

    def accesses(
        self,
        part: TilePart,
        kind: AccessKind,
        *,
        threads: int,
        wave_size: int,
        weight: int = 1,
        location: str = "",
        segment: int = -1,
    ) -> tuple[LdsAccess, ...]:
        """Returns the machine accesses of a transfer between a vector of this layout and a tile.

        There is one LdsAccess of [waves, wave_size] per batch, outer tile and contiguous run of the
        element tile. Accesses that are equal, because a dimension is broadcast, are given once.

        Args:
          threads: lanes of the workgroup; the last wave may not be full.
          weight, location, segment: those of all accesses.

        Raises:
            NestedLayoutError: the transfer leaves the tile or cannot be distributed.
        """
        mapped = part.mapped(self.rank)
        self._check_transfer(part, mapped)
        waves = -(-threads // wave_size)
        ids = np.arange(waves * wave_size, dtype=np.int64).reshape(waves, wave_size)
        active = ids < threads
        if kind is AccessKind.WRITE:
            active &= self.writers(ids, wave_size)
        firsts = self._lane_offsets(part, mapped, ids, wave_size)
        constants, run = self._unrolled(part, mapped)
        first = LdsAccess(kind, firsts, run, weight, active, location, segment=segment)
        return tuple(map(first.moved, constants))

    def _lane_offsets(
        self,
        part: TilePart,
        mapped: Sequence[tuple[int, int]],
        ids: npt.NDArray[np.int64],
        wave_size: int,
    ) -> npt.NDArray[np.int64]:
        """Returns the first element that each thread of `ids` accesses, of the same shape."""
        subgroup, thread = self.thread_digits(ids, wave_size)
        offsets = np.full(ids.shape, int(np.dot(part.first, part.pitch)), dtype=np.int64)
        for v, m in mapped:
            element = self.element_tile[v] * part.pitch[m]
            inside = self.batch_tile[v] * self.outer_tile[v] * self.thread_tile[v]
            offsets += (thread[v] + subgroup[v] * inside) * element
        return offsets

    def _unrolled(self, part: TilePart, mapped: Sequence[tuple[int, int]]) -> tuple[list[int], int]:
        """Returns how far the accesses of a lane lie behind its first, and their elements."""
        constants = np.zeros(1, dtype=np.int64)
        run = 1
        for v, m in mapped:
            element = self.element_tile[v]
            step = self.thread_tile[v] * element * part.pitch[m]
            constants = _outer_sum(
                constants, np.arange(self.batch_tile[v] * self.outer_tile[v]) * step
            )
            if m == len(part.pitch) - 1:
                run = element
            else:
                constants = _outer_sum(constants, np.arange(element) * part.pitch[m])
        return sorted(set(constants.tolist())), run

    def _check_transfer(self, part: TilePart, mapped: Sequence[tuple[int, int]]) -> None:
        dims = part.tile.shape
        targets = [m for _, m in mapped]
        if len(set(targets)) != len(targets) or any(not 0 <= m < len(dims) for m in targets):
            raise NestedLayoutError(f"cannot map vector dimensions to tile dimensions {targets}")
        for v, _ in mapped:
            for size, stride in (
                (self.subgroup_tile[v], self.subgroup_strides[v]),
                (self.thread_tile[v], self.thread_strides[v]),
            ):
                if size > 1 and stride == 0:
                    raise NestedLayoutError("a distributed dimension has stride 0")
        extent = dict.fromkeys(range(len(dims)), 1)
        extent.update((m, self.shape[v]) for v, m in mapped)
        for m, size in enumerate(dims):
            if not 0 <= part.first[m] <= size - extent[m]:
                raise NestedLayoutError(f"the transfer leaves dimension {m} of the tile")

    def _fields(self) -> tuple[Ints, ...]:
        return (*self._levels(), self.subgroup_strides, self.thread_strides)

    def _levels(self) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        return (
            self.subgroup_tile,
            self.batch_tile,
            self.outer_tile,
            self.thread_tile,
            self.element_tile,
        )

    def _digits(self) -> list[tuple[int, int, int]]:
        """Returns (level, size, stride) of the digits over 1, the last dimension's element last."""
        digits: list[tuple[int, int, int]] = []
        for v in range(self.rank):
            strides = {0: self.subgroup_strides[v], 3: self.thread_strides[v]}
            for level, sizes in enumerate(self._levels()):
                if sizes[v] > 1:
                    digits.append((level, sizes[v], strides.get(level, 0)))
        return digits

    def _select(self, dims: Iterable[int]) -> NestedLayout:
        order = list(dims)
        return NestedLayout(*(tuple(values[d] for d in order) for values in self._fields()))


def _mixed_radix(sizes: Sequence[int], strides: Sequence[int]) -> list[tuple[int, int]]:
    """Returns the parts (stride, size) of an id that no tile uses; size 0 is unbounded.

    The id is cut into digits, from the lowest stride up: sizes [4, 16] with strides [16, 1] leave
    only id / 64 unused; sizes [4] with stride [8] leave id % 8 and id / 32.
    """
    unused: list[tuple[int, int]] = []
    covered = 1
    for stride, size in sorted(zip(strides, sizes, strict=True)):
        if stride == 0:
            continue
        if stride % covered:
            raise NestedLayoutError("tiles and strides overlap")
        if stride != covered:
            unused.append((covered, stride // covered))
        covered = stride * size
    unused.append((covered, 0))
    return unused


def _outer_sum(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return (a[:, None] + b[None, :]).ravel()
