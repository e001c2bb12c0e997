# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The three passes that move swizzle hints, and the tracing of allocations under them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iree.compiler import ir

from bankwise.bank_model.swizzles import RotateRows, Swizzle, XorShuffle
from bankwise.dialect_utils.diagnostics import PassFailure
from bankwise.dialect_utils.index.index_bits import Congruence, IndexBits
from bankwise.dialect_utils.memory.buffer_starts import start_offsets
from bankwise.dialect_utils.memory.flow import reach_of, roots_of
from bankwise.dialect_utils.memory.lds_ops import ALLOC
from bankwise.dialect_utils.swizzle_hint import hint_swizzle
from bankwise.passes.swizzles.absorb_swizzle_hints import AbsorbSwizzleHints
from bankwise.passes.swizzles.flatten_swizzle_hints import FlattenSwizzleHints
from bankwise.passes.swizzles.reinsert_swizzle_hints import ReinsertSwizzleHints

from ...functions import (
    HERE,
    Edit,
    Kept,
    Parsed,
    assert_fails,
    assert_kept,
    each_kept,
    edited,
    lds,
    parse,
    run,
)


@pytest.fixture(scope="module", autouse=True)
def unregistered_operations(context: ir.Context) -> None:
    context.allow_unregistered_dialects = True


def elements_of(value: ir.Value) -> np.ndarray:
    """Interprets views: returns the allocation's element behind each index of a memref."""
    kind = ir.MemRefType(value.type)
    assert not isinstance(value, ir.BlockArgument)
    view = value.owner.operation
    if view.name == "memref.alloc":
        return np.arange(np.prod(kind.shape)).reshape(kind.shape)
    source = elements_of(view.operands[0])
    if view.name == "iree_codegen.swizzle_hint":
        moved = hint_swizzle(view).apply(np.arange(source.size))
        return source.reshape(-1)[moved].reshape(source.shape)
    if view.name in ("memref.expand_shape", "memref.collapse_shape", "memref.cast"):
        return source.reshape(kind.shape)
    assert view.name == "memref.subview", view.name
    starts = ir.DenseI64ArrayAttr(view.attributes["static_offsets"])
    sizes = ir.DenseI64ArrayAttr(view.attributes["static_sizes"])
    parts = tuple(slice(a, a + n) for a, n in zip(starts, sizes, strict=True))
    return source[parts].reshape(kind.shape)


def accessed(parsed: Parsed) -> dict[str, np.ndarray]:
    """Returns the elements behind the memref of each `test.access`, by its name."""
    return {
        ir.StringAttr(op.attributes["name"]).value: elements_of(op.operands[0])
        for op in parsed.operations("test.access")
    }


