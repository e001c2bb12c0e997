# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A sweep's tables hold its rows."""

from __future__ import annotations

import csv
import io
import json

import pytest

from bankwise.sweep.rows import Row
from bankwise.sweep.tables import (
    SweepTableError,
    csv_table,
    json_table,
    markdown_table,
    read_json_table,
    summaries,
)

from .swept_rows import case, differing_row, failed_row, row


@pytest.fixture
def rows() -> list[Row]:
    """Returns three kernels; of `large` one mode is not extrapolated, of `odd` one fails."""
    return [
        row(case("small", "none"), conflicts=1000),
        row(case("small", "stock"), conflicts=10, lds_bytes=1152),
        row(case("small", "auto"), valu=110),
        row(case("large", "none", work=9), conflicts=5000),
        differing_row(case("large", "stock", work=9)),
        row(case("large", "auto", work=9)),
        row(case("odd", "none")),
        failed_row(case("odd", "stock")),
        row(case("odd", "auto")),
        row(case("small", "none", "f32"), conflicts=3),
    ]


def test_csv(rows: list[Row]):
    read = list(csv.DictReader(io.StringIO(csv_table(rows))))
    assert len(read) == len(rows)
    assert read[0]["grid_SQ_LDS_BANK_CONFLICT"] == "4000"
    assert read[0]["workgroup_SQ_LDS_BANK_CONFLICT"] == "1000"
    assert read[0]["first_and_last_agree"] == "true"
    assert read[0]["measured"] == "2 of 4, equal"
    assert read[4]["grid_SQ_INSTS_LDS"] == ""
    assert read[7]["lds_bytes"] == ""
    assert read[7]["error"].startswith("error: no | such op")


def test_json(rows: list[Row]):
    document = json.loads(json_table(rows, ["bankwise-sweep", "--every=2"]))
    assert document["command"] == ["bankwise-sweep", "--every=2"]
    assert [r["kernel"] for r in document["rows"]] == [r.kernel for r in rows]
    assert document["rows"][0]["grid"]["SQ_INSTS_LDS"] == 40
    assert document["rows"][4]["grid"] is None
    assert document["rows"][4]["measured"] == {"SQ_INSTS_LDS": 7}


def test_markdown(rows: list[Row]):
    text = markdown_table(rows, ["bankwise-sweep"])
    lines = text.splitlines()
    assert "| gfx942 | f16 | stock | 1 | 40 | 1 | 1,152 | 1.000x | 1.000x |" in text
    small = next(line for line in lines if line.startswith("| small |"))
    assert "| 2 of 4, equal | 4,000 / 40 / 0 |" in small
    large = next(line for line in lines if line.startswith("| large |"))
    assert "differ: not extrapolated" in large
    assert "| 20,000 / - / 0 |" in large
    assert r"| odd | f16 | gfx942 | stock | error: no \| such op |" in lines
    for line in lines:
        assert not line.startswith("|") or line.count("|") - line.count(r"\|") >= 6


def test_sums_take_only_kernels_that_are_known_in_every_mode(rows: list[Row]):
    f16 = {s.mode: s for s in summaries(rows) if s.group.dtype == "f16"}
    assert {s.kernels for s in f16.values()} == {1}
    assert [f16[m].conflicts for m in ("none", "stock", "auto")] == [4000, 40, 0]
    assert f16["auto"].ratios["SQ_INSTS_VALU"] == pytest.approx(1.1)


def test_ratios_are_to_the_first_mode_where_none_is_missing():
    rows = [row(case("k", "stock"), valu=50), row(case("k", "auto"), valu=100)]
    assert [s.ratios["SQ_INSTS_VALU"] for s in summaries(rows)] == [1.0, 2.0]


@pytest.fixture
def timed() -> list[Row]:
    """Returns two kernels, of which `auto` halves the small one and keeps the large one."""
    return [
        row(case("small", "none"), expected=8),
        row(case("small", "auto"), expected=4),
        row(case("large", "none"), expected=1000),
        row(case("large", "auto"), expected=1000),
    ]


def test_predicted_times_are_summed_and_their_ratios_averaged_geometrically(timed: list[Row]):
    none, auto = summaries(timed)
    assert none.predicted_microseconds == {"low": 504, "expected": 1008, "high": 2016}
    assert auto.predicted_microseconds == {"low": 502, "expected": 1004, "high": 2008}
    assert auto.predicted_ratio == pytest.approx(0.5**0.5)


def test_tables_have_predicted_times_with_bounds(timed: list[Row]):
    read = list(csv.DictReader(io.StringIO(csv_table(timed))))
    names = [f"predicted_microseconds_{name}" for name in ("low", "expected", "high")]
    assert [float(read[1][name]) for name in names] == [2, 4, 8]
    assert read_json_table(json_table(timed, [])) == (timed, [])
    text = markdown_table(timed, [])
    assert "none was measured on a GPU" in text
    assert "| 0.707x | 1,004 | 502 | 2,008 |" in text
    assert "| 8.0 [4.0, 16.0] / 4.0 [2.0, 8.0] |" in text
    head = next(line for line in text.splitlines() if line.startswith("| kernel |"))
    assert head.index("predicted us") < head.index("conflict cycles")


def test_tables_without_predictions_do_not_speak_of_them(rows: list[Row]):
    assert "predicted" not in markdown_table(rows, [])
    assert "predicted" not in json.dumps([s.ratios for s in summaries(rows)])


def test_a_table_of_version_1_is_read(rows: list[Row]):
    text = json_table(rows, []).replace('"version": 2', '"version": 1')
    older = text.replace('"mode":', '"mitigation":')
    assert older != text and read_json_table(older)[0] == rows


def test_a_json_table_is_read_again(rows: list[Row]):
    command = ["bankwise-sweep", "--every=2"]
    assert read_json_table(json_table(rows, command)) == (rows, command)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no JSON table"),
        ("[]", "is no JSON table"),
        ('{"rows": []}', "is no JSON table"),
        ('{"command": [], "rows": []}', "has no row"),
        ('{"command": [], "rows": [1]}', "row 1: it is no object"),
        ('{"command": [], "rows": [{"kernel": "k"}]}', "row 1: it has no field 'dtype'"),
        ("[" * 100_000, "is no JSON table"),
    ],
)
def test_what_is_no_table_is_refused(text: str, message: str):
    with pytest.raises(SweepTableError, match=message):
        read_json_table(text)


def test_a_table_without_a_counter_is_refused(rows: list[Row]):
    text = json_table(rows, []).replace("SQ_INSTS_MFMA", "SQ_INSTS_OTHER")
    with pytest.raises(SweepTableError, match="the row of small has no SQ_INSTS_MFMA"):
        read_json_table(text)
