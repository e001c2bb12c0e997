# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A record of whole models as a picture: times of calls over stock's."""

from __future__ import annotations

import io

from matplotlib import rc_context
from matplotlib.figure import Figure

from ..gpu.modes import EXACT, FAST, FAST_HOPPER, STOCK, mode_and_target
from ..gpu.plot import MARKS, STYLE
from ..gpu.table import shown
from .record import ModelRecord


def svg(record: ModelRecord) -> bytes:
    """Returns the picture; the same record gives the same bytes."""
    models = record.models()
    with rc_context(STYLE):
        figure = Figure(figsize=(2 + 0.4 * len(models), 4.2))
        figure.set_layout_engine("constrained")
        axis = figure.subplots()
        axis.axhline(1, color=MARKS[STOCK].colour, linewidth=1.4, label=shown(STOCK))
        for series in (EXACT, FAST, FAST_HOPPER):
            mode, target = mode_and_target(series)
            ratios = [record.ratio(model, series, lambda row: row.milliseconds) for model in models]
            known = [(x, ratio) for x, ratio in enumerate(ratios) if ratio is not None]
            axis.plot(
                [x for x, _ in known],
                [ratio for _, ratio in known],
                linestyle="none",
                marker=MARKS[mode].marker,
                color=MARKS[mode].colour,
                markerfacecolor="none" if target else MARKS[mode].colour,
                label=shown(series),
            )
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter(lambda y, _: f"{y:g}x")
        axis.yaxis.set_minor_formatter(lambda y, _: "")
        axis.grid(axis="y", color="#E4E4E4", linewidth=0.7)
        axis.set_ylabel("time of a call over stock's")
        labels = [model.replace("_", " ") for model in models]
        axis.set_xticks(range(len(models)), labels, rotation=55, ha="right", fontsize=8)
        axis.set_title(f"Whole models on {record.device} ({record.target} code, {record.date})")
        axis.legend(frameon=False)
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()
