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

from collections.abc import Iterable
from dataclasses import dataclass, field

from iree.compiler import ir

from ...bank_model.errors import InvalidParameterError
from ...bank_model.swizzles import Swizzle
from ..swizzle_hint import UnknownSwizzleError, hint_swizzle, is_hint
from .allocations import REORDERING_FREE_VIEWS, VIEWS
from .lds_accesses import GATHER, LDMATRIX

Chain = tuple[Swizzle, ...]

TRANSPOSE_LOAD = "amdgpu.transpose_load"
_ACCESS_BUFFER = {
    "memref.load": 0,
    "memref.store": 1,
    "vector.load": 0,
    "vector.store": 1,
    TRANSPOSE_LOAD: 0,
    LDMATRIX: 0,
}
"""The operand of each access that is the buffer; its only index is the operand after it."""

_ALLOCATIONS = frozenset({"memref.alloc", "memref.alloca"})


@dataclass(frozen=True)
class BufferAccess:
    """A load or store of a group, or a gather_to_lds that reads or writes it."""

    operation: ir.Operation
    buffer: ir.Value
    buffer_operand: int

    @property
    def is_gather(self) -> bool:
        """Whether the access is a gather_to_lds."""
        return self.operation.name == GATHER

    @property
    def writes(self) -> bool:
        """Whether the access writes the buffer: a store, or a gather_to_lds that stores there."""
        if self.is_gather:
            return self.buffer_operand > 0
        return self.operation.name in ("memref.store", "vector.store")

    @property
    def offset(self) -> ir.Value:
        """The flat offset of a load or store from a rank-1 buffer."""
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
    problem: str | None = None
    hints_apart: bool = False
    _chains: dict[ir.Value, Chain] = field(default_factory=dict)

    @property
    def location(self) -> ir.Location:
        """Where diagnostics on the group point: its first root, or else its first hint."""
        return self.roots[0].location if self.roots else self.hints[0].location

    def chain(self, buffer: ir.Value) -> Chain:
        """The swizzles of a value of a group without a problem, or with its hints apart."""
        return self._chains[buffer]

    @property
    def chains(self) -> tuple[Chain, ...]:
        """The different swizzles that accesses of a group without a problem go through."""
        found = dict.fromkeys(self.chain(access.buffer) for access in self.accesses)
        return tuple(chain for chain in found if chain)

    def is_permuted(self, access: BufferAccess) -> bool:
        """Whether an access is a gather_to_lds through hints: its data is permuted already."""
        if not access.is_gather:
            return False
        if self.problem is None or self.hints_apart:
            return bool(self.chain(access.buffer))
        return access.buffer not in self.roots

    @property
    def is_permuted_by_gathers(self) -> bool:
        """Whether gathers have written data in the order of the hints: these must then resolve."""
        return any(self.is_permuted(access) for access in self.accesses)

    def blame(self, problem: str) -> None:
        """Records a problem; the first one stays."""
        self.problem = self.problem or problem


def group_hinted_buffers(
    hints: Iterable[ir.Operation], function: ir.Operation
) -> list[BufferGroup]:
    """The groups that `hints` belong to, in the order of their first hints."""
    order = list(hints)
    groups: list[BufferGroup] = []
    seen: dict[ir.Value, BufferGroup] = {}
    for hint in order:
        group = seen.get(hint.results[0])
        if group is None:
            exploration = _Exploration(function)
            exploration.run(hint.results[0])
            group = exploration.group
            groups.append(group)
            seen.update(dict.fromkeys(exploration.values, group))
        group.hints.append(hint)
    return groups


