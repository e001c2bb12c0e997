# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The formats of a report: what they show, and that they hold what they promise."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from bankwise.report import columns
from bankwise.report.columns import Column, Unit
from bankwise.report.contents import (
    AccessRow,
    AllocationRow,
    Contents,
    SelectionError,
    number_report,
)
from bankwise.report.headline import Headline
from bankwise.report.html import html_report
from bankwise.report.json_document import json_report
from bankwise.report.markdown import markdown_report
from bankwise.report.text import text_report


def test_markdown_escapes_what_comes_from_the_input(evil: Contents) -> None:
    text = markdown_report(evil)
    outside_code = "".join(text.split("``")[::2])
    assert "<script>" not in outside_code
    rows = [line for line in text.splitlines() if line.startswith("| 1 |")]
    # Seven columns whatever bars the names contain.
    assert len(rows[0].replace("\\|", "").strip("|").split("|")) == 7


def test_names_reach_no_format_with_control_characters(contents: Contents) -> None:
    name = "dir/\x1b[2Jtwo\nlines\u202e.mlir"
    (function,) = contents.functions
    allocations = tuple(
        replace(row, report=replace(row.report, location=f"{name}:1:2"), inputs=("other", name))
        for row in function.allocations
    )
    report = replace(function.report, name="kernel\x1b[31m\n")
    hostile = replace(function, report=report, file=name, allocations=allocations)
    changed = replace(
        contents, inputs=(name,), command=("bankwise-report", name), functions=(hostile,)
    )
    for render in (text_report, markdown_report, html_report, json_report):
        shown = render(changed)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown)
        assert "\nlines" not in shown
    assert json.loads(json_report(changed))["inputs"] == [name]


def test_json_holds_the_numbers(contents: Contents) -> None:
    document = json.loads(json_report(contents))
    assert (document["version"], document["mode"], document["mitigation"]) == (1, "ir", None)
    (function,) = document["functions"]
    first, second = function["allocations"]
    assert function["target"] == "gfx942"
    assert [first["number"], second["number"]] == [1, 2]
    assert first["layouts"]["before"]["conflict_cycles"] == 62
    assert first["layouts"]["chosen"]["swizzles"] != []
    (access,) = first["accesses"]
    assert access["before"] == {
        "conflict_cycles": 62,
        "wavefronts": 64,
        "instructions": {"ds_read_b32": 1},
    }
    # Each of the 64 lanes wants a word of its own, and 32 banks deliver them in 2 cycles.
    assert access["ideal_lds_cycles"] == 2
    assert (first["layouts"]["standing"]["lds_cycles"], first["ideal_lds_cycles"]) == (64, 2)
    sums = sum(allocation["ideal_lds_cycles"] for allocation in (first, second))
    assert document["totals"]["ideal_lds_cycles"] == sums
    assert access["source_lines"] == ["" for _ in access["locations"]]
    worst = access["bank_maps"]["before"]
    assert [word["lanes"] for word in worst["banks"][0]] == [[lane] for lane in range(32)]
    assert document["totals"]["before"]["conflict_cycles"] == 124
    assert worst["same"] == {
        "text": "the same for phase 2",
        "phases": 2,
        "same_phases": 2,
        "same_on_other_banks": 0,
    }
    assert document["headline"] == {
        "conflict_cycles": document["totals"]["standing"]["conflict_cycles"],
        "proposed_conflict_cycles": document["totals"]["chosen"]["conflict_cycles"],
        "complete": True,
        "text": str(Headline.of(contents)),
    }
    assert json_report(replace(contents, bank_maps=False)).count("bank_maps") == 0


def test_the_headline_comes_before_everything_else(contents: Contents) -> None:
    sentence = (
        "124 conflict cycles in the plain layout, 4 with stock's padding, 0 in the proposed one"
    )
    assert text_report(contents).splitlines()[1] == sentence
    assert markdown_report(contents).splitlines()[2] == f"**{sentence}**"


