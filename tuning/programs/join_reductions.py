# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets reductions of the same rows that depend on each other be one kernel.

A layer norm sums rows, and then the squares of what is left of them without their mean. A softmax
or the logarithm of one that is exported as it is defined sums exponentials below the maximum:

    %max = linalg.generic {... ["parallel", "reduction"]} ins(%x) ...
    %below = linalg.generic {... ["parallel", "parallel"]} ins(%x, %max) ...
    %sum = linalg.generic {... ["parallel", "reduction"]} ins(%below) ...
    %out = linalg.generic {... ["parallel", "parallel"]} ins(%below, %sum) ...

IREE 3.13 makes a kernel for each reduction, which writes `%below` to memory, and reads it again.
This pass puts the chain into one `flow.dispatch.region`, where lanes share the rows, and keep them
in registers (`tuning/elements/share_rows.py`). IREE's own passes have fused what is computed
elementwise before (`FUSION`), as they would otherwise do behind this pass.

Runs on functions of the program, before dispatches are formed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.gpu_target import gpu_features_of
from ...dialect_utils.indexing_maps import GENERIC, PRODUCTS, loops_of, summed_loops
from ...dialect_utils.lowering_config import is_configured
from ...dialect_utils.operations import (
    children,
    defining_operation,
    operands_with,
    operations_of,
    redirect,
    value_behind,
)
from ...passes.base import FunctionPass, PassContext
from ...passes.decisions import LayoutRound
from ..costs.processors import processor_of
from .program_rows import is_arithmetic, is_row_reduction, loop_lengths, row_reductions

_TIDY = ("canonicalize", "cse")
FUSION = (
    "iree-dispatch-creation-elementwise-op-fusion",
    *_TIDY,
    "iree-dispatch-creation-bubble-up-expand-shapes",
    *_TIDY,
    "iree-dispatch-creation-elementwise-op-fusion",
    *_TIDY,
    "iree-dispatch-creation-sink-reshapes",
    *_TIDY,
    "iree-dispatch-creation-fuse-multi-use-elementwise-producer",
    *_TIDY,
)
"""The passes with which IREE 3.13 begins to form dispatches."""
_RESHAPES = ("tensor.collapse_shape", "tensor.expand_shape")
_SUMS_AT_LEAST = 2


class JoinReductions(FunctionPass):
    """Puts reductions of the same rows that depend on each other into one dispatch."""

    name: ClassVar[str] = "bankwise-join-reductions"
    summary: ClassVar[str] = "let reductions of the same rows be one kernel"
    layout_round: ClassVar[LayoutRound] = LayoutRound.NONE
    native: ClassVar[tuple[str, ...]] = FUSION

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has several reductions of rows."""
        return len([*row_reductions(function)]) >= _SUMS_AT_LEAST

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Joins the reductions of `function`; never fails."""
        function = function.operation
        features = gpu_features_of(function, context.test_target)
        if not features.mma_sync or processor_of(features.arch) is None:
            return
        joined: set[ir.Operation] = set()
        for first in row_reductions(function):
            if first in joined:
                continue
            chain = context.planned(
                first.location, "a reduction is a kernel of its own", lambda f=first: _Chain.of(f)
            )
            if chain is None:
                continue
            joined.update(chain.members)
            text = f"{chain.reductions} reductions of the same rows are one kernel"
            context.sink.remark(first.location, text)
            chain.apply()


