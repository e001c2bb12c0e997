# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `bankwise-run` does: a function of a module file runs on a GPU, or on the emulator.

A machine that only runs compiled modules has no compiler, and a usage error is answered at once:
the compiler and the emulator are imported where they are used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from ..bank_model.families import AMD, NVIDIA
from ..emulator.chips import EMULATED_CHIPS
from ..iree_plugin.compile_settings import CompileSettings, joined_flags
from ..iree_plugin.temporary_files import temporary_directory
from .output_settings import OutputSettings

if TYPE_CHECKING:
    from ..emulator.assembly import Kernel
    from ..emulator.supervision import RunState
    from .dispatch_record import DispatchRecord
    from .emulated_device import EmulatedDevice

Array = npt.NDArray[Any]

PROGRAM = "bankwise-run"

EMULATED = tuple(f"emulated-{chip}" for chip in EMULATED_CHIPS)
DEVICES = ("auto", "hip", "cuda", "local-task", "local-sync", *EMULATED)
_GPU_FLAGS = {
    NVIDIA.device: NVIDIA.flags(NVIDIA.usual),
    AMD.device: AMD.flags(AMD.usual)[:1],
    "local": (
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=host",
    ),
}


class RunError(RuntimeError):
    """Why a module cannot be run, in one line; empty where the compiler has printed it."""


@dataclass(frozen=True)
class RunSettings(OutputSettings):
    """What `bankwise-run` was asked to do with a module.

    `compile` says how a module that is MLIR is compiled. `list_devices` is the driver whose devices
    are listed, empty for all, None where none are; `dump_devices` is so for devices that are
    described. `driver_flags` are those that IREE's runtime reads. `compare` is the mitigation whose
    counters are shown beside these, or None.
    """

    module: str
    function: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    expected: tuple[str, ...]
    device: str
    allocators: tuple[str, ...]
    driver_flags: tuple[str, ...]
    parameters: tuple[str, ...]
    list_devices: str | None
    list_drivers: bool
    dump_devices: str | None
    statistics: bool
    trace: bool
    compile: CompileSettings
    compare: str | None = None

    @property
    def compile_flags(self) -> tuple[str, ...]:
        """Returns the flags for LLVM's parser, values joined to their flags."""
        return joined_flags(self.compile.process_flags)

    @property
    def is_source(self) -> bool:
        """Returns whether the module is MLIR to compile first."""
        return self.module == "-" or self.module.endswith((".mlir", ".mlirbc"))


@dataclass(frozen=True)
class ModuleRun:
    """What a function gave.

    Attributes:
        records: one for each dispatch that was emulated, in order.
        assembly: the text of each emulated kernel's file, by the kernel's name.
        statistics: what the device says of its memory.
    """

    function: str
    outputs: Sequence[Array]
    records: Sequence[DispatchRecord] = ()
    assembly: Mapping[str, str] = field(default_factory=dict)
    statistics: str = ""


def resolve_device(settings: RunSettings) -> tuple[str, str]:
    """Returns the device to use, and why it is the emulator where that was not asked for."""
    if settings.device != "auto":
        return settings.device, ""
    from .runtime_device import device_answers

    reason = device_answers("hip")
    if not reason:
        return "hip", ""
    arch = _rocm_target(settings, AMD.usual)
    return f"emulated-{arch}", f"no hip device answers: {reason}"


def run_module(
    settings: RunSettings,
    device: str,
    inputs: Sequence[Array | int | float],
    watch: Callable[[RunState], None] | None = None,
) -> ModuleRun:
    """Runs the function on a device that `resolve_device` has returned.

    Args:
        watch: is told now and then how far the emulator is.

    Raises:
        RunError: the module cannot be compiled or run.
        RuntimeDeviceError, ParameterError: a device or a file of parameters cannot be used.
        OSError: a file cannot be read.
    """
    if device.startswith("emulated-"):
        return _run_on_emulator(settings, device, inputs, watch)
    return _run_on_gpu(settings, device, inputs)


