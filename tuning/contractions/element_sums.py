# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A vector of indices as a sum of numbers that all of its elements share, and a constant of each.

Indices of a scatter are computed as vectors:

    %s = vector.step : vector<4xindex>
    %b = vector.broadcast %lane : index to vector<4xindex>
    %i = arith.addi %s, %b                  lane, lane + 1, lane + 2, lane + 3

is `1 * %lane` in each element, and 0, 1, 2 and 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.operations import defining_operation

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class ElementSum:
    """What each element of a vector of indices is, modulo 2^64.

    Attributes:
        terms: scalars that are part of every element, with what they are multiplied by.
        constants: what each element has besides, in the shape of the vector.
    """

    terms: Mapping[ir.Value, int]
    constants: npt.NDArray[np.int64]

    def _plus(self, other: ElementSum) -> ElementSum:
        terms = Counter(self.terms)
        for value, factor in other.terms.items():
            terms[value] += factor
        return ElementSum(terms, self.constants + other.constants)

    def _times(self, factor: int) -> ElementSum:
        terms = {value: each * factor for value, each in self.terms.items()}
        return ElementSum(terms, self.constants * factor)

    def _number(self) -> int | None:
        """Returns the number that all elements are; None where they are not."""
        first = int(self.constants.flat[0])
        return first if not self.terms and (self.constants == first).all() else None


def element_sum(value: ir.Value) -> ElementSum:
    """Returns the elements of a vector of `index`.

    Raises:
        Refusal: an operation is met that is not understood.
    """
    operation = defining_operation(value)
    if operation is None:
        raise Refusal("a vector of indices is an argument of a block")
    shape = tuple(ir.VectorType(value.type).shape)
    if operation.name == "arith.constant":
        elements = ir.DenseIntElementsAttr(operation.attributes["value"])
        return ElementSum({}, np.array(list(elements), np.int64).reshape(shape))
    if operation.name == "vector.step":
        return ElementSum({}, np.arange(shape[0], dtype=np.int64))
    if operation.name == "vector.broadcast":
        source = operation.operands[0]
        if not isinstance(source.type, ir.VectorType):
            return ElementSum({source: 1}, np.zeros(shape, np.int64))
        of_source = element_sum(source)
        return ElementSum(of_source.terms, np.broadcast_to(of_source.constants, shape))
    if operation.name in ("vector.transpose", "vector.shape_cast"):
        found = element_sum(operation.operands[0])
        constants = found.constants
        if operation.name == "vector.transpose":
            constants = constants.transpose(
                ir.DenseI64ArrayAttr(operation.attributes["permutation"])
            )
        return ElementSum(found.terms, constants.reshape(shape))
    if operation.name in ("arith.addi", "arith.muli"):
        left, right = map(element_sum, operation.operands)
        if operation.name == "arith.addi":
            return left._plus(right)
        for one, other in ((left, right), (right, left)):
            if (factor := one._number()) is not None:
                return other._times(factor)
    raise Refusal(f"a vector of indices comes from {operation.name}", operation.location)
