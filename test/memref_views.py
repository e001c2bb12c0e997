# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Views of memrefs in the LDS, with the types that MLIR gives them, while tests write kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

SPACE = "#lds = #gpu.address_space<workgroup>"
"""What a module begins with in which the memrefs are."""


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Returns the strides of a shape that lies in memory row by row."""
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))


@dataclass(frozen=True)
class Memref:
    """A memref in the LDS.

    Attributes:
        offset: in elements; None where it is not static.
        plain: spelled without a layout.
        unknown_size: the first dimension is dynamic.
    """

    name: str
    element: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int | None = 0
    plain: bool = True
    unknown_size: bool = False

    @classmethod
    def of(cls, name: str, element: str, shape: tuple[int, ...]) -> Memref:
        """Returns a memref whose layout is the identity."""
        return cls(name, element, shape, row_major(shape))

    @property
    def type(self) -> str:
        sizes = [str(size) for size in self.shape]
        if self.unknown_size:
            sizes[0] = "?"
        text = f"memref<{'x'.join([*sizes, self.element])}"
        if not self.plain:
            offset = "?" if self.offset is None else self.offset
            shift = "" if offset == 0 else f", offset: {offset}"
            text += f", strided<[{', '.join(map(str, self.strides))}]{shift}>"
        return f"{text}, #lds>"

    def renamed(self, name: str, **changes: Any) -> Memref:
        """Returns the memref with another name, and what else has changed."""
        return replace(self, name=name, **changes)

    def subview(
        self, offsets: Sequence[object], sizes: Sequence[int], steps: Sequence[int], result: Memref
    ) -> str:
        """Returns the operation that makes a part of it."""
        parts = " ".join(f"[{', '.join(map(str, each))}]" for each in (offsets, sizes, steps))
        return f"memref.subview {self.name}{parts} : {self.type} to {result.type}"

    def expanded(self, dim: int, inner: int) -> tuple[str, Memref]:
        """Returns the operation that splits a dimension, with `inner` elements at the end."""
        shape, strides = list(self.shape), list(self.strides)
        shape[dim : dim + 1] = [shape[dim] // inner, inner]
        strides[dim : dim + 1] = [strides[dim] * inner, strides[dim]]
        return self._reshaped(shape, strides, dim, 2)

    def collapsed(self, dim: int, count: int = 2) -> tuple[str, Memref]:
        """Returns the operation that joins so many dimensions from one on."""
        shape, strides = list(self.shape), list(self.strides)
        shape[dim : dim + count] = [prod(shape[dim : dim + count])]
        strides[dim : dim + count] = [strides[dim + count - 1]]
        return self._reshaped(shape, strides, dim, count)

    def _reshaped(
        self, shape: Sequence[int], strides: Sequence[int], dim: int, count: int
    ) -> tuple[str, Memref]:
        """Returns a view in which, or of which, one dimension is `count` ones from `dim` on."""
        # A layout that is the identity, which only that of one dimension can be, gets lost.
        plain = self.plain or (self.strides == (1,) and self.offset == 0)
        found = replace(self, name="", shape=(*shape,), strides=(*strides,), plain=plain)
        numbers = range(max(len(shape), len(self.shape)))
        groups = [[n] for n in numbers if not dim <= n < dim + count]
        groups.insert(dim, [*numbers[dim : dim + count]])
        expands = len(shape) > len(self.shape)
        sizes = f" output_shape {[*shape]}" if expands else ""
        op = "memref.expand_shape" if expands else "memref.collapse_shape"
        return f"{op} {self.name} {groups}{sizes} : {self.type} into {found.type}", found
