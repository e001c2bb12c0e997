# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A record of times as Markdown: ratios, and what fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...sweep.tables import markdown_lines
from .modes import MODES, STOCK, mode_and_target
from .ratios import (
    LIBRARY,
    Finding,
    Mean,
    Ratios,
    failing,
    is_scalar_in_stock,
    libraries_of,
    rms_ratio,
)
from .record import Record, differing_rows
from .references import SERIES
from .timed_kernels import FUNCTIONS, TimedKernel


def markdown(record: Record) -> str:
    """Returns the geometric means, the ratios of each kernel, the errors, and the failing rows."""
    ratios = Ratios.of(record)
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    where = record.conditions
    parts = [
        f"{where.device}, {where.target} code, {record.date}, clocks: {where.clocks}, inputs of "
        f"attentions: {where.inputs}. {versions}",
        "## Geometric means\n\n" + _means(ratios),
    ]
    for function in FUNCTIONS:
        if ratios.series(function):
            parts += [
                part
                for base in (STOCK, *libraries_of(function))
                for part in _family(ratios, function, base)
            ]
    if any(row.errors for row in record.rows):
        parts.append(
            "## Errors against float64, root mean square over stock's\n\n" + _errors(record)
        )
    return "\n\n".join([*parts, "## Rows that fail\n\n" + findings_table(failing(record))]) + "\n"


def shown(series: str) -> str:
    """Returns what a mode or a library is called in tables and plots."""
    mode, target = mode_and_target(series.removeprefix("auto/"))
    name = {**SERIES, LIBRARY: "the library"}.get(series, mode)
    return f"{name} ({target} code)" if target else name


def _cell(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}x"


def _family(ratios: Ratios, function: str, base: str) -> Iterator[str]:
    """Yields the table of a family's times over those of a mode or a library, if there are any."""
    series = [each for each in ratios.series(function) if each != base]
    if base == STOCK:
        series = [each for each in series if mode_and_target(each)[0] in MODES]
    lines = [[function, "outputs that differ from stock's", *map(shown, series)]]
    for kernel in ratios.family(function):
        if base not in (STOCK, ratios.library(kernel)):
            continue
        cells = [_cell(ratios.ratio(kernel, each, base)) for each in series]
        if any(cells):
            lines.append([kernel.label, _differing(ratios.record, kernel), *cells])
    if len(lines) > 1:
        yield f"## {function.capitalize()}s: times over those of {shown(base)}"
        yield markdown_lines(lines, text_columns=2)


def _differing(record: Record, kernel: TimedKernel) -> str:
    rows = differing_rows([kernel], [row for row in record.rows if row.kernel == kernel.name])
    return ", ".join(shown(row.mode) for row in rows) or "none"


def _means(ratios: Ratios) -> str:
    """Returns a line for each group of f16 kernels and what their times are compared with."""
    series = list(dict.fromkeys(each for f in FUNCTIONS for each in ratios.series(f)))
    lines = [["f16 kernels", "times over those of", *map(shown, series)]]
    for title, kernels, base in _groups(ratios):
        means = [ratios.mean(kernels, each, base) for each in series]
        if any(means):
            lines.append([title, shown(base), *map(_mean_cell, means)])
    return markdown_lines(lines, text_columns=2)


def _groups(ratios: Ratios) -> Iterator[tuple[str, Sequence[TimedKernel], str]]:
    for function in FUNCTIONS:
        kernels = [kernel for kernel in ratios.family(function) if kernel.dtype == "f16"]
        yield f"{function}s", kernels, STOCK
        first, *others = libraries_of(function)
        yield f"{function}s", kernels, first
        if any(ratios.library(kernel) in others for kernel in kernels):
            yield f"{function}s", kernels, LIBRARY
        scalar = [kernel for kernel in kernels if is_scalar_in_stock(kernel)]
        yield f"{function}s without matrix instructions in stock", scalar, LIBRARY


def _mean_cell(mean: Mean | None) -> str:
    return "" if mean is None else f"{mean.ratio:.3f}x ({mean.kernels})"


def _errors(record: Record) -> str:
    rows = record.by_case()
    others = {row.mode for row in record.rows if mode_and_target(row.mode)[1]}
    modes = [*MODES[1:], *sorted(others)]
    lines = [["kernel", "stock's largest error", "stock's rms error", *map(shown, modes)]]
    for kernel in record.kernels:
        stock = rows.get((kernel.name, STOCK))
        if stock is None or stock.errors is None:
            continue
        cells = (rms_ratio(rows.get((kernel.name, mode)), stock) for mode in modes)
        errors = (f"{stock.errors.largest:.2e}", f"{stock.errors.rms:.2e}")
        lines.append([kernel.name, *errors, *map(_cell, cells)])
    return markdown_lines(lines, text_columns=1)


def findings_table(found: Sequence[Finding]) -> str:
    """Returns the table of the rows that are not as they must be."""
    if not found:
        return "none"
    lines: Iterable[Sequence[str]] = ([each.kernel, each.mode, _line(each.what)] for each in found)
    return markdown_lines([["kernel", "mode", "what"], *lines], text_columns=3)


def _line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else ""
