# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two waves of a workgroup on one LDS byte, at least one writing, with no barrier between."""

from __future__ import annotations

import re
from functools import partial
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.emulator.byte_access import words_of
from bankwise.emulator.emulation_errors import LdsRaceError
from bankwise.emulator.lds import LdsState
from bankwise.emulator.undefined import Undefined
from bankwise.emulator.wave_state import Machine

from .small_kernels import LANES, run, undefined_bits

OWN = np.stack([4 * LANES, 256 + 4 * LANES])
"""Addresses of two waves that share nothing."""
SHARED = np.stack([4 * LANES, 4 * LANES])
ONE = 1
BARRIER = "\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n"
run_two_waves = partial(run, threads=128, lds_bytes=1024)


def test_waves_that_write_one_word_in_one_instruction_race():
    with pytest.raises(LdsRaceError, match="wave 1 writes it") as error:
        run_two_waves("\tds_write_b32 v1, v2", vectors={1: SHARED, 2: ONE})
    assert "small.s:3" in str(error.value)
    assert "before, wave 0 writes it at line 3: ds_write_b32 v1, v2" in str(error.value)


def lds(equal_stores_race: bool = False) -> LdsState:
    return LdsState(1, 1024, 2, equal_stores_race=equal_stores_race)


def store(state: LdsState, addresses: np.ndarray, values: object, width: int = 4) -> None:
    """Stores by both waves in one instruction: `values` broadcast to words [words, 2, 64]."""
    waves = np.arange(2)
    access = state.access(0, waves, addresses.astype(np.uint32), (0,), width, None)
    words = np.broadcast_to(np.asarray(values), (words_of(width), 2, 64)).astype(np.uint32)
    state.store(access, words)


@pytest.mark.parametrize("width", [1, 4, 8])
def test_waves_that_store_one_value_need_not_race(width: int):
    addresses = np.stack([8 * LANES, 8 * LANES])
    # Of narrow values the upper bits do not count.
    upper = np.array([0, 0xAB00])[:, None] if width == 1 else 0
    state = lds()
    store(state, addresses, LANES + upper, width)
    state.check_races()
    state = lds(equal_stores_race=True)
    store(state, addresses, LANES + upper, width)
    with pytest.raises(LdsRaceError, match="wave 1 writes it"):
        state.check_races()


@pytest.mark.parametrize("word", [0, 1])
def test_waves_that_store_two_values_race(word: int):
    values = np.zeros((2, 2, 64), np.uint32)
    values[word, 1, 63] = 1
    state = lds()
    store(state, np.stack([8 * LANES, 8 * LANES]), values, 8)
    with pytest.raises(LdsRaceError, match="wave 1 writes it"):
        state.check_races()


def test_undefined_stores_race_even_if_equal():
    state = lds()
    waves = np.arange(2)
    access = state.access(0, waves, SHARED.astype(np.uint32), (0,), 4, None)
    words = np.zeros((1, 2, 64), np.uint32)
    state.store(access, words, Undefined(words + np.uint32(1), np.ones_like(words, np.int32)))
    with pytest.raises(LdsRaceError):
        state.check_races()


def test_equal_stores_race_with_what_others_do():
    """Another wave's load races with the store, which counts for wave 0."""
    state = lds()
    store(state, SHARED, 7)
    access = state.access(1, np.array([1]), SHARED[:1].astype(np.uint32), (0,), 4, None)
    state.load(access, str)
    with pytest.raises(LdsRaceError, match="wave 1 reads it") as error:
        state.check_races()
    assert error.value.other == "wave 0 writes it"


def test_equal_stores_of_other_values_are_forgotten_at_a_barrier():
    state = lds()
    for value in (7, 8):
        store(state, SHARED, value)
        state.pass_barrier(np.array([True]))
    store(state, SHARED, np.stack([LANES, LANES + 1]))
    with pytest.raises(LdsRaceError):
        state.check_races()


def test_write_then_read_by_another_wave_races():
    code = "\tds_write_b32 v1, v2\n\tds_read_b32 v3, v4"
    with pytest.raises(LdsRaceError, match="LDS byte 0 of workgroup 0: wave 1 reads it") as error:
        run_two_waves(code, vectors={1: OWN, 2: ONE, 4: OWN[::-1]})
    assert "before, wave 0 writes it at line 3" in str(error.value)


