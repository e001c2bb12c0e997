# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the page on predicted times says of AITER's attentions."""

from __future__ import annotations

import json
import re

from bankwise.bench.benchmark import RESULTS
from bankwise.bench.pages.records import Records
from bankwise.bench.pages.timing import attentions
from bankwise.sweep.cases import kernels_of_file
from bankwise.sweep.tables import read_json_table

RECORDS = Records()
SHAPES = RESULTS.parent / "aiter_shapes.json"


def test_every_swept_size_stands_beside_what_was_measured() -> None:
    lines = [re.split(r" *\| *", line)[1:-1] for line in attentions(RECORDS).splitlines()[2:-1]]
    assert len(lines) == len(kernels_of_file(SHAPES, ["bf16"]))
    published = json.loads((RECORDS.folder / "aiter_attention.json").read_text())["rows"]
    for size, *cells in lines:
        heads, rows = (int(each.replace(",", "")) for each in size.split(", "))
        its = [r for r in published if (r[0] * r[1], r[3], r[6]) == (heads, rows, False)]
        for chip, place in ((7, 0), (8, 4)):
            times = [f"{pick(row[chip] for row in its):,.1f}" for pick in (min, max)]
            assert cells[place] == " to ".join(dict.fromkeys(times))
            predicted = float(cells[place + 1].replace(",", ""))
            ratio = float(cells[place + 2].rstrip("x"))
            measured = [row[chip] for row in its]
            assert predicted / max(measured) - 0.01 <= ratio <= predicted / min(measured) + 0.01


def test_predictions_are_of_the_kernels_that_the_command_lists() -> None:
    rows, _ = read_json_table((RECORDS.folder / "aiter_sweep.json").read_bytes())
    listed = {each.name for each in kernels_of_file(SHAPES, ["bf16"])}
    assert {row.kernel for row in rows} == listed
    assert {row.dtype for row in rows} == {"bf16"}
    assert not any(row.error for row in rows)
