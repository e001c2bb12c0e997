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

from ...functions import Parsed, lds, parse, run


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
