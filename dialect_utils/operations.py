# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small questions about operations and values that the bindings have no methods for."""

from __future__ import annotations

import importlib.util
import math
import sys
from collections.abc import Callable, Container, Hashable, Iterable, Iterator
from types import ModuleType
from typing import Any, TypeVar

from iree.compiler import ir
from iree.compiler.rewrite import PatternRewriter, RewritePatternSet, walk_and_apply_patterns

from .dynamic_sizes import DYNAMIC

Node = TypeVar("Node", bound=Hashable)

_DIALECTS = "iree.compiler.dialects"
_UNBOUND = (
    *("bufferization", "hal", "iree_encoding", "iree_linalg_ext", "iree_vector_ext", "nvgpu"),
    *("stablehlo", "stream", "ub", "util"),
)
"""Dialects that have no module in some version of the compiler's package."""

GPU_FUNC, GPU_LAUNCH = "gpu.func", "gpu.launch"
"""A kernel of MLIR's gpu dialect, and one that stands in the middle of its host function."""
ONLINE_ATTENTION = "iree_linalg_ext.online_attention"
"""An attention that is configured for its workgroups."""
ROW_LOOPS = ("iree_linalg_ext.topk", "iree_linalg_ext.scan")
"""What goes over a row element by element: to find the largest ones, or to sum up to each."""
IMPORT, EXPORT = "hal.tensor.import", "hal.tensor.export"
"""What makes a tensor of what a caller gives, and what it gets of one."""
TRANSFER_READ, TRANSFER_WRITE = "vector.transfer_read", "vector.transfer_write"


def _add_empty_modules() -> None:
    """Adds an empty Python module for each dialect that the compiler's package has none for.

    To hand out an operation, MLIR's bindings import the Python module of its dialect. A module that
    exists is imported once. One that does not is searched for again at every operation, in all of
    Python's import paths (`lookupOperationClass` in MLIR's
    `lib/Bindings/Python/Globals.cpp`). With an empty module an operation is the same plain
    `OpView`.
    """
    for name in _UNBOUND:
        module = f"{_DIALECTS}.{name}"
        if module not in sys.modules and importlib.util.find_spec(module) is None:
            sys.modules[module] = ModuleType(module)


# All that looks at operations imports this module.
_add_empty_modules()


def operations_in(function: ir.Operation | ir.OpView, *names: str) -> list[ir.Operation]:
    """Returns the operations of these names inside `function`, or all, in the order of the text.

    It may be one of them itself. With names, blocks in regions inside it may be left out to which
    nothing branches, so that they never run.
    """
    root = function.operation
    # The library leaves out such blocks of the root, too.
    if names and all(len(region.blocks) <= 1 for region in root.regions) and _have_modules(names):
        return _named(root, names)
    found: list[ir.Operation] = []
    add, advance, wanted = found.append, ir.WalkResult.ADVANCE, frozenset(names)

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if not names or operation.name in wanted:
            add(operation)
        return advance

    root.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _have_modules(names: Iterable[str]) -> bool:
    """Returns whether the modules of dialects are there, which the bindings import to make views of
    operations of some names. A compile puts off what is in them (`iree_plugin/early_import`)."""
    return all(f"{_DIALECTS}.{name.partition('.')[0]}" in sys.modules for name in names)


def _named(root: ir.Operation, names: Iterable[str]) -> list[ir.Operation]:
    """Returns what `operations_in` does of a root whose regions have a block at most.

    A walk calls Python for each operation, which takes half a microsecond. Here the library looks
    for those whose names patterns have, in a fiftieth of that. The patterns change nothing.
    """
    found: list[ir.Operation] = []

    def add(view: ir.OpView, _: PatternRewriter) -> bool:
        operation, place = view.operation, len(found)
        if len(operation.regions):  # What is inside it has come before it.
            while place and is_inside(found[place - 1], operation):
                place -= 1
        found.insert(place, operation)
        return True  # The pattern does not match.

    patterns = RewritePatternSet(root.context)
    for name in {*names}:
        patterns.add(name, add)
    walk_and_apply_patterns(root, patterns.freeze())
    return [root, *found] if root.name in names else found


def has_operation(function: ir.Operation | ir.OpView, *names: str) -> bool:
    """Returns whether `operations_in` finds an operation of these names."""
    return bool(operations_in(function, *names))


