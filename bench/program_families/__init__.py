# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of `bench/programs.py`: one file a family, and `.mlir` files under `sources/`.

A program that differs from others by parameters is made by its family's class. Any other is an
`.mlir` file, and a line in the family's `programs` with its inputs and what NumPy makes of them.
"""

from __future__ import annotations

from . import attention, convolutions, matmuls, model_blocks, reductions, reproducers
from .program import Program

_FAMILIES = (attention, matmuls, convolutions, reductions, model_blocks, reproducers)


def all_programs() -> list[Program]:
    """Returns every program, family by family; the names are distinct."""
    return [program for family in _FAMILIES for program in family.programs()]
