# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Renamed layouts against the definition: every register of every thread, one by one."""

from __future__ import annotations

import itertools
from math import prod

from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.bank_model.layout_digits import (
    RegisterOrder,
    digits_of,
    layout_digits,
    layout_with_digits,
    simt_shape,
)
from bankwise.bank_model.nested_layout import NestedLayout
from bankwise.bank_model.register_renaming import candidates, moves, renamed

WAVE = 8
CHECKED = settings(max_examples=150, deadline=None)

V_COLUMNS = NestedLayout((1,), (4,), (1,), (16,), (1,), (0,), (1,))
"""The columns of V: lane l holds l, l + 16, l + 32, l + 48."""


@st.composite
def layouts(draw: st.DrawFn) -> NestedLayout:
    """Layouts of two dimensions; a few sizes are odd, and some digits of the thread unused."""
    sizes = st.sampled_from([1, 1, 2, 4])
    columns = []
    stride = wave_stride = 1
    for _ in range(2):
        wave, batch, outer, thread, element = (draw(sizes) for _ in range(5))
        batch *= draw(st.sampled_from([1, 1, 1, 3]))
        stride *= draw(st.sampled_from([1, 1, 2]))
        columns.append(
            (wave, batch, outer, thread, element, wave_stride * (wave > 1), stride * (thread > 1))
        )
        stride *= thread
        wave_stride *= wave
    return NestedLayout(*zip(*columns, strict=True))


def index_of(layout: NestedLayout, thread: int, register: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the vector index that a thread holds in a register, by the definition."""
    rank = layout.rank
    found = []
    for v in range(rank):
        batch, outer, element = register[v], register[rank + v], register[2 * rank + v]
        wave = thread // WAVE // max(layout.subgroup_strides[v], 1) % layout.subgroup_tile[v]
        lane = thread // max(layout.thread_strides[v], 1) % layout.thread_tile[v]
        index = wave * layout.batch_tile[v] + batch
        index = index * layout.outer_tile[v] + outer
        index = index * layout.thread_tile[v] + lane
        found.append(index * layout.element_tile[v] + element)
    return tuple(found)


def registers_of(layout: NestedLayout) -> list[tuple[int, ...]]:
    return list(itertools.product(*map(range, simt_shape(layout))))


def reordered(order: RegisterOrder) -> list[int]:
    """Returns the register of the first layout that each register of the second one is."""
    cut = list(itertools.product(*map(range, order.expanded)))
    numbers = {digits: number for number, digits in enumerate(cut)}
    shape = [order.expanded[axis] for axis in order.permutation]
    found = []
    for digits in itertools.product(*map(range, shape)):
        source = [0] * len(digits)
        for axis, digit in zip(order.permutation, digits, strict=True):
            source[axis] = digit
        found.append(numbers[tuple(source)])
    return found


def permuted(index: int, size: int, order: list[int]) -> int:
    """Returns the index whose digit i is digit order[i] of `index`."""
    bases = digits_of(size)
    digits = []
    for base in bases:
        digits.append(index % base)
        index //= base
    result = 0
    for place in reversed(range(len(bases))):
        result = result * bases[place] + digits[order[place]]
    return result


@CHECKED
@given(layouts())
def test_a_layout_is_what_its_digits_say(layout: NestedLayout) -> None:
    digits = layout_digits(layout)
    if digits is None:
        return
    assert [tuple(d.base for d in row) for row in digits] == [*map(digits_of, layout.shape)]
    again = layout_with_digits(digits)
    if again is not None:
        # The outer tile may have become part of the batch or element tile: nothing moves.
        for thread in range(4 * WAVE):
            held = [index_of(layout, thread, r) for r in registers_of(layout)]
            assert sorted(held) == sorted(index_of(again, thread, r) for r in registers_of(again))


@CHECKED
@given(layouts(), st.data())
def test_registers_hold_what_the_renaming_says(layout: NestedLayout, data: st.DataObject) -> None:
    digits = layout_digits(layout)
    if digits is None:
        return
    names = [[10 * dim + place for place in range(len(row))] for dim, row in enumerate(digits)]
    orders: list[list[int]] = []
    renaming: dict[int, int] = {}
    for dim, row in enumerate(digits):
        twos = [i for i, digit in enumerate(row) if digit.base == 2]
        order = [*data.draw(st.permutations(twos)), *range(len(twos), len(row))]
        orders.append(order)
        renaming |= {names[dim][i]: names[dim][order[i]] for i in twos}
    result = renamed(layout, names, renaming)
    if result is None:
        return
    source = reordered(result.order)
    held = registers_of(result.layout)
    for thread in range(0, 4 * WAVE, 3):
        for number, register in enumerate(registers_of(layout)):
            logical = index_of(layout, thread, register)
            physical = tuple(
                permuted(index, size, order)
                for index, size, order in zip(logical, layout.shape, orders, strict=True)
            )
            assert index_of(result.layout, thread, held[source[number]]) == physical


@CHECKED
@given(layouts())
def test_the_inverse_order_undoes_the_order(layout: NestedLayout) -> None:
    digits = layout_digits(layout)
    if digits is None:
        return
    names = [[10 * dim + place for place in range(len(row))] for dim, row in enumerate(digits)]
    for dim in range(layout.rank):
        for renaming in candidates(layout, names, dim, frozenset(names[dim]), 8):
            result = renamed(layout, names, renaming)
            if result is not None:
                there, back = reordered(result.order), reordered(result.order.inverse())
                assert [there[i] for i in back] == list(range(prod(simt_shape(layout))))


def test_the_columns_of_v_become_neighbours() -> None:
    names = [[0, 1, 2, 3, 4, 5]]
    found = list(candidates(V_COLUMNS, names, 0, frozenset(range(6)), 16))
    layouts_found = [renamed(V_COLUMNS, names, each) for each in found]
    assert [each and each.layout.element_tile for each in layouts_found] == [(2,), (4,)]
    output = NestedLayout((1,), (4,), (1,), (4,), (4,), (0,), (16,))
    wide = renamed(output, names, found[1])
    assert wide is not None
    assert (wide.layout.element_tile, wide.layout.thread_tile) == ((16,), (4,))


def test_no_more_than_16_bytes_become_neighbours() -> None:
    names = [[0, 1, 2, 3, 4, 5]]
    found = list(candidates(V_COLUMNS, names, 0, frozenset(range(6)), 64))
    assert len(found) == 1


def test_lanes_that_are_not_consecutive_have_no_layout() -> None:
    names = [[0, 1, 2, 3, 4, 5]]
    assert renamed(V_COLUMNS, names, {0: 1, 1: 0}) is None


def test_moves_count_the_words_that_are_put_together() -> None:
    # Four rows of four columns, read by columns in pairs of rows: every word takes a move.
    loaded = NestedLayout((1, 1), (1, 1), (1, 1), (1, 1), (4, 4), (0, 0), (0, 0))
    names = [[0, 1], [2, 3]]
    by_rows = RegisterOrder((1, 1, 1, 1, 4, 4), (2, 2, 2, 2), (2, 3, 0, 1), (1, 4, 1, 1, 4, 1))
    assert moves(loaded, by_rows, 1, 16) == 8
    assert moves(loaded, None, 1, 16) == 0
    assert moves(loaded, by_rows, 1, 32) == 0
    assert renamed(loaded, names, {}) is not None
