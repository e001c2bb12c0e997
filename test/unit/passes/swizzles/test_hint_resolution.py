# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every reason for which the hints of a buffer are dropped, which then has the plain layout."""

from __future__ import annotations

import pytest
from iree.compiler import ir

from bankwise.passes.decisions import Action
from bankwise.passes.swizzles.resolve_swizzle_hints import ResolveSwizzleHints

from ...functions import Edit, Kept, assert_said, each_kept, edited, parse, run

HINTED = """
!m = memref<4096xf32>
!flat = memref<4096xf32>
!rows = memref<4x1024xf32>
func.func @f(%o: index, %n: index, %yes: i1, %f: f32, %v: vector<4xf32>, %some: vector<4xi1>,
    %wide: vector<[4]xf32>, %b: !m, %stored: memref<8x!m>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %alloc = memref.alloc() : !m // here
  %0 = iree_codegen.swizzle_hint %alloc[#iree_codegen.xor_shuffle<64, 4>] : !m
  %1 = memref.load %0[%c0] : !m
  return
}
"""
_ALLOC, _HINT, _LOAD = HINTED.splitlines()[-5:-2]


def _user(*lines: str) -> Edit:
    """Returns the edit that lets lines use the hint."""
    return _LOAD, "\n".join(lines)


def _of(kind: str) -> Edit:
    """Returns the edit that gives the buffer another type."""
    return "!m = memref<4096xf32>\n", f"!m = {kind}\n"


_RANK_2 = (_of("memref<64x64xf32>"), ("%0[%c0]", "%0[%c0, %c0]"))


