# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets LLVM know fused multiply-adds on NVIDIA GPUs as such, which makes compiles faster.

For CUDA, MLIR makes a call of `__nv_fmaf` of every element of

    %d = math.fma %a, %b, %c : vector<32xf32>

so that IREE reads and links NVIDIA's library of device functions, and LLVM inlines every call
before it knows the operation: a third of what the compiler does behind codegen with a kernel whose
lanes multiply f32. This pass makes what these calls become, in the same order:

    %d0 = nvvm.fma %a0, %b0, %c0, rnd = <rn> : f32

The code of the GPU is the same, in functions that may take subnormal numbers for zeros, too, which
neither does. For that, elements are taken out of vectors where calls would take them. Where IREE
has put a vector together for a multiplication, its parts are taken as they are, and so are the sums
that the next multiplication adds to.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...bank_model.shown_text import counted_are
from ...dialect_utils.builders import Builder
from ...dialect_utils.element_moves import Element, element_count
from ...dialect_utils.gpu_target import gpu_features_of
from ...dialect_utils.multiplications import MULTIPLY_ADD
from ...dialect_utils.operations import defining_operation, operands_with, operations_in, redirect
from ...passes.base import FunctionPass, PassContext

_INSERT, _FROM_ELEMENTS = "vector.insert_strided_slice", "vector.from_elements"


class NativeFma(FunctionPass):
    """Replaces multiply-adds of f32, and of vectors of f32, by those that LLVM knows."""

    name: ClassVar[str] = "bankwise-native-fma"
    summary: ClassVar[str] = "multiply and add without library calls on NVIDIA GPUs"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` is for an NVIDIA GPU and multiplies and adds."""
        return _is_for_nvidia(function, None) and bool(_multiply_adds(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Replaces the multiply-adds; never fails."""
        function = function.operation
        if not _is_for_nvidia(function, context.test_target):
            return
        found = _multiply_adds(function)
        count = sum(element_count(each.results[0].type) for each in found)
        scalars = _Scalars()
        for each in found:
            scalars.multiply(each)
        # From the last one on, so that none is used any more.
        for each in reversed(found):
            scalars.put_in_place(each)
        if found:
            text = f"{counted_are(count, 'multiply-add')} known to LLVM"
            context.sink.remark(function.location, text)


def _is_for_nvidia(function: ir.Operation, test_target: str | None) -> bool:
    return gpu_features_of(function, test_target).compute_capability is not None


def _multiply_adds(function: ir.Operation) -> list[ir.Operation]:
    """Returns the multiply-adds of numbers, or of vectors of rank 1 and a size that is known; none
    where all are of single numbers, which are few."""
    found = operations_in(function, MULTIPLY_ADD)
    known = [each for each in found if _is_known(each.results[0])]
    return known if any(element_count(each.results[0].type) > 1 for each in known) else []


def _is_known(value: ir.Value) -> bool:
    kind = value.type
    if not isinstance(kind, ir.VectorType):
        return isinstance(kind, ir.F32Type)
    return kind.rank == 1 and not kind.scalable and isinstance(kind.element_type, ir.F32Type)


class _Scalars:
    """The elements of vectors, as numbers."""

    def __init__(self) -> None:
        self._sums: dict[ir.Value, list[ir.Value]] = {}
        """Those of the multiply-adds."""
        self._origins: dict[ir.Value, list[Element]] = {}
        """What the elements of other vectors are elements of, before they are put together."""
        self._taken: dict[tuple[ir.Block, Element], ir.Value] = {}
        """The elements that are taken out in a block already."""

    def multiply(self, product: ir.Operation) -> None:
        """Multiplies and adds the elements of the operands one by one."""
        at, block = Builder.before(product), product.block
        operands = [self._elements(each) for each in product.operands]
        self._sums[product.results[0]] = at.multiply_adds(
            [self._scalar(at, block, each) for each in elements]
            for elements in zip(*operands, strict=True)
        )

    def put_in_place(self, product: ir.Operation) -> None:
        """Gives all users of a multiply-add the numbers that are computed in its place."""
        result, at = product.results[0], Builder.before(product)
        if uses := operands_with(result):
            redirect(uses, at.joined(self._sums[result], result.type))
        product.erase()

    def _scalar(self, at: Builder, block: ir.Block, element: Element) -> ir.Value:
        """Returns an element as a number; it is taken out of its vector once in a block."""
        vector, number = element
        if vector in self._sums:
            return self._sums[vector][number]
        if not isinstance(vector.type, ir.VectorType):
            return vector
        known = self._taken.get((block, element))
        if known is None:
            known = self._taken[block, element] = at.extract(vector, [number])
        return known

    def _elements(self, vector: ir.Value) -> list[Element]:
        """Returns what the elements of a vector are, or of the number itself."""
        if vector not in self._origins:
            self._origins[vector] = self._traced(vector)
        return self._origins[vector]

    def _traced(self, vector: ir.Value) -> list[Element]:
        made = defining_operation(vector)
        if made is not None and made.name == _FROM_ELEMENTS:
            return [(each, 0) for each in made.operands]
        found: dict[int, Element] = {}
        count, rest = element_count(vector.type), vector
        while made is not None and made.name == _INSERT and len(found) < count:
            part, rest = made.operands
            (offset,) = ir.ArrayAttr(made.attributes["offsets"])
            for number, each in enumerate(self._elements(part), ir.IntegerAttr(offset).value):
                found.setdefault(number, each)
            made = defining_operation(rest)
        return [found.get(number, (rest, number)) for number in range(count)]
