# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The padding pass on random chains of views and on IREE's own attention kernels.

What it leaves is compared with what the stock pass leaves, and every access is followed through
the padded allocation: it must land on the same row and column as before.
"""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from iree.compiler import ir

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.issue import layout_cost
from bankwise.bank_model.layouts import Layout, PaddedLayout, PlainLayout, machine_accesses
from bankwise.bank_model.lds_rules import Lds
from bankwise.bank_model.lds_tables import lds_of
from bankwise.bank_model.proof import Optimality, check
from bankwise.dialect_utils.gpu_target import Launch
from bankwise.dialect_utils.memory.flow import lds_allocations
from bankwise.dialect_utils.memory.joined_accesses import MOST_UNROLLED, emitted_accesses
from bankwise.dialect_utils.memory.lds_accesses import AllocationAccesses
from bankwise.passes.base import PassOptionError
from bankwise.passes.decisions import Action, Decision
from bankwise.passes.padding.pad_unhinted_allocs import PadUnhintedAllocs
from bankwise.passes.padding.padding_plan import plan_paddings
from bankwise.sweep.swept_kernels import Attention
from bankwise.test.memref_views import SPACE, Memref

from ...functions import (
    HERE,
    Edit,
    Kept,
    Parsed,
    assert_kept,
    assert_said,
    each_kept,
    edited,
    launched,
    lds,
    parse,
    run,
    traced,
)

STOCK = "iree-codegen-gpu-reduce-bank-conflicts"


def padded(parsed: Parsed, options: str = "", target: str = "gfx942") -> list[Decision]:
    return run(parsed, PadUnhintedAllocs.from_options(options), target=target).decisions


def after_stock(text: str, padding_bits: int) -> str:
    parsed = parse(text)
    parsed.run_native(f"{STOCK}{{padding-bits={padding_bits}}}")
    return str(parsed)


def assert_same_rows_and_columns(before: AllocationAccesses, after: AllocationAccesses) -> None:
    """Asserts that the padded allocation's accesses are the old ones, moved by the padding."""
    padding = after.tile.row_elements - before.tile.row_elements
    assert after.tile.shape[:-1] == before.tile.shape[:-1]
    assert not before.unknown
    assert not after.unknown
    assert len(before.accesses) == len(after.accesses)
    # Accesses come in the order of a value's uses, which a rewrite changes.
    olds = sorted(before.accesses, key=lambda access: access.location)
    news = sorted(after.accesses, key=lambda access: access.location)
    for old, new in zip(olds, news, strict=True):
        assert (old.kind, old.count, old.weight) == (new.kind, new.count, new.weight)
        moved = PaddedLayout(padding).offsets(before.tile, old.elements)
        assert (moved == new.elements).all()


# Random chains of views.


@st.composite
def view_chains(draw: st.DrawFn) -> str:
    """Returns a function that loads through up to five views of one allocation."""
    shape = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 4, 8]), min_size=1, max_size=3)))
    views = [Memref.of("%m", "f16", shape)]
    lines: list[str] = []
    for number in range(draw(st.integers(0, 5))):
        source = draw(st.sampled_from(views))
        name = f"%view{number}"
        step = draw(st.sampled_from(["subview", "expand", "collapse", "cast"]))
        if step == "cast":
            dynamic = "x".join("?" for _ in source.shape)
            strides = ", ".join("?" for _ in source.shape)
            to = lds(f"{dynamic}xf16, strided<[{strides}], offset: ?>")
            if source.shape:
                lines.append(f"{name} = memref.cast {source.name} : {source.type} to {to}")
                lines += load(draw(st.integers(0, 7)), name, source.shape, to, f"c{number}")
        elif (made := draw(VIEWS[step](source))) is not None:
            line, result = made
            lines.append(f"{name} = {line}")
            views.append(result.renamed(name))
    for number, view in enumerate(views):
        lines += load(draw(st.integers(0, 7)), view.name, view.shape, view.type, f"l{number}")
    body = "\n".join(lines)
    return f"""{SPACE}
      func.func @f() {{
        %x = gpu.thread_id x
        %m = memref.alloc() : {views[0].type}
        {body}
        memref.dealloc %m : {views[0].type}
        return
      }}"""


def load(seed: int, name: str, shape: tuple[int, ...], kind: str, tag: str) -> list[str]:
    lines = [
        f"%{tag}_{d} = affine.apply affine_map<(d0) -> ((d0 * {seed} + d0 + {d}) mod {size})>(%x)"
        for d, size in enumerate(shape)
    ]
    indices = ", ".join(f"%{tag}_{d}" for d in range(len(shape)))
    return [*lines, f"%{tag} = memref.load {name}[{indices}] : {kind}"]


