# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a played workgroup is scaled to a grid."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from bankwise.bank_model.lds_tables import lds_of
from bankwise.bank_model.matrix_instructions import mfma_shapes, smfmac_shapes
from bankwise.bench.timing_pieces import piece
from bankwise.emulator.dispatch import Dispatch
from bankwise.emulator.global_memory import GlobalMemory
from bankwise.emulator.kernel_launch import launch
from bankwise.emulator.timing.constants import CHIPS, Constant
from bankwise.emulator.timing.document import timing_document
from bankwise.emulator.timing.error_bounds import NOT_VALIDATED
from bankwise.emulator.timing.matrix_passes import matrix_cycles
from bankwise.emulator.timing.occupancy import Occupancy
from bankwise.emulator.timing.prediction import Prediction, predict
from bankwise.emulator.timing.timeline import timeline
from bankwise.emulator.timing.uneven_work import unevenness
from bankwise.emulator.trace import TraceRecorder, WorkgroupTrace, buffer_uses

CODE = "v_mov_b32_e32 v1, 0\n" + "v_exp_f32_e32 v2, v1\n" * 200
KERNEL = piece(CODE, waves=4)


def traces() -> list[WorkgroupTrace]:
    recorder = TraceRecorder(1)
    one = Dispatch.of(KERNEL, (1, 1, 1))
    launch(one, lds_of("gfx942"), b"", GlobalMemory(), recorder=recorder)
    return recorder.finished


TRACES = traces()


def predicted(grid: int) -> Prediction:
    return predict(Dispatch.of(KERNEL, (grid, 1, 1)), TRACES, [])


def test_the_grid_takes_as_many_rounds_as_the_busiest_unit_gets() -> None:
    one, full, next_round, many = (predicted(grid).cycles for grid in (1, 304, 305, 304 * 40))
    assert one == full
    # 64 KiB of LDS let one workgroup run at once; code is fetched in the first round alone.
    assert 1.5 * one < next_round < 2 * one
    assert many == pytest.approx(40 * (next_round - one), rel=0.05)


