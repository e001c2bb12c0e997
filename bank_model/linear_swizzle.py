# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear swizzles: permutations of offsets that XOR low offset bits with higher ones.

A linear swizzle is a *unit-triangular* matrix over F2: bit i of the result is bit i of the offset
plus some bits above i. Two notations of a swizzle describe the same layout exactly when their
matrices are equal.

Worked example: `xor_shuffle<16, 4>` sends offset o to `o ^ ((o >> 2) & 0b1100)`. Offset bits 4 and
5, the number of the row, are added to bits 2 and 3, the number of the group. As columns of the
matrix: bit 4 (16) contributes 4 besides itself, and bit 5 (32) contributes 8.

A *field step* XORs one field of neighbouring bits with another field of the same width above it.
That is what one `xor_shuffle` does, so `field_steps` says which chain of them a swizzle is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import numpy as np

from . import f2
from .errors import InvalidParameterError, is_power_of_two
from .quick_dataclass import dataclass
from .quick_tuple import NamedTuple

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt

IntArray: TypeAlias = "npt.NDArray[np.integer]"


_HIGHEST_BIT = 62
"""Of an offset in a NumPy array."""


class NotExpressible(NamedTuple):
    """The answer that a notation cannot describe a layout, and why."""

    reason: str

    def __str__(self) -> str:
        return f"not expressible: {self.reason}"


