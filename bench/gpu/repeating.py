# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launching kernels over and over, with changing inputs: what differs. This needs NumPy.

What waits for copies, for `wgmma` or for other warps may be wrong once in a thousand launches, and
checkers of races do not see what tensor cores read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .array_elements import STORAGE, Elements
from .device_launches import DeviceLaunches
from .inputs import NORMAL, input_bytes
from .ratios import Finding
from .timed_kernels import CompiledKernels, TimedKernel

SETS = 4
"""How many different inputs a kernel gets."""

Launch = Callable[[str, int], bytes]
"""Returns the output of a kernel in a mode, for the inputs with a number."""


def operands(kernel: TimedKernel, number: int) -> list[Elements]:
    """Returns the inputs of a kernel with a number: the same numbers, each time rotated further."""
    typed = enumerate(zip(kernel.shapes, kernel.types, strict=True))
    return [
        np.roll(np.frombuffer(input_bytes(kernel, place, NORMAL), STORAGE[dtype]), number)
        .reshape(shape)
        for place, (shape, dtype) in typed
    ]  # fmt: skip


def differing(kernel: TimedKernel, launch: Launch, launches: int) -> list[Finding]:
    """Launches a kernel many times, the inputs in turn; returns what is not as it must be.

    The first outputs must have the bits of the kernel's first mode, but where a mode may round
    otherwise; all later outputs must have the bits of these.

    Args:
        launches: how often the kernel is launched in each mode, after the first times.
    """
    found: list[Finding] = []
    first = {mode: [launch(mode, number) for number in range(SETS)] for mode in kernel.modes}
    stock = kernel.modes[0]
    for mode, outputs in first.items():
        if mode not in kernel.inexact and outputs != first[stock]:
            found.append(Finding(kernel.name, mode, f"the outputs differ from those of {stock}"))
        if len({*outputs}) < SETS:
            found.append(Finding(kernel.name, mode, "different inputs give the same output"))
        turns = (turn % SETS for turn in range(launches))
        wrong = sum(launch(mode, number) != outputs[number] for number in turns)
        if wrong:
            what = f"{wrong:,} of {launches:,} launches give other outputs than the first"
            found.append(Finding(kernel.name, mode, what))
    return found


def repeat_all(directory: Path, only: str, launches: int) -> bool:
    """Launches the kernels of a directory, and prints what differs; returns whether nothing does.

    Args:
        only: a regular expression that is searched in the names of kernels.
        launches: how often each is launched in each mode.

    Raises:
        RuntimeError: there is no CUDA device, or the list of kernels is missing.
        OSError: a module cannot be read.
    """
    chosen = [
        each
        for each in CompiledKernels.of_directory(directory).kernels
        if re.search(only, each.name)
    ]
    wrong: set[str] = set()
    for kernel in chosen:
        inputs = [operands(kernel, number) for number in range(SETS)]
        found = differing(kernel, DeviceLaunches(kernel, directory, inputs), launches)
        print(f"{kernel.name}: {len(kernel.modes) * (SETS + launches):,} launches", flush=True)
        for each in found:
            print(f"{each.kernel} {each.mode}: {each.what}", flush=True)
            wrong.add(each.kernel)
    print(f"{len(chosen)} kernels, of which {len(wrong)} are wrong", flush=True)
    return bool(chosen) and not wrong
