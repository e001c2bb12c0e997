# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The swizzle attributes of IREE's codegen dialect as functions on element offsets.

`#iree_codegen.xor_shuffle` and `#iree_codegen.rotate_rows` (IREECodegenAttrs.td) permute the
groups of `access_width` elements inside rows of `row_width` elements. A swizzle maps the logical
element offset in a flat allocation to the offset where the element lies.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import lcm

import numpy as np
import numpy.typing as npt

from .errors import InvalidParameterError, is_power_of_two, require_positive

IntArray = npt.NDArray[np.integer]


@dataclass(frozen=True)
class XorShuffle:
    """`#iree_codegen.xor_shuffle<row_width, access_width, row_stride, per_phase>`, in elements.

    Group `col` of a row goes to group `col ^ row`, where `row = offset / row_stride / per_phase`
    modulo the groups of a row. With `<16, 4, 16, 1>`, offset 21 (row 1, group 1, element 1) goes
    to group 0: offset 17.

    `row_stride` 0 or None stands for `row_width`, as in the attribute. Raises
    InvalidParameterError where IREE's verifier rejects the attribute, and where the swizzle repeats
    after more elements than a buffer on a GPU has (2^31).
    """

    row_width: int
    access_width: int
    row_stride: int = 0
    per_phase: int = 1

    def __init__(
        self,
        row_width: int,
        access_width: int,
        row_stride: int | None = None,
        per_phase: int | None = None,
    ) -> None:
        object.__setattr__(self, "row_width", row_width)
        object.__setattr__(self, "access_width", access_width)
        object.__setattr__(self, "row_stride", row_stride or row_width)
        object.__setattr__(self, "per_phase", per_phase or 1)
        _check_row(row_width, access_width)
        if self.row_stride < 0 or self.row_stride % row_width:
            raise InvalidParameterError(
                "row_stride", row_stride, f"positive multiples of row_width ({row_width})"
            )
        if not 1 <= self.per_phase <= self.groups_per_row:
            raise InvalidParameterError(
                "per_phase",
                per_phase,
                f"1 to row_width / access_width ({self.groups_per_row})",
            )
        _check_period(self.period)

    @property
    def groups_per_row(self) -> int:
        """Groups of `access_width` elements in a row."""
        return self.row_width // self.access_width

    @property
    def period(self) -> int:
        """Elements after which the permutation repeats."""
        return self.row_stride * self.per_phase * self.groups_per_row

    def apply(self, offsets: IntArray) -> npt.NDArray[np.int64]:
        """Where the elements at logical `offsets` (any shape) lie; IREE's formula exactly."""
        o = np.asarray(offsets, dtype=np.int64)
        in_row = o % self.row_width
        in_group = o % self.access_width
        col = in_row // self.access_width
        row = (o // (self.row_stride * self.per_phase)) % self.groups_per_row
        return o - in_row + (row ^ col) * self.access_width + in_group

    def is_bijection(self, size: int) -> bool:
        """Whether the swizzle permutes the offsets 0 .. size - 1 of an allocation."""
        # XOR with a number below N keeps 0 .. N - 1 for N a power of two; whole rows then permute.
        if is_power_of_two(self.groups_per_row) and size % self.row_width == 0:
            return True
        return _permutes(self, size)

    def __str__(self) -> str:
        fields = (self.row_width, self.access_width, self.row_stride, self.per_phase)
        return f"xor_shuffle<{', '.join(map(str, fields))}>"


@dataclass(frozen=True)
class RotateRows:
    """`#iree_codegen.rotate_rows<row_width, access_width>`, in elements.

    Group `col` of row `row` goes to group `(row + col) mod (row_width / access_width)`. Raises
    InvalidParameterError as `XorShuffle` does.
    """

    row_width: int
    access_width: int

    def __post_init__(self) -> None:
        _check_row(self.row_width, self.access_width)
        _check_period(self.period)

    @property
    def groups_per_row(self) -> int:
        """Groups of `access_width` elements in a row."""
        return self.row_width // self.access_width

    @property
    def period(self) -> int:
        """Elements after which the permutation repeats."""
        return self.row_width * self.groups_per_row

    def apply(self, offsets: IntArray) -> npt.NDArray[np.int64]:
        """Where the elements at logical `offsets` (any shape) lie; IREE's formula exactly."""
        o = np.asarray(offsets, dtype=np.int64)
        in_row = o % self.row_width
        in_group = o % self.access_width
        rotated = (o // self.row_width + in_row // self.access_width) % self.groups_per_row
        return o - in_row + rotated * self.access_width + in_group

    def is_bijection(self, size: int) -> bool:
        """Whether the swizzle permutes the offsets 0 .. size - 1 of an allocation."""
        return size % self.row_width == 0 or _permutes(self, size)

    def __str__(self) -> str:
        return f"rotate_rows<{self.row_width}, {self.access_width}>"


Swizzle = XorShuffle | RotateRows


def _check_row(row_width: int, access_width: int) -> None:
    require_positive("row_width", row_width)
    require_positive("access_width", access_width)
    if row_width % access_width:
        raise InvalidParameterError("access_width", access_width, f"divisors of {row_width}")


def _check_period(period: int) -> None:
    if period > _LONGEST_PERIOD:
        limit = f"swizzles that repeat after at most {_LONGEST_PERIOD} elements"
        raise InvalidParameterError("period", period, limit)


_LONGEST_PERIOD = 1 << 31


def _permutes(swizzle: Swizzle, size: int) -> bool:
    """Decides by looking at every offset."""
    moved = swizzle.apply(np.arange(size))
    if size and (moved.min() < 0 or moved.max() >= size):
        return False
    seen = np.zeros(size, dtype=bool)
    seen[moved] = True
    return bool(seen.all())


def chain_period(chain: Iterable[Swizzle]) -> int:
    """Elements after which all swizzles of a chain repeat: S(o + k P) = S(o) + k P."""
    return lcm(*(swizzle.period for swizzle in chain))