class _Chain(NamedTuple):
    """Operations on the same rows that become one dispatch.

    Attributes:
        members: these, in the order of the text.
        between: what stands between them, and depends on some of them.
    """

    members: tuple[ir.Operation, ...]
    between: tuple[ir.Operation, ...]

    @staticmethod
    def of(first: ir.Operation) -> _Chain | None:
        """Returns what is computed of a reduction; None where that is no other reduction.

        Raises:
            Refusal: sizes are not known.
        """
        rows, block = _Rows.of(first), first.block
        members, behind, between = [first], list[ir.Operation](), list[ir.Operation]()
        reached, others = _users(first, block), set[ir.Operation]()
        whole = operations_of(block)
        for each in whole[whole.index(first) + 1 :]:
            if each in others or (each in reached and not rows.has(each)):
                behind.append(each)
                others |= _users(each, block)
            elif each in reached:
                members.append(each)
                between = list(behind)
                reached |= _users(each, block)
        chain = _Chain((*_before(members, rows), *members), tuple(between))
        return chain if chain.reductions >= _SUMS_AT_LEAST else None

    @property
    def reductions(self) -> int:
        """Returns how many of the operations reduce."""
        return len([each for each in self.members if summed_loops(each)])

    def apply(self) -> None:
        """Moves the operations into a region."""
        last = self.members[-1]
        inside = {*self.members}
        used = [
            (result, outside)
            for each in self.members
            for result in each.results
            if (outside := [u for u in operands_with(result) if u[0] not in inside])
        ]
        at = Builder.after(last).at(last.location)
        region = at.dispatch_region([value for value, _ in used])
        end = children(region)[-1]
        for each in self.members:
            each.move_before(end)
        for (_, outside), result in zip(used, region.results, strict=True):
            redirect(outside, result)
        place = region
        for each in self.between:
            each.move_after(place)
            place = each


class _Rows(NamedTuple):
    """The loops of a reduction of rows: those from row to row, and then that along a row.

    Attributes:
        sizes: how long they are.
    """

    sizes: tuple[int, ...]

    @staticmethod
    def of(first: ir.Operation) -> _Rows:
        """Returns those of a reduction.

        Raises:
            Refusal: they are not known.
        """
        sizes = loop_lengths(first)
        if any(each == DYNAMIC for each in sizes):
            raise Refusal("the sizes of its rows are not known")
        return _Rows(sizes)

    def has(self, operation: ir.Operation) -> bool:
        """Returns whether an operation computes elements of these rows, or a number of each."""
        if operation.name != GENERIC or is_configured(operation) or len(operation.results) != 1:
            return False
        if not is_arithmetic(operation):
            return False
        try:
            sizes, loops, summed = (
                loop_lengths(operation),
                loops_of(operation),
                summed_loops(operation),
            )
        except Refusal:
            return False
        if sizes not in (self.sizes, self.sizes[:-1]):
            return False
        if summed:
            return sizes == self.sizes and is_row_reduction(operation)
        in_order = all(list(dims) == sorted(dims) for dims in loops)
        return in_order and loops[-1] == tuple(range(len(sizes)))


def _before(members: list[ir.Operation], rows: _Rows) -> Iterator[ir.Operation]:
    """Yields what is computed elementwise for some operations alone, and of no product's result.

    The kernel of a product computes what is made of its result.
    """
    inside = {*members}
    seen: set[ir.Operation] = set()
    for member in members:
        for operand in list(member.operands)[:-1]:
            made = defining_operation(operand)
            if made is None or made in inside or made in seen or not rows.has(made):
                continue
            users = {user for user, _ in operands_with(operand)}
            sources = (value_behind(each, _RESHAPES) for each in list(made.operands)[:-1])
            if (
                users <= inside
                and made.block == member.block
                and not any(map(_is_product, map(defining_operation, sources)))
            ):
                seen.add(made)
                yield made


def _is_product(made: ir.Operation | None) -> bool:
    if made is None or not made.name.startswith("linalg."):
        return False
    return made.name in PRODUCTS or made.name != GENERIC or bool(summed_loops(made))


def _users(operation: ir.Operation, block: ir.Block) -> set[ir.Operation]:
    """Returns what in a block uses results of an operation, itself or by what it contains."""
    found: set[ir.Operation] = set()
    for result in operation.results:
        for user, _ in operands_with(result):
            while user.block != block:
                user = user.parent.operation
            found.add(user)
    return found
