# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether the swizzle hints of a group of buffers can be resolved, and what they amount to.

`%h = iree_codegen.swizzle_hint %m[S]` says that element o of `%h` lies at element S(o) of `%m`,
whatever `%m` is: an allocation, or a view of a part of one. So each access resolves by its own
hints, and a hint on a *frame*, N elements from element k * N on, permutes that frame in itself:

    frames of 512, S = xor_shuffle<128, 8>:   element 512 + o of the allocation lies at 512 + S(o)

although S, which repeats after 2048 elements only, sends 512 + o elsewhere when it counts from the
allocation's start. What accesses the same memory by another layout is left as it is: the op's
documentation allows that where no value goes from one layout to the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, lcm

from iree.compiler import ir

from ...bank_model.swizzle_legality import (
    contiguous_run,
    may_be_whole_runs,
    placement,
    why_no_permutation,
    why_not_rewritten,
)
from ...bank_model.swizzles import chain_period
from ..diagnostics import Refusal
from ..element_types import element_bits
from ..index.index_bits import IndexBits
from ..operations import defining_operation
from ..swizzle_hint import Chain
from .access_offsets import KnownOffsets
from .buffer_starts import begins_at_multiple_of, length_of
from .hinted_buffers import BufferAccess, BufferGroup
from .lds_ops import is_view_in_order
from .memref_types import strides_and_offset, type_of


def why_not_resolvable(group: BufferGroup, known: KnownOffsets) -> str | None:
    """Why some access of a group whose chains are known cannot be rewritten; None when all can.

    Where gathers have written permuted data there is no plain layout to fall back to. There a hint
    means what it says also where the buffer is not known to be whole rows, and a vector that may
    begin anywhere is accessed element by element.
    """
    must = group.is_permuted_by_gathers
    for access in group.accesses:
        chain = group.chain(access.buffer)
        if access.is_gather or not chain:
            continue
        reason = _layout_problem(access.buffer.type) or _shape_problem(
            access, contiguous_run(chain)
        )
        if reason is None and not must:
            reason = _why_no_permutation(group, access, chain, known.bits)
        if reason is None:
            reason = _why_not_placed(access, contiguous_run(chain), known, must)
        if reason is not None:
            return reason
    return None


def why_several_layouts(group: BufferGroup, bits: IndexBits) -> str | None:
    """Why accesses of a group without a problem do not all go by one layout; None when they do.

    They do where all go through the same swizzles, which are on the whole allocation, on parts that
    start where the swizzles begin anew, or on frames of one size.
    """
    if len(group.chains) > 1:
        first, second = (" of ".join(map(str, reversed(chain))) for chain in group.chains[:2])
        return f"accesses go through different swizzles: {first} and {second}"
    plain = [access for access in group.accesses if not group.chain(access.buffer)]
    if group.chains and plain:
        return f"{plain[0].operation.name} uses the allocation beside its swizzle hint"
    if not group.chains or _begin_anew(group, bits) or _are_frames(group, bits):
        return None
    return (
        "a swizzle hint is on a part of an allocation that may start elsewhere than at a multiple "
        f"of the {chain_period(group.chains[0])} elements in which the swizzle repeats, and not "
        "all parts are frames of one size"
    )


def read_of_another_layout(group: BufferGroup) -> tuple[BufferAccess, Chain] | None:
    """A load through swizzles through which nothing is written, and these; None without any.

    Nothing is said where operations that are not understood may write. A program that reuses memory
    for unrelated data writes each layout before it reads it.
    """
    if group.problem is not None:
        return None
    written = {group.chain(a.buffer) for a in group.accesses if a.writes}
    for access in group.accesses:
        chain = group.chain(access.buffer)
        if written and not access.writes and chain not in written:
            return access, chain
    return None


def _hinted_parts(group: BufferGroup) -> list[ir.Value]:
    """The buffers that innermost hints are on, but for those that only gathers go through."""
    parts: dict[ir.Value, None] = {}
    for hint in group.hints:
        uses = list(hint.results[0].uses)
        gathered = bool(uses) and all(
            any(a.is_gather and a.operation == use.owner.operation for a in group.accesses)
            for use in uses
        )
        if not group.chain(hint.operands[0]) and not gathered:
            parts[hint.operands[0]] = None
    return list(parts)


def _begin_anew(group: BufferGroup, bits: IndexBits) -> bool:
    """Whether every hint is where the swizzles of the group, counted from the root, begin anew."""
    period = chain_period(group.chains[0])
    return all(begins_at_multiple_of(part, bits) % period == 0 for part in _hinted_parts(group))


def _are_frames(group: BufferGroup, bits: IndexBits) -> bool:
    """Returns whether every hint is on a part of N elements that starts at a multiple of N."""
    parts = _hinted_parts(group)
    sizes = {length_of(part, bits) for part in parts}
    if len(sizes) != 1:
        return False
    (size,) = sizes
    return (
        size.modulus == 0
        and size.residue > 0
        and all(begins_at_multiple_of(part, bits) % size.residue == 0 for part in parts)
    )