def test_read_then_write_by_another_wave_races():
    code = f"\tds_write_b32 v1, v2\n{BARRIER}\tds_read_b32 v3, v1\n\tds_write_b32 v4, v2"
    with pytest.raises(LdsRaceError, match="wave 1 writes it") as error:
        run_two_waves(code, vectors={1: OWN, 2: ONE, 4: OWN[::-1]})
    assert "before, wave 0 reads it at line 6" in str(error.value)


def test_the_second_of_two_readers_is_remembered():
    """Wave 1 reads last what wave 0 read, and then writes it."""
    code = """\tds_write_b32 v1, v2
\ts_waitcnt lgkmcnt(0)
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
    code = f"\tds_write_b32 v1, v2\n{BARRIER}\t{first}\n{BARRIER}\tds_write_b32 v4, v2"
    run_two_waves(code, vectors={1: OWN, 2: ONE, 4: OWN[::-1]})


def test_a_barrier_of_another_workgroup_ends_nothing():
    """Workgroup 1 passes a barrier that workgroup 0 does not come to."""
    code = """\tds_write_b32 v1, v2
\ts_cmp_eq_u32 s2, 0
\ts_cbranch_scc1 .LBB0_1
\ts_waitcnt lgkmcnt(0)
\ts_barrier
.LBB0_1:
\tds_read_b32 v3, v4"""
    vectors = {1: np.tile(OWN, (2, 1)), 2: ONE, 4: np.tile(OWN[::-1], (2, 1))}
    with pytest.raises(LdsRaceError, match="of workgroup 0"):
        run_two_waves(code, vectors=vectors, workgroups=2)


def test_a_wave_may_do_as_it_likes_alone():
    code = (
        "\tds_write_b32 v1, v2\n\tds_read_b32 v3, v1\n\ts_waitcnt lgkmcnt(0)\n\tds_write_b32 v1, v3"
    )
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


def run_one_each(first: str, second: str) -> Machine:
    """Runs `first` in wave 0, then `second` in wave 1, from v4 on, 16 bytes apart.

    Before, and behind a barrier, all bytes are 0. v5 holds 1 in wave 0 and 2 in wave 1, v6 is 0.
    """
    code = f"""\tds_write_b64 v1, v[2:3]
