# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which buffers, hints and accesses belong together: swizzle hints resolve as a group.

A group is closed under "may be the same memory": an allocation, the hints on it, the values that
carry it around a loop (`scf.for`) or out of a choice (`scf.if`, `arith.select`), and every other
allocation that flows into the same value:

    %r:2 = scf.for ... iter_args(%x = %a, %y = %b) { ... scf.yield %y, %x }     one group: %a, %b

Each value has a chain: the swizzles between it and the buffer that its innermost hint is on, from
that buffer outwards. Any view (`memref.subview`, ...) may lie between an allocation and its hints.
Behind a hint only views may lie that leave every element of a flat buffer at its index, such as
`memref.assume_alignment`; the compiler folds the others into the accesses before hints resolve.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from iree.compiler import ir

from ...bank_model.lds_rules import AccessKind
from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.memory.flow import Connected, Use, connected_to, uses_of
from ...dialect_utils.memory.lds_ops import (
    ALLOCATIONS,
    Footprint,
    Offset,
    access_row,
    footprint_of,
    is_view_in_order,
    view_row,
)
from ...dialect_utils.memory.memref_types import is_memref
from ...dialect_utils.operations import defining_operation, operations_in
from ...dialect_utils.swizzle_hint import Chain, hint_swizzle, is_hint


class BufferAccess(NamedTuple):
    """A load or store of a group, or a gather_to_lds that reads or writes it."""

    operation: ir.Operation
    buffer: ir.Value
    buffer_operand: int

    @property
    def is_gather(self) -> bool:
        """Returns whether the access is a gather_to_lds."""
        row = access_row(self.operation)
        return row is not None and row.offset is Offset.WAVE

    @property
    def writes(self) -> bool:
        """Returns whether the access writes the buffer.

        A store does, and a gather_to_lds that stores there.
        """
        if self.is_gather:
            return self.buffer_operand > 0
        row = access_row(self.operation)
        return row is not None and row.kind is AccessKind.WRITE

    @property
    def footprint(self) -> Footprint:
        """Returns what a lane touches; a `Refusal` is raised where that is not known."""
        return footprint_of(self.operation, self.buffer_operand)

    @property
    def offset(self) -> ir.Value:
        """Returns the flat offset of a load or store from a rank-1 buffer."""
        return self.operation.operands[self.buffer_operand + 1]


@dataclass
class BufferGroup:
    """Buffers that may be the same memory, with everything that is done to them.

    Attributes:
        roots: the values that others are derived from: allocations, function arguments.
        hints: the swizzle hints on the group, each after those its operand comes from.
        accesses: all loads, stores and gathers.
        problem: why nothing can be said about the group as a whole; None when all is understood.
        hints_apart: whether, in spite of a problem, every use of a hint is understood: what is not
            understood is done to the memory beside the hints. Chains are known then.
    """

    roots: list[ir.Value] = field(default_factory=list)
    hints: list[ir.Operation] = field(default_factory=list)
    accesses: list[BufferAccess] = field(default_factory=list)
    problem: Refusal | None = None
    hints_apart: bool = False
    _chains: dict[ir.Value, Chain] = field(default_factory=dict)

    @property
    def location(self) -> ir.Location:
        """Returns where diagnostics on the group point: its first root, or else its first hint."""
        return self.roots[0].location if self.roots else self.hints[0].location

    @property
    def memory(self) -> list[ir.Value]:
        """Returns the roots, or what a hint gives where none is known."""
        return self.roots or [self.hints[0].results[0]]

    def chain(self, buffer: ir.Value) -> Chain:
        """Returns the swizzles of a value of a group without a problem, or with its hints apart."""
        return self._chains[buffer]

    @property
    def chains(self) -> tuple[Chain, ...]:
        """Returns the different swizzles that accesses of a group without a problem go through."""
        found = dict.fromkeys(self.chain(access.buffer) for access in self.accesses)
        return tuple(chain for chain in found if chain)

    def is_permuted(self, access: BufferAccess) -> bool:
        """Returns whether an access is a gather_to_lds through hints, with permuted data."""
        if not access.is_gather:
            return False
        if self.problem is None or self.hints_apart:
            return bool(self.chain(access.buffer))
        return access.buffer not in self.roots

    @property
    def is_permuted_by_gathers(self) -> bool:
        """Returns whether gathers have written data in the order of the hints.

        These hints must then resolve.
        """
        return any(self.is_permuted(access) for access in self.accesses)

    def blame(self, problem: Refusal) -> None:
        """Records a problem; the first one stays."""
        self.problem = self.problem or problem


def group_hinted_buffers(
    hints: Iterable[ir.Operation], function: ir.Operation
) -> list[BufferGroup]:
    """Returns the groups that `hints` belong to, in the order of their first hints."""
    found: list[tuple[Connected, list[ir.Operation]]] = []
    seen: dict[ir.Value, list[ir.Operation]] = {}
    for hint in hints:
        if hint.results[0] not in seen:
            connected, members = connected_to(hint.results[0]), list[ir.Operation]()
            found.append((connected, members))
            seen.update(dict.fromkeys(connected.values, members))
        seen[hint.results[0]].append(hint)
    position = _positions(function, [connected for connected, _ in found])
    groups = [_group(connected, position) for connected, _ in found]
    for group, (_, members) in zip(groups, found, strict=True):
        group.hints += members
    return groups