@dataclass(frozen=True)
class LinearSwizzle:
    """A unit-triangular linear map on offsets.

    `columns` lists (source bit, mask of target bits), ascending by source: where the offset has
    the source bit, the mask is XORed in. All targets lie below their source; masks are not 0.
    So `((3, 0b011),)` sends 8 to 11 and 9 to 10. Units (elements, bytes) are the caller's.
    """

    columns: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        for source, targets in self.columns:
            if source > _HIGHEST_BIT:
                raise InvalidParameterError("columns", source, f"bits 1 to {_HIGHEST_BIT}")
            if not 0 < targets < 1 << source:
                raise InvalidParameterError(
                    "columns", (source, targets), f"target masks 1 .. 2**{source} - 1"
                )
        if any(a[0] >= b[0] for a, b in pairwise(self.columns)):
            raise InvalidParameterError("columns", self.columns, "ascending distinct source bits")

    @staticmethod
    def of(columns: Mapping[int, int] | Iterable[tuple[int, int]]) -> LinearSwizzle:
        """Returns the swizzle that adds a mask of targets for each source bit.

        Several masks of one source add up, and a mask of 0 is left out.
        """
        pairs: Iterable[tuple[int, int]] = (
            cast("Mapping[int, int]", columns).items() if isinstance(columns, Mapping) else columns
        )
        total: dict[int, int] = {}
        for source, targets in pairs:
            total[source] = total.get(source, 0) ^ targets
        return LinearSwizzle(tuple((s, t) for s, t in sorted(total.items()) if t))

    def apply(self, offsets: IntArray) -> npt.NDArray[np.int64]:
        """Returns where the elements at logical `offsets` (any shape) lie."""
        o = np.asarray(offsets, dtype=np.int64)
        moved = o
        for source, targets in self.columns:
            moved = moved ^ (o >> source & 1) * targets
        return moved

    @property
    def bits(self) -> int:
        """Returns how many offset bits take part, counted from bit 0."""
        return self.columns[-1][0] + 1 if self.columns else 0

    @property
    def targets(self) -> int:
        """Returns the mask of all bits that change."""
        mask = 0
        for _, targets in self.columns:
            mask |= targets
        return mask

    @property
    def group_elements(self) -> int:
        """Returns how many consecutive elements stay together; 0 for the identity.

        This is the access width.
        """
        return self.targets & -self.targets

    def matrix(self, bits: int) -> tuple[int, ...]:
        """Returns the full matrix on offsets of `bits` bits, by columns."""
        if bits < self.bits:
            raise InvalidParameterError("bits", bits, f"integers >= {self.bits}")
        masks = dict(self.columns)
        return tuple(1 << bit ^ masks.get(bit, 0) for bit in range(bits))

    @staticmethod
    def from_matrix(columns: Iterable[int]) -> LinearSwizzle | NotExpressible:
        """Returns the swizzle of a square matrix by columns, which must be unit-triangular."""
        found: list[tuple[int, int]] = []
        for source, column in enumerate(columns):
            if column.bit_length() != source + 1:
                return NotExpressible(
                    f"offset bit {source} maps to {column:#b}; a swizzle only adds lower bits"
                )
            if column ^ 1 << source:
                found.append((source, column ^ 1 << source))
        return LinearSwizzle(tuple(found))

    def then(self, outer: LinearSwizzle) -> LinearSwizzle:
        """Returns the swizzle that applies this one first and `outer` to its result."""
        bits = max(self.bits, outer.bits)
        result = LinearSwizzle.from_matrix(f2.product(outer.matrix(bits), self.matrix(bits)))
        assert isinstance(result, LinearSwizzle)  # Unit-triangular matrices form a group.
        return result

    def scaled(self, log2_factor: int) -> LinearSwizzle:
        """Returns the same swizzle in units 2**log2_factor times as fine (elements to bytes, say).

        A negative factor makes the units coarser; raises InvalidParameterError when groups are
        smaller than the new unit.
        """
        if log2_factor < 0 and self.columns and self.group_elements < 1 << -log2_factor:
            raise InvalidParameterError(
                "log2_factor", log2_factor, f"groups of {self.group_elements} units stay whole"
            )
        shift = log2_factor
        return LinearSwizzle(
            tuple((s + shift, t << shift if shift >= 0 else t >> -shift) for s, t in self.columns)
        )

    def field_step(self) -> FieldStep | NotExpressible:
        """Returns the swizzle as a single field step, or why it is none."""
        if not self.columns:
            return NotExpressible("the identity swizzles nothing")
        source, first = self.columns[0]
        target = first.bit_length() - 1
        width = len(self.columns)
        for i, (s, t) in enumerate(self.columns):
            if not is_power_of_two(t):
                return NotExpressible(f"offset bit {s} goes into several bits ({t:#b})")
            if s != source + i or t != 1 << (target + i):
                return NotExpressible("the XOR is not between two fields of neighbouring bits")
        if source < target + width:
            return NotExpressible("the XORed bit fields overlap")
        return FieldStep(target, width, source)

    def field_steps(self) -> tuple[FieldStep, ...]:
        """Returns field steps that make up the swizzle if the last of them is applied first.

        There are none for the identity. There is no shorter list if it has one or two steps; a
        longer one is exact, but may not be the shortest.
        """
        single = self.field_step()
        if isinstance(single, FieldStep):
            return (single,)
        if not self.columns:
            return ()
        sources = {s for s, _ in self.columns}
        if not any(self.targets >> s & 1 for s in sources):
            return self._steps_by_diagonal()
        # One row of the matrix, that of the lowest target bit, is split off: self(x) is
        # others(x) ^ row(x). The row reads higher bits only, so it may be applied first.
        low = self.group_elements
        row = LinearSwizzle.of((s, low) for s, mask in self.columns if mask & low)
        others = LinearSwizzle.of((s, mask & ~low) for s, mask in self.columns)
        return others.field_steps() + row._steps_by_diagonal()

    def _steps_by_diagonal(self) -> tuple[FieldStep, ...]:
        """Returns the steps of a swizzle in which no bit is both source and target.

        Such steps commute and their matrices add. A step lies on one diagonal (source - target)
        of the matrix, so each maximal run on a diagonal is one step and fewer cannot add up.
        """
        cells = {(s - t, t) for s, mask in self.columns for t in range(s) if mask >> t & 1}
        steps: list[FieldStep] = []
        for distance, target in sorted(cells):
            if (distance, target - 1) not in cells:
                width = 1
                while (distance, target + width) in cells:
                    width += 1
                steps.append(FieldStep(target, width, target + distance))
        return tuple(steps)


class FieldStep(NamedTuple):
    """Bits [target, target + width) are XORed with bits [source, source + width)."""

    target: int
    width: int
    source: int

    @property
    def distance(self) -> int:
        """Returns how far the bits that are added lie above those that they are added to."""
        return self.source - self.target

    @property
    def mask(self) -> int:
        """Returns the bits that change."""
        return (1 << self.width) - 1 << self.target

    @property
    def linear(self) -> LinearSwizzle:
        """Returns the step as a linear swizzle."""
        return LinearSwizzle(
            tuple((self.source + i, 1 << (self.target + i)) for i in range(self.width))
        )