def children(parent: ir.Operation, *names: str) -> list[ir.Operation]:
    """Returns the operations of these names directly inside `parent`, or all, in the order of the
    text.

    A walk hands out plain operations. Iterating over a block makes op views, for which MLIR's
    bindings import the Python module of each op's dialect, which is slow for `linalg` and `rocdl`.
    """
    found: list[ir.Operation] = []
    add, skip, is_parent = found.append, ir.WalkResult.SKIP, True

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal is_parent
        if is_parent:  # It is visited first.
            is_parent = False
            return ir.WalkResult.ADVANCE
        if not names or op.name in names:
            add(op)
        return skip

    parent.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def operations_of(block: ir.Block) -> list[ir.Operation]:
    """Returns the operations of a block, as plain as those of `children`."""
    parent = block.owner.operation
    found = children(parent)
    alone = len(parent.regions) == 1 and len(parent.regions[0].blocks) == 1
    return found if alone else [op for op in found if op.block == block]


def defining_operation(value: ir.Value) -> ir.Operation | None:
    """Returns the operation whose result `value` is; None for a block argument."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def value_behind(value: ir.Value, names: Container[str]) -> ir.Value:
    """Returns what operations of these names make `value` of, each of its first operand.

    It is `value` itself if another operation makes it.
    """
    while (made := defining_operation(value)) is not None and made.name in names:
        value = made.operands[0]
    return value


def makers_behind(
    values: Iterable[ir.Value], through: Callable[[ir.Operation], bool]
) -> Iterator[ir.Operation]:
    """Yields the operations that values are computed by, each once.

    Args:
        through: whether what computes the operands of an operation is looked for, too; it is asked
            after the operation was yielded.
    """

    def makers(of: Iterable[ir.Value]) -> Iterator[ir.Operation]:
        return filter(None, map(defining_operation, of))

    return reached_from(makers(values), lambda each: makers(each.operands) if through(each) else ())


def dependents(
    makers: Iterable[ir.Operation], behind: Iterable[ir.Operation]
) -> dict[ir.Operation, None]:
    """Returns those of operations `behind` others, in the order of the text, that need results of
    `makers`, themselves or by what needs them."""
    needed, found = {*makers}, dict[ir.Operation, None]()
    for each in behind:
        inside = operations_in(each) if len(each.regions) else [each]
        if not all(needed.isdisjoint(map(defining_operation, one.operands)) for one in inside):
            needed.add(each)
            found[each] = None
    return found


def reached_from(
    starts: Iterable[Node], onward: Callable[[Node], Iterable[Node]]
) -> Iterator[Node]:
    """Yields all that is reached from some nodes, and these themselves, each once.

    There is no recursion: a kernel's arithmetic is deeper than Python's stack.

    Args:
        onward: what the next nodes behind one are; it is asked after that was yielded.
    """
    pending, seen = [*starts], set[Node]()
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            yield node
            pending += onward(node)


def has_no_numbers(operation: ir.Operation) -> bool:
    """Returns whether all operands of an operation have a shape: a `linalg.generic` may read single
    numbers, too."""
    return all(isinstance(each.type, ir.ShapedType) for each in operation.operands)


def constant_value(value: ir.Value) -> int | None:
    """Returns the number that an `arith.constant` of index or integer type defines, else None."""
    operation = defining_operation(value)
    if operation is None or operation.name != "arith.constant":
        return None
    attribute = operation.attributes["value"]
    return int(attribute.value) if isinstance(attribute, ir.IntegerAttr) else None


def number_of(value: ir.Value) -> float | None:
    """Returns the floating-point number that a constant, or each of its elements, is."""
    constant = splat_of(value)
    return constant.value if isinstance(constant, ir.FloatAttr) else None


def integer_of(value: ir.Value) -> int | None:
    """Returns the integer that a constant, or each of its elements, is."""
    constant = splat_of(value)
    return constant.value if isinstance(constant, ir.IntegerAttr) else None


def has_zero_bits(value: ir.Value) -> bool:
    """Returns whether all bits of a constant number, or of each of its elements, are 0."""
    constant = splat_of(value)
    if isinstance(constant, ir.FloatAttr):
        return constant.value == 0 and math.copysign(1, constant.value) > 0
    return isinstance(constant, ir.IntegerAttr) and constant.value == 0


def splat_of(value: ir.Value) -> Any:
    """Returns what an `arith.constant` is, or each of its elements if these are all the same."""
    operation = defining_operation(value)
    if operation is None or operation.name != "arith.constant":
        return None
    constant = operation.attributes["value"]
    if isinstance(constant, ir.DenseElementsAttr):
        return constant.get_splat_value() if constant.is_splat else None
    return constant


def is_splat_of_zero(value: ir.Value) -> bool:
    """Returns whether a value is a constant vector of floating-point zeros."""
    return isinstance(value.type, ir.VectorType) and number_of(value) == 0.0


def symbol_of(operation: ir.Operation) -> str:
    """Returns the symbol of a function or another operation; empty without one."""
    attributes = operation.attributes
    return ir.StringAttr(attributes["sym_name"]).value if "sym_name" in attributes else ""


def parents_of(operation: ir.Operation) -> Iterator[ir.Operation]:
    """Yields the operations around `operation`, from the inside outwards."""
    outer = operation.parent
    while outer is not None:
        yield outer.operation
        outer = outer.operation.parent


def function_around(value: ir.Value) -> ir.Operation:
    """Returns the function that has a value inside it."""
    owner = value.owner
    inner = owner.owner.operation if isinstance(owner, ir.Block) else owner.operation
    return next(each for each in (inner, *parents_of(inner)) if each.name.endswith("func"))


def is_inside(operation: ir.Operation, outer: ir.Operation) -> bool:
    """Returns whether `outer` is around `operation`."""
    return outer in parents_of(operation)


def terminator(region: ir.Region) -> ir.Operation:
    """Returns the last operation of a region of one block."""
    operations = region.blocks[0].operations
    return operations[len(operations) - 1].operation


def segments_of(operation: ir.Operation) -> list[list[ir.Value]]:
    """Returns the operands of an op with `operandSegmentSizes`, segment by segment."""
    operands = iter(operation.operands)
    sizes = ir.DenseI32ArrayAttr(operation.attributes["operandSegmentSizes"])
    return [[next(operands) for _ in range(size)] for size in sizes]


def attributes_of(operation: ir.Operation) -> dict[str, ir.Attribute]:
    """Returns the attributes by their names, to make a like operation."""
    return {name: operation.attributes[name] for name in operation.attributes}


def likeness(operation: ir.Operation) -> Hashable:
    """Returns what operations have in common that compute the same of other values.

    Attributes and types are part of it, and which of the values are the same one. Places in the
    source are not, nor is what defines the operands. To print an operation instead takes as long as
    to number all values of its function.
    """
    numbers: dict[ir.Value, int] = {}

    def numbered(values: Iterable[ir.Value]) -> tuple[tuple[int, str], ...]:
        return tuple((numbers.setdefault(v, len(numbers)), str(v.type)) for v in values)

    def of(each: ir.Operation) -> Hashable:
        attributes = tuple((name, str(each.attributes[name])) for name in each.attributes)
        operands, results = numbered(each.operands), numbered(each.results)
        regions = tuple(
            tuple(
                (numbered(block.arguments), tuple(map(of, operations_of(block))))
                for block in region.blocks
            )
            for region in each.regions
        )
        return each.name, attributes, operands, results, regions

    return of(operation)


def point_behind(value: ir.Value) -> ir.InsertionPoint:
    """Returns the point right behind the definition of a value."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return ir.InsertionPoint.at_block_begin(owner)
    return ir.InsertionPoint.after(owner.operation)


