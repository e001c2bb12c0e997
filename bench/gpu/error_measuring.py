# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Taking the errors of all compiled kernels on the GPU of this machine. This needs NumPy."""

from __future__ import annotations

import datetime
import re
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .elements import STORAGE, Elements
from .error_inputs import kinds_of
from .errors import ErrorRecord, ErrorRow, measure_row
from .kernels import CompiledKernels, TimedKernel
from .runtime_programs import gpu_and_versions, run_module, runtime_programs


@dataclass(frozen=True)
class GpuRuns:
    """Runs compiled kernels by `iree-run-module`; several may run at a time.

    Attributes:
        programs: the directory of `iree-run-module`.
        directory: the directory of the compiled kernels.
    """

    programs: Path
    directory: Path

    def __call__(self, kernel: TimedKernel, mode: str, operands: Sequence[Elements]) -> Elements:
        """Returns the output, of the shape of the first operand.

        Raises:
            RuntimeError: the run fails; the message is the program's.
        """
        with tempfile.TemporaryDirectory(prefix="bankwise-gpu-") as name:
            scratch = Path(name)
            inputs = [scratch / f"input{number}.bin" for number in range(len(operands))]
            for path, elements in zip(inputs, operands, strict=True):
                elements.tofile(path)
            output = scratch / "output.bin"
            vmfb = kernel.module(self.directory, mode)
            run_module(self.programs, vmfb, kernel, inputs, output)
            return np.fromfile(output, STORAGE[kernel.dtype]).reshape(kernel.shapes[0])


def measure_errors(directory: Path, output: Path, only: str = "", jobs: int = 1) -> bool:
    """Measures the errors of kernels, and writes the record.

    Args:
        directory: the directory of the compiled kernels.
        output: the file of the record.
        only: a regular expression that is searched in the names of kernels and their inputs, as in
            `attention_2x1024x128_f16 normal`.
        jobs: how many kernels run at a time.

    Returns:
        Whether everything is as it must be.

    Raises:
        RuntimeError: the compiled kernels, a program or a GPU is missing.
        OSError: a file cannot be read or written.
    """
    compiled = CompiledKernels.of_directory(directory)
    device, versions = gpu_and_versions()
    run = GpuRuns(runtime_programs(), directory)

    def measured(case: tuple[TimedKernel, str]) -> ErrorRow:
        row = measure_row(*case, run)
        for finding in row.findings():
            print(f"{finding.kernel} {finding.mode}: {finding.what}", flush=True)
        return row

    cases = [
        (kernel, kind)
        for kernel in compiled.kernels
        for kind in kinds_of(kernel)
        if re.search(only, f"{kernel.name} {kind}")
    ]
    with ThreadPoolExecutor(jobs) as pool:
        rows = tuple(pool.map(measured, cases))
    versions = {**compiled.versions, **versions, "NumPy": np.__version__}
    date = datetime.date.today().isoformat()
    record = ErrorRecord(device, compiled.target, date, versions, rows)
    record.write(output)
    failing = {finding.kernel for finding in record.findings()}
    print(f"{len(rows)} rows, of which {len(failing)} fail", flush=True)
    return not failing
