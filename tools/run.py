# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-run`: runs a module's function on a GPU, or on an exact emulation of one."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from ..iree_plugin.atomic_file import OutputError, check_output, write_output
from ..runtime.module_run import (
    EMULATED,
    PROGRAM,
    ModuleRun,
    RunError,
    RunSettings,
    counters_document,
    resolve_device,
    run_module,
)
from .endings import fail, fail_with_file
from .run_arguments import parse_arguments
from .usage import UsageError

if TYPE_CHECKING:
    from ..runtime.emulated_device import DispatchRecord


Array = npt.NDArray[Any]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the tool; returns its exit code."""
    try:
        settings = parse_arguments(sys.argv[1:] if argv is None else argv)
        return _run(settings)
    except UsageError as error:
        return fail(PROGRAM, str(error))


def _run(settings: RunSettings) -> int:
    from ..dialect_utils.element_types import ElementTypeError
    from ..runtime.parameters import ParameterError
    from ..runtime.runtime_device import RuntimeDeviceError
    from ..runtime.values import ValueTextError, array_path, parse_values

    try:
        if settings.list_devices is not None or settings.list_drivers:
            return _list(settings)
        for where in settings.outputs:
            if where not in ("-", ""):
                check_output(array_path(where))
        if settings.counters_json is not None:
            check_output(settings.counters_json)
        inputs = [value for text in settings.inputs for value in parse_values(text)]
        expected = [
            value
            for text in settings.expected
            for value in ([None] if text == "(ignored)" else parse_values(text))
        ]
        device, reason = resolve_device(settings)
        print(f"device: {device}{f' ({reason})' if reason else ''}", file=sys.stderr)
        run = run_module(settings, device, inputs)
        print(f"EXEC @{run.function}")
        _show_records(settings, run)
        _show(settings, run.outputs)
        return _compare(settings, run.outputs, expected) if expected else 0
    except RunError as error:
        return fail(PROGRAM, str(error)) if str(error) else 1
    except (
        *(ElementTypeError, OutputError, ParameterError, RuntimeDeviceError, ValueTextError),
    ) as error:
        return fail(PROGRAM, str(error))
    except OSError as error:
        return fail_with_file(PROGRAM, error)


def _list(settings: RunSettings) -> int:
    """Prints the drivers and devices that may be named."""
    from ..runtime.runtime_device import device_uris, driver_names

    if settings.list_drivers:
        print(*driver_names(), *EMULATED, sep="\n")
    driver = settings.list_devices
    if driver in EMULATED:
        print(driver)
    elif driver is not None:
        print(*device_uris(driver), *([] if driver else EMULATED), sep="\n")
    return 0


def _print_counters(records: Sequence[DispatchRecord]) -> None:
    from rich.console import Console
    from rich.table import Table

    from ..emulator.counters import totals

    console = Console(soft_wrap=True, highlight=False)
    for record in records:
        x, y, z = record.workgroups
        note = ""
        if record.emulated < x * y * z:
            agree = {True: "agree", False: "differ", None: "are one"}[record.agree]
            note = f", a sample of {record.emulated}; the first's and the last's counters {agree}"
        table = Table(
            title=f"{record.kernel.name}: {x}x{y}x{z} workgroups{note}", title_justify="left"
        )
        table.add_column("counter")
        table.add_column("value", justify="right")
        for name, value in totals(record.kernel, record.counters).items():
            table.add_row(name, f"{value:,}")
        table.add_row("LDS bytes", f"{record.kernel.lds_bytes:,}")
        console.print(table)


def _show_records(settings: RunSettings, run: ModuleRun) -> None:
    """Prints and writes what the emulator has counted, as asked for."""
    if settings.counters:
        _print_counters(run.records)
    if settings.counters_json is not None:
        text = json.dumps(counters_document(run.records), indent=2) + "\n"
        write_output(settings.counters_json, text.encode())
    if settings.annotate:
        from ..emulator.annotate import annotate

        for record in run.records:
            print(annotate(run.assembly[record.kernel.name], record.kernel, record.counters))


def _show(settings: RunSettings, outputs: Sequence[Array]) -> None:
    from ..runtime.values import save_array, value_text

    if settings.workgroups is not None and not settings.outputs:
        print("(the outputs of a sample are incomplete and not shown)")
        return
    for number, value in enumerate(outputs):
        where = settings.outputs[number] if number < len(settings.outputs) else "-"
        if where == "-":
            print(f"result[{number}]: {value_text(value, settings.max_elements)}")
        elif where:
            save_array(where, value)


def _compare(
    settings: RunSettings, outputs: Sequence[Array], expected: Sequence[Array | int | float | None]
) -> int:
    from ..runtime.values import Tolerances

    if len(expected) != len(outputs):
        return fail(
            PROGRAM, f"{len(expected)} expected outputs are given, the function has {len(outputs)}"
        )
    tolerances = Tolerances(settings.thresholds, settings.relative, settings.exact)
    failed = False
    for number, (actual, wanted) in enumerate(zip(outputs, expected, strict=True)):
        mismatch = "" if wanted is None else tolerances.mismatch(actual, wanted)
        if mismatch:
            failed = True
            print(f"[FAILED] result[{number}]: {mismatch}", file=sys.stderr)
    if not failed:
        print("[SUCCESS] all function outputs matched their expected values.")
    return 1 if failed else 0


if __name__ == "__main__":
    from .commands import run_command

    run_command()