def test_equal_maps_are_drawn_once(contents: Contents) -> None:
    """Both allocations hold a column; the third access reads one word, before as afterwards."""
    for text in (text_report(contents), markdown_report(contents)):
        titles = re.findall(r"^ *(\d (?:before|proposed|chosen).*?), ds", text, re.MULTILINE)
        assert titles == [
            "1 before",
            "1 proposed",
            "2 before",
            "2 proposed",
            "3 before and proposed",
        ]
        assert text.count("\nbank  0  1") == 5
        assert "the same for phase 2" in text
    (function,) = contents.functions
    first, second = function.allocations
    again = replace(second, accesses=tuple(replace(a, number=9) for a in first.accesses))
    text = text_report(
        replace(contents, functions=(replace(function, allocations=(first, again)),))
    )
    assert text.count("\nbank  0  1") == 2
    assert "   9: the bank maps are those of 1; the same for phase 2\n" in text


def test_text_fits_into_its_width_and_is_plain_without_a_terminal(contents: Contents) -> None:
    for width in (80, 100, 200):
        text = text_report(replace(contents, bank_maps=False), width=width)
        assert max(map(len, text.splitlines())) <= width
        assert "\x1b" not in text
    assert max(map(len, text_report(contents).splitlines())) <= 100
    assert "\x1b[" in text_report(contents, colour=True)


def test_an_empty_report_says_so(contents: Contents) -> None:
    empty = replace(contents, functions=())
    assert text_report(empty) == "a.mlir: no workgroup allocations\n"
    assert "No workgroup allocations." in markdown_report(empty)
    assert "No workgroup allocations." in html_report(empty)


def test_numbers_select(contents: Contents) -> None:
    reports = [(f.file, f.report) for f in contents.functions]
    (function,) = number_report(reports, [], frozenset({2}))
    assert [a.number for a in function.allocations] == [2]
    (function,) = number_report(reports, [], frozenset(), frozenset({3}))
    assert [[a.number for a in b.accesses] for b in function.allocations] == [[3]]
    with pytest.raises(SelectionError, match="--access=9: the report has 3"):
        number_report(reports, [], frozenset(), frozenset({9}))
    with pytest.raises(SelectionError, match="have none of these accesses"):
        number_report(reports, [], frozenset({1}), frozenset({3}))


def test_a_new_column_is_one_entry_and_in_every_format(
    contents: Contents, monkeypatch: pytest.MonkeyPatch
) -> None:
    lanes = Column[AccessRow](
        "lanes", lambda row: 1234, Unit.COUNT, lambda row: {"lanes_used": 1234}
    )
    owner = Column[AccessRow]("owner", lambda row: "a wave", data=lambda row: {"owner": "a wave"})
    rows = Column[AllocationRow](
        "rows", lambda row: 5678, Unit.COUNT, lambda row: {"row_count": 5678}
    )
    accesses = (*columns.ACCESS_COLUMNS, lanes, owner)
    monkeypatch.setattr(columns, "ACCESS_COLUMNS", accesses)
    monkeypatch.setattr(columns, "ALLOCATION_COLUMNS", (*columns.ALLOCATION_COLUMNS, rows))
    text = text_report(contents)
    assert "ideal  lanes" in text
    assert "1,234" in text
    assert "owner: a wave" in text
    assert "   rows: 5,678" in text
    markdown = markdown_report(contents)
    assert "| ideal | lanes | owner |" in markdown
    assert "| 1,234 | a wave |" in markdown
    assert "| decision | rows |" in markdown
    page = html_report(contents)
    assert '<th scope="col" class="n">lanes</th>' in page
    assert '<td class="n">1,234</td>' in page
    assert "<p>owner: a wave</p>" in page
    assert '<th scope="col" class="n" rowspan="2">rows</th>' in page
    assert '<td class="n">5,678</td>' in page
    (allocation, *_) = json.loads(json_report(contents))["functions"][0]["allocations"]
    assert allocation["row_count"] == 5678
    assert allocation["accesses"][0]["lanes_used"] == 1234
    assert allocation["accesses"][0]["owner"] == "a wave"


def test_source_lines_are_shown_whole_in_every_format(contents: Contents, tmp_path: Path) -> None:
    line = f"%v = memref.load %m[%x, %c0] {{{'x' * 300}}}"
    path = tmp_path / "kernel.mlir"
    path.write_text(f"\n  {line}\n")
    (function,) = contents.functions
    first, *others = function.allocations
    (access,) = first.accesses
    group = replace(access.group, locations=(f"{path}:2:3",))
    row = replace(first, accesses=(replace(access, group=group),), inputs=[str(path)])
    changed = replace(contents, functions=(replace(function, allocations=(row, *others)),))
    for render in (text_report, markdown_report, html_report, json_report):
        assert line in re.sub(r"\n *", "", render(changed))
