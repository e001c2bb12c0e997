# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of rows of odd lengths, read by words of a buffer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from iree.compiler import ir

from bankwise.dialect_utils.builders import Builder
from bankwise.dialect_utils.operations import operations_in
from bankwise.tuning.shapes.shifted_rows import FUNNEL_SHIFT, PERMUTE, ShiftedRows, word_elements

from ...index_evaluator import evaluate

F16 = "f16"


def first_number(place: int) -> int:
    """Returns what a buffer has at a place: another number than at all others."""
    return 1000 + place


def reads_of(rows: int, row: int, word: int, count: int) -> ir.Module:
    """Returns a function that reads `count` elements from a place on, which is in a column."""
    text = f"""func.func @read(%m: memref<{rows * row}xf16>, %place: index, %column: index)
        -> vector<{count}xf16> {{
      %v = ub.poison : vector<{count}xf16>
      return %v : vector<{count}xf16>
    }}"""
    module = ir.Module.parse(text)
    function = operations_in(module.operation, "func.func")[0]
    memory, place, column = function.regions[0].blocks[0].arguments
    end = operations_in(function, "func.return")[0]
    value = ShiftedRows(memory, word, row).read(Builder.before(end), place, column, count)
    end.operands[0] = value
    return module


def stepwise(elements: int, word: int, count: int, step: int, multiple: int) -> ir.Module:
    """Returns a function that reads elements from a place on that is a multiple of a number."""
    text = f"""func.func @read(%m: memref<{elements}xf16>, %place: index, %column: index)
        -> vector<{count // 2}xi32> {{
      %v = ub.poison : vector<{count // 2}xi32>
      return %v : vector<{count // 2}xi32>
    }}"""
    module = ir.Module.parse(text)
    function = operations_in(module.operation, "func.func")[0]
    memory, place, _ = function.regions[0].blocks[0].arguments
    end = operations_in(function, "func.return")[0]
    at = Builder.before(end)
    pairs = ShiftedRows(memory, word, elements).pairs(at, place, count, step, multiple)
    end.operands[0] = at.from_elements(pairs, [len(pairs)])
    return module


def halves(number: int) -> tuple[int, int]:
    """Returns the lower and the upper 16 bits of a word."""
    return number & 0xFFFF, number >> 16


def funnel_shift(high: int, low: int, by: int) -> int:
    """Returns the lower half of two words that are shifted to the right together."""
    return ((high & 0xFFFFFFFF) << 32 | (low & 0xFFFFFFFF)) >> by & 0xFFFFFFFF


def permute(low: int, high: int, selector: int) -> int:
    """Returns the bytes of two words that four digits of a number choose, the lowest one first."""
    both = ((high & 0xFFFFFFFF) << 32 | (low & 0xFFFFFFFF)).to_bytes(8, "little")
    chosen = (both[selector >> 4 * each & 7] for each in range(4))
    return int.from_bytes(bytes(chosen), "little")


INTRINSICS = {FUNNEL_SHIFT: funnel_shift, PERMUTE: permute}


def elements_of(function: ir.Operation, place: int, column: int, elements: int) -> list[int]:
    """Returns the elements that a function reads, and checks that no load leaves the buffer."""
    _, first, second = function.regions[0].blocks[0].arguments
    known: dict[ir.Value, int] = {first: place, second: column}
    for each in operations_in(function, "vector.extract", "llvm.call_intrinsic"):
        if each.name == "vector.extract":
            known[each.results[0]] = _loaded(each, known, elements)
        else:
            first, second, third = (evaluate(operand, known) for operand in each.operands)
            name = ir.StringAttr(each.attributes["intrin"]).value
            known[each.results[0]] = INTRINSICS[name](first, second, third)
    (made,) = operations_in(function, "vector.from_elements")
    words = [evaluate(each, known) & 0xFFFFFFFF for each in made.operands]
    return [half for each in words for half in halves(each)]


def _loaded(extract: ir.Operation, known: Mapping[ir.Value, int], elements: int) -> int:
    load = extract.operands[0].owner.operation.operands[0].owner.operation
    begin = evaluate(load.operands[1], known)
    width = ir.VectorType(load.results[0].type).shape[0]
    alignment = ir.IntegerAttr(load.attributes["alignment"]).value
    assert begin + width <= elements and begin * 2 % alignment == 0
    (number,) = ir.DenseI64ArrayAttr(extract.attributes["static_position"])
    low, high = (first_number(begin + 2 * number + each) for each in (0, 1))
    return high << 16 | low


@pytest.mark.parametrize(
    ("rows", "row", "word", "count"),
    [(4, 75, 4, 8), (2, 75, 2, 8), (8, 21, 8, 8), (4, 5, 4, 8), (4, 75, 4, 4), (4, 17, 4, 8)],
)
def test_elements_of_each_part_of_each_row(
    context: ir.Context, rows: int, row: int, word: int, count: int
) -> None:
    with context, ir.Location.unknown():
        module = reads_of(rows, row, word, count)
        function = operations_in(module.operation, "func.func")[0]
        assert module.operation.verify()
        for number in range(rows):
            for column in range(0, row, count):
                place = number * row + column
                wanted = [
                    first_number(place + each) if column + each < row else 0
                    for each in range(count)
                ]
                assert elements_of(function, place, column, rows * row) == wanted


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("multiple", [1, 2, 4, 8, 0])
@pytest.mark.parametrize(("word", "count"), [(4, 4), (4, 8), (2, 4), (8, 8), (8, 4)])
def test_elements_from_multiples_on(
    context: ir.Context, word: int, count: int, multiple: int, step: int
) -> None:
    with context, ir.Location.unknown():
        module = stepwise(64, word, count, step, multiple)
        function = operations_in(module.operation, "func.func")[0]
        assert module.operation.verify()
        for place in range(0, 64 - step * (count - 1), multiple or 64):
            wanted = [first_number(place + step * each) for each in range(count)]
            assert elements_of(function, place, 0, 64) == wanted


@pytest.mark.parametrize(
    ("shape", "element", "alignment", "word"),
    [
        ((16, 1024, 75), F16, 64, 4),
        ((3, 2, 75), "bf16", 64, 2),
        ((16, 1024, 75), F16, 4, 2),
        # An odd number of elements is no number of words, and rows of an even one are read as such.
        ((3, 5, 75), F16, 64, 0),
        ((16, 1024, 90), F16, 64, 0),
        ((16, 1024, 75), F16, 2, 0),
        ((16, 1024, 75), "i8", 64, 0),
        ((ir.ShapedType.get_dynamic_size(), 75), F16, 64, 0),
    ],
)
def test_words_of_a_buffer(
    context: ir.Context, shape: Sequence[int], element: str, alignment: int, word: int
) -> None:
    with context:
        assert word_elements(shape, shape[-1], ir.Type.parse(element), alignment) == word