def swizzles() -> st.SearchStrategy[Swizzle]:
    """Returns swizzles whose rows fill any multiple of 64 elements."""

    def shuffle(row: int, group: int, stride: int, phase: int) -> XorShuffle:
        groups = max(row >> group, 1)
        return XorShuffle(row, row // groups, row * stride, min(phase, groups))

    powers = st.sampled_from([8, 16, 32, 64])
    small = st.integers(1, 4)
    return st.one_of(
        st.builds(shuffle, powers, st.integers(0, 6), small, small),
        st.builds(
            lambda row, groups: RotateRows(row, row // groups),
            powers,
            st.sampled_from([1, 2, 4, 8]),
        ),
    )


TILE = lds("16x64xf16")
ROWS = lds("4x64xf16, strided<[64, 1], offset: 192>")


def hinted_tile(chain: list[Swizzle]) -> str:
    hints, last = "", "%a"
    for number, swizzle in enumerate(chain):
        hints += (
            f"%h{number} = iree_codegen.swizzle_hint {last}[#iree_codegen.{swizzle}] : {TILE}\n"
        )
        last = f"%h{number}"
    return f"""func.func @f() {{
      %a = memref.alloc() : {TILE}
      {hints}
      %s = memref.subview {last}[3, 0] [4, 64] [1, 1] : {TILE} to {ROWS}
      "test.access"({last}) {{name = "tile"}} : ({TILE}) -> ()
      "test.access"(%s) {{name = "rows"}} : ({ROWS}) -> ()
      memref.dealloc %a : {TILE}
      return
    }}"""


@given(st.lists(swizzles(), min_size=1, max_size=3))
@settings(max_examples=40, deadline=None)
def test_hints_mean_the_same_after_every_pass(chain: list[Swizzle]) -> None:
    parsed = parse(hinted_tile(chain))
    before = accessed(parsed)
    np.testing.assert_array_equal(before["rows"], before["tile"][3:7])
    expected = np.arange(16 * 64)
    for swizzle in reversed(chain):
        expected = swizzle.apply(expected)
    np.testing.assert_array_equal(before["tile"].reshape(-1), expected)

    run(parsed, FlattenSwizzleHints())
    flat = accessed(parsed)
    run(parsed, AbsorbSwizzleHints())
    assert not parsed.operations("iree_codegen.swizzle_hint")
    plain = accessed(parsed)
    run(parsed, ReinsertSwizzleHints())
    again = accessed(parsed)
    for name, elements in before.items():
        np.testing.assert_array_equal(flat[name], elements)
        np.testing.assert_array_equal(again[name], elements)
    np.testing.assert_array_equal(plain["tile"].reshape(-1), np.arange(16 * 64))


def test_absorbed_without_flattening_comes_back_flat() -> None:
    chain: list[Swizzle] = [XorShuffle(64, 8), RotateRows(32, 4)]
    parsed = parse(hinted_tile(chain))
    before = accessed(parsed)
    run(parsed, AbsorbSwizzleHints(), ReinsertSwizzleHints())
    for name, elements in accessed(parsed).items():
        np.testing.assert_array_equal(elements, before[name])
    (allocation,) = parsed.operations(ALLOC)
    assert ir.MemRefType(allocation.results[0].type).shape == [1024]


BOTH = lds("2x256xf16")
BUFFERS = lds("4x64xf16, strided<[64, 1], offset: ?>")


def double_buffered(swizzle: str, store: str) -> str:
    """Returns a loop that carries a buffer of two, of 4x64 elements each."""
    one = lds("256xf16, strided<[1], offset: ?>")
    return f"""func.func @f(%n: index, %i: index) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %a = memref.alloc() {{iree_codegen.swizzle = {swizzle}}} : {BOTH}
      %s = memref.subview %a[%i, 0] [1, 256] [1, 1] : {BOTH} to {one}
      %e = memref.expand_shape %s [[0, 1]] output_shape [4, 64] : {one} into {BUFFERS}
      %r = scf.for %k = %c0 to %n step %c1 iter_args(%x = %e) -> ({BUFFERS}) {{
        %w = arith.remui %k, %i : index
        %t = memref.subview %a[%w, 0] [1, 256] [1, 1] : {BOTH} to {one}
        %f = memref.expand_shape %t [[0, 1]] output_shape [4, 64] : {one} into {BUFFERS}
        {store}
        %v = memref.load %x[%i, %i] : {BUFFERS}
        scf.yield %f : {BUFFERS}
      }}
      return
    }}"""


def test_failure_leaves_the_function_as_it_was() -> None:
    """The loop's buffers are fine; the whole allocation beside them is found last."""
    store = f"%u = memref.load %a[%i, %i] : {BOTH}"
    parsed = parse(double_buffered("#iree_codegen.rotate_rows<64, 8>", store))
    before = str(parsed)
    with pytest.raises(PassFailure, match="another part that is used"):
        run(parsed, ReinsertSwizzleHints())
    assert str(parsed) == before


def test_loop_carried_buffers_start_at_multiples_of_their_size() -> None:
    parsed = parse(double_buffered("#iree_codegen.rotate_rows<64, 8>", ""))
    (allocation,) = parsed.operations(ALLOC)
    (loop,) = parsed.operations("scf.for")
    carried = loop.regions[0].blocks[0].arguments[1]
    assert roots_of(carried) == (allocation.results[0],)
    assert roots_of(loop.results[0]) == (allocation.results[0],)
    starts = start_offsets(carried, IndexBits(parsed.function))
    assert starts == {allocation.results[0]: Congruence(256, 0)}
    reach = reach_of(allocation.results[0])
    assert set(reach.joins) == {carried, loop.results[0]}
    assert [use.user.name for use in reach.sinks] == ["memref.load"]
    run(parsed, ReinsertSwizzleHints())
    (load,) = parsed.operations("memref.load")
    assert load.operands[0].owner.operation.name == "memref.expand_shape"


def prefetchable(access: str) -> str:
    """Returns a loop that stages rows of `%src` in a hinted tile by `access` and adds them up."""
    return f"""func.func @f(%src: memref<128x1024xf16>)
    -> vector<4xf16> {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %cst = arith.constant 0.0 : f16
  %zero = arith.constant dense<0.0> : vector<4xf16>
  %tid = gpu.thread_id x
  %c4 = arith.constant 4 : index
  %row = arith.divui %tid, %c4 : index
  %t = arith.remui %tid, %c4 : index
  %t4 = arith.muli %t, %c4 : index
  %a = memref.alloc() : {TILE}
  %h0 = iree_codegen.swizzle_hint %a[#iree_codegen.xor_shuffle<8, 4, 64, 1>] : {TILE}
  %h = iree_codegen.swizzle_hint %h0[#iree_codegen.xor_shuffle<16, 8, 128, 1>] : {TILE}
  %res = scf.for %i = %c0 to %c64 step %c1 iter_args(%acc = %zero) -> (vector<4xf16>) {{
    {access}
    gpu.barrier
    %l = vector.transfer_read %h[%t, %t4], %cst {{in_bounds = [true]}} : {TILE}, vector<4xf16>
    %s = arith.addf %l, %acc : vector<4xf16>
    gpu.barrier
    scf.yield %s : vector<4xf16>
  }}
  return %res : vector<4xf16>
}}"""


STREAMED = f"""%g = vector.transfer_read %src[%row, %i], %cst {{in_bounds = [true]}}
        : memref<128x1024xf16>, vector<4xf16>
    vector.transfer_write %g, %h[%row, %t4] {{in_bounds = [true]}} : vector<4xf16>, {TILE}"""
GATHERED = f"""amdgpu.gather_to_lds %src[%row, %i], %h[%row, %c0]
        : vector<2xf16>, memref<128x1024xf16>, {TILE}"""


def prefetched(access: str) -> Parsed:
    """Returns a streaming kernel on a hinted tile, which stock has prefetched.

    Its hints are reinserted.
    """
    parsed = parse(prefetchable(access))
    run(parsed, FlattenSwizzleHints(), AbsorbSwizzleHints())
    stock = (
        "iree-llvmgpu-prefetch-shared-memory{num-stages=2},iree-codegen-fold-memref-alias-ops,"
        "canonicalize,cse,iree-llvmgpu-vector-lowering,canonicalize,cse"
    )
    parsed.run_native(stock)
    run(parsed, ReinsertSwizzleHints())
    return parsed


def test_chain_survives_prefetching() -> None:
    parsed = prefetched(STREAMED)
    parsed.run_native("iree-codegen-fold-memref-alias-ops,cse")
    inner, outer = parsed.operations("iree_codegen.swizzle_hint")
    assert [str(hint_swizzle(hint)) for hint in (inner, outer)] == [
        "xor_shuffle<8, 4, 64, 1>",
        "xor_shuffle<16, 8, 128, 1>",
    ]
    on_tile = [
        op
        for op in parsed.operations("vector.load") + parsed.operations("vector.store")
        if any(o == outer.results[0] for o in op.operands)
    ]
    # The prologue's and the loop's store, the loop's and the epilogue's load.
    assert len(on_tile) == 4


def test_chain_survives_multi_buffering() -> None:
    parsed = prefetched(GATHERED)
    (allocation,) = parsed.operations(ALLOC)
    assert ir.MemRefType(allocation.results[0].type).shape == [2, 1024]
    assert not [name for name in allocation.attributes if "swizzle" in name]
    hinted = [
        (op, op.operands[number])
        for name, number in (("vector.load", 0), ("amdgpu.gather_to_lds", 3))
        for op in parsed.operations(name)
    ]
    assert len(hinted) == 4
    for _, base in hinted:
        view = base.owner.operation
        assert view.name == "memref.expand_shape"
        outer = view.operands[0].owner.operation
        assert str(hint_swizzle(outer)) == "xor_shuffle<16, 8, 128, 1>"
        inner = outer.operands[0].owner.operation
        assert str(hint_swizzle(inner)) == "xor_shuffle<8, 4, 64, 1>"
        assert inner.operands[0].owner.operation.name == "memref.collapse_shape"


# Swizzles that cannot be reinserted, or absorbed.

SWIZZLE = "#iree_codegen.rotate_rows<64, 4>"
STOWED = f"""
!tile = {lds("16x64xf16")}
!flat = {lds("1024xf16")}
func.func @f(%p: i1, %i: index, %n: index, %arg: !tile) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %a = memref.alloc() {{iree_codegen.swizzle = {SWIZZLE}}} : !tile
  %v = memref.load %a[%i, %i] : !tile
  return
}}
"""
STOWED_ALLOC, STOWED_LOAD = STOWED.splitlines()[-4:-2]


def _tile(kind: str) -> Edit:
    return "!tile = memref<16x64xf16", f"!tile = memref<{kind}"


def _use(*lines: str) -> Edit:
    """Returns the edit that puts lines in the place of the load."""
    return STOWED_LOAD, "\n".join(lines)


def _part(view: str, kind: str, index: str = "%i, %i", start: str = "") -> Edit:
    """Returns the edit that loads from a part of the allocation, of which a choice is made."""
    part = lds(kind)
    return _use(
        f"{start}%s0 = {view} {part}",
        f"%s = arith.select %p, %s0, %s0 : {part}",
        f"%v = memref.load %s[{index}] : {part} {HERE}",
    )


_ROWS = "4x64xf16, strided<[64, 1], offset: ?>"
_AT_ROW = "memref.subview %a[{}, 0] [4, 64] [1, 1] : !tile to"

NOT_REINSERTED: Kept = {
    "with and without": (
        "arith.select carries memory with different swizzles: [rotate_rows<64, 4>] and none",
        _use("%b = memref.alloc() : !tile", f"%s = arith.select %p, %a, %b : !tile {HERE}"),
    ),
    "different": (
        "scf.for carries memory with different swizzles: [rotate_rows<64, 4>] and "
        "[rotate_rows<64, 4>, rotate_rows<64, 8>]",
        _use(
            f"%b = memref.alloc() {{iree_codegen.swizzle = [{SWIZZLE}, "
            "#iree_codegen.rotate_rows<64, 8>]} : !tile",
            f"%r = scf.for %k = %c0 to %n step %c1 iter_args(%x = %a) -> (!tile) {{ {HERE}",
            "%v = memref.load %x[%i, %i] : !tile\nscf.yield %b : !tile\n}",
        ),
    ),
    "argument": (
        "scf.if carries memory with different swizzles",
        _use(
            f"%s = scf.if %p -> !tile {{ {HERE}",
            "scf.yield %a : !tile\n} else {\nscf.yield %arg : !tile\n}",
        ),
    ),
    "untraceable": (
        "arith.select carries an allocation with a swizzle and memory that cannot be traced: "
        "test.view is not a known view",
        _use(
            '%b = "test.view"(%arg) : (!tile) -> !tile',
            f"%s = arith.select %p, %a, %b : !tile {HERE}",
        ),
    ),
    "empty": ("iree_codegen.swizzle is empty", (SWIZZLE, "[]")),
    "no swizzle": (
        "iree_codegen.swizzle: unknown swizzle attribute 4 : i64",
        (SWIZZLE, f"[{SWIZZLE}, 4]"),
    ),
    "dynamic": (
        "the swizzle of an allocation cannot be reinserted: its shape is dynamic",
        _tile("?x64xf16"),
        ("alloc()", "alloc(%n)"),
    ),
    "rank 0": (
        "the swizzle of an allocation cannot be reinserted: it has rank 0",
        _tile("f16"),
        ("%a[%i, %i]", "%a[]"),
    ),
    "strided": (
        "cannot be reinserted: its layout strided<[68, 1]> is not the identity",
        _tile("8x64xf16, strided<[68, 1]>"),
    ),
    "every other": (
        "cannot be reinserted: its layout strided<[2]> is not the identity",
        _tile("512xf16, strided<[2]>"),
        ("%a[%i, %i]", "%a[%i]"),
    ),
    "hint as well": (
        "swizzle_hint of an allocation that has iree_codegen.swizzle as well",
        _use(
            f"%h = iree_codegen.swizzle_hint %a[{SWIZZLE}] : !tile {HERE}",
            "%v = memref.load %h[%i, %i] : !tile",
        ),
    ),
    "permuted": (
        "amdgpu.gather_to_lds writes data swizzled for 512 elements, but the allocation is now "
        "used as 1024 elements and the swizzle does not repeat in it",
        (SWIZZLE, "#iree_codegen.xor_shuffle<64, 4>, bankwise.permuted_elements = 512 : i64"),
    ),
    "columns": (
        "memref.load uses part of an allocation with a swizzle that cannot be hinted: "
        "memref<16x32xf16, strided<[64, 1], offset: ?>> is not contiguous",
        _part(
            "memref.subview %a[0, %i] [16, 32] [1, 1] : !tile to",
            "16x32xf16, strided<[64, 1], offset: ?>",
        ),
    ),
    # The frames of a loop may start at any row: rows 0 to 3 of one are rows 1 to 4 of the other.
    "overlapping": (
        "it may start elsewhere than at a multiple of its 256 elements",
        _part(_AT_ROW.format("%i"), _ROWS),
    ),
    # Rows 2 to 5 are no quarter of 16 rows.
    "odd start": (
        "it may start elsewhere than at a multiple of its 256 elements",
        _part(_AT_ROW.format(2), "4x64xf16, strided<[64, 1], offset: 128>"),
    ),
    "two sizes": (
        "it has 256 elements, another part that is used has 1024",
        _part(
            _AT_ROW.format("%row"),
            _ROWS,
            start=f"%row = arith.muli %i, %c4 : index\n{STOWED_LOAD.replace('%v', '%w')}\n",
        ),
    ),
    "half rows": (
        "its 32 elements are not whole rows of rotate_rows<64, 4>",
        _tile("16x32xf16"),
        _part(
            "memref.subview %a[%i, 0] [1, 32] [1, 1] : !tile to",
            "32xf16, strided<[1], offset: ?>",
            "%i",
        ),
    ),
    "dynamic part": (
        "cannot be hinted: its shape is dynamic",
        _part("memref.subview %a[0, 0] [%n, 64] [1, 1] : !tile to", "?x64xf16, strided<[64, 1]>"),
    ),
    "one element": (
        "cannot be hinted: it has rank 0",
        _part(
            "memref.subview %a[%i, %i] [1, 1] [1, 1] : !tile to", "f16, strided<[], offset: ?>", ""
        ),
    ),
    "unranked": (
        "is not a ranked memref",
        _use(
            f"%u = memref.cast %a : !tile to {lds('*xf16')}",
            f"%s = arith.select %p, %u, %u : {lds('*xf16')}",
            f'"test.use"(%s) : ({lds("*xf16")}) -> () {HERE}',
        ),
    ),
    "other elements": (
        "its elements are f16",
        _tile("2048xi8"),
        _part("memref.view %a[%c0][] : !tile to", "1024xf16", "%i"),
    ),
    "reinterpreted": (
        "it may start elsewhere",
        _tile("1024xf16"),
        _part(
            "memref.reinterpret_cast %a to offset: [64], sizes: [64], strides: [1] : !tile to",
            "64xf16, strided<[1], offset: 64>",
            "%i",
        ),
    ),
    # The stride of the dimension of size 1 would change, and the user might not take that.
    "unknown user": (
        "test.use uses part of an allocation with a swizzle that cannot be hinted: its type would "
        "change",
        _tile("4x2x64xf16"),
        _use(
            "%w0 = memref.subview %a[%i, %i, 0] [1, 1, 64] [1, 1, 1] : !tile to !part",
            "%s = arith.select %p, %w0, %w0 : !part",
            f'"test.use"(%s) : (!part) -> () {HERE}',
        ),
        ("!flat = ", f"!part = {lds('1x1x64xf16, strided<[128, 64, 1], offset: ?>')}\n!flat = "),
    ),
}


@each_kept(NOT_REINSERTED)
def test_swizzles_that_cannot_be_reinserted(reason: str, edits: list[Edit]) -> None:
    text = edited(STOWED, *edits)
    if HERE not in text:  # The allocation itself is at fault.
        text = text.replace(": !tile\n  %v", f": !tile {HERE}\n  %v")
    assert_fails(text, ReinsertSwizzleHints(), said=reason)


HINTED = f"""
!tile = {lds("2048xf16")}
!half = {lds("1024xf16, strided<[1], offset: 1024>")}
func.func @f(%i: index, %n: index, %arg: !tile) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : !tile
  %h = iree_codegen.swizzle_hint %a[{SWIZZLE}] : !tile
  %v = memref.load %h[%i] : !tile
  return
}}
"""
ALLOCATED, HINT, HINTED_LOAD = HINTED.splitlines()[-5:-2]
HALF = "%s = memref.subview %a[1024] [1024] [1] : !tile to !half"
OTHER = "iree_codegen.swizzle_hint {}[#iree_codegen.rotate_rows<64, 8>] : !tile"
NO_ALLOCATION = "expected swizzle_hint operand to be defined by a memref.alloc"
DIFFER = "accesses to one allocation go through different swizzle hints: [rotate_rows<64, 4>] and "

NOT_ABSORBED: Kept = {
    "argument": (NO_ALLOCATION, (HINT, f"{HINT.replace('%a', '%arg')} {HERE}")),
    "carried by a loop": (
        NO_ALLOCATION,
        (
            HINT,
            "%r = scf.for %k = %c0 to %n step %c1 iter_args(%x = %a) -> !tile {\n"
            f"{HINT.replace('%a', '%x')} {HERE}",
        ),
        (HINTED_LOAD, f"{HINTED_LOAD}\nscf.yield %x : !tile\n}}"),
    ),
    "part": (
        "swizzle_hint is not on a whole allocation: memref.subview is between them",
        (HINT, f"{HALF}\n{HINT.replace('%a', '%s').replace('!tile', '!half')} {HERE}"),
        ("%h[%i] : !tile", "%h[%i] : !half"),
    ),
    "different": (
        f"{DIFFER}[rotate_rows<64, 8>]",
        (
            HINTED_LOAD,
            f"%g = {OTHER.format('%a')} {HERE}\n{HINTED_LOAD}\n%w = memref.load %g[%i] : !tile",
        ),
    ),
    # The same hints in another order are another layout.
    "different order": (
        "go through different swizzle hints",
        (
            HINTED_LOAD,
            f"%h1 = {OTHER.format('%h')}\n%g = {OTHER.format('%a')}\n"
            f"{HINT.replace('%h', '%g1').replace('%a', '%g')} {HERE}\n"
            "%v = memref.load %h1[%i] : !tile\n%w = memref.load %g1[%i] : !tile",
        ),
    ),
    # One access through the whole chain, one through the first hint only.
    "inside a chain": (
        f"{DIFFER}[rotate_rows<64, 4>, rotate_rows<64, 8>]",
        (
            HINTED_LOAD,
            f"%g = {OTHER.format('%h')} {HERE}\n{HINTED_LOAD}\n%w = memref.load %g[%i] : !tile",
        ),
    ),
    "beside": (
        "swizzle_hint does not hold for all accesses: memref.load uses the allocation beside it",
        (HINT, f"{HINT} {HERE}\n{HALF}"),
        (HINTED_LOAD, f"{HINTED_LOAD}\n%w = memref.load %s[%i] : !half"),
    ),
    "stowed already": (
        "the allocation of swizzle_hint already has the attribute iree_codegen.swizzle",
        ("alloc()", f"alloc() {{iree_codegen.swizzle = {SWIZZLE}}}"),
        (HINT, f"{HINT} {HERE}"),
    ),
}


@each_kept(NOT_ABSORBED)
def test_hints_that_cannot_be_absorbed(reason: str, edits: list[Edit]) -> None:
    assert_fails(edited(HINTED, *edits), AbsorbSwizzleHints(), said=reason)


UNFLATTENED = f"""
!tile = {lds("32x64xf32")}
!part = {lds("16x64xf32, strided<[64, 1]>")}
func.func @f(%n: index, %arg: !tile) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : !tile
  %h = iree_codegen.swizzle_hint %a[{SWIZZLE}] : !tile // here
  "test.use"(%h) : (!tile) -> ()
  return
}}
"""
UNFLATTENED_HINT = UNFLATTENED.splitlines()[-4]


def _of(kind: str) -> Edit:
    return "!tile = memref<32x64xf32", f"!tile = memref<{kind}"


LEFT: Kept = {
    "rank 0": ("swizzle hint of memref<f32> is left as it is: it has rank 0", _of("f32")),
    "dynamic": (
        "swizzle hint of memref<?x64xf32> is left as it is: its shape is dynamic",
        _of("?x64xf32"),
        ("alloc()", "alloc(%n)"),
    ),
    "padded": (
        "is left as it is: its layout strided<[68, 1]> is not the identity",
        _of("8x64xf32, strided<[68, 1]>"),
    ),
    "symbol in the layout": (
        "is not the identity",
        _of("8x64xf32, affine_map<(d0, d1)[s0] -> (d0 * s0 + d1)>"),
        ("alloc()", "alloc()[%n]"),
    ),
    "argument": (
        "its operand is an argument of func.func, not a memref.alloc",
        ("hint %a", "hint %arg"),
    ),
    "carried by a loop": (
        "its operand is an argument of scf.for, not a memref.alloc",
        (
            UNFLATTENED_HINT,
            "%b = memref.alloc() : !tile\n"
            "%r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%x = %a, %y = %b)"
            " -> (!tile, !tile) {\n"
            f"{UNFLATTENED_HINT.replace('%a', '%x')}",
        ),
        ("  return", "  scf.yield %y, %x : !tile, !tile\n}\nreturn"),
    ),
    "part": (
        "its operand comes from memref.subview, not from a memref.alloc",
        (
            UNFLATTENED_HINT,
            "%s = memref.subview %a[0, 0] [16, 64] [1, 1] : !tile to !part\n"
            f"{UNFLATTENED_HINT.replace('%a', '%s').replace('!tile', '!part')}",
        ),
        ("(!tile) -> ()", "(!part) -> ()"),
    ),
}


@each_kept(LEFT)
def test_hints_that_are_not_flattened(reason: str, edits: list[Edit]) -> None:
    assert_kept(edited(UNFLATTENED, *edits), FlattenSwizzleHints(), said=reason)
