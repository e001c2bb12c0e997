# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decisions on exchanges of lanes, and LDS instructions that sum up to what the emulator counts."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.emulator.counters import Counted, totals
from bankwise.passes.accesses.count_exchanges import CountExchanges
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags
from bankwise.test.e2e.dispatches import dispatch_module

from ...functions import launched, parse, run

CONSTANTS = "\n".join(
    f"%i{n} = arith.constant {n} : i32\n%c{n} = arith.constant {n} : index"
    for n in (0, 1, 3, 4, 5, 16, 32, 64)
)
EXCHANGES = {
    "xor 1": ("%r, %ok = gpu.shuffle xor %v, %i1, %iWAVE : f32", (2, 2, 0)),
    "xor 16": ("%r, %ok = gpu.shuffle xor %v, %i16, %iWAVE : f32", (2, 0, 0)),
    "xor 32": ("%r, %ok = gpu.shuffle xor %v, %i32, %iWAVE : f32", (2, 0, None)),
    "a part of a wave": ("%r, %ok = gpu.shuffle xor %v, %i1, %i16 : f32", (2, 2, 4)),
    "up": ("%r, %ok = gpu.shuffle up %v, %i1, %iWAVE : f32", (2, 2, 4)),
    "one lane": ("%r, %ok = gpu.shuffle idx %v, %i3, %iWAVE : f32", (0, 0, 0)),
    "bitmode": ("%r = amdgpu.swizzle_bitmode %v 0 31 0 : f32", (2, 2, 4)),
    "a loop": (
        """%r = scf.for %n = %c0 to %c5 step %c1 iter_args(%x = %v) -> (f32) {
          %y, %ok = gpu.shuffle down %x, %i4, %iWAVE : f32
          scf.yield %y : f32
        }""",
        (10, 10, 20),
    ),
}
"""Exchanges of workgroups of 128 lanes, and the LDS instructions on gfx942, gfx950 and gfx1201."""
CHIPS = ("gfx942", "gfx950", "gfx1201")
CASES = [
    (chip, text, found[number])
    for text, found in EXCHANGES.values()
    for number, chip in enumerate(CHIPS)
    if found[number] is not None
]


def wave_of(chip: str) -> int:
    return 32 if chip == "gfx1201" else 64


def counted(body: str, chip: str) -> int | None:
    """Returns the LDS instructions that the pass finds; 0 where it finds none."""
    wave = wave_of(chip) if chip.startswith("gfx") else 32
    text = f"{CONSTANTS}\n{body}".replace("WAVE", str(wave))
    launch = launched("128, 1, 1", wave)
    parsed = parse(f"func.func @f(%v: f32, %lane: i32) attributes {{{launch}}} {{ {text} return }}")
    found = run(parsed, CountExchanges(), target=chip)
    if not found.decisions:
        return 0
    assert found.decision.action is Action.EXCHANGE
    assert not found.context.log.stands(found.decision)
    before, after = (found.decision.lds_instructions_before, found.decision.lds_instructions_after)
    assert before == after == found.context.log.lds_instructions_left("f")
    return after


@pytest.mark.usefixtures("context")
@pytest.mark.parametrize(("chip", "body", "count"), CASES)
def test_exchanges_through_the_lds_count(chip: str, body: str, count: int) -> None:
    assert counted(body, chip) == count


@pytest.mark.usefixtures("context")
def test_wide_values_are_exchanged_in_words() -> None:
    for kind, words in (("vector<4xf16>", 2), ("vector<2xi8>", 1), ("i64", 2), ("f16", 1)):
        body = f"%w = ub.poison : {kind}\n%r, %ok = gpu.shuffle up %w, %i1, %i64 : {kind}"
        assert counted(body, "gfx942") == 2 * words


@pytest.mark.usefixtures("context")
def test_a_lane_that_differs_from_lane_to_lane_is_read_through_the_lds() -> None:
    assert counted("%r, %ok = gpu.shuffle idx %v, %lane, %i64 : f32", "gfx942") == 2


@pytest.mark.usefixtures("context")
def test_waves_count_that_exchange() -> None:
    first_wave = """
      %t = gpu.thread_id x upper_bound 128
      %first = arith.cmpi ult, %t, %c64 : index
      scf.if %first { %r, %ok = gpu.shuffle up %v, %i1, %i64 : f32 }"""
    assert counted(first_wave, "gfx942") == 1


@pytest.mark.usefixtures("context")
def test_nvidia_exchanges_without_shared_memory() -> None:
    assert counted("%r, %ok = gpu.shuffle up %v, %i1, %i32 : f32", "sm_80") == 0


@pytest.mark.usefixtures("context")
def test_nobody_reads_it() -> None:
    body = f"{CONSTANTS} %r, %ok = gpu.shuffle up %v, %i1, %i64 : f32"
    parsed = parse(f"func.func @f(%v: f32) attributes {{{launched()}}} {{ {body} return }}")
    found = run(parsed, target="gfx942")
    found.context.explains = False
    CountExchanges().run(parsed.function, found.context)
    assert not found.decisions


@pytest.mark.sampled(every=12)
@pytest.mark.parametrize(("chip", "body", "count"), CASES)
def test_the_emulator_counts_as_many(chip: str, body: str, count: int) -> None:
    """Beside a store to the LDS and a load, each once for each of the waves."""
    wave, tile = wave_of(chip), "memref<128xf32, #lds>"
    kernel = f"""{CONSTANTS}
      %in = stream.binding.subspan %in0[%c0] : !stream.binding -> memref<128xf32>
      %out = stream.binding.subspan %out0[%c0] : !stream.binding -> memref<128xf32>
      %t = gpu.thread_id x upper_bound 128
      %v = memref.load %in[%t] : memref<128xf32>
      {body}
      %s = memref.alloc() : {tile}
      memref.store %r, %s[%t] : {tile}
      gpu.barrier
      %other = arith.xori %t, %c64 : index
      %w = memref.load %s[%other] : {tile}
      memref.store %w, %out[%t] : memref<128xf32>"""
    kinds = ["128xf32"]
    source = dispatch_module(
        kernel.replace("WAVE", str(wave)), kinds, kinds, threads=(128, 1, 1), subgroup=wave
    )
    log = DecisionLog()
    inputs = [np.ones(128, np.float32)]
    (record,) = run_emulated(source, target_flags(chip), "auto", inputs, decisions=log).records
    found = dict(totals(record.kernel, record.counters))[Counted.LDS]
    assert found == log.lds_instructions_left("kernel") == count + 2 * (128 // wave)
