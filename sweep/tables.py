# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A sweep's rows as tables: CSV, JSON and Markdown."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import geometric_mean
from typing import Any

from ..bank_model.json_text import read_json
from ..emulator.counters import Counted
from .rows import TIMES, Row, RowError, swept_counters

BASELINES = "stock", "none"
"""What is compared with, in tables and plots, where it was swept."""


@dataclass(frozen=True)
class Group:
    """The rows of one type on one target.

    Attributes:
        kernels: the kernels' names, in the order of the sweep.
        modes: in the order of the sweep.
        rows: the rows by kernel and mode.
    """

    target: str
    dtype: str
    kernels: tuple[str, ...]
    modes: tuple[str, ...]
    rows: Mapping[tuple[str, str], Row]

    @property
    def title(self) -> str:
        """Returns the group's name, such as `gfx942 f16`."""
        return f"{self.target} {self.dtype}".strip()

    @property
    def baseline(self) -> str:
        """Returns the mode that others are compared with."""
        return next((m for m in BASELINES if m in self.modes), self.modes[0])

    def complete(self) -> list[str]:
        """Returns the kernels with grid totals in every mode.

        Their sums can be compared.
        """

        def known(kernel: str, mode: str) -> bool:
            row = self.rows.get((kernel, mode))
            return row is not None and row.grid is not None

        return [k for k in self.kernels if all(known(k, m) for m in self.modes)]

    @property
    def timed(self) -> bool:
        """Returns whether times were predicted."""
        return any(row.predicted_microseconds for row in self.rows.values())

    def times(self, mode: str) -> list[Mapping[str, float]]:
        """Returns the predicted times of the complete kernels that have one in all modes."""
        times = [
            {m: self.rows[kernel, m].predicted_microseconds for m in self.modes}
            for kernel in self.complete()
        ]
        return [each[mode] or {} for each in times if all(each.values())]

    def grids(self, mode: str) -> list[Mapping[str, int]]:
        """Returns the grid totals of the complete kernels."""
        return [self.rows[k, mode].grid or {} for k in self.complete()]


def groups(rows: Iterable[Row]) -> list[Group]:
    """Returns the rows by target and type, in the order in which these come."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in (each.shown for each in rows):
        found.setdefault((row.target, row.dtype), []).append(row)
    return [
        Group(
            target,
            dtype,
            tuple(dict.fromkeys(row.kernel for row in group)),
            tuple(dict.fromkeys(row.mode for row in group)),
            {(row.kernel, row.mode): row for row in group},
        )
        for (target, dtype), group in found.items()
    ]


@dataclass(frozen=True)
class Summary:
    """Sums over the complete kernels of a group in one mode.

    Attributes:
        conflicts: the conflict cycles of the whole grids.
        conflicting: how many kernels have conflict cycles.
        lds_bytes: the LDS bytes of a workgroup, of the kernel that takes the most.
        ratios: the instructions over the baseline's, by counter; None where the baseline has none.
        cycles_over_floor: the LDS cycles over the fewest that the data take.
        predicted_microseconds: the sums of the predicted times, and of their bounds; None where no
            times were predicted.
        predicted_ratio: the geometric mean of the kernels' predicted times over the baseline's, in
            which a large kernel counts no more than a small one.
    """

    group: Group
    mode: str
    kernels: int
    conflicts: int
    conflicting: int
    lds_bytes: int
    ratios: Mapping[str, float | None]
    cycles_over_floor: float | None
    predicted_microseconds: Mapping[str, float] | None
    predicted_ratio: float | None


INSTRUCTIONS = (Counted.LDS, Counted.VALU, Counted.SALU, Counted.MFMA)


def summaries(rows: Iterable[Row]) -> list[Summary]:
    """Returns one for each group and mode."""
    return [_summary(group, m) for group in groups(rows) for m in group.modes]


def _summary(group: Group, mode: str) -> Summary:
    kernels, grids = group.complete(), group.grids(mode)
    base = group.grids(group.baseline)

    def total(counter: str, of: Sequence[Mapping[str, int]] = grids) -> int:
        return sum(grid[counter] for grid in of)

    floor = total(Counted.LDS_FLOOR_CYCLES)
    return Summary(
        group=group,
        mode=mode,
        kernels=len(kernels),
        conflicts=total(Counted.CONFLICTS),
        conflicting=sum(grid[Counted.CONFLICTS] > 0 for grid in grids),
        lds_bytes=max((group.rows[k, mode].lds_bytes for k in kernels), default=0),
        ratios={c: total(c) / total(c, base) if total(c, base) else None for c in INSTRUCTIONS},
        cycles_over_floor=total(Counted.LDS_CYCLES) / floor if floor else None,
        predicted_microseconds=_summed(group.times(mode)),
        predicted_ratio=_mean_ratio(group.times(mode), group.times(group.baseline)),
    )


def _summed(times: Sequence[Mapping[str, float]]) -> Mapping[str, float] | None:
    return {name: sum(time[name] for time in times) for name in TIMES} if times else None


def _mean_ratio(
    times: Sequence[Mapping[str, float]], base: Sequence[Mapping[str, float]]
) -> float | None:
    if not times:
        return None
    pairs = zip(times, base, strict=True)
    return geometric_mean(one["expected"] / other["expected"] for one, other in pairs)


def csv_table(rows: Sequence[Row]) -> str:
    """Returns a line per row without nested fields; a field is empty if it is not known."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    counted = [(part, counter) for part in ("workgroup", "grid") for counter in swept_counters()]
    writer.writerow(
        ["kernel", "dtype", "target", "mode", "work", "dispatches", "workgroups", "emulated"]
        + ["first_and_last_agree", "measured", "lds_bytes"]
        + [f"{part}_{counter}" for part, counter in counted]
        + [f"predicted_microseconds_{name}" for name in TIMES]
        + ["seconds", "error", "compiler", "bankwise", "code", "source"]
    )
    for row in rows:
        failed = bool(row.error)
        agree = "" if row.agree is None else str(row.agree).lower()
        counters = [(getattr(row, part) or {}).get(counter, "") for part, counter in counted]
        times = [(row.predicted_microseconds or {}).get(name, "") for name in TIMES]
        writer.writerow(
            [row.kernel, row.dtype, row.target, row.mode, row.work or ""]
            + (["", "", ""] if failed else [row.dispatches, row.workgroups, row.emulated])
            + [agree, row.extent, "" if failed else row.lds_bytes, *counters, *times]
            + [row.seconds, row.error, row.compiler, row.bankwise, row.code, row.source]
        )
    return file.getvalue()


