# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling kernels in their modes, for a machine with a GPU."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from ...iree_plugin.python_compile import compile
from ...sweep.cases import target_flags
from ...sweep.engine import Workers, measured
from ...sweep.rows import installed_versions
from .modes import mode_and_target
from .timed_kernels import CompiledKernels, TimedKernel

TARGET = "sm_80"
"""The architecture that kernels are compiled for unless another one is asked for."""

Compile = Callable[[str], bytes]
"""Returns a kernel's module in a mode, which may name a GPU (`modes.mode_for`)."""


def in_modes(source: str, *flags: str, target: str = TARGET) -> Compile:
    """Returns what compiles MLIR, with further flags, in the modes of Bankwise.

    Args:
        target: the GPU of modes that name none.
    """
    return partial(_compile_mode, source, flags, target)


def _compile_mode(source: str, flags: Sequence[str], target: str, series: str) -> bytes:
    mode, other = mode_and_target(series)
    return compile(source, (*target_flags(other or target), *flags), mode)


def compile_sources(
    directory: Path,
    sources: Mapping[TimedKernel, str],
    only: str = "",
    jobs: int = 1,
    target: str = TARGET,
) -> None:
    """Compiles kernels from MLIR in their modes, as `compile_kernels` does."""
    made = {kernel: in_modes(source, target=target) for kernel, source in sources.items()}
    compile_kernels(directory, made, only, jobs, target=target)


def compile_kernels(
    directory: Path,
    kernels: Mapping[TimedKernel, Compile],
    only: str = "",
    jobs: int = 1,
    say: Callable[[str], None] | None = None,
    target: str = TARGET,
) -> None:
    """Compiles kernels in their modes into `directory`, with a file that lists them.

    Args:
        kernels: what compiles each kernel.
        only: a regular expression that is searched in the names of kernels.
        jobs: how many compile at a time.
        say: is told what does not compile, which is left out then.
        target: the architecture that the kernels are compiled for.

    Raises:
        RuntimeError: a kernel does not compile, and nobody is to be told.
        OSError: a file cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    chosen = {each: make for each, make in kernels.items() if re.search(only, each.name)}
    cases = [(each, mode, make) for each, make in chosen.items() for mode in each.modes]
    failed: dict[TimedKernel, set[str]] = defaultdict(set)
    for kernel, mode, fault in measured(cases, partial(_compile, directory), Workers(jobs)):
        if fault:
            if say is None:
                raise RuntimeError(fault)
            say(fault)
            failed[kernel].add(mode)
    versions = asdict(installed_versions())
    left = tuple(each.without(failed[each]) for each in chosen)
    CompiledKernels(target, versions, left).write_list(directory)


def _compile(
    directory: Path, case: tuple[TimedKernel, str, Compile]
) -> tuple[TimedKernel, str, str]:
    """Compiles a kernel in one mode; returns both, and why that failed, or nothing."""
    kernel, mode, make = case
    path = kernel.module(directory, mode)
    try:
        path.write_bytes(make(mode))
    except RuntimeError as error:
        return kernel, mode, f"{path.stem}: {error}"
    return kernel, mode, ""
