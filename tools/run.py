# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-run`: runs a module's function on a GPU, or on an exact emulation of one.

It also runs a kernel of an assembly file on the emulator.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import chain, repeat
from typing import Any

import numpy.typing as npt

from ..bank_model.shown_text import shown_text
from ..iree_plugin.atomic_file import OutputError
from ..runtime.module_run import (
    EMULATED,
    PROGRAM,
    ModuleRun,
    RunError,
    RunSettings,
    check_module,
    resolve_device,
    run_module,
)
from .assembly_arguments import AssemblySettings
from .endings import fail, fail_with_file
from .run_arguments import check_device, parse_arguments
from .run_assembly import run_assembly_file
from .run_compare import print_comparison, print_equality, settings_of_other
from .run_output import check_files, compare, show_arrays, show_records
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
    from ..runtime.parameter_files import ParameterError
    from ..runtime.runtime_device import RuntimeDeviceError, set_driver_flags
    from ..runtime.values import ValueTextError, parse_values

    try:
        set_driver_flags(settings.driver_flags)
        if (settings.list_devices, settings.dump_devices) != (None, None) or settings.list_drivers:
            return _list(settings)
        check_module(settings)
        values = (*settings.inputs, *settings.expected)
        check_files(settings, settings.module, values, settings.outputs)
        inputs = [value for text in settings.inputs for value in parse_values(text)]
        expected = [
            value
            for text in settings.expected
            for value in ([None] if text == "(ignored)" else parse_values(text))
        ]
        device, reason = resolve_device(settings)
        check_device(settings, device)
        print(f"device: {device}{f' ({reason})' if reason else ''}", file=sys.stderr)
        run = _run_and_show(settings, device, inputs)
        labels = [f"result[{number}]" for number in range(len(run.outputs))]
        where = chain(settings.outputs, repeat("-"))
        show_arrays(settings, zip(labels, run.outputs, where, strict=False))
        if settings.statistics:
            print(run.statistics, end="", file=sys.stderr)
        if not expected:
            return 0
        if len(expected) != len(run.outputs):
            given, has = len(expected), len(run.outputs)
            return fail(PROGRAM, f"{given} expected outputs are given, the function has {has}")
        return compare(settings, zip(labels, run.outputs, expected, strict=True))
    except RunError as error:
        return fail(PROGRAM, str(error)) if str(error) else 1
    except (
        *(ElementTypeError, OutputError, ParameterError, RuntimeDeviceError, ValueTextError),
    ) as error:
        return fail(PROGRAM, str(error))
    except OSError as error:
        return fail_with_file(PROGRAM, error)


def _run_and_show(
    settings: RunSettings, device: str, inputs: Sequence[Array | int | float]
) -> ModuleRun:
    """Runs the module, and so as another compile makes it if that was asked for; prints all that is
    counted."""
    other = None
    with emulation_progress() as watch:
        if settings.compare is not None:
            other = run_module(settings_of_other(settings), device, inputs, watch)
        run = run_module(settings, device, inputs, watch)
    print(f"EXEC @{shown_text(run.function)}")
    show_records(settings, run.records, run.assembly)
    if settings.compare is not None and other is not None:
        print_comparison(settings.compare, other.records, run.records)
        is_sample = settings.workgroups is not None
        print_equality(settings.compare, other.outputs, run.outputs, is_sample)
    return run


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


if __name__ == "__main__":
    from .commands import run_command

    run_command()
