# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The formulas of lane patterns, evaluated back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.lane_pattern import formula_of, lane_pattern
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.swizzles import XorShuffle

LANES = np.arange(64)
NAMES = ("wave", "lane")


def evaluated(formula: str, shape: tuple[int, ...], names: tuple[str, ...]) -> np.ndarray:
    """Returns the formula's value everywhere.

    C's division of positive numbers is Python's.
    """
    grids = np.meshgrid(*(np.arange(size) for size in shape), indexing="ij")
    value = eval(
        formula.replace("/", "//"), {"__builtins__": {}}, dict(zip(names, grids, strict=True))
    )
    return np.broadcast_to(value, shape)


def pattern_of(elements: np.ndarray, tile: LdsTile, active: np.ndarray | None = None) -> str:
    access = LdsAccess(AccessKind.READ, elements, 1, 1, active)
    return str(lane_pattern(tile, [access]))


TILE = LdsTile((64, 64), 32)


@pytest.mark.parametrize(
    ("elements", "text"),
    [
        (LANES // 4 * 64 + 8 * (LANES % 4), "row = lane/4, column = 8*(lane%4)"),
        (LANES * 64, "row = lane, column = 0"),
        (LANES % 16 * 64 + LANES // 16 + 4, "row = lane%16, column = lane/16 + 4"),
        (63 - LANES, "row = 0, column = 63 - lane"),
        (LANES // 12 * 64 + LANES % 12, "row = lane/12, column = lane%12"),
        (LANES ^ LANES // 8, "row = 0, column = lane ^ lane/8"),
        (LANES * LANES % 64, "irregular"),
        (np.stack([LANES, LANES + 64]), "row = wave, column = lane; wave = 0..1"),
    ],
)
def test_patterns_are_short(elements: np.ndarray, text: str) -> None:
    assert pattern_of(elements, TILE) == text


def test_accesses_of_one_shape_are_counted_by_i() -> None:
    accesses = [LdsAccess(AccessKind.READ, LANES % 16 + 16 * i, 1) for i in range(4)]
    pattern = lane_pattern(LdsTile((64,), 32), accesses)
    assert str(pattern) == "element = 16*i + lane%16; i = 0..3"


def test_inactive_lanes_are_named_and_may_point_anywhere() -> None:
    active = LANES < 16
    elements = np.where(active, LANES * 64, 5)
    assert pattern_of(elements, TILE, active) == "row = lane%16, column = 0 (lanes 0-15)"
    waves = np.stack([LANES, LANES])
    mask = np.stack([LANES >= 0, LANES < 0])
    assert pattern_of(waves, TILE, mask).endswith("(1 of 2 waves)")


@given(
    st.integers(0, 40),
    st.lists(st.integers(-9, 40), min_size=6, max_size=6),
    st.lists(st.integers(0, 40), min_size=2, max_size=2),
)
def test_sums_over_bits_evaluate_back(base: int, lane: list[int], wave: list[int]) -> None:
    values = np.zeros((3, 64), dtype=np.int64) + base
    for bit, constant in enumerate(lane):
        values += (LANES >> bit & 1) * constant
    for bit, constant in enumerate(wave):
        values += ((np.arange(3) >> bit & 1) * constant)[:, None]
    formula = formula_of(values, None, NAMES)
    assert formula is not None
    assert (evaluated(formula, values.shape, NAMES) == values).all()


@given(st.integers(0, 63), st.lists(st.integers(0, 255), min_size=6, max_size=6))
def test_xors_over_bits_evaluate_back(base: int, constants: list[int]) -> None:
    values = np.full(64, base)
    for bit, constant in enumerate(constants):
        values ^= (LANES >> bit & 1) * constant
    formula = formula_of(values, None, ("lane",))
    assert formula is not None
    assert (evaluated(formula, values.shape, ("lane",)) == values).all()


@given(
    st.lists(st.integers(0, 4095), min_size=64, max_size=64),
    st.lists(st.booleans(), min_size=64, max_size=64),
)
def test_no_formula_is_false(values: list[int], mask: list[bool]) -> None:
    array, active = np.array(values), np.array(mask)
    formula = formula_of(array, active, ("lane",))
    if formula is not None:
        assert (evaluated(formula, (64,), ("lane",)) == array)[active].all()


@given(
    st.sampled_from([(1, 64), (4, 16), (16, 4), (3, 21), (5, 12)]),
    st.sampled_from([1, 2, 4, 8]),
    st.booleans(),
)
def test_real_tiles_have_formulas(grid: tuple[int, int], count: int, swizzled: bool) -> None:
    """Lanes in a grid of rows and columns, plain or through a swizzle of the offsets."""
    rows, columns = LANES // grid[1], LANES % grid[1] * count
    tile = LdsTile((64, 512), 16)
    elements = rows * 512 + columns
    if swizzled and grid[0] * grid[1] == 64:
        elements = XorShuffle(64, 8, 512).apply(elements)
    pattern = lane_pattern(tile, [LdsAccess(AccessKind.READ, elements, 1)])
    assert pattern.formulas is not None
    row, column = (evaluated(f, (64,), ("lane",)) for f in pattern.formulas)
    assert (row * 512 + column == elements).all()
