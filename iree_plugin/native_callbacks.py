# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the stock pipelines give their passes as C++ callbacks, which no textual pipeline can carry.

Both replayed pipelines bufferize with two callbacks (`addGPUBufferizePasses` in IREE's
LLVMGPU/Passes.cpp):

* Its allocations (`gpuRequireMemSpaceAllocationFn`): memory in the private address space, or in
  none, becomes a private `memref.alloca`; any other a `memref.alloc` in workgroup memory. By its
  text the pass makes a `memref.alloc` of them all, in the address space that was inferred.
* Its copies: a buffer is copied by a `memref.copy`. By its text the pass makes a `linalg.generic`
  that yields its input, which later passes lower to the same loads and stores in another order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from types import MappingProxyType

from iree.compiler import ir

from ..dialect_utils.builders import Builder
from ..dialect_utils.diagnostics import PassFailure
from ..dialect_utils.handed_attributes import OF_THE_PROGRAM
from ..dialect_utils.indexing_maps import GENERIC, copied_loops
from ..dialect_utils.memory.lds_ops import ALLOC, view_row
from ..dialect_utils.operations import operations_in

_PRIVATE = "#gpu.address_space<private>"
_WORKGROUP = "#gpu.address_space<workgroup>"


@contextmanager
def bufferizing_as_stock(function: ir.Operation) -> Iterator[None]:
    """Makes of what the body's bufferization has made in `function` what stock's would have made.

    Raises:
        PassFailure: see `allocate_as_stock`.
    """
    for generic in operations_in(function, GENERIC):
        generic.attributes[OF_THE_PROGRAM] = ir.UnitAttr.get(function.context)
    yield
    copy_as_stock(function)
    allocate_as_stock(function)


def copy_as_stock(function: ir.Operation) -> None:
    """Makes a `memref.copy` of every copy that bufferization has inserted as a `linalg.generic`.

    Bufferization keeps the attributes of the program's own `linalg.generic`s, so that these, marked
    before it, are told apart: stock leaves a copy that the program makes as it is.
    """
    for generic in operations_in(function, GENERIC):
        if OF_THE_PROGRAM in generic.attributes:
            del generic.attributes[OF_THE_PROGRAM]
        elif _is_copy(generic):
            source, target = generic.operands
            Builder.before(generic).copy(source, target)
            generic.erase()


def _is_copy(generic: ir.Operation) -> bool:
    """Returns whether the op copies one memref to another, every element to its own place."""
    loops = copied_loops(generic)
    if loops is None or not all(isinstance(o.type, ir.MemRefType) for o in generic.operands):
        return False
    read, written = loops
    return read == written == tuple(range(len(read)))


def allocate_as_stock(function: ir.Operation) -> None:
    """Gives every `memref.alloc` the op and the address space that stock's callback chooses.

    Raises:
        PassFailure: a buffer whose address space would have to change where it leaves the function
            or a loop; nothing stock emits does.
    """
    for allocation in operations_in(function, ALLOC):
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
        row = view_row(user)
        if row is not None and row.keeps_space:
            for view in passes_on:
                _move(view, space)
        elif passes_on or user.name.endswith((".yield", ".return", ".call")):
            raise PassFailure(
                user.location,
                f"'{user.name}' passes on a buffer whose address space stock would change, which "
                "cannot be replayed; compile this kernel with iree-compile",
            )


def _replace_by_alloca(allocation: ir.Operation) -> None:
    at = Builder.before(allocation)
    between, on_stack = (
        at.like(allocation, allocation.operands, name="memref.alloca") for _ in range(2)
    )
    # Later passes visit uses in their order, the newest first: it must be that of the allocation.
    # To replace all uses turns the order round, and the second time back again.
    allocation.results[0].replace_all_uses_with(between.results[0])
    between.results[0].replace_all_uses_with(on_stack.results[0])
    between.erase()
    allocation.erase()


AROUND_NATIVE_PASS: Mapping[str, Callable[[ir.Operation], AbstractContextManager[None]]] = (
    MappingProxyType({"iree-codegen-iree-comprehensive-bufferize": bufferizing_as_stock})
)
"""What to do to a function before and after a native pass, by the pass's name."""