\ts_waitcnt lgkmcnt(0)
\ts_barrier
\ts_cmp_eq_u32 s9, 0
\ts_cbranch_scc0 .LBB0_1
\t{first}
\ts_branch .LBB0_2
.LBB0_1:
\t{second}
.LBB0_2:"""
    own = np.array([[1], [2]])
    vectors = {1: 2 * OWN, 2: 0, 3: 0, 4: 16 * LANES, 5: own, 6: 0}
    return run_two_waves(code, vectors=vectors, scalars={9: [0, 1]})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ds_write_b16 v4, v5", "ds_write_b16 v4, v5 offset:2"),
        ("ds_write_b8 v4, v5 offset:1", "ds_write_b8 v4, v5 offset:2"),
        ("ds_write_b16 v4, v5", "ds_read_u16 v7, v4 offset:2"),
        ("ds_write_b8 v4, v5 offset:1", "ds_read_u8 v7, v4"),
        ("ds_write_b8 v4, v5 offset:7", "ds_add_u32 v4, v5 offset:8"),
        # One of them stores a whole word too.
        ("ds_write_b32 v4, v5\n\tds_write_b8 v4, v5 offset:4", "ds_write_b8 v4, v5 offset:5"),
        # Unaligned.
        ("ds_write_b16 v4, v5 offset:1", "ds_read_u8 v7, v4 offset:3"),
        ("ds_write_b32 v4, v5 offset:2", "ds_read_u16 v7, v4"),
        ("ds_write_b32 v4, v5 offset:2", "ds_write_b32 v4, v5 offset:6"),
        ("ds_write_b64 v4, v[5:6] offset:3", "ds_write_b32 v4, v5 offset:11"),
    ],
)
def test_waves_on_neighbouring_bytes_do_not_race(one: str, other: str):
    run_one_each(one, other)
    run_one_each(other, one)


@pytest.mark.parametrize(
    ("one", "other", "byte"),
    [
        ("ds_write_b16 v4, v5 offset:2", "ds_write_b16 v4, v5 offset:2", 2),
        ("ds_write_b16 v4, v5", "ds_write_b8 v4, v5 offset:1", 1),
        ("ds_write_b8 v4, v5 offset:1", "ds_read_b32 v7, v4", 1),
        ("ds_write_b8 v4, v5 offset:7", "ds_add_u32 v4, v5 offset:4", 7),
        ("ds_write_b32 v4, v5", "ds_read_u8 v7, v4 offset:3", 3),
        ("ds_add_u32 v4, v5", "ds_read_u8 v7, v4 offset:3", 3),
        # Unaligned.
        ("ds_write_b16 v4, v5 offset:1", "ds_read_u8 v7, v4 offset:2", 2),
        ("ds_write_b32 v4, v5 offset:2", "ds_read_b32 v7, v4 offset:5", 5),
        ("ds_write_b64 v4, v[5:6] offset:3", "ds_write_b32 v4, v5 offset:10", 10),
    ],
)
def test_waves_on_one_byte_of_a_word_race(one: str, other: str, byte: int):
    for first, second in ((one, other), (other, one)):
        with pytest.raises(LdsRaceError, match=f"race on LDS byte {byte} of workgroup 0"):
            run_one_each(first, second)


def test_both_waves_store_their_half_of_a_word():
    machine = run_one_each("ds_write_b16 v4, v5", "ds_write_b16 v4, v5 offset:2")
    expected = np.zeros(512, np.uint16)
    expected[0::8], expected[1::8] = 1, 2
    assert (machine.lds.bytes.view(np.uint16) == expected).all()


def test_waves_store_unaligned_words_side_by_side():
    machine = run_one_each("ds_write_b32 v4, v5 offset:3", "ds_write_b32 v4, v5 offset:7")
    expected = np.zeros(1024, np.uint8)
    expected[3::16], expected[7::16] = 1, 2
    assert (machine.lds.bytes == expected).all()


def test_atomics_do_not_race_with_each_other():
    start = "\tds_write_b32 v1, v2\n\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\tds_add_u32 v5, v2\n"
    vectors = {1: OWN, 2: ONE, 5: 0}
    machine = run_two_waves(
        f"{start}\ts_waitcnt lgkmcnt(0)\n\ts_barrier\n\tds_read_b32 v3, v5", vectors=vectors
    )
    assert (machine.vgpr[3] == 129).all()
    with pytest.raises(LdsRaceError, match="updates it"):
        run_two_waves(f"{start}\tds_read_b32 v3, v5", vectors=vectors)
    with pytest.raises(LdsRaceError, match="updates it"):
        run_two_waves(f"{start}\tds_write_b32 v1, v2", vectors=vectors)


def test_a_read_of_nothing_races_with_no_write():
    """Wave 1 reads bytes that only wave 0 writes, later: what it has is undefined anyway."""
    code = """\ts_cmp_eq_u32 s9, 0
