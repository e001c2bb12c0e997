# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The index of a report on several kernels: what each costs in a launch, and its LDS.

A workgroup's conflicts say little of a model, whose kernels have one workgroup or thousands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .contents import ReportedFunction, Sums
from .html_page import code
from .html_tables import cost

_LAYOUTS = ("before", "padded", "chosen")


@dataclass(frozen=True)
class KernelSums:
    """What a kernel costs under the three layouts.

    Attributes:
        workgroups: of one launch; None where only the running program knows.
        cycles: the conflict cycles of a workgroup in each layout.
        lds_bytes: those of a workgroup in the chosen layouts.
        least: whether the cycles are lower bounds.
    """

    workgroups: int | None
    cycles: tuple[int, ...]
    lds_bytes: int
    least: bool

    @staticmethod
    def of(function: ReportedFunction) -> KernelSums:
        """Adds up the allocations of a function."""
        sums = Sums.of([each.report for each in function.allocations])
        report = function.report
        return KernelSums(
            report.workgroups,
            tuple(sums.of_layouts[name][0] for name in _LAYOUTS),
            sums.of_layouts["chosen"][1],
            not sums.complete or report.unread or report.uncompiled,
        )

    @property
    def of_launch(self) -> tuple[int, ...]:
        """Returns the cycles of all workgroups, or of one where their number is not known."""
        return tuple((self.workgroups or 1) * each for each in self.cycles)


def anchor(number: int) -> str:
    """Returns the id of the section on the function with a number, from 1."""
    return f"kernel-{number}"


def kernel_index(functions: Sequence[ReportedFunction], word: str) -> Iterator[str]:
    """Yields a table of the functions, which links to their sections, and its sums.

    `word` is that for the chosen layouts, some of which may only be proposed.
    """
    rows = [KernelSums.of(each) for each in functions]
    yield '<h2>Kernels</h2><div class="wide" tabindex="0" role="region" '
    yield 'aria-label="table of the kernels"><table><thead>'
    yield '<tr><th scope="col" rowspan="2">kernel</th>'
    yield '<th scope="col" class="n" rowspan="2">workgroups</th>'
    yield '<th scope="colgroup" colspan="3">conflict cycles of a launch</th>'
    yield '<th scope="col" class="n" rowspan="2">LDS bytes<br>'
    yield '<span class="soft">of a workgroup</span></th></tr><tr>'
    yield from (f'<th scope="col" class="n">{name}</th>' for name in (*_LAYOUTS[:-1], word))
    yield "</tr></thead><tbody>"
    for number, (function, row) in enumerate(zip(functions, rows, strict=True), start=1):
        name = f'<a href="#{anchor(number)}">{code(function.title)}</a>'
        yield from _row(name, row.workgroups, row.of_launch, row.least, f"{row.lds_bytes:,}")
    total = tuple(map(sum, zip(*(each.of_launch for each in rows), strict=True)))
    least = any(each.least or (each.workgroups is None and any(each.cycles)) for each in rows)
    most = f"at most {max(each.lds_bytes for each in rows):,}"
    yield from _row("all, each launched once", "", total, least, most)
    yield "</tbody></table></div>"
    if any(each.workgroups is None for each in rows):
        yield "<p>A kernel whose workgroups are not known counts with one of them.</p>"


def _row(
    name: str, workgroups: int | str | None, cycles: Sequence[int], least: bool, lds_bytes: str
) -> Iterator[str]:
    grid = "not known" if workgroups is None else workgroups
    grid = f"{grid:,}" if isinstance(grid, int) else grid
    yield f'<tr><th scope="row">{name}</th><td class="n">{grid}</td>'
    for each in cycles:
        yield cost(f"{'at least ' if least else ''}{each:,}", least or bool(each))
    yield f'<td class="n">{lds_bytes}</td></tr>'
