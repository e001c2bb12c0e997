# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports on the functions of MLIR files, which are read and not compiled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from iree.compiler import ir
from iree.compiler.api import Session

from ..bank_model.lds_tables import known_targets, lds_of
from ..dialect_utils.kernels import functions_in, kernels_of
from ..dialect_utils.memory.attributions import allocate_attributions
from ..dialect_utils.memory.lds_reading import state_block_sizes
from ..iree_plugin.compile_settings import CompileSettings
from ..iree_plugin.input_text import SPLIT_MARKER, InputText
from ..iree_plugin.invocations import Invocations
from ..iree_plugin.stepped_compile import DriverError
from .conflict_report import (
    FunctionReport,
    computes_on_tensors,
    report_function,
)

A_DEVICE = "such as --iree-hal-target-device=hip --iree-rocm-target=gfx942"
ASK_FOR_A_COMPILE = f"to compile it, name the device, {A_DEVICE}"


def report_files(
    paths: Sequence[str],
    arch: str | None = None,
    *,
    block: tuple[int, ...] = (),
    split_input: bool = False,
) -> list[tuple[str, FunctionReport]]:
    """Returns the reports on all functions of all files, as (path, report).

    Args:
        paths: MLIR text or bytecode; `-` is stdin.
        arch: count for this architecture instead of the functions' own targets.
        block: the lanes of a workgroup of functions that do not say it.
        split_input: read the parts between `// -----` as modules of their own.

    Raises:
        CompileError: a file that is not valid; why has been printed.
        DriverError: a file that cannot be read.
    """
    inputs = [(path, _read(path)) for path in paths]
    session = Session()
    reports: list[tuple[str, FunctionReport]] = []
    for path, whole in inputs:
        for part in whole.parts(SPLIT_MARKER if split_input else None):
            reports += [(path, report) for report in _report_part(session, part, arch, block)]
    return reports


def _read(path: str) -> InputText:
    try:
        return InputText.read(path)
    except OSError as error:
        raise DriverError(f"cannot open input '{path}': {error.strerror}") from None


def _report_part(
    session: Session, part: InputText, arch: str | None, block: tuple[int, ...]
) -> list[FunctionReport]:
    with Invocations(session, CompileSettings()) as reading:
        module = reading.read(part.source(session)).export()
        if block:
            state_block_sizes(module, block)
        return report_module(module, arch)


def report_module(module: ir.Operation, arch: str | None) -> list[FunctionReport]:
    """Returns the reports on all kernels of a module, counted for `arch` if that is given.

    Attributions become allocations in `module`, as in the pipeline `bankwise-layouts`, so that what
    is proposed for them is what that makes of them.
    """
    for function in functions_in(module):
        with function.context:
            allocate_attributions(function)
    return [report for function in functions_in(module) for report in _reports(function, arch)]


def how_to_name_the_gpu(report: FunctionReport) -> str:
    """Returns the flag that gives a function a GPU, with the GPUs that have waves of its size."""
    waves = report.launch.subgroup_size if report.launch else 0
    fitting = [arch for arch in known_targets() if lds_of(arch).wave_size == waves]
    return f"name one with --target= ({', '.join(fitting or known_targets())})"


def _reports(function: ir.Operation, arch: str | None) -> list[FunctionReport]:
    """Returns the reports on a function and on every `gpu.launch` in it.

    A function without LDS of its own that launches others is their host, and no kernel.
    """
    reports = [_report(kernel, arch) for kernel in kernels_of(function)]
    is_host = len(reports) > 1 and not reports[0].allocations
    return reports[1:] if is_host else reports


def _report(kernel: ir.Operation, arch: str | None) -> FunctionReport:
    """Returns the report on one kernel, with a note where nothing could be counted at all."""
    report = report_function(kernel, arch)
    if report.allocations and not report.arch:
        return replace(
            report, note=f"not counted, because it names no GPU; {how_to_name_the_gpu(report)}"
        )
    if report.is_device_code or not computes_on_tensors(kernel):
        return report
    note = f"not compiled, so that its LDS is not known; {ASK_FOR_A_COMPILE}"
    return replace(report, note=note, uncompiled=True)
