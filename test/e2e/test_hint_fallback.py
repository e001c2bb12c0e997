# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hints that our passes cannot treat: `auto` compiles the function another way, and right."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from iree.compiler import ir

import bankwise
from bankwise.bench.program_families import reproducers
from bankwise.dialect_utils.diagnostics import PassFailure
from bankwise.passes.base import FunctionPass, PassContext
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.runtime.emulated_run import EmulatedRun, run_emulated
from bankwise.sweep.cases import target_flags

from .conftest import Tool
from .hinted_kernels import hinted_kernel

# What each lane does between its vectors %x and %y of the input, and %v and %w of the output.
_COPY = """
      %second = affine.apply affine_map<(t) -> (t * 8 + 512)>(%t)
      %x = vector.load %plain[%own] : memref<1024xf16>, vector<8xf16>
      %y = vector.load %plain[%second] : memref<1024xf16>, vector<8xf16>
BODY
      vector.store %v, %c[%own] : memref<1024xf16, #any>, vector<8xf16>
      vector.store %w, %c[%second] : memref<1024xf16, #any>, vector<8xf16>"""

# Rows 0 to 3 through the whole tile, rows 4 to 7 through parts of two rows: STORED and read.
_FRAMES = """
      %alloc = memref.alloc()
          {iree_codegen.swizzle = #iree_codegen.xor_shuffle<128, 8SPREAD>} : !tile
      %start = affine.apply affine_map<(x) -> (x * 8)>(%column)
      %in_part = affine.apply affine_map<(r) -> (r mod 2)>(%row)
      %behind = affine.apply affine_map<(r) -> (r + 4)>(%row)
      %is_first = arith.cmpi ult, %row, %c2 : index
      %f0 = memref.subview %alloc[4, 0] [2, 128] [1, 1]
          : !tile to memref<2x128xf16, strided<[128, 1], offset: 512>, #lds>
      %f1 = memref.subview %alloc[6, 0] [2, 128] [1, 1]
          : !tile to memref<2x128xf16, strided<[128, 1], offset: 768>, #lds>
      %p0 = memref.cast %f0 : memref<2x128xf16, strided<[128, 1], offset: 512>, #lds> to !two_rows
      %p1 = memref.cast %f1 : memref<2x128xf16, strided<[128, 1], offset: 768>, #lds> to !two_rows
      %part = arith.select %is_first, %p0, %p1 : !two_rows
      vector.store %x, %alloc[%row, %start] : !tile, vector<8xf16>
      vector.store %y, STORED, vector<8xf16>
      gpu.barrier
      %v = vector.load %alloc[%row, %start] : !tile, vector<8xf16>
      %w = vector.load %part[%in_part, %start] : !two_rows, vector<8xf16>"""
_FRAMES_ALONE = _FRAMES.replace("STORED", "%part[%in_part, %start] : !two_rows")
_FRAMES_SHARED = _FRAMES.replace("STORED", "%alloc[%behind, %start] : !tile")

# The first half is loaded direct to LDS, permuted as the hint says; the second goes beside it.
_GATHER = """
      %moved = arith.xori %row, %column : index
      %s = affine.apply affine_map<(r, x) -> (r * 128 + x * 8)>(%row, %moved)
      %alloc = memref.alloc() : !half
      %h = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<128, 8>] : !half
      amdgpu.gather_to_lds %a[%s], %h[%c0] : vector<8xf16>, memref<1024xf16, #raw>, !half
      %all = affine.apply affine_map<(t) -> (t + 8)>(%t)
      %mask = vector.create_mask %all : vector<8xi1>"""
_WHILE = (
    _GATHER
    + """
      %other = memref.alloc() : !half
      vector.store %y, %other[%own] : !half, vector<8xf16>
      gpu.barrier
      %r:3 = scf.while (%i = %c0, %m = %other, %n = %alloc)
          : (index, !half, !half) -> (index, !half, !half) {
        %go = arith.cmpi ult, %i, %c2 : index
        scf.condition(%go) %i, %m, %n : index, !half, !half
      } do {
      ^bb0(%i: index, %m: !half, %n: !half):
        %next = arith.addi %i, %c1 : index
        scf.yield %next, %n, %m : index, !half, !half
      }
      %v = vector.load %h[%own] : !half, vector<8xf16>
      %w = vector.load %r#1[%own] : !half, vector<8xf16>"""
)
_MASKED = """
      gpu.barrier
      %v = vector.load %h[%own] : !half, vector<8xf16>
      gpu.barrier
      vector.maskedstore %BUFFER[%own], %mask, %y : !half, vector<8xi1>, vector<8xf16>
      gpu.barrier
      %w = vector.load %BUFFER[%own] : !half, vector<8xf16>"""
