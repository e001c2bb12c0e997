# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Making allocations one-dimensional, and more aligned, while their users keep what they had."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir

from ...bank_model.layouts import MAX_USEFUL_ALIGNMENT
from ..builders import Builder
from ..operations import defining_operation, operands_with, redirect
from ..swizzle_hint import is_hint
from .flow import joins_of_use
from .lds_ops import ALLOC, ASSUME_ALIGNMENT, COLLAPSE_SHAPE, DEALLOC
from .memref_types import flat_type, type_of


def flatten_allocation(allocation: ir.Operation) -> ir.Operation:
    """Makes a static row-major `memref.alloc` one-dimensional, with the hints on it.

        %a = memref.alloc() : memref<64x32xf16>        %f = memref.alloc() : memref<2048xf16>
        %h = swizzle_hint %a[S]                  ->    %g = swizzle_hint %f[S]
        use %h                                         %h = expand_shape %g into 64x32
        use %a                                         %a = expand_shape %f into 64x32

    Hints of hints follow; every user keeps the type it had. A `memref.dealloc` frees the new
    allocation. All attributes are kept. The caller has asked `check_flat`.

    Returns:
        the new allocation; `allocation` is erased.
    """
    old = allocation.results[0]
    kind = type_of(old)
    flat_kind = flat_type(kind)
    flat = Builder.before(allocation).like(allocation, [], [flat_kind])
    obsolete = [allocation]
    pending = [(old, flat)]
    while pending:
        value, replacement = pending.pop()
        rest = []
        for use in list(value.uses):
            user = use.owner.operation
            if is_hint(user):
                hint = Builder.before(user).like(user, [replacement.results[0]], [flat_kind])
                pending.append((user.results[0], hint))
                obsolete.append(user)
            elif user.name == DEALLOC:
                user.operands[0] = flat.results[0]
            elif user.name == COLLAPSE_SHAPE and user.results[0].type == flat_kind:
                user.results[0].replace_all_uses_with(replacement.results[0])
                obsolete.append(user)
            else:
                rest.append((user, use.operand_number))
        if rest:
            redirect(rest, expand_shape(replacement.results[0], kind))
    # Each hint was met after the one that it is on.
    for operation in reversed(obsolete):
        operation.erase()
    return flat


def assume_no_alignment(views: Sequence[ir.Operation]) -> None:
    """Takes the `memref.assume_alignment`s out of the views of an allocation.

    The compiler folds the views behind an allocation into the accesses, but not these. What is
    assumed of the allocation itself becomes its own alignment, as far as an access can use it.

        %a = memref.alloc() : ...                        %a = memref.alloc() {alignment = 16} : ...
        %m = memref.assume_alignment %a, 16      ->
        use %m                                           use %a
    """
    for view in views:
        if view.name != ASSUME_ALIGNMENT:
            continue
        source = view.operands[0]
        definition = defining_operation(source)
        if definition is not None and definition.name == ALLOC:
            assumed = ir.IntegerAttr(view.attributes["alignment"]).value
            align_allocation(definition, min(assumed, MAX_USEFUL_ALIGNMENT))
        view.results[0].replace_all_uses_with(source)
        view.erase()


def alignment_of(allocation: ir.Operation) -> int:
    """Returns the bytes of which the allocation's address is a multiple; 1 by default."""
    if "alignment" not in allocation.attributes:
        return 1
    return ir.IntegerAttr(allocation.attributes["alignment"]).value


def align_allocation(allocation: ir.Operation, alignment: int) -> None:
    """Lets an allocation start at a multiple of so many bytes, if it does not yet."""
    if alignment > alignment_of(allocation):
        kind = ir.IntegerType.get_signless(64, allocation.context)
        allocation.attributes["alignment"] = ir.IntegerAttr.get(kind, alignment)


def carry_flat(allocations: Sequence[ir.Value], joins: Sequence[ir.Value]) -> None:
    """Lets loops and choices carry n-D allocations of one type as flat memrefs.

        scf.for ... iter_args(%x = %a)                   %f = collapse_shape %a
          use %x                                  ->     scf.for ... iter_args(%y = %f)
                                                           %x = expand_shape %y
                                                           use %x

    A hint that makes an allocation flat then reaches the accesses behind a join without a view
    in between. `joins` are all values in which the `allocations` meet, and nothing else does.
    """
    kind = type_of(allocations[0])
    if kind.rank == 1 or not joins:
        return
    for value in (*allocations, *joins):
        uses = operands_with(value)
        carrying = [use for use in uses if joins_of_use(*use)]
        if value in allocations:
            if carrying:
                redirect(carrying, collapse_shape(value, flat_type(kind)))
            continue
        value.set_type(flat_type(kind))
        rest = [use for use in uses if use not in carrying]
        if rest:
            redirect(rest, expand_shape(value, kind))


def expand_shape(flat: ir.Value, kind: ir.MemRefType) -> ir.Value:
    """Returns a one-dimensional memref as memref `kind`, right behind it."""
    return Builder.behind(flat).expand_shape(flat, kind, [range(kind.rank)])


def collapse_shape(value: ir.Value, kind: ir.MemRefType) -> ir.Value:
    """Returns a memref as the one-dimensional memref `kind`, right behind it."""
    return Builder.behind(value).collapse_shape(value, kind, [range(type_of(value).rank)])
