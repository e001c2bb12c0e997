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
    """Returns three kernels; of `large` one mitigation is not extrapolated, of `odd` one fails."""
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


def test_sums_take_only_kernels_that_are_known_under_every_mitigation(rows: list[Row]):
    f16 = {s.mitigation: s for s in summaries(rows) if s.group.dtype == "f16"}
    assert {s.kernels for s in f16.values()} == {1}
    assert [f16[m].conflicts for m in ("none", "stock", "auto")] == [4000, 40, 0]
    assert f16["auto"].ratios["SQ_INSTS_VALU"] == pytest.approx(1.1)


def test_ratios_are_to_the_first_mitigation_where_none_is_missing():
    rows = [row(case("k", "stock"), valu=50), row(case("k", "auto"), valu=100)]
    assert [s.ratios["SQ_INSTS_VALU"] for s in summaries(rows)] == [1.0, 2.0]


def test_a_json_table_is_read_again(rows: list[Row]):
    command = ["bankwise-sweep", "--every=2"]
    assert read_json_table(json_table(rows, command)) == (rows, command)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no JSON table"),
        ("[]", "is no JSON table"),
        ('{"rows": []}', "is no JSON table"),
        ('{"command": [], "rows": [1]}', "is no JSON table"),
        ('{"command": [], "rows": [{"kernel": "k"}]}', "is no JSON table"),
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
