# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How index arithmetic is read from the IR, whatever is then computed of it.

Two analyses look at index values: `lane_values` knows the exact value in each lane, `index_bits`
what holds for all lanes and iterations. Each has a table of what an operation means for it. What an
operation is computed from, in which order values are visited, and what the attributes of `affine`
operations say, is the same for both and stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Generic, Protocol, TypeVar

from iree.compiler import ir

from ..dynamic_sizes import DYNAMIC
from ..loops import IF, bounds_of, is_induction
from ..operations import Node, terminator

Known = TypeVar("Known")

_PER_RESULT = frozenset({"util.assume.int", "util.optimization_barrier"})
"""Operations whose results are their operands, one by one."""

FORALL = "scf.forall"
FORALL_BOUNDS = ("staticLowerBound", "staticUpperBound", "staticStep")
"""What an `scf.forall` keeps its lower bounds, its upper bounds and its steps in."""


def compute_after_operands(
    value: Node,
    known: dict[Node, Known],
    operands_of: Callable[[Node], Sequence[Node]],
    compute: Callable[[Node, Sequence[Node]], Known],
) -> Known:
    """Returns what `compute` says of `value`, after it was asked of all that `value` depends on.

    `known` remembers every value on the way, each behind those that it depends on. Values are
    visited without recursion: index arithmetic is deeper than Python's stack. Any nodes will do
    that say what they depend on.
    """
    if value in known:
        return known[value]
    pending = [value]
    waiting: dict[Node, Sequence[Node]] = {}
    while pending:
        top = pending[-1]
        if top in known:
            pending.pop()
            continue
        operands = waiting.pop(top, None)
        if operands is None:
            operands = operands_of(top)
            missing = [operand for operand in operands if operand not in known]
            if missing:
                waiting[top] = operands
                pending.extend(missing)
                continue
        known[top] = compute(top, operands)
        pending.pop()
    return known[value]


def computed_from(value: ir.Value, names: Container[str]) -> list[ir.Value]:
    """Returns the values that `value` is computed from; none if its operation is not in `names`.

    They are the operands of the operation, with three exceptions. An `scf.if` has its condition,
    and then what the branches yield. The induction variable of an `scf.for` has the loop's bounds
    and step. An operation that passes each operand on has the operand that belongs to the result.
    """
    if isinstance(value, ir.BlockArgument):
        return bounds_of(block_owner(value)) if is_induction(value) else []
    operation = defining(value)
    name = operation.name
    if name not in names:
        return []
    if name == IF:
        number = ir.OpResult(value).result_number
        yields = map(terminator, operation.regions)
        return [operation.operands[0], *(each.operands[number] for each in yields)]
    if name in _PER_RESULT:
        return [operation.operands[ir.OpResult(value).result_number]]
    return list(operation.operands)


def defining(value: ir.Value) -> ir.Operation:
    """Returns the operation of which `value`, which is no block argument, is a result."""
    owner = value.owner
    assert not isinstance(owner, ir.Block)
    return owner.operation


def block_owner(argument: ir.BlockArgument) -> ir.Operation:
    """Returns the operation around the block of an argument."""
    block = argument.owner
    assert isinstance(block, ir.Block)
    return block.owner.operation


def forall_bounds(argument: ir.BlockArgument) -> tuple[int | None, int | None, int | None]:
    """Returns the lower bound, the upper bound and the step of a number of an `scf.forall`.

    None stands for each that is no constant, and for all those of another argument of a block.
    """
    loop, number = block_owner(argument), argument.arg_number
    if loop.name != FORALL or number >= len(
        ir.DenseI64ArrayAttr(loop.attributes[FORALL_BOUNDS[0]])
    ):
        return None, None, None
    bounds = (ir.DenseI64ArrayAttr(loop.attributes[name])[number] for name in FORALL_BOUNDS)
    lower, upper, step = (None if bound == DYNAMIC else bound for bound in bounds)
    return lower, upper, step


def bit_width(kind: ir.Type) -> int | None:
    """Returns 64 for `index`, N for iN up to 64 bits, and None for everything else."""
    if isinstance(kind, ir.IndexType):
        return 64
    if isinstance(kind, ir.IntegerType) and kind.width <= 64:
        return kind.width
    return None


