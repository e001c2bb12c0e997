# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports on the functions of MLIR files, which are read and not compiled."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from iree.compiler import ir
from iree.compiler.api import Session, Source

from ..bank_model.targets import known_targets, target
from ..iree_plugin.compile_settings import CompileSettings
from ..iree_plugin.opt_driver import SPLIT_MARKER, STDIN_NAME, split_text
from ..iree_plugin.stepped_compile import DriverError, SteppedCompile
from .conflict_report import (
    FunctionReport,
    computes_on_tensors,
    functions_in,
    report_function,
)

_BYTECODE_MAGIC = b"ML\xefR"
ASK_FOR_A_COMPILE = (
    "to compile it, name the device, such as --iree-hal-target-device=hip --iree-rocm-target=gfx942"
)


def report_files(
    paths: Sequence[str], arch: str | None = None, *, split_input: bool = False
) -> list[tuple[str, FunctionReport]]:
    """Returns the reports on all functions of all files, as (path, report).

    Args:
        paths: MLIR text or bytecode; `-` is stdin.
        arch: count for this architecture instead of the functions' own targets.
        split_input: read the parts between `// -----` as modules of their own.

    Raises:
        CompileError: a file that is not valid; why has been printed.
        DriverError: a file that cannot be read.
    """
    texts = [(path, _read(path)) for path in paths]
    session = Session()
    reports: list[tuple[str, FunctionReport]] = []
    for path, text in texts:
        split = split_input and not text.startswith(_BYTECODE_MAGIC)
        for part in split_text(text, SPLIT_MARKER.encode()) if split else [text]:
            found = _report_part(session, path, part, arch)
            reports += [(path, report) for report in found]
    return reports


def _read(path: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise DriverError(f"cannot open input '{path}': {error.strerror}") from None


def _report_part(
    session: Session, path: str, text: bytes, arch: str | None
) -> list[FunctionReport]:
    # Text is read up to a final zero, bytecode up to the length of the buffer.
    end = b"" if text.startswith(_BYTECODE_MAGIC) else b"\0"
    name = STDIN_NAME if path == "-" else path
    source = Source.wrap_buffer(session, text + end, buffer_name=name)
    with SteppedCompile(session, CompileSettings()) as reading:
        module = reading.parse(source).export()
        return [_report(function, arch) for function in functions_in(module)]


def how_to_name_the_gpu(report: FunctionReport) -> str:
    """Returns the flag that gives a function a GPU, with the GPUs that have waves of its size."""
    waves = report.launch.subgroup_size if report.launch else 0
    fitting = [arch for arch in known_targets() if target(arch).wave_size == waves]
    return f"name one with --target= ({', '.join(fitting or known_targets())})"


def _report(function: ir.Operation, arch: str | None) -> FunctionReport:
    """Returns the report on one function, with a note where nothing could be counted at all."""
    report = report_function(function, arch)
    if report.allocations and not report.arch:
        return replace(
            report, note=f"not counted, because it names no GPU; {how_to_name_the_gpu(report)}"
        )
    if report.is_device_code or not computes_on_tensors(function):
        return report
    note = f"not compiled, so that its LDS is not known; {ASK_FOR_A_COMPILE}"
    return replace(report, note=note, uncompiled=True)
