# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Running compiled kernels on the first CUDA device, by the programs of IREE's runtime."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .timed_kernels import TimedKernel


def run_module(
    programs: Path, vmfb: Path, kernel: TimedKernel, inputs: Sequence[Path], output: Path
) -> None:
    """Runs a kernel once.

    Args:
        programs: the directory of `iree-run-module`.
        inputs: a file for each operand.
        output: the file that gets the elements of the result.

    Raises:
        RuntimeError: the run fails; the message is the program's.
    """
    output.unlink(missing_ok=True)
    command = module_command(programs / "iree-run-module", vmfb, kernel, inputs)
    output_of([*command, f"--output=@{output}"])


def module_command(
    program: Path, vmfb: Path, kernel: TimedKernel, inputs: Sequence[Path]
) -> list[str]:
    """Returns the command by which a program of the runtime calls a kernel."""
    command = [str(program), "--device=cuda", f"--module={vmfb}", f"--function={kernel.function}"]
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


def gpu_and_versions() -> tuple[str, dict[str, str]]:
    """Returns the name of the first GPU, and the versions of its driver and of the runtime.

    Raises:
        RuntimeError: no GPU of NVIDIA answers.
    """
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    name, driver = output_of(query).splitlines()[0].rsplit(", ", 1)
    versions = {"driver": driver}
    # An unpacked wheel need not have its metadata beside it.
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        versions["iree-base-runtime"] = importlib.metadata.version("iree-base-runtime")
    return name, versions


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
