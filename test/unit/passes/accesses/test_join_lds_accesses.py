# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Joint accesses load and store what the ones that they replace did, lane by lane."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iree.compiler import ir

from bankwise.dialect_utils.operations import operations_of
from bankwise.passes.accesses.join_lds_accesses import JoinLdsAccesses

from ...functions import Edit, Parsed, edited, launched, lds, parse, run
from ...index_evaluator import evaluate

_ROWS, _COLUMNS = 4, 16
_TYPE = lds(f"{_ROWS}x{_COLUMNS}xi16")
_ROW_OF = {"%x": "the lane's own", "%y": "its neighbour's", "%c0": "the first"}


@dataclass(frozen=True)
class Step:
    """A load or a store of `width` elements, or a barrier where `row` is empty."""

    row: str
    column: int = 0
    width: int = 1
    stores: bool = False
    as_memref: bool = False


@st.composite
def steps(draw: st.DrawFn) -> Step:
    width = draw(st.sampled_from((1, 1, 1, 2, 4)))
    column = draw(st.integers(0, _COLUMNS - width))
    row = draw(st.sampled_from(tuple(_ROW_OF)))
    as_memref = width == 1 and draw(st.booleans())
    return Step(row, column, width, draw(st.booleans()), as_memref)


@st.composite
def runs(draw: st.DrawFn) -> list[Step]:
    """Neighbours in some order, of one kind, in one row, and what may come in between."""
    first, count = draw(st.integers(0, _COLUMNS - 8)), draw(st.integers(2, 8))
    row, stores = draw(st.sampled_from(tuple(_ROW_OF))), draw(st.booleans())
    columns = draw(st.permutations(range(first, first + count)))
    program = [Step(row, column, stores=stores) for column in columns]
    for step in draw(st.lists(steps(), max_size=2)):
        alike = draw(st.booleans())
        step = replace(step, row=row, stores=stores) if alike else step
        program.insert(draw(st.integers(0, len(program))), step)
    return program


def source(program: list[Step]) -> str:
    """Returns a function that makes these steps and returns all that it has loaded."""
    lines: list[str] = []
    loaded: list[tuple[str, str]] = []
    stored = 1000
    for number, step in enumerate(program):
        if not step.row:
            lines.append("gpu.barrier")
            continue
        place = f"%m[{step.row}, %k{step.column}] : {_TYPE}"
        if step.as_memref:
            moved, op = "i16", "memref"
            value = str(stored)
        else:
            moved, op = f"vector<{step.width}xi16>", "vector"
            value = f"dense<[{', '.join(str(stored + i) for i in range(step.width))}]>"
            place += f", {moved}"
        if step.stores:
            lines.append(f"%v{number} = arith.constant {value} : {moved}")
            lines.append(f"{op}.store %v{number}, {place}")
            stored += step.width
        else:
            lines.append(f"%l{number} = {op}.load {place}")
            loaded.append((f"%l{number}", moved))
    columns = "\n".join(f"%k{i} = arith.constant {i} : index" for i in range(_COLUMNS))
    values, types = (", ".join(part) for part in zip(*loaded, strict=True)) if loaded else ("", "")
    tail = f"return {values} : {types}" if loaded else "return"
    return f"""
      func.func @f() -> ({types}) attributes {{{launched(f"{_ROWS}, 1, 1", _ROWS)}}} {{
        %x = gpu.thread_id x
        %c0 = arith.constant 0 : index
        %y = affine.apply affine_map<(x) -> ((x + 1) mod {_ROWS})>(%x)
        {columns}
        %m = memref.alloc() : {_TYPE}
        {chr(10).join(lines)}
        {tail}
      }}"""


def executed(parsed: Parsed, lane: int) -> list[list[int]]:
    """Returns what one lane loads if it runs alone, and at last what it leaves in the tile."""
    tile = np.arange(_ROWS * _COLUMNS).reshape(_ROWS, _COLUMNS)
    values: dict[ir.Value, Any] = {}
    thread = parsed.operations("gpu.thread_id")[0].results[0]

    def cells(indices: list[ir.Value], count: int) -> tuple[int, slice]:
        row, column = (evaluate(each, {thread: lane}) for each in indices)
        assert column + count <= _COLUMNS
        return row, slice(column, column + count)

    for op in operations_of(parsed.function.regions[0].blocks[0]):
        operands = list(op.operands)
        if op.name == "arith.constant" and op.results[0].type != ir.IndexType.get(op.context):
            attribute = op.attributes["value"]
            is_vector = isinstance(attribute, ir.DenseIntElementsAttr)
            values[op.results[0]] = list(attribute) if is_vector else [attribute.value]
        elif op.name in ("vector.store", "memref.store"):
            stored = values[operands[0]]
            tile[cells(operands[2:], len(stored))] = stored
        elif op.name in ("vector.load", "memref.load"):
            kind = op.results[0].type
            count = ir.VectorType(kind).shape[0] if isinstance(kind, ir.VectorType) else 1
            values[op.results[0]] = list(tile[cells(operands[1:], count)])
        elif op.name == "vector.extract":
            (place,) = ir.DenseI64ArrayAttr(op.attributes["static_position"])
            values[op.results[0]] = [values[operands[0]][place]]
        elif op.name == "vector.from_elements":
            values[op.results[0]] = [values[each][0] for each in operands]
        elif op.name == "func.return":
            return [*(list(map(int, values[each])) for each in operands), tile.ravel().tolist()]
    raise AssertionError("no return")


