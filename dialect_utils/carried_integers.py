# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integers that travel as floating-point numbers of the same width.

NVIDIA's `mma.sync.m16n8k32` multiplies i8 as well as f8, with the same elements in the same lanes.
IREE 3.13 knows the latter alone. A contraction of i8 can therefore be configured as one of f8: its
i8 are called `f8E4M3FN` and its i32 `f32`, from the loads of its operands to the reads of its
result. Between these, elements may be moved but never computed with, because the bits are those of
integers.

The function says so by an attribute, until its `mma.sync` are those of integers.
"""

from __future__ import annotations

from iree.compiler import ir

from .handed_attributes import CARRIES_INTEGERS

INSTRUCTION = "NV_MMA_SYNC_F32_16x8x32_F8E4M3FN"
"""IREE's name for the instruction on f8."""
SHAPE = (16, 8, 32)
"""Its rows, columns and summed elements."""


def operand_type(context: ir.Context) -> ir.Type:
    """Returns what the i8 are called."""
    return ir.Float8E4M3FNType.get(context)


def result_type(context: ir.Context) -> ir.Type:
    """Returns what the i32 are called."""
    return ir.F32Type.get(context)


def mark(function: ir.Operation, objection: str = "its contraction was not reached") -> None:
    """Says of a function that its `mma.sync` of f8 are those of i8.

    Args:
        objection: why they have not become those of i8 yet.
    """
    function.attributes[CARRIES_INTEGERS] = ir.StringAttr.get(objection, function.context)


def unmark(function: ir.Operation) -> None:
    """Takes back what `mark` says."""
    del function.attributes[CARRIES_INTEGERS]


def is_marked(function: ir.Operation) -> bool:
    """Returns whether the `mma.sync` of f8 in a function are those of i8."""
    return CARRIES_INTEGERS in function.attributes


def objection(function: ir.Operation) -> str:
    """Returns why the `mma.sync` of a marked function have not become those of i8."""
    return ir.StringAttr(function.attributes[CARRIES_INTEGERS]).value
