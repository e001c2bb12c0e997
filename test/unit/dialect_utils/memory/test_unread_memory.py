# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LDS that nobody reads: what is certain of it, and on which GPUs it is in no code."""

from __future__ import annotations

import pytest

from bankwise.dialect_utils.gpu_target import launch_of
from bankwise.dialect_utils.memory.flow import lds_allocations
from bankwise.dialect_utils.memory.lds_reading import read_allocations
from bankwise.dialect_utils.memory.unread_memory import is_never_read

from ...functions import edited, launched, lds, parse

TILE, ROW = lds("64x4xf16"), lds("1x4xf16, strided<[4, 1], offset: ?>")
BOUNDS = "{in_bounds = [true, true]}"
READ = f"%r = vector.transfer_read %s[%c0, %c0], %z {BOUNDS} : {ROW}, vector<1x4xf16>"
STORE = f"vector.transfer_write %v, %s[%c0, %c0] {BOUNDS} : vector<1x4xf16>, {ROW}"
STAGED = f"""
func.func @f(%z: f16, %v: vector<1x4xf16>, %k: vector<1x4xi1>, %c: i1) -> vector<1x4xf16>
    attributes {{{launched()}}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = gpu.thread_id x
  %a = memref.alloc() : {TILE}
  %b = memref.alloc() : {TILE}
  %s = memref.subview %a[%x, 0] [1, 4] [1, 1] : {TILE} to {ROW}
  {STORE}
  %t = memref.subview %b[%x, 0] [1, 4] [1, 1] : {TILE} to {ROW}
  {READ}
  vector.transfer_write %r, %t[%c0, %c0] {BOUNDS} : vector<1x4xf16>, {ROW}
  gpu.barrier
  %o = vector.transfer_read %b[%c0, %c0], %z {BOUNDS} : {TILE}, vector<1x4xf16>
  memref.dealloc %a : {TILE}
  return %o : vector<1x4xf16>
}}
func.func private @other({TILE})
"""
"""Lanes store a row of one tile, read it again and store it to another one, which others read."""


def test_what_lanes_read_again_at_once_is_no_read() -> None:
    parsed = parse(STAGED)
    first, second = lds_allocations(parsed.function)
    assert is_never_read(first.results[0])
    assert not is_never_read(second.results[0])


MAY_BE_READ = {
    "a read of another place": (READ, READ.replace("%s[%c0", "%s[%c1")),
    "a read of another view": (READ, READ.replace("%s", "%a").replace(ROW, TILE)),
    "a read in another order": (
        READ,
        READ.replace(
            BOUNDS, "{in_bounds = [true, true], permutation_map = affine_map<(i, j) -> (j, i)>}"
        )
        .replace("vector<1x4xf16>", "vector<4x1xf16>")
        .replace("%r =", "%q =")
        + "\n%r = vector.transpose %q, [1, 0] : vector<4x1xf16> to vector<1x4xf16>",
    ),
    "a read that may leave the tile": (READ, READ.replace("[true, true]", "[true, false]")),
    "a barrier before the read": (READ, f"gpu.barrier\n{READ}"),
    "a store before the read": (READ, f"memref.store %z, %s[%c0, %c1] : {ROW}\n{READ}"),
    "a call before the read": (READ, f"func.call @other(%b) : ({TILE}) -> ()\n{READ}"),
    "a store of some lanes": (
        STORE,
        STORE.replace("%c0] {", "%c0], %k {"),
    ),
    "a read by a loop's other iteration": (
        READ,
        f"%r = scf.for %i = %c0 to %c1 step %c1 iter_args(%l = %v) -> vector<1x4xf16> {{\n"
        f"{READ.replace('%r =', '%q =')}\nscf.yield %q : vector<1x4xf16> }}",
    ),
    "a plain load": (STORE, f"{STORE}\n%q = memref.load %a[%x, %c0] : {TILE}"),
    "a load through a cast": (
        STORE,
        f"{STORE}\n%d = memref.cast %a : {TILE} to {lds('?x4xf16')}\n"
        f"%q = memref.load %d[%x, %c0] : {lds('?x4xf16')}",
    ),
    "a load of what may be it": (
        STORE,
        f"{STORE}\n%d = arith.select %c, %a, %b : {TILE}\n%q = memref.load %d[%x, %c0] : {TILE}",
    ),
    "a store through what may be another tile": (
        STORE,
        f"{STORE}\n%d = arith.select %c, %a, %b : {TILE}\nmemref.store %z, %d[%x, %c0] : {TILE}",
    ),
    "a call": (STORE, f"{STORE}\nfunc.call @other(%a) : ({TILE}) -> ()"),
    "an atomic": (
        STORE,
        f"{STORE}\n%q = memref.atomic_rmw addf %z, %a[%x, %c0] : (f16, {TILE}) -> f16",
    ),
    "a loop that carries it": (
        STORE,
        f"{STORE}\n%d = scf.for %i = %c0 to %c1 step %c1 iter_args(%l = %a) -> {TILE} {{\n"
        f"scf.yield %l : {TILE} }}",
    ),
    "its address": (
        STORE,
        f"{STORE}\n%q = memref.extract_aligned_pointer_as_index %a : {TILE} -> index",
    ),
    "a direct store": (
        STORE,
        f"%from = memref.alloc() : memref<64xf16>\n"
        f"amdgpu.gather_to_lds %from[%x], %a[%c0, %c0] : f16, memref<64xf16>, {TILE}\n{STORE}",
    ),
}


@pytest.mark.parametrize("edit", MAY_BE_READ.values(), ids=MAY_BE_READ)
def test_what_may_be_read(edit: tuple[str, str]) -> None:
    parsed = parse(edited(STAGED, edit))
    first, _ = lds_allocations(parsed.function)
    assert not is_never_read(first.results[0])


def test_it_has_no_accesses_where_the_backend_leaves_it_out() -> None:
    parsed = parse(STAGED)
    launch = launch_of(parsed.function)
    both = [read_allocations(parsed.function, launch, drops_unread=each) for each in (False, True)]
    counts = [[len(each.costing) for each in found] for found in both]
    assert counts == [[2, 2], [0, 2]]
