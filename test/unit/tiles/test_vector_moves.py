# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts keep the vectors of accesses, or the answer has functions that move their parts."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bankwise
from bankwise.bank_model import issue
from bankwise.bank_model.padding_counts import PaddedCounts
from bankwise.tiles import best_layout
from bankwise.tiles.vector_moves import VectorStarts, Way


def test_parts_of_vectors_have_functions() -> None:
    found = bankwise.solve("gfx942", "64x64xf16", write="rows:128", read="columns")
    ways = {name: [move.way for move in count.code.moves] for name, count in found.layouts.items()}
    assert ways == {"plain": [], "padded": [Way.PARTED], "swizzled": [Way.REORDERED]}
    assert "store_8 writes the registers in that order" in " ".join(str(found).split())
    function = found.layouts["padded"].code.function("at")
    assert "void store_8(T *tile, int row, int column, const T *values) {" in function
    assert "__builtin_assume_aligned(tile + at(row, column + k), 4)" in function


def test_whole_vectors_are_the_better_answer_where_parts_save_little(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    question: dict[str, Any] = {"write": "columns:64", "read": "columns:128"}
    parted = bankwise.solve("gfx942", "32x64xf32", **question)
    monkeypatch.setattr(best_layout, "_WORTH_PARTING", (1, 100))
    whole = bankwise.solve("gfx942", "32x64xf32", **question)
    assert parted.best.accesses[1].is_split
    assert whole.best.accesses[1].instructions == whole.plain.accesses[1].instructions
    assert parted.best.cycles < whole.best.cycles < whole.plain.cycles
    for count in whole.layouts.values():
        assert count.code.moves == ()
    assert whole.proof


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(("gfx942", "gfx950", "sm_80")),
    st.sampled_from(("16x64xf16", "32x48xf32", "64x32xf8", "24x40xbf16", "3x8x24xf32", "32x64xi4")),
    st.sampled_from(("rows:64", "columns:64", "rows:32")),
    st.sampled_from(("rows:32", "columns:32", "columns:64")),
)
def test_every_vector_is_whole_or_has_a_function(
    arch: str, tile: str, write: str, read: str
) -> None:
    found = bankwise.solve(arch, tile, write=write, read=read)
    for count in found.layouts.values():
        assert all(count.code.mover(move) for move in count.code.moves)
        if not count.code.moves:
            question = count.question
            assert VectorStarts(question.flat).kept(question.tile, count.layout)
            assert not any(each.is_split or each.reordered_elements for each in count.accesses)
    assert found.proof


def test_what_no_function_moves_is_said() -> None:
    # Rows of 12 halves: a vector of 8 begins in one row and ends in the next.
    found = bankwise.count(
        "gfx942", "16x12xf16", write="lane*2 + reg for reg in range(2)", layout="padded:1"
    )
    assert "place(row, column) as a whole" in found.code.function()
    crossing = bankwise.count(
        "gfx942", "16x12xf16", write="(lane%24)*8 + reg for reg in range(8)", layout="padded:4"
    )
    assert "// Store each element at its own place." in crossing.code.function()


def test_planes_are_padded_where_rows_would_take_more() -> None:
    read = "(lane%6, lane//6%3, reg) for reg in range(8)"
    found = bankwise.solve("gfx942", "6x3x8xf32", read=read)
    assert str(found.best.layout) == "(6,3,8):(25,8,1)"
    assert (found.best_name, found.best.conflict_cycles, found.best.lds_bytes) == ("padded", 0, 596)
    assert "planes padded" in str(found)
    assert found.best.code.offset == "i0 * 25 + i1 * 8 + column"
    assert "18 conflict cycles in the plain layout, 0 in this one" in found.proof
    # They give the vectors their alignment, too.
    wide = bankwise.solve("gfx942", "8x16x32xf16", read="(lane%8, lane//8, reg%32)")
    assert wide.padded is not None
    assert str(wide.padded.layout) == "(8,16,32):(520,32,1)"
    assert wide.padded.conflict_cycles == 0


def test_the_plain_layout_says_what_it_has() -> None:
    found = bankwise.solve("gfx942", "1x67xf32", read="lane*64 for k in range(1) if lane < 2")
    assert found.best_name == "plain"
    assert found.reason == (
        "it has 1 conflict cycle, and no padding and no swizzle that was found costs less"
    )
    assert found.reason in " ".join(str(found).split())


@pytest.mark.parametrize(("bits", "note"), [(4, "4 bits, 2 to a byte"), (6, "6 bits: the byte is")])
def test_parts_of_bytes_are_said(bits: int, note: str) -> None:
    found = bankwise.count("gfx942", f"64x96xi{bits}", write="rows:96", layout="plain")
    assert note in " ".join(str(found).split())
    assert found.code.function().startswith(f"// place counts elements of {bits} bits")


def test_paddings_are_counted_once_in_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches that keep vectors whole and searches that part them share what they count."""
    counted: list[object] = []

    class Counts(PaddedCounts):
        def __init__(self, *arguments: Any) -> None:
            counted.append(arguments)
            super().__init__(*arguments)

    monkeypatch.setattr(issue, "PaddedCounts", Counts)
    bankwise.solve("gfx942", "64x64xf8", write="rows:128", read="columns:32")
    assert len(counted) == 1


def test_a_count_loads_no_search() -> None:
    program = (
        "import bankwise, sys; "
        "print(bankwise.count('gfx942', '64x64xf16', read='columns:64', layout='padded:8')); "
        "print(sorted({'numpy.ma', 'bankwise.bank_model.solver'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.splitlines()[-1] == "[]"
