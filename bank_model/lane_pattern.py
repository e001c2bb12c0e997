# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pattern of an access in words: which element each lane of each wave touches.

A pattern is one formula per dimension of the tile, such as `row = lane/4, column = 8*(lane%4)`.
Formulas are integer arithmetic as in C: `/` cuts off, `%` is the remainder, `^` is XOR. Three
families are tried, each checked against every lane before it is believed:

1. *Sums over bits.* Each bit of the lane (and wave) number adds its own constant. Neighbouring
   bits whose constants double belong together: constants 8, 16 for the bits 0, 1 are
   `8*(lane%4)`, constants 1, 2, 4, 8 for the bits 2 to 5 of 64 lanes are `lane/4`.
2. *XORs over bits*, as swizzled addresses have them: `lane ^ lane/8%8`.
3. *Mixed radix*: one term `s*(lane/d%m)` per variable, for rows that are no power of two:
   `row = lane/12, column = lane%12`.

Whatever fits none of them is "irregular".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from .accesses import LdsAccess, LdsTile
from .quick_dataclass import dataclass
from .quick_tuple import NamedTuple

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt


IntArray: TypeAlias = "npt.NDArray[np.int64]"
BoolArray: TypeAlias = "npt.NDArray[np.bool_]"

IRREGULAR = "irregular"


@dataclass(frozen=True)
class LanePattern:
    """Formulas of the first element that each lane touches.

    Variables: `lane`, 0 to the wave size - 1; the name of the issues (`wave`, or `issue` where a
    loop changes the pattern from iteration to iteration); `i`, which of several accesses it is.
    """

    dimensions: tuple[str, ...]
    """What the formulas are for: ("row", "column"), ("element",) of a 1-D tile, ..."""
    formulas: tuple[str, ...] | None
    """One formula per dimension; None for an irregular pattern."""
    ranges: tuple[tuple[str, int], ...]
    """The variables that the formulas use besides `lane`, each counting from 0 to its size - 1."""
    active: str
    """Which lanes take part, in words; empty when all do."""

    @property
    def short(self) -> str:
        """Returns the pattern without the ranges of its variables."""
        text = IRREGULAR
        if self.formulas is not None:
            pairs = zip(self.dimensions, self.formulas, strict=True)
            text = ", ".join(f"{name} = {formula}" for name, formula in pairs)
        return f"{text} ({self.active})" if self.active else text

    def __str__(self) -> str:
        ranges = ", ".join(f"{name} = 0..{size - 1}" for name, size in self.ranges)
        return f"{self.short}; {ranges}" if ranges else self.short


def lane_pattern(
    tile: LdsTile, accesses: Sequence[LdsAccess], issue_name: str = "wave"
) -> LanePattern:
    """Returns the pattern of accesses of one shape to `tile`; `i` numbers them in the formulas.

    Args:
      accesses: at least one; all with as many issues and lanes as the first.
      issue_name: what the rows of `elements` are: "wave", or "issue" for executions in general.

    Elements of inactive lanes mean nothing, and the formulas say nothing about them.
    """
    elements = np.stack([access.elements for access in accesses])
    masks = [access.active for access in accesses]
    active = None
    if any(mask is not None for mask in masks):
        full = np.ones(elements.shape[1:], dtype=bool)
        active = np.stack([full if mask is None else mask for mask in masks])
    names = ("i", issue_name, "lane")
    kept = [d for d, size in enumerate(tile.shape) if size > 1] or [len(tile.shape) - 1]
    indices = np.unravel_index(elements.clip(0, tile.elements - 1), tile.shape)
    formulas: list[str] = []
    for d in kept:
        formula = formula_of(np.asarray(indices[d], dtype=np.int64), active, names)
        if formula is None:
            break
        formulas.append(formula)
    regular = len(formulas) == len(kept)
    used = " ".join(formulas)
    words = set("".join(c if c.isalpha() else " " for c in used).split())
    sizes = zip(names[:2], elements.shape[:2], strict=True)
    return LanePattern(
        _dimension_names(kept, len(tile.shape)),
        tuple(formulas) if regular else None,
        tuple((name, size) for name, size in sizes if regular and name in words),
        "" if active is None else _active_lanes(active, issue_name),
    )


