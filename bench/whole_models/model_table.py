# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A record of whole models as Markdown."""

from __future__ import annotations

from ...sweep.tables import markdown_lines
from ..gpu.modes import EXACT, FAST, FAST_HOPPER, STOCK
from ..gpu.table import findings_table
from .model_record import TORCH_SERIES, Figure, ModelRecord

_TIMES: dict[str, Figure] = {
    "call": lambda row: row.milliseconds,
    "kernels": lambda row: row.kernel_milliseconds,
}
_MODES = {"exact": EXACT, "fast": FAST, "fast sm_90a": FAST_HOPPER}
_TORCH_MODES = {"stock": STOCK, **_MODES}


def markdown(record: ModelRecord) -> str:
    """Returns the ratios of each model and their geometric means, and the failing rows."""
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    parts = [
        f"{record.device}, {record.target} code, {record.date}, clocks of kernel times: "
        f"{record.clocks}. {versions}",
        "## Times over stock's\n\n" + _ratios(record),
        "## Times over PyTorch's on the same GPU\n\n" + _of_torch(record),
        "## Rows that fail\n\n" + findings_table(record.findings()),
    ]
    return "\n\n".join(parts) + "\n"


def _ratios(record: ModelRecord) -> str:
    heads = [f"{mode} {time}" for time in _TIMES for mode in _MODES]
    own = [f"stock's {time}" for time in _TIMES]
    lines = [["model", *own, *heads, "stock's rms error", "fast's over stock's"]]
    for model in record.models():
        stock = record.row(model, STOCK)
        ratios = [
            _cell(record.ratio(model, mode, figure))
            for figure in _TIMES.values()
            for mode in _MODES.values()
        ]
        error = record.ratio(model, FAST, lambda row: row.errors.rms)
        times = [_milliseconds(figure(stock) if stock else 0.0) for figure in _TIMES.values()]
        rms = f"{stock.errors.rms:.1e}" if stock else ""
        lines.append([model, *times, *ratios, rms, _cell(error)])
    means = [_cell(record.mean(m, f)) for f in _TIMES.values() for m in _MODES.values()]
    return markdown_lines(
        [*lines, ["geometric mean", *("" for _ in own), *means, "", ""]], text_columns=1
    )


def _milliseconds(time: float) -> str:
    """Returns a time as the table has it; empty where it is none, or no number."""
    return f"{time:.3f} ms" if time > 0 else ""


def _of_torch(record: ModelRecord) -> str:
    """Returns the ratios of calls to those of PyTorch, and why there are none."""
    heads = [f"{m} over {shown}" for shown in TORCH_SERIES.values() for m in _TORCH_MODES]
    lines = [["model", *TORCH_SERIES.values(), *heads, "note"]]
    for model in record.models():
        rows = {row.series: row for row in record.torch if row.kernel == model}
        known = [rows[series].milliseconds if series in rows else None for series in TORCH_SERIES]
        ratios = [
            _cell(record.torch_ratio(model, mode, series))
            for series in TORCH_SERIES
            for mode in _TORCH_MODES.values()
        ]
        cells = ["" if each is None else f"{each:.3f} ms" for each in known]
        note = "; ".join(dict.fromkeys(row.note for row in rows.values() if row.note))
        lines.append([model, *cells, *ratios, note])
    means = [
        _cell(record.torch_mean(mode, series))
        for series in TORCH_SERIES
        for mode in _TORCH_MODES.values()
    ]
    return markdown_lines([*lines, ["geometric mean", "", "", *means, ""]], text_columns=1)


def _cell(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}x"
