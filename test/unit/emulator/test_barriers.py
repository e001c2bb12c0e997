# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The two halves of RDNA4's barriers: who waits for whom, and what races with what."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from bankwise.emulator.emulation_errors import EmulationError, LdsRaceError

from .small_kernels import run

LANES = np.arange(32)
OWN = np.stack([4 * LANES, 128 + 4 * LANES])
"""Addresses of two waves that share nothing."""
WAIT, SIGNAL, BARRIER_WAIT = "s_wait_dscnt 0x0", "s_barrier_signal -1", "s_barrier_wait -1"
STORE, LOAD = "ds_store_b32 v1, v2", "ds_load_b32 v3, v4"
two_waves = partial(
    run,
    arch="gfx1201",
    threads=64,
    lds_bytes=256,
    vectors={1: OWN, 2: np.stack([LANES, LANES + 100]), 4: OWN[::-1]},
)


def code(*lines: str) -> str:
    return "\n".join(f"\t{line}" for line in lines)


@pytest.mark.parametrize("arch", ["gfx1200", "gfx1201", "gfx1250"])
def test_waves_see_what_others_stored_before_their_signal(arch: str) -> None:
    machine = two_waves(code(STORE, WAIT, SIGNAL, BARRIER_WAIT, LOAD, WAIT), arch=arch)
    assert (machine.vgpr[3] == np.stack([LANES + 100, LANES])).all()


def test_what_needs_no_order_may_stand_between_the_halves() -> None:
    machine = two_waves(code(STORE, WAIT, SIGNAL, "v_mov_b32_e32 v5, v2", BARRIER_WAIT, LOAD, WAIT))
    assert (machine.vgpr[5] == machine.vgpr[2]).all()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        # No wait before the signal: the store may be under way behind the barrier.
        ([STORE, SIGNAL, BARRIER_WAIT, LOAD, WAIT],
         "wave 0 writes it and passes a barrier without 's_wait_dscnt 0x0'"),
        # A wait behind the signal comes too late.
        ([STORE, SIGNAL, WAIT, BARRIER_WAIT, LOAD, WAIT], "passes a barrier without"),
        # Between the halves: another wave may be behind the barrier already,
        ([SIGNAL, STORE, WAIT, BARRIER_WAIT, LOAD, WAIT],
         "wave 0 writes it between the signal and the wait of a barrier at line 4"),
        ([SIGNAL, LOAD, WAIT, BARRIER_WAIT, STORE, WAIT], "reads it between the signal and"),
        # or not have come to it.
        ([STORE, WAIT, SIGNAL, LOAD, WAIT, BARRIER_WAIT], "wave 0 writes it at line 3"),
    ],
)  # fmt: skip
def test_a_race_around_a_barrier(lines: list[str], message: str) -> None:
    # A byte that was never written is no race to read.
    first = ["ds_store_b32 v1, v2", "ds_store_b32 v1, v2 offset:256", WAIT, SIGNAL, BARRIER_WAIT]
    shifted = [line.replace("v1, v2", "v1, v2 offset:256") for line in lines]
    shifted = [line.replace("v3, v4", "v3, v4 offset:256") for line in shifted]
    message = message.replace("line 4", "line 9").replace("line 3", "line 8")
    with pytest.raises(LdsRaceError) as error:
        two_waves(code(*first, *shifted), lds_bytes=512)
    assert message in str(error.value)


def test_accesses_between_the_halves_are_ordered_with_those_behind_the_next_barrier() -> None:
    both = [SIGNAL, BARRIER_WAIT]
    two_waves(code(SIGNAL, STORE, WAIT, BARRIER_WAIT, *both, LOAD, WAIT))
    # With what other waves do between the halves of the next barrier they are not.
    with pytest.raises(LdsRaceError, match="between the signal and the wait"):
        two_waves(code(SIGNAL, STORE, WAIT, BARRIER_WAIT, SIGNAL, LOAD, WAIT, BARRIER_WAIT))


def test_a_wave_may_end_before_a_barrier() -> None:
    lines = ["s_cmp_eq_u32 s9, 0", "s_cbranch_scc1 .LBB0_1", "s_endpgm"]
    barrier = code(SIGNAL, BARRIER_WAIT)
    machine = two_waves(f"{code(*lines)}\n.LBB0_1:\n{barrier}", scalars={9: np.array([0, 1])})
    assert not machine.lds.signalled.any()


def test_the_first_wave_to_signal_is_told_so() -> None:
    lines = ["s_barrier_signal_isfirst -1", "s_wait_kmcnt 0x0", "s_cselect_b32 s8, 1, 0"]
    machine = two_waves(code(*lines, BARRIER_WAIT), threads=96, workgroups=2, vectors={})
    assert machine.sgpr[8].tolist() == [1, 0, 0, 1, 0, 0]


def test_a_wave_that_signals_after_another_is_not_the_first() -> None:
    first = "s_barrier_signal_isfirst -1"
    apart = code("s_cmp_eq_u32 s9, 0", "s_cbranch_scc1 .LBB0_1", first, "s_branch .LBB0_2")
    late = code(first)
    rest = code("s_wait_kmcnt 0x0", "s_cselect_b32 s8, 1, 0", BARRIER_WAIT)
    text = f"{apart}\n.LBB0_1:\n{late}\n.LBB0_2:\n{rest}"
    machine = two_waves(text, vectors={}, scalars={9: np.array([0, 1])})
    assert machine.sgpr[8].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([BARRIER_WAIT], "a wave waits for a barrier that it has not signalled"),
        ([SIGNAL, SIGNAL, BARRIER_WAIT], "a wave signals a barrier again before it has waited"),
        (["s_barrier"], "gfx1201 has no 's_barrier'"),
        (["s_barrier_signal m0"], "no model of named barriers"),
        (["s_barrier_signal 3"], "no model of barrier 3: a workgroup's is -1"),
        (["s_barrier_wait -2"], "no model of barrier -2: a workgroup's is -1"),
        (["s_barrier_init m0"], "no model of named barriers"),
        (["s_barrier_leave"], "no model of named barriers"),
    ],
)
def test_what_a_barrier_is_not(lines: list[str], message: str) -> None:
    with pytest.raises(EmulationError) as error:
        two_waves(code(*lines))
    assert message in str(error.value)


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_other_chips_have_whole_barriers(arch: str) -> None:
    with pytest.raises(EmulationError, match=f"{arch} has no 's_barrier_signal'"):
        run(code(SIGNAL, BARRIER_WAIT), arch=arch)
    waves = run(code("s_barrier"), arch=arch, threads=256).waves
    assert waves == (4 if arch == "gfx942" else 8)
