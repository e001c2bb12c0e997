# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the stock pipelines give their passes as C++ callbacks, which no textual pipeline can carry.

Both replayed pipelines bufferize with an allocation callback (`gpuRequireMemSpaceAllocationFn` in
IREE's LLVMGPU/Passes.cpp). Memory in the private address space, or in none, becomes a private
`memref.alloca`; any other a `memref.alloc` in workgroup memory. By its text the pass makes a
`memref.alloc` of them all, in the address space that was inferred.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from iree.compiler import ir

from ..dialect_utils.diagnostics import PassFailure

_PRIVATE = "#gpu.address_space<private>"
_WORKGROUP = "#gpu.address_space<workgroup>"
_VIEWS = frozenset(
    {
        "memref.cast",
        "memref.collapse_shape",
        "memref.expand_shape",
        "memref.reinterpret_cast",
        "memref.subview",
        "memref.assume_alignment",
        "iree_codegen.swizzle_hint",
    }
)


def allocate_as_stock(function: ir.Operation) -> None:
    """Gives every `memref.alloc` the op and the address space that stock's callback chooses.

    Raises:
        PassFailure: a buffer whose address space would have to change where it leaves the function
            or a loop; nothing stock emits does.
    """
    allocations: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.operation.name == "memref.alloc":
            allocations.append(op.operation)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    for allocation in allocations:
        space = ir.MemRefType(allocation.results[0].type).memory_space
        stays_private = space is None or str(space) == _PRIVATE
        wanted = _PRIVATE if stays_private else _WORKGROUP
        if str(space) != wanted:
            with allocation.context:
                _move(allocation.results[0], ir.Attribute.parse(wanted))
        if stays_private:
            _replace_by_alloca(allocation)


def _move(buffer: ir.Value, space: ir.Attribute) -> None:
    """Retypes a buffer and all its views to another address space."""
    old = ir.MemRefType(buffer.type)
    with buffer.context, buffer.owner.location:
        buffer.set_type(ir.MemRefType.get(old.shape, old.element_type, old.layout, space))
    for use in buffer.uses:
        user = use.owner.operation
        passes_on = [r for r in user.results if isinstance(r.type, ir.MemRefType)]
        if user.name in _VIEWS:
            for view in passes_on:
                _move(view, space)
        elif passes_on or user.name.endswith((".yield", ".return", ".call")):
            raise PassFailure(
                user.location,
                f"'{user.name}' passes on a buffer whose address space stock would change, which "
                "cannot be replayed; compile this kernel with iree-compile",
            )


def _replace_by_alloca(allocation: ir.Operation) -> None:
    attributes = allocation.attributes
    with allocation.context, allocation.location:
        on_stack = ir.Operation.create(
            "memref.alloca",
            results=[allocation.results[0].type],
            operands=list(allocation.operands),
            attributes={name: attributes[name] for name in attributes},
            ip=ir.InsertionPoint(allocation),
        )
    allocation.results[0].replace_all_uses_with(on_stack.results[0])
    allocation.erase()


AFTER_NATIVE_PASS: Mapping[str, Callable[[ir.Operation], None]] = MappingProxyType(
    {"iree-codegen-iree-comprehensive-bufferize": allocate_as_stock}
)
"""What to do to a function after a native pass, by the pass's name."""
