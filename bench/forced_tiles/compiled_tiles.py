# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling every pair of a kernel and a tile for the machine with the GPU."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from ...iree_plugin.python_compile import compile
from ...sweep.cases import target_flags
from ..gpu.compiling import TARGET, compile_kernels
from ..gpu.modes import FAST, STOCK
from ..gpu.timed_kernels import ATTENTION, TimedKernel
from ..gpu.timed_sets import timed
from .forcing import compile_tiled
from .pairs import TiledKernel, timed_pairs

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


def _compile(kernel: TiledKernel, mode: str) -> bytes:
    """Returns the module of a kernel with the tile of a label, or in a mode."""
    tile = kernel.by_label().get(mode)
    if tile is not None:
        return compile_tiled(kernel, tile, TARGET, MODE)
    return compile(kernel.kernel.source(), target_flags(TARGET), mode)


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
    kernels = {listed(each): partial(_compile, each) for each in timed_pairs()}
    compile_kernels(directory, kernels, only, jobs, say)
