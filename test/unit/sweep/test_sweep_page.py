# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page of a sweep: what comes of it first, the figures of the other files, nothing outside."""

from __future__ import annotations

import re

from bankwise.sweep.rows import Row
from bankwise.sweep.sweep_page import sweep_page
from bankwise.sweep.tables import group_lines, groups, summary_lines

from .swept_rows import case, failed_row, row

PLOT = (
    '<?xml version="1.0"?>\n<!DOCTYPE svg>\n<svg xmlns="http://www.w3.org/2000/svg"><metadata>m'
    '</metadata><style type="text/css">*{fill: red}</style></svg>\n'
)


def swept() -> list[Row]:
    return [
        row(case("a<b", "none"), conflicts=8, expected=12),
        row(case("a<b", "stock"), conflicts=4, expected=8),
        row(case("a<b", "auto"), expected=4),
        failed_row(case("c", "auto")),
    ]


def cells(page: str) -> list[list[str]]:
    found = (re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", line) for line in page.split("<tr>")[1:])
    return [[each.replace("&lt;", "<").replace("&gt;", ">") for each in line] for line in found]


def test_a_page_has_the_figures_of_the_tables_and_the_plot() -> None:
    rows = swept()
    page = sweep_page(rows, ["bankwise-sweep", "--every=2"], PLOT)
    (group,) = groups(rows)
    shown = cells(page)
    sums = [list(each) for each in summary_lines(rows)]
    assert shown[: len(sums)] == sums
    assert sums[0].index("predicted time") < sums[0].index("conflict cycles")
    kernels = [list(each) for each in group_lines(group)]
    assert shown[len(sums) :][: len(kernels)] == kernels
    assert shown[-1][:4] == ["c", "f16", "gfx942", "auto"]
    assert "bankwise-sweep --every=2</code>" in page


def test_a_page_begins_with_what_the_last_mode_has_gained() -> None:
    page = sweep_page(swept(), ["bankwise-sweep"], PLOT)
    verdict = page[page.index("<h1>") : page.index("<table>")]
    gained = "gfx942 f16, auto: <b>0.500x</b> of the predicted time of stock, "
    assert f'{gained}\n<span class="good">0 of 1 kernels with conflicts</span>' in verdict


def test_a_page_needs_nothing_else_and_keeps_the_styles_of_the_plot_inside() -> None:
    page = sweep_page(swept(), ["bankwise-sweep"], PLOT)
    assert "a<b" not in page
    assert "<metadata>" not in page and page.count("<!DOCTYPE") == 1
    assert ".plot svg *{fill: red}" in page and 'css">*{' not in page
    for outside in ("url(", "@import", "<link", "<img", "src=", "fetch("):
        assert outside not in page
