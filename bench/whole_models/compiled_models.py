# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiling exported models in every mode, and finding what stays on scalar instructions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ..benchmark import first_line
from ..gpu.compiling import compile_kernels, in_modes
from ..gpu.modes import EXACT, FAST, FAST_HOPPER, STOCK
from ..gpu.timed_kernels import CompiledKernels, TimedKernel
from .exported import FUNCTION, ExportedModel, ExportedModels

MODES = (STOCK, EXACT, FAST, FAST_HOPPER)

_CONTRACTION = re.compile(r"matmul|matvec|mmt|conv|contract|attention")
_PTX_KERNEL = re.compile(rb"\.visible \.entry (\w+)\(")
_PTX_MATRIX_INSTRUCTION = b"mma.sync"


def timed(model: ExportedModel) -> TimedKernel:
    """Returns what the machine with the GPU has to know of a model's modules."""
    return TimedKernel(model.name, FUNCTION, model.operands, MODES, (FAST, FAST_HOPPER))


def compile_all(directory: Path, only: str = "", jobs: int = 1) -> bool:
    """Compiles the models that an export left in a directory, into it.

    What does not compile is printed and left out. What `fast` leaves on scalar instructions is
    printed too.

    Returns:
        Whether all compiled.

    Raises:
        RuntimeError: no models were exported.
        OSError: a file cannot be read or written.
    """
    models = ExportedModels.of_directory(directory).models
    faults: list[str] = []

    def say(fault: str) -> None:
        print(first_line(fault), flush=True)
        faults.append(fault)

    kernels = {
        timed(each): in_modes(
            each.source(directory).read_text(), f"--iree-input-type={each.input_type}"
        )
        for each in models
    }
    compile_kernels(directory, kernels, only, jobs, say)
    for kernel in CompiledKernels.of_directory(directory).kernels:
        if FAST in kernel.modes:
            for name in scalar_contractions(kernel.module(directory, FAST).read_bytes()):
                print(f"{kernel.name} {FAST}: {name} has no matrix instructions", flush=True)
    return not faults


def scalar_contractions(vmfb: bytes) -> Iterator[str]:
    """Yields the kernels of a module for CUDA that contract and have no matrix instructions."""
    found = list(_PTX_KERNEL.finditer(vmfb))
    ends = [*(match.start() for match in found[1:]), len(vmfb)]
    for match, end in zip(found, ends, strict=True):
        name = match[1].decode()
        if _CONTRACTION.search(name) and _PTX_MATRIX_INSTRUCTION not in vmfb[match.end() : end]:
            yield name