def counters_document(records: Sequence[DispatchRecord]) -> dict[str, object]:
    """Returns the counters of all dispatches as JSON-ready data, the same for equal runs.

    How long the emulation took is in `EmulatedDevice.statistics`.
    """
    from ..emulator.counters import totals
    from ..emulator.source_conflicts import conflicts_by_line
    from ..emulator.timing.document import timing_document

    return {
        "version": 1,
        "dispatches": [
            {
                "kernel": record.kernel.name,
                "arch": record.kernel.arch,
                "workgroups": list(record.workgroups),
                "emulated_workgroups": record.emulated,
                "first_and_last_agree": record.agree,
                "lds_bytes": record.lds_bytes,
                "counters": dict(totals(record.kernel, record.counters)),
                **({"timing": timing_document(record.timing)} if record.timing else {}),
                "conflicts_by_source_line": [
                    {
                        "file": row.line.file if row.line else None,
                        "line": row.line.line if row.line else None,
                        "conflict_cycles": row.cycles,
                        "executions": row.executions,
                    }
                    for row in conflicts_by_line(record.kernel, record.counters)
                ],
            }
            for record in records
        ],
    }


def _rocm_target(settings: RunSettings, default: str) -> str:
    for flag in reversed(settings.compile_flags):
        name, _, value = flag.partition("=")
        if name in ("--iree-rocm-target", "--iree-hip-target"):
            return value
    return default


def check_module(settings: RunSettings) -> None:
    """Refuses a compiled module that is none.

    Raises:
        RunError: the file is empty, or holds something else.
        OSError: the file cannot be read.
    """
    if settings.is_source:
        return
    with Path(settings.module).open("rb") as file:
        start = file.read(_HEADER_BYTES)
    if not start:
        raise RunError(f"'{settings.module}': the file is empty")
    if not start.startswith(_ARCHIVE) and _IDENTIFIER not in start:
        raise RunError(
            f"'{settings.module}': it is no module: neither a .vmfb that iree-compile has written, "
            "nor a file whose name ends in .mlir or .mlirbc"
        )


# A module is a FlatBuffer, which iree-compile mostly puts into a ZIP archive.
_ARCHIVE, _IDENTIFIER, _HEADER_BYTES = b"PK\3\4", b"IREE", 64


def _check_emulated(settings: RunSettings) -> None:
    """Refuses what the emulator cannot run.

    Raises:
        RunError: the module is compiled already, or is to be compiled for another vendor's device.
    """
    chips = " and ".join(EMULATED_CHIPS)
    if not settings.is_source:
        data = Path(settings.module).read_bytes()
        # The name of the format stands in the module beside the code.
        if any(name in data for name in _CUDA_FORMATS) and b"rocm" not in data:
            raise RunError(
                f"'{settings.module}': it is compiled for CUDA, and the emulator runs code for AMD "
                f"GPUs ({chips}); run it on a GPU by --device=cuda, or give the .mlir to see what "
                "the program does there"
            )
        raise RunError(
            f"'{settings.module}': the emulator runs assembly, which a compiled module no longer "
            "holds; give the .mlir"
        )
    for flag in settings.compile_flags:
        name, _, value = flag.lstrip("-").partition("=")
        # As in `gpu=hip[1],local`: an alias, a device, and its number.
        names = {each.rpartition("=")[2].partition("[")[0] for each in value.split(",")}
        others = name in _DEVICE_FLAGS and not names & _AMD_NAMES
        if others or name.startswith("iree-cuda-"):
            raise RunError(
                f"{flag}: the emulator runs code for AMD GPUs ({chips}); leave the flag out to see "
                "what the program does there, or run it on another device by --device"
            )


_CUDA_FORMATS = (b"cuda-nvptx-fb", b"cuda-fatbin")
_DEVICE_FLAGS = ("iree-hal-target-device", "iree-hal-target-backends")
_AMD_NAMES = {AMD.device, AMD.backend, "amdgpu"}


def _run_on_emulator(
    settings: RunSettings,
    device: str,
    inputs: Sequence[Array | int | float],
    watch: Callable[[RunState], None] | None,
) -> ModuleRun:
    _check_emulated(settings)
    arch = device.removeprefix("emulated-")
    if _rocm_target(settings, arch) != arch:
        raise RunError(
            f"--iree-rocm-target={_rocm_target(settings, arch)} contradicts --device={device}"
        )
    from ..bank_model.lds_tables import UnknownTargetError
    from ..emulator.emulation_errors import EmulationError
    from ..emulator.instruction_text import AssemblyError
    from ..iree_plugin.stepped_compile import CompileError, DriverError
    from ..passes.pipeline_edit import PipelineEditError
    from .emulated_module import compile_as_set
    from .host_program import HostProgram
    from .host_values import HostProgramError
    from .parameter_files import Parameters

    defaults = AMD.flags(arch)
    try:
        compiled = _set_up_compiler(settings, defaults)
        with compile_as_set(compiled) as module:
            emulated = _emulated_device(settings, module.kernels, watch)
            parameters = Parameters.load(settings.parameters)
            trace = _trace if settings.trace else None
            program = HostProgram(module.host, emulated, parameters, trace)
            names = [signature.name for signature in program.signatures]
            function = settings.function or _only(names)
            _check_outputs(settings, program.signature(function).results)
            outputs = program.call(function, inputs)
            text = emulated.statistics()
            return ModuleRun(function, outputs, emulated.records, module.assembly, text)
    except CompileError:
        raise RunError from None
    except (
        *(AssemblyError, DriverError, EmulationError, HostProgramError, PipelineEditError),
        UnknownTargetError,
    ) as error:
        raise RunError(str(error)) from None


