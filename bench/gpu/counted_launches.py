# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One launch of each kernel, whose counters are compared with what is predicted of them."""

from __future__ import annotations

import datetime
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from .profiler import Launch, ncu_command, read_launches
from .runtime_programs import (
    gpu_and_versions,
    module_command,
    output_of,
    run_module,
    runtime_programs,
)
from .timed_kernels import CompiledKernels, TimedKernel, digest


@dataclass(frozen=True)
class ComparedRow:
    """What was counted of a kernel, and what was predicted; a subclass has the fields."""

    kernel: str

    @property
    def is_as_predicted(self) -> bool:
        """Returns whether what was counted is what was predicted."""
        raise NotImplementedError


@dataclass(frozen=True)
class CountedRun:
    """A kernel that ran in a mode.

    Attributes:
        output: the digest of the output.
        metrics: what `ncu` counted, by the names of the metrics.
    """

    kernel: TimedKernel
    mode: str
    output: str
    metrics: Mapping[str, float]


def counted_runs(
    directory: Path,
    compiled: CompiledKernels,
    contents: Callable[[TimedKernel, int], bytes],
    metrics: Iterable[str],
) -> Iterator[CountedRun]:
    """Runs each kernel in its modes, and again under `ncu`; yields what came out.

    Args:
        directory: where the modules are.
        contents: returns the bytes of an input of a kernel with a number.
        metrics: what `ncu` counts.

    Raises:
        RuntimeError: a program is missing or fails, or the table of ncu is not as expected.
    """
    programs = runtime_programs()
    with tempfile.TemporaryDirectory() as scratch:
        output = Path(scratch, "output.bin")
        for kernel in compiled.kernels:
            operands = [Path(scratch, f"input{each}.bin") for each in range(len(kernel.shapes))]
            for number, operand in enumerate(operands):
                operand.write_bytes(contents(kernel, number))
            for mode in kernel.modes:
                vmfb = kernel.module(directory, mode)
                run_module(programs, vmfb, kernel, operands, output)
                launch = _counted_launch(programs, vmfb, kernel, operands, metrics)
                yield CountedRun(kernel, mode, digest(output.read_bytes()), launch.metrics)


def _counted_launch(
    programs: Path,
    vmfb: Path,
    kernel: TimedKernel,
    operands: Sequence[Path],
    metrics: Iterable[str],
) -> Launch:
    """Returns what `ncu` counts in the launch of a kernel."""
    run = module_command(programs / "iree-run-module", vmfb, kernel, operands)
    launches = read_launches(output_of([*ncu_command(metrics, "none"), *run, "--output="]))
    if len(launches) != 1:
        raise RuntimeError(f"{vmfb.name}: ncu measured {len(launches)} launches instead of one")
    return launches[0]


def record_rows(
    compiled: CompiledKernels,
    rows: Iterable[ComparedRow],
    record: Path,
    about: str,
    command: str,
) -> bool:
    """Prints each row when it is there, and writes all; returns whether none fails.

    Args:
        record: the file that is written.
        about: what the rows say, in a sentence.
        command: the command that makes them.
    """
    device, versions = gpu_and_versions()
    found: list[ComparedRow] = []
    for row in rows:
        found.append(row)
        print(json.dumps(asdict(row)), flush=True)
    document = {
        "about": about,
        "command": command,
        "device": device,
        "target": compiled.target,
        "date": datetime.date.today().isoformat(),
        "versions": compiled.versions | versions,
        "rows": [asdict(row) for row in found],
    }
    record.write_text(json.dumps(document, indent=1) + "\n")
    return all(row.is_as_predicted for row in found)