@dataclass
class _Exploration:
    """Collects everything connected to one value."""

    function: ir.Operation
    group: BufferGroup = field(default_factory=BufferGroup)
    values: dict[ir.Value, None] = field(default_factory=dict)
    edges: dict[ir.Value, list[tuple[ir.Value, ir.Operation | None]]] = field(default_factory=dict)
    """From a value to the values derived from it, through a hint, a view, or unchanged."""
    pending: list[ir.Value] = field(default_factory=list)

    def run(self, start: ir.Value) -> None:
        if not _is_buffer(start):
            self.group.blame(f"{start.type} is not a memref")
        self.pending.append(start)
        while self.pending:
            value = self.pending.pop()
            if value in self.values:
                continue
            self.values[value] = None
            self._sources(value)
            for use in list(value.uses):
                self._use(value, use.owner.operation, use.operand_number)
        # Uses come in no useful order; the program's order gives stable output.
        position = _positions(self.function)
        self.group.accesses.sort(key=lambda access: position[access.operation])
        self.group.roots.sort(key=lambda root: _place(root, position))
        if self.group.problem is None:
            self._assign_chains()
        else:
            self._assign_chains_apart()

    def _edge(
        self, source: ir.Value, target: ir.Value, through: ir.Operation | None = None
    ) -> None:
        outgoing = self.edges.setdefault(source, [])
        if all(known != target for known, _ in outgoing):
            outgoing.append((target, through))
        self.pending.extend((source, target))

    def _sources(self, value: ir.Value) -> None:
        """Visits what `value` comes from."""
        if isinstance(value, ir.BlockArgument):
            block = value.owner
            assert isinstance(block, ir.Block)
            owner = block.owner.operation
            if owner == self.function:
                self.group.roots.append(value)
                if block != self.function.regions[0].blocks[0]:
                    self.group.blame("buffer is passed between blocks of unstructured control flow")
            elif owner.name == "scf.for":
                self._loop_carried(owner, value.arg_number - 1)
            else:
                self.group.blame(f"buffer is an argument of a region of {owner.name}")
            return
        owner = value.owner
        assert not isinstance(owner, ir.Block)
        operation = owner.operation
        number = ir.OpResult(value).result_number
        if operation.name in _ALLOCATIONS:
            self.group.roots.append(value)
        elif is_hint(operation) or operation.name in VIEWS:
            self._edge(operation.operands[0], value, operation)
        elif operation.name == "scf.for":
            self._loop_carried(operation, number)
        elif operation.name == "scf.if":
            self._chosen(operation, number)
        elif operation.name == "arith.select":
            self._selected(operation)
        else:
            buffers = [o for o in operation.operands if _is_buffer(o)]
            if buffers:
                self.group.blame(f"{operation.name} is between the allocation and a swizzle hint")
            else:
                self.group.blame(f"buffer comes from {operation.name}, not from an allocation")
                self.group.roots.append(value)
            for buffer in buffers:
                self._edge(buffer, value)

    def _use(self, value: ir.Value, user: ir.Operation, operand: int) -> None:
        """Visits one use of `value`."""
        if is_hint(user) or (user.name in VIEWS and operand == 0):
            self._edge(value, user.results[0], user)
        elif user.name == "scf.for" and operand >= 3:
            self._loop_carried(user, operand - 3)
        elif user.name == "scf.yield" and user.parent.operation.name == "scf.for":
            self._loop_carried(user.parent.operation, operand)
        elif user.name == "scf.yield" and user.parent.operation.name == "scf.if":
            self._chosen(user.parent.operation, operand)
        elif user.name == "arith.select":
            self._selected(user)
        elif user.name == GATHER or _ACCESS_BUFFER.get(user.name) == operand:
            self.group.accesses.append(BufferAccess(user, value, operand))
        elif user.name != "memref.dealloc":
            self.group.blame(f"unsupported user {user.name}")
            for result in user.results:
                if _is_buffer(result):
                    self._edge(value, result)

    def _loop_carried(self, loop: ir.Operation, number: int) -> None:
        body = loop.regions[0].blocks[0]
        initial = loop.operands[3 + number]
        yielded = body.operations[len(body.operations) - 1].operands[number]
        for source in (initial, yielded):
            self._edge(source, body.arguments[1 + number])
            self._edge(source, loop.results[number])

    def _chosen(self, choice: ir.Operation, number: int) -> None:
        for region in choice.regions:
            block = region.blocks[0]
            yielded = block.operations[len(block.operations) - 1].operands[number]
            self._edge(yielded, choice.results[number])

    def _selected(self, select: ir.Operation) -> None:
        for source in list(select.operands)[1:]:
            self._edge(source, select.results[0])

    def _assign_chains(self) -> None:
        """Gives each value its chain; a value that could have two is a problem."""
        chains: dict[ir.Value, Chain] = dict.fromkeys(self.group.roots, ())
        pending = list(chains)
        while pending:
            source = pending.pop()
            for target, through in self.edges.get(source, []):
                chain = chains[source]
                if through is not None and not is_hint(through):
                    if chain and not _keeps_indices(through):
                        self.group.blame(f"{through.name} is behind a swizzle hint")
                        return
                elif through is not None:
                    try:
                        chain = (*chain, hint_swizzle(through))
                    except (UnknownSwizzleError, InvalidParameterError) as error:
                        self.group.blame(str(error))
                        return
                if target not in chains:
                    chains[target] = chain
                    pending.append(target)
                elif chains[target] != chain:
                    self.group.blame("a value carries the buffer with different swizzles")
                    return
        self.group._chains.update(chains)

    def _assign_chains_apart(self) -> None:
        """Gives each value its chain where hints, and views behind them, are only accessed.

        Whatever else is done to the memory then starts from values without a hint. A hint says
        where the elements lie in its operand, wherever that comes from.
        """
        chains: dict[ir.Value, Chain] = {}
        position = _positions(self.function)
        for value in sorted(self.values, key=lambda value: _place(value, position)):
            owner = None if isinstance(value, ir.BlockArgument) else value.owner.operation
            chain = (
                chains.get(owner.operands[0], ())
                if owner is not None and len(owner.operands)
                else ()
            )
            if owner is not None and is_hint(owner):
                try:
                    chain = (*chain, hint_swizzle(owner))
                except (UnknownSwizzleError, InvalidParameterError):
                    return
            if chain and not all(
                _leaves_hints_apart(use.owner.operation, use.operand_number) for use in value.uses
            ):
                return
            chains[value] = chain
        self.group._chains.update(chains)
        self.group.hints_apart = True


