# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the first copies of a loop are issued, when something before the loop waits for memory."""

from __future__ import annotations

import pytest

from bankwise.tuning.overlap.overlap_copies import OverlapCopies

from ...functions import launched, parse, run

_LOOP = """
  %r = scf.for %i = %c0 to %c64 step %c1 iter_args(%x = %c) -> vector<2x2xf32> {
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %v = vector.load %a[%i, %COLUMN] : memref<64x256xf16>, vector<8xf16>
    vector.store %v, %TILE[%at] : !tile, vector<8xf16>
    gpu.barrier memfence [#gpu.address_space<workgroup>]
    %f = nvgpu.ldmatrix %TILE[%row] numTiles = 4 transpose = false : !tile -> vector<4x2xf16>
    %y = nvgpu.mma.sync(%f, %b, %x) mmaShape = [16, 8, 16]
        : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    scf.yield %y : vector<2x2xf32>
  }
"""
_QUERIES = """
  %q = vector.load %a[%c0, %at] : memref<64x256xf16>, vector<8xf16>
  scf.if %few {
    vector.store %q, %n[%at] : !tile, vector<8xf16>
  }
  gpu.barrier memfence [#gpu.address_space<workgroup>]
"""
_SOURCE = f"""
#layout = #hal.pipeline.layout<bindings = [#hal.pipeline.binding<storage_buffer, ReadOnly>]>
!tile = memref<256xf16, #gpu.address_space<workgroup>>
func.func @f(%b: vector<2x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32>
    attributes {{{launched("32, 1, 1", 32)}}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %t = gpu.thread_id x
  %m = memref.alloc() : !tile
  %n = memref.alloc() : !tile
  %g = hal.interface.binding.subspan layout(#layout) binding(0) alignment(64) offset(%c0)
      flags(ReadOnly) : memref<64x256xf16>
  %a = memref.assume_alignment %g, 64 : memref<64x256xf16>
  %at = affine.apply affine_map<(t) -> (t * 8)>(%t)
  %few = arith.cmpi slt, %t, %c8 : index
  BEFORE
  %row = affine.apply affine_map<(t) -> (t mod 16 * 16 + t floordiv 16 * 8)>(%t)
  LOOP
  return %r : vector<2x2xf32>
}}
"""
_ORDER = (
    "vector.load",
    "nvgpu.device_async_copy",
    "nvgpu.device_async_create_group",
    "gpu.barrier",
)


def _order(before: str, column: str = "at") -> list[str]:
    """Returns what the function does up to its loop, when copies are overlapped with 2 slots."""
    loop = _LOOP.replace("COLUMN", column).replace("TILE", "m")
    parsed = parse(_SOURCE.replace("BEFORE", before).replace("LOOP", loop))
    run(parsed, OverlapCopies(slots=2), target="sm_80")
    found = [each.name for each in parsed.operations(*_ORDER, "scf.for")]
    return [name.rpartition(".")[2] for name in found[: found.index("scf.for")]]


_COPIED = ["device_async_copy", "device_async_create_group"]
_LOADED = ["load", "barrier"]


def test_first_copies_do_not_wait_for_what_is_loaded_before_the_loop() -> None:
    assert _order(_QUERIES) == [*_COPIED, *_LOADED]


def test_what_addresses_are_computed_from_goes_with_the_copies() -> None:
    computed = "  %moved = affine.apply affine_map<(t) -> (t * 8 + 0)>(%t)\n"
    assert _order(_QUERIES + computed, "moved") == [*_COPIED, *_LOADED]


def test_first_copies_stay_behind_what_their_addresses_are_loaded_with() -> None:
    table = "  %k = memref.alloc() : memref<64xindex>\n"
    loaded = f"{table}  %at2 = memref.load %k[%c8] : memref<64xindex>\n"
    aligned = "  %moved = affine.apply affine_map<(t) -> (t * 8)>(%at2)\n"
    assert _order(_QUERIES + loaded + aligned, "moved") == [*_LOADED, *_COPIED]


@pytest.mark.parametrize("before", ["", "  gpu.barrier memfence [#gpu.address_space<workgroup>]\n"])
def test_first_copies_stay_where_nothing_before_them_waits_for_memory(before: str) -> None:
    assert _order(before) == [*(["barrier"] if before else []), *_COPIED]


def test_narrow_copies_stay_behind_what_is_loaded_before_the_loop() -> None:
    narrow = _LOOP.replace("COLUMN", "at").replace("TILE", "m").replace("8xf16", "4xf16")
    parsed = parse(_SOURCE.replace("BEFORE", _QUERIES).replace("LOOP", narrow))
    run(parsed, OverlapCopies(slots=2), target="sm_80")
    names = [each.name.rpartition(".")[2] for each in parsed.operations(*_ORDER)]
    assert names[:4] == [*_LOADED, *_COPIED]


def test_the_copies_of_later_iterations_stay_before_the_loop() -> None:
    loop = _LOOP.replace("COLUMN", "at").replace("TILE", "m")
    parsed = parse(_SOURCE.replace("BEFORE", _QUERIES).replace("LOOP", loop))
    run(parsed, OverlapCopies(slots=4), target="sm_80")
    names = [each.name.rpartition(".")[2] for each in parsed.operations(*_ORDER)]
    assert names[:8] == [*_COPIED, *_LOADED, *_COPIED, *_COPIED]


@pytest.mark.parametrize("waits", [False, True])
def test_first_copies_stay_behind_another_loop(waits: bool) -> None:
    """They do so even if something else waits for memory between that loop and one before it."""
    other = (
        "  %s = scf.for %j = %c0 to %c64 step %c1 iter_args(%z = %c0) -> index {\n"
        "    %u = vector.load %a[%j, %at] : memref<64x256xf16>, vector<8xf16>\n"
        "    scf.yield %z : index\n  }\n"
    )
    loop = _LOOP.replace("COLUMN", "at").replace("TILE", "m")
    first = other.replace("%s", "%r0") + _QUERIES.replace("%q", "%p") if waits else ""
    parsed = parse(_SOURCE.replace("BEFORE", first + other + _QUERIES).replace("LOOP", loop))
    run(parsed, OverlapCopies(slots=2), target="sm_80")
    names = [each.name.rpartition(".")[2] for each in parsed.operations(*_ORDER, "scf.for")]
    inside = ["for", "load"]
    expected = [*([*inside, *_LOADED] if waits else []), *inside, *_COPIED, *_LOADED]
    assert names[: len(expected)] == expected
