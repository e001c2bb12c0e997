# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How elements of buffers are found by indices that are no dimensions of theirs."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iree.compiler import ir

from bankwise.dialect_utils.builders import Builder
from bankwise.dialect_utils.operations import operations_in
from bankwise.tuning.shapes.strided_buffers import Digit, StridedBuffer, joined_digits

from ...index_evaluator import evaluate

DIGITS = st.lists(st.tuples(st.integers(1, 5), st.integers(0, 12)), min_size=1, max_size=4)


def places(digits: tuple[Digit, ...]) -> list[int]:
    """Returns where the elements lie, the last digit counting up first."""
    bases = (range(base) for base, _ in digits)
    return [
        sum(each * stride for each, (_, stride) in zip(number, digits, strict=True))
        for number in product(*bases)
    ]


@given(DIGITS)
def test_joined_digits_find_the_same_elements(digits: list[Digit]) -> None:
    joined = joined_digits(digits)
    assert places(joined) == places(tuple(digits))
    assert len(joined) <= len(digits)


@settings(deadline=None, max_examples=50)
@given(DIGITS, st.integers(0, 9))
def test_emitted_places_are_those_of_the_digits(digits: list[Digit], offset: int) -> None:
    buffer = StridedBuffer((tuple(digits),), 1000, offset)
    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        module = ir.Module.parse("func.func @f(%i: index) -> index { return %i : index }")
        function = operations_in(module.operation, "func.func")[0]
        (index,) = function.regions[0].blocks[0].arguments
        place = buffer.element(Builder.before(operations_in(function, "func.return")[0]), [index])
        tried = [*range(0, buffer.shape[0], 7), buffer.shape[0] - 1]
        found = [evaluate(place, {index: each}) for each in tried]
    known = places(tuple(digits))
    assert found == [offset + known[each] for each in tried]


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(2, 6)), min_size=1, max_size=3))
def test_digits_of_one_dimension_are_joined(bases: list[tuple[int, int]]) -> None:
    sizes = [size for pair in bases for size in pair]
    digits = [(size, prod(sizes[n + 1 :])) for n, size in enumerate(sizes)]
    assert joined_digits(digits) == ((prod(sizes), 1),)


@given(DIGITS, DIGITS)
def test_neighbours_of_a_run_lie_side_by_side(first: list[Digit], last: list[Digit]) -> None:
    buffer = StridedBuffer((joined_digits(first), joined_digits(last)), 1000)
    found, run = places(buffer.dims[-1]), buffer.run
    assert buffer.shape == (prod(b for b, _ in first), len(found))
    for begin in range(0, len(found), run):
        part = found[begin : begin + run]
        assert part == list(range(part[0], part[0] + run))


def test_sectors_of_neighbours() -> None:
    columns = StridedBuffer((((56, 64),), ((64, 1),)), 56 * 64)
    # 64 elements of 2 bytes are 4 sectors of 32 bytes, or are in 64 sectors, 64 elements apart.
    assert (columns.sectors(1, 2), columns.sectors(0, 2)) == (4, 64)


@pytest.mark.parametrize(
    ("dims", "offset", "run"),
    [
        # Channels last: 3 x 3 windows begin at multiples of the 64 channels.
        ((((8, 640), (6, 64)), ((3, 640), (3, 64), (64, 1))), 0, 64),
        # Channels first: windows of rows of 16 elements begin at each of them.
        ((((14, 16), (14, 1)), ((64, 256), (3, 16), (3, 1))), 0, 1),
        # Rows of 777 elements begin at odd places.
        ((((1001, 777),), ((777, 1),)), 0, 777),
        ((((10, 12),), ((8, 1),)), 2, 2),
    ],
)
def test_elements_that_lie_side_by_side_from_multiples_on(
    dims: tuple[tuple[tuple[int, int], ...], ...], offset: int, run: int
) -> None:
    assert StridedBuffer(dims, 100_000, offset).aligned_run == run


@given(st.integers(1, 7), st.integers(1, 9), st.integers(1, 3), st.integers(7, 12))
def test_what_is_not_gathered_lies_in_whole_words(
    window: int, channels: int, stride: int, side: int
) -> None:
    row = side * channels
    sums = joined_digits(((window, row), (window, channels), (channels, 1)))
    rows = ((2, stride * row), (2, stride * channels))
    image = StridedBuffer((rows, sums), (window + stride) * row)
    with ir.Context(), ir.Location.unknown():
        kind = ir.Type.parse(f"memref<{image.elements}xf16>")
        module = ir.Module.parse(f"func.func @f(%image: {kind}) {{ return }}")
        (buffer,) = operations_in(module.operation, "func.func")[0].regions[0].blocks[0].arguments
        is_gathered = image.gather(buffer) is not None
    # A word is two neighbours from an even sum on, and begins at an even element of memory.
    found, begins = places(sums), places(rows)
    pairs = list(zip(found[::2], found[1::2], strict=False))
    in_words = len(found) % 2 == 0 and all(b == a + 1 for a, b in pairs)
    in_words = in_words and not any((a + begin) % 2 for a, _ in pairs for begin in begins)
    assert is_gathered or in_words
    assert not is_gathered or channels % 2 or not in_words