def test_memory_is_not_faster_than_its_bandwidth() -> None:
    """Each workgroup copies a KiB of its own, which none finds in a cache."""
    code = """s_load_dwordx2 s[4:5], s[0:1], 0x0
v_lshlrev_b32_e32 v1, 4, v0
s_lshl_b32 s6, s2, 10
v_add_u32_e32 v1, s6, v1
s_waitcnt lgkmcnt(0)
global_load_dwordx4 v[4:7], v1, s[4:5]
s_waitcnt vmcnt(0)
global_store_dwordx4 v1, v[4:7], s[4:5]"""
    kernel = piece(code, arguments=8)
    kernel = replace(kernel, directives={**kernel.directives, "next_free_vgpr": 32})
    kernel = replace(kernel, directives={**kernel.directives, "group_segment_fixed_size": 0})
    grid, memory, recorder = 1 << 16, GlobalMemory(), TraceRecorder()
    buffer = np.uint64(memory.allocate(grid << 10)).tobytes()
    dispatch = Dispatch.of(kernel, (grid, 1, 1))
    chosen = [(0, 0, 0), (grid // 2, 0, 0), (grid - 1, 0, 0)]
    launch(dispatch, lds_of("gfx942"), buffer, memory, chosen, recorder=recorder)
    found = predict(dispatch, recorder.finished, buffer_uses(recorder.finished, memory))
    busy = found.utilization["memory behind the L2 caches"]
    assert found.l1_hits == 0
    assert 0.5 < busy <= 1


def test_workgroups_that_execute_more_last_longer() -> None:
    """The busiest slot has the longest workgroup, and the mean has little of it."""
    dispatch = Dispatch.of(KERNEL, (304, 1, 1))
    work = [len(CODE.splitlines()) + 1] * 304
    alike = predict(dispatch, TRACES, [], work=work)
    uneven = predict(dispatch, TRACES, [], work=[*work[:-1], 3 * work[0]])
    assert uneven.cycles == pytest.approx(3 * alike.cycles)
    ratio = uneven.counters["SQ_WAVE_CYCLES"] / alike.counters["SQ_WAVE_CYCLES"]
    assert ratio == pytest.approx(306 / 304, abs=1e-4)


def test_a_slot_that_is_free_takes_the_next_workgroup() -> None:
    """One long workgroup runs beside two short ones, where each would else have two rounds."""
    chip = CHIPS["gfx942"].with_values(units=2, dies=1)
    placed = Occupancy(1, "LDS", 1.0, 2, 2)
    found = unevenness(np.array([2, 1, 1]), TRACES, placed, chip)
    assert (found.time, found.work) == (2 / 4, 4 / 6)


def test_counters_are_those_of_the_whole_grid() -> None:
    one, many = predicted(1).counters, predicted(304).counters
    for name in ("SQ_WAVE_CYCLES", "SQ_ACTIVE_INST_ANY", "SQ_BUSY_CU_CYCLES"):
        assert many[name] == pytest.approx(304 * one[name], rel=1e-3)
    parts = ("SQ_WAIT_ANY", "SQ_WAIT_INST_ANY", "SQ_ACTIVE_INST_ANY")
    assert sum(one[name] for name in parts) == pytest.approx(one["SQ_WAVE_CYCLES"], abs=3)


def test_the_parts_of_the_cycles_are_all_of_them() -> None:
    found = predicted(304)
    assert sum(found.spent.values()) == pytest.approx(1)
    assert found.stalls.sum() == pytest.approx(4 * found.counters["SQ_WAVE_CYCLES"], rel=1e-3)


def test_busy_units_are_seen() -> None:
    assert predicted(304 * 3).utilization["vector ALUs"] > 0.7


def test_what_was_not_validated_says_so() -> None:
    found = predicted(304)
    assert found.bounds is NOT_VALIDATED
    assert found.microseconds.low < found.microseconds.expected < found.microseconds.high
    assert timing_document(found)["bounds"] == NOT_VALIDATED.source


def test_a_slower_clock_takes_longer() -> None:
    chip = CHIPS["gfx942"]
    slow = predict(Dispatch.of(KERNEL, (304, 1, 1)), TRACES, [], chip.with_values(gigahertz=1.05))
    launched = chip.launch_microseconds.value
    times = (each.microseconds.expected - launched for each in (slow, predicted(304)))
    assert next(times) == pytest.approx(2 * next(times), rel=0.01)


def test_nothing_is_predicted_of_nothing() -> None:
    with pytest.raises(ValueError, match="no workgroup"):
        predict(Dispatch.of(KERNEL, (1, 1, 1)), [], [])


def test_more_waves_than_a_unit_has_are_refused() -> None:
    alone = replace(KERNEL, directives={**KERNEL.directives, "next_free_vgpr": 512})
    dispatch = Dispatch.of(alone, (304, 1, 1))
    assert predict(dispatch, TRACES, []).occupancy.resident == 1


@pytest.mark.parametrize("arch", CHIPS)
def test_all_matrix_instructions_have_passes(arch: str) -> None:
    for name in (*mfma_shapes(arch), *smfmac_shapes(arch)):
        instruction = piece(f"{name} a[0:31], v[0:7], v[8:15], a[0:31]", arch).instructions[0]
        assert matrix_cycles(instruction, arch) in (8, 16, 32, 64)


@pytest.mark.parametrize(("modifiers", "cycles"), [("", 32), ("cbsz:4", 32), ("cbsz:4 blgp:3", 16)])
def test_two_operands_of_few_bits_are_twice_as_fast(modifiers: str, cycles: int) -> None:
    for name in ("v_mfma", "v_mfma_scale"):
        text = f"{name}_f32_16x16x128_f8f6f4 a[0:3], v[0:7], v[8:15], a[0:3], v16, v17 {modifiers}"
        assert matrix_cycles(piece(text, "gfx950").instructions[0], "gfx950") == cycles


@pytest.mark.parametrize("arch", CHIPS)
def test_every_constant_has_a_source(arch: str) -> None:
    chip = CHIPS[arch]
    for name in chip.names():
        constant = getattr(chip, name)
        assert isinstance(constant, Constant)
        assert constant.source


def test_a_timeline_has_every_instruction_of_every_wave() -> None:
    found = predicted(304)
    events = timeline([(KERNEL, found)])["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    assert len(slices) == 4 * len(KERNEL.instructions)
    first = [event for event in slices if event["tid"] == 0]
    assert all(a["ts"] + a["dur"] == b["ts"] for a, b in pairwise(first))


def test_nobody_waits_for_numba_who_asks_for_no_time() -> None:
    names = ("tools.run", "runtime.emulated_device", "runtime.assembly_run", "tools.run_output")
    imports = "; ".join(f"import bankwise.{name}" for name in names)
    code = f"import sys; {imports}; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
