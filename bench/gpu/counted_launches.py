# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One launch of each kernel, whose counters are compared with what is predicted of them."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from .kernels import CompiledKernels, TimedKernel
from .profiler import Launch, ncu_command, read_launches
from .runtime_programs import gpu_and_versions, module_command, output_of


@dataclass(frozen=True)
class ComparedRow:
    """What was counted of a kernel, and what was predicted; a subclass has the fields."""

    kernel: str

    @property
    def is_as_predicted(self) -> bool:
        """Returns whether what was counted is what was predicted."""
        raise NotImplementedError


def input_paths(scratch: str, kernel: TimedKernel) -> list[Path]:
    """Returns a path for each input of a kernel in a directory."""
    return [Path(scratch, f"input{number}.bin") for number in range(len(kernel.shapes))]


def counted_launch(
    programs: Path,
    vmfb: Path,
    kernel: TimedKernel,
    operands: Sequence[Path],
    metrics: Iterable[str],
) -> Launch:
    """Returns what `ncu` counts in the launch of a kernel.

    Raises:
        RuntimeError: ncu is missing or fails, or its table is not as expected.
    """
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
