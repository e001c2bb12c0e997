# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear layouts: maps between named bit dimensions that are linear over F2.

A linear layout sends a tuple of input coordinates (lane, register, ...) to output coordinates
(row, column, ...), and XORing inputs XORs outputs. It is stored, as in Triton's LinearLayout, by
its bases: what each bit of each input dimension contributes to each output. Example: lanes 0-3
run along columns, lanes 4-31 down the rows of an 8 x 4 tile::

    lane: (0, 1), (0, 2), (1, 0), (2, 0), (4, 0)        outputs (row, column)

so lane 6 = 2 ^ 4 holds (0, 2) ^ (1, 0) = (1, 2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from . import f2
from .errors import InvalidParameterError, require_power_of_two

IntArray = npt.NDArray[np.integer]


@dataclass(frozen=True)
class LinearLayout:
    """A linear map from named input dimensions to named output dimensions.

    `bases` lists (input name, images of its bits); an image has one coordinate per output.
    `outputs` lists (output name, size), sizes powers of two. The first named dimension is the
    fastest when coordinates are flattened.
    """

    bases: tuple[tuple[str, tuple[tuple[int, ...], ...]], ...]
    outputs: tuple[tuple[str, int], ...]

    def __post_init__(self) -> None:
        names = [name for name, _ in self.bases]
        if len(set(names)) != len(names):
            raise InvalidParameterError("bases", names, "distinct input names")
        if len(dict(self.outputs)) != len(self.outputs):
            raise InvalidParameterError("outputs", self.outputs, "distinct output names")
        for name, size in self.outputs:
            require_power_of_two(f"size of output {name!r}", size)
        for name, images in self.bases:
            for image in images:
                sizes = [size for _, size in self.outputs]
                if len(image) != len(sizes) or any(
                    not 0 <= x < size for x, size in zip(image, sizes, strict=True)
                ):
                    raise InvalidParameterError(
                        f"bases of {name!r}", image, f"coordinates below {tuple(sizes)}"
                    )

    @staticmethod
    def from_columns(
        inputs: Sequence[tuple[str, int]],
        outputs: Sequence[tuple[str, int]],
        columns: Sequence[int],
    ) -> LinearLayout:
        """From a matrix between flattened inputs and outputs, given as `(name, size)` each."""
        for name, size in inputs:
            require_power_of_two(f"size of input {name!r}", size)
        remaining = iter(columns)
        bases = tuple(
            (
                name,
                tuple(_unflatten(next(remaining), outputs) for _ in range(size.bit_length() - 1)),
            )
            for name, size in inputs
        )
        return LinearLayout(bases, tuple(outputs))

    @staticmethod
    def identity(name: str, size: int) -> LinearLayout:
        """The layout that maps `name` to itself."""
        require_power_of_two("size", size)
        columns = [1 << bit for bit in range(size.bit_length() - 1)]
        return LinearLayout.from_columns([(name, size)], [(name, size)], columns)

    @property
    def inputs(self) -> tuple[tuple[str, int], ...]:
        """(input name, size)."""
        return tuple((name, 1 << len(images)) for name, images in self.bases)

    @property
    def columns(self) -> tuple[int, ...]:
        """The matrix between flattened inputs and flattened outputs, by columns."""
        return tuple(_flatten(image, self.outputs) for _, images in self.bases for image in images)

    def apply(self, **coordinates: int | IntArray) -> Mapping[str, npt.NDArray[np.int64]]:
        """The outputs for the given inputs, broadcast against each other; absent inputs are 0.

        Raises InvalidParameterError for an unknown input or a coordinate outside its size.
        """
        known = dict(self.bases)
        result = [np.zeros((), dtype=np.int64) for _ in self.outputs]
        for name, value in coordinates.items():
            if name not in known:
                raise InvalidParameterError("input", repr(name), ", ".join(known))
            values = np.asarray(value, dtype=np.int64)
            size = 1 << len(known[name])
            if values.size and (values.min() < 0 or values.max() >= size):
                raise InvalidParameterError(name, f"up to {values.max()}", f"0 .. {size - 1}")
            for bit, image in enumerate(known[name]):
                on = values >> bit & 1
                result = [r ^ on * x for r, x in zip(result, image, strict=True)]
        return MappingProxyType(
            {name: r for (name, _), r in zip(self.outputs, result, strict=True)}
        )

    def compose(self, outer: LinearLayout) -> LinearLayout:
        """First this layout, then `outer`, whose inputs must be this layout's outputs."""
        if dict(outer.inputs) != dict(self.outputs):
            raise InvalidParameterError(
                "outer.inputs", outer.inputs, f"{self.outputs} in any order"
            )
        offset_of: dict[str, int] = {}
        offset = 0
        for name, size in outer.inputs:
            offset_of[name] = offset
            offset += size.bit_length() - 1
        columns: list[int] = []
        for _, images in self.bases:
            for image in images:
                flat = 0
                for (name, _), x in zip(self.outputs, image, strict=True):
                    flat |= x << offset_of[name]
                columns.append(f2.apply(outer.columns, flat))
        return LinearLayout.from_columns(self.inputs, outer.outputs, columns)

    def invert(self) -> LinearLayout:
        """The inverse; raises f2.SingularMatrixError where there is none."""
        bits = sum(size.bit_length() - 1 for _, size in self.outputs)
        if bits != len(self.columns):
            raise f2.SingularMatrixError(
                "columns", f"{len(self.columns)} for {bits} output bits", "equally many"
            )
        return LinearLayout.from_columns(self.outputs, self.inputs, f2.inverse(self.columns))

    def is_injective(self) -> bool:
        """Whether different inputs have different outputs."""
        return f2.rank(self.columns) == len(self.columns)

    def is_surjective(self) -> bool:
        """Whether every output occurs."""
        return f2.rank(self.columns) == sum(size.bit_length() - 1 for _, size in self.outputs)


@dataclass(frozen=True)
class NestedTile:
    """The sizes of one tensor dimension in an IREE nested layout, outermost first.

    A dimension of the tensor is subgroup x batch x outer x thread x element; subgroups and threads
    advance over the subgroup and lane id by `subgroup_stride` and `thread_stride` (0: replicated).
    """

    subgroup: int = 1
    batch: int = 1
    outer: int = 1
    thread: int = 1
    element: int = 1
    subgroup_stride: int = 0
    thread_stride: int = 0


def nested_layout(
    dimensions: Sequence[NestedTile], wave_size: int, subgroups: int = 1
) -> LinearLayout:
    """The linear layout (register, lane, subgroup) -> (dim0, dim1, ...) of a nested layout.

    Dimension 0 of the tensor comes first in `dimensions`. Registers run fastest over the elements
    of the last dimension, then of the one before, then over the outer and then the batch tiles.
    Raises InvalidParameterError for sizes or strides that are not powers of two.
    """
    require_power_of_two("wave_size", wave_size)
    require_power_of_two("subgroups", subgroups)
    outputs: list[tuple[str, int]] = []
    for index, tile in enumerate(dimensions):
        size = 1
        for level in ("element", "thread", "outer", "batch", "subgroup"):
            require_power_of_two(f"{level} size of dimension {index}", getattr(tile, level))
            size *= getattr(tile, level)
        outputs.append((f"dim{index}", size))

    def image(index: int, value: int) -> tuple[int, ...]:
        return tuple(value if i == index else 0 for i in range(len(dimensions)))

    registers: list[tuple[int, ...]] = []
    lanes = [(0,) * len(dimensions)] * (wave_size.bit_length() - 1)
    waves = [(0,) * len(dimensions)] * (subgroups.bit_length() - 1)
    for level in ("element", "outer", "batch"):
        for index in reversed(range(len(dimensions))):
            step = _step_below(dimensions[index], level)
            count = getattr(dimensions[index], level)
            registers += [image(index, step << bit) for bit in range(count.bit_length() - 1)]
    for ids, level in ((lanes, "thread"), (waves, "subgroup")):
        for index, tile in enumerate(dimensions):
            count, stride = getattr(tile, level), getattr(tile, f"{level}_stride")
            if count == 1:
                continue
            require_power_of_two(f"{level} stride of dimension {index}", stride)
            first = stride.bit_length() - 1
            for bit in range(count.bit_length() - 1):
                if first + bit >= len(ids) or any(ids[first + bit]):
                    raise InvalidParameterError(
                        f"{level} stride of dimension {index}",
                        stride,
                        f"strides whose bits are free and below {1 << len(ids)}",
                    )
                ids[first + bit] = image(index, _step_below(tile, level) << bit)
    bases = (("register", tuple(registers)), ("lane", tuple(lanes)), ("subgroup", tuple(waves)))
    return LinearLayout(bases, tuple(outputs))


def _step_below(tile: NestedTile, level: str) -> int:
    """Tensor elements between neighbours of a level: the sizes of all levels inside it."""
    step = 1
    for inner in ("element", "thread", "outer", "batch", "subgroup"):
        if inner == level:
            return step
        step *= getattr(tile, inner)
    raise InvalidParameterError("level", level, "a level of NestedTile")


def _flatten(coordinates: Sequence[int], dimensions: Sequence[tuple[str, int]]) -> int:
    flat, shift = 0, 0
    for x, (_, size) in zip(coordinates, dimensions, strict=True):
        flat |= x << shift
        shift += size.bit_length() - 1
    return flat


def _unflatten(flat: int, dimensions: Sequence[tuple[str, int]]) -> tuple[int, ...]:
    coordinates: list[int] = []
    for _, size in dimensions:
        coordinates.append(flat & (size - 1))
        flat >>= size.bit_length() - 1
    if flat:
        raise InvalidParameterError("columns", flat, "images within the output sizes")
    return tuple(coordinates)
