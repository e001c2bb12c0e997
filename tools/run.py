# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-run`: runs a module's function on a GPU, or on an exact emulation of one.

It also runs a kernel of an assembly file on the emulator.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from ..bank_model.shown_text import shown_text
from ..iree_plugin.atomic_file import OutputError, check_output
from ..runtime.module_run import (
    EMULATED,
    PROGRAM,
    RunError,
    RunSettings,
    check_module,
    resolve_device,
    run_module,
)
from .assembly import run_assembly_file
from .assembly_arguments import AssemblySettings
from .endings import fail, fail_with_file
from .run_arguments import check_device, parse_arguments
from .run_output import compare, show_array, show_records
from .run_progress import emulation_progress
from .usage import UsageError

Array = npt.NDArray[Any]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the tool; returns its exit code."""
    try:
        settings = parse_arguments(sys.argv[1:] if argv is None else argv)
        if isinstance(settings, AssemblySettings):
            return run_assembly_file(settings)
        return _run(settings)
    except UsageError as error:
        return fail(PROGRAM, str(error))


def _run(settings: RunSettings) -> int:
    from ..runtime.dtypes import ElementTypeError
    from ..runtime.parameters import ParameterError
    from ..runtime.runtime_device import RuntimeDeviceError, set_driver_flags
    from ..runtime.values import ValueTextError, array_path, parse_values

    try:
        set_driver_flags(settings.driver_flags)
        if (settings.list_devices, settings.dump_devices) != (None, None) or settings.list_drivers:
            return _list(settings)
        check_module(settings)
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
        check_device(settings, device)
        print(f"device: {device}{f' ({reason})' if reason else ''}", file=sys.stderr)
        with emulation_progress() as watch:
            run = run_module(settings, device, inputs, watch)
        print(f"EXEC @{shown_text(run.function)}")
        show_records(
            run.records,
            run.assembly,
            counters=settings.counters,
            counters_json=settings.counters_json,
            annotated=settings.annotate,
        )
        _show(settings, run.outputs)
        if settings.statistics:
            print(run.statistics, end="", file=sys.stderr)
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
    from ..runtime.runtime_device import device_descriptions, device_uris, driver_names

    if settings.list_drivers:
        print(*driver_names(), *EMULATED, sep="\n")
    driver = settings.list_devices
    if driver in EMULATED:
        print(driver)
    elif driver is not None:
        print(*device_uris(driver), *([] if driver else EMULATED), sep="\n")
    if settings.dump_devices is not None:
        print(device_descriptions(settings.dump_devices))
    return 0


def _show(settings: RunSettings, outputs: Sequence[Array]) -> None:
    if settings.workgroups is not None and not settings.outputs:
        print("(the outputs of a sample are incomplete and not shown)")
        return
    for number, value in enumerate(outputs):
        where = settings.outputs[number] if number < len(settings.outputs) else "-"
        show_array(f"result[{number}]", value, where, settings.max_elements)


def _compare(
    settings: RunSettings, outputs: Sequence[Array], expected: Sequence[Array | int | float | None]
) -> int:
    from ..runtime.values import Tolerances

    if len(expected) != len(outputs):
        return fail(
            PROGRAM, f"{len(expected)} expected outputs are given, the function has {len(outputs)}"
        )
    tolerances = Tolerances(settings.thresholds, settings.relative, settings.exact)
    pairs = zip(outputs, expected, strict=True)
    return compare([(f"result[{n}]", *pair) for n, pair in enumerate(pairs)], tolerances)


if __name__ == "__main__":
    from .commands import run_command

    run_command()
