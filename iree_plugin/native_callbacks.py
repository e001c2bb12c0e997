# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the stock pipelines give their passes as C++ callbacks, which no textual pipeline can carry.

Both replayed pipelines bufferize with an allocation callback (`gpuRequireMemSpaceAllocationFn` in
IREE's LLVMGPU/Passes.cpp): memory in the private address space comes from `memref.alloca`, and only
workgroup memory from `memref.alloc`. By its text the pass allocates both with `memref.alloc`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from iree.compiler import ir

from ..dialect_utils.diagnostics import PassFailure

_PRIVATE = "#gpu.address_space<private>"
_WORKGROUP = "#gpu.address_space<workgroup>"


def put_private_memory_on_the_stack(function: ir.Operation) -> None:
    """Turns every `memref.alloc` in private memory into a `memref.alloca`.

    Raises:
        PassFailure: an allocation without a memory space, for which stock would pick one.
    """
    allocations: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.operation.name == "memref.alloc":
            allocations.append(op.operation)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    for allocation in allocations:
        space = str(ir.MemRefType(allocation.results[0].type).memory_space)
        if space == _WORKGROUP:
            continue
        if space != _PRIVATE:
            raise PassFailure(
                allocation.location,
                "bufferization allocates memory without a GPU address space, which cannot be "
                "replayed; compile this kernel with iree-compile",
            )
        attributes = {name: allocation.attributes[name] for name in allocation.attributes.keys()}  # noqa: SIM118
        with allocation.context, allocation.location:
            on_stack = ir.Operation.create(
                "memref.alloca",
                results=[allocation.results[0].type],
                operands=list(allocation.operands),
                attributes=attributes,
                ip=ir.InsertionPoint(allocation),
            )
        allocation.results[0].replace_all_uses_with(on_stack.results[0])
        allocation.erase()


AFTER_NATIVE_PASS: Mapping[str, Callable[[ir.Operation], None]] = MappingProxyType(
    {"iree-codegen-iree-comprehensive-bufferize": put_private_memory_on_the_stack}
)
"""What to do to a function after a native pass, by the pass's name."""
