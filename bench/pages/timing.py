# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of the page on predicted times, made from records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import geometric_mean, median

from ...emulator.timing.constants import CHIPS
from ...sweep.tables import markdown_lines
from ..gpu.modes import FAST, STOCK
from ..origami_tiles import DTYPES, KINDS
from ..origami_tiles import Row as TileRow
from ..timing_clocks import RECORDED_LOSS, loss_of, median_without_layouts
from .records import MeasuredAttention, Records

PUBLISHED_MEDIANS = {"f32": 1.724}
"""The published median over the 110 shapes of an MI300X's time without layouts over that with
padding."""


def sections(records: Records) -> dict[str, str]:
    """Returns the parts of the page by their names."""
    return {
        "medians": medians(records),
        "attentions of AITER": attentions(records),
        "tiles of Origami": tiles(records.origami),
    }


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


def attentions(records: Records) -> str:
    """Returns measured times of AITER's attentions beside those that are predicted of ours."""
    lines = [["batch x heads, rows"]]
    for chip in CHIPS.values():
        its = f"{chip.product}, us"
        lines[0] += [f"{its}: AITER measured", "`fast` predicted", "over measured", "`stock`"]
    swept = {row.kernel for row in records.aiter_swept}
    shapes = dict.fromkeys((each.heads, each.rows) for each in records.aiter)
    shapes = [shape for shape in shapes if _kernel(shape) in swept]
    ratios: dict[str, list[float]] = {chip: [] for chip in CHIPS}
    for shape in sorted(shapes):
        line = [f"{shape[0]}, {shape[1]:,}"]
        for chip in CHIPS:
            measured = _measured(records.aiter, shape, chip)
            fast, stock = (records.predicted_of(_kernel(shape), chip, m) for m in (FAST, STOCK))
            assert fast is not None
            ratios[chip].append(fast / geometric_mean(measured))
            line += [_span(measured), f"{fast:,.1f}", f"{ratios[chip][-1]:.2f}x"]
            line.append(f"{stock:,.0f}" if stock is not None else "")
        lines.append(line)
    means = ["geometric mean"]
    for each in ratios.values():
        means += ["", "", f"{geometric_mean(each):.2f}x", ""]
    return markdown_lines([*lines, means], text_columns=1) + "\n"


def _kernel(shape: tuple[int, int]) -> str:
    return f"attention_{shape[0]}x{shape[1]}x128"


def _measured(
    rows: Sequence[MeasuredAttention], shape: tuple[int, int], chip: str
) -> Sequence[float]:
    """Returns the microseconds of all rows of a shape; heads share keys in other ways in each."""
    return [each.microseconds[chip] for each in rows if (each.heads, each.rows) == shape]


def _span(values: Sequence[float]) -> str:
    low, high = f"{min(values):,.1f}", f"{max(values):,.1f}"
    return low if low == high else f"{low} to {high}"


def tiles(rows: Sequence[TileRow]) -> str:
    """Returns how alike Origami and our formula rank tiles."""
    lines = [["products", "type", "tiles", "rank correlation, median", "lowest", "same tile chosen",
              "our time of its choice", "its time of ours"]]  # fmt: skip
    for kind in KINDS:
        for dtype in DTYPES:
            lines.append(
                [kind, *_ranked(dtype, [r for r in rows if (r.kind, r.dtype) == (kind, dtype)])]
            )
    lines.append(["all", *_ranked("", rows)])
    return markdown_lines(lines, text_columns=2) + "\n"


def _ranked(dtype: str, rows: Sequence[TileRow]) -> Iterator[str]:
    """Yields the cells of some products."""
    yield dtype
    counts = sorted({row.tiles for row in rows})
    yield " or ".join(map(str, counts))
    yield f"{median(row.correlation for row in rows):.2f}"
    yield f"{min(row.correlation for row in rows):.2f}"
    yield f"{sum(row.ours == row.theirs for row in rows)} of {len(rows)}"
    yield f"{geometric_mean(row.ours_of_theirs for row in rows):.2f}x"
    yield f"{geometric_mean(row.theirs_of_ours for row in rows):.2f}x"
