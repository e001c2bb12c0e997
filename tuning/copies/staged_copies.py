# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which tiles a loop copies from global memory to the LDS, to be read in the same iteration.

    scf.for %i = ... {
      gpu.barrier
      %v = vector.load %global[%i, ...]        the copy: a load whose value goes to
      vector.store %v, %tile[...]              one store, and nowhere else
      gpu.barrier
      ... = nvgpu.ldmatrix %tile[...]          the reads
    }

What an iteration reads from such a tile is what the same iteration has copied there: the copies
stand before a barrier, and the reads behind it. A tile may therefore lie elsewhere in every
iteration, and may be copied at any time before, provided that a barrier comes between. That is what
overlaps copies with contractions.

What a lane copies may be zero in the place of what it loads, by an `arith.select` on a condition
that is known before the iteration begins.

A tile is refused where a copy is more than moving bytes, where its addresses are not known before
the iteration begins, where its global memory may be written, or where something else uses it. Every
iteration must write the same part of it: what is read and not written then stays undefined wherever
the tile lies, and no read finds what an earlier iteration has left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import gcd

from iree.compiler import ir

from ...bank_model.lds_rules import AccessKind
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.index.index_bits import IndexBits
from ...dialect_utils.loops import (
    FOR,
    IF,
    body_of,
    bounds_of,
    counts_by_index,
    operations_by_place,
)
from ...dialect_utils.memory.barrier_order import orders_lds
from ...dialect_utils.memory.buffer_starts import start_alignment
from ...dialect_utils.memory.flow import roots_of
from ...dialect_utils.memory.lds_ops import (
    BARRIER,
    DEALLOC,
    GATHER,
    access_row,
    promised_alignment,
)
from ...dialect_utils.memory.memref_types import (
    has_identity_layout,
    is_workgroup_memref,
    strides_and_offset,
    type_of,
    whole_element_bits,
)
from ...dialect_utils.memory.store_free_segments import takes_no_memref
from ...dialect_utils.operations import (
    defining_operation,
    has_zero_bits,
    is_inside,
    makers_behind,
    operations_of,
    parents_of,
    segments_of,
)
from .other_iteration import depends_on_iteration

_REPEATING = frozenset({FOR, "scf.while", "scf.parallel"})
_LOAD, _STORE, _SELECT = "vector.load", "vector.store", "arith.select"
_BINDING = "hal.interface.binding.subspan"
_READ_ONLY = 1
"""The bit of `#hal.descriptor_flags` that says that the kernel only reads a binding."""


class StagedCopy(NamedTuple):
    """A load from global memory and the store of its value to a tile.

    Both are the same `amdgpu.gather_to_lds` where no register is between them.

    Attributes:
        guards: the conditions around the store inside the loop, from the outside inwards.
        choice: the `arith.select` between what is loaded and zero, if there is one.
        bytes: what a lane moves.
        alignment: bytes of which both of its addresses are multiples.
    """

    load: ir.Operation
    store: ir.Operation
    guards: tuple[ir.Operation, ...]
    choice: ir.Operation | None
    bytes: int
    alignment: int

    @property
    def is_direct(self) -> bool:
        """Returns whether no register is between the load and the store."""
        return self.load == self.store

    @property
    def source(self) -> list[ir.Value]:
        """Returns the memref that is read, and the indices."""
        if not self.is_direct:
            return list(self.load.operands)
        memory, indices, _, _ = segments_of(self.load)
        return [*memory, *indices]

    @property
    def target_indices(self) -> list[ir.Value]:
        """Returns the indices of the tile that are written from on."""
        return segments_of(self.store)[3] if self.is_direct else list(self.store.operands)[2:]

    @property
    def moved(self) -> ir.VectorType:
        """Returns the type of the vector that a lane moves."""
        if self.is_direct:
            return ir.VectorType(ir.TypeAttr(self.load.attributes["transferType"]).value)
        return ir.VectorType(self.load.results[0].type)


class StagedTile(NamedTuple):
    """A tile in the LDS that a loop fills and reads in each iteration.

    Attributes:
        reads: the operations that read it; the memref is their operand 0, its indices follow.
    """

    allocation: ir.Operation
    copies: tuple[StagedCopy, ...]
    reads: tuple[ir.Operation, ...]


