# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling kernels with the real commands, and reading what they leave behind."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..iree_plugin.assembly import AssemblySummary
from ..iree_plugin.compile_settings import Mode
from ..sweep.cases import target_flags
from ..sweep.kernels import AnyKernel

BIN = Path(sys.executable).parent

_LOCAL_MEMORY = re.compile(r"workgroup_local_memory = (\d+)")


def bench_parser(
    description: str | None, measured: str, *, jobs: int = 2, every: str = ""
) -> ArgumentParser:
    """Returns the command line of a benchmark that measures many kernels.

    Args:
        description: the module's documentation.
        measured: what runs in parallel, in the plural.
        jobs: how many of these run at a time if the user does not say.
        every: what `--every` counts, if there is such an option.
    """
    parser = ArgumentParser(description=description, formatter_class=RawDescriptionHelpFormatter)
    if every:
        parser.add_argument("--every", type=int, default=1, help=f"take every Nth {every}")
    parser.add_argument("--jobs", type=int, default=jobs, help=f"{measured} at a time")
    return parser


@dataclass(frozen=True)
class Compiled:
    """One compile's results.

    Attributes:
        assembly: the dumped assembly files, by name.
        summaries: their figures, by name.
        lds_bytes: the LDS bytes of all kernels of the module together.
        decisions: the decision file's entries; empty for `iree-compile`.
    """

    assembly: dict[str, bytes]
    summaries: dict[str, AssemblySummary]
    lds_bytes: int
    decisions: list[dict[str, Any]]


def compile_kernel(kernel: AnyKernel, target: str, mitigation: str | None) -> Compiled:
    """Compiles with `bankwise-compile`, or with `iree-compile` where `mitigation` is None.

    Raises:
        RuntimeError: the compile fails; the message is the tool's.
    """
    return compile_source(kernel.name, kernel.source(), target, mitigation)


def compile_source(
    kernel: str, text: str, target: str, mitigation: str | None, flags: Sequence[str] = ()
) -> Compiled:
    """Compiles as `compile_kernel` does, from MLIR text.

    Args:
        kernel: the name that the module's file gets.
        flags: flags of the compiler beside those that name the target.

    Raises:
        RuntimeError: the compile fails; the message is the tool's.
    """
    with tempfile.TemporaryDirectory(prefix="bankwise-bench-") as name:
        directory = Path(name)
        source = directory / f"{kernel}.mlir"
        source.write_text(text)
        dumps = directory / "dump"
        decisions = directory / "decisions.json"
        command = [str(BIN / "iree-compile")]
        if mitigation is not None:
            command = [str(BIN / "bankwise-compile"), *Mode.parse(mitigation).flags()]
            command.append(f"--bankwise-decisions={decisions}")
        command += [str(source), *target_flags(target), *flags]
        command.append(f"--iree-hal-dump-executable-files-to={dumps}")
        _run(kernel, target, [*command, "-o", str(directory / "module.vmfb")])
        files = sorted([*dumps.glob("*.rocmasm"), *dumps.glob("*.ptx")])
        summaries = {file.name: AssemblySummary.of(file) for file in files}
        lds = sum(summary.lds_bytes for summary in summaries.values())
        if target.startswith("sm_"):
            # Shared memory is dynamic there: its size is not in the assembly, but in the module.
            module = directory / "module.mlir"
            _run(kernel, target, [*command, "--compile-to=executable-targets", "-o", str(module)])
            lds = sum(map(int, _LOCAL_MEMORY.findall(module.read_text())))
        entries = json.loads(decisions.read_text())["decisions"] if mitigation else []
        return Compiled({f.name: f.read_bytes() for f in files}, summaries, lds, entries)


def _run(kernel: str, target: str, command: list[str]) -> None:
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(f"{kernel} for {target}: {run.stderr.strip()[-2000:]}")