def dimension_of(operation: ir.Operation) -> int:
    """Returns 0, 1 or 2 for the x, y or z of a `gpu.thread_id` and its like."""
    text = str(operation.attributes["dimension"]).rstrip("> ")
    return "xyz".index(text[-1])


# What the attributes of affine operations say.


class AffineArithmetic(Protocol, Generic[Known]):
    """What the operators of affine expressions mean in a domain."""

    def constant(self, value: int) -> Known:
        """Returns a number."""
        ...

    def binary(self, expression: ir.AffineBinaryExpr, left: Known, right: Known) -> Known:
        """Returns the sum, product, remainder or quotient that `expression` stands for."""
        ...


def affine_results(
    operation: ir.Operation, operands: Sequence[Known], arithmetic: AffineArithmetic[Known]
) -> list[Known]:
    """Returns the results of the operation's map, dimensions and symbols in operand order."""
    return map_results(ir.AffineMapAttr(operation.attributes["map"]).value, operands, arithmetic)


def map_results(
    affine_map: ir.AffineMap, operands: Sequence[Known], arithmetic: AffineArithmetic[Known]
) -> list[Known]:
    """Returns the results of a map of operands, dimensions before symbols."""

    def value_of(expression: ir.AffineExpr) -> Known:
        if isinstance(expression, ir.AffineConstantExpr):
            return arithmetic.constant(expression.value)
        if isinstance(expression, ir.AffineDimExpr):
            return operands[expression.position]
        if isinstance(expression, ir.AffineSymbolExpr):
            return operands[affine_map.n_dims + expression.position]
        assert isinstance(expression, ir.AffineBinaryExpr)
        return arithmetic.binary(expression, value_of(expression.lhs), value_of(expression.rhs))

    return [value_of(expression) for expression in affine_map.results]


def basis_of(
    operation: ir.Operation, dynamic: Sequence[Known], constant: Callable[[int], Known]
) -> list[Known]:
    """Returns the basis of a (de)linearize_index, its dynamic elements taken from `dynamic`."""
    remaining = iter(dynamic)
    static = ir.DenseI64ArrayAttr(operation.attributes["static_basis"])
    return [next(remaining) if size == DYNAMIC else constant(size) for size in static]


def digit_bases(
    operation: ir.Operation, dynamic: Sequence[Known], constant: Callable[[int], Known]
) -> list[Known]:
    """Returns the bases of all digits of a delinearize_index but the first.

    A base that is given for the first digit is a promise, not a modulus.
    """
    basis = basis_of(operation, dynamic, constant)
    return basis[1:] if len(basis) == len(operation.results) else basis


def linearize_digits(operation: ir.Operation) -> int:
    """Returns how many digits an `affine.linearize_index` takes before its dynamic bases."""
    return next(iter(ir.DenseI32ArrayAttr(operation.attributes["operandSegmentSizes"])))


def linearized(
    operation: ir.Operation,
    operands: Sequence[Known],
    constant: Callable[[int], Known],
    onward: Callable[[Known, Known, Known], Known],
) -> Known:
    """Returns the number that a linearize_index makes of its operands, as `mixed_radix` does."""
    count = linearize_digits(operation)
    bases = basis_of(operation, operands[count:], constant)
    return mixed_radix(operands[:count], bases, constant, onward)


def mixed_radix(
    digits: Sequence[Known],
    bases: Sequence[Known],
    constant: Callable[[int], Known],
    onward: Callable[[Known, Known, Known], Known],
) -> Known:
    """Returns the mixed-radix number of digits, by Horner's rule.

    Args:
        bases: those of a linearize_index. That of the first digit is a promise, and not used.
        onward: returns a number times a base, plus a digit.
    """
    total, *rest = digits or [constant(0)]
    for base, digit in zip(bases[len(bases) - len(rest) :], rest, strict=True):
        total = onward(total, base, digit)
    return total


def is_disjoint(linearize: ir.Operation) -> bool:
    """Returns whether a linearize_index has the `disjoint` keyword, which the bindings do not show.

    A copy without a parent is printed: printing the operation itself would number the values of
    the whole function.
    """
    copy = linearize.clone(ip=ir.InsertionPoint.after(linearize))
    detached = copy.detach_from_parent()
    text = detached.get_asm(use_local_scope=True)
    return "linearize_index disjoint" in text
