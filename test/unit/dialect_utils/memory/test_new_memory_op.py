# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A new memory op is one row: with it, and without any other change, all passes know the op."""

from __future__ import annotations

import pytest
from iree.compiler import ir

from bankwise.bank_model.lds_rules import AccessKind
from bankwise.dialect_utils.memory import lds_ops
from bankwise.dialect_utils.memory.lds_accesses import AllocationAccesses
from bankwise.dialect_utils.memory.lds_ops import Access, Footprint, Offset, View
from bankwise.passes.padding.pad_unhinted_allocs import PadUnhintedAllocs
from bankwise.passes.swizzles.swizzle_lds_allocs import SwizzleLdsAllocs

from ...functions import LDS, Parsed, launched, lds, parse, run, traced

TILE = lds("64x32xf32")


def read_pair(operation: ir.Operation) -> Footprint:
    """Reads the footprint of `fake.read_pair`: each lane reads two elements of a row."""
    _, *indices = operation.operands
    return Footprint(tuple(indices), (1, 2))


READ_PAIR = Access(0, AccessKind.READ, read_pair, Offset.LOWERED, takes_strides=True)


@pytest.fixture(scope="module", autouse=True)
def unregistered_operations(context: ir.Context) -> None:
    context.allow_unregistered_dialects = True


def reads(view: str = "", read: str = "%m") -> Parsed:
    """Parses reads of row l by lane l, of 32 f32 a row: all lanes want the same banks."""
    return parse(
        f"""
        func.func @f() attributes {{{launched()}}} {{
          %x = gpu.thread_id x
          %c0 = arith.constant 0 : index
          %m = memref.alloc() : {TILE}
          {view}
          "fake.read_pair"({read}, %x, %c0) : ({TILE}, index, index) -> ()
          return
        }}"""
    )


def trace(parsed: Parsed) -> AllocationAccesses:
    (found,) = traced(parsed)
    return found


def decided(parsed: Parsed, one_pass: PadUnhintedAllocs | SwizzleLdsAllocs) -> str:
    decision = run(parsed, one_pass, target="gfx942").decision
    return f"{decision.action.value}: {decision.reason}"


def test_without_a_row_nothing_is_known_and_nothing_changes() -> None:
    parsed = reads()
    before = str(parsed)
    assert [str(each) for each in trace(parsed).unknown] == ["used by fake.read_pair"]
    assert decided(parsed, PadUnhintedAllocs()) == ("keep: fake.read_pair cannot take padded rows")
    assert decided(parsed, SwizzleLdsAllocs()) == "keep: used by fake.read_pair"
    assert str(parsed) == before


def test_a_row_is_all_that_an_access_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(lds_ops.TABLE, "fake.read_pair", READ_PAIR)
    (access,) = trace(reads()).accesses
    assert (access.kind, access.count) == (AccessKind.READ, 2)
    assert access.elements[0].tolist() == [32 * lane for lane in range(64)]
    assert decided(reads(), PadUnhintedAllocs()).startswith("pad: conflict cycles 60 -> 0")
    assert decided(reads(), SwizzleLdsAllocs()).startswith("hint: ")


def test_its_columns_say_what_may_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(lds_ops.TABLE, "fake.read_pair", READ_PAIR._replace(takes_strides=False))
    assert "cannot take padded rows" in decided(reads(), PadUnhintedAllocs())
    fixed = READ_PAIR._replace(offset=Offset.FIXED, why_fixed="wants plain rows")
    monkeypatch.setitem(lds_ops.TABLE, "fake.read_pair", fixed)
    assert decided(reads(), SwizzleLdsAllocs()) == "keep: fake.read_pair wants plain rows"
    aligned = READ_PAIR._replace(alignment=lambda _: 16)
    monkeypatch.setitem(lds_ops.TABLE, "fake.read_pair", aligned)
    parsed = reads()
    decided(parsed, PadUnhintedAllocs(padding_bits="64"))
    assert "memref<64x36xf32" in str(parsed)


def test_a_row_is_all_that_a_view_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(lds_ops.TABLE, "fake.read_pair", READ_PAIR)
    view = f'%v = "fake.view"(%m) : ({TILE}) -> {TILE}'
    assert [str(each) for each in trace(reads(view, "%v")).unknown] == ["used by fake.view"]
    monkeypatch.setitem(lds_ops.TABLE, "fake.view", View(in_order=True, folds=True))
    assert len(trace(reads(view, "%v")).accesses) == 1
    assert decided(reads(view, "%v"), SwizzleLdsAllocs()).startswith("hint: ")
    assert "cannot take padded rows" in decided(reads(view, "%v"), PadUnhintedAllocs())
    retyped = View(in_order=True, folds=True, retyped=lambda _, source: source)
    monkeypatch.setitem(lds_ops.TABLE, "fake.view", retyped)
    parsed = reads(view, "%v")
    assert decided(parsed, PadUnhintedAllocs()).startswith("pad: conflict cycles 60 -> 0")
    assert f"-> memref<64x32xf32, strided<[33, 1]>, {LDS}>" in str(parsed)