DROPPED: Kept = {
    # Stock IREE 3.13 rewrites this access, and reads elements of the wrong group.
    "misaligned constant": (
        "may begin inside a group of 4 contiguous elements: its offset is 70",
        _user(
            "%c70 = arith.constant 70 : index",
            "%1 = vector.load %0[%c70] : !m, vector<4xf32>",
        ),
    ),
    "narrow across groups": (
        "access of 2 elements may cross a group of 4 contiguous elements: its offset is not known",
        _user("%1 = vector.load %0[%o] : !m, vector<2xf32>"),
    ),
    "vector of rank 0": (
        "vector.load of vector<f32>, a vector of rank 0",
        _user("%1 = vector.load %0[%c0] : !m, vector<f32>"),
    ),
    "scalable vector": (
        "vector.store: scalable vector vector<[4]xf32>",
        _user("vector.store %wide, %0[%c0] : !m, vector<[4]xf32>"),
    ),
    "memref of vectors": (
        "vector.store from a memref of vectors",
        _of("memref<4096xvector<4xf32>>"),
        _user("vector.store %v, %0[%c0] : !m, vector<4xf32>"),
    ),
    "rank 2": (
        "memref of rank 2 is not flat; bankwise-flatten-swizzle-hints makes it so",
        *_RANK_2,
    ),
    "rank 0": ("memref of rank 0 is not flat", _of("memref<f32>"), ("%0[%c0]", "%0[]")),
    "strided": (
        "layout strided<[2]> is not contiguous",
        _of("memref<4096xf32, strided<[2]>>"),
    ),
    "not a power of two": (
        "xor_shuffle<48, 4, 48, 1> is not a bijection: its rows have 12 groups, not a power of two",
        _of("memref<4800xf32>"),
        ("<64, 4>", "<48, 4>"),
    ),
    "no whole rows": (
        "rotate_rows<64, 4> is not a bijection of 4000 elements",
        _of("memref<4000xf32>"),
        ("xor_shuffle", "rotate_rows"),
    ),
    "passed to what is not known": (
        "unsupported user test.use",
        _user('"test.use"(%0) : (!m) -> ()'),
    ),
    "view of the hint": (
        "memref.expand_shape is behind a swizzle hint; iree-codegen-fold-memref-alias-ops folds it",
        _user(
            "%1 = memref.expand_shape %0 [[0, 1]] output_shape [4, 1024] : !m into !rows",
            "%2 = vector.load %1[%c0, %c0] : !rows, vector<4xf32>",
        ),
    ),
    # One hint is on a flat view, the other one on an allocation that is not flat: both go.
    "hint of a view": (
        "memref of rank 2 is not flat",
        *_RANK_2,
        (
            _HINT,
            "%flat = memref.collapse_shape %alloc [[0, 1]] : !m into !flat\n"
            "%3 = iree_codegen.swizzle_hint %flat[#iree_codegen.xor_shuffle<64, 4>] : !flat\n"
            f"%4 = memref.load %3[%c0] : !flat\n{_HINT}",
        ),
    ),
    "masked": (
        "unsupported user vector.maskedload",
        _user(
            "%1 = vector.maskedload %0[%c0], %some, %v"
            " : !m, vector<4xi1>, vector<4xf32> into vector<4xf32>"
        ),
    ),
    "transfer": (
        "unsupported user vector.transfer_read",
        _user("%1 = vector.transfer_read %0[%c0], %f {in_bounds = [true]} : !m, vector<4xf32>"),
    ),
    "atomic": (
        "unsupported user memref.atomic_rmw",
        _user("%1 = memref.atomic_rmw addf %f, %0[%c0] : (f32, !m) -> f32"),
    ),
    "copied": ("unsupported user memref.copy", _user("memref.copy %0, %b : !m to !m")),
    "stored as a value": (
        "unsupported user memref.store",
        _user("memref.store %0, %stored[%c0] : memref<8x!m>"),
    ),
    "grows in a loop": (
        "a value carries the buffer with different swizzles",
        (
            _HINT,
            "%0 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %alloc) -> !m {\n"
            f"{_HINT.replace('%alloc', '%a').replace('%0', '%h')}\nscf.yield %h : !m\n}}",
        ),
    ),
    # Only one of two allocations that rotate through the loop is hinted.
    "rotates with a buffer without a hint": (
        "a value carries the buffer with different swizzles",
        (_ALLOC, f"{_ALLOC}\n{_ALLOC.replace('%alloc', '%alloc2').replace(' // here', '')}"),
        _user(
            "%2:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %0, %q = %alloc2) -> (!m, !m) {",
            "scf.yield %q, %p : !m, !m\n}",
            "%1 = memref.load %2#0[%c0] : !m",
        ),
    ),
    "while": (
        "unsupported user scf.while",
        _user(
            "%r = scf.while (%a = %0) : (!m) -> !m {",
            "%x = memref.load %a[%c0] : !m",
            "%c = arith.cmpf olt, %x, %f : f32",
            "scf.condition(%c) %a : !m\n} do {\n^bb0(%c: !m):\nscf.yield %c : !m\n}",
            "%1 = memref.load %r[%c0] : !m",
        ),
    ),
    "branches": (
        "unsupported user cf.br",
        _user("cf.br ^next(%0 : !m)\n^next(%p: !m):", "%1 = memref.load %p[%c0] : !m"),
    ),
    "global": (
        "buffer comes from memref.get_global, not from an allocation",
        ("memref.alloc()", "memref.get_global @data"),
        ("func.func @f", 'memref.global "private" @data : !m\nfunc.func @f'),
    ),
}


@pytest.fixture(scope="module", autouse=True)
def unregistered_operations(context: ir.Context) -> None:
    context.allow_unregistered_dialects = True


@each_kept(DROPPED)
def test_hints_are_dropped(reason: str, edits: list[Edit]) -> None:
    text = edited(HINTED, *edits)
    after = str(assert_said(text, ResolveSwizzleHints(), said=reason))
    assert "swizzle_hint" not in after
    assert "arith.xori" not in after


def test_hints_are_resolved_otherwise() -> None:
    (decision,) = run(parse(HINTED), ResolveSwizzleHints()).decisions
    assert decision.action is Action.RESOLVE