def _dimension_names(kept: Sequence[int], rank: int) -> tuple[str, ...]:
    if rank == 1:
        return ("element",)
    if len(kept) == 1:
        return ("column",) if kept[0] == rank - 1 else ("row",)
    if len(kept) == 2:
        return ("row", "column")
    return tuple(f"index {d}" for d in kept)


def _active_lanes(active: BoolArray, issue_name: str) -> str:
    """Returns which lanes of a mask [accesses, issues, lanes] take part, in words."""
    lanes = active.shape[-1]
    rows = active.reshape(-1, lanes)
    if rows.all():
        return ""
    if (rows == rows[0]).all():
        acting = np.flatnonzero(rows[0]).tolist()
        if len(acting) == 1:
            return f"lane {acting[0]}"
        if len(list(consecutive_runs(acting))) <= 3:
            return f"lanes {runs_text(acting)}"
        return f"{len(acting)} of {lanes} lanes"
    whole = rows.all(axis=1)
    if (whole | ~rows.any(axis=1)).all():
        return f"{int(whole.sum())} of {len(rows)} {issue_name}s"
    return f"{int(rows.sum())} of {rows.size} lanes of all {issue_name}s"


def consecutive_runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Returns first and last of each run of consecutive numbers."""
    for _, group in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        members = [number for _, number in group]
        yield members[0], members[-1]


def runs_text(numbers: Sequence[int], to: str = "-") -> str:
    """Returns ascending numbers in runs, such as `0-3, 20-23`; `to` joins the ends of a run."""
    runs = consecutive_runs(numbers)
    return ", ".join(f"{a}{to}{b}" if a < b else f"{a}" for a, b in runs)


# Formulas.


def formula_of(values: IntArray, active: BoolArray | None, names: Sequence[str]) -> str | None:
    """Returns a formula of `values` [*sizes] in one variable per axis; None if no family fits.

    Where `active` is False, `values` may be anything.
    """
    if active is not None and not active.any():
        return None
    for family in (_sum_over_bits, _xor_over_bits, _mixed_radix):
        formula = family(values, active, names)
        if formula is not None:
            return formula
    return None


class _Bit(NamedTuple):
    """One bit of one variable, and the constant that it stands for."""

    axis: int
    bit: int
    constant: int


def _bit_constants(
    values: IntArray, active: BoolArray | None, difference: np.ufunc
) -> tuple[int, list[_Bit]] | None:
    """Returns the value at the origin, and how it differs where one bit of one variable is set.

    None when a lane that would tell is not active although others with its bit are.
    """
    origin = (0,) * values.ndim
    if active is not None and not active[origin]:
        return None
    base = int(values[origin])
    bits: list[_Bit] = []
    for axis, size in enumerate(values.shape):
        for bit in range((size - 1).bit_length()):
            place = tuple(1 << bit if a == axis else 0 for a in range(values.ndim))
            if active is not None and not active[place]:
                numbers = np.arange(size) >> bit & 1 == 1
                if active.compress(numbers, axis=axis).any():
                    return None
                bits.append(_Bit(axis, bit, 0))
                continue
            bits.append(_Bit(axis, bit, int(difference(values[place], base))))
    return base, bits


def _fits(predicted: IntArray, values: IntArray, active: BoolArray | None) -> bool:
    same = predicted == values
    return bool(same.all() if active is None else same[active].all())


def _combined(values: IntArray, base: int, bits: Sequence[_Bit], combine: np.ufunc) -> IntArray:
    """Returns what the bits' constants make of every combination of the variables."""
    total = np.full(values.shape, base, dtype=np.int64)
    for each in bits:
        numbers = np.arange(values.shape[each.axis]) >> each.bit & 1
        shape = [-1 if a == each.axis else 1 for a in range(values.ndim)]
        total = combine(total, (numbers * each.constant).reshape(shape))
    return total