def _emulated_device(
    settings: RunSettings,
    kernels: Mapping[str, Kernel],
    watch: Callable[[RunState], None] | None,
) -> EmulatedDevice:
    """Returns the emulator for a module's kernels, as it was asked for."""
    from ..emulator.supervision import MAX_STEPS, Supervision, Waits
    from .emulated_device import EmulatedDevice

    steps = MAX_STEPS if settings.max_steps is None else settings.max_steps
    supervision = Supervision(
        steps, watch, Waits(settings.waits), _warn, assume_xf32=settings.assume_xf32
    )
    return EmulatedDevice(kernels, settings.workgroups, supervision, timing=settings.predicts)


def _warn(text: str) -> None:
    print(f"bankwise-run: warning: {text}", file=sys.stderr)


def _trace(line: str) -> None:
    print(line, file=sys.stderr)


def _run_on_gpu(
    settings: RunSettings, device: str, inputs: Sequence[Array | int | float]
) -> ModuleRun:
    from .parameter_files import Parameters
    from .runtime_device import run_on_device

    vmfb = _compiled(settings, device) if settings.is_source else Path(settings.module).read_bytes()
    function, outputs, statistics = run_on_device(
        vmfb,
        device,
        settings.function,
        inputs,
        allocators=settings.allocators,
        parameters=Parameters.load(settings.parameters),
    )
    _check_outputs(settings, len(outputs))
    return ModuleRun(function, outputs, statistics=statistics)


def _compiled(settings: RunSettings, device: str) -> bytes:
    """Returns the module compiled for a real device."""
    kind = device.partition("://")[0].split("-")[0]
    given = {flag.split("=")[0] for flag in settings.compile_flags}
    if kind == "hip" and not given & {"--iree-rocm-target", "--iree-hip-target"}:
        raise RunError(f"--device={device}: name the chip, as --iree-rocm-target=gfx942")
    from ..iree_plugin.compile_driver import compile_to_output
    from ..iree_plugin.stepped_compile import CompileError, DriverError
    from ..passes.pipeline_edit import PipelineEditError

    compile_settings = _set_up_compiler(settings, _GPU_FLAGS[kind])
    with temporary_directory("bankwise-") as directory:
        vmfb = directory / "module.vmfb"
        try:
            wanted = replace(compile_settings, output=str(vmfb), quiet=True)
            compile_to_output(wanted)
        except CompileError:
            raise RunError from None
        except (DriverError, PipelineEditError) as error:
            raise RunError(str(error)) from None
        return vmfb.read_bytes()


def _set_up_compiler(settings: RunSettings, defaults: Sequence[str]) -> CompileSettings:
    """Gives the process the compile's flags, and of `defaults` those that the user did not give.

    All flags of `iree-compile` can be given so; a session takes only some of them. A process is
    given them once, so that two compiles that are compared link kernels as `iree-compile` does.
    """
    from ..iree_plugin import embedding

    given = {flag.split("=")[0] for flag in settings.compile_flags}
    flags = [*(f for f in defaults if f.split("=")[0] not in given), *settings.compile_flags]
    compile_settings = replace(settings.compile, process_flags=tuple(flags))
    alone = settings.compare is None
    embedding.set_process_flags(PROGRAM, compile_settings.library_flags if alone else flags)
    return compile_settings


def _check_outputs(settings: RunSettings, results: int) -> None:
    """Refuses more destinations than the function has results."""
    given = len(settings.outputs)
    if given > results:
        has = "one result" if results == 1 else f"{results} results"
        raise RunError(f"{given} --output flags are given, the function has {has}")


def _only(names: Sequence[str]) -> str:
    if not names:
        raise RunError("the module exports no function that could be run")
    if len(names) != 1:
        raise RunError(f"name a function with --function; the module exports {', '.join(names)}")
    return names[0]