\ts_cbranch_scc1 .LBB0_1
\tds_read_b32 v3, v1
\ts_branch .LBB0_2
.LBB0_1:
\tds_write_b32 v1, v2
.LBB0_2:"""
    machine = run(
        code,
        threads=128,
        scalars={9: [0, 1]},
        vectors={1: 4 * LANES, 2: ONE, 3: 0},
        lds_bytes=256,
    )
    assert undefined_bits(machine, "v3").min(axis=1).tolist() == [0, 0xFFFFFFFF]


class Touch(NamedTuple):
    """`width` bytes from `start` on that a wave loads, stores or updates."""

    kind: str
    wave: int
    start: int
    width: int
    instruction: int

    @property
    def bytes(self) -> set[tuple[int, int]]:
        """Returns bytes of LDS, each with its workgroup."""
        return {(self.start + k, self.wave // 3) for k in range(self.width)}


def is_race(first: Touch, second: Touch) -> bool:
    changed = first.kind != second.kind or first.kind == "store"
    return first.wave != second.wave and changed and bool(first.bytes & second.bytes)


LDS_BYTES = 32
EVERYWHERE = np.array([True, True])


def filled_lds() -> LdsState:
    """Returns the LDS of two workgroups of three waves, all of whose bytes are written."""
    lds = LdsState(2, LDS_BYTES, waves_per_workgroup=3)
    for wave in (0, 3):
        perform(lds, Touch("store", wave, 0, LDS_BYTES, 999))
    lds.pass_barrier(EVERYWHERE)
    return lds


def perform(lds: LdsState, touch: Touch) -> None:
    """Performs an access by a single lane."""
    base = np.full((1, 1), touch.start, np.uint32)
    waves = np.array([touch.wave])
    access = lds.access(touch.instruction, waves, base, (0,), touch.width, None)
    if touch.kind == "load":
        lds.load(access, str)
    elif touch.kind == "store":
        lds.store(access, np.zeros((words_of(touch.width), 1, 1, 1), np.uint32))
    else:
        lds.begin_update(access, compares=False)


def passes(lds: LdsState, passed: npt.NDArray[np.bool_], touched: list[Touch]) -> bool:
    """Passes a barrier if the accesses before it do not race; else the error must name two."""
    racing = [pair for pair in combinations(touched, 2) if is_race(*pair)]
    if not racing:
        lds.pass_barrier(passed)
        return True
    with pytest.raises(LdsRaceError) as error:
        lds.pass_barrier(passed)
    place = re.search(r"LDS byte (\d+) of workgroup (\d+)", str(error.value))
    assert place is not None
    byte = int(place[1]), int(place[2])
    named = error.value.other_instruction, error.value.instruction
    assert named in [(a.instruction, b.instruction) for a, b in racing if byte in a.bytes & b.bytes]
    return False


KINDS = ("load", "store", "update")


def test_pairs_of_accesses_race_where_they_share_a_byte():
    """Of any alignment, in and across words."""
    places = [(start, width) for width in (1, 2, 4) for start in range(6)]
    touches = [
        [Touch(kind, wave, *place, instruction=wave) for kind in KINDS for place in places]
        for wave in (0, 1)
    ]
    free = 0
    for pair in product(*touches):
        lds = filled_lds()
        for touch in pair:
            perform(lds, touch)
        free += passes(lds, EVERYWHERE, list(pair))
    assert 1000 < free < 2000


def accesses(kind: str, unit: int) -> st.SearchStrategy[tuple]:
    """Draws accesses of whole units: kind, wave, start and width."""
    widths = [width for width in (1, 2, 4, 8, 12) if width % unit == 0]
    starts = st.integers(0, LDS_BYTES // unit - 1).map(lambda n: n * unit)
    return st.tuples(st.just(kind), st.integers(0, 5), starts, st.sampled_from(widths)).map(
        lambda drawn: (*drawn[:2], min(drawn[2], LDS_BYTES - drawn[3]), drawn[3])
    )


@st.composite
def event_lists(draw: st.DrawFn) -> list[tuple]:
    """Returns barriers and some kinds of access, each of whole words, halves or any bytes."""
    events = [st.tuples(st.just("barrier"), st.sampled_from([1, 2, 3]))]
    for kind in sorted(draw(st.sets(st.sampled_from(KINDS), min_size=1))):
        events.append(accesses(kind, draw(st.sampled_from([1, 2, 4]))))
    return draw(st.lists(st.one_of(events), max_size=16))


@settings(max_examples=400, deadline=None)
@given(event_lists())
def test_races_are_those_of_the_definition(events: list[tuple]):
    """Single lanes of two workgroups of three waves, against all pairs since the last barrier.

    A barrier is passed by one workgroup or both, as the bits of its number say.
    """
    lds = filled_lds()
    touched: list[Touch] = []
    for number, (kind, *rest) in enumerate([*events, ("barrier", 3)]):
        if kind == "barrier":
            passed = np.array([bool(rest[0] & 1), bool(rest[0] & 2)])
            if not passes(lds, passed, touched):
                return
            touched = [touch for touch in touched if not passed[touch.wave // 3]]
            continue
        # An instruction always has one width.
        touched.append(Touch(kind, *rest, instruction=10 * rest[-1] + number % 5))
        perform(lds, touched[-1])
