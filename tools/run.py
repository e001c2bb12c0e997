# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-run`: runs a module's function on a GPU, or on an exact emulation of one."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from ..iree_plugin.atomic_file import OutputError, check_output, write_output
from ..iree_plugin.temporary_files import temporary_directory
from .endings import fail, file_error
from .run_arguments import DEVICES, RunSettings, parse_arguments
from .usage import UsageError

if TYPE_CHECKING:
    from ..iree_plugin.compile_settings import CompileSettings
    from ..runtime.emulated_device import DispatchRecord

PROGRAM = "bankwise-run"
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
        device = _resolve_device(settings)
        if device.startswith("emulated-"):
            outputs = _emulate(settings, device, inputs)
        else:
            outputs = _run_on_gpu(settings, device, inputs)
        _show(settings, outputs)
        return _compare(settings, outputs, expected) if expected else 0
    except _CompilerSaidWhy:
        return 1
    except (
        *(ElementTypeError, OutputError, ParameterError, RuntimeDeviceError, ValueTextError),
        _CannotRun,
    ) as error:
        return fail(PROGRAM, str(error))
    except OSError as error:
        if not error.filename:  # Standard output takes no more.
            raise
        return fail(PROGRAM, file_error(error))


def _list(settings: RunSettings) -> int:
    """Prints the drivers and devices that may be named."""
    from ..runtime.runtime_device import device_uris, driver_names

    emulated = [device for device in DEVICES if device.startswith("emulated-")]
    if settings.list_drivers:
        print(*driver_names(), *emulated, sep="\n")
    driver = settings.list_devices
    if driver in emulated:
        print(driver)
    elif driver is not None:
        print(*device_uris(driver), *([] if driver else emulated), sep="\n")
    return 0


class _CannotRun(Exception):
    """Why a module cannot be run, in one line."""


class _CompilerSaidWhy(Exception):
    """The module does not compile; the compiler has printed its diagnostics."""


def _resolve_device(settings: RunSettings) -> str:
    """The device to use; says which, on stderr."""
    device, reason = settings.device, ""
    if device == "auto":
        from ..runtime.runtime_device import device_answers

        reason = device_answers("hip")
        device = f"emulated-{_rocm_target(settings, 'gfx942')}" if reason else "hip"
        reason = f" (no hip device answers: {reason})" if reason else ""
    print(f"device: {device}{reason}", file=sys.stderr)
    return device


def _rocm_target(settings: RunSettings, default: str) -> str:
    for flag in reversed(settings.compile_flags):
        name, _, value = flag.partition("=")
        if name in ("--iree-rocm-target", "--iree-hip-target"):
            return value
    return default


def _emulate(
    settings: RunSettings, device: str, inputs: Sequence[Array | int | float]
) -> list[Array]:
    if not settings.is_source:
        raise _CannotRun(
            f"'{settings.module}': the emulator runs assembly, which a compiled module no longer "
            "holds; give the .mlir"
        )
    arch = device.removeprefix("emulated-")
    if _rocm_target(settings, arch) != arch:
        raise UsageError(
            f"--iree-rocm-target={_rocm_target(settings, arch)} contradicts --device={device}"
        )
    # A machine that only runs modules has no compiler: it is imported where it is needed.
    from ..bank_model.targets import UnknownTargetError
    from ..emulator.assembly import AssemblyError
    from ..emulator.errors import EmulationError
    from ..iree_plugin.pipeline_edit import PipelineEditError
    from ..iree_plugin.stepped_compile import CompileError, DriverError
    from ..runtime.emulated_device import EmulatedDevice
    from ..runtime.emulated_module import compile_as_set
    from ..runtime.host_program import HostProgram, HostProgramError
    from ..runtime.parameters import Parameters

    defaults = ("--iree-hal-target-device=hip", f"--iree-rocm-target={arch}")
    try:
        with compile_as_set(_set_up_compiler(settings, defaults)) as module:
            emulated = EmulatedDevice(module.kernels, settings.workgroups)
            program = HostProgram(module.host, emulated, Parameters.load(settings.parameters))
            names = [signature.name for signature in program.signatures]
            function = settings.function or _only(names)
            _check_outputs(settings, program.signature(function).results)
            outputs = program.call(function, inputs)
            assembly = module.assembly
    except CompileError:
        raise _CompilerSaidWhy from None
    except (
        *(AssemblyError, DriverError, EmulationError, HostProgramError, PipelineEditError),
        UnknownTargetError,
    ) as error:
        raise _CannotRun(str(error)) from None
    print(f"EXEC @{function}")
    if settings.counters:
        _print_counters(emulated.records)
    if settings.counters_json is not None:
        _write_counters(settings.counters_json, emulated.records)
    if settings.annotate:
        _print_annotated(assembly, emulated.records)
    return outputs


