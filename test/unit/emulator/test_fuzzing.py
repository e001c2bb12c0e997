# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damaged assembly is read, built and run, or refused by an error of our own that says where.

The seed is fixed, so that a failure comes again. More inputs: BANKWISE_FUZZ_INPUTS=20000.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from bankwise.emulator.assembly import Kernel, parse_kernel
from bankwise.emulator.emulation_errors import EmulationError
from bankwise.emulator.instruction_text import AssemblyError
from bankwise.emulator.kernel_arguments import LDS_POINTER, POINTER, explicit_arguments
from bankwise.runtime.argument_values import ArgumentError, LdsBytes
from bankwise.runtime.assembly_run import KernelFile, LaunchOptions, run_kernel

from .mutations import mutated

ROOT = Path(__file__).parents[3]
FILES = (
    "examples/assembly/by_hand.s",
    "examples/assembly/matmul.amdgcn",
    "examples/assembly/row_major.rocmasm",
    "examples/assembly/transpose.s",
    "test/e2e/assembly/abi.s",
)
INPUTS = int(os.environ.get("BANKWISE_FUZZ_INPUTS", "90"))
KERNEL = re.compile(r"^\s*\.amdhsa_kernel (\S+)", re.MULTILINE)
# Sections of debug information, which are most of some files, hold little to damage.
DEBUG = re.compile(r'\t\.section\t"?\.debug(?:.*\n)+?(?=\t\.(?:text|amdgpu_metadata)|\Z)')


@pytest.mark.parametrize("inputs", [20, pytest.param(INPUTS, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", FILES)
def test_damaged_assembly_is_refused_by_our_own_errors(name: str, inputs: int):
    text = DEBUG.sub("", (ROOT / name).read_text())
    kernels = KERNEL.findall(text)
    random = Random(name)
    for number in range(inputs):
        damaged = mutated(text, random, random.choice((1, 1, 1, 2, 5, 20)))
        chosen = random.choice(kernels)
        try:
            kernel = parse_kernel(damaged, "damaged.s", chosen)
            run_kernel(KernelFile(damaged, kernel), arguments(kernel), options(kernel))
        except (AssemblyError, ArgumentError, EmulationError) as error:
            assert str(error).strip()
        except Exception as error:
            raise AssertionError(f"input {number} of {name}: {error!r}") from error


def arguments(kernel: Kernel) -> list[Any]:
    """Returns a value for each argument, whatever the metadata says of it."""
    values: list[Any] = []
    for argument in explicit_arguments(kernel):
        if argument.kind == POINTER:
            values.append(np.zeros(4096, np.float32))
        elif argument.kind == LDS_POINTER:
            values.append(LdsBytes(64))
        else:
            values.append(np.zeros(min(argument.size, 4096), np.uint8))
    return values


def options(kernel: Kernel) -> LaunchOptions:
    """Returns a launch of one workgroup that ends soon."""
    block = kernel.metadata.required_size or (64,)
    try:
        return LaunchOptions.checked((1,), block, max_steps=300)
    except ArgumentError:
        return LaunchOptions.checked((1,), (64,), max_steps=300)
