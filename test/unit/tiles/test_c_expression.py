# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The C code of a layout, evaluated by Python, places every element where the layout does."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.bank_model.accesses import LdsTile
from bankwise.bank_model.layouts import Layout, PaddedLayout, PlainLayout, SwizzledLayout
from bankwise.bank_model.linear_swizzle import LinearSwizzle
from bankwise.bank_model.swizzles import RotateRows, XorShuffle, xor_chain
from bankwise.tiles.c_expression import CCode, c_code


def evaluated(expression: str, values: dict[str, int]) -> int:
    """C's arithmetic on what is not negative is Python's, with `//` for `/`."""
    return eval(expression.replace("/", "//"), {"__builtins__": {}}, values)


def places_by_code(code: CCode, tile: LdsTile) -> npt.NDArray[np.int64]:
    """Returns where the code puts each element, and checks the subscript if there is one."""
    found: list[int] = []
    for index in np.ndindex(tile.shape):
        values = dict(zip(code.indices, index, strict=True))
        place = evaluated(code.place, {"o": evaluated(code.offset, values)})
        if code.subscript:
            row, _ = index
            assert row * code.pitch + evaluated(code.subscript, values) == place
        found.append(place)
    return np.array(found)


def check(layout: Layout, tile: LdsTile) -> CCode:
    code = c_code(layout, tile)
    expected = layout.offsets(tile, np.arange(tile.elements))
    assert places_by_code(code, tile).tolist() == expected.tolist()
    return code


@st.composite
def linear_swizzles(draw: st.DrawFn, bits: int) -> LinearSwizzle:
    masks = {s: draw(st.integers(0, (1 << s) - 1)) for s in range(1, bits)}
    kept = draw(st.integers(0, (1 << bits) - 1))
    return LinearSwizzle.of((s, m) for s, m in masks.items() if kept >> s & 1)


@st.composite
def layouts(draw: st.DrawFn) -> tuple[Layout, LdsTile]:
    kind = draw(st.sampled_from(("linear", "rotated", "uneven", "padded", "padded swizzle")))
    if kind == "linear":
        row_bits, bits = draw(st.integers(0, 6)), draw(st.integers(6, 10))
        swizzle = draw(linear_swizzles(bits))
        shape = (1 << bits - row_bits, 1 << row_bits)
        chain = xor_chain(swizzle)
        return (SwizzledLayout(chain) if chain else PlainLayout()), LdsTile(shape, 16)
    group = draw(st.sampled_from((1, 2, 4)))
    if kind == "rotated":
        width = group * draw(st.integers(2, 12))
        tile = LdsTile((draw(st.integers(1, 9)), width), 32)
        return SwizzledLayout((RotateRows(width, group),)), tile
    if kind == "uneven":
        width = group * draw(st.sampled_from((2, 4, 8)))
        row = width * draw(st.sampled_from((1, 3, 5)))
        phase = draw(st.sampled_from((1, 2)))
        stride = draw(st.sampled_from((row, width, 2 * row)))
        shape = (draw(st.integers(1, 12)), row)
        return SwizzledLayout((XorShuffle(width, group, stride, phase),)), LdsTile(shape, 16)
    rank = draw(st.integers(1, 3))
    shape = tuple(draw(st.integers(1, 9)) for _ in range(rank))
    if kind == "padded":
        return PaddedLayout(draw(st.integers(1, 9))), LdsTile(shape, 32)
    width = group * 4
    shape = (*shape[:-1], width * 3)
    swizzle = XorShuffle(width, group, width * 4)
    return SwizzledLayout((swizzle,), width), LdsTile(shape, 32)


@settings(max_examples=150, deadline=None)
@given(layouts())
def test_the_code_places_every_element(case: tuple[Layout, LdsTile]) -> None:
    check(*case)


def test_swizzles_of_rows_are_a_subscript() -> None:
    # The swizzle that CUTLASS calls 128B: 8 rows of 8 groups of 16 bytes.
    code = check(SwizzledLayout((XorShuffle(64, 8),)), LdsTile((64, 64), 16))
    assert code.place == "o ^ ((o >> 3) & 0x38)"
    assert code.subscript == "column ^ ((row << 3) & 0x38)"
    code = check(SwizzledLayout((XorShuffle(32, 8, 96),)), LdsTile((16, 96), 16))
    assert code.subscript == "column ^ (row % 4 * 8)"


@pytest.mark.parametrize(
    ("layout", "shape", "indices"),
    [
        (PlainLayout(), (7,), ("element",)),
        (PaddedLayout(3), (5, 7), ("row", "column")),
        (PaddedLayout(3), (2, 5, 7), ("i0", "i1", "column")),
    ],
)
def test_the_function_takes_the_indices(
    layout: Layout, shape: tuple[int, ...], indices: tuple[str, ...]
) -> None:
    code = check(layout, LdsTile(shape, 32))
    assert code.indices == indices
    arguments = ", ".join(f"int {name}" for name in indices)
    assert (
        code.function().splitlines()[0] == f"__device__ __forceinline__ int place({arguments}) {{"
    )
    assert code.function("at").splitlines()[2] == "  return o;"