class StagingLoop(NamedTuple):
    """A loop with a known beginning and step, with its tiles.

    Attributes:
        upper: where it ends; None if that is known only when it runs.
        barriers: those of its body that order what lanes do to the LDS: they stand between
            iterations, or between copies and reads.
        surplus: the barriers that order nothing but the accesses to the tiles, because nothing else
            accesses the LDS before them in an iteration.
        refusals: why other tiles of the loop are left alone.
    """

    operation: ir.Operation
    lower: int
    upper: int | None
    step: int
    tiles: tuple[StagedTile, ...]
    barriers: tuple[ir.Operation, ...]
    surplus: tuple[ir.Operation, ...]
    refusals: tuple[Refusal, ...]

    @property
    def trip_count(self) -> int | None:
        """Returns how often the loop runs; None if that is not known."""
        if self.upper is None:
            return None
        return max(0, -(-(self.upper - self.lower) // self.step))

    def barrier_behind(self, stores: Sequence[ir.Operation]) -> ir.Operation:
        """Returns the barrier of the loop's body behind which what `stores` write is read."""
        body = operations_of(body_of(self.operation))
        last = max(body.index(_in_body(each, self.operation)) for each in stores)
        return next(each for each in self.barriers if body.index(each) > last)

    @property
    def is_repeated(self) -> bool:
        """Returns whether a loop around it may run it again."""
        return any(parent.name in _REPEATING for parent in parents_of(self.operation))


def staging_loops(
    loops: Sequence[ir.Operation], allocations: Sequence[ir.Operation], bits: IndexBits
) -> list[StagingLoop]:
    """Returns the loops that fill tiles, among the `scf.for` of a function.

    Args:
        allocations: those of the function in the LDS.
    """
    found: list[StagingLoop] = []
    for loop in filter(counts_by_index, loops):
        lower, upper, step = (bits.of(bound).constant for bound in bounds_of(loop))
        if lower is None or not step:
            continue
        staging = _read_loop(loop, (lower, upper, step), allocations, bits)
        if staging.tiles or staging.refusals:
            found.append(staging)
    return found


def _read_loop(
    loop: ir.Operation,
    bounds: tuple[int, int | None, int],
    allocations: Sequence[ir.Operation],
    bits: IndexBits,
) -> StagingLoop:
    tiles: list[StagedTile] = []
    refusals: list[Refusal] = []
    body = _Body(loop, bits)
    for allocation in allocations:
        users = [use.owner.operation for use in allocation.results[0].uses]
        if not any(body.copies_to(user) for user in users):
            continue
        try:
            tiles.append(body.tile(allocation, users))
        except Refusal as refusal:
            refusals.append(Refusal(refusal.reason, refusal.location or allocation.location))
    return StagingLoop(
        loop,
        *bounds,
        tuple(tiles),
        tuple(body.barriers),
        tuple(body.surplus_barriers(tiles)),
        tuple(refusals),
    )


class _Body:
    """The body of a loop, in which operations are ordered."""

    def __init__(self, loop: ir.Operation, bits: IndexBits) -> None:
        self.loop = loop
        self.bits = bits
        self._operations = operations_of(body_of(loop))
        self.places = {each: place for place, each in enumerate(self._operations)}
        self.barriers = [
            each for each in self._operations if each.name == BARRIER and orders_lds(each)
        ]
        self._known: dict[ir.Value, bool] = {}
        """Whether values differ between iterations: those of copies have much in common."""

    def _depends(self, value: ir.Value) -> bool:
        """Returns what `depends_on_iteration` does, and raises what it raises."""
        return depends_on_iteration(self.loop, value, self._known)

    def copies_to(self, user: ir.Operation) -> bool:
        """Returns whether `user` copies to a tile in this loop, and in none inside it.

        What is computed from reads of the LDS is no copy: lanes exchange their results.
        """
        if user.name not in (_STORE, GATHER):
            return False
        around = next((parent for parent in parents_of(user) if parent.name == FOR), None)
        return (
            around is not None
            and around == self.loop
            and (user.name == GATHER or not self._exchanges(user))
        )

    def _exchanges(self, store: ir.Operation) -> bool:
        """Returns whether an iteration computes what it stores from what it reads from the LDS."""
        is_inner = partial(is_inside, outer=self.loop)
        return any(
            access_row(each) is not None
            and is_workgroup_memref(each.operands[0].type)
            and is_inner(each)
            for each in makers_behind([store.operands[0]], is_inner)
        )

    def tile(self, allocation: ir.Operation, users: Sequence[ir.Operation]) -> StagedTile:
        """Returns the tile that an allocation is.

        Raises:
            Refusal: it is none.
        """
        if is_inside(allocation, self.loop):
            raise Refusal("the tile is allocated in the loop")
        if not has_identity_layout(type_of(allocation)):
            raise Refusal("the tile has a layout of its own")
        stores: list[ir.Operation] = []
        reads: list[ir.Operation] = []
        for user in users:
            if user.name == DEALLOC:
                continue
            row = access_row(user)
            if row is None or row.kind is None or not is_inside(user, self.loop):
                raise Refusal(f"the tile is used by {user.name} otherwise", user.location)
            if row.kind is AccessKind.WRITE:
                stores.append(user)
            elif row.buffer_operand(user) == 0:
                reads.append(user)
            else:
                raise Refusal(f"the tile is read by {user.name}", user.location)
        # Uses are listed last first.
        copies = tuple(self._copy(store) for store in reversed(stores))
        self._check_order(stores, reads)
        return StagedTile(allocation, copies, tuple(reversed(reads)))

    def _copy(self, store: ir.Operation) -> StagedCopy:
        guards = tuple(reversed(list(self._guards(store))))
        is_direct = store.name == GATHER
        there = segments_of(store)[3] if is_direct else list(store.operands)[2:]
        conditions = [guard.operands[0] for guard in guards]
        # Otherwise a read could find what an earlier iteration has left.
        if any(self._depends(value) for value in (*there, *conditions)):
            raise Refusal(
                "what is written of the tile differs from iteration to iteration", store.location
            )
        if is_direct:
            return self._direct_copy(store, guards)
        load = choice = defining_operation(store.operands[0])
        if choice is not None and _is_choice(choice):
            load = self._chosen(choice)
        else:
            choice = None
        if load is None or load.name != _LOAD or not is_inside(load, self.loop):
            raise Refusal("what is stored is not loaded in the same iteration", store.location)
        if len(list(load.results[0].uses)) != 1:
            raise Refusal("what is copied is used elsewhere too", load.location)
        check_read_only(load.operands[0])
        for value in load.operands:
            self._depends(value)
        kind = ir.VectorType(load.results[0].type)
        bits = whole_element_bits(kind)
        if kind.rank != 1 or bits is None or bits % 8:
            raise Refusal(f"{kind} is no row of whole bytes", load.location)
        size = bits // 8
        alignment = gcd(self._alignment(load, 0, size), self._alignment(store, 1, size))
        return StagedCopy(load, store, guards, choice, size, alignment)

    def _direct_copy(self, gather: ir.Operation, guards: tuple[ir.Operation, ...]) -> StagedCopy:
        """Returns the copy that a `gather_to_lds` makes.

        Raises:
            Refusal: what it reads is not known before the iteration, or may be written.
        """
        row = access_row(gather)
        assert row is not None
        copy = StagedCopy(gather, gather, guards, None, 0, 0)
        check_read_only(copy.source[0])
        for value in copy.source:
            self._depends(value)
        size = (whole_element_bits(copy.moved) or 0) // 8
        return copy._replace(bytes=size, alignment=size)

    def _chosen(self, choice: ir.Operation) -> ir.Operation | None:
        """Returns what makes the value that a choice takes in the place of zero.

        Raises:
            Refusal: an iteration does not know the condition before it begins.
        """
        condition, value, _ = choice.operands
        self._depends(condition)
        if len(list(choice.results[0].uses)) != 1:
            raise Refusal("what is copied is used elsewhere too", choice.location)
        return defining_operation(value)

    def _guards(self, store: ir.Operation) -> Iterator[ir.Operation]:
        inner = store
        for parent in parents_of(store):
            if parent == self.loop:
                return
            is_then = parent.name == IF and inner.block == body_of(parent)
            if not is_then or len(parent.results):
                raise Refusal(f"a copy stands in {parent.name}", store.location)
            yield parent
            inner = parent

    def _alignment(self, access: ir.Operation, number: int, most: int) -> int:
        """Returns bytes of which the address of a load or store is a multiple, up to `most`."""
        buffer = access.operands[number]
        strides, _ = strides_and_offset(type_of(buffer))
        width = whole_element_bits(type_of(buffer).element_type)
        if strides is None or width is None:
            return 1
        promised = promised_alignment(access)
        if promised >= most:
            return gcd(promised, most)
        multiple = 1
        if width % (8 * most):
            known_strides = [1 if each == DYNAMIC else each for each in strides]
            multiple = self.bits.multiple(list(access.operands)[number + 1 :], known_strides)
        begin = most if is_workgroup_memref(buffer.type) else start_alignment(buffer)
        known = gcd(multiple * width // 8, begin, most)
        return gcd(max(known, promised), most)

    def _check_order(self, stores: Sequence[ir.Operation], reads: Sequence[ir.Operation]) -> None:
        """Makes sure that a barrier comes between copies and reads, and between iterations."""
        if not reads:
            raise Refusal("nothing reads the tile")
        written, read = [self._place(s) for s in stores], [self._place(r) for r in reads]
        barriers = [self.places[barrier] for barrier in self.barriers]
        if not any(max(written) < barrier < min(read) for barrier in barriers):
            raise Refusal("no barrier parts the copies to the tile from its reads")
        if not any(barrier < min(written) or barrier > max(read) for barrier in barriers):
            raise Refusal("no barrier parts the reads of the tile from the next iteration's copies")

    def _place(self, operation: ir.Operation) -> int:
        return self.places[_in_body(operation, self.loop)]

    def surplus_barriers(self, tiles: Sequence[StagedTile]) -> list[ir.Operation]:
        """Returns the barriers before the first access to the LDS that is none to these tiles."""
        own = {operation for tile in tiles for operation in tile.reads}
        own |= {copy.store for tile in tiles for copy in tile.copies}
        pure: dict[str, bool] = {}
        for place, operation in operations_by_place(self._operations):
            name = operation.name
            if name not in pure:
                pure[name] = takes_no_memref(operation)
            if pure[name] or operation in own:
                continue
            if any(is_workgroup_memref(operand.type) for operand in operation.operands):
                first = place
                break
        else:
            first = len(self.places)
        if not all(_orders_lds_alone(barrier) for barrier in self.barriers):
            return []
        return [barrier for barrier in self.barriers if self.places[barrier] < first]


def _in_body(operation: ir.Operation, loop: ir.Operation) -> ir.Operation:
    """Returns the operation of a loop's body that `operation` is, or is inside of."""
    inner = operation
    for outer in parents_of(operation):
        if outer == loop:
            break
        inner = outer
    return inner


def _is_choice(operation: ir.Operation) -> bool:
    """Returns whether it is an `arith.select` between a vector and one of zero bytes."""
    if operation.name != _SELECT or isinstance(operation.operands[0].type, ir.VectorType):
        return False
    other = operation.operands[2]
    return isinstance(other.type, ir.VectorType) and has_zero_bits(other)


def _orders_lds_alone(barrier: ir.Operation) -> bool:
    if "address_spaces" not in barrier.attributes:
        return False
    spaces = str(barrier.attributes["address_spaces"])
    return "workgroup" in spaces and "global" not in spaces and "private" not in spaces


def check_read_only(source: ir.Value) -> None:
    """Makes sure that nobody writes what a copy reads while the kernel runs.

    Raises:
        Refusal: that is not known.
    """
    for root in roots_of(source):
        binding = defining_operation(root)
        if binding is None or binding.name != _BINDING:
            raise Refusal(f"a copy reads {source.type}, of which it is not known who writes it")
        if not _flags_of(binding) & _READ_ONLY:
            raise Refusal("a copy reads a binding that the kernel may write")


def _flags_of(binding: ir.Operation) -> int:
    name = "descriptor_flags"
    return ir.IntegerAttr(binding.attributes[name]).value if name in binding.attributes else 0
