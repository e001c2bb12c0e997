# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `bankwise-run` shows of a run: counters, annotated assembly, arrays, and comparisons."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from ..bank_model.shown_text import shown_text
from ..iree_plugin.atomic_file import write_output
from ..runtime.module_run import counters_document

if TYPE_CHECKING:
    from ..runtime.dispatch_record import DispatchRecord
    from ..runtime.values import Tolerances

Array = npt.NDArray[Any]


def show_records(
    records: Sequence[DispatchRecord],
    assembly: Mapping[str, str],
    *,
    counters: bool,
    counters_json: str | None,
    annotated: bool,
) -> None:
    """Prints and writes what the emulator has counted, as asked for.

    Args:
        assembly: the text of each kernel's file, by the kernel's name.
    """
    if counters:
        _print_counters(records)
    if counters_json is not None:
        text = json.dumps(counters_document(records), indent=2) + "\n"
        write_output(counters_json, text.encode())
    if annotated:
        from ..emulator.annotate import annotate

        for record in records:
            print(annotate(assembly[record.kernel.name], record.kernel, record.counters))


def _print_counters(records: Sequence[DispatchRecord]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ..emulator.counters import totals

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
            table.add_row(name, f"{value:,}")
        table.add_row("LDS bytes", f"{record.lds_bytes:,}")
        console.print(table)


def show_array(label: str, value: Array, where: str, max_elements: int) -> None:
    """Prints an array where that is `-`, or writes it to a file; an empty `where` ignores it."""
    from ..runtime.values import save_array, value_text

    if where == "-":
        print(f"{label}: {value_text(value, max_elements)}")
    elif where:
        save_array(where, value)


def compare(
    pairs: Sequence[tuple[str, Array, Array | int | float | None]], tolerances: Tolerances
) -> int:
    """Compares arrays with what is expected, None for anything; returns the exit code.

    Each array comes with its label.
    """
    failed = False
    for label, actual, wanted in pairs:
        mismatch = "" if wanted is None else tolerances.mismatch(actual, wanted)
        if mismatch:
            failed = True
            print(f"[FAILED] {label}: {mismatch}", file=sys.stderr)
    if not failed:
        print("[SUCCESS] all function outputs matched their expected values.")
    return 1 if failed else 0