@st.composite
def subviews(draw: st.DrawFn, source: Memref) -> tuple[str, Memref]:
    offsets, sizes, steps = [], [], []
    for size in source.shape:
        taken = draw(st.integers(1, size))
        step = draw(st.integers(1, max(1, (size - 1) // max(1, taken - 1)))) if taken > 1 else 1
        sizes.append(taken)
        steps.append(step)
        offsets.append(draw(st.integers(0, size - (taken - 1) * step - 1)))
    assert source.offset is not None
    offset = source.offset + sum(o * s for o, s in zip(offsets, source.strides, strict=True))
    strides = [s * t for s, t in zip(source.strides, steps, strict=True)]
    kept = list(range(len(sizes)))
    if sizes.count(1) == 1 and draw(st.booleans()):
        kept.remove(sizes.index(1))
    shape, strides = (tuple(each[d] for d in kept) for each in (sizes, strides))
    result = source.renamed("", shape=shape, strides=strides, offset=offset, plain=False)
    return source.subview(offsets, sizes, steps, result), result


@st.composite
def expansions(draw: st.DrawFn, source: Memref) -> tuple[str, Memref] | None:
    even = [d for d, size in enumerate(source.shape) if size % 2 == 0]
    if not even:
        return None
    d = draw(st.sampled_from(even))
    return source.expanded(d, source.shape[d] // 2)


@st.composite
def collapses(draw: st.DrawFn, source: Memref) -> tuple[str, Memref] | None:
    strides = source.strides
    possible = [
        d
        for d in range(len(source.shape) - 1)
        if strides[d] == strides[d + 1] * source.shape[d + 1] and min(source.shape) > 1
    ]
    return source.collapsed(draw(st.sampled_from(possible))) if possible else None


VIEWS = {"subview": subviews, "expand": expansions, "collapse": collapses}


@settings(max_examples=150, deadline=None)
@given(text=view_chains(), padding_bits=st.sampled_from([8, 16, 64, 128]))
def test_random_views_end_up_as_in_stock(text: str, padding_bits: int) -> None:
    ours = parse(text)
    padded(ours, f"padding-bits={padding_bits}")
    assert str(ours) == after_stock(text, padding_bits)


@settings(max_examples=150, deadline=None)
@given(text=view_chains())
def test_random_views_still_address_the_same_elements(text: str) -> None:
    launch, parsed = Launch((64,), 64), parse(text)
    (before,) = traced(parsed, launch)
    (decision,) = padded(parsed, "padding-bits=64")
    (after,) = traced(parsed, launch)
    assert (after.tile != before.tile) == (decision.action is Action.PAD)
    assert_same_rows_and_columns(before, after)


# IREE's attention, cut off where the stock pass ran.

WORKGROUPS = 32
"""1024 x 128 outputs in tiles of 64 x 64."""


@pytest.fixture(scope="module", params=["f16", "f32"])
def attention(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Returns the distributed kernel for gfx942; its first line names the element type."""
    directory = tmp_path_factory.mktemp("attention")
    source = directory / "attention.mlir"
    source.write_text(Attention(1, 1024, 128, request.param).source())
    command = [
        str(Path(sys.executable).parent / "iree-compile"),
        str(source),
        "--iree-hal-target-device=hip",
        "--iree-rocm-target=gfx942",
        f"--mlir-print-ir-before={STOCK}",
        "--mlir-disable-threading",
        "-o",
        str(directory / "attention.vmfb"),
    ]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    header, text = printed.split("\n", 1)
    assert f"{STOCK}{{padding-bits=64}}" in header
    return f"// {request.param}\n{text}"


def test_attention_ends_up_as_in_stock(attention: str) -> None:
    for padding_bits in (32, 64, 128):
        ours = parse(attention)
        decisions = padded(ours, f"padding-bits={padding_bits}")
        assert {d.action for d in decisions} == {Action.PAD}
        assert str(ours) == after_stock(attention, padding_bits)


CONFLICTS = {
    "f16": {"64x64": (8192, 0), "64x128": (384, 128)},
    "f32": {"64x16": (16384, 2048), "16x64": (8192, 10240), "16x128": (245760, 4096)}
    | {"64x128": (3840, 256)},
}
"""Conflict cycles of one workgroup, plain and with the stock padding.

By hand for the f16 tile 64x64 (V): 16 iterations x 4 waves x 64 scalar reads, of which each has 2
phases with one conflict: 8192. The f32 total is the published counter, see below.
"""


def test_attention_conflicts_of_the_stock_padding(attention: str) -> None:
    kind = attention[3:6]
    decisions = padded(parse(attention), "padding-bits=64")
    counted = {
        d.allocation[7:-5]: (d.conflict_cycles_before, d.conflict_cycles_after) for d in decisions
    }
    assert counted == CONFLICTS[kind]
    if kind == "f32":
        # SQ_LDS_BANK_CONFLICT measured on an MI300X for exactly this kernel (shape, padding).
        total = sum(d.conflict_cycles_after or 0 for d in decisions)
        assert WORKGROUPS * total == 532480


def test_attention_auto_is_never_worse_than_stock(attention: str) -> None:
    parsed = parse(attention)
    before = traced(parsed)
    auto = padded(parsed)
    stock = padded(parse(attention), "padding-bits=64")
    for old, new in zip(before, traced(parsed), strict=True):
        assert_same_rows_and_columns(old, new)
    for decisions in (auto, stock):
        assert all(d.conflict_cycles_after is not None for d in decisions)
    assert total(auto, "lds_bytes_after") <= total(stock, "lds_bytes_after")
    assert total(auto, "conflict_cycles_after") <= total(stock, "conflict_cycles_after")


def total(decisions: list[Decision], field: str) -> int:
    return sum(getattr(d, field) for d in decisions)


# Decisions.

COLUMN = f"""!tile = {lds("64x64xf16")}
func.func @column(%i: index, %b: i1) attributes {{{launched()}}} {{
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %m = memref.alloc() : !tile // here
  %v = memref.load %m[%x, %c0] : !tile
  return
}}
func.func private @callee(!tile)
"""


def test_decision_of_a_padded_allocation() -> None:
    (decision,) = padded(parse(COLUMN))
    assert decision == Decision(
        pass_name="bankwise-pad-unhinted-allocs",
        function="column",
        allocation="memref<64x64xf16>",
        location="-:5:8",
        action=Action.PAD,
        reason="conflict cycles 62 -> 0; no bank conflicts are left, so that no layout has fewer",
        detail="4 bytes per row",
        lds_bytes_before=8192,
        lds_bytes_after=8448,
        conflict_cycles_before=62,
        conflict_cycles_after=0,
        lds_instructions_before=1,
        lds_instructions_after=1,
    )
    assert json.loads(json.dumps(decision.to_json()))["action"] == "pad"


def test_a_decision_says_what_the_other_reading_of_a_chip_counts() -> None:
    # Rows of 36 words: eight of 32 banks have four words of 32 lanes, or 16 of 64 of all lanes.
    (decision,) = padded(parse(COLUMN), "padding-bits=128", target="gfx950")
    (said,) = decision.other_readings
    assert decision.conflict_cycles_after == 6
    assert said.endswith("not 32 banks in 2 phases; conflict cycles would be 3, not 6")
    (clean,) = padded(parse(COLUMN), target="gfx950")
    assert (clean.conflict_cycles_after, clean.other_readings) == (0, ())


def test_decision_of_a_kept_allocation() -> None:
    (decision,) = padded(parse(COLUMN), "lds-limit-bytes=8200")
    assert decision.action is Action.KEEP
    assert decision.detail == ""
    assert (decision.lds_bytes_before, decision.lds_bytes_after) == (8192, 8192)
    assert (decision.conflict_cycles_before, decision.conflict_cycles_after) == (62, 62)


def test_decision_without_a_count() -> None:
    (decision,) = padded(parse(COLUMN), "", target="gfx908")
    assert decision.reason == "stock's amount, because the LDS of gfx908 is not known"
    assert decision.detail == "8 bytes per row"
    assert decision.conflict_cycles_before is None
    assert decision.conflict_cycles_after is None


def test_lds_limit_of_the_option_also_stops_a_fixed_padding() -> None:
    (decision,) = padded(parse(COLUMN), "padding-bits=64 lds-limit-bytes=8703")
    assert decision.action is Action.KEEP
    (decision,) = padded(parse(COLUMN), "padding-bits=64 lds-limit-bytes=8704")
    assert decision.action is Action.PAD


def test_stock_amount_of_an_unknown_tile_is_not_spent_twice() -> None:
    # The first tile wants 16 bytes a row to keep its reads whole; the second takes stock's 8.
    tile = lds("64x64xf16")
    text = f"""func.func @two(%i: index) attributes {{{launched()}}} {{
      %c0 = arith.constant 0 : index
      %x = gpu.thread_id x
      %m = memref.alloc() : {tile}
      %n = memref.alloc() : {tile}
      %v = vector.load %m[%x, %c0] : {tile}, vector<8xf16>
      %w = memref.load %n[%i, %c0] : {tile}
      return
    }}"""
    known, unknown = padded(parse(text))
    assert unknown.reason.startswith("stock's amount, because an access is not known")
    assert (known.detail, unknown.detail) == ("8 bytes per row", "8 bytes per row")


def test_function_that_stock_leaves_alone_gets_no_more_lds() -> None:
    # 4 bytes a row would fit the 64 KiB and end the conflicts, but stock's 8 do not.
    (decision,) = padded(parse(COLUMN.replace("64x64", "488x64")))
    assert decision.action is Action.KEEP
    assert decision.lds_bytes_after == 488 * 128
    assert decision.conflict_cycles_after == 62


def test_limit_of_the_functions_target_counts() -> None:
    wide = COLUMN.replace("64x64", "512x64")
    assert padded(parse(wide), "padding-bits=64")[0].action is Action.KEEP
    assert padded(parse(wide), "padding-bits=64", target="gfx950")[0].action is Action.PAD


def test_function_without_lds_is_left_alone() -> None:
    parsed = parse("func.func @f() { %m = memref.alloc() : memref<4xf16> return }")
    text = str(parsed)
    assert padded(parsed) == []
    assert str(parsed) == text


def test_padding_of_nothing_keeps_an_uncountable_allocation() -> None:
    # 64 bits hold no element of 128 bits: there is no stock amount to fall back to.
    tile = lds("8x8xcomplex<f64>")
    text = f"""func.func @f(%i: index) {{
      %m = memref.alloc() : {tile}
      %v = memref.load %m[%i, %i] : {tile}
      return }}"""
    (decision,) = padded(parse(text))
    assert decision.action is Action.KEEP


def test_rows_padded_twice_are_views_the_second_time() -> None:
    parsed = parse(COLUMN)
    padded(parsed)
    (decision,) = padded(parsed)
    assert decision.action is Action.KEEP
    assert decision.reason == "the plain layout has no bank conflicts"


_LOAD = "%v = memref.load %m[%x, %c0] : !tile"
_TOO_MUCH = "padding that helps would use more LDS than the stock padding or the limit"
_SHUFFLE = "#iree_codegen.xor_shuffle<64, 8>"


def _through(view: str, kind: str, index: str) -> Edit:
    """Returns the edit that loads from a view of a type instead."""
    return _LOAD, f"%w = {view} {lds(kind)}\n%v = memref.load %w[{index}] : {lds(kind)}"


def _tile(shape: str) -> Edit:
    return "!tile = memref<64x64xf16,", f"!tile = memref<{shape},"


KEPT: Kept = {
    "free of conflicts": ("the plain layout has no bank conflicts", ("[%x, %c0]", "[%c0, %x]")),
    # Lanes 0 and 32 words apart in one row: no padding moves them.
    "conflicts inside a row": (
        "no padding helps against its 62 conflict cycles",
        _tile("2x2048xf32"),
        (_LOAD, f"%j = affine.apply affine_map<(d0) -> (d0 * 32)>(%x)\n{_LOAD}"),
        ("[%x, %c0]", "[%c0, %j]"),
    ),
    # 32 lanes read the same 16 columns of two rows; 64 bytes would move them apart, stock adds 8.
    "over the budget": (
        f"2 conflict cycles, but {_TOO_MUCH}",
        _tile("16x64xf32"),
        (_LOAD, f"%h:2 = affine.delinearize_index %x into (4, 16) : index, index\n{_LOAD}"),
        ("[%x, %c0]", "[%h#0, %h#1]"),
    ),
    "hinted": (
        "it is swizzled",
        (_LOAD, f"%h = iree_codegen.swizzle_hint %m[{_SHUFFLE}] : !tile\n{_LOAD}"),
        ("%m[%x", "%h[%x"),
    ),
    "stowed hint": (
        "it is swizzled",
        ("alloc()", f"alloc() {{iree_codegen.swizzle = {_SHUFFLE}}}"),
    ),
    "collapsed rows": (
        "memref.collapse_shape across the padded rows",
        _through("memref.collapse_shape %m [[0, 1]] : !tile into", "4096xf16", "%x"),
    ),
    "called": (
        "func.call cannot take padded rows",
        (_LOAD, "func.call @callee(%m) : (!tile) -> ()"),
    ),
    "returned": (
        "func.return cannot take padded rows",
        ("%b: i1)", "%b: i1) -> !tile"),
        ("return", "return %m : !tile"),
    ),
    # One of two allocations that meet in a select cannot change its type.
    "selected": (
        "arith.select cannot take padded rows",
        (
            _LOAD,
            f"%n = memref.alloc() : !tile {HERE}\n%s = arith.select %b, %m, %n : !tile\n{_LOAD}",
        ),
        ("%m[%x", "%s[%x"),
    ),
    # It names strides of its own: padding would move its elements away.
    "reinterpreted": (
        "memref.reinterpret_cast cannot take padded rows",
        _through(
            "memref.reinterpret_cast %m to offset: [0], sizes: [64], strides: [64] : !tile to",
            "64xf16, strided<[64]>",
            "%x",
        ),
    ),
    # Lane 63 reads the 8 elements behind its row, which are those of the next one only unpadded.
    "over the end of the row": (
        "an access leaves it: vector.load: index outside the view's bounds",
        _tile("65x64xf16"),
        (
            _LOAD,
            "%c56 = arith.constant 56 : index\n"
            "%v = vector.load %m[%x, %c56] : !tile, vector<16xf16>",
        ),
    ),
    "rank 0": ("it has rank 0", _tile("f16"), ("[%x, %c0]", "[]")),
    "rank 1": (
        "it has rank 1, so that its rows are not known",
        _tile("64xf16"),
        ("[%x, %c0]", "[%x]"),
    ),
    # One dynamic allocation and the LDS of the function is not known: none is padded.
    "dynamic": (
        "an LDS allocation of the function has a dynamic shape",
        (_LOAD, f"%d = memref.alloc(%i) : {lds('?x64xf16')} {HERE}\n{_LOAD}"),
    ),
    "parts of bytes": ("its elements of type i4 do not fill bytes", _tile("64x64xi4")),
    # 64 KiB are full.
    "full LDS": (f"62 conflict cycles, but {_TOO_MUCH}", _tile("512x64xf16")),
    "full LDS and unknown": (
        "an access is not known: memref.load: index depends on the block argument of func.func; "
        "64 bits of padding in every row would need 69632 bytes of LDS, the limit is 65536",
        _tile("512x64xf16"),
        ("[%x, %c0]", "[%i, %i]"),
    ),
}


@each_kept(KEPT)
def test_allocations_that_are_not_padded(reason: str, edits: list[Edit]) -> None:
    text = edited(COLUMN, *edits)
    assert_kept(text, PadUnhintedAllocs(), said=f"not padded: {reason}", target="gfx942")


_NO_MORE = "no bank conflicts are left, so that no layout has fewer"

PADDED: Kept = {
    "column": (f"4 bytes: conflict cycles 62 -> 0; {_NO_MORE}",),
    # What is taken for granted is said.
    "assumed": (
        "4 bytes: conflict cycles 62 -> 0, if a condition that is not known holds in all lanes "
        f"(block argument of func.func); {_NO_MORE}",
        (_LOAD, f"scf.if %b {{\n{_LOAD}\n}}"),
    ),
    "unknown user": (
        "8 bytes: stock's amount, because an access is not known: used by memref.atomic_rmw",
        (
            _LOAD,
            "%f = arith.constant 0.0 : f16\n"
            "%v = memref.atomic_rmw addf %f, %m[%c0, %c0] : (f16, !tile) -> f16",
        ),
    ),
    "no launch": (
        "8 bytes: stock's amount, because the function has no translation_info with workgroup and "
        "subgroup size",
        (launched(), ""),
    ),
    "half waves": (
        "8 bytes: stock's amount, because waves of 32 lanes: the LDS of gfx942 is only known for "
        "64",
        (launched(), launched(wave=32)),
    ),
    # The rows' readers want padding; the 16-byte writers only keep whole, and free of conflicts,
    # with more of it than stock's 8 bytes.
    "some left": (
        "8 bytes: conflict cycles 60 -> 8; no layout with fewer was found among those allowed (4 "
        "with 16 bytes, which would use more LDS than the stock padding or the limit); 1 access is "
        "split to avoid conflicts",
        _tile("64x128xf16"),
        (
            _LOAD,
            """%h:2 = affine.delinearize_index %x into (4, 16) : index, index
            %j = affine.apply affine_map<(d0) -> (d0 * 8)>(%h#1)
            %k = affine.apply affine_map<(d0) -> (d0 * 4)>(%h#0)
            %w = arith.constant dense<0.0> : vector<8xf16>
            vector.store %w, %m[%h#0, %j] : !tile, vector<8xf16>
            %v = vector.load %m[%h#1, %k] : !tile, vector<4xf16>""",
        ),
    ),
    # Stock's 8 bytes leave no conflict, but take the alignment of 16 bytes away.
    "split": (
        f"8 bytes: conflict cycles 56 -> 0; {_NO_MORE}; 1 access is split to avoid conflicts",
        (_LOAD, "%v = vector.load %m[%x, %c0] : !tile, vector<8xf16>"),
    ),
}


@each_kept(PADDED)
def test_what_is_said_of_a_padding(reason: str, edits: list[Edit]) -> None:
    text = edited(COLUMN, *edits)
    assert_said(text, PadUnhintedAllocs(), said=f"xf16> padded by {reason}", target="gfx942")


# The solver's decisions.


@st.composite
def kernels(draw: st.DrawFn) -> str:
    """Draws one to three tiles of any element type, with columns and rows that lanes share."""
    threads = draw(st.sampled_from([64, 96, 128]))
    lines: list[str] = []
    for number in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["f8E4M3FNUZ", "i8", "f16", "f32", "f64"]))
        rows, width = draw(st.sampled_from([(16, 32), (32, 24), (32, 31), (64, 16), (8, 64)]))
        outer = draw(st.sampled_from([1, 2, 4]))
        shape = f"{outer}x{rows}x{width}x{kind}" if outer > 1 else f"{rows}x{width}x{kind}"
        lead = "%c0, " if outer > 1 else ""
        memref = lds(shape)
        count = draw(st.sampled_from([n for n in (1, 4, 8) if n <= width]))
        split = draw(st.sampled_from([1, 2, 4]))
        vector = f"vector<{count}x{kind}>"
        row_map = f"affine_map<(d0) -> ((d0 floordiv {split}) mod {rows})>"
        column_map = f"affine_map<(d0) -> ((d0 mod {split}) * {count} mod {width - count + 1})>"
        m, r, c = f"%m{number}", f"%r{number}", f"%c{number}c"
        lines += [
            f"{m} = memref.alloc() : {memref}",
            f"{r} = affine.apply {row_map}(%x)",
            f"{c} = affine.apply {column_map}(%x)",
            f"%v{number} = vector.load {m}[{lead}{r}, {c}] : {memref}, {vector}",
            f"%w{number} = memref.load {m}[{lead}{r}, %c0] : {memref}",
        ]
    body = "\n".join(lines)
    return f"""func.func @kernel() attributes {{{launched(f"{threads}, 1, 1")}}} {{
      %c0 = arith.constant 0 : index
      %x = gpu.thread_id x
      {body}
      return
    }}"""


_INSIDE_WORDS = f"""func.func @kernel() attributes {{{launched("64, 1, 1")}}} {{
  %c0 = arith.constant 0 : index
  %x = gpu.thread_id x
  %m = memref.alloc() : {lds("8x64xf16")}
  %r = affine.apply affine_map<(d0) -> ((d0 floordiv 4) mod 8)>(%x)
  %c = affine.apply affine_map<(d0) -> ((d0 mod 4) * 8 mod 57)>(%x)
  %v = vector.load %m[%r, %c] : {lds("8x64xf16")}, vector<8xf16>
  %w = memref.load %m[%r, %c0] : {lds("8x64xf16")}
  return
}}"""
"""Three elements of padding would cost least, but rows would begin inside words."""


@settings(max_examples=12, deadline=None)
@given(text=kernels(), arch=st.sampled_from(["gfx942", "gfx950"]))
@example(text=_INSIDE_WORDS, arch="gfx950")
def test_shared_lds_is_spent_best(text: str, arch: str) -> None:
    """Tile by tile provable, together the least cost that stock's LDS allows."""
    lds_model = lds_of(arch)
    parsed = parse(text)
    before, unrolled = traced(parsed), traced(parsed, unroll=MOST_UNROLLED)
    emitted = [emitted_accesses(each.tile, each.traced) for each in unrolled]
    planned = plan_paddings(parsed.function, arch)
    decisions = padded(parsed, target=arch)
    stock = padded(parse(text), "padding-bits=64", target=arch)
    for old, new in zip(before, traced(parsed), strict=True):
        assert_same_rows_and_columns(old, new)
    budget = total(stock, "lds_bytes_after")
    spent, totals = 0, {0: 0}
    for old, accesses, plan in zip(before, emitted, planned, strict=True):
        if plan.decision is not None:
            check(plan.decision.proof, lds_model, accesses)
        layout = plan.layout or PlainLayout()
        spent += layout_cost(lds_model, old.tile, layout, accesses).rank[0]
        padded_by_stock = total(stock, "lds_bytes_after") > total(stock, "lds_bytes_before")
        amount = 64 // old.tile.element_bits if padded_by_stock else 0
        choices = list(allowed(lds_model, old.tile, accesses, amount))
        least: dict[int, int] = {}
        for (size, cost), (more, dearer) in itertools.product(totals.items(), choices):
            if size + more <= budget:
                least[size + more] = min(cost + dearer, least.get(size + more, cost + dearer))
        totals = least
    assert total(decisions, "lds_bytes_after") <= budget
    assert spent == min(totals.values())


def allowed(
    lds_model: Lds, tile: LdsTile, accesses: tuple[LdsAccess, ...], stock: int
) -> Iterator[tuple[int, int]]:
    """Yields the bytes and the cost of every padding that the pass may use.

    None takes more cycles than stock's, and none moves wide accesses into words.
    """
    # 64 banks of 4 bytes.
    amounts = {stock, *range(256 * 8 // tile.element_bits + 1)}
    costs = {n: layout_cost(lds_model, tile, PaddedLayout(n), accesses) for n in sorted(amounts)}
    inside = inside_words(lds_model, tile, PlainLayout(), accesses)
    for padding, cost in costs.items():
        if inside_words(lds_model, tile, PaddedLayout(padding), accesses) > inside:
            continue
        if padding not in (0, stock) and (
            not costs[0].conflict_cycles or cost.cycles > costs[0].cycles
        ):
            continue
        if padding == stock and not costs[0].conflict_cycles and costs[0].cycles <= cost.cycles:
            continue
        if cost.cycles <= costs[stock].cycles:
            yield PaddedLayout(padding).size_bytes(tile), cost.rank[0]


def inside_words(
    lds_model: Lds, tile: LdsTile, layout: Layout, accesses: tuple[LdsAccess, ...]
) -> int:
    """Counts the machine accesses of a word or more that do not begin at one in all lanes."""
    return sum(
        bool((machine.addresses % 4).any())
        for access in accesses
        for machine in machine_accesses(lds_model, tile, layout, access)
        if machine.instruction.width_bytes >= 4
    )


def test_plan_of_a_padded_allocation_carries_its_proof() -> None:
    parsed = parse(COLUMN)
    (found,), (plan,) = traced(parsed), plan_paddings(parsed.function, "gfx942")
    assert plan.decision is not None
    assert plan.decision.layout == PaddedLayout(2)
    check(plan.decision.proof, lds_of("gfx942"), found.accesses)
    assert plan.decision.optimality is Optimality.FLOOR


def test_wave_that_is_not_full_is_padded_for_the_lanes_it_has() -> None:
    # 32 + 16 lanes read a column of f32: rows of 64 words, 31 and 15 conflicts.
    text = COLUMN.replace("[64, 1, 1]", "[48, 1, 1]").replace("f16", "f32")
    (decision,) = padded(parse(text))
    assert (decision.conflict_cycles_before, decision.conflict_cycles_after) == (46, 0)
    assert decision.detail == "4 bytes per row"


# Options.


_EXPECTED_BITS = "option 'padding-bits' expects auto or a number of bits that is a multiple of 8"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("padding-bits=-8", f"{_EXPECTED_BITS}, got '-8'"),
        ("padding-bits=some", f"{_EXPECTED_BITS}, got 'some'"),
        ("padding-bits=7", f"{_EXPECTED_BITS}, got '7'"),
        ("padding-bits=0", f"{_EXPECTED_BITS}, got '0'"),
        ("padding-bits=8 padding-bits=16", "option 'padding-bits' is given twice"),
        ("lds-limit-bytes=-1", "option 'lds-limit-bytes' expects a number of bytes, got '-1'"),
        ("lds-limit-bytes=x", "option 'lds-limit-bytes' expects an integer, got 'x'"),
    ],
)
def test_bad_options(options: str, message: str) -> None:
    with pytest.raises(PassOptionError, match=re.escape(message)):
        PadUnhintedAllocs.from_options(options)


@pytest.mark.parametrize(("bits", "padded_by"), [(8, 0), (24, 16), (32, None)])
def test_bits_that_are_no_whole_elements_are_a_warning(bits: int, padded_by: int | None) -> None:
    options = f"padding-bits={bits}"
    found = run(parse(COLUMN), PadUnhintedAllocs.from_options(options)).warnings
    assert len(found) == (padded_by is not None)
    said = f"an element has 16 bits, so that rows are padded by {padded_by}"
    assert all(each.endswith(said) for each in found), found


def test_options_print_as_they_are_parsed() -> None:
    text = (
        "bankwise-pad-unhinted-allocs{padding-bits=64 lds-limit-bytes=1024 unresolved-only=false}"
    )
    assert str(PadUnhintedAllocs.from_options("lds-limit-bytes=1024 padding-bits=64")) == text


def test_accesses_of_real_waves_are_arrays_of_lanes(attention: str) -> None:
    for found in traced(parse(attention)):
        assert found.unknown == ()
        assert found.assumptions == ()
        for access in found.accesses:
            assert access.elements.shape == (4, 64)
            assert access.elements.dtype == np.int64


# Alignment that an access needs in every layout.

_ALIGNED = {
    "nvgpu.ldmatrix": (
        16,
        "%v = nvgpu.ldmatrix %m[%r, %c0] numTiles = 1 transpose = false"
        " : MEMREF -> vector<1x2xf16>",
    ),
    "nvgpu.device_async_copy of 16 bytes": (
        16,
        "%v = nvgpu.device_async_copy %from[%r, %c0], %m[%r, %c0], 8 : memref<32x64xf16> to MEMREF",
    ),
    "nvgpu.device_async_copy of 4 bytes": (
        4,
        "%v = nvgpu.device_async_copy %from[%r, %c0], %m[%r, %c0], 2 : memref<32x64xf16> to MEMREF",
    ),
    "memref.atomic_rmw": (2, "%v = memref.atomic_rmw addf %x, %m[%r, %c0] : (f16, MEMREF) -> f16"),
    "vector.load": (
        16,
        "%v = vector.load %m[%r, %c0] alignment = 16 : MEMREF, vector<8xf16>",
    ),
    "vector.store": (
        8,
        "vector.store %w, %m[%r, %c0] alignment = 8 : MEMREF, vector<8xf16>",
    ),
    "memref.load": (4, "%v = memref.load %m[%r, %c0] alignment(4) : MEMREF"),
    "vector.load without a promise": (1, "%v = vector.load %m[%r, %c0] : MEMREF, vector<8xf16>"),
}


def _access_to_rows(access: str) -> str:
    return f"""
func.func @aligned(%from: memref<32x64xf16>, %x: f16, %w: vector<8xf16>, %q: index)
    attributes {{{launched("32, 1, 1", 32)}}} {{
  %c0 = arith.constant 0 : index
  %r = gpu.thread_id x upper_bound 32
  %m = memref.alloc() : {lds("32x64xf16")}
  {access.replace("MEMREF", lds("32x64xf16"))}
  return
}}"""


def _padded_rows(access: str, options: str) -> tuple[int, bool, list[str]]:
    """Returns a row's bytes of padding, whether the allocation is aligned, and the warnings."""
    parsed = parse(_access_to_rows(access))
    found = run(parsed, PadUnhintedAllocs.from_options(options), target="sm_80").warnings
    (allocation,) = lds_allocations(parsed.function)
    padding = 2 * (ir.MemRefType(allocation.results[0].type).shape[-1] - 64)
    return padding, "alignment" in allocation.attributes, found


@pytest.mark.parametrize("bits", ["auto", *map(str, range(16, 289, 16))])
@pytest.mark.parametrize("name", _ALIGNED)
def test_no_padding_takes_the_alignment_that_an_access_needs(name: str, bits: str) -> None:
    needed, access = _ALIGNED[name]
    padding, aligned, found = _padded_rows(access, f"padding-bits={bits}")
    assert padding % needed == 0
    if bits == "auto":
        assert not found
        return
    wanted = int(bits) // 8
    assert padding == -(-wanted // needed) * needed
    assert aligned == (needed > 1)
    assert bool(found) == (padding != wanted)
    for warning in found:
        assert f"{wanted} bytes of padding were asked for; " in warning
        assert f"multiples of {needed} bytes, so that {padding} are used" in warning


def test_padding_that_would_exceed_the_limit_when_aligned_is_left_out() -> None:
    ldmatrix = _ALIGNED["nvgpu.ldmatrix"][1]
    padding, _, found = _padded_rows(ldmatrix, "padding-bits=64 lds-limit-bytes=4352")
    assert padding == 0
    (warning,) = found
    assert "not padded, because 16 bytes exceed the LDS limit" in warning


def test_an_access_that_is_not_known_still_keeps_its_alignment() -> None:
    """Where `auto` falls back to stock's 8 bytes, they become 16 under `ldmatrix`."""
    text = _access_to_rows(_ALIGNED["nvgpu.ldmatrix"][1])
    text = text.replace("gpu.thread_id x upper_bound 32", "arith.addi %q, %c0 : index")
    (decision,) = padded(parse(text), target="sm_80")
    assert decision.detail == "16 bytes per row"
    assert decision.reason.startswith("stock's amount, because")