def _sum_over_bits(values: IntArray, active: BoolArray | None, names: Sequence[str]) -> str | None:
    found = _bit_constants(values, active, np.subtract)
    if found is None or not _fits(_combined(values, *found, np.add), values, active):
        return None
    base, bits = found
    terms: list[tuple[int, str]] = []
    for axis, name in enumerate(names):
        own = [b for b in bits if b.axis == axis]
        start = 0
        while start < len(own):
            first = own[start].constant
            stop = start + 1
            while stop < len(own) and first and own[stop].constant == first << (stop - start):
                stop += 1
            if first:
                field = _field(name, start, stop - start, len(own))
                terms.append((first, _times(abs(first), field)))
            start = stop
    return _signed_sum(base, terms)


def _xor_over_bits(values: IntArray, active: BoolArray | None, names: Sequence[str]) -> str | None:
    """Returns XOR of the variables' fields, each moved to where it acts.

    Bit b of a variable with constant c acts on each bit t of c, that is, moved by t - b. Bits that
    follow each other and move alike are one field.
    """
    found = _bit_constants(values, active, np.bitwise_xor)
    if found is None or not _fits(_combined(values, *found, np.bitwise_xor), values, active):
        return None
    base, bits = found
    terms = [str(base)] if base else []
    for axis, name in enumerate(names):
        own = [b for b in bits if b.axis == axis]
        top = max((b.constant.bit_length() for b in own), default=0)
        for shift in sorted(range(-len(own), top), key=lambda s: (s != 0, s)):
            acting = [b.bit for b in own if b.bit + shift >= 0 and b.constant >> b.bit + shift & 1]
            for low, high in consecutive_runs(acting):
                field = _field(name, low, high - low + 1, len(own))
                terms.append(_times(1 << low + shift, field))
    return " ^ ".join(terms) or "0"


def _mixed_radix(values: IntArray, active: BoolArray | None, names: Sequence[str]) -> str | None:
    """Returns the sum of one term s*(x/d%m) per variable."""
    if active is not None and not active.all():
        return None
    base = int(values[(0,) * values.ndim])
    terms: list[tuple[int, str]] = []
    total = np.full(values.shape, base, dtype=np.int64)
    for axis, name in enumerate(names):
        line = values[tuple(slice(None) if a == axis else 0 for a in range(values.ndim))] - base
        changes = np.flatnonzero(line)
        if not changes.size:
            continue
        divisor = int(changes[0])
        step = int(line[divisor])
        size = len(line)
        digits = np.arange(size) // divisor
        returns = np.flatnonzero(line[divisor::divisor] == 0)
        modulus = int(returns[0]) + 1 if returns.size else 0
        if modulus:
            digits %= modulus
        quotient = f"{name}/{divisor}" if divisor > 1 else name
        terms.append((step, _times(abs(step), f"{quotient}%{modulus}" if modulus else quotient)))
        shape = [-1 if a == axis else 1 for a in range(values.ndim)]
        total = total + (step * digits).reshape(shape)
    return _signed_sum(base, terms) if _fits(total, values, active) else None


def _field(name: str, low: int, width: int, bits: int) -> str:
    """Returns bits `low` to `low + width - 1` of a variable of `bits` bits, as a number."""
    text = f"{name}/{1 << low}" if low else name
    return text if low + width == bits else f"{text}%{1 << width}"


def _times(factor: int, field: str) -> str:
    if factor == 1:
        return field
    return f"{factor}*{field}" if field.isalpha() else f"{factor}*({field})"


def _signed_sum(base: int, terms: Sequence[tuple[int, str]]) -> str:
    """Returns the sum of terms, the constant last unless everything else is subtracted."""
    plus = [text for factor, text in terms if factor > 0]
    minus = [text for factor, text in terms if factor < 0]
    if base > 0 or not plus:
        plus.insert(0 if not plus else len(plus), str(base))
    text = " + ".join(plus) + "".join(f" - {each}" for each in minus)
    return text if base >= 0 or not terms else f"{text} - {-base}"
