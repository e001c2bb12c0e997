# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls that IREE configures for scalar instructions.

Each thread computes a tile of the result from operands that it reads wherever they lie:

    lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 32], thread = [1, 16, 0],
        workgroup = [32, 128, 1]}>

On NVIDIA GPUs those are all matmuls of f32 and of i8.
"""

from __future__ import annotations

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.indexing_maps import loops_of
from ...dialect_utils.lowering_config import CONFIG, REDUCTION, THREAD, WORKGROUP, LoweringConfig
from ...dialect_utils.operations import defining_operation, operations_of
from ..tiles.tiled_operation import loop_extents
from .matmul_tiles import generic_root, matmul_loops

"""The entry that says how much of the result a thread computes."""
_OPERANDS = 3


class ScalarContraction(NamedTuple):
    """A matmul by scalar instructions.

    Attributes:
        extents: how long each loop is.
        loops: the numbers of the loops over rows, columns and summed elements.
    """

    operation: ir.Operation
    extents: tuple[int, ...]
    loops: tuple[int, int, int]

    @property
    def batch(self) -> tuple[int, ...]:
        """Returns the numbers of the loops over many matmuls."""
        return tuple(loop for loop in range(len(self.extents)) if loop not in self.loops)


def scalar_root(function: ir.Operation, element: ir.Type) -> ir.Operation | None:
    """Returns the operation that decides on the workgroups of a function, if threads compute it.

    Args:
        element: the type of the elements of its operands.
    """
    root = generic_root(function)
    if root is None:
        return None
    a, b, _ = root.operands
    try:
        entries = LoweringConfig.of(root.attributes[CONFIG]).entries
    except Refusal:
        return None
    is_scalar = entries.keys() == {REDUCTION, THREAD, WORKGROUP}
    kinds = {ir.ShapedType(each.type).element_type for each in (a, b)}
    return root if is_scalar and kinds == {element} else None


def scalar_contraction(
    root: ir.Operation, multiply: str, add: str, widen: str = ""
) -> ScalarContraction:
    """Returns the matmul that an operation by scalar instructions is.

    Args:
        multiply, add: the operations of its body.
        widen: what its body does to each element of an operand before, if anything.

    Raises:
        Refusal: it computes something else, or its sizes are not known.
    """
    if not multiplies_and_adds(root, multiply, add, widen):
        raise Refusal("it does more than to multiply and to add")
    maps = loops_of(root)
    extents = loop_extents(root, maps, range(_OPERANDS))
    return ScalarContraction(root, extents, matmul_loops(maps, len(extents)))


def multiplies_and_adds(root: ir.Operation, multiply: str, add: str, widen: str) -> bool:
    """Returns whether the body is c + a * b, with a and b widened."""
    block = root.regions[0].blocks[0]
    a, b, c = block.arguments
    end = operations_of(block)[-1]
    total = defining_operation(end.operands[0])
    if total is None or total.name != add:
        return False
    terms = list(total.operands)
    products = [defining_operation(each) for each in terms if each != c]
    if len(products) != 1 or products[0] is None or products[0].name != multiply:
        return False
    factors = list(products[0].operands)
    if widen:
        widened = [defining_operation(each) for each in factors]
        if any(each is None or each.name != widen for each in widened):
            return False
        factors = [each.operands[0] for each in widened if each is not None]
    return factors in ([a, b], [b, a])
