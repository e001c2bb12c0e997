# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels that are timed, compiled in every mode."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from ...iree_plugin.compile import compile
from ...runtime.dtypes import dtype_of
from ...sweep.cases import target_flags
from ...sweep.engine import Workers, measured
from ...sweep.kernels import Attention, Kernel, Matmul
from ...sweep.rows import installed_versions
from .kernels import ATTENTION, MATMUL, CompiledKernels, TimedKernel
from .modes import INEXACT_MODES, MODES

TARGET = "sm_80"

_ATTENTIONS = (
    (16, 4096, 128),
    (64, 2048, 64),
    (4, 2048, 256),
    (2, 1024, 128),
    (8, 1024, 64),
    (32, 1024, 128),
    (128, 512, 64),
    (1, 16384, 128),
    (1, 1024, 128),
)
_SCALAR_ATTENTIONS = ((16, 2048, 64), (8, 1024, 128), (12, 512, 32), (4, 1024, 96))
"""Those in f32, for which an NVIDIA GPU has no matrix instructions that IREE knows."""
_MATMULS = (
    Matmul(4096, 4096, 4096, "f16"),
    Matmul(4096, 4096, 4096, "f16", transposed=True),
    Matmul(2048, 2048, 2048, "f16"),
    Matmul(2048, 2048, 2048, "f16", transposed=True),
    Matmul(8192, 1024, 4096, "f16", transposed=True),
    Matmul(4096, 4096, 64, "f16", transposed=True),
    Matmul(1000, 1000, 1000, "f16"),
    Matmul(1000, 1000, 1000, "f16", transposed=True),
    Matmul(3000, 3000, 3000, "f16"),
    Matmul(3000, 3000, 3000, "f16", transposed=True),
    Matmul(1001, 777, 503, "bf16"),
    Matmul(2048, 2048, 2048, "bf16"),
    Matmul(4096, 4096, 4096, "i8", transposed=True),
    Matmul(4096, 4096, 4096, "i8"),
    Matmul(2048, 2048, 2048, "f32"),
    Matmul(2048, 2048, 2048, "f32", transposed=True),
)


def kernels() -> list[Kernel]:
    """Returns the kernels that are timed."""
    attentions = [Attention(*shape, dtype) for dtype in ("f16", "bf16") for shape in _ATTENTIONS]
    scalar = [Attention(*shape, "f32") for shape in _SCALAR_ATTENTIONS]
    return [*attentions, *scalar, *_MATMULS]


def timed(
    kernel: Kernel, modes: Sequence[str] = MODES, inexact: Sequence[str] = INEXACT_MODES
) -> TimedKernel:
    """Returns what the machine with the GPU has to know of a kernel.

    Args:
        modes: what it is compiled with.
        inexact: those whose outputs may differ from the first one's in their rounding.
    """
    function = ATTENTION if isinstance(kernel, Attention) else MATMUL
    operands = tuple("x".join([*map(str, shape), kernel.dtype]) for shape in kernel.operands)
    known = TimedKernel(kernel.name, function, operands, tuple(modes), tuple(inexact))
    if isinstance(kernel, Matmul):
        return replace(known, transposed=kernel.transposed)
    return replace(known, scale=float(dtype_of(kernel.dtype).type(kernel.head_dim**-0.5)))


Compile = Callable[[str], bytes]
"""Returns a kernel's module in a mode."""


def in_modes(source: str, *flags: str) -> Compile:
    """Returns what compiles MLIR, with further flags, in the modes of Bankwise."""
    return partial(_compile_mode, source, (*target_flags(TARGET), *flags))


def _compile_mode(source: str, flags: Sequence[str], mode: str) -> bytes:
    return compile(source, flags, mode)


def compile_all(directory: Path, only: str = "", jobs: int = 1) -> None:
    """Compiles the timed kernels, as `compile_kernels` does."""
    sources = {timed(each): in_modes(each.source()) for each in kernels()}
    compile_kernels(directory, sources, only, jobs)


def compile_kernels(
    directory: Path,
    kernels: Mapping[TimedKernel, Compile],
    only: str = "",
    jobs: int = 1,
    say: Callable[[str], None] | None = None,
) -> None:
    """Compiles kernels in their modes into `directory`, with a file that lists them.

    Args:
        kernels: what compiles each kernel.
        only: a regular expression that is searched in the names of kernels.
        jobs: how many compile at a time.
        say: is told what does not compile, which is left out then.

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
    CompiledKernels(TARGET, versions, left).write_list(directory)


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
