# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a swizzle is, and the swizzle attributes of IREE's codegen dialect.

A swizzle permutes the groups of `access_width` elements inside rows of `row_width` elements: it
maps the logical element offset in a flat allocation to the offset where the element lies. Each
attribute (`#iree_codegen.xor_shuffle`, `#iree_codegen.rotate_rows`, IREECodegenAttrs.td) is one
class here. Everybody else asks the base class `Swizzle`. A new attribute is a class with its
formula (`moved_group`) and its period, and an entry in `SWIZZLE_ATTRIBUTES`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from math import lcm
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .errors import InvalidParameterError, is_power_of_two, make_integers, require_positive
from .linear_swizzle import FieldStep, IntArray, LinearSwizzle, NotExpressible
from .quick_dataclass import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

_LONGEST_PERIOD = 1 << 31


@dataclass(frozen=True)
class Swizzle(ABC):
    """A permutation of groups of `access_width` elements inside rows of `row_width` elements.

    The fields of a class are the parameters of its attribute, in order. Raises
    InvalidParameterError where rows are not made of whole groups, and where the swizzle repeats
    after more elements than a buffer on a GPU has (2^31).
    """

    NAME: ClassVar[str]
    """The attribute's name, such as `xor_shuffle`."""
    IS_OWN_INVERSE: ClassVar[bool] = False
    """Whether applying the swizzle twice moves every element back, as XORs do."""

    row_width: int
    access_width: int

    def __post_init__(self) -> None:
        make_integers(self)
        require_positive("row_width", self.row_width)
        require_positive("access_width", self.access_width)
        if self.row_width % self.access_width:
            allowed = f"divisors of {self.row_width}"
            raise InvalidParameterError("access_width", self.access_width, allowed)
        if self.period > _LONGEST_PERIOD:
            limit = f"swizzles that repeat after at most {_LONGEST_PERIOD} elements"
            raise InvalidParameterError("period", self.period, limit)

    @property
    @abstractmethod
    def period(self) -> int:
        """Returns elements after which the permutation repeats."""

    @abstractmethod
    def moved_group(self, offset: Any, group: Any) -> Any:
        """Returns the group of the row to which group `group` at element `offset` goes.

        This is the formula of the attribute, written once. It computes NumPy arrays where offsets
        are numbers and emits operations where they are values of a program. So it may use only
        `+ - * // % ^` with integers on the right, and other results of these.
        """

    def place(self, offset: Any) -> Any:
        """Returns where the element at a logical offset lies, for what `moved_group` takes.

        No offset is negative.
        """
        group = offset % self.row_width // self.access_width
        moved = self.moved_group(offset, group)
        return offset - group * self.access_width + moved * self.access_width

    def apply(self, offsets: IntArray) -> npt.NDArray[np.int64]:
        """Returns where the elements at logical `offsets` (any shape) lie."""
        return self.place(np.asarray(offsets, dtype=np.int64))

    def linear(self) -> LinearSwizzle | NotExpressible:
        """Returns the swizzle as a linear map over F2, or why it is none."""
        return NotExpressible(f"{self.NAME} has no form as a linear map")

    def rotated_field(self) -> FieldStep | None:
        """Returns the step whose XOR would have to be a sum to make it this swizzle.

        That is, the swizzle adds the step's source field to its target field, modulo the size of
        the target field. By default there is no such step.
        """
        return None

    @property
    def groups_per_row(self) -> int:
        """Groups of `access_width` elements in a row."""
        return self.row_width // self.access_width

    @property
    def skips_rows(self) -> bool:
        """Returns whether a row's number does not count every row.

        That takes one more parameter.
        """
        return False

    def why_no_permutation(self, size: int | None) -> str | None:
        """Returns why the swizzle does not permute a flat buffer in itself, None where it does.

        `size` is the elements of the buffer, or a number that divides them where that is all that
        is known: 64 for a buffer of some rows of 64. None stands for a buffer that whole rows fill.
        """
        if size is not None and size % self.row_width:
            return (
                f"{self} is not a bijection of {size} elements, which are not a multiple of its "
                f"row width {self.row_width}"
            )
        return None

    def is_bijection(self, size: int) -> bool:
        """Returns whether the swizzle permutes the offsets 0 .. size - 1 of an allocation."""
        if self.why_no_permutation(size) is None:
            return True
        # Rows that do not fill the allocation may still be permuted: look at every offset.
        moved = self.apply(np.arange(size))
        return bool((np.sort(moved) == np.arange(size)).all())

    def __str__(self) -> str:
        return f"{self.NAME}<{', '.join(map(str, vars(self).values()))}>"


