# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The times of the kernels of whole models as Markdown."""

from __future__ import annotations

import math

from ...sweep.tables import markdown_lines
from .compiled_models import MODES
from .model_record import EAGER, ModelRecord


def markdown(record: ModelRecord) -> str:
    """Returns a table a model: microseconds by kernel and mode, longest first, PyTorch's below."""
    parts = [f"{record.device}, {record.target} code, {record.date}, clocks: {record.clocks}."]
    for model in record.models():
        parts += [f"## {model}", _of_modes(record, model)]
        for row in record.torch:
            if (row.kernel, row.series) == (model, EAGER) and row.kernels:
                total = math.fsum(row.kernels.values())
                parts += [f"PyTorch's kernels take {total * 1e3:,.1f} us:", _of_torch(row.kernels)]
    return "\n\n".join(parts) + "\n"


def _of_modes(record: ModelRecord, model: str) -> str:
    rows = [row for mode in MODES if (row := record.row(model, mode)) and row.kernels]
    names = dict.fromkeys(name for row in rows for name in row.kernels)
    longest = sorted(names, key=lambda name: -max(row.kernels.get(name, 0.0) for row in rows))
    lines = [["kernel", *(f"{row.mode} us" for row in rows)]]
    for name in longest:
        lines.append([name, *(_microseconds(row.kernels.get(name)) for row in rows)])
    lines.append(["all", *(_microseconds(row.kernel_milliseconds) for row in rows)])
    return markdown_lines(lines, text_columns=1)


def _of_torch(kernels: dict[str, float]) -> str:
    by_time = sorted(kernels.items(), key=lambda each: -each[1])
    lines = [["kernel", "us"], *([name[:100], _microseconds(time)] for name, time in by_time)]
    return markdown_lines(lines, text_columns=1)


def _microseconds(milliseconds: float | None) -> str:
    return "" if milliseconds is None else f"{milliseconds * 1e3:,.1f}"