def _why_no_permutation(
    group: BufferGroup, access: BufferAccess, chain: Chain, bits: IndexBits
) -> str | None:
    """Returns why the swizzles may bring an element of the buffer of `access` out of it."""
    length = length_of(access.buffer, bits)
    reason = why_no_permutation(chain, gcd(length.modulus, length.residue))
    if reason is None or _fill_their_roots(group, chain, bits) or _may_ask(group, bits):
        return why_no_permutation(chain, None)
    if length.modulus == 0:
        return reason
    rows = max(swizzle.row_width for swizzle in chain)
    return f"dynamic size: it is not known that rows of {rows} elements fill the buffer"


@dataclass(frozen=True)
class AskedLength:
    """A condition to be asked at run time: `buffer` has a multiple of `row` elements."""

    buffer: ir.Value
    row: int


def asked_length(group: BufferGroup, access: BufferAccess, bits: IndexBits) -> AskedLength | None:
    """Returns what an access of a resolvable group must ask before it goes by its swizzles.

    Where the length is not known, rows may not fill the buffer, and the swizzle of an element in
    the last row could lie behind its end. All accesses then ask the length of the same buffer, so
    that they all go by their swizzles or all by the plain layout: both permute the buffer. That is
    an argument or an allocation; a part of one may have another length whenever it is made.

    Returns:
        None where nothing need be asked, or nothing can, as of data that gathers have permuted.
    """
    chain = group.chain(access.buffer)
    length = length_of(access.buffer, bits)
    known = gcd(length.modulus, length.residue)
    if group.is_permuted_by_gathers or why_no_permutation(chain, known) is None:
        return None
    if _fill_their_roots(group, chain, bits):
        return None
    (buffer,) = _asked_buffers(group)
    return AskedLength(buffer, lcm(*(swizzle.row_width for swizzle in chain)))


def _may_ask(group: BufferGroup, bits: IndexBits) -> bool:
    """Returns whether all hints are on one argument or allocation, whose length is not known."""
    buffers = _asked_buffers(group)
    if len(buffers) != 1 or buffers[0] not in group.roots:
        return False
    return length_of(buffers[0], bits).modulus != 0


def _asked_buffers(group: BufferGroup) -> list[ir.Value]:
    """What the hints are on, before views that leave its elements and their number as they are."""
    return list(dict.fromkeys(map(_before_views, _hinted_parts(group))))


def _before_views(buffer: ir.Value) -> ir.Value:
    operation = defining_operation(buffer)
    if operation is None or not is_view_in_order(operation):
        return buffer
    source = operation.operands[0]
    is_flat = isinstance(source.type, ir.MemRefType) and source.type.rank == 1
    return _before_views(source) if is_flat else buffer


def _fill_their_roots(group: BufferGroup, chain: Chain, bits: IndexBits) -> bool:
    """Returns whether the swizzles permute the whole allocation, however long the parts are.

    All accesses must go by that one layout: a part that ends inside a row shares the row with what
    lies behind it.
    """
    if group.chains != (chain,) or why_several_layouts(group, bits) or not _begin_anew(group, bits):
        return False
    lengths = [length_of(root, bits) for root in group.roots]
    return all(why_no_permutation(chain, gcd(n.modulus, n.residue)) is None for n in lengths)


def _why_not_placed(access: BufferAccess, run: int, known: KnownOffsets, must: bool) -> str | None:
    """Returns why an access cannot be rewritten, whole, in runs, or element by element."""
    footprint = known.footprint(access, run)
    reason = why_not_rewritten(run, footprint)
    divisible = not footprint.whole and placement(run, footprint) is None
    if reason is None or not divisible or not (must or may_be_whole_runs(run, footprint)):
        return reason
    bits = element_bits(type_of(access.buffer).element_type)
    if bits is None or bits % 8:
        return f"{reason}, and its elements are no whole bytes, to be accessed one by one"
    return None


def _layout_problem(kind: ir.Type) -> str | None:
    """Returns why a buffer type is not flat and contiguous."""
    if not isinstance(kind, ir.MemRefType):
        return f"{kind} is not a ranked memref"
    if kind.rank != 1:
        return f"memref of rank {kind.rank} is not flat"
    strides, _ = strides_and_offset(kind)
    if strides is None:
        return f"layout {kind.layout} is not strided"
    return None if strides == (1,) else f"layout {kind.layout} is not contiguous"


def _shape_problem(access: BufferAccess, run: int) -> str | None:
    """Returns why what one access moves cannot be rewritten, whatever its offset."""
    try:
        vector = access.footprint.vector
    except Refusal as refusal:
        return f"{access.operation.name}: {refusal}"
    if vector is None:
        return None
    name = access.operation.name
    if vector.rank != 1:
        return f"{name} of {vector}, a vector of rank {vector.rank}"
    element = type_of(access.buffer).element_type
    if isinstance(element, ir.VectorType):
        return f"{name} from a memref of vectors"
    if vector.shape[0] > run and not isinstance(
        element, ir.IntegerType | ir.FloatType | ir.IndexType
    ):
        return f"{name} of {vector} would have to be split"
    return None
