# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of the page on predicted times, made from records."""

from __future__ import annotations

from ...sweep.tables import markdown_lines
from ..timing_clocks import RECORDED_LOSS, loss_of, median_without_layouts
from .records import Records

PUBLISHED_MEDIANS = {"f32": 1.724}
"""The published median over the 110 shapes of an MI300X's time without layouts over that with
padding."""


def sections(records: Records) -> dict[str, str]:
    """Returns the parts of the page by their names."""
    return {"medians": medians(records)}


def medians(records: Records) -> str:
    """Returns the medians of times without layouts over times with padding, by the clock."""
    lines = [["median of 110 shapes", "f16", "f32", "f32 over published"]]
    published = PUBLISHED_MEDIANS["f32"]
    lines.append(["published", "", f"{published:.3f}", ""])
    for name, losses in (
        ("at a constant clock", {"f16": 0.0, "f32": 0.0}),
        ("one clock for all types", dict.fromkeys(("f16", "f32"), RECORDED_LOSS)),
        ("a clock for each type", {dtype: loss_of(dtype) for dtype in ("f16", "f32")}),
        ("the same, operands of zeros", {d: loss_of(d, on_zeros=True) for d in ("f16", "f32")}),
    ):
        f16, f32 = (median_without_layouts(records.swept, *each) for each in losses.items())
        lines.append([name, f"{f16:.3f}", f"{f32:.3f}", f"{f32 / published - 1:+.1%}"])
    return markdown_lines(lines, text_columns=1) + "\n"
