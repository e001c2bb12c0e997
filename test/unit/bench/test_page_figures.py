# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What pages say of measurements is what the records say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import geometric_mean
from typing import Any
from xml.etree import ElementTree

import pytest

from bankwise.bench.benchmark import RESULTS
from bankwise.bench.gpu.modes import EXACT, FAST
from bankwise.bench.page_figures import README, RESULTS_PAGE, made
from bankwise.bench.pages import ladder
from bankwise.bench.pages.records import MissingRowError, Records
from bankwise.bench.pages.regions import COMMAND, RegionError, regions, with_regions

RECORDS = Records()
FIGURE = re.compile(r"\d\.\d+x|\d{1,3}(?:,\d{3})+")
"""A ratio, or a count of thousands."""


def mean_over_stock(function: str, series: str) -> float:
    """Returns a mean of the record, without the code that makes the pages."""
    document: dict[str, Any] = json.loads((RESULTS / "gpu_times.json").read_text())
    known = {
        (row["kernel"], row["mode"]): row["figures"]["milliseconds"] for row in document["rows"]
    } | {(row["kernel"], row["series"]): row["milliseconds"] for row in document["references"]}
    names = {kernel for kernel, _ in known if re.match(f"{function}.*_f16", kernel)}
    return geometric_mean(known[name, series] / known[name, "stock"] for name in names)


@pytest.mark.parametrize(
    ("path", "text"), list(made(RECORDS)), ids=lambda each: Path(str(each)).name[:9]
)
def test_pages_are_as_the_records_make_them(path: Path, text: str) -> None:
    assert path.read_text() == text, f"`{COMMAND}` writes it anew"


def test_what_a_person_wrote_of_the_readme_quotes_no_measurement() -> None:
    fenced = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
    page = README.read_text()
    written = with_regions(page, dict.fromkeys(regions(page), ""))
    assert FIGURE.findall(fenced.sub("", written)) == []


def test_the_readme_is_read_in_minutes() -> None:
    assert len(README.read_text().split()) <= 1300


def test_bars_of_the_ladder_are_as_long_as_the_means_say() -> None:
    picture = ElementTree.fromstring(ladder.PICTURE.read_text())
    bars = [
        float(each.get("width", ""))
        for each in picture.findall(".//{*}rect")
        if each.get("class") in {"stock", "ours", "other"}
    ]
    texts = [each.text or "" for each in picture.findall(".//{*}text")]
    figures = [float(text[:-1]) for text in texts if re.fullmatch(r"\d\.\d\dx", text)]
    series = [
        *(("attention", each) for each in ("none", "stock", "auto/layout", EXACT, FAST)),
        *(("attention", each) for each in ("flash", "efficient", "cudnn")),
        *(("matmul", each) for each in ("none", "stock", "auto/layout", EXACT, "cublas")),
    ]
    means = [mean_over_stock(*each) for each in series]
    assert figures == [round(each, 2) for each in means]
    assert bars == pytest.approx([each * bars[1] for each in means], abs=0.15)
    assert "geometric mean of 9 shapes, sm_80 code" in texts
    assert "cuDNN (sm_90 code)" in texts


def conflicts_by_ncu(shape: str, mode: str) -> str:
    rows: list[dict[str, Any]] = json.loads((RESULTS / "cuda_attention.json").read_text())["rows"]
    (row,) = (
        row for row in rows if (row["kernel"], row["mode"]) == (f"attention_{shape}_f16", mode)
    )
    return f"{row['load_conflicts'] + row['store_conflicts']:,}"


def test_the_results_have_the_large_grid_beside_the_small_one_and_both_types() -> None:
    page = RESULTS_PAGE.read_text()
    for shape in ("1x1024x128", "16x4096x128"):
        (line,) = (
            x for x in page.splitlines() if f"attention {shape.replace('x', ' x ')}, by" in x
        )
        assert "H200, sm_80 code" in line
        assert f"| {conflicts_by_ncu(shape, 'stock')} |" in line
        assert f"| {conflicts_by_ncu(shape, 'auto/layout')} `layout`" in line
    swept = [line for line in page.splitlines() if "attention shapes in" in line]
    found = [re.findall(r"in (f\d\d),|\| (\d+) \| \*\*(\d+)", line) for line in swept]
    shown = [(dtype, int(stock), int(ours)) for (dtype, *_), (_, stock, ours) in found]
    counted = [
        (
            dtype,
            *(
                sum(
                    (row.dtype, row.mode) == (dtype, mode)
                    and (row.grid or {})["SQ_LDS_BANK_CONFLICT"] > 0
                    for row in RECORDS.swept
                )
                for mode in ("stock", EXACT)
            ),
        )
        for dtype in ("f32", "f16")
    ]
    assert shown == counted


def test_the_results_name_products_that_fail_or_cost_more() -> None:
    page = RESULTS_PAGE.read_text()
    for row in RECORDS.products:
        if row.faults or row.count(EXACT, "SQ_LDS_BANK_CONFLICT"):
            assert f"`{row.kernel}`" in page
        if row.instruction_ratio(FAST) > 1:
            assert f"{row.kernel.split('_')[1]}" in page


PAGE = f"a\n<!-- made by {COMMAND}: one -->\nold\n<!-- end of one -->\nb\n"


def test_a_region_is_replaced_and_the_rest_kept() -> None:
    assert with_regions(PAGE, {"one": "new\n"}) == PAGE.replace("old", "new")


@pytest.mark.parametrize("names", [(), ("one", "two"), ("two",)])
def test_a_region_that_nothing_makes_or_that_is_not_there_is_an_error(names: tuple[str]) -> None:
    with pytest.raises(RegionError, match=r"not both: \['(one|two)'"):
        with_regions(PAGE, dict.fromkeys(names, ""))


def test_a_row_that_a_record_lacks_is_named() -> None:
    with pytest.raises(MissingRowError, match=r"cuda_attention\.json has no row of a none"):
        RECORDS.shared_memory_of("a", "none")
    with pytest.raises(MissingRowError, match=r"timing_sweep\.json has no row of a f32 none"):
        RECORDS.swept_of("a", "f32", "none")
