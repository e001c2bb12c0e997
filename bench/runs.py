# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of benchmarks, compiled with the real commands, and what these leave behind."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

from ..passes.mode import Mode
from ..sweep.cases import target_flags
from ..sweep.swept_kernels import Attention, swept_attentions

BIN = Path(sys.executable).parent
EXAMPLES = Path(str(resources.files("bankwise") / "examples"))


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


def compile_source(
    text: str, target: str, mode: str | None, flags: Sequence[str] = ()
) -> dict[str, bytes]:
    """Compiles MLIR with `bankwise-compile`, or with `iree-compile` where `mode` is None.

    Args:
        flags: flags of the compiler beside those that name the target.

    Returns:
        The assembly files, by name.

    Raises:
        RuntimeError: the compile fails; the message is the tool's.
    """
    with tempfile.TemporaryDirectory(prefix="bankwise-bench-") as name:
        tool = "iree-compile" if mode is None else "bankwise-compile"
        chosen = [] if mode is None else Mode.parse(mode).flags()
        dumps = "--iree-hal-dump-executable-files-to=."
        run_compiler(Path(name), tool, text, target, dumps, *chosen, *flags)
        return assembly_in(Path(name))


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
        said = run.stderr.strip()
        errors = (line for line in said.splitlines() if "error:" in line)
        raise RuntimeError(f"{tool} for {target}: {next(errors, '')}\n{said[-2000:]}".strip())
    return seconds


def assembly_in(directory: Path) -> dict[str, bytes]:
    """Returns the assembly files that a compile has dumped to a directory, by name."""
    files = sorted([*directory.glob("*.rocmasm"), *directory.glob("*.ptx")])
    return {file.name: file.read_bytes() for file in files}
