# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The HTML report: one file, everything escaped, before beside after, equal maps once."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bankwise.bank_model.layout_counts import LayoutCount
from bankwise.report.conflict_report import FunctionReport
from bankwise.report.contents import Contents
from bankwise.report.headline import Headline
from bankwise.report.html import html_report
from bankwise.report.html_page import COLOURS
from bankwise.report.html_script import SCRIPT
from bankwise.report.markdown import markdown_report
from bankwise.report.shown_maps import all_phase_choices, shown_maps
from bankwise.report.sources import report_files

from .contrasts import contrast
from .small_reports import TILE, contents_of, kernel, report_of

CONFLICTING = report_of(
    kernel(
        f"""%tile = memref.alloc() : {TILE}
      %row = affine.apply affine_map<(d0) -> (d0 mod 64)>(%t)
      %read = vector.load %tile[%row, %c0] : {TILE}, vector<1xf32>"""
    )
)


class Page(HTMLParser):
    """Checks that tags balance, and collects what the page refers to."""

    VOID = frozenset({"meta", "br", "img", "link"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.attributes: list[dict[str, str | None]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.append(dict(attrs))
        for name, value in attrs:
            if name in ("href", "src"):
                self.references.append(value or "")
            if name == "id":
                self.ids.append(value or "")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_is_one_file_without_anything_from_outside(contents: Contents) -> None:
    text = html_report(contents)
    page = Page(text)
    assert page.references
    assert {*page.references} <= {f"#{name}" for name in page.ids}
    for outside in ("http", "url(", "@import", "<link", "<img", "fetch(", "import("):
        assert outside not in text
    assert page.tags.count("script") == 1
    assert f"<script>\n{SCRIPT}</script>" in text
    assert len(page.ids) == len({*page.ids})
    for fact in ("gfx942", "dir/a.mlir", "bankwise-report dir/a.mlir", "row = lane, column = 0"):
        assert fact in page.text


def test_the_headline_is_the_sum_of_the_rows_and_comes_first(contents: Contents) -> None:
    text = html_report(contents)
    headline = Headline.of(contents)
    assert headline is not None
    number = re.search(r'<p class="number"><strong class="bad">([\d,]+)</strong>', text)
    assert number is not None
    assert number[1] == f"{headline.standing:,}"
    rows = re.findall(r'<a href="#access-\d+">.*?</tr>', text, re.DOTALL)
    figures = [re.findall(r'<td class="n (?:bad|good)">([\d,]+)</td>', row) for row in rows]
    assert [sum(map(int, column)) for column in zip(*figures, strict=True)] == [
        headline.before,
        headline.padded,
        headline.chosen,
    ]
    assert number.start() < text.index("How to read this page") < text.index("<h2 ")
    plain, padded, proposed = (
        text.index(f'<th scope="row">{row}</th>')
        for row in ("plain, as the IR stands", "stock's padding", "proposed")
    )
    assert plain < padded < proposed < text.index("How to read this page")


def layouts_of(report: FunctionReport) -> list[LayoutCount]:
    """Returns the plain layout, stock's and the chosen one of the only allocation of a kernel."""
    (allocation,) = report.allocations
    counts = [allocation.layouts[name] for name in ("before", "padded", "chosen")]
    return [each for each in counts if each is not None]


def test_several_kernels_have_an_index_whose_conflicts_are_those_of_the_grid() -> None:
    reports = [replace(CONFLICTING, name="a", workgroups=12), replace(CONFLICTING, name="b")]
    text = html_report(contents_of(*reports))
    of_one = [each.conflict_cycles for each in layouts_of(CONFLICTING)]
    assert of_one[0] > of_one[1] > of_one[2] == 0
    page = Page(text)
    index = text[text.index("<h2>Kernels</h2>") : text.index("How to read this page")]
    assert text.index("<strong") < text.index(index)
    rows = [re.findall(r"<td[^>]*>([^<]*)</td>", row) for row in index.split("<tr>")[3:]]
    size = f"{layouts_of(CONFLICTING)[2].lds_bytes:,}"
    assert rows[0] == ["12", *(f"{12 * each:,}" for each in of_one), size]
    assert rows[1] == ["not known", *(f"{each:,}" for each in of_one), size]
    assert rows[2] == ["", *(f"at least {13 * each:,}" for each in of_one), f"at most {size}"]
    assert {"kernel-1", "kernel-2"} <= {*page.ids}
    assert index.count('<a href="#kernel-') == 2
    assert "<h2>Kernels</h2>" not in html_report(contents_of(CONFLICTING))


def test_before_is_left_of_what_is_proposed(contents: Contents) -> None:
    text = html_report(contents)
    first, second, third = re.findall(r'<details id="access-\d".*?\n</details>', text, re.DOTALL)
    for section in (first, second):
        assert section.index("<b>before</b>: plain") < section.index(
            "<b>proposed</b>: swizzled with"
        )
        assert section.count("<figure>") == 2
        assert section.count('role="img"') == 4
        assert section.startswith('<details id="access-1" open') or "access-2" in section
        assert "<summary><b>" in section
    # One word for all lanes: there is no conflict, and both layouts have the same map.
    assert third.startswith('<details id="access-3"><summary>')
    assert "<b>before and proposed</b>: plain, swizzled with" in third
    assert third.count("bank map of") == 1


def test_maps_of_an_earlier_access_are_referred_to(contents: Contents) -> None:
    (function,) = contents.functions
    first, second = function.allocations
    again = replace(second, accesses=tuple(replace(a, number=9) for a in first.accesses))
    shown = replace(contents, functions=(replace(function, allocations=(first, again)),))
    text = html_report(shown)
    assert 'The bank maps are those of <a href="#access-1">access 1</a>; the same for' in text
    assert text.count("bank map of access") == 2


def test_pictures_and_tables_can_be_read_without_eyes(contents: Contents) -> None:
    page = Page(html_report(contents))
    for tag, attributes in zip(page.tags, page.attributes, strict=True):
        if attributes.get("role") in ("img", "region"):
            assert attributes.get("aria-label")
        if tag == "th":
            assert attributes.get("scope") or attributes.get("aria-hidden") == "true"
        if tag == "svg":
            assert attributes.get("aria-hidden") == "true"
        if attributes.get("class") == "wide":
            assert attributes.get("tabindex") == "0"
    assert page.tags.count("svg") <= 2 * page.text.count("bank") + 20
    labels = [each["aria-label"] or "" for each in page.attributes if "aria-label" in each]
    assert any("32 words on bank 0; no word on the banks 1 to 31" in label for label in labels)


def test_html_escapes_what_comes_from_the_input(evil: Contents, evil_text: str) -> None:
    text = html_report(evil)
    page = Page(text)
    assert page.tags.count("script") == text.count("<script") == 1
    assert page.text.count(evil_text) >= 4


def test_source_lines_are_shown_and_escaped(
    tmp_path: Path, kernel_text: str, evil_text: str
) -> None:
    path = tmp_path / "a<b>&.mlir"
    path.write_text("".join(f"{line} // {evil_text}\n" for line in kernel_text.splitlines()))
    ((file, report),) = report_files([str(path)], "gfx942")
    contents = contents_of(report, file=file)
    text = html_report(contents)
    page = Page(text)
    assert page.tags.count("script") == text.count("<script") == 1
    for operation in ("memref.alloc", "memref.load %m", "memref.store %v", "memref.load %n"):
        lines = path.read_text().splitlines()
        number = next(n for n, line in enumerate(lines, 1) if operation in line)
        assert re.search(rf"{re.escape(str(path))}:{number}:\d+", page.text)
        assert lines[number - 1].strip() in page.text
    path.unlink()
    assert evil_text not in Page(html_report(contents)).text


def pictures(page: Page) -> list[list[str]]:
    """Returns the pictures of each choice, which the script unpacks."""
    packed = [each["data-pictures"] for each in page.attributes if "data-pictures" in each]
    return [json.loads(zlib.decompress(base64.b64decode(each or ""))) for each in packed]


def test_all_phases_of_an_instruction_can_be_chosen(contents: Contents) -> None:
    text = html_report(contents)
    _, chosen = pictures(Page(text))[:2]
    options = re.findall(r"<option>(.*?)</option>", text)
    assert [each for each in options if "→" in each][:2] == [
        "phase 1 of 2: 32 → 1 cycles",
        "phase 2 of 2: 32 → 1 cycles",
    ]
    assert len(chosen) == 2
    for number, picture in enumerate(chosen, 1):
        assert f"phase {number} of 2: 32 cycles" in picture
        assert f"phase {number} of 2: 1 cycle" in picture
        assert picture.count('role="img"') == 4
    # The first phase is the worst one: its pictures are those that the page shows.
    assert re.sub(r"<p>The same for.*?</p>\n", "", section_of(text, 1)) == chosen[0]


def section_of(text: str, access: int) -> str:
    """Returns the pictures that the page shows of an access."""
    begin = text.index('<div class="pair">\n', text.index(f'id="access-{access}"'))
    return text[begin : text.index("\n</div>\n</details>", begin)].partition("\n")[2]


def test_the_whole_tile_can_be_chosen(contents: Contents) -> None:
    (by_bank, by_lane), *_ = pictures(Page(html_report(contents)))
    assert "The bank of each element: the first 24 of 64 rows" in by_bank
    assert "The lane of each word: the first 24 of 64 lines" in by_lane
    assert by_bank.count("<figure>") == by_lane.count("<figure>") == 2


def test_what_is_pasted_can_be_copied(contents: Contents) -> None:
    page = Page(html_report(contents))
    copied = [each["data-copy"] for each in page.attributes if "data-copy" in each]
    assert copied[:2] == [markdown_report(contents), "bankwise-report dir/a.mlir"]
    (function,) = contents.functions
    chosen = function.allocations[0].report.chosen
    assert chosen is not None
    assert copied[2:4] == [str(chosen.layout), "row = lane, column = 0"]
    # Without the script no button and no choice is seen.
    for tag, attributes in zip(page.tags, page.attributes, strict=True):
        if tag in ("button", "label"):
            assert "hidden" in attributes


def test_a_report_offers_so_many_phases_as_fit_into_a_page(contents: Contents) -> None:
    shown = shown_maps(contents.allocations)
    first = shown[1]
    many = [replace(first, access=replace(first.access, number=n)) for n in range(500)]
    offered = all_phase_choices(many)
    assert sum(map(len, offered.values())) == 400
    assert len(offered[0]) == 2
    assert [*offered[499]] == []


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_text_can_be_read_in_both_modes(mode: int) -> None:
    block = COLOURS.split("@media")[mode]
    colours = dict(re.findall(r"--(\w+): (#\w{6})", block))
    assert len(colours) == 8
    for ink in ("ink", "soft", "bad", "good"):
        for paper in ("paper", "head"):
            assert contrast(colours[ink], colours[paper]) >= 4.5, (ink, paper)
