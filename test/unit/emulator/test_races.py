# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two waves of a workgroup on one LDS word, at least one writing, with no barrier between."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.emulator.errors import LdsRaceError, UndefinedReadError
from bankwise.emulator.lds import LdsState

from .small_kernels import LANES, run

OWN = np.stack([4 * LANES, 256 + 4 * LANES])
"""Addresses of two waves that share nothing."""
SHARED = np.stack([4 * LANES, 4 * LANES])
ONE = 1
run_two_waves = partial(run, threads=128, lds_bytes=1024)


def test_waves_that_write_one_word_in_one_instruction_race():
    with pytest.raises(LdsRaceError, match="wave 1 writes it") as error:
        run_two_waves("\tds_write_b32 v1, v2", vectors={1: SHARED, 2: ONE})
    assert "small.s:3" in str(error.value)
    assert "before, wave 0 writes it at line 3: ds_write_b32 v1, v2" in str(error.value)


def test_write_then_read_by_another_wave_races():
    code = "\tds_write_b32 v1, v2\n\tds_read_b32 v3, v4"
    with pytest.raises(LdsRaceError, match="LDS byte 0 of workgroup 0: wave 1 reads it") as error:
        run_two_waves(code, vectors={1: OWN, 2: ONE, 4: OWN[::-1]})
    assert "before, wave 0 writes it at line 3" in str(error.value)


def test_read_then_write_by_another_wave_races():
    code = "\tds_write_b32 v1, v2\n\ts_barrier\n\tds_read_b32 v3, v1\n\tds_write_b32 v4, v2"
    with pytest.raises(LdsRaceError, match="wave 1 writes it") as error:
        run_two_waves(code, vectors={1: OWN, 2: ONE, 4: OWN[::-1]})
    assert "before, wave 0 reads it at line 5" in str(error.value)


def test_the_second_of_two_readers_is_remembered():
    """Wave 1 reads last what wave 0 read, and then writes it."""
    code = """\tds_write_b32 v1, v2
\ts_barrier
\tds_read_b32 v3, v5
\ts_cmp_eq_u32 s9, 0
\ts_cbranch_scc1 .LBB0_1
\tds_write_b32 v5, v2
.LBB0_1:"""
    with pytest.raises(LdsRaceError, match="wave 1 writes it") as error:
        run_two_waves(code, vectors={1: OWN, 2: ONE, 5: 0}, scalars={9: [0, 1]})
    assert "before, wave 0 reads it" in str(error.value)


@pytest.mark.parametrize("first", ["ds_write_b32 v1, v2", "ds_read_b32 v3, v1"])
def test_a_barrier_ends_the_race(first: str):
    code = f"\tds_write_b32 v1, v2\n\ts_barrier\n\t{first}\n\ts_barrier\n\tds_write_b32 v4, v2"
    run_two_waves(code, vectors={1: OWN, 2: ONE, 4: OWN[::-1]})


def test_a_barrier_of_another_workgroup_ends_nothing():
    """Workgroup 1 passes a barrier that workgroup 0 does not come to."""
    code = """\tds_write_b32 v1, v2
\ts_cmp_eq_u32 s2, 0
\ts_cbranch_scc1 .LBB0_1
\ts_barrier
.LBB0_1:
\tds_read_b32 v3, v4"""
    vectors = {1: np.tile(OWN, (2, 1)), 2: ONE, 4: np.tile(OWN[::-1], (2, 1))}
    with pytest.raises(LdsRaceError, match="of workgroup 0"):
        run_two_waves(code, vectors=vectors, workgroups=2)


def test_a_wave_may_do_as_it_likes_alone():
    code = "\tds_write_b32 v1, v2\n\tds_read_b32 v3, v1\n\tds_write_b32 v1, v3"
    run_two_waves(code, vectors={1: OWN, 2: ONE})


def test_workgroups_share_no_lds():
    run(
        "\tds_write_b32 v1, v2\n\tds_read_b32 v3, v1",
        vectors={1: 4 * LANES, 2: ONE},
        workgroups=2,
        lds_bytes=256,
    )


