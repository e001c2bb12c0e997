# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where a memref comes from, what carries it on, and allocations made flat.

A memref value is an allocation, a view of another memref, or the meeting point of several: an
`arith.select`, the result of an `scf.if`, or the argument or result of an `scf.for`. Other
operations end a trace; `root_allocations` then says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd, prod

from iree.compiler import ir

from ...bank_model.layouts import MAX_USEFUL_ALIGNMENT
from ..dynamic_sizes import DYNAMIC
from ..element_types import element_bits
from ..index.index_bits import Congruence, IndexBits
from ..swizzle_hint import HINT_NAME, is_hint
from .carried_memory import FOR_BOUNDS, carried_values
from .lds_accesses import mixed_operands

_WORKGROUP = "#gpu.address_space<workgroup>"

REORDERING_FREE_VIEWS = frozenset(
    {
        "memref.assume_alignment",
        "memref.cast",
        "memref.collapse_shape",
        "memref.expand_shape",
        "memref.memory_space_cast",
    }
)
"""Views of all the elements of a row-major memref in their order."""

VIEWS = REORDERING_FREE_VIEWS | {
    HINT_NAME,
    "amdgpu.fat_raw_buffer_cast",
    "memref.reinterpret_cast",
    "memref.subview",
    "memref.transpose",
    "memref.view",
}
"""Operations whose result is the memory of their operand 0."""


@dataclass(frozen=True)
class Untraceable:
    """Why the allocations behind a value are not known, and the operation to blame."""

    reason: str
    location: ir.Location


def is_workgroup_memref(kind: ir.Type) -> bool:
    """Whether `kind` is a ranked memref in workgroup memory (LDS)."""
    return isinstance(kind, ir.MemRefType) and str(kind.memory_space) == _WORKGROUP


