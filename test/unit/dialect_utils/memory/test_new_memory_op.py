# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A new memory op is one row: with it, and without any other change, all passes know the op."""

from __future__ import annotations

from dataclasses import replace

import pytest
from iree.compiler import ir
from iree.compiler.api import Session

from bankwise.bank_model.targets import AccessKind
from bankwise.dialect_utils.gpu_target import launch_of
from bankwise.dialect_utils.index.lane_values import LaneEvaluator
from bankwise.dialect_utils.memory import lds_ops
from bankwise.dialect_utils.memory.flow import lds_allocations
from bankwise.dialect_utils.memory.lds_accesses import AllocationAccesses, trace_allocation
from bankwise.dialect_utils.memory.lds_ops import Access, Footprint, Offset, View
from bankwise.passes.base import PassContext
from bankwise.passes.padding.pad_unhinted_allocs import PadUnhintedAllocs
from bankwise.passes.swizzles.swizzle_lds_allocs import SwizzleLdsAllocs

LDS = "#gpu.address_space<workgroup>"
TILE = f"memref<64x32xf32, {LDS}>"


def read_pair(operation: ir.Operation) -> Footprint:
    """Reads the footprint of `fake.read_pair`: each lane reads two elements of a row."""
    _, *indices = operation.operands
    return Footprint(tuple(indices), (1, 2))


READ_PAIR = Access(0, AccessKind.READ, read_pair, Offset.LOWERED, takes_strides=True)


def parse(view: str = "", read: str = "%m") -> ir.Module:
    """Parses reads of row l by lane l, of 32 f32 a row: all lanes want the same banks."""
    context = Session().context
    context.allow_unregistered_dialects = True
    return ir.Module.parse(
        f"""
        #pipeline = #iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline
          workgroup_size = [64, 1, 1] subgroup_size = 64>
        func.func @f() attributes {{translation_info = #pipeline}} {{
          %x = gpu.thread_id x
          %c0 = arith.constant 0 : index
          %m = memref.alloc() : {TILE}
          {view}
          "fake.read_pair"({read}, %x, %c0) : ({TILE}, index, index) -> ()
          return
        }}""",
        context,
    )


def trace(module: ir.Module) -> AllocationAccesses:
    function = module.body.operations[0].operation
    launch = launch_of(function)
    assert launch is not None
    (allocation,) = lds_allocations(function)
    return trace_allocation(allocation, function, LaneEvaluator(launch))


def decided(module: ir.Module, one_pass: PadUnhintedAllocs | SwizzleLdsAllocs) -> str:
    context = PassContext(test_target="gfx942")
    one_pass.run(module.body.operations[0].operation, context)
    (decision,) = context.log
    return f"{decision.action.value}: {decision.reason}"


def test_without_a_row_nothing_is_known_and_nothing_changes() -> None:
    module = parse()
    before = str(module)
    assert [str(each) for each in trace(module).unknown] == ["used by fake.read_pair"]
    assert decided(module, PadUnhintedAllocs()) == ("keep: fake.read_pair cannot take padded rows")
    assert decided(module, SwizzleLdsAllocs()) == "keep: used by fake.read_pair"
    assert str(module) == before


def test_a_row_is_all_that_an_access_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(lds_ops.TABLE, "fake.read_pair", READ_PAIR)
    (access,) = trace(parse()).accesses
    assert (access.kind, access.count) == (AccessKind.READ, 2)
    assert access.elements[0].tolist() == [32 * lane for lane in range(64)]
    assert decided(parse(), PadUnhintedAllocs()).startswith("pad: conflict cycles 60 -> 0")
    assert decided(parse(), SwizzleLdsAllocs()).startswith("hint: ")


def test_its_columns_say_what_may_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(lds_ops.TABLE, "fake.read_pair", replace(READ_PAIR, takes_strides=False))
    assert "cannot take padded rows" in decided(parse(), PadUnhintedAllocs())
    fixed = replace(READ_PAIR, offset=Offset.FIXED, why_fixed="wants plain rows")
    monkeypatch.setitem(lds_ops.TABLE, "fake.read_pair", fixed)
    assert decided(parse(), SwizzleLdsAllocs()) == "keep: fake.read_pair wants plain rows"
    aligned = replace(READ_PAIR, alignment=lambda _: 16)
    monkeypatch.setitem(lds_ops.TABLE, "fake.read_pair", aligned)
    module = parse()
    decided(module, PadUnhintedAllocs(padding_bits="64"))
    assert "memref<64x36xf32" in str(module)


def test_a_row_is_all_that_a_view_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(lds_ops.TABLE, "fake.read_pair", READ_PAIR)
    view = f'%v = "fake.view"(%m) : ({TILE}) -> {TILE}'
    assert [str(each) for each in trace(parse(view, "%v")).unknown] == ["used by fake.view"]
    monkeypatch.setitem(lds_ops.TABLE, "fake.view", View(in_order=True, folds=True))
    assert len(trace(parse(view, "%v")).accesses) == 1
    assert decided(parse(view, "%v"), SwizzleLdsAllocs()).startswith("hint: ")
    assert "cannot take padded rows" in decided(parse(view, "%v"), PadUnhintedAllocs())
    retyped = View(in_order=True, folds=True, retyped=lambda _, source: source)
    monkeypatch.setitem(lds_ops.TABLE, "fake.view", retyped)
    module = parse(view, "%v")
    assert decided(module, PadUnhintedAllocs()).startswith("pad: conflict cycles 60 -> 0")
    assert f"-> memref<64x32xf32, strided<[33, 1]>, {LDS}>" in str(module)
