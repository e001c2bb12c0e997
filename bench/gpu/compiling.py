# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels that are timed, compiled in every mode."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from joblib import Parallel, delayed

from ...iree_plugin.compile import compile
from ...runtime.dtypes import dtype_of
from ...sweep.cases import target_flags
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
_MATMULS = (
    Matmul(4096, 4096, 4096, "f16"),
    Matmul(4096, 4096, 4096, "f16", transposed=True),
    Matmul(2048, 2048, 2048, "f16"),
    Matmul(2048, 2048, 2048, "f16", transposed=True),
    Matmul(8192, 1024, 4096, "f16", transposed=True),
    Matmul(4096, 4096, 64, "f16", transposed=True),
    Matmul(1000, 1000, 1000, "f16", transposed=True),
    Matmul(2048, 2048, 2048, "bf16"),
)


def kernels() -> list[Kernel]:
    """Returns the kernels that are timed."""
    attentions = [Attention(*shape, dtype) for dtype in ("f16", "bf16") for shape in _ATTENTIONS]
    return [*attentions, *_MATMULS]


def timed(
    kernel: Kernel, modes: Sequence[str] = MODES, inexact: Sequence[str] = INEXACT_MODES
) -> TimedKernel:
    """Returns what the machine with the GPU has to know of a kernel.

    Args:
        modes: what it is compiled with.
        inexact: those whose outputs may differ from the first one's in their rounding.
    """
    if isinstance(kernel, Attention):
        function, shapes = ATTENTION, ((kernel.batch, kernel.seq, kernel.head_dim),) * 3
    else:
        function, shapes = MATMUL, kernel.operands
    operands = tuple("x".join([*map(str, shape), kernel.dtype]) for shape in shapes)
    known = TimedKernel(kernel.name, function, operands, tuple(modes), tuple(inexact))
    if isinstance(kernel, Matmul):
        return replace(known, transposed=kernel.transposed)
    return replace(known, scale=float(dtype_of(kernel.dtype).type(kernel.head_dim**-0.5)))


@dataclass(frozen=True)
class _Compile:
    """One kernel in one mode, compiled in a process of its own."""

    source: str
    mode: str
    path: Path

    def __call__(self) -> None:
        self.path.write_bytes(compile(self.source, target_flags(TARGET), self.mode))


def compile_all(directory: Path, only: str = "", jobs: int = 1) -> None:
    """Compiles the kernels in every mode into `directory`, with a file that lists them.

    Args:
        only: a regular expression that is searched in the names of kernels.
        jobs: how many compile at a time.

    Raises:
        CompileError: a kernel does not compile.
        OSError: a file cannot be written.
    """
    chosen = {timed(each): each.source() for each in kernels() if re.search(only, each.name)}
    compile_kernels(directory, chosen, jobs)


def compile_kernels(directory: Path, sources: Mapping[TimedKernel, str], jobs: int) -> None:
    """Compiles kernels in their modes into `directory`, with a file that lists them.

    Args:
        sources: the MLIR of each kernel.
        jobs: how many compile at a time.

    Raises:
        CompileError: a kernel does not compile.
        OSError: a file cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    Parallel(n_jobs=jobs)(
        delayed(_Compile(source, mode, kernel.module(directory, mode)))()
        for kernel, source in sources.items()
        for mode in kernel.modes
    )
    versions = asdict(installed_versions())
    CompiledKernels(TARGET, versions, tuple(sources)).write(directory)
