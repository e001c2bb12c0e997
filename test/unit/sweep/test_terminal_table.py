# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sums of a sweep on terminals of several widths."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bankwise.passes.mode import modes
from bankwise.sweep.rows import Row
from bankwise.sweep.tables import summary_table
from bankwise.sweep.terminal_table import terminal_table

from .swept_rows import case, row

CONFLICTS = {"none": 2_221_680_089_088, "stock": 13_282_578_432}


@pytest.fixture
def rows() -> list[Row]:
    """Returns the largest figures of the public sweep, in every mode there is."""
    found = []
    for mode in sorted(modes(), key=lambda mode: mode != "none"):
        measured = row(case("k", mode), valu=1000, lds_bytes=65_536)
        assert measured.grid is not None
        counted = {"SQ_LDS_BANK_CONFLICT": CONFLICTS.get(mode, 0)}
        found.append(replace(measured, grid=measured.grid | counted))
    return found


def test_a_terminal_of_80_columns_shows_every_figure(rows: list[Row]):
    text = terminal_table(rows, 80)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "gfx942 f16, 1 kernels"
    head = lines[1].split()
    assert head == ["mode", "conflicts", "in", "LDS", "LDS-i", "VALU", "SALU", "floor"]
    cells = {line.split()[0]: line.split()[1:] for line in lines[2 : 2 + len(rows)]}
    assert list(cells) == [each.mode for each in rows]
    ratios = ["1.000x"] * 4
    assert cells["none"] == ["2,221,680,089,088", "1", "65,536", *ratios]
    assert cells["stock"] == ["13,282,578,432", "1", "65,536", *ratios]
    assert cells["auto/exact/on"] == ["0", "0", "65,536", *ratios]
    ends = {len(line) for line in lines[1 : 2 + len(rows)]}
    assert len(ends) == 1
    legend = " ".join(lines[3 + len(rows) :])
    assert all(f"{name}:" in legend or f"{name}," in legend for name in head[1:])
    assert "instructions over those of stock" in legend


def test_a_narrow_terminal_shows_a_block_per_mode(rows: list[Row]):
    lines = terminal_table(rows, 60).splitlines()
    assert max(map(len, lines)) <= 60
    assert len(lines) == 8 * len(rows)
    assert lines[0] == "gfx942 f16, 1 kernels, none"
    assert lines[1].split() == ["conflict", "cycles", "2,221,680,089,088"]
    assert sum("13,282,578,432" in line for line in lines) == 1


@pytest.mark.parametrize(("width", "is_table"), [(80, True), (60, False)])
def test_predicted_times_have_bounds_on_every_terminal(width: int, is_table: bool):
    timed = [
        row(case("k", "none"), conflicts=2**40, expected=20_000),
        row(case("k", "auto"), expected=5_000),
    ]
    lines = terminal_table(timed, width).splitlines()
    assert max(map(len, lines)) <= width
    cells = ["0.250x", "5,000", "2,500", "10,000"]
    if is_table:
        assert ["auto", *cells] in [line.split() for line in lines]
        assert "predicted time: the geometric mean" in " ".join(lines)
    else:
        assert [line.split()[-1] for line in lines[len(lines) // 2 + 1 :][:4]] == cells


@pytest.mark.parametrize("width", [0, 200])
def test_where_there_is_room_the_table_is_that_of_the_file(rows: list[Row], width: int):
    assert terminal_table(rows, width) == summary_table(rows)


def test_just_too_narrow_is_too_narrow(rows: list[Row]):
    needed = max(map(len, summary_table(rows).splitlines()))
    assert terminal_table(rows, needed) == summary_table(rows)
    assert terminal_table(rows, needed - 1) != summary_table(rows)