def _leaves_hints_apart(user: ir.Operation, operand: int) -> bool:
    """Whether a use of a hinted value is an access, or makes a value whose hints are known."""
    if is_hint(user) or user.name in (GATHER, "memref.dealloc"):
        return True
    if user.name in VIEWS:
        return operand == 0 and _keeps_indices(user)
    return _ACCESS_BUFFER.get(user.name) == operand


def _keeps_indices(view: ir.Operation) -> bool:
    """Whether every element has the same index, the only one, in a view and in its source."""
    kinds = (view.operands[0].type, view.results[0].type)
    return view.name in REORDERING_FREE_VIEWS and all(
        isinstance(kind, ir.MemRefType) and kind.rank == 1 for kind in kinds
    )


def _is_buffer(value: ir.Value) -> bool:
    return isinstance(value.type, ir.MemRefType | ir.UnrankedMemRefType)


def _place(root: ir.Value, position: dict[ir.Operation, int]) -> tuple[int, int]:
    """Orders block arguments first, by number, then results by their operation."""
    if isinstance(root, ir.BlockArgument):
        return -1, root.arg_number
    owner = root.owner
    assert not isinstance(owner, ir.Block)
    return position[owner.operation], ir.OpResult(root).result_number


def _positions(function: ir.Operation) -> dict[ir.Operation, int]:
    """The place of every operation in the program's text."""
    positions: dict[ir.Operation, int] = {}

    def number(operation: ir.Operation) -> ir.WalkResult:
        positions[operation.operation] = len(positions)
        return ir.WalkResult.ADVANCE

    function.walk(number, ir.WalkOrder.PRE_ORDER)
    return positions
