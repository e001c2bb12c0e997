# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The machine with the GPU: what it is, and running compiled kernels on it."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.metadata
import importlib.util
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .inputs import input_bytes
from .kernels import TimedKernel, digest
from .profiler import LAUNCHES, METRICS, figures_of, ncu_command, read_launches
from .record import Conditions, Figures

_MULTIPROCESSOR_COUNT = 16
"""CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT of cuda.h."""


@dataclass(frozen=True)
class Machine:
    """Runs compiled kernels on the first CUDA device, by IREE's programs and `ncu`.

    Attributes:
        programs: the directory of `iree-run-module` and `iree-benchmark-module`.
        scratch: a directory for inputs and outputs.
        inputs: what the inputs of attentions are, a key of `inputs.INPUTS`.
        clocks: what happens to the clocks, a key of `profiler.CLOCKS`.
    """

    programs: Path
    scratch: Path
    inputs: str
    clocks: str

    @property
    def output(self) -> Path:
        """Returns the file that has the output of the last run."""
        return self.scratch / "output.bin"

    def write_inputs(self, kernel: TimedKernel) -> list[Path]:
        """Writes a kernel's inputs to files; returns these."""
        paths: list[Path] = []
        for number in range(len(kernel.operands)):
            paths.append(self.scratch / f"input{number}.bin")
            paths[-1].write_bytes(input_bytes(kernel, number, self.inputs))
        return paths

    def run(self, vmfb: Path, kernel: TimedKernel, inputs: Sequence[Path]) -> str:
        """Runs a kernel once; returns the digest of its output.

        Raises:
            RuntimeError: the run fails; the message is the program's.
        """
        self.output.unlink(missing_ok=True)
        command = self._command("iree-run-module", vmfb, kernel, inputs)
        output_of([*command, f"--output=@{self.output}"])
        return digest(self.output.read_bytes())

    def figures(self, vmfb: Path, kernel: TimedKernel, inputs: Sequence[Path]) -> Figures:
        """Returns what `ncu` measures of a kernel, after a launch that warms it up.

        Raises:
            RuntimeError: ncu fails, or its table is not as expected.
        """
        launches = ("--launch-skip=1", f"--launch-count={LAUNCHES}", "--kill=yes")
        command = ncu_command(
            METRICS.values(), self.clocks, "--kernel-name=regex:dispatch", *launches
        )
        command += self._command("iree-benchmark-module", vmfb, kernel, inputs)
        command += [f"--benchmark_min_time={LAUNCHES + 3}x"]
        # Whether ncu succeeds is read from its table: it kills the program after the last launch.
        run = subprocess.run(command, capture_output=True, text=True)
        try:
            return figures_of(read_launches(run.stdout))
        except ValueError as error:
            message = (run.stderr + run.stdout).strip()[-2000:]
            raise RuntimeError(f"{vmfb.name}: {error}\n{message}") from error

    def _command(
        self, program: str, vmfb: Path, kernel: TimedKernel, inputs: Sequence[Path]
    ) -> list[str]:
        command = [str(self.programs / program), "--device=cuda", f"--module={vmfb}"]
        command += [f"--function={kernel.function}"]
        pairs = zip(kernel.operands, inputs, strict=True)
        return [*command, *(f"--input={operand}=@{path}" for operand, path in pairs)]


def output_of(command: Sequence[str]) -> str:
    """Returns what a program prints.

    Raises:
        RuntimeError: it is missing, or fails; the message is the program's.
    """
    try:
        run = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise RuntimeError(f"{command[0]} is missing: {error}") from error
    if run.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {(run.stderr or run.stdout).strip()[-2000:]}")
    return run.stdout


def conditions(target: str, inputs: str, clocks: str) -> tuple[Conditions, dict[str, str]]:
    """Returns what is measured on, and the versions of what measures.

    Raises:
        RuntimeError: there is no `ncu` in PATH, or no GPU of NVIDIA answers.
    """
    if shutil.which("ncu") is None:
        raise RuntimeError("Nsight Compute's `ncu` is not in PATH")
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    name, driver = output_of(query).splitlines()[0].rsplit(", ", 1)
    versions = {"driver": driver, "ncu": output_of(["ncu", "--version"]).split("\n")[-2]}
    # An unpacked wheel need not have its metadata beside it.
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        versions["iree-base-runtime"] = importlib.metadata.version("iree-base-runtime")
    return Conditions(name, _multiprocessors(), target, inputs, clocks), versions


def _multiprocessors() -> int | None:
    """Returns how many the first GPU has, as the driver says."""
    count = ctypes.c_int()
    device = ctypes.c_int()
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    failed = (
        driver.cuInit(0)
        or driver.cuDeviceGet(ctypes.byref(device), 0)
        or driver.cuDeviceGetAttribute(ctypes.byref(count), _MULTIPROCESSOR_COUNT, device)
    )
    return None if failed else count.value


def runtime_programs() -> Path:
    """Returns the directory in which the runtime wheel has its programs.

    Raises:
        RuntimeError: the wheel is neither installed nor in PYTHONPATH.
    """
    try:
        spec = importlib.util.find_spec("iree._runtime_libs")
    except ModuleNotFoundError:
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("iree-base-runtime is neither installed nor in PYTHONPATH")
    return Path(spec.submodule_search_locations[0])