def joined(program: list[Step]) -> tuple[int, int]:
    """Checks a program; returns its accesses before and behind the pass."""
    parsed = parse(source(program))
    wanted = [executed(parsed, lane) for lane in range(_ROWS)]
    names = ("vector.load", "vector.store", "memref.load", "memref.store")
    before = len(parsed.operations(*names))
    run(parsed, JoinLdsAccesses())
    assert [executed(parsed, lane) for lane in range(_ROWS)] == wanted
    return before, len(parsed.operations(*names))


@settings(max_examples=400, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_lane_finds_the_same(data: st.DataObject):
    parts = st.one_of(runs(), st.lists(steps(), max_size=4), st.just([Step("")]))
    program = [step for part in data.draw(st.lists(parts, max_size=5)) for step in part]
    before, after = joined(program)
    assert after <= before


@pytest.mark.parametrize("stores", [False, True])
def test_eight_elements_of_two_bytes_become_one_access(stores: bool):
    assert joined([Step("%x", 8 + i, stores=stores) for i in range(8)]) == (8, 1)


def test_a_run_is_joined_in_parts_that_are_aligned():
    # Elements 3 to 15: one, then 4 to 7, then 8 to 15.
    assert joined([Step("%x", i, stores=True) for i in range(3, 16)]) == (13, 3)


def test_a_barrier_parts_a_run():
    program = [Step("%x", i) for i in range(4)]
    assert joined([*program[:2], Step(""), *program[2:]]) == (4, 2)


# Neighbours that stay apart.

_NEIGHBOURS = f"""
!tile = {lds("64x8xf16")}
func.func @f(%a: vector<1xf16>, %b: vector<1xf16>, %row: index) attributes {{{launched()}}} {{
  %x = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  %tile = memref.alloc() : !tile
  vector.store %a, %tile[%x, %c0] : !tile, vector<1xf16>
  vector.store %b, %tile[%x, %c1] : !tile, vector<1xf16>
  return
}}
"""
_FIRST, _SECOND = _NEIGHBOURS.splitlines()[-4:-2]


def _between(*lines: str) -> Edit:
    return _SECOND, "\n".join((*lines, _SECOND))


APART: dict[str, tuple[Edit, ...]] = {
    # A lane must see what it has stored between.
    "overwritten": (
        _between(
            "%ab = vector.shuffle %a, %b [0, 1] : vector<1xf16>, vector<1xf16>",
            "vector.store %ab, %tile[%x, %c0] : !tile, vector<2xf16>",
        ),
    ),
    # A row that is not known may be the same one.
    "another row": (_between("vector.store %b, %tile[%row, %c0] : !tile, vector<1xf16>"),),
    "read between": (_between("%r = memref.load %tile[%x, %c1] : !tile"),),
    "barrier": (_between("gpu.barrier"),),
    # Nothing moves past what is not known.
    "called": (_between("amdgpu.lds_barrier"),),
    # Two elements from an odd one on have no address that is a multiple of their size.
    "misaligned": (("%b, %tile[%x, %c1]", "%b, %tile[%x, %c2]"), ("[%x, %c0]", "[%x, %c1]")),
    # What lies behind the end of a row is in another one.
    "end of a row": (
        (_FIRST, f"%n = affine.apply affine_map<(x) -> ((x + 1) mod 64)>(%x)\n{_FIRST}"),
        ("[%x, %c0]", "[%x, %c7]"),
        ("[%x, %c1]", "[%n, %c0]"),
    ),
    # Where a swizzle puts them is not this pass's affair.
    "hinted": (
        (
            _FIRST,
            "%h = iree_codegen.swizzle_hint %tile[#iree_codegen.xor_shuffle<8, 1>] : !tile\n"
            f"{_FIRST}",
        ),
        ("%a, %tile", "%a, %h"),
        ("%b, %tile", "%b, %h"),
    ),
    # A transfer that may leave the buffer stores what lies within.
    "may leave": tuple(
        (
            f"vector.store %{value}, %tile[%x, %c{column}] : !tile, vector<1xf16>",
            f"vector.transfer_write %{value}, %tile[%x, %c{column}] : vector<1xf16>, !tile",
        )
        for column, value in enumerate("ab")
    ),
    # The index of the first element is not known yet where the second is loaded.
    "index that is known later": (
        (_FIRST, "%second = memref.load %tile[%x, %c1] : !tile"),
        (
            _SECOND,
            "%late = arith.subi %c1, %c1 : index\n%first = memref.load %tile[%x, %late] : !tile",
        ),
    ),
}


def test_neighbours_become_one_store() -> None:
    parsed = parse(_NEIGHBOURS)
    (said,) = run(parsed, JoinLdsAccesses()).messages
    assert "2 stores become 1 wider" in said
    assert len(parsed.operations("vector.store")) == 1


@pytest.mark.parametrize("edits", APART.values(), ids=APART)
def test_neighbours_that_stay_apart(edits: tuple[Edit, ...]) -> None:
    text = edited(_NEIGHBOURS, *edits)
    parsed = parse(text)
    assert not run(parsed, JoinLdsAccesses()).said
    assert str(parsed) == str(parse(text))
