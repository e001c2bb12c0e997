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
from ..dialect_utils.diagnostics import PassFailure, Refusal
from ..dialect_utils.grid import is_run_by_each_lane
from ..dialect_utils.handed_attributes import OF_EACH_LANE, OF_THE_PROGRAM
from ..dialect_utils.indexing_maps import GENERIC, copied_loops
from ..dialect_utils.memory.address_spaces import PRIVATE, WORKGROUP, move, names_of
from ..dialect_utils.memory.lds_ops import ALLOC
from ..dialect_utils.operations import operations_in


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
        PassFailure: a buffer whose address space would have to change where it leaves the function,
            or where a loop or a choice joins it with one whose address space stays; nothing stock
            emits does.
    """
    wanted = {each.results[0]: _wanted(each) for each in operations_in(function, ALLOC)}
    moved: set[ir.Value] = set()
    for buffer, space in wanted.items():
        if buffer not in moved and str(ir.MemRefType(buffer.type).memory_space) != space:
            moved.update(_moved(buffer, space, wanted))
    for buffer, space in wanted.items():
        if space == PRIVATE:
            _replace_by_alloca(buffer.owner.operation)
        elif buffer in moved and is_run_by_each_lane(buffer.owner.operation):
            buffer.owner.operation.attributes[OF_EACH_LANE] = ir.UnitAttr.get(function.context)


def _wanted(allocation: ir.Operation) -> str:
    """Returns the address space that stock's callback chooses for an allocation."""
    space = ir.MemRefType(allocation.results[0].type).memory_space
    return PRIVATE if space is None or str(space) == PRIVATE else WORKGROUP


def _moved(buffer: ir.Value, space: str, wanted: Mapping[ir.Value, str]) -> list[ir.Value]:
    """Retypes a buffer and all that is the same memory, and returns it."""
    try:
        names = names_of(buffer, lambda root: wanted.get(root) == space)
    except Refusal as refusal:
        raise PassFailure(
            buffer.owner.location,
            f"{refusal.reason}, and stock would change its address space, which cannot be "
            "replayed; compile this kernel with iree-compile",
        ) from None
    move(names, space)
    return names


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
