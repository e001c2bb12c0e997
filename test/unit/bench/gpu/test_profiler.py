# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/gpu/profiler: what is read of the table of ncu."""

from __future__ import annotations

import pytest

from bankwise.bench.gpu.profiler import (
    LAUNCHES,
    METRICS,
    TIME,
    calls_of,
    figures_of,
    ncu_command,
    read_launches,
)

from .ncu_tables import FIGURES, ncu_table


def test_figures_are_the_medians_of_the_launches():
    assert figures_of(read_launches(ncu_table())) == FIGURES


def test_the_kernels_of_a_call_are_joined():
    """The first call of `copy`, `copy` and `merge` takes longer than the others."""
    times = ["9", "9", "9", *["1", "2", "30"] * LAUNCHES, "1", "2"]
    kernels = ("copy", "copy", "merge")
    launches = read_launches(ncu_table(launches=len(times), times=times, kernels=kernels))
    for launch in launches:
        launch.metrics[METRICS["registers"]] = 200 if launch.metrics[TIME] > 20_000 else 60
    found = figures_of(calls_of(launches))
    assert found.milliseconds == pytest.approx(0.033)
    assert found.ldmatrix == 3 * FIGURES.ldmatrix
    assert found.registers == 200 and found.occupancy == FIGURES.occupancy


@pytest.mark.parametrize(
    ("unit", "milliseconds"),
    [("ns", 5e-5), ("nsecond", 5e-5), ("usecond", 0.05), ("ms", 50), ("msecond", 50), ("s", 5e4)],
)
def test_times_are_read_in_every_unit(unit: str, milliseconds: float):
    figures = figures_of(read_launches(ncu_table(unit=unit)))
    assert figures.milliseconds == pytest.approx(milliseconds)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("==ERROR== ERR_NVGPUCTRPERM", "0 kernels instead of one"),
        (ncu_table(kernels=("one", "two")), r"2 kernels instead of one: \['one', 'two'\]"),
        (ncu_table(launches=4), "4 values of gpu__time_duration.sum, not 5"),
        (ncu_table(unit="fortnight"), "unknown unit, 'fortnight'"),
        (ncu_table(others={"ldmatrix": "n/a"}), "op_ldsm.sum: its value is 'n/a'"),
        (ncu_table(others={"ldmatrix": "nan"}), "op_ldsm.sum: its value is 'nan'"),
        (ncu_table().replace(METRICS["registers"], "other"), "0 values of launch__registers"),
    ],
)
def test_a_table_that_lacks_something_is_refused(table: str, message: str):
    with pytest.raises(ValueError, match=message):
        figures_of(read_launches(table))


def test_the_clocks_are_asked_for():
    command = ncu_command(["one", "two"], "none", "--kill=yes")
    assert command == ["ncu", "--csv", "--clock-control=none", "--metrics=one,two", "--kill=yes"]
