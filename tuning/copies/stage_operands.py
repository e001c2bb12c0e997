# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stages operands in the LDS by copies whose nested layouts fit tiles of any size.

Where a configuration asks that an operand of a contraction be staged, a `to_layout` of the operand
carries `shared_memory_conversion`, and `iree-codegen-gpu-vector-alloc` makes the copy. It derives
the copy's layout greedily from the widest access, and gives up where the sizes of the tile and of
the workgroup do not divide each other, as for the 96 columns of a head:

    error: failed to derive layout for promoted read-like op

Right before it, this pass makes such copies itself, as IREE would make them:

    %r = vector.transfer_read %global[...]
    %c = iree_vector_ext.to_layout %r to layout(...)              // of the copy
    %a = bufferization.alloc_tensor() {memory_space = #gpu.address_space<workgroup>}
    %w = vector.transfer_write %c, %a[...]
    %b = iree_gpu.value_barrier %w
    %s = vector.transfer_read %b[...]                             // in the place of %r

The layout is the one that touches the fewest blocks of global memory
(`tuning/costs/copy_layouts.py`).
Where the tile lies in the LDS is decided by later passes, as for IREE's own copies.

Part of it works around IREE 3.13 (`docs/for_iree.md#the-cliff-of-attention`).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd, prod
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.accesses import LdsTile
from ...bank_model.features import features_of
from ...bank_model.lds_rules import Lds
from ...bank_model.nested_layout import NestedLayout, TilePart
from ...dialect_utils.builders import Builder
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.gpu_target import Launch
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.loops import FOR
from ...dialect_utils.memory.memref_types import WORKGROUP
from ...dialect_utils.memory.staged_tensors import transfer_dims
from ...dialect_utils.memory.vector_layouts import is_elementwise
from ...dialect_utils.operations import (
    TRANSFER_READ,
    defining_operation,
    operations_in,
    segments_of,
)
from ...passes.base import FunctionPass, PassContext
from ..costs.copy_layouts import best_copy_layout
from ..shapes.enlarged_shapes import true_row
from ..shapes.unaligned_rows import widest_part

_TO_LAYOUT = "iree_vector_ext.to_layout"
_STAGED = "shared_memory_conversion"
_THROUGH = frozenset({"vector.transpose", "vector.shape_cast", "vector.broadcast", _TO_LAYOUT})
_WIDEST_BITS = 128


class StageOperands(FunctionPass):
    """Stages operands in the LDS whose copies IREE derives no layout for."""

    name: ClassVar[str] = "bankwise-stage-operands"
    summary: ClassVar[str] = "copy operands to the LDS whose tiles IREE cannot share among threads"

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites `function`; what it cannot stage is left to IREE."""
        function = function.operation
        marked = [
            each for each in operations_in(function, _TO_LAYOUT) if _STAGED in each.attributes
        ]
        if not marked:
            return
        model = context.lds_model(function, "operands are staged by IREE")
        if model is None:
            return
        lds, launch = model
        staged, indices = set[ir.Operation](), IndexBits(function)
        for operand in marked:
            try:
                behind = list(_reads_behind(operand))
                reads = [each for each in behind if each not in staged]
                if len(reads) == len(behind) and all(
                    _is_derived(each, launch.threads) and _is_whole(each) for each in reads
                ):
                    continue
                layouts = [_copy_layout(each, lds, launch, indices) for each in reads]
            except Refusal as refusal:
                message = f"the operand is left to IREE to stage: {refusal.reason}"
                context.sink.remark(operand.location, message)
                continue
            for read, layout in zip(reads, layouts, strict=True):
                staged.update(_stage(read, layout))
            del operand.attributes[_STAGED]


def _reads_behind(operand: ir.Operation) -> Iterator[ir.Operation]:
    """Yields the reads of memory that an operand is computed from, each once.

    Raises:
        Refusal: it is computed from something else.
    """
    pending, seen = [operand.operands[0]], set[ir.Operation]()
    while pending:
        definition = defining_operation(pending.pop())
        if definition is None:
            raise Refusal("it is carried by a loop")
        if definition in seen:
            continue
        seen.add(definition)
        if definition.name == TRANSFER_READ:
            yield definition
        elif definition.name in _THROUGH or is_elementwise(definition):
            pending += [
                each for each in definition.operands if isinstance(each.type, ir.VectorType)
            ]
        elif definition.name not in ("arith.constant", FOR):
            # What a loop has summed is no copy.
            raise Refusal(f"{definition.name} makes it")


def _is_derived(read: ir.Operation, threads: int) -> bool:
    """Returns whether IREE derives a layout for the copy of what is read.

    The rule is that of `getDerivedThreadLayout` in IREE's GPUVectorAlloc.
    """
    kind = ir.VectorType(read.results[0].type)
    elements = _WIDEST_BITS // (element_bits(kind.element_type) or _WIDEST_BITS)
    shape, total = kind.shape, prod(kind.shape)
    if shape[-1] % elements == 0 and total > elements * threads and total % (elements * threads):
        return False
    while elements > 1 and (shape[-1] % elements or total % (elements * threads)):
        elements //= 2
    left = threads
    for size in reversed([*shape[:-1], shape[-1] // elements]):
        if left % size and size % left:
            return False
        left //= min(size, left)
    return True


def _is_whole(read: ir.Operation) -> bool:
    """Returns whether the rows that are read have their true length in memory."""
    true = true_row(read.operands[0])
    return true is None or true == ir.ShapedType(read.operands[0].type).shape[-1]


def _copy_layout(read: ir.Operation, lds: Lds, launch: Launch, indices: IndexBits) -> NestedLayout:
    """Returns the layout of the copy of what is read.

    Raises:
        Refusal: there is none, or what is read is not known well enough.
    """
    source, vector = ir.ShapedType(read.operands[0].type), ir.VectorType(read.results[0].type)
    bits, dims = element_bits(vector.element_type), transfer_dims(read)
    if bits is None or bits % 8 or source.element_type != vector.element_type or dims is None:
        raise Refusal("the elements that are read are not known")
    if segments_of(read)[-1] or not all(map(_is_true, ir.ArrayAttr(read.attributes["in_bounds"]))):
        raise Refusal("the read may be out of bounds")
    extents = dict(zip(dims, vector.shape, strict=True))
    shape = [extents.get(d, 1) if size == DYNAMIC else size for d, size in enumerate(source.shape)]
    if dims[-1] != len(shape) - 1:
        raise Refusal("the read goes across the rows of memory")
    part = TilePart(LdsTile(tuple(shape), bits), dims)
    begin = indices.multiple([read.operands[len(shape)]], [1])
    row = true_row(read.operands[0]) or shape[-1]
    run = gcd(row, shape[-1], begin)
    if features_of(lds.arch).unaligned_loads:
        run = widest_part(row, shape[-1], begin, source.element_type)
    layout = best_copy_layout(lds, part, vector.shape, launch.threads, run)
    if layout is None:
        raise Refusal(f"{launch.threads} threads cannot share {vector} evenly")
    return layout


def _is_true(attribute: ir.Attribute) -> bool:
    return ir.BoolAttr(attribute).value


def _stage(read: ir.Operation, layout: NestedLayout) -> list[ir.Operation]:
    """Copies what is read to the LDS, and lets all that uses it read it from there.

    Each use has a tile of its own. Where K and V are one tensor, both contractions use what is
    read, and lanes have other elements of it in each: from one tile they would read it by one
    operation, whose result has one layout.

    Returns:
        The reads from the LDS.
    """
    value, uses = read.results[0], list(read.results[0].uses)
    # The copies of an earlier iteration have been read by then.
    Builder.at_begin(read.block, read.location).barrier(WORKGROUP)
    at = Builder.after(read)
    copied = at.to_layout(value, layout)
    staged: list[ir.Operation] = []
    for use in uses:
        tile = at.alloc_tensor(ir.VectorType(value.type), WORKGROUP)
        again = at.transfer_read(at.value_barrier(at.transfer_write(copied, tile)), value.type)
        use.owner.operands[use.operand_number] = again
        definition = defining_operation(again)
        assert definition is not None
        staged.append(definition)
    return staged
