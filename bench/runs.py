# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of benchmarks, compiled with the real commands, and what these leave behind."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from ..bank_model.targets import NVIDIA, family_of
from ..iree_plugin.assembly_summary import AssemblySummary
from ..passes.mode import Mode
from ..sweep.cases import target_flags
from ..sweep.swept_kernels import AnyKernel, Attention, swept_attentions

BIN = Path(sys.executable).parent
EXAMPLES = Path(str(resources.files("bankwise") / "examples"))

_LOCAL_MEMORY = re.compile(r"workgroup_local_memory = (\d+)")
_PHASES = "phases"
_LAST_PHASE = f"{_PHASES}/*.executable-targets.mlir"


def attention_cases(
    dtypes: Mapping[str, Sequence[str]], every: int = 1
) -> list[tuple[Attention, str]]:
    """Returns every `every`-th shape of the public sweep, in the types of each target."""
    return [
        (attention, target)
        for target, its_dtypes in dtypes.items()
        for dtype in its_dtypes
        for attention in swept_attentions(dtype)[::every]
    ]


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

    def instructions(self, kind: str) -> int:
        """Returns how many instructions of a kind, `lds` or `valu`, the assembly has."""
        return sum(getattr(each, f"{kind}_instructions") for each in self.summaries.values())


def compile_kernel(kernel: AnyKernel, target: str, mitigation: str | None) -> Compiled:
    """Compiles with `bankwise-compile`, or with `iree-compile` where `mitigation` is None.

    Raises:
        RuntimeError: the compile fails; the message is the tool's.
    """
    return compile_source(kernel.source(), target, mitigation)


def compile_source(
    text: str, target: str, mitigation: str | None, flags: Sequence[str] = ()
) -> Compiled:
    """Compiles as `compile_kernel` does, from MLIR text.

    Args:
        flags: flags of the compiler beside those that name the target.

    Raises:
        RuntimeError: the compile fails; the message is the tool's.
    """
    with tempfile.TemporaryDirectory(prefix="bankwise-bench-") as name:
        directory = Path(name)
        tool, its_flags = "iree-compile", ["--iree-hal-dump-executable-files-to=."]
        if mitigation is not None:
            tool = "bankwise-compile"
            its_flags += [*Mode.parse(mitigation).flags(), "--bankwise-decisions=decisions.json"]
        if family_of(target) is NVIDIA:
            its_flags.append(f"--dump-compilation-phases-to={_PHASES}")
        run_compiler(directory, tool, text, target, *its_flags, *flags)
        assembly = assembly_in(directory)
        summaries = {each: AssemblySummary.of(directory / each) for each in assembly}
        lds = sum(summary.lds_bytes for summary in summaries.values())
        if family_of(target) is NVIDIA:
            # Shared memory is dynamic there: its size is not in the assembly, but in the module.
            (module,) = directory.glob(_LAST_PHASE)
            lds = sum(map(int, _LOCAL_MEMORY.findall(module.read_text())))
        decisions = directory / "decisions.json"
        entries = json.loads(decisions.read_text())["decisions"] if mitigation else []
        return Compiled(assembly, summaries, lds, entries)


MODULE = "kernel.vmfb"


def tool_command(tool: str) -> list[str]:
    """Returns the words that start a tool of the environment, to which arguments are added."""
    return [str(BIN / tool)]


def run_compiler(directory: Path, tool: str, text: str, target: str, *flags: str) -> float:
    """Compiles MLIR text in a directory, to `MODULE`; returns the wall seconds of the process.

    Raises:
        RuntimeError: the compile fails, or gives an executable back unchanged.
    """
    (directory / "kernel.mlir").write_text(text)
    command = [*tool_command(tool), "kernel.mlir", *target_flags(target), *flags, "-o", MODULE]
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("BANKWISE_")}
    path = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    started = time.perf_counter()
    run = subprocess.run(
        command, cwd=directory, env={**inherited, **path}, capture_output=True, text=True
    )
    seconds = time.perf_counter() - started
    # A warning is an executable that has come back unchanged.
    if run.returncode != 0 or "bankwise-executable: warning:" in run.stderr:
        raise RuntimeError(f"{tool} for {target}: {run.stderr.strip()[-2000:]}")
    return seconds


def assembly_in(directory: Path) -> dict[str, bytes]:
    """Returns the assembly files that a compile has dumped to a directory, by name."""
    files = sorted([*directory.glob("*.rocmasm"), *directory.glob("*.ptx")])
    return {file.name: file.read_bytes() for file in files}