_BESIDE = _GATHER + _MASKED.replace("BUFFER", "alloc")
_THROUGH = _GATHER + _MASKED.replace("BUFFER", "h")


def _source(body: str, spread: str = "") -> str:
    return hinted_kernel(_COPY.replace("BODY", body.replace("SPREAD", spread)))


def _run(source: str, mitigation: str) -> EmulatedRun:
    values = np.random.default_rng(0).standard_normal(1024).astype(np.float16)
    run = run_emulated(source, target_flags("gfx950"), mitigation, [values])
    np.testing.assert_array_equal(run.outputs[0], values)
    return run


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    "body",
    [_FRAMES_ALONE, _WHILE, _BESIDE],
    ids=["parts of unequal size", "a loop beside a gather", "a masked store beside a gather"],
)
def test_auto_gives_what_stock_gives(body: str):
    stock, auto = (_run(_source(body), mitigation).counters for mitigation in ("stock", "auto"))
    for name in ("SQ_INSTS_LDS", "SQ_LDS_BANK_CONFLICT", "LDS_CYCLES"):
        assert auto[name] == stock[name]


def test_parts_that_share_elements_keep_them():
    """Stock permutes each part in itself, so that one part does not read what another wrote."""
    source = _source(_FRAMES_SHARED)
    _run(source, "auto")
    with pytest.raises(AssertionError, match="not equal"):
        _run(source, "stock")


def test_a_stride_never_reaches_stock():
    _run(_source(_FRAMES_SHARED, spread=", 256, 1"), "auto")


def test_the_warning_says_why_and_a_named_mitigation_is_an_error(tool: Tool, tmp_path: Path):
    path = tmp_path / "k.mlir"
    path.write_text(_source(_FRAMES_ALONE))
    compile_it = ("bankwise-compile", path, *target_flags("gfx950"), "-o", tmp_path / "k.vmfb")
    reason = "uses part of an allocation with a swizzle that cannot be hinted: it has 256 elements"
    run = tool(*compile_it, "--bankwise-remarks")
    assert run.returncode == 0
    (warning,) = (line for line in run.stderr.splitlines() if "warning: " in line)
    assert warning.startswith(f"{path}:")
    assert (
        "warning: the swizzle hints of function @kernel are dropped, because "
        "bankwise-reinsert-swizzle-hints cannot go on: vector." in warning
    )
    assert reason in warning
    run = tool(*compile_it, "--bankwise-mitigation=swizzle")
    assert (run.returncode, run.stderr.count("error: ")) == (1, 1)
    assert reason in run.stderr


@pytest.mark.parametrize("mitigation", ["auto", "stock"])
def test_a_hint_that_nobody_can_resolve_is_an_error(mitigation: str):
    """What the gather has permuted cannot be read otherwise, and the masked store not moved."""
    with pytest.raises(bankwise.CompileError, match="all swizzle hints must resolve"):
        bankwise.compile(_source(_THROUGH), target_flags("gfx950"), mitigation)


@dataclass(frozen=True)
class _Fails(FunctionPass):
    name: ClassVar[str] = "test-fails"
    summary: ClassVar[str] = "change the function and fail"
    deliberate: bool = True

    def run(self, function: ir.Operation, context: PassContext) -> None:
        function.attributes["test.changed"] = ir.UnitAttr.get(function.context)
        context.sink.warning(function.location, "nobody hears this")
        if self.deliberate:
            raise PassFailure(function.location, "the test wants it so")
        raise AssertionError


def _edit(**options: bool) -> bankwise.PipelineEdit:
    return bankwise.PipelineEdit.after(
        "canonicalize", _Fails(**options), occurrence=5, required=True, optional=True
    )


@pytest.mark.sampled
@pytest.mark.parametrize("program", ["mmt4d_f16", "at_f16_h80"])
def test_the_last_resort_is_stock_byte_for_byte(program: str):
    (source,) = (p.source for p in reproducers.programs() if p.name == f"reproducer_{program}")
    fallen = bankwise.compile(source, target_flags("gfx942"), "auto", edits=[_edit()])
    assert fallen == bankwise.compile(source, target_flags("gfx942"), "stock")


