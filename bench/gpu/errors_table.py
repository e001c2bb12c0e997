# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A record of errors as Markdown: the greatest ratios, what fails, and all rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...sweep.tables import markdown_lines
from .error_inputs import ERROR_INPUTS
from .errors import ErrorRecord, ErrorRow
from .modes import EXACT, FAST, STOCK
from .ratios import error_ratio
from .table import findings_table


def markdown(record: ErrorRecord) -> str:
    """Returns the greatest ratios of each kind of inputs, the failing rows, and all rows."""
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    found = record.findings()
    parts = [
        f"{record.device}, {record.target} code, {record.date}. {versions}",
        "## Errors against float64\n\n" + _greatest(record.rows),
        "\n".join(f"* {kind}: {text}" for kind, text in ERROR_INPUTS.items()),
        "## Rows that fail\n\n" + findings_table(found),
        "## All rows\n\n" + _all_rows(record.rows),
    ]
    return "\n\n".join(parts) + "\n"


def _greatest(rows: Sequence[ErrorRow]) -> str:
    """Returns a line for each kind of inputs and type."""
    lines = [
        [
            *("inputs", "type", "rows", "exact is bitwise stock"),
            *("greatest rms error of fast over stock's", "greatest largest error over stock's"),
        ]
    ]
    for kind, dtype in dict.fromkeys((row.inputs, row.dtype) for row in rows):
        group = [row for row in rows if (row.inputs, row.dtype) == (kind, dtype)]
        equal = sum(row.equals_stock(EXACT) for row in group)
        ratios = [
            [ratio for row in group if (ratio := _ratio(row, which)) is not None]
            for which in ("rms", "largest")
        ]
        cells = (f"{max(each):.3f}x" if each else "" for each in ratios)
        lines.append([kind, dtype, str(len(group)), str(equal), *cells])
    return markdown_lines(lines, text_columns=2)


def _ratio(row: ErrorRow, which: str) -> float | None:
    """Returns the rms or the largest error of `fast` over stock's, where both ran."""
    fast, stock = (row.errors.get(mode) for mode in (FAST, STOCK))
    if fast is None or stock is None:
        return None
    return error_ratio(getattr(fast, which), getattr(stock, which))


def _all_rows(rows: Sequence[ErrorRow]) -> str:
    lines = [
        [
            *("attention", "inputs", "exact", "output's rms", "stock's rms error"),
            *("of fast", "stock's largest error", "of fast", "NaNs", "stock's misplaced NaNs"),
        ]
    ]
    lines += [list(_cells(row)) for row in rows]
    return markdown_lines(lines, text_columns=3)


def _cells(row: ErrorRow) -> Iterator[str]:
    yield row.kernel.removeprefix("attention_")
    yield row.inputs
    if {STOCK, EXACT} <= row.outputs.keys():
        yield "bitwise stock" if row.equals_stock(EXACT) else "differs"
    else:
        yield ""
    yield f"{row.magnitude:.2e}"
    stock = row.errors.get(STOCK)
    for which in ("rms", "largest"):
        ratio = _ratio(row, which)
        yield f"{getattr(stock, which):.2e}" if stock else ""
        yield "" if ratio is None else f"{ratio:.3f}x"
    yield f"{row.nans:,}"
    yield f"{row.misplaced[STOCK]:,}" if stock else ""