def _positions(function: ir.Operation, found: Iterable[Connected]) -> Mapping[ir.Operation, int]:
    """Returns the order in the text of what makes and takes connected buffers.

    It has all operations of the same names: these are found much sooner than all of the function.
    """
    names: set[str] = set()
    for connected in found:
        makers = filter(None, map(defining_operation, connected.values))
        names.update(each.name for each in makers)
        names.update(use.user.name for use in connected.sinks)
    return {operation: n for n, operation in enumerate(operations_in(function, *names))}


def _group(connected: Connected, position: Mapping[ir.Operation, int]) -> BufferGroup:
    """Returns the group of connected buffers, in the order of the program's text."""
    group = BufferGroup(sorted(connected.roots, key=lambda root: _place(root, position)))
    for value in connected.values:
        if not is_memref(value):
            group.blame(Refusal(f"{value.type} is not a memref"))
    for use in connected.sinks:
        if _is_flat_access(use):
            group.accesses.append(BufferAccess(use.user, use.buffer, use.number))
        else:
            group.blame(Refusal(f"unsupported user {use.user.name}", use.user.location))
    for refusal in connected.hidden:
        group.blame(refusal)
    for root in connected.roots:
        definition = defining_operation(root)
        if definition is not None and definition.name not in ALLOCATIONS:
            origin = f"buffer comes from {definition.name}, not from an allocation"
            group.blame(Refusal(origin, definition.location))
    group.accesses.sort(key=lambda access: position.get(access.operation, len(position)))
    if group.problem is None:
        try:
            group._chains.update(_chains(group.roots, connected.edges))
        except Refusal as refusal:
            group.blame(refusal)
    else:
        chains = _chains_apart(sorted(connected.values, key=lambda each: _place(each, position)))
        group.hints_apart = chains is not None
        group._chains.update(chains or {})
    return group


def _is_flat_access(use: Use) -> bool:
    """Returns whether a use is an access whose offset, or whose source, can be swizzled."""
    row = access_row(use.user)
    if row is None:
        return False
    is_buffer = row.buffer_operand(use.user) == use.number
    return row.offset is Offset.WAVE or (row.offset is Offset.FLAT and is_buffer)


def _chains(roots: Iterable[ir.Value], edges: Iterable[Use]) -> dict[ir.Value, Chain]:
    """Returns each value's chain.

    Raises:
        Refusal: a value could have two, or a view behind a hint gives elements other indices.
    """
    onward: dict[ir.Value, list[Use]] = {}
    for edge in edges:
        onward.setdefault(edge.buffer, []).append(edge)
    chains: dict[ir.Value, Chain] = dict.fromkeys(roots, ())
    pending = list(chains)
    while pending:
        source = pending.pop()
        for use in onward.get(source, []):
            chain = chains[source]
            if is_hint(use.user):
                chain = (*chain, hint_swizzle(use.user))
            elif use.is_view and chain and not _keeps_indices(use.user):
                row = view_row(use.user)
                folds = row is not None and row.folds
                how = "; iree-codegen-fold-memref-alias-ops folds it into accesses" if folds else ""
                raise Refusal(f"{use.user.name} is behind a swizzle hint{how}")
            for target in use.becomes:
                if target not in chains:
                    chains[target] = chain
                    pending.append(target)
                elif chains[target] != chain:
                    raise Refusal("a value carries the buffer with different swizzles")
    return chains


def _chains_apart(values: Iterable[ir.Value]) -> dict[ir.Value, Chain] | None:
    """Returns each value's chain where hints, and views behind them, are only accessed; else None.

    Whatever else is done to the memory then starts from values without a hint. A hint says where
    the elements lie in its operand, wherever that comes from. `values` come in the order of the
    text.
    """
    chains: dict[ir.Value, Chain] = {}
    for value in values:
        owner = defining_operation(value)
        chain: Chain = ()
        if owner is not None and len(owner.operands):
            chain = chains.get(owner.operands[0], ())
        if owner is not None and is_hint(owner):
            try:
                chain = (*chain, hint_swizzle(owner))
            except Refusal:
                return None
        if chain and not all(map(_leaves_hints_apart, uses_of(value))):
            return None
        chains[value] = chain
    return chains


def _leaves_hints_apart(use: Use) -> bool:
    """Returns whether a use of a hinted value is an access, or has a chain that is known."""
    if use.is_sink:
        return _is_flat_access(use)
    return is_hint(use.user) or (use.is_view and _keeps_indices(use.user))


def _keeps_indices(view: ir.Operation) -> bool:
    """Returns whether every element has the same index, the only one, in a view and its source."""
    kinds = (view.operands[0].type, view.results[0].type)
    return is_view_in_order(view) and all(
        isinstance(kind, ir.MemRefType) and kind.rank == 1 for kind in kinds
    )


def _place(root: ir.Value, position: Mapping[ir.Operation, int]) -> tuple[int, int]:
    """Orders block arguments first, by number, then results by their operation."""
    if isinstance(root, ir.BlockArgument):
        return -1, root.arg_number
    place = position.get(root.owner.operation, len(position))
    return place, ir.OpResult(root).result_number