def _check_outputs(settings: RunSettings, results: int) -> None:
    """Refuses more destinations or expectations than the function has results."""
    given = len(settings.outputs)
    if given > results:
        raise _CannotRun(f"{given} --output flags are given, the function has {_counted(results)}")


def _counted(results: int) -> str:
    return "one result" if results == 1 else f"{results} results"


def _set_up_compiler(settings: RunSettings, defaults: Sequence[str]) -> CompileSettings:
    """Gives the process the compile's flags, and of `defaults` those that the user did not give.

    All flags of `iree-compile` can be given so; a session takes only some of them.
    """
    from ..iree_plugin import embedding

    given = {flag.split("=")[0] for flag in settings.compile_flags}
    flags = [*(f for f in defaults if f.split("=")[0] not in given), *settings.compile_flags]
    embedding.set_process_flags(PROGRAM, flags)
    return replace(settings.compile, process_flags=tuple(flags))


def _only(names: Sequence[str]) -> str:
    if not names:
        raise _CannotRun("the module exports no function that could be run")
    if len(names) != 1:
        raise _CannotRun(f"name a function with --function; the module exports {', '.join(names)}")
    return names[0]


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


def counters_document(records: Sequence[DispatchRecord]) -> dict[str, object]:
    """The counters of all dispatches as JSON-ready data."""
    from ..emulator.counters import totals

    return {
        "version": 1,
        "dispatches": [
            {
                "kernel": record.kernel.name,
                "arch": record.kernel.arch,
                "workgroups": list(record.workgroups),
                "emulated_workgroups": record.emulated,
                "first_and_last_agree": record.agree,
                "lds_bytes": record.kernel.lds_bytes,
                "seconds": round(record.seconds, 3),
                "counters": dict(totals(record.kernel, record.counters)),
            }
            for record in records
        ],
    }


def _write_counters(path: str, records: Sequence[DispatchRecord]) -> None:
    text = json.dumps(counters_document(records), indent=2) + "\n"
    write_output(path, text.encode())


def _print_annotated(assembly: Any, records: Sequence[DispatchRecord]) -> None:
    from ..emulator.annotate import annotate

    for record in records:
        print(annotate(assembly[record.kernel.name], record.kernel, record.counters))


_GPU_FLAGS = {
    "cuda": ("--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80"),
    "hip": ("--iree-hal-target-device=hip",),
    "local": (
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=host",
    ),
}


def _run_on_gpu(
    settings: RunSettings, device: str, inputs: Sequence[Array | int | float]
) -> list[Array]:
    from ..runtime.parameters import Parameters
    from ..runtime.runtime_device import run_on_device

    vmfb = _compiled(settings, device) if settings.is_source else Path(settings.module).read_bytes()
    function, outputs = run_on_device(
        vmfb,
        device,
        settings.function,
        inputs,
        allocators=settings.allocators,
        parameters=Parameters.load(settings.parameters),
    )
    _check_outputs(settings, len(outputs))
    print(f"EXEC @{function}")
    return outputs


def _compiled(settings: RunSettings, device: str) -> bytes:
    """The module compiled for a real device."""
    kind = device.partition("://")[0].split("-")[0]
    given = {flag.split("=")[0] for flag in settings.compile_flags}
    if kind == "hip" and not given & {"--iree-rocm-target", "--iree-hip-target"}:
        raise UsageError(f"--device={device}: name the chip, as --iree-rocm-target=gfx942")
    from ..iree_plugin.compile_driver import compile_to_output
    from ..iree_plugin.pipeline_edit import PipelineEditError
    from ..iree_plugin.stepped_compile import CompileError, DriverError

    compile_settings = _set_up_compiler(settings, _GPU_FLAGS[kind])
    with temporary_directory("bankwise-") as directory:
        vmfb = directory / "module.vmfb"
        try:
            compile_to_output(replace(compile_settings, output=str(vmfb)))
        except CompileError:
            raise _CompilerSaidWhy from None
        except (DriverError, PipelineEditError) as error:
            raise _CannotRun(str(error)) from None
        return vmfb.read_bytes()


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
