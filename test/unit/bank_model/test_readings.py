# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where sources disagree, the answer by the other one is counted, too, and said."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.conflicts import conflict_cycles, phase_costs
from bankwise.bank_model.layouts import PaddedLayout, PlainLayout
from bankwise.bank_model.lds_rules import AccessKind, Status
from bankwise.bank_model.lds_tables import known_targets, lds_of
from bankwise.bank_model.readings import EVIDENCE, other_readings, shown_readings

READ, WRITE = AccessKind.READ, AccessKind.WRITE
LANES = np.arange(64)
TILE = LdsTile((64, 16), 32)


def access(kind: AccessKind, starts: np.ndarray, count: int = 1, weight: int = 1) -> LdsAccess:
    return LdsAccess(kind, starts[None, :], count, weight=weight, alignment=count)


def test_both_readings_of_ds_read_b32_at_a_stride_of_64_bytes():
    instruction = lds_of("gfx950").instruction(READ, 4)
    other = instruction.other
    assert other is not None
    assert int(conflict_cycles(instruction, LANES * 64)) == 30
    assert int(conflict_cycles(other, LANES * 64)) == 15
    assert (instruction.status, other.status) == (Status.PUBLISHED, Status.TIMED)


def test_stores_of_equal_words_are_shared_or_counted_each():
    instruction = lds_of("gfx942").instruction(WRITE, 4)
    assert instruction.other is not None
    assert phase_costs(instruction, LANES * 0).tolist() == [1, 1]
    assert phase_costs(instruction.other, LANES * 0).tolist() == [32, 32]
    # Counters of an MI300 have settled it for parts of words.
    assert lds_of("gfx942").instruction(WRITE, 2).other is None


def test_an_answer_that_would_differ_says_what_it_would_be():
    read = access(READ, LANES * 16, weight=2)
    (reading,) = other_readings(lds_of("gfx950"), TILE, PlainLayout(), [read])
    assert (reading.conflict_cycles, reading.otherwise) == (60, 30)
    assert str(reading) == (
        "sources disagree: by nod-ai/amd-shark-ai PR 2919, docs/empirical-lds/cdna4info.md, "
        "ds_read_b32 has 64 banks in 1 phase (measured by latency), not 32 banks in 2 phases; "
        "conflict cycles would be 30, not 60"
    )


def test_doubts_of_reads_and_of_stores_stand_apart():
    accesses = [access(READ, LANES * 16), access(WRITE, LANES // 2)]
    readings = [*other_readings(lds_of("gfx950"), TILE, PlainLayout(), accesses)]
    assert [(each.conflict_cycles, each.otherwise) for each in readings] == [(30, 15), (30, 32)]
    assert "ds_write_b32 serves lanes that want the same word one" in readings[1].claim


@pytest.mark.parametrize(
    ("arch", "layout", "accesses"),
    [
        ("gfx950", PaddedLayout(1), [access(READ, LANES * 16)]),  # Clean by both.
        ("gfx950", PlainLayout(), [access(READ, LANES * 4, 4)]),  # Nobody doubts ds_read_b128.
        ("gfx942", PlainLayout(), [access(WRITE, LANES)]),  # No word is stored twice.
        ("gfx942", PlainLayout(), []),
    ],
)
def test_an_answer_that_all_sources_agree_on_says_nothing(arch, layout, accesses):
    assert shown_readings(lds_of(arch), TILE, layout, accesses) == ()


def test_only_the_rows_of_one_source_are_read_by_it():
    lds = lds_of("gfx950")
    timed, stores = lds.other_sources
    by_timed, by_stores = lds.read_by(timed), lds.read_by(stores)
    assert by_timed.instruction(READ, 4).banks == 64
    assert by_timed.instruction(WRITE, 4) == lds.instruction(WRITE, 4)
    assert by_stores.instruction(READ, 4) == lds.instruction(READ, 4)
    assert by_stores.instruction(WRITE, 16).sharing is not lds.instruction(WRITE, 16).sharing
    assert lds_of("sm_90").other_sources == ()


@pytest.mark.parametrize("arch", known_targets())
def test_every_row_has_a_source_and_a_class_of_evidence(arch: str):
    lds = lds_of(arch)
    for row in lds.rows:
        for reading in filter(None, (row, row.other)):
            assert reading.source and EVIDENCE[reading.status]
            assert (reading.name, reading.kind) == (row.name, row.kind)
            assert reading.width_bytes == row.width_bytes
