# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-gather-reversed`: what is read backwards is read element by element.

A tensor is padded with its own reflection in this way:

    %edge = linalg.generic {
        indexing_maps = [affine_map<(d0) -> (-d0 + 19)>, affine_map<(d0) -> (d0)>],
        iterator_types = ["parallel"]} ins(%row : tensor<20xf32>) outs(...)

IREE 3.13 slices such an operand for a tile as if it were read forwards, which the verifier refuses
("'linalg.generic' op inferred input/output operand #0 has shape's dimension #0 to be greater than
or equal to 20, but found ..."). Only what is smaller than a tile compiles. Here the body takes the
elements from the tensor, by the numbers of the loops:

    %at = affine.apply affine_map<(d0) -> (-d0 + 19)>(%loop)
    %element = tensor.extract %row[%at] : tensor<20xf32>

Runs first of all on the configured function.

This works around IREE 3.13 (`docs/for_iree.md#operands-that-are-read-backwards`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.index.loop_sums import LoopSum, loop_sums
from ...dialect_utils.indexing_maps import GENERIC, MAPS
from ...dialect_utils.operations import attributes_of, children, operations_in, replace_by
from ...passes.base import FunctionPass, PassContext

Backwards = dict[int, tuple[LoopSum, ...]]
"""What indexes the dimensions of operands that are read backwards, by the operands' numbers."""


class GatherReversed(FunctionPass):
    """Reads elements one by one where an operand is read backwards."""

    name: ClassVar[str] = "bankwise-gather-reversed"
    summary: ClassVar[str] = "read operands that are indexed backwards element by element"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether an operation in `function` reads an operand backwards."""
        return any(True for _ in _reversed(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the operations; never fails."""
        for generic, backwards in list(_reversed(function.operation)):
            replace_by(generic, _gathered(generic, backwards).results[0])


def _reversed(function: ir.Operation) -> Iterator[tuple[ir.Operation, Backwards]]:
    """Yields each operation that reads operands backwards, and these operands."""
    for generic in operations_in(function, GENERIC):
        try:
            sums = loop_sums(generic)
        except Refusal:
            continue
        backwards = {
            number: dims
            for number, dims in enumerate(sums[:-1])
            if any(factor < 0 for each in dims for factor in each.factors.values())
        }
        if backwards and len(generic.results) == 1:
            yield generic, backwards


def _gathered(generic: ir.Operation, backwards: Backwards) -> ir.Operation:
    """Makes the operation whose body takes the elements of operands that are read backwards."""
    at = Builder.before(generic)
    *inputs, output = generic.operands
    kept = [number for number in range(len(inputs) + 1) if number not in backwards]
    maps = ir.ArrayAttr(generic.attributes[MAPS])
    attributes = attributes_of(generic)
    attributes[MAPS] = ir.ArrayAttr.get([maps[number] for number in kept], generic.context)
    block = generic.regions[0].blocks[0]

    def body(inside: Builder, *elements: ir.Value) -> ir.Value:
        values = {block.arguments[each]: e for each, e in zip(kept, elements, strict=True)}
        for number, dims in backwards.items():
            indices = [_index(inside, each) for each in dims]
            values[block.arguments[number]] = inside.element(inputs[number], indices)
        *computed, end = children(generic)
        inside.clone_all(computed, values)
        return values.get(end.operands[0], end.operands[0])

    remaining: Sequence[ir.Value] = [inputs[number] for number in kept[:-1]]
    return at.generic(remaining, output, attributes, body)


def _index(at: Builder, sum_of_loops: LoopSum) -> ir.Value:
    """Emits what indexes a dimension, in the body of the operation."""
    factors = sum_of_loops.factors
    if sum_of_loops.loop is not None:
        return at.loop_index(sum_of_loops.loop)
    terms = [f"d{place} * {each}" for place, each in enumerate(factors.values())]
    loops = (at.loop_index(loop) for loop in factors)
    return at.apply(" + ".join([*terms, str(sum_of_loops.constant)]), *loops)
