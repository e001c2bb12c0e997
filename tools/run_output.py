# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `bankwise-run` shows of a run: counters, annotated assembly, arrays, and comparisons."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from ..bank_model.shown_text import shown_text
from ..iree_plugin.atomic_file import check_distinct, check_output, write_output
from ..runtime.module_run import RunSettings, counters_document
from .assembly_arguments import AssemblySettings

if TYPE_CHECKING:
    from ..runtime.dispatch_record import DispatchRecord

Array = npt.NDArray[Any]
Settings = RunSettings | AssemblySettings


def check_files(
    settings: Settings, program: str, values: Iterable[str], outputs: Iterable[str]
) -> None:
    """Refuses files that cannot be written, or that are read, where `outputs` and the counters go.

    Args:
        program: the file of the program that runs.
        values: the texts of what it is given, and of what is expected of it.

    Raises:
        OutputError: there is one.
    """
    from ..runtime.values import array_path, path_in

    records = {"--counters-json": settings.counters_json, "--timeline": settings.timeline}
    inputs = [program, *filter(None, map(path_in, values))]
    check_distinct(inputs, records)
    named = [array_path(where) for where in outputs if where not in ("-", "")]
    for path in named:
        check_distinct(inputs, {**records, "--output": path})
    for path in (*named, *records.values()):
        if path is not None:
            check_output(path)


def show_records(
    settings: Settings, records: Sequence[DispatchRecord], assembly: Mapping[str, str]
) -> None:
    """Prints and writes what the emulator has counted, as asked for.

    Args:
        assembly: the text of each kernel's file, by the kernel's name.
    """
    if settings.counters:
        _print_counters(records)
    if settings.timing:
        from .run_timing import print_timing

        print_timing(records)
    if settings.timeline is not None:
        write_output(settings.timeline, _timeline(settings.timeline, records).encode())
    if settings.counters_json is not None:
        text = json.dumps(counters_document(records), indent=2) + "\n"
        write_output(settings.counters_json, text.encode())
    if settings.annotate:
        from ..emulator.annotate import annotate
        from .run_timing import spent_by_line

        for record in records:
            timing = record.timing if settings.timing else None
            text = assembly[record.kernel.name]
            print(annotate(text, record.kernel, record.counters, spent_by_line(timing)))


def _timeline(path: str, records: Sequence[DispatchRecord]) -> str:
    """Returns the timeline of all dispatches: an SVG if `path` ends in .svg, else a trace."""
    timed = [(each.kernel, each.timing) for each in records if each.timing is not None]
    if path.lower().endswith(".svg"):
        from ..emulator.timing.timeline_picture import timeline_svg
        from ..report.html_page import COLOURS

        return timeline_svg(timed, COLOURS)
    from ..emulator.timing.timeline import timeline

    return json.dumps(timeline(timed)) + "\n"


def _print_counters(records: Sequence[DispatchRecord]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ..emulator.counters import shown_name, totals

    console = Console(soft_wrap=True, highlight=False)
    for record in records:
        x, y, z = record.workgroups
        note = ""
        if record.emulated < x * y * z:
            agree = {True: "agree", False: "differ", None: "are one"}[record.agree]
            note = f", a sample of {record.emulated}; the first's and the last's counters {agree}"
        table = Table(
            title=Text(f"{shown_text(record.kernel.name)}: {x}x{y}x{z} workgroups{note}"),
            title_justify="left",
        )
        table.add_column("counter")
        table.add_column("value", justify="right")
        for name, value in totals(record.kernel, record.counters).items():
            table.add_row(shown_name(name, record.kernel.chip), f"{value:,}")
        table.add_row("LDS bytes", f"{record.lds_bytes:,}")
        console.print(table)


def show_arrays(settings: Settings, arrays: Iterable[tuple[str, Array, str]]) -> None:
    """Shows arrays, each with its label and where it goes, except those of a sample.

    One is printed where that is `-`, or written to a file; an empty text ignores it.
    """
    from ..runtime.values import save_array, value_text

    if settings.workgroups is not None and not settings.outputs:
        print("(the outputs of a sample are incomplete and not shown)")
        return
    for label, value, where in arrays:
        if where == "-":
            print(f"{label}: {value_text(value, settings.max_elements)}")
        elif where:
            save_array(where, value)


def compare(
    settings: Settings, pairs: Iterable[tuple[str, Array, Array | int | float | None]]
) -> int:
    """Compares arrays with what is expected, None for anything; returns the exit code.

    Each array comes with its label.
    """
    from ..runtime.values import Tolerances

    tolerances = Tolerances(settings.thresholds, settings.relative, settings.exact)
    failed = False
    for label, actual, wanted in pairs:
        mismatch = "" if wanted is None else tolerances.mismatch(actual, wanted)
        if mismatch:
            failed = True
            print(f"[FAILED] {label}: {mismatch}", file=sys.stderr)
    if not failed:
        print("[SUCCESS] all function outputs matched their expected values.")
    return 1 if failed else 0
