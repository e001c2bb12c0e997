# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is recorded of workgroups as they run."""

from __future__ import annotations

from typing import Any

import numpy as np

from bankwise.bank_model.lds_tables import lds_of
from bankwise.emulator.dispatch import Dispatch
from bankwise.emulator.global_memory import GlobalMemory
from bankwise.emulator.kernel_launch import launch
from bankwise.emulator.trace import BufferUse, TraceRecorder, buffer_uses

from .small_kernels import kernel

LOADS = """
s_load_dwordx2 s[2:3], s[0:1], 0x0
v_lshlrev_b32_e32 v1, 2, v0
s_waitcnt lgkmcnt(0)
global_load_dword v2, v1, s[2:3]
s_waitcnt vmcnt(0)
"""


def recorded(
    code: str, workgroups: int = 1, most: int = 2, buffer: int = 0, **options: Any
) -> tuple[TraceRecorder, GlobalMemory]:
    parsed = kernel(code, kernarg_bytes=8 if buffer else 0, **options)
    memory, recorder = GlobalMemory(), TraceRecorder(most)
    arguments = np.uint64(memory.allocate(buffer)).tobytes() if buffer else b""
    dispatch = Dispatch.of(parsed, (workgroups, 1, 1))
    launch(dispatch, lds_of(parsed.arch), arguments, memory, max_waves=2, recorder=recorder)
    return recorder, memory


def test_the_instructions_of_a_loop_are_recorded_in_order() -> None:
    loop = "s_mov_b32 s4, 3\n.Lagain:\ns_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, 0\n"
    recorder, _ = recorded(f"{loop}s_cbranch_scc1 .Lagain")
    (wave,) = recorder.finished[0].waves
    assert wave.instructions.tolist() == [0, *[1, 2, 3] * 3, 4]


def test_waves_that_part_have_their_own_instructions() -> None:
    code = "v_cmp_gt_u32_e32 vcc, 64, v0\ns_cbranch_vccz .Lend\nv_nop\n.Lend:\ns_barrier"
    recorder, _ = recorded(code, threads=128)
    first, second = (wave.instructions.tolist() for wave in recorder.finished[0].waves)
    assert first == [0, 1, 2, 3, 4]
    assert second == [0, 1, 3, 4]


def test_lds_cycles_are_those_of_each_wave() -> None:
    """The lanes of wave 0 read neighbours, those of wave 1 the same bank."""
    code = """v_and_b32_e32 v1, 63, v0
v_lshlrev_b32_e32 v1, 2, v1
v_cmp_gt_u32_e32 vcc, 64, v0
s_cbranch_vccnz .Lread
v_lshlrev_b32_e32 v1, 5, v1
.Lread:
ds_read_b32 v2, v1
s_waitcnt lgkmcnt(0)"""
    recorder, _ = recorded(code, threads=128, lds_bytes=8192)
    assert [wave.lds_cycles for wave in recorder.finished[0].waves] == [{5: [2]}, {5: [64]}]


def test_memory_is_recorded_in_blocks_and_lines() -> None:
    recorder, memory = recorded(LOADS, buffer=4096)
    ((event,),) = recorder.finished[0].waves[0].memory.values()
    assert event.blocks == 4
    assert len(event.lines) == 2
    assert buffer_uses(recorder.finished, memory) == (BufferUse(4096, 256.0),)


def test_an_access_without_lanes_is_an_event_too() -> None:
    code = LOADS.replace("global_load", "s_mov_b64 exec, 0\nglobal_load")
    recorder, _ = recorded(code, buffer=4096)
    ((event,),) = recorder.finished[0].waves[0].memory.values()
    assert event.blocks == 0
    assert not len(event.lines)


def test_the_recorded_workgroups_are_spread() -> None:
    recorder, _ = recorded("v_nop", workgroups=9, most=3)
    assert [trace.number for trace in recorder.finished] == [0, 4, 8]


def test_all_are_recorded_where_there_are_few() -> None:
    recorder, _ = recorded("v_nop", workgroups=2, most=3)
    assert [trace.number for trace in recorder.finished] == [0, 1]


def test_the_work_of_all_workgroups_is_counted() -> None:
    code = "s_cmp_lg_u32 s2, 1\ns_cbranch_scc1 .Lend\ns_nop 0\n.Lend:"
    recorder, _ = recorded(code, workgroups=4, most=1, threads=128)
    assert recorder.work == [6, 8, 6, 6]
