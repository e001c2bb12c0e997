# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-reduce-bytes`: lanes of AMD GPUs reduce bytes as words of 32 bits.

IREE lets the lanes of a wave share a reduction, and so they do one of bytes:

    %sum = gpu.subgroup_reduce add %x cluster(size = 64) : (i8) -> i8

It becomes exchanges of words between lanes (DPP), of which LLVM makes exchanges of bytes. Its
backend for AMD GPUs selects no instruction for those, and ends the process ("Do not know how to
promote this operator!"). Here lanes reduce words, whose lowest byte is the same.

Runs behind `iree-llvmgpu-vector-distribute`, which has made all of these reductions.

This works around IREE 3.13 (`docs/for_iree.md#bytes-that-lanes-reduce`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.operations import operations_in
from ...passes.base import FunctionPass, PassContext

_REDUCE = "gpu.subgroup_reduce"
_BYTE, _WORD = 8, 32
_SIGNED = ("minsi", "maxsi")
"""Reductions for which the bits above a byte have to be those of its sign."""


class ReduceBytes(FunctionPass):
    """Lets lanes reduce words of 32 bits in place of bytes."""

    name: ClassVar[str] = "bankwise-reduce-bytes"
    summary: ClassVar[str] = "let the lanes of AMD GPUs reduce bytes as words"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether lanes of `function` reduce bytes."""
        return any(True for _ in _of_bytes(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Widens the reductions; never fails."""
        for reduction in list(_of_bytes(function.operation)):
            at = Builder.before(reduction)
            signed = any(each in str(reduction.attributes["op"]) for each in _SIGNED)
            word = (at.extsi if signed else at.extui)(reduction.operands[0], _WORD)
            reduced = at.like(reduction, [word], [word.type]).results[0]
            reduction.results[0].replace_all_uses_with(at.trunci(reduced, _BYTE))
            reduction.erase()


def _of_bytes(function: ir.Operation) -> Iterator[ir.Operation]:
    byte = ir.IntegerType.get_signless(_BYTE, function.context)
    for reduction in operations_in(function, _REDUCE):
        if reduction.results[0].type == byte:
            yield reduction
