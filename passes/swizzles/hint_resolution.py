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

from math import lcm, prod

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...bank_model.swizzle_legality import (
    AccessFootprint,
    contiguous_run,
    may_be_whole_runs,
    placement,
    why_no_permutation,
    why_not_rewritten,
)
from ...bank_model.swizzles import chain_period
from ...dialect_utils.diagnostics import Refusal, refuse_for
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.memory.buffer_starts import begins_at_multiple_of, length_of
from ...dialect_utils.memory.lds_ops import is_view_in_order
from ...dialect_utils.memory.memref_types import strides_and_offset, type_of
from ...dialect_utils.operations import defining_operation
from ...dialect_utils.swizzle_hint import Chain
from .access_offsets import KnownOffsets
from .hinted_buffers import BufferAccess, BufferGroup


class PlacedAccess(NamedTuple):
    """An access that can be rewritten.

    Attributes:
        chain: the swizzles that it goes through, which move runs of `run` elements.
        footprint: how it lies relative to these.
    """

    access: BufferAccess
    chain: Chain
    run: int
    footprint: AccessFootprint


def resolvable_accesses(group: BufferGroup, known: KnownOffsets) -> list[PlacedAccess]:
    """Returns the accesses through hints of a group whose chains are known.

    Where gathers have written permuted data there is no plain layout to fall back to. There a hint
    means what it says also where the buffer is not known to be whole rows, and a vector that may
    begin anywhere is accessed element by element.

    Raises:
        Refusal: one of them cannot.
    """
    must = group.is_permuted_by_gathers
    found: list[PlacedAccess] = []
    runs: dict[ir.Value, int] = {}
    for access in group.accesses:
        buffer = access.buffer
        chain = group.chain(buffer)
        if access.is_gather or not chain:
            continue
        is_new = buffer not in runs
        run = runs.setdefault(buffer, contiguous_run(chain))
        if is_new:
            _check_layout(buffer.type)
        count = _checked_count(access, run)
        if is_new and not must:
            _check_permutation(group, buffer, chain, known.bits)
        footprint = known.footprint(access, run, count)
        _check_placed(access, run, footprint, must)
        found.append(PlacedAccess(access, chain, run, footprint))
    return found


def check_one_layout(group: BufferGroup, bits: IndexBits) -> None:
    """Makes sure that all accesses of a group without a problem go by one layout.

    They do where all go through the same swizzles, which are on the whole allocation, on parts that
    start where the swizzles begin anew, or on frames of one size.

    Raises:
        Refusal: they may not.
    """
    if len(group.chains) > 1:
        first, second = (" of ".join(map(str, reversed(chain))) for chain in group.chains[:2])
        raise Refusal(f"accesses go through different swizzles: {first} and {second}")
    plain = _plain_accesses(group)
    if group.chains and plain:
        name = plain[0].operation.name
        raise Refusal(f"{name} uses the allocation beside its swizzle hint")
    if group.chains and not _begin_anew(group, bits) and not _are_frames(group, bits):
        raise Refusal(
            "a swizzle hint is on a part of an allocation that may start elsewhere than at a "
            f"multiple of the {chain_period(group.chains[0])} elements in which the swizzle "
            "repeats, and not all parts are frames of one size"
        )


def _plain_accesses(group: BufferGroup) -> list[BufferAccess]:
    return [access for access in group.accesses if not group.chain(access.buffer)]


def read_of_another_layout(group: BufferGroup) -> tuple[BufferAccess, Chain] | None:
    """Returns a load through swizzles through which nothing is written, with these swizzles.

    Returns None where there is no such load. Nothing is said where operations that are not
    understood may write. A program that reuses memory for unrelated data writes each layout before
    it reads it.
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
    """Returns the buffers that innermost hints are on.

    Those that only gathers go through are left out.
    """
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
    """Returns whether every hint is where the group's swizzles begin anew.

    They count from the root.
    """
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


def _check_permutation(group: BufferGroup, buffer: ir.Value, chain: Chain, bits: IndexBits) -> None:
    """Makes sure that the swizzles leave every element of a buffer in it."""
    length = length_of(buffer, bits)
    reason = why_no_permutation(chain, length.divisor)
    if reason is None or _fill_their_roots(group, chain, bits) or _may_ask(group, bits):
        reason = why_no_permutation(chain, None)
    elif length.modulus:
        rows = max(swizzle.row_width for swizzle in chain)
        reason = f"dynamic size: it is not known that rows of {rows} elements fill the buffer"
    refuse_for(reason)


class AskedLength(NamedTuple):
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
        None where nothing need be asked, or nothing can, as where gathers have permuted the data.
    """
    chain = group.chain(access.buffer)
    length = length_of(access.buffer, bits)
    if why_no_permutation(chain, length.divisor) is None or group.is_permuted_by_gathers:
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
    """Returns what the hints are on, before views that change no element and no length."""
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
    if group.chains != (chain,) or _plain_accesses(group) or not _begin_anew(group, bits):
        return False
    lengths = [length_of(root, bits) for root in group.roots]
    return all(why_no_permutation(chain, each.divisor) is None for each in lengths)


def _check_placed(access: BufferAccess, run: int, footprint: AccessFootprint, must: bool) -> None:
    """Makes sure that an access can be rewritten: whole, in runs, or element by element."""
    reason = why_not_rewritten(run, footprint)
    divisible = not footprint.whole and placement(run, footprint) is None
    if reason is None or not divisible or not (must or may_be_whole_runs(run, footprint)):
        refuse_for(reason)
        return
    bits = element_bits(type_of(access.buffer).element_type)
    if bits is None or bits % 8:
        raise Refusal(f"{reason}, and its elements are no whole bytes, to be accessed one by one")


def _check_layout(kind: ir.Type) -> None:
    """Makes sure that a buffer type is flat and contiguous."""
    if not isinstance(kind, ir.MemRefType):
        raise Refusal(f"{kind} is not a ranked memref")
    if kind.rank != 1:
        how = "; bankwise-flatten-swizzle-hints makes it so" if kind.rank else ""
        raise Refusal(f"memref of rank {kind.rank} is not flat{how}")
    strides, _ = strides_and_offset(kind)
    if strides is None:
        raise Refusal(f"layout {kind.layout} is not strided")
    if strides != (1,):
        raise Refusal(f"layout {kind.layout} is not contiguous")


def _checked_count(access: BufferAccess, run: int) -> int:
    """Returns the elements of a lane, and makes sure that they can be moved, whatever the offset
    is."""
    name = access.operation.name
    try:
        footprint = access.footprint
    except Refusal as refusal:
        raise Refusal(f"{name}: {refusal}") from refusal
    count, vector = prod(footprint.extents), footprint.vector
    if vector is None:
        return count
    if vector.rank != 1:
        raise Refusal(f"{name} of {vector}, a vector of rank {vector.rank}")
    element = type_of(access.buffer).element_type
    if isinstance(element, ir.VectorType):
        raise Refusal(f"{name} from a memref of vectors")
    splits = isinstance(element, ir.IntegerType | ir.FloatType | ir.IndexType)
    if vector.shape[0] > run and not splits:
        raise Refusal(f"{name} of {vector} would have to be split")
    return count
