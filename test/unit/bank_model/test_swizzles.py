# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `swizzles.py` says of swizzles beside where they put elements: linear forms and chains."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from bankwise.bank_model.linear_swizzle import FieldStep, LinearSwizzle, NotExpressible
from bankwise.bank_model.swizzles import (
    RotateRows,
    Swizzle,
    XorShuffle,
    chain_period,
    linear_chain,
    xor_chain,
)

XORS = [
    XorShuffle(groups * width, width, groups * width * rows, phase)
    for groups, width, rows in product((1, 2, 3, 4, 8), (1, 2, 3, 4), (1, 2, 3, 4))
    for phase in range(1, min(groups, 3) + 1)
]
ROTATIONS = [RotateRows(groups * width, width) for groups, width in product(range(1, 9), (1, 2, 3))]


def is_linear(swizzle: Swizzle, bits: int) -> bool:
    """Returns whether XORed offsets go to the XOR of the places of both, by the definition."""
    places = swizzle.apply(np.arange(1 << bits))
    one = np.arange(1 << bits)
    return all((places[one ^ 1 << bit] == places ^ places[1 << bit]).all() for bit in range(bits))


@pytest.mark.parametrize("kind", [XORS, ROTATIONS], ids=["xor", "rotate"])
def test_a_swizzle_has_a_linear_form_exactly_if_it_is_linear(kind: list[Swizzle]) -> None:
    for swizzle in kind:
        linear = swizzle.linear()
        if isinstance(linear, NotExpressible):
            assert not is_linear(swizzle, 10), swizzle
        else:
            offsets = np.arange(2 * swizzle.period)
            assert (linear.apply(offsets) == swizzle.apply(offsets)).all(), swizzle


@pytest.mark.parametrize(
    ("swizzle", "why"),
    [
        (XorShuffle(12, 3), "access_width 3 is no power of two"),
        (XorShuffle(12, 4), "groups_per_row 3 is no power of two"),
        (XorShuffle(8, 4, 24), "row_stride * per_phase 24 is no power of two"),
        (RotateRows(16, 4), "adding the row number to the column carries between bits"),
        (RotateRows(6, 3), "access_width 3 is no power of two"),
    ],
)
def test_why_a_swizzle_is_not_linear_is_said(swizzle: Swizzle, why: str) -> None:
    assert swizzle.linear() == NotExpressible(why)


def test_a_rotation_adds_the_number_of_the_row_to_that_of_the_group() -> None:
    for rotation in ROTATIONS:
        whole_bits = all(
            size & size - 1 == 0 for size in (rotation.row_width, rotation.access_width)
        )
        step = rotation.rotated_field()
        assert (step is not None) == whole_bits, rotation
        if step is not None:
            offsets, size = np.arange(2 * rotation.period), 1 << step.width
            group, row = (offsets >> bit & size - 1 for bit in (step.target, step.source))
            moved = offsets + (((group + row) % size - group) << step.target)
            assert (rotation.apply(offsets) == moved).all(), rotation
    assert XorShuffle(16, 4).rotated_field() is None


def test_the_first_swizzle_of_a_chain_moves_what_the_others_have_moved() -> None:
    chain = (XorShuffle(16, 4), RotateRows(64, 32), XorShuffle(8, 1, 32, 2))
    linear, offsets = linear_chain(chain), np.arange(2 * chain_period(chain))
    moved = offsets
    for swizzle in reversed(chain):
        moved = swizzle.apply(moved)
    assert isinstance(linear, LinearSwizzle)
    assert (linear.apply(offsets) == moved).all()
    assert linear_chain(()) == LinearSwizzle()
    assert linear_chain((XorShuffle(16, 4), RotateRows(16, 4))) == RotateRows(16, 4).linear()


def test_a_chain_repeats_when_all_its_swizzles_do() -> None:
    assert XorShuffle(16, 4, 32, 2).period == 32 * 2 * 4
    assert RotateRows(24, 4).period == 24 * 6
    assert chain_period((XorShuffle(16, 4), RotateRows(24, 4))) == 576


def test_the_xors_of_a_linear_swizzle_are_its_fields() -> None:
    assert XorShuffle.of(FieldStep(target=2, width=2, source=4)) == XorShuffle(16, 4)
    assert XorShuffle.of(FieldStep(target=0, width=3, source=6)) == XorShuffle(8, 1, 64)
    swizzle = LinearSwizzle(((4, 4), (5, 8)))
    assert xor_chain(swizzle) == (XorShuffle(16, 4),)


def test_numbers_that_are_left_out_are_those_of_the_attribute() -> None:
    assert XorShuffle(16, 4) == XorShuffle(16, 4, 0, 0) == XorShuffle(16, 4, 16, 1)
    assert str(XorShuffle(16, 4)) == "xor_shuffle<16, 4, 16, 1>"
    assert XorShuffle(16, 4, 32).skips_rows
    assert not XorShuffle(16, 4).skips_rows and not RotateRows(16, 4).skips_rows
    assert XorShuffle.IS_OWN_INVERSE and not RotateRows.IS_OWN_INVERSE


@pytest.mark.parametrize(
    ("kind", "numbers", "said"),
    [
        (RotateRows, (0, 1), "row_width is 0"),
        (RotateRows, (4, 0), "access_width is 0"),
        (RotateRows, (6, 4), "access_width is 4.*divisors of 6"),
        (RotateRows, (1 << 16, 1), "period is 4294967296.*at most 2147483648 elements"),
        (XorShuffle, (16, 4, -16), "row_stride is -16.*positive multiples of row_width"),
        (XorShuffle, (1, 1, -1), "row_stride is -1.*positive multiples of row_width"),
        (XorShuffle, (16, 4, 24), "row_stride is 24.*positive multiples of row_width"),
        (XorShuffle, (16, 4, 16, -1), "per_phase is -1.*1 to row_width / access_width .4."),
        (XorShuffle, (16, 4, 16, 5), "per_phase is 5.*1 to row_width / access_width .4."),
    ],
)
def test_numbers_that_the_verifier_rejects_are_refused(
    kind: type[Swizzle], numbers: tuple[int, ...], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        kind(*numbers)


def test_the_longest_period_and_the_slowest_phase_are_accepted() -> None:
    assert RotateRows(1 << 16, 2).period == 1 << 31
    assert XorShuffle(16, 4, 16, 4).period == 256


def test_why_a_buffer_is_not_permuted_is_said() -> None:
    assert RotateRows(16, 4).why_no_permutation(64) is None
    assert RotateRows(16, 4).why_no_permutation(None) is None
    assert RotateRows(16, 4).why_no_permutation(72) == (
        "rotate_rows<16, 4> is not a bijection of 72 elements, which are not a multiple of its row "
        "width 16"
    )
    assert XorShuffle(12, 4).why_no_permutation(None) == (
        "xor_shuffle<12, 4, 12, 1> is not a bijection: its rows have 3 groups, not a power of two"
    )
