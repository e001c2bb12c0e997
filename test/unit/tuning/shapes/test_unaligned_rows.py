# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of rows that begin at any element, read from any address."""

from __future__ import annotations

import pytest
from iree.compiler import ir

from bankwise.dialect_utils.builders import Builder
from bankwise.dialect_utils.operations import operations_in
from bankwise.tuning.shapes.unaligned_rows import UnalignedRows, is_read_unaligned, widest_part

from ...index_evaluator import evaluate


def reads_of(rows: int, row: int, element: str, count: int) -> ir.Module:
    """Returns a function that reads `count` elements of a row from a column on."""
    text = f"""func.func @read(%m: memref<{rows}x{row}x{element}>, %row: index, %column: index)
        -> vector<{count}x{element}> {{
      %v = ub.poison : vector<{count}x{element}>
      return %v : vector<{count}x{element}>
    }}"""
    module = ir.Module.parse(text)
    function = operations_in(module.operation, "func.func")[0]
    memory, *indices = function.regions[0].blocks[0].arguments
    end = operations_in(function, "func.return")[0]
    end.operands[0] = UnalignedRows(memory).read(Builder.before(end), indices, count)
    return module


def word_of(elements: list[int], bits: int) -> int:
    """Returns the word that elements make, the first of which has the lowest bits."""
    return sum(each << bits * place for place, each in enumerate(elements))


def words_read(function: ir.Operation, row: int, column: int, bits: int) -> list[int]:
    """Returns the words that a function reads, and checks that its load does not leave the row."""
    memory, *indices = function.regions[0].blocks[0].arguments
    known: dict[ir.Value, int] = dict(zip(indices, (row, column), strict=True))
    (load,) = operations_in(function, "vector.load")
    begin = evaluate(load.operands[2], known)
    width = ir.VectorType(load.results[0].type).shape[0]
    assert evaluate(load.operands[1], known) == row
    assert begin >= 0 and begin + width <= ir.MemRefType(memory.type).shape[-1]
    assert ir.IntegerAttr(load.attributes["alignment"]).value == bits // 8
    there = [begin + each + 1 for each in range(width)]
    for each in operations_in(function, "vector.extract", "llvm.call_intrinsic"):
        if each.name == "vector.extract":
            (number,) = ir.DenseI64ArrayAttr(each.attributes["static_position"])
            first = number * 32 // bits
            known[each.results[0]] = word_of(there[first : first + 32 // bits], bits)
        else:
            high, low, by = (evaluate(operand, known) & 0xFFFFFFFF for operand in each.operands)
            known[each.results[0]] = (high << 32 | low) >> by & 0xFFFFFFFF
    (made,) = operations_in(function, "vector.from_elements")
    return [evaluate(each, known) & 0xFFFFFFFF for each in made.operands]


@pytest.mark.parametrize(
    ("row", "element", "bits", "count"),
    [
        (75, "f16", 16, 8),
        (100, "f16", 16, 8),
        (77, "bf16", 16, 4),
        (9, "f16", 16, 2),
        (11, "f32", 32, 4),
        (21, "i8", 8, 16),
        (23, "i8", 8, 4),
    ],
)
def test_parts_of_rows_end_in_zeros(
    context: ir.Context, row: int, element: str, bits: int, count: int
) -> None:
    with context, ir.Location.unknown():
        module = reads_of(3, row, element, count)
        assert module.operation.verify()
        function = operations_in(module.operation, "func.func")[0]
        for column in range(0, row, count):
            wanted = [place + 1 if place < row else 0 for place in range(column, column + count)]
            step = 32 // bits
            words = [word_of(wanted[each : each + step], bits) for each in range(0, count, step)]
            assert words_read(function, 2, column, bits) == words


@pytest.mark.parametrize(
    ("row", "count", "element", "wanted"),
    [
        (75, 8, "f16", True),
        (100, 8, "f16", True),
        # Pieces of such rows are as wide as parts.
        (100, 4, "f16", False),
        # The row has no part of so many elements.
        (7, 8, "f16", False),
        # More than a lane loads, less than a word, and no whole number of words.
        (75, 16, "f16", False),
        (75, 1, "f16", False),
        (75, 3, "f16", False),
        (75, 2, "f64", False),
        (75, 4, "i4", False),
    ],
)
def test_what_is_read_so(
    context: ir.Context, row: int, count: int, element: str, wanted: bool
) -> None:
    with context:
        assert is_read_unaligned(row, count, ir.Type.parse(element)) == wanted


@pytest.mark.parametrize(
    ("row", "length", "begin", "element", "widest"),
    [
        (75, 80, 0, "f16", 8),
        (100, 112, 0, "f16", 8),
        (75, 84, 0, "f16", 4),
        (75, 80, 2, "f16", 2),
        (75, 80, 0, "f32", 4),
        (5, 16, 0, "f16", 1),
        (96, 96, 0, "f16", 96),
    ],
)
def test_the_widest_parts_of_a_tile(
    context: ir.Context, row: int, length: int, begin: int, element: str, widest: int
) -> None:
    with context:
        assert widest_part(row, length, begin, ir.Type.parse(element)) == widest