def operands_with(value: ir.Value) -> list[tuple[ir.Operation, int]]:
    """Returns the users of a value, each with the number of the operand that it is."""
    return [(use.owner.operation, use.operand_number) for use in value.uses]


def redirect(operands: Iterable[tuple[ir.Operation, int]], value: ir.Value) -> None:
    """Lets operands of operations be another value, in the order in which they are listed."""
    for user, number in operands:
        user.operands[number] = value


def replace_by(operation: ir.Operation, value: ir.Value) -> None:
    """Erases an operation; a value stands for its first result, and nothing uses the others."""
    redirect(operands_with(operation.results[0]), value)
    operation.erase()


def erase_unused(values: Iterable[ir.Value]) -> None:
    """Erases the operations of values that nothing uses, and of what only these have used.

    The operations must have no effect but their results.
    """
    pending = list(values)
    while pending:
        value = pending.pop()
        operation = defining_operation(value)
        if operation is None or any(list(each.uses) for each in operation.results):
            continue
        pending += [each for each in operation.operands if each not in pending]
        operation.erase()


def mixed_operands(operation: ir.Operation, static_name: str, segment: int) -> list[ir.Value | int]:
    """Returns the numbers of an attribute, of which operand `segment` gives the dynamic ones."""
    dynamic = iter(segments_of(operation)[segment])
    numbers = ir.DenseI64ArrayAttr(operation.attributes[static_name])
    return [next(dynamic) if n == DYNAMIC else n for n in numbers]
