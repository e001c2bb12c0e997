# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Buffers that move to another address space, with all that is the same memory.

A buffer is named by many values, whose types all have its address space:

    %c = memref.alloc() : memref<8xf32, #a>
    %r = scf.for ... iter_args(%b = %c) -> (memref<8xf32, #a>) {
      %v = memref.subview %b[...] : memref<8xf32, #a> to memref<2xf32, strided<[1], offset: ?>, #a>
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from iree.compiler import ir

from ..diagnostics import Refusal
from .flow import connected_to
from .lds_ops import view_row
from .memref_types import is_memref

PRIVATE = "#gpu.address_space<private>"
WORKGROUP = "#gpu.address_space<workgroup>"

_LEAVING = (".yield", ".return", ".call")


def names_of(buffer: ir.Value, moves: Callable[[ir.Value], bool]) -> list[ir.Value]:
    """Returns all values that name the memory of a buffer, which can change their type together.

    Args:
        moves: whether a root of the memory moves as the buffer does.

    Raises:
        Refusal: an operation passes the memory on in a form that is not known, or one that chooses
            the address space itself; or a loop or a choice joins it with memory that does not move.
    """
    found = connected_to(buffer)
    for use in (*found.edges, *found.sinks):
        row = view_row(use.user)
        is_unknown = use.is_sink and (
            any(map(is_memref, use.user.results)) or use.user.name.endswith(_LEAVING)
        )
        if is_unknown or (row is not None and not row.keeps_space):
            raise Refusal(f"'{use.user.name}' passes on a buffer")
    for hidden in found.hidden:
        raise hidden
    for root in found.roots:
        if not moves(root):
            raise Refusal("a loop or a choice joins a buffer with one that stays where it is")
    return list(found.values)


def move(names: Iterable[ir.Value], space: str) -> None:
    """Gives values another address space."""
    for name in names:
        old = ir.MemRefType(name.type)
        with old.context, ir.Location.unknown():
            attribute = ir.Attribute.parse(space)
            name.set_type(ir.MemRefType.get(old.shape, old.element_type, old.layout, attribute))
