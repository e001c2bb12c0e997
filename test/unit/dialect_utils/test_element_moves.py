# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where elements come from behind operations that move them."""

from __future__ import annotations

import pytest

from bankwise.dialect_utils.element_moves import element_count, is_move, moves_of

from ..functions import parse

V, W, S = 0, 1, 2
"""The arguments of the function below: a vector<2x3xf16>, a vector<3xf16> and an f16."""


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("vector.extract %v[1] : vector<3xf16> from vector<2x3xf16>", [(V, 3), (V, 4), (V, 5)]),
        ("vector.extract %v[1, 2] : f16 from vector<2x3xf16>", [(V, 5)]),
        ("vector.extract %w[%i] : f16 from vector<3xf16>", [None]),
        (
            "vector.insert %w, %v[0] : vector<3xf16> into vector<2x3xf16>",
            [(W, 0), (W, 1), (W, 2), (V, 3), (V, 4), (V, 5)],
        ),
        ("vector.insert %s, %w[1] : f16 into vector<3xf16>", [(W, 0), (S, 0), (W, 2)]),
        ("vector.insert %s, %w[%i] : f16 into vector<3xf16>", [None, None, None]),
        ("vector.broadcast %s : f16 to vector<2xf16>", [(S, 0), (S, 0)]),
        (
            "vector.broadcast %w : vector<3xf16> to vector<2x3xf16>",
            [(W, 0), (W, 1), (W, 2), (W, 0), (W, 1), (W, 2)],
        ),
        (
            "vector.broadcast %column : vector<2x1xf16> to vector<2x2xf16>",
            [(4, 0), (4, 0), (4, 1), (4, 1)],
        ),
        ("vector.broadcast %scalar : vector<f16> to vector<2xf16>", [(5, 0), (5, 0)]),
        ("vector.from_elements %s, %s : vector<2xf16>", [(S, 0), (S, 0)]),
        (
            "vector.shape_cast %v : vector<2x3xf16> to vector<3x2xf16>",
            [(V, number) for number in range(6)],
        ),
        (
            "vector.extract_strided_slice %v offsets = [0, 1], sizes = [2, 2], strides = [1, 1] "
            ": vector<2x3xf16> to vector<2x2xf16>",
            [(V, 1), (V, 2), (V, 4), (V, 5)],
        ),
        (
            "vector.extract_strided_slice %w offsets = [1], sizes = [2], strides = [1] "
            ": vector<3xf16> to vector<2xf16>",
            [(W, 1), (W, 2)],
        ),
        (
            "vector.extract_strided_slice %v offsets = [1], sizes = [1], strides = [1] "
            ": vector<2x3xf16> to vector<1x3xf16>",
            [(V, 3), (V, 4), (V, 5)],
        ),
        (
            "vector.insert_strided_slice %w, %v offsets = [1, 0], strides = [1] "
            ": vector<3xf16> into vector<2x3xf16>",
            [(V, 0), (V, 1), (V, 2), (W, 0), (W, 1), (W, 2)],
        ),
    ],
)
def test_elements_are_those_that_the_operation_takes(
    operation: str, expected: list[tuple[int, int] | None]
) -> None:
    arguments = (
        "%v: vector<2x3xf16>, %w: vector<3xf16>, %s: f16, %i: index, %column: vector<2x1xf16>, "
        "%scalar: vector<f16>"
    )
    parsed = parse(f"func.func @f({arguments}) {{ %r = {operation}\n return }}")
    (move,) = parsed.operations(operation.split()[0])
    assert is_move(move)
    result = move.results[0]
    moves = moves_of(move)
    assert moves is not None
    (way,) = moves
    values = list(parsed.function.regions[0].blocks[0].arguments)
    found: list[tuple[int, int] | None] = []
    for number in range(element_count(result.type)):
        before = way(number)
        found.append(before and (values.index(before[0]), before[1]))
    assert found == expected


def test_arithmetic_is_no_move() -> None:
    parsed = parse("func.func @f(%s: f16) { %r = arith.addf %s, %s : f16\n return }")
    (sum_,) = parsed.operations("arith.addf")
    assert not is_move(sum_)
    assert moves_of(sum_) is None
