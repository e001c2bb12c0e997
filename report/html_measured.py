# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A profiler's counters in the HTML report, beside the predicted ones."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from .html_page import code
from .measured import words
from .measured.comparison import MeasuredKernel, Measurements


def measured_section(measurements: Measurements) -> Iterator[str]:
    """Yields a table for each kernel, and below them what could not be compared."""
    yield f'<section class="measured"><h2>{escape(words.section_title(measurements))}</h2>'
    for kernel in measurements.kernels:
        yield f"<p>{escape(words.kernel_title(kernel))}</p>"
        yield from _table(kernel)
        yield from (f'<p class="soft">{escape(reason)}</p>' for reason in words.remarks(kernel))
    if measurements.notes:
        notes = "".join(f"<li>{escape(note)}</li>" for note in measurements.notes)
        yield f"<ul>{notes}</ul>"
    yield "</section>"


def _table(kernel: MeasuredKernel) -> Iterator[str]:
    first, *others = words.TITLES
    yield '<div class="wide counters" tabindex="0" role="region" aria-label="measured counters">'
    yield "<table>"
    heads = "".join(f'<th scope="col" class="n">{title}</th>' for title in others)
    yield f'<thead><tr><th scope="col">{first}</th>{heads}</tr></thead><tbody>'
    for counter in kernel.counters:
        name, *figures = words.cells(counter, kernel)
        grade = " good" if words.is_exact(counter) else ""
        cells = "".join(f'<td class="n{grade}">{escape(each)}</td>' for each in figures)
        yield f'<tr><th scope="row">{_breakable(name)}</th>{cells}</tr>'
    yield "</tbody></table></div>"


def _breakable(name: str) -> str:
    """Returns a counter's name that a narrow window breaks behind its underscores alone."""
    return code(name).replace("_", "_<wbr>")
