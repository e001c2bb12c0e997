# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pages of the documentation: their links, the commands that they name, and their pictures."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from bankwise.bench.architecture_picture import ROOT
from bankwise.bench.layout_pictures import DRAWINGS, Drawing, svg

_OUTSIDE = {"out", "build", "bankwise.egg-info"}
PAGES = sorted(
    path
    for path in ROOT.rglob("*.md")
    if not any(part in _OUTSIDE or part[0] == "." for part in path.relative_to(ROOT).parts)
)
INDICES = (ROOT / "README.md", ROOT / "docs" / "README.md")
_FENCED = re.compile(r"^( *)(```|~~~).*?^\1\2$", re.DOTALL | re.MULTILINE)
_INLINE_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(
    r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]*(?:\([^()]*\)[^()\s]*)*)(?:\s+\"[^\"]*\")?\)"
)
_HEADING = re.compile(r"^#{1,6} +(.*?) *#*$", re.MULTILINE)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """Yields the file, and the anchor behind `#`, of every link of a page into the repository."""
    text = _INLINE_CODE.sub("", _FENCED.sub("", page.read_text()))
    # A link may be the text of another one: a picture that leads somewhere.
    for target in _LINK.findall(text) + re.findall(r"!\[[^\]]*\]\(([^()\s]+)\)", text):
        if not _ADDRESS.match(target):
            name, _, anchor = target.partition("#")
            yield (page.parent / name).resolve() if name else page, anchor


@cache
def titles(page: Path) -> dict[str, str]:
    """Returns the headings of a page by their anchors, made as GitHub makes them."""
    found: dict[str, int] = {}
    names: dict[str, str] = {}
    for heading in _HEADING.findall(_FENCED.sub("", page.read_text())):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", shown.replace("`", "")).replace(" ", "-")
        number = found.get(slug, 0)
        found[slug] = number + 1
        names[f"{slug}-{number}" if number else slug] = heading
    return names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    broken = {
        f"{target}#{anchor}"
        for target, anchor in links(page)
        if not target.exists() or (anchor and anchor not in titles(target))
    }
    assert not broken


def test_every_page_of_the_docs_is_reached_from_an_index() -> None:
    reached: set[Path] = set()
    left = [page for page in INDICES if page.exists()]
    while left:
        page = left.pop()
        if page not in reached and page.exists():
            reached.add(page)
            left += [target for target, _ in links(page) if target.suffix == ".md"]
    assert {*(ROOT / "docs").glob("*.md")} <= reached


def test_links_and_anchors_are_read_as_github_reads_them(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# What `a_b` is, and why\n## Twice\n## Twice\n"
        "[one](other.md#x) ![two](two.svg) [![three](three.svg)](three.md) [four](#twice)\n"
        "[out](https://example.com/a.md) `[no](no.md)`\n```\n# no\n[no](no.md)\n```\n"
    )
    assert {*titles(page)} == {"what-a_b-is-and-why", "twice", "twice-1"}
    found = {(target.name, anchor) for target, anchor in links(page)}
    assert found == {
        ("other.md", "x"),
        ("two.svg", ""),
        ("three.svg", ""),
        ("three.md", ""),
        ("page.md", "twice"),
    }


def test_the_modules_that_pages_name_exist() -> None:
    named = {
        (page.name, module)
        for page in PAGES
        # A result may name a command that made it, in any version.
        if page.parent != ROOT / "bench" / "results"
        for module in re.findall(r"python3? -m\s+(bankwise(?:\.\w+)+)", page.read_text())
        # NAME stands for any of them.
        if not module.endswith(".NAME")
    }
    assert len(named) > 10
    assert not {(page, name) for page, name in named if importlib.util.find_spec(name) is None}


@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda drawing: drawing.name)
def test_the_pictures_of_layouts_are_current(drawing: Drawing) -> None:
    command = "python -m bankwise.bench.layout_pictures"
    assert drawing.path.read_text() == svg(drawing), f"`{command}` draws it anew"


@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda drawing: drawing.name)
def test_framed_cells_of_one_bank_are_the_cycles_of_the_phase(drawing: Drawing) -> None:
    whole = replace(drawing, rows=count_rows(drawing))
    for panel in whole.panels():
        per_bank = Counter(panel.cells[number].colour for number in panel.wanted)
        assert panel.cycles == max(per_bank.values())
        assert len(panel.wanted) == len(panel.instruction.phases[0])


def count_rows(drawing: Drawing) -> int:
    """Returns the rows of the whole tile."""
    return int(drawing.tile.partition("x")[0])
