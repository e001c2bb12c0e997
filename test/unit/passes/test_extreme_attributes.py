# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No pass ends in anything but a `PassFailure`, whatever numbers verified IR has."""

from __future__ import annotations

import contextlib
import random

import pytest
from iree.compiler import ir

from bankwise.dialect_utils.diagnostics import PassFailure

from ..functions import lds, parse, run
from ..room_passes import our_passes

_MOST = (1 << 63) - 1
_NUMBERS = (1, 2, 3, 4, 7, 8, 16, 32, 48, 64, 1024, 4096, 1 << 20, 1 << 31, 1 << 40, 1 << 62, _MOST)

_PROGRAM = """
func.func @f(%x: index) attributes {{translation_info = #iree_codegen.translation_info<
    pipeline = #iree_codegen.no_pipeline workgroup_size = {workgroup} subgroup_size = {wave}>}} {{
  %a = memref.alloc() {stowed} : {kind}
  %t = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant {iterations} : index
  {hints}
  scf.for %i = %c0 to %n step %c1 {{
    %o = affine.apply affine_map<(t, i) -> (t * {stride} + i * {step} + {first})>(%t, %i)
    %v = vector.load {loaded}[%o] : {kind}, vector<{width}xf16>
    vector.store %v, {stored}[%t] : {kind}, vector<{width}xf16>
  }}
  return
}}
"""


def _swizzle(draw: random.Random) -> str:
    """Returns a swizzle that often verifies: each number divides the next."""
    access = draw.choice(_NUMBERS)
    row = (
        min(access * draw.choice((1, 2, 3, 8, 64, 1 << 20)), _MOST)
        if draw.random() < 0.8
        else _MOST
    )
    if draw.random() < 0.4:
        return f"#iree_codegen.rotate_rows<{row}, {access}>"
    stride = draw.choice(("", f", {min(row * draw.choice((1, 2, 3, 1 << 30)), _MOST)}"))
    phase = f", {draw.choice((1, 2, 3, 8))}" if stride and draw.random() < 0.5 else ""
    return f"#iree_codegen.xor_shuffle<{row}, {access}{stride}{phase}>"


def _program(draw: random.Random) -> str:
    size = draw.choice(_NUMBERS[:-3])
    kind = lds(f"{size}xf16")
    hints, values = "", ["%a"]
    for number in range(draw.randrange(3)):
        source = draw.choice(values)
        hints += f"%h{number} = iree_codegen.swizzle_hint {source}[{_swizzle(draw)}] : {kind}\n  "
        values.append(f"%h{number}")
    stowed = f"{{iree_codegen.swizzle = {_swizzle(draw)}}}" if draw.random() < 0.2 else ""
    sizes = [draw.choice((1, 4, 64, 128, 1 << 20, 1 << 31)) for _ in range(3)]
    return _PROGRAM.format(
        workgroup=draw.choice(([64, 1, 1], sizes)),
        wave=draw.choice((64, 64, 32, 1 << 30)),
        kind=kind,
        stowed=stowed,
        hints=hints,
        iterations=draw.choice((0, 1, 4, 1 << 40, _MOST)),
        stride=draw.choice(_NUMBERS),
        step=draw.choice(_NUMBERS),
        first=draw.choice(_NUMBERS),
        loaded=draw.choice(values),
        stored=draw.choice(values),
        width=draw.choice((1, 2, 3, 8, 64)),
    )


@pytest.fixture(scope="module", autouse=True)
def quiet(context: ir.Context) -> None:
    context.emit_error_diagnostics = False


def _run_all(program: str) -> bool:
    """Runs each pass on the program; whether IREE accepts the program."""
    try:
        parse(program)
    except ir.MLIRError:
        return False
    for made in our_passes():
        with contextlib.suppress(PassFailure):
            run(parse(program), made.from_options(""), target="gfx942")
    return True


@pytest.mark.parametrize("number", [40, pytest.param(150, marks=pytest.mark.nightly)])
def test_passes_take_any_numbers(number):
    draw = random.Random(5)
    accepted = sum(_run_all(_program(draw)) for _ in range(number))
    assert accepted > number / 3


@pytest.mark.parametrize(
    ("swizzle", "workgroup", "loaded"),
    [
        ("xor_shuffle<32, 4>", [64, 1, 1], "%a"),
        (f"rotate_rows<{_MOST}, 1>", [64, 1, 1], "%h"),
        ("xor_shuffle<32, 4>", [1000000, 1000, 1000], "%h"),
    ],
    ids=["dead hint", "long period", "many lanes"],
)
def test_known_extremes(swizzle, workgroup, loaded):
    kind = lds("1024xf16")
    program = _PROGRAM.format(
        workgroup=workgroup,
        wave=64,
        kind=kind,
        stowed="",
        hints=f"%h = iree_codegen.swizzle_hint %a[#iree_codegen.{swizzle}] : {kind}",
        iterations=4,
        stride=8,
        step=0,
        first=0,
        loaded=loaded,
        stored=loaded,
        width=8,
    )
    assert _run_all(program)
