# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling every pair of a kernel and a tile for the machine with the GPU."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from joblib import Parallel, delayed

from ...iree_plugin.compile import CompileError, compile
from ...sweep.cases import target_flags
from ...sweep.rows import installed_versions
from ..gpu.compiling import TARGET, timed
from ..gpu.kernels import ATTENTION, CompiledKernels, TimedKernel
from ..gpu.modes import FAST, STOCK
from .forcing import TileError, compile_tiled
from .pairs import TiledKernel, Tiling, timed_pairs

MODE = FAST
"""The mode that tiles are compiled with, and whose own choice is compared with them."""


def listed(kernel: TiledKernel) -> TimedKernel:
    """Returns what the machine with the GPU has to know: stock, the mode's own tile, and others.

    An attention's sums and rescalings depend on its keys a step, and its exponentials are other
    ones than stock's. A matmul's bits do not depend on its tile.
    """
    others = (MODE, *kernel.by_label())
    inexact = others if timed(kernel.kernel).function == ATTENTION else ()
    return timed(kernel.kernel, (STOCK, *others), inexact)


@dataclass(frozen=True)
class _Compile:
    """A kernel with one tile, or in one mode, compiled in a process of its own."""

    kernel: TiledKernel
    mode: str
    tile: Tiling | None
    path: Path

    def __call__(self) -> str:
        """Compiles to the path; returns why that failed, or nothing."""
        try:
            self.path.write_bytes(self._vmfb())
        except (TileError, CompileError) as error:
            return f"{self.path.stem}: {error}"
        return ""

    def _vmfb(self) -> bytes:
        if self.tile is not None:
            return compile_tiled(self.kernel, self.tile, TARGET, MODE)
        return compile(self.kernel.kernel.source(), target_flags(TARGET), self.mode)


def compile_pairs(
    directory: Path, only: str = "", jobs: int = 1, say: Callable[[str], None] = print
) -> None:
    """Compiles all pairs into `directory`, with a file that lists those that compile.

    Args:
        only: a regular expression that is searched in the names of kernels.
        jobs: how many compile at a time.
        say: is told why a pair does not compile.

    Raises:
        OSError: a file cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    kernels = {listed(each): each for each in timed_pairs()}
    chosen = {known: each for known, each in kernels.items() if re.search(only, known.name)}
    cases = [
        (
            known,
            mode,
            _Compile(each, mode, each.by_label().get(mode), known.module(directory, mode)),
        )
        for known, each in chosen.items()
        for mode in known.modes
    ]
    faults = list(Parallel(n_jobs=jobs)(delayed(case)() for _, _, case in cases))
    failed: set[tuple[str, str]] = set()
    for (known, mode, _), fault in zip(cases, faults, strict=True):
        if fault:
            say(fault)
            failed.add((known.name, mode))
    left = tuple(
        listed(each).without({mode for name, mode in failed if name == known.name})
        for known, each in chosen.items()
    )
    CompiledKernels(TARGET, asdict(installed_versions()), left).write(directory)
