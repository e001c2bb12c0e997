# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A new counter is a field and a row in `emulator/counters.py`, and a sum where it is counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from bankwise.emulator import counters, memory_instructions, wave_state
from bankwise.emulator.counters import Counters, Counts, RunCounter
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import Case, SweptKernel
from bankwise.sweep.measure import measure
from bankwise.sweep.tables import csv_table

SOURCE = """
func.func @square(%a: tensor<900xf32>) -> tensor<900xf32> {
  %r = arith.mulf %a, %a : tensor<900xf32>
  return %r : tensor<900xf32>
}
"""


@dataclass(eq=False)
class CountersWithWaves(Counters):
    """`Counters` with a field more."""

    global_waves: Counts


def waves_of(counted: Counters) -> int:
    assert isinstance(counted, CountersWithWaves)
    return int(counted.global_waves.sum())


@pytest.fixture
def counted_waves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts the waves that access global memory, as a change of two files would."""
    row = RunCounter("GLOBAL_WAVES", lambda counted, _: waves_of(counted))
    monkeypatch.setattr(counters, "RUN_COUNTERS", (*counters.RUN_COUNTERS, row))
    monkeypatch.setattr(wave_state, "Counters", CountersWithWaves)
    before = memory_instructions._Traffic.count

    def count(self, group, target, width):
        before(self, group, target, width)
        group.machine.workgroup_counters.global_waves[group.pc] += group.waves_of_workgroups

    monkeypatch.setattr(memory_instructions._Traffic, "count", count)


@pytest.mark.usefixtures("counted_waves")
def test_a_new_counter_is_in_totals_rows_and_tables():
    inputs = "900xf32=2.0"
    row = measure(Case(SweptKernel("k", "", SOURCE, "", (inputs,)), "gfx942", "none", 99))
    assert row.error == ""
    assert row.grid is not None
    # 15 workgroups of one wave each load and store.
    assert row.grid["GLOBAL_WAVES"] == 30
    head, line = csv_table([row]).splitlines()
    columns = dict(zip(head.split(","), line.split(","), strict=True))
    assert columns["grid_GLOBAL_WAVES"] == "30"
    assert columns["workgroup_GLOBAL_WAVES"] == ""


@pytest.mark.usefixtures("counted_waves")
def test_a_new_counter_is_in_the_totals_of_a_run():
    flags = ["--iree-hal-target-device=hip", "--iree-rocm-target=gfx942"]
    run = run_emulated(SOURCE, flags, "none", [np.ones(900, np.float32)])
    assert run.counters["GLOBAL_WAVES"] == 30