def json_table(rows: Sequence[Row], command: Sequence[str]) -> str:
    """Returns everything that is known, a row per line."""
    lines = ",\n".join(f"  {json.dumps(_document(row))}" for row in rows)
    head = json.dumps({"version": 2, "command": list(command)})[:-1]
    return f'{head}, "rows": [\n{lines}\n]}}\n'


def _document(row: Row) -> dict[str, Any]:
    return {**asdict(row), "extent": row.extent}


class SweepTableError(ValueError):
    """A text that is no JSON table of a sweep, or one with other counters."""


def read_json_table(text: str | bytes) -> tuple[list[Row], list[str]]:
    """Returns the rows of a table that `json_table` has written, and the sweep's command line.

    Raises:
        SweepTableError: the text is no such table, or a row of it is none that a sweep writes.
    """
    try:
        document = read_json(text)
        found, command = document["rows"], document["command"]
    except (ValueError, TypeError, KeyError):
        raise SweepTableError("is no JSON table of a sweep") from None
    if not (isinstance(found, list) and isinstance(command, list)):
        raise SweepTableError("is no JSON table of a sweep")
    if not found:
        raise SweepTableError("has no row")
    return [_row(number, row) for number, row in enumerate(found, 1)], list(map(str, command))


def _row(number: int, document: object) -> Row:
    if not isinstance(document, dict):
        raise SweepTableError(f"row {number}: it is no object")
    document.pop("extent", None)
    try:
        return Row.of_document(**document)
    except RowError as error:
        raise SweepTableError(f"row {number}: {error}") from None


def markdown_table(rows: Sequence[Row], command: Sequence[str]) -> str:
    """Sums first, then every kernel with its modes side by side."""
    found = groups(rows)
    parts = [
        f"# LDS bank conflicts of a sweep, measured on the emulator{and_times(found)}",
        f"`{' '.join(command)}`",
        *about(rows),
        summary_table(rows),
    ]
    for group in found:
        parts += [f"## {group.title}", markdown_lines(group_lines(group), text_columns=2)]
    failed = [row for row in rows if row.error]
    if failed:
        parts += ["## Failed", markdown_lines(failure_lines(failed), text_columns=5)]
    return "\n\n".join(part for part in parts if part) + "\n"


_NAMES_HEAD = ("target", "type", "mode", "kernels")
_SUMMARY_HEAD = (
    "conflict cycles", "kernels with conflicts", "LDS bytes, largest", "LDS instructions", "VALU",
    "SALU", "LDS cycles / floor",
)  # fmt: skip


def and_times(found: Sequence[Group]) -> str:
    """Returns what a title says of predicted times, where there are any."""
    return ", with predicted times" if any(group.timed for group in found) else ""