def test_a_race_in_one_of_several_workgroups():
    """All write alike; in workgroup 1 wave 3 then reads what wave 2 wrote."""
    reads = np.concatenate([OWN, OWN[:1], OWN[:1]])
    with pytest.raises(LdsRaceError, match="of workgroup 1: wave 3 reads it") as error:
        run_two_waves(
            "\tds_write_b32 v1, v2\n\tds_read_b32 v3, v4",
            workgroups=3,
            vectors={1: np.tile(OWN, (3, 1)), 2: ONE, 4: np.concatenate([reads, OWN])},
        )
    assert "before, wave 2 writes it" in str(error.value)


def test_halves_of_a_word_belong_to_two_waves():
    halves = np.stack([4 * LANES, 4 * LANES + 2])
    run_two_waves("\tds_write_b16 v1, v2", vectors={1: halves, 2: ONE})
    with pytest.raises(LdsRaceError):
        run_two_waves("\tds_write_b16 v1, v2", vectors={1: SHARED, 2: ONE})


def test_atomics_do_not_race_with_each_other():
    start = "\tds_write_b32 v1, v2\n\ts_barrier\n\tds_add_u32 v5, v2\n"
    vectors = {1: OWN, 2: ONE, 5: 0}
    machine = run_two_waves(f"{start}\ts_barrier\n\tds_read_b32 v3, v5", vectors=vectors)
    assert (machine.vgpr[3] == 129).all()
    with pytest.raises(LdsRaceError, match="updates it"):
        run_two_waves(f"{start}\tds_read_b32 v3, v5", vectors=vectors)
    with pytest.raises(LdsRaceError, match="updates it"):
        run_two_waves(f"{start}\tds_write_b32 v1, v2", vectors=vectors)


def test_a_byte_never_written_is_undefined():
    with pytest.raises(UndefinedReadError, match=r"LDS byte 260 .*wave 0, lane 1\)"):
        run(
            "\tds_write_b32 v1, v2\n\tds_read_b32 v3, v1 offset:256",
            vectors={1: 4 * LANES, 2: ONE, 0: 0},
            lds_bytes=1024,
            active=2,
        )


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("barrier"), st.sampled_from([1, 2, 3])),
        st.tuples(
            st.sampled_from(["load", "store", "update"]), st.integers(0, 5), st.integers(0, 3)
        ),
    ),
    max_size=16,
)


@settings(deadline=None, max_examples=400)
@given(EVENTS)
def test_races_are_those_of_the_definition(events: list[tuple]):
    """Single lanes of two workgroups of three waves, against all pairs since the last barrier.

    A barrier is passed by one workgroup or both, as the bits of its number say.
    """
    lds = LdsState(2, 16, waves_per_workgroup=3)
    for wave in (0, 3):
        fill = lds.access(99, np.array([wave]), np.zeros((1, 1), np.uint32), (0,), 16, None)
        lds.store(fill, np.zeros((4, 1, 1, 1), np.uint32))
    lds.pass_barrier(np.array([True, True]))
    touched: list[tuple[str, int, int, int]] = []
    for number, (kind, *rest) in enumerate([*events, ("barrier", 3)]):
        if kind == "barrier":
            passed = np.array([bool(rest[0] & 1), bool(rest[0] & 2)])
            racing = [pair for pair in combinations(touched, 2) if is_race(*pair)]
            if racing:
                with pytest.raises(LdsRaceError) as error:
                    lds.pass_barrier(passed)
                named = error.value.other_instruction, error.value.instruction
                assert named in [(a[3], b[3]) for a, b in racing]
                return
            lds.pass_barrier(passed)
            touched = [entry for entry in touched if not passed[entry[1] // 3]]
            continue
        wave, word = rest
        access = lds.access(
            number % 5, np.array([wave]), np.full((1, 1), 4 * word, np.uint32), (0,), 4, None
        )
        touched.append((kind, wave, word, number % 5))
        if kind == "load":
            lds.load(access)
        elif kind == "store":
            lds.store(access, np.zeros((1, 1, 1, 1), np.uint32))
        else:
            lds.begin_update(access)


def is_race(first: tuple, second: tuple) -> bool:
    kind, wave, word, _ = first
    other, other_wave, other_word, _ = second
    same_place = word == other_word and wave // 3 == other_wave // 3
    return same_place and wave != other_wave and (kind != other or kind == "store")