def test_a_mistake_in_a_pass_stays_an_error():
    source = _source(_FRAMES_ALONE)
    edit = bankwise.PipelineEdit.before(
        "iree-codegen-resolve-swizzle-hints",
        _Fails(deliberate=False),
        pipelines=frozenset({"Lowered"}),
        optional=True,
    )
    with pytest.raises(bankwise.CompileError, match="test-fails raised AssertionError"):
        bankwise.compile(source, target_flags("gfx950"), "stock", edits=[edit])


# The lanes of a wave read 8 rows of 256 bytes, 16 bytes each, at one column.
_TILE = """
      %alloc = memref.alloc() : !tile
      %h = HINT
      %start = affine.apply affine_map<(x) -> (x * 8)>(%column)
      %behind = affine.apply affine_map<(r) -> (r + 4)>(%row)
      %r8 = affine.apply affine_map<(t) -> (t mod 8)>(%t)
      %c8 = affine.apply affine_map<(t) -> (t floordiv 8 * 8)>(%t)
      vector.store %x, %h[%row, %start] : !tile, vector<8xf16>
      vector.store %y, %h[%behind, %start] : !tile, vector<8xf16>
      gpu.barrier
      %other = affine.apply affine_map<(t) -> (t floordiv 8 * 8 + 64)>(%t)
      %w = vector.load %h[%r8, %other] : !tile, vector<8xf16>
      READ"""
_WITH_HINT = "iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<128, 2>] : !tile"
_WITHOUT_HINT = "memref.cast %alloc : !tile to !tile"
_DROPPED = {
    # A transposing read moves as a whole: another swizzle takes the place of the hint.
    "whole": (
        "gfx950",
        _WITH_HINT,
        """%four = amdgpu.transpose_load %h[%r8, %c8] : !tile -> vector<4xf16>
      %v = vector.shuffle %four, %four [0, 1, 2, 3, 4, 5, 6, 7]
          : vector<4xf16>, vector<4xf16>""",
        Action.HINT,
    ),
    # What may be masked is not swizzled at all, but takes padded rows.
    "masked": (
        "gfx942",
        _WITH_HINT,
        """%all = affine.apply affine_map<(t) -> (t + 8)>(%t)
      %mask = vector.create_mask %all : vector<8xi1>
      %v = vector.maskedload %h[%r8, %c8], %mask, %x
          : !tile, vector<8xi1>, vector<8xf16> into vector<8xf16>""",
        Action.PAD,
    ),
    # Another address space, of which the pass that resolves hints knows nothing.
    "ours": (
        "gfx950",
        _WITHOUT_HINT,
        """%generic = memref.memory_space_cast %h : !tile to memref<8x128xf16, 3>
      %v = vector.load %generic[%r8, %c8] : memref<8x128xf16, 3>, vector<8xf16>""",
        Action.KEEP,
    ),
}


@pytest.mark.parametrize("case", _DROPPED)
def test_a_tile_whose_hints_are_dropped_is_decided_on_anew(case: str):
    """The decisions say what the code has, and it computes what stock computes."""
    target, hint, read, action = _DROPPED[case]
    body = _COPY.replace("BODY", _TILE.replace("READ", read))
    values, log = np.arange(1024, dtype=np.float16), DecisionLog()
    plain, hinted = (hinted_kernel(body.replace("HINT", each)) for each in (_WITHOUT_HINT, hint))
    stock = run_emulated(plain, target_flags(target), "stock", [values])
    auto = run_emulated(hinted, target_flags(target), "auto", [values], decisions=log)
    np.testing.assert_array_equal(auto.outputs[0], stock.outputs[0])
    (decision,) = (each for each in log if log.stands(each))
    assert decision.action is action
    if action is Action.PAD:
        # LLVM reads each element under its own condition, of which decisions know nothing.
        assert "if every element of a vector.maskedload is accessed" in decision.reason
        return
    left = auto.counters["SQ_LDS_BANK_CONFLICT"]
    assert log.conflict_cycles_left() == left
    assert (left < stock.counters["SQ_LDS_BANK_CONFLICT"]) == (action is Action.HINT)