@dataclass(frozen=True)
class XorShuffle(Swizzle):
    """`#iree_codegen.xor_shuffle<row_width, access_width, row_stride, per_phase>`, in elements.

    Group `group` of a row goes to group `group ^ row`, where `row = offset / row_stride /
    per_phase` modulo the groups of a row. With `<16, 4, 16, 1>`, offset 21 (row 1, group 1,
    element 1) goes to group 0: offset 17.

    `row_stride` 0 or None stands for `row_width`, and `per_phase` 0 or None for 1, as in the
    attribute. Raises InvalidParameterError where IREE's verifier rejects the attribute.
    """

    NAME = "xor_shuffle"
    IS_OWN_INVERSE = True

    row_stride: int = 0
    per_phase: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "row_stride", self.row_stride or self.row_width)
        object.__setattr__(self, "per_phase", self.per_phase or 1)
        super().__post_init__()
        if self.row_stride < 0 or self.row_stride % self.row_width:
            allowed = f"positive multiples of row_width ({self.row_width})"
            raise InvalidParameterError("row_stride", self.row_stride, allowed)
        if not 1 <= self.per_phase <= self.groups_per_row:
            allowed = f"1 to row_width / access_width ({self.groups_per_row})"
            raise InvalidParameterError("per_phase", self.per_phase, allowed)

    @staticmethod
    def of(step: FieldStep) -> XorShuffle:
        """Returns the attribute that XORs the fields of `step`."""
        row_width = 1 << (step.target + step.width)
        return XorShuffle(row_width, 1 << step.target, max(1 << step.source, row_width))

    @property
    def period(self) -> int:
        """Returns elements after which the permutation repeats."""
        return self.row_stride * self.per_phase * self.groups_per_row

    def moved_group(self, offset: Any, group: Any) -> Any:
        """Returns the group whose number is XORed with that of the row."""
        return (offset // (self.row_stride * self.per_phase) % self.groups_per_row) ^ group

    def linear(self) -> LinearSwizzle | NotExpressible:
        """Returns the XOR of the group's bits with the row's, where all sizes are powers of two."""
        if self.groups_per_row == 1:
            return LinearSwizzle()
        for name in ("access_width", "groups_per_row"):
            if not is_power_of_two(getattr(self, name)):
                return NotExpressible(f"{name} {getattr(self, name)} is no power of two")
        step = self.row_stride * self.per_phase
        if not is_power_of_two(step):
            return NotExpressible(f"row_stride * per_phase {step} is no power of two")
        source, target = step.bit_length() - 1, self.access_width.bit_length() - 1
        return FieldStep(target, self.groups_per_row.bit_length() - 1, source).linear

    @property
    def skips_rows(self) -> bool:
        """Returns whether rows are counted in steps of several."""
        return self.row_stride != self.row_width

    def why_no_permutation(self, size: int | None) -> str | None:
        """Returns why the swizzle does not permute a buffer, as `Swizzle` says.

        XOR with a number below N keeps the numbers 0 .. N - 1 only for N a power of two.
        """
        if not is_power_of_two(self.groups_per_row):
            return (
                f"{self} is not a bijection: its rows have {self.groups_per_row} groups, "
                "not a power of two"
            )
        return super().why_no_permutation(size)


@dataclass(frozen=True)
class RotateRows(Swizzle):
    """`#iree_codegen.rotate_rows<row_width, access_width>`, in elements.

    Group `group` of row `row` goes to group `(row + group) mod (row_width / access_width)`.
    """

    NAME = "rotate_rows"

    @property
    def period(self) -> int:
        """Returns elements after which the permutation repeats."""
        return self.row_width * self.groups_per_row

    def moved_group(self, offset: Any, group: Any) -> Any:
        """Returns the group that lies as many groups further as the row has rows above it."""
        return (offset // self.row_width + group) % self.groups_per_row

    def linear(self) -> LinearSwizzle | NotExpressible:
        """Returns the swizzle as a linear map; with two groups per row, adding them is XOR."""
        if self.groups_per_row == 1:
            return LinearSwizzle()
        if self.groups_per_row > 2:
            return NotExpressible("adding the row number to the column carries between bits")
        if not is_power_of_two(self.access_width):
            return NotExpressible(f"access_width {self.access_width} is no power of two")
        source = self.row_width.bit_length() - 1
        return LinearSwizzle(((source, self.access_width),))

    def rotated_field(self) -> FieldStep | None:
        """Returns the fields of group and row where both are made of whole bits."""
        if not is_power_of_two(self.row_width) or not is_power_of_two(self.access_width):
            return None
        target, source = self.access_width.bit_length() - 1, self.row_width.bit_length() - 1
        return FieldStep(target, source - target, source)


SWIZZLE_ATTRIBUTES: dict[str, type[Swizzle]] = {
    each.NAME: each for each in (XorShuffle, RotateRows)
}
"""The class of each swizzle attribute, by its name; it takes the attribute's numbers in order."""


def chain_period(chain: Iterable[Swizzle]) -> int:
    """Returns after how many elements P all swizzles of a chain repeat: S(o + k P) = S(o) + k P."""
    return lcm(*(swizzle.period for swizzle in chain))


def linear_chain(chain: Iterable[Swizzle]) -> LinearSwizzle | NotExpressible:
    """Returns the chain (S0, S1, ...), which stands for S0(S1(...)), as one linear swizzle."""
    total: LinearSwizzle | None = None
    for swizzle in chain:
        linear = swizzle.linear()
        if isinstance(linear, NotExpressible):
            return linear
        total = linear if total is None else linear.then(total)
    return total or LinearSwizzle()


def xor_chain(linear: LinearSwizzle) -> tuple[XorShuffle, ...]:
    """Returns the chain (S0, S1, ...) of `xor_shuffle`s that a linear swizzle is made of."""
    return tuple(XorShuffle.of(step) for step in linear.field_steps())
