# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `bankwise-swizzle-lds-allocs` plans, `bankwise-resolve-swizzle-hints` carries out.

Each program stores rows and loads columns of 32 x 32 elements through views of an allocation.
Between the two passes the compiler's own lowering runs, as for functions without a pipeline.
"""

from __future__ import annotations

from itertools import product

import pytest

from bankwise.dialect_utils.memory.lds_ops import TABLE, View
from bankwise.iree_plugin.recording import RecordingKey, RecordingStore
from bankwise.passes.decisions import Action
from bankwise.passes.pipeline_edit import LOWERED, RESOLVE_SWIZZLE_HINTS
from bankwise.passes.swizzles.flatten_swizzle_hints import FlattenSwizzleHints
from bankwise.passes.swizzles.resolve_swizzle_hints import ResolveSwizzleHints
from bankwise.passes.swizzles.swizzle_lds_allocs import SwizzleLdsAllocs

from ...functions import launched, lds, parse, run

_TILE, _FLAT, _ANY = lds("32x32xf32"), lds("1024xf32"), lds("?x?xf32")
_PART = lds("32x32xf32, strided<[32, 1], offset: ?>")
_TURNED = lds("32x32xf32, strided<[1, 32]>")

# From a tile `IN` to a tile `OUT` of the same shape: the view's lines and the type of its result.
_STEPS: dict[str, tuple[str, str]] = {
    "memref.assume_alignment": (f"OUT = memref.assume_alignment IN, 16 : {_TILE}", _TILE),
    "memref.cast": (
        f"OUTc = memref.cast IN : {_TILE} to {_ANY}\nOUT = memref.cast OUTc : {_ANY} to {_TILE}",
        _TILE,
    ),
    "memref.collapse_shape": (
        f"OUTc = memref.collapse_shape IN [[0, 1]] : {_TILE} into {_FLAT}\n"
        f"OUT = memref.expand_shape OUTc [[0, 1]] output_shape [32, 32] : {_FLAT} into {_TILE}",
        _TILE,
    ),
    "memref.memory_space_cast": (
        f"OUTc = memref.memory_space_cast IN : {_TILE} to memref<32x32xf32>\n"
        f"OUT = memref.memory_space_cast OUTc : memref<32x32xf32> to {_TILE}",
        _TILE,
    ),
    "iree_codegen.swizzle_hint": (
        f"OUTc = memref.collapse_shape IN [[0, 1]] : {_TILE} into {_FLAT}\n"
        f"OUTh = iree_codegen.swizzle_hint OUTc[#iree_codegen.xor_shuffle<64, 32>] : {_FLAT}\n"
        f"OUT = memref.expand_shape OUTh [[0, 1]] output_shape [32, 32] : {_FLAT} into {_TILE}",
        _TILE,
    ),
    "memref.reinterpret_cast": (
        "OUT = memref.reinterpret_cast IN to offset: [0], sizes: [32, 32], strides: [32, 1] : "
        f"{_TILE} to {_TILE}",
        _TILE,
    ),
    "memref.transpose": (
        f"OUT = memref.transpose IN (i, j) -> (j, i) : {_TILE} to {_TURNED}",
        _TURNED,
    ),
    "memref.subview": (
        f"OUT = memref.subview IN[%zero, 0] [32, 32] [1, 1] : {_TILE} to {_PART}",
        _PART,
    ),
}
_STEPS["memref.expand_shape"] = _STEPS["memref.collapse_shape"]
_NOT_HERE = {"amdgpu.fat_raw_buffer_cast", "memref.view"}
"""Views of global memory, and of bytes."""

_ACCESSES: dict[str, str] = {
    "memref": "memref.store %x, %v[%row, %column] : KIND\n"
    "%r = memref.load %v[%column, %row] : KIND",
    "vector": "%w = vector.broadcast %x : f32 to vector<4xf32>\n"
    "vector.store %w, %v[%row, %four] : KIND, vector<4xf32>\n"
    "%r = memref.load %v[%column, %row] : KIND",
    "transfer": "%w = vector.broadcast %x : f32 to vector<4xf32>\n"
    "vector.transfer_write %w, %v[%row, %four] {in_bounds = [true]} : vector<4xf32>, KIND\n"
    "%t4 = vector.transfer_read %v[%column, %row], %x {in_bounds = [true]} : KIND, vector<1xf32>\n"
    "%r = vector.extract %t4[0] : f32 from vector<1xf32>",
}


def _program(views: tuple[str, ...], accesses: str) -> str | None:
    """Returns the program; None where a view is not of a plain tile, or rows have gaps."""
    if "memref.transpose" in views and accesses == "vector":
        return None
    lines, value, kind = [], "%a", _TILE
    for number, view in enumerate(views):
        if kind != _TILE:
            return None
        text, kind = _STEPS[view]
        lines.append(text.replace("IN", value).replace("OUT", f"%s{number}"))
        value = f"%s{number}"
    return f"""
func.func @f(%x: f32, %out: memref<1024xf32>) attributes {{{launched("1024, 1, 1")}}} {{
  %zero = arith.constant 0 : index
  %a = memref.alloc() : {_TILE}
  %t = gpu.thread_id x upper_bound 1024
  %row, %column = affine.delinearize_index %t into (32, 32) : index, index
  %four = affine.apply affine_map<(c) -> ((c mod 8) * 4)>(%column)
  {" ".join(line + chr(10) for line in lines)}
  {_ACCESSES[accesses].replace("%v", value).replace("KIND", kind)}
  memref.store %r, %out[%t] : memref<1024xf32>
  return
}}"""


def _lowering() -> str:
    recording = RecordingStore().find(RecordingKey("rocm", LOWERED))
    assert recording is not None
    names = [text for text in recording.lowering if not text.startswith(RESOLVE_SWIZZLE_HINTS)]
    return ",".join(names)


def _decide(program: str) -> list[Action]:
    """Returns the decisions of both passes on the program's allocation."""
    parsed = parse(program)
    planned = run(parsed, SwizzleLdsAllocs(), FlattenSwizzleHints(), target="gfx942")
    parsed.run_native(_lowering())
    resolved = run(parsed, ResolveSwizzleHints(), target="gfx942")
    return [decision.action for decision in (*planned.decisions, *resolved.decisions)]


def test_the_programs_have_all_views():
    assert set(_STEPS) | _NOT_HERE == {name for name, row in TABLE.items() if isinstance(row, View)}


@pytest.mark.parametrize("accesses", _ACCESSES)
@pytest.mark.parametrize("view", _STEPS)
def test_hints_on_viewed_allocations_resolve(view, accesses):
    program = _program((view,), accesses)
    if program is None:
        pytest.skip("a vector.store wants rows without gaps")
    actions = _decide(program)
    assert Action.DROP not in actions, program
    assert (Action.HINT in actions) <= (Action.RESOLVE in actions)


def test_hints_behind_two_views_resolve():
    planned = 0
    for views in product(_STEPS, repeat=2):
        program = _program(views, "memref")
        if program is not None:
            actions = _decide(program)
            # Hints of the program itself may be dropped, where nothing has been planned.
            assert Action.HINT not in actions or Action.DROP not in actions, program
            planned += Action.HINT in actions
    assert planned > 20