def lds_bytes(kind: ir.MemRefType) -> int | None:
    """Bytes that an allocation of row-major type `kind` takes, before alignment.

    Elements narrower than a byte are packed, except that an `i1` takes a byte: both as IREE stores
    them. None when the shape is dynamic or the width of an element is not known.
    """
    bits = _stored_bits(kind.element_type)
    if bits is None or not kind.has_static_shape:
        return None
    return -(-prod(kind.shape) * bits // 8)


def _stored_bits(element: ir.Type) -> int | None:
    if isinstance(element, ir.VectorType):
        inner = _stored_bits(element.element_type)
        return None if inner is None or element.scalable else inner * prod(element.shape)
    if isinstance(element, ir.ComplexType):
        inner = _stored_bits(element.element_type)
        return None if inner is None else 2 * inner
    bits = element_bits(element)
    return 8 if bits == 1 else bits


def allocations_in(function: ir.Operation) -> list[ir.Operation]:
    """Every `memref.alloc` in `function`, in any memory space, in the order of the text."""
    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name == "memref.alloc":
            found.append(operation.operation)
        return ir.WalkResult.ADVANCE

    function.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def defining_operation(value: ir.Value) -> ir.Operation | None:
    """The operation whose result `value` is; None for a block argument."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


# What carries memory on.


def sources_of(value: ir.Value) -> tuple[ir.Value, ...] | Untraceable:
    """The values whose memory `value` may be; none when it is a root itself.

    Roots are allocations, arguments of the function, and results of operations that take no
    memref.
    """
    operation = defining_operation(value)
    if operation is None:
        return _sources_of_argument(ir.BlockArgument(value))
    if operation.name in VIEWS:
        return (operation.operands[0],)
    if operation.name == "arith.select":
        return (operation.operands[1], operation.operands[2])
    number = ir.OpResult(value).result_number
    if operation.name == "scf.for":
        return _loop_sources(operation, number)
    if operation.name == "scf.if":
        return tuple(_yielded(region.blocks[0], number) for region in operation.regions)
    if any(_is_memref(operand) for operand in operation.operands) or len(operation.regions):
        return Untraceable(f"{operation.name} is not a known view", operation.location)
    return ()


def _sources_of_argument(argument: ir.BlockArgument) -> tuple[ir.Value, ...] | Untraceable:
    block = argument.owner
    parent = block.owner.operation
    if parent.name == "scf.for":
        return _loop_sources(parent, argument.arg_number - 1)
    entry = block == block.region.blocks[0]
    if entry and parent.name.endswith("func"):
        return ()
    what = f"argument of {parent.name}" if entry else "argument of a block with predecessors"
    return Untraceable(f"it is the {what}", parent.location)


def _loop_sources(loop: ir.Operation, number: int) -> tuple[ir.Value, ...]:
    return (loop.operands[FOR_BOUNDS + number], _yielded(loop.regions[0].blocks[0], number))


def _yielded(block: ir.Block, number: int) -> ir.Value:
    return block.operations[len(block.operations) - 1].operation.operands[number]


def _is_memref(value: ir.Value) -> bool:
    return isinstance(value.type, ir.MemRefType | ir.UnrankedMemRefType)


def root_allocations(value: ir.Value) -> tuple[ir.Value, ...] | Untraceable:
    """The values at which every trace from `value` ends, in the order they are met.

    These are results of `memref.alloc` and `memref.alloca`, and whatever else is not made from a
    memref: arguments of the function, globals, bindings.
    """
    roots: list[ir.Value] = []
    seen = {value}
    pending = [value]
    while pending:
        current = pending.pop()
        sources = sources_of(current)
        if isinstance(sources, Untraceable):
            return sources
        if not sources:
            roots.append(current)
        new = [source for source in dict.fromkeys(sources) if source not in seen]
        seen.update(new)
        pending += reversed(new)
    return tuple(roots)


@dataclass(frozen=True)
class Reach:
    """Everywhere that an allocation gets to.

    Attributes:
        meetings: the values in which it, or a view of it, may meet other memory.
        views: the operations of `VIEWS` on it.
        uses: all else that takes it, a view of it or a meeting, as (operation, operand number).
    """

    meetings: tuple[ir.Value, ...]
    views: tuple[ir.Operation, ...]
    uses: tuple[tuple[ir.Operation, int], ...]


def reach_of(allocation: ir.Value) -> Reach:
    """Follows `allocation` through views, choices and loops; deallocations are no uses."""
    meetings: dict[ir.Value, None] = {}
    views: list[ir.Operation] = []
    uses: list[tuple[ir.Operation, int]] = []
    pending, seen = [allocation], {allocation}
    while pending:
        value = pending.pop()
        for use in reversed(list(value.uses)):
            user, number = use.owner.operation, use.operand_number
            if user.name == "memref.dealloc":
                continue
            becomes = carried_values(user, number)
            meetings.update(dict.fromkeys(becomes))
            if user.name in VIEWS and number == 0:
                becomes = (user.results[0],)
                views.append(user)
            if not becomes:
                uses.append((user, number))
            new = [each for each in becomes if each not in seen]
            seen.update(new)
            pending += new
    return Reach(tuple(meetings), tuple(views), tuple(uses))


# Where in its allocation a value starts.


def start_offsets(value: ir.Value, bits: IndexBits) -> dict[ir.Value, Congruence] | Untraceable:
    """For each root of `value`, what is known of the element of the root that `value` starts at.

    A view adds to the offset of its source; where values meet, what holds for all of them remains:
    a loop that alternates between the elements 0 and 2048 carries 0 (mod 2048).
    """
    sources: dict[ir.Value, tuple[ir.Value, ...]] = {}
    pending = [value]
    while pending:
        current = pending.pop()
        if current in sources:
            continue
        found = sources_of(current)
        if isinstance(found, Untraceable):
            return found
        sources[current] = found
        pending += found
    starts: dict[ir.Value, dict[ir.Value, Congruence]] = {
        each: {} if found else {each: Congruence(0, 0)} for each, found in sources.items()
    }
    changed = True
    # A modulus only ever becomes one of its divisors, so this ends.
    while changed:
        changed = False
        for each, found in sources.items():
            shift = _view_shift(each, bits)
            for source in found:
                for root, start in starts[source].items():
                    known = starts[each].get(root)
                    moved = _sum(start, shift)
                    joined = moved if known is None else _join(known, moved)
                    if joined != known:
                        starts[each][root] = joined
                        changed = True
    return starts[value]


def _view_shift(value: ir.Value, bits: IndexBits) -> Congruence:
    """How far behind its source `value` starts, if it is a view; 0 otherwise."""
    view = defining_operation(value)
    if view is None or view.name not in VIEWS or view.name in REORDERING_FREE_VIEWS:
        return Congruence(0, 0)
    if view.name in (HINT_NAME, "memref.transpose"):
        return Congruence(0, 0)
    if view.name != "memref.subview":
        return _UNKNOWN
    try:
        strides, _ = ir.MemRefType(view.operands[0].type).get_strides_and_offset()
    except (RuntimeError, ValueError):
        return _UNKNOWN
    dynamic_stride = ir.ShapedType.get_dynamic_stride_or_offset()
    dynamic_offsets = iter(list(view.operands)[1:])
    total = Congruence(0, 0)
    static_offsets = ir.DenseI64ArrayAttr(view.attributes["static_offsets"])
    for number, stride in zip(static_offsets, strides, strict=True):
        dynamic = number == ir.ShapedType.get_dynamic_size()
        known = bits.of(next(dynamic_offsets)).congruence if dynamic else Congruence(0, number)
        if stride == dynamic_stride:
            total = _sum(total, Congruence(0, 0) if known == Congruence(0, 0) else _UNKNOWN)
        else:
            total = _sum(total, Congruence(known.modulus * abs(stride), known.residue * stride))
    return total


def length_of(value: ir.Value, bits: IndexBits) -> Congruence:
    """What is known of how many elements a memref has, also where its type does not say it.

    A `memref.cast` of 1024 elements to `memref<?xf16>` has 1024, a `memref.subview` of %rows * 64
    elements has 0 (mod 64).
    """
    kind = ir.MemRefType(value.type)
    if kind.has_static_shape:
        return Congruence(0, prod(kind.shape))
    operation = defining_operation(value)
    if operation is None:
        return _UNKNOWN
    if operation.name == "memref.subview":
        sizes = mixed_operands(operation, "static_sizes", 2)
    elif operation.name in ("memref.alloc", "memref.alloca"):
        dynamic = iter(operation.operands)
        sizes = [next(dynamic) if size == DYNAMIC else size for size in kind.shape]
    elif operation.name in REORDERING_FREE_VIEWS or operation.name == HINT_NAME:
        source = operation.operands[0]
        return length_of(source, bits) if isinstance(source.type, ir.MemRefType) else _UNKNOWN
    else:
        return _UNKNOWN
    known = [Congruence(0, s) if isinstance(s, int) else bits.of(s).congruence for s in sizes]
    # Of a product only what divides it is kept.
    exact = all(each.modulus == 0 for each in known)
    total = prod(gcd(each.modulus, each.residue) for each in known)
    return Congruence(0, total) if exact or total == 0 else Congruence(total, 0)


def begins_at_multiple_of(value: ir.Value, bits: IndexBits) -> int:
    """A number that divides the element of its root that `value` starts at, whichever root it is.

    0, which every number divides, where `value` starts with its roots; 1 where nothing is known.
    """
    starts = start_offsets(value, bits)
    if isinstance(starts, Untraceable):
        return 1
    return gcd(*(gcd(start.modulus, start.residue) for start in starts.values()))


_UNKNOWN = Congruence(1, 0)


def _reduced(modulus: int, residue: int) -> Congruence:
    return Congruence(modulus, residue % modulus if modulus else residue)


def _sum(a: Congruence, b: Congruence) -> Congruence:
    return _reduced(gcd(a.modulus, b.modulus), a.residue + b.residue)


def _join(a: Congruence, b: Congruence) -> Congruence:
    """What a value satisfies that satisfies `a` or `b`: 0 and 6 (mod 8) give 0 (mod 2)."""
    return _reduced(gcd(a.modulus, b.modulus, a.residue - b.residue), a.residue)


# Flat allocations.


def why_not_flat(kind: ir.MemRefType) -> str | None:
    """Why an allocation of type `kind` cannot become a flat one; None when it can."""
    if kind.rank == 0:
        return "it has rank 0"
    if not kind.has_static_shape:
        return "its shape is dynamic"
    if not is_row_major(kind):
        return f"its layout {kind.layout} is not the identity"
    return None


def is_row_major(kind: ir.MemRefType) -> bool:
    """Whether the layout is the identity; `strided<[64, 1]>` of 64x64 is spelled differently."""
    return kind.affine_map == ir.AffineMap.get_identity(kind.rank, kind.context)


def flatten_allocation(allocation: ir.Operation) -> ir.Operation:
    """Makes a static row-major `memref.alloc` one-dimensional, with the hints on it.

        %a = memref.alloc() : memref<64x32xf16>        %f = memref.alloc() : memref<2048xf16>
        %h = swizzle_hint %a[S]                  ->    %g = swizzle_hint %f[S]
        use %h                                         %h = expand_shape %g into 64x32
        use %a                                         %a = expand_shape %f into 64x32

    Hints of hints follow; every user keeps the type it had. A `memref.dealloc` frees the new
    allocation. All attributes are kept. The caller has asked `why_not_flat`.

    Returns:
        the new allocation; `allocation` is erased.
    """
    old = allocation.results[0]
    kind = ir.MemRefType(old.type)
    flat_kind = _flat_type(kind, allocation.location)
    flat = _like(allocation, [], flat_kind)
    obsolete = [allocation]
    pending = [(old, flat)]
    while pending:
        value, replacement = pending.pop()
        rest = []
        for use in list(value.uses):
            user = use.owner.operation
            if is_hint(user):
                pending.append((user.results[0], _like(user, [replacement.results[0]], flat_kind)))
                obsolete.append(user)
            elif user.name == "memref.dealloc":
                user.operands[0] = flat.results[0]
            elif user.name == "memref.collapse_shape" and user.results[0].type == flat_kind:
                user.results[0].replace_all_uses_with(replacement.results[0])
                obsolete.append(user)
            else:
                rest.append((user, use.operand_number))
        if rest:
            expanded = _expand(replacement, kind)
            for user, number in rest:
                user.operands[number] = expanded
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
        if view.name != "memref.assume_alignment":
            continue
        source = view.operands[0]
        definition = defining_operation(source)
        if definition is not None and definition.name == "memref.alloc":
            assumed = ir.IntegerAttr(view.attributes["alignment"]).value
            align_allocation(definition, min(assumed, MAX_USEFUL_ALIGNMENT))
        view.results[0].replace_all_uses_with(source)
        view.erase()


def align_allocation(allocation: ir.Operation, alignment: int) -> None:
    """Lets an allocation start at a multiple of so many bytes, if it does not yet."""
    before = 1
    if "alignment" in allocation.attributes:
        before = ir.IntegerAttr(allocation.attributes["alignment"]).value
    if alignment > before:
        kind = ir.IntegerType.get_signless(64, allocation.context)
        allocation.attributes["alignment"] = ir.IntegerAttr.get(kind, alignment)


def carry_flat(allocations: Sequence[ir.Value], meetings: Sequence[ir.Value]) -> None:
    """Lets loops and choices carry n-D allocations of one type as flat memrefs.

        scf.for ... iter_args(%x = %a)                   %f = collapse_shape %a
          use %x                                  ->     scf.for ... iter_args(%y = %f)
                                                           %x = expand_shape %y
                                                           use %x

    A hint that makes an allocation flat then reaches the accesses behind a meeting without a view
    in between. `meetings` are all values in which the `allocations` meet, and nothing else does.
    """
    kind = ir.MemRefType(allocations[0].type)
    if kind.rank == 1 or not meetings:
        return
    flat_kind = _flat_type(kind, allocations[0].location)
    for value in (*allocations, *meetings):
        carrying: list[tuple[ir.Operation, int]] = []
        rest: list[tuple[ir.Operation, int]] = []
        for use in value.uses:
            user, number = use.owner.operation, use.operand_number
            (carrying if carried_values(user, number) else rest).append((user, number))
        definition = defining_operation(value)
        if value in allocations:
            assert definition is not None
            if carrying:
                collapsed = _reshape("memref.collapse_shape", value, flat_kind, kind.rank)
                for user, number in carrying:
                    user.operands[number] = collapsed
            continue
        value.set_type(flat_kind)
        if rest:
            expanded = _reshape("memref.expand_shape", value, kind, kind.rank)
            for user, number in rest:
                user.operands[number] = expanded


def _flat_type(kind: ir.MemRefType, location: ir.Location) -> ir.MemRefType:
    return ir.MemRefType.get(
        [prod(kind.shape)], kind.element_type, memory_space=kind.memory_space, loc=location
    )


def _like(operation: ir.Operation, operands: list[ir.Value], result: ir.MemRefType) -> ir.Operation:
    """A copy of `operation` before it, on other operands and of another type."""
    attributes = {name: operation.attributes[name] for name in operation.attributes}
    return ir.Operation.create(
        operation.name,
        results=[result],
        operands=operands,
        attributes=attributes,
        loc=operation.location,
        ip=ir.InsertionPoint(operation),
    )


def _expand(flat: ir.Operation, kind: ir.MemRefType) -> ir.Value:
    """`flat`'s result as memref `kind`, right behind it."""
    return _reshape("memref.expand_shape", flat.results[0], kind, kind.rank)


def _reshape(name: str, value: ir.Value, kind: ir.MemRefType, rank: int) -> ir.Value:
    """`value` right behind its definition, expanded from one dimension to `rank` or collapsed."""
    index = ir.IntegerType.get_signless(64, kind.context)
    dims = [ir.IntegerAttr.get(index, d) for d in range(rank)]
    attributes: dict[str, ir.Attribute] = {
        "reassociation": ir.ArrayAttr.get([ir.ArrayAttr.get(dims, kind.context)], kind.context)
    }
    if name == "memref.expand_shape":
        shape = ir.DenseI64ArrayAttr.get(list(kind.shape), kind.context)
        attributes["static_output_shape"] = shape
    owner = value.owner
    if isinstance(owner, ir.Block):
        point = ir.InsertionPoint.at_block_begin(owner)
    else:
        point = ir.InsertionPoint.after(owner.operation)
    return ir.Operation.create(
        name, results=[kind], operands=[value], attributes=attributes, loc=value.location, ip=point
    ).results[0]
