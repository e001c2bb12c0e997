# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-check-products`: matrix instructions multiply what a program multiplies.

IREE 3.13 takes an operation for a product of matrices if its body adds a product to a sum,
whatever operations of one operand stand between, and replaces it by an instruction that multiplies
the elements as they are loaded (`docs/for_iree.md`). Such operations are lost:

    %x = arith.extui %a : i8 to i32       is multiplied as a signed number
    %x = math.exp %a : f16                is multiplied as %a

What the function says of unsigned 8-bit factors is kept for `bankwise-multiply-unsigned`, as an
attribute (`dialect_utils/unsigned_factors.py`). Anything else that would be lost, other than a
rounding or a widening, is an error.

The pass runs on the configured function, and again where a convolution has become a product of
matrices. That product may have the factors in the other order, and widens both by `arith.extsi`.

This works around IREE 3.13 (`docs/for_iree.md#unsigned-bytes-and-functions-of-factors`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import PassFailure, Refusal
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.indexing_maps import MAPS, loops_of
from ...dialect_utils.lowering_config import CONFIG
from ...dialect_utils.operations import (
    children,
    defining_operation,
    operations_in,
)
from ...dialect_utils.unsigned_factors import (
    UnsignedFactors,
    note_unsigned_factors,
    unsigned_factors,
)
from ...passes.base import FunctionPass, PassContext
from ..matmuls.matmul_tiles import has_matrix_instruction

_IM2COL = "iree_linalg_ext.im2col"
_ADD = {"arith.addi": "arith.muli", "arith.addf": "arith.mulf"}
"""The additions of products, and the multiplications that belong to them."""
_ROUNDING = frozenset({"arith.extf", "arith.truncf"})
_SIGNED, _UNSIGNED = "arith.extsi", "arith.extui"
_OTHER = "a matrix instruction would compute something else than this operation does"
_BOOLEANS = (
    "a matrix instruction would multiply the bytes in which booleans lie, as it does in "
    "iree-compile: make an i8 of each boolean by arith.extui, in an operation of its own, in front "
    "of this one"
)
_WRAPPED = "a matrix instruction would not wrap products as this operation does"
_FACTORS = 2
_BYTE, _HALF_WORD = 8, 16


class CheckProducts(FunctionPass):
    """Notes which factors of matrix instructions are unsigned."""

    name: ClassVar[str] = "bankwise-check-products"
    summary: ClassVar[str] = "note unsigned factors that matrix instructions take for signed ones"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether matrix instructions are to multiply in `function`."""
        return any(True for _ in _products(function))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Notes unsigned factors.

        Raises:
            PassFailure: the instructions would drop a part of what the function computes.
        """
        function = function.operation
        noted = unsigned_factors(function)
        if noted is not None:
            image = _image_behind_im2col(function)
            if noted.image is not None and image is not None:
                note_unsigned_factors(function, noted.behind_im2col(image))
            return
        found: set[UnsignedFactors | None] = set()
        for product in _products(function):
            try:
                unsigned = _unsigned_operands(product)
            except Refusal as refusal:
                raise PassFailure(product.location, refusal.reason) from None
            image = _image_of(product) if unsigned else None
            found.add(UnsignedFactors(unsigned, image) if unsigned else None)
        if len(found) > 1:
            text = "products of signed and of unsigned integers share a kernel"
            raise PassFailure(function.location, f"{text}: compile them as two functions")
        note_unsigned_factors(function, next(iter(found), None))


def _products(function: ir.Operation) -> Iterator[ir.Operation]:
    """Yields the operations of two factors that matrix instructions are to compute."""
    for operation in operations_in(function.operation):
        if (
            CONFIG in operation.attributes
            and operation.name.startswith("linalg.")
            and len(operation.operands) == _FACTORS + 1
            and has_matrix_instruction(operation)
        ):
            yield operation


def _image_of(convolution: ir.Operation) -> int | None:
    """Returns the number of the operand that more than single loops index, if there is one."""
    if MAPS not in convolution.attributes:
        return 0 if "conv" in convolution.name else None
    try:
        loops_of(convolution)
    except Refusal:
        return _summed_operand(convolution)
    return None


def _summed_operand(convolution: ir.Operation) -> int:
    maps = [ir.AffineMapAttr(each).value for each in ir.ArrayAttr(convolution.attributes[MAPS])]
    plain = [all(isinstance(each, ir.AffineDimExpr) for each in one.results) for one in maps]
    return plain.index(False)


def _image_behind_im2col(function: ir.Operation) -> int | None:
    """Returns the number of the factor that an `im2col` makes; None where there is none."""
    for product in _products(function):
        for number in range(_FACTORS):
            made = defining_operation(product.operands[number])
            if made is not None and made.name == _IM2COL:
                return number
    return None


class _Chain(NamedTuple):
    """A value, and the names of the operations of one operand that another one is made of it by."""

    begin: ir.Value
    names: tuple[str, ...]

    @staticmethod
    def to(value: ir.Value) -> _Chain:
        """Follows a value back; the operation next to the begin comes first."""
        names: list[str] = []
        made = defining_operation(value)
        while made is not None and len(made.operands) == 1:
            names.insert(0, made.name)
            value = made.operands[0]
            made = defining_operation(value)
        return _Chain(value, tuple(names))


def _unsigned_operands(product: ir.Operation) -> frozenset[int]:
    """Returns which of the two factors are 8-bit integers that are widened by zeros.

    Raises:
        Refusal: the body does more than to add a product of widened factors to the sum.
    """
    block = product.regions[0].blocks[0]
    a, b, total = block.arguments
    added = _Chain.to(children(product)[-1].operands[0])
    addition = defining_operation(added.begin)
    if addition is None or addition.name not in _ADD:
        raise Refusal(_OTHER)
    terms = [_Chain.to(each) for each in addition.operands]
    products = [each for each in terms if each.begin != total]
    multiplication = defining_operation(products[0].begin) if len(products) == 1 else None
    if multiplication is None or multiplication.name != _ADD[addition.name]:
        raise Refusal(_OTHER)
    factors = {each.begin: each for each in map(_Chain.to, multiplication.operands)}
    if {*factors} != {a, b}:
        raise Refusal(_OTHER)
    chains = [factors[a], factors[b], products[0]]
    if addition.name == "arith.addf":
        return _rounded([each.name for each in children(product)])
    if any(map(_makes_boolean, children(product))):
        raise Refusal(_BOOLEANS)
    for name in (
        each for chain in (added, *terms) if chain is not products[0] for each in chain.names
    ):
        raise Refusal(_dropped(name))
    return _widened(chains, element_bits(multiplication.results[0].type))


def _makes_boolean(operation: ir.Operation) -> bool:
    """Returns whether an operation makes a boolean of a byte, as IREE does with tensors of i1."""
    return operation.name == "arith.trunci" and element_bits(operation.results[0].type) == 1


def _rounded(names: list[str]) -> frozenset[int]:
    """Returns no operand, after a look at what a product of floating-point numbers does.

    Raises:
        Refusal: it does more than to round or to widen.
    """
    known = {*_ROUNDING, *_ADD, *_ADD.values(), "linalg.yield"}
    for name in names:
        if name not in known:
            raise Refusal(_dropped(name))
    return frozenset()


def _widened(chains: list[_Chain], width: int | None) -> frozenset[int]:
    """Returns which factors are unsigned.

    Args:
        chains: from the loaded factors to the product, and from the product to what is added.
        width: of the product, in bits; None where the type has no width.

    Raises:
        Refusal: more happens than that bytes are widened, and the sum of their whole products.
    """
    *factors, product = chains
    for chain in chains:
        for name in chain.names:
            if name not in (_SIGNED, _UNSIGNED):
                raise Refusal(_dropped(name))
    unsigned: set[int] = set()
    for number, (begin, names) in enumerate(factors):
        if element_bits(begin.type) != _BYTE or not names or (width or 0) < _HALF_WORD:
            raise Refusal(_WRAPPED)
        if names[0] == _UNSIGNED:
            unsigned.add(number)
        elif _UNSIGNED in names:
            raise Refusal("a matrix instruction would drop a change of signs")
    # The product of two unsigned bytes fills 16 bits; others are signed numbers of 16 bits.
    first = _UNSIGNED if len(unsigned) == _FACTORS else _SIGNED
    if product.names and (
        product.names[0] != first or (first == _SIGNED and _UNSIGNED in product.names)
    ):
        raise Refusal(_WRAPPED)
    return frozenset(unsigned)


def _dropped(name: str) -> str:
    return (
        f"a matrix instruction would drop {name}, as it does in iree-compile, and multiply what "
        f"{name} reads: write {name} as an operation of its own, in front of this one"
    )