def about(rows: Sequence[Row]) -> list[str]:
    """Returns what the sums are of, a paragraph each, in Markdown."""
    found = groups(rows)
    sums = (
        "Sums over the kernels whose grid totals are known in every mode; instructions "
        f"are ratios to `{found[0].baseline}`."
    )
    return [_of_versions(rows), sums, *_about_times(found)]


def _about_times(found: Sequence[Group]) -> Iterable[str]:
    if not any(group.timed for group in found):
        return
    yield (
        "Times are predicted by a model, none was measured on a GPU: `docs/timing.md` says how far "
        "they may be off. The predicted time of a mode is the geometric mean over the kernels, as "
        f"a ratio to `{found[0].baseline}`."
    )


TIMES_HEAD = ("predicted time", "predicted us", "lower bound", "upper bound")


def times_cells(summary: Summary) -> list[str]:
    """Returns the mean ratio of a mode's predicted times, the sum of them, and its bounds."""
    time = summary.predicted_microseconds
    if time is None:
        return ["-"] * len(TIMES_HEAD)
    sums = [f"{time[name]:,.0f}" for name in ("expected", "low", "high")]
    return [ratio_text(summary.predicted_ratio), *sums]


def summary_lines(rows: Iterable[Row]) -> list[Sequence[str]]:
    """Returns a head, and a line of cells per target, type and mode, times first."""
    found = summaries(rows)
    timed = any(s.predicted_microseconds for s in found)
    lines: list[Sequence[str]] = [[*_NAMES_HEAD, *(TIMES_HEAD if timed else ()), *_SUMMARY_HEAD]]
    for s in found:
        name = (s.group.target, s.group.dtype or "-", s.mode, f"{s.kernels:,}")
        numbers = (s.conflicts, s.conflicting, s.lds_bytes)
        ratios = [s.ratios[c] for c in (Counted.LDS, Counted.VALU, Counted.SALU)]
        ratios.append(s.cycles_over_floor)
        cells = [*(f"{n:,}" for n in numbers), *map(ratio_text, ratios)]
        lines.append([*name, *(times_cells(s) if timed else ()), *cells])
    return lines


def summary_table(rows: Iterable[Row]) -> str:
    """Returns the sums as Markdown."""
    return markdown_lines(summary_lines(rows), text_columns=3)


def ratio_text(value: float | None) -> str:
    """Returns a ratio as `1.234x`; `-` if it is not known."""
    return "-" if value is None else f"{value:.3f}x"


def _of_versions(rows: Iterable[Row]) -> str:
    used = dict.fromkeys((row.compiler, row.bankwise) for row in rows)
    return "; ".join(f"iree-base-compiler {c}, bankwise {b}" for c, b in used)


def group_lines(group: Group) -> list[Sequence[str]]:
    """Returns a head, and a line per kernel whose cells hold a value per mode."""
    order = " / ".join(group.modes)
    figures = ["predicted us [low, high]"] if group.timed else []
    figures += ["conflict cycles", "LDS instructions", "VALU instructions", "LDS bytes"]
    lines: list[Sequence[str]] = [
        ["kernel", "workgroups emulated", *(f"{figure}: {order}" for figure in figures)]
    ]
    for kernel in group.kernels:
        rows = [group.rows.get((kernel, m)) for m in group.modes]
        extents = dict.fromkeys("open" if row is None else row.extent for row in rows)
        counters = (Counted.CONFLICTS, Counted.LDS, Counted.VALU)
        cells = [[_time_cell(row) for row in rows]] if group.timed else []
        cells += ([_grid_cell(row, counter) for row in rows] for counter in counters)
        cells.append(["-" if r is None or r.error else f"{r.lds_bytes:,}" for r in rows])
        lines.append([kernel, " / ".join(extents), *map(" / ".join, cells)])
    return lines


def _grid_cell(row: Row | None, counter: str) -> str:
    return "-" if row is None or row.grid is None else f"{row.grid[counter]:,}"


def _time_cell(row: Row | None) -> str:
    if row is None or row.predicted_microseconds is None:
        return "-"
    low, expected, high = (f"{row.predicted_microseconds[name]:,.1f}" for name in TIMES)
    return f"{expected} [{low}, {high}]"


def failure_lines(rows: Iterable[Row]) -> list[list[str]]:
    """Returns a head, and a line for each of the rows that have failed."""
    return [
        ["kernel", "type", "target", "mode", "error"],
        *([r.kernel, r.dtype, r.target, r.mode, r.error] for r in (x.shown for x in rows)),
    ]


def markdown_lines(lines: Sequence[Sequence[str]], text_columns: int) -> str:
    """Returns a table whose head is the first line.

    Columns after `text_columns` hold numbers.
    """
    head, *body = lines
    rule = ["---" if i < text_columns else "---:" for i in range(len(head))]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |"
        for line in (head, rule, *body)
    )
