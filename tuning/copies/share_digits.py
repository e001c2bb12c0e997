# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-share-digits`: a thread's copies lie a known number of rows apart.

A tile is copied by all threads at once, and then again by all of them further on:

    %n = arith.addi %thread, %c128                %row, %in = affine.delinearize_index %thread
    %row, %in = affine.delinearize_index %n  ->       into (64, 16)
        into (64, 16)                             %row.1 = arith.addi %row, %c8

LLVM does not find that 128 places are 8 rows of 16. So it computes the address of each copy by
itself, and the warps of a matmul with few rows, of which a scheduler has one, wait for such
instructions most of the time. With a known distance the addresses of copies are constants beside
that of the first one, which instructions of memory add themselves.

Warps that multiply by `wgmma` wait for no registers meanwhile. Where copies are `cp.async` beside
it, nothing is gained: of 26 matmuls by code for sm_90a the time is 0.88 to 1.15 times as long on an
H200, 1.007 in the mean, f16 333x2048x5632 36.1 us for 33.6. Their addresses stay.

Every value is the same. Runs last on NVIDIA GPUs, on the indices that the copies have then.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.index.index_ops import digit_bases
from ...dialect_utils.memory.lds_ops import COPY
from ...dialect_utils.memory.mma_operands import MMA
from ...dialect_utils.operations import (
    constant_value,
    defining_operation,
    has_operation,
    operations_in,
)
from ...passes.base import FunctionPass, PassContext

_DIGITS, _ADD, _THREAD = "affine.delinearize_index", "arith.addi", "gpu.thread_id"


class ShareDigits(FunctionPass):
    """Computes the digits of a thread's number plus a constant from those of its number."""

    name: ClassVar[str] = "bankwise-share-digits"
    summary: ClassVar[str] = "let addresses of a thread's copies differ by constants"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` takes such digits where that may gain."""
        return next(_moved_digits(function), None) is not None

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the digits; never fails."""
        function = function.operation
        with function.context:
            flags = ir.Attribute.parse("#arith.overflow<nsw, nuw>")
            for each in list(_moved_digits(function)):
                at = Builder.before(each.digits)
                first, *others = at.like(each.digits, [each.thread]).results
                moved = at.add_without_wrap(first, at.index(each.more), flags)
                results = each.digits.results
                for old, new in zip(results, (moved, *others), strict=True):
                    old.replace_all_uses_with(new)
                each.digits.erase()


class _Moved(NamedTuple):
    """The digits of a thread's number plus a constant.

    Attributes:
        digits: the operation that takes them.
        more: by how much the first digit is more than that of the thread's number; the others are
            the same.
    """

    digits: ir.Operation
    thread: ir.Value
    more: int


def _moved_digits(function: ir.Operation) -> Iterator[_Moved]:
    # No `mma.sync` is left where all have become `wgmma`.
    if has_operation(function, COPY) and not has_operation(function, MMA):
        return
    for digits in operations_in(function, _DIGITS):
        total = defining_operation(digits.operands[0])
        if len(digits.operands) != 1 or total is None or total.name != _ADD:
            continue
        thread = defining_operation(total.operands[0])
        added = constant_value(total.operands[1])
        if thread is None or thread.name != _THREAD or added is None or added <= 0:
            continue
        step = prod(digit_bases(digits, (), int))
        if added % step == 0:
            yield _Moved(digits, total.operands[0], added // step)
