# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands A that all iterations of a loop multiply by, in the LDS for descriptors of `wgmma`.

An attention multiplies its queries by the keys of each iteration. As registers of `wgmma`, they
would have to live through the loop. ptxas 13.0, and the driver of an H200, lose them where a
branch stands between that `wgmma` and one whose A the loop computes: both A get the same registers,
and the queries are gone behind the first keys. So they are stored before the loop, which frees
their registers, too, and each `wgmma` reads them by a descriptor.

The registers of A are those of `mma.sync.m16n8k16` (PTX ISA, register fragments): register r of
lane l has two elements of the row l / 4 + 8 (r mod 2), from k = 2 (l mod 4) + 8 (r / 2) on. Of the
64 rows, warp w of a warpgroup has 16 w to 16 w + 15. A row takes the 32 bytes of its 16 k, in the
32-byte mode (`descriptor_tiles.py`): its halves change places in every other four rows. A store of
one register in all lanes fills eight rows by half, and each bank gets four bytes of them:

    rows 0 to 3    first halves   bytes 0, 32, 64, 96    banks 0-3, 8-11, 16-19, 24-27
    rows 4 to 7    first halves   bytes 144, 176, ...    banks 4-7, 12-15, 20-23, 28-31
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import field

from iree.compiler import ir

from ...bank_model.descriptor_tiles import (
    DESCRIPTOR_MODES,
    GROUP_WARPS,
    LANES,
    TILE_ALIGNMENT,
    DescribedOperand,
)
from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.builders import Builder
from ...dialect_utils.described_tiles import note_stored_factors
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.element_moves import is_move
from ...dialect_utils.gpu_target import Launch
from ...dialect_utils.index.index_ops import block_owner, compute_after_operands
from ...dialect_utils.loops import FOR
from ...dialect_utils.memory.flat_allocations import align_allocation
from ...dialect_utils.memory.flow import lds_allocations
from ...dialect_utils.memory.lds_ops import access_row
from ...dialect_utils.memory.memref_types import lds_bytes, row_major_type, type_of
from ...dialect_utils.operations import defining_operation, has_operation, is_inside, parents_of

_WARP_ROWS = 16
_K = 16
_ELEMENT_BYTES = 2
_ROW_BYTES = _K * _ELEMENT_BYTES
_MODE = next(mode for mode in DESCRIPTOR_MODES if mode.row_bytes == _ROW_BYTES)
_MATRIX_BYTES = GROUP_WARPS * _WARP_ROWS * _ROW_BYTES
STORED_A = DescribedOperand(_MODE, mn_major=False, lead_bytes=0, stride_bytes=_MODE.block_bytes)
"""How a descriptor gives a stored A."""


def loop_to_store_before(
    value: ir.Value,
    contraction: ir.Operation,
    segment: Collection[ir.Operation],
    function: ir.Operation,
) -> ir.Operation | None:
    """Returns the loop that has an operand A from before it; None for one that stays in registers.

    The segment makes the latter, or the function has no loop through which it might live.

    Args:
        segment: the operations around the contraction between which there is no branch.

    Raises:
        Refusal: it is neither, so that it would live in registers of `wgmma` behind a branch.
    """
    if _is_made_in(value, segment):
        return None
    loops = [each for each in parents_of(contraction) if each.name == FOR]
    if not loops and not has_operation(function, FOR):
        return None
    if len(loops) != 1:
        raise Refusal("its A is not made beside it, and is no constant of one loop alone")
    (loop,) = loops
    _moves_in(loop, value)
    return loop


def _moves_in(loop: ir.Operation, value: ir.Value) -> list[ir.Operation]:
    """Returns what a loop does to make a value, each behind those that it depends on.

    Raises:
        Refusal: it does more than move elements of values from before it.
    """
    found: list[ir.Operation] = []

    def operands(each: ir.Value) -> list[ir.Value]:
        operation = defining_operation(each)
        return list(operation.operands) if operation and is_inside(operation, loop) else []

    def visit(each: ir.Value, _: Sequence[None]) -> None:
        operation = defining_operation(each)
        owner = None if operation else block_owner(ir.BlockArgument(each))
        if owner is not None and (owner == loop or is_inside(owner, loop)):
            raise Refusal("its A comes from another iteration")
        if operation is None or not is_inside(operation, loop) or operation in found:
            return
        if not is_move(operation):
            raise Refusal("its A is made in another part of the loop")
        found.append(operation)

    compute_after_operands(value, {}, operands, visit)
    return found


def _is_made_in(value: ir.Value, segment: Collection[ir.Operation]) -> bool:
    """Returns whether operations of a segment compute or read a value.

    Elements that are only moved must all be made there. What is computed from values of elsewhere
    alone is none of it: the compiler may compute it elsewhere.
    """

    def operands(each: ir.Value) -> list[ir.Value]:
        operation = defining_operation(each)
        return list(operation.operands) if operation and operation in segment else []

    def is_made(each: ir.Value, known_operands: Sequence[ir.Value]) -> bool:
        operation = defining_operation(each)
        if operation is None or operation not in segment:
            return False
        made = [known[operand] for operand in known_operands]
        if is_move(operation):
            return all(made)
        return access_row(operation) is not None or any(made)

    known: dict[ir.Value, bool] = {}
    return compute_after_operands(value, known, operands, is_made)


@dataclass
class StoredFactors:
    """The operands A of a function that are stored before a loop.

    Attributes:
        most_bytes: how much LDS a workgroup can have.
        planned: those for which there is memory.
    """

    function: ir.Operation
    launch: Launch
    most_bytes: int
    planned: dict[ir.Value, None] = field(default_factory=dict)
    _places: dict[ir.Value, tuple[ir.Operation, int, int]] = field(default_factory=dict)
    """The allocation of each, its number there, and how many lie there for each warpgroup."""

    @property
    def _warpgroups(self) -> int:
        return self.launch.threads // (LANES * GROUP_WARPS)

    def plan(self, values: Iterable[ir.Value]) -> None:
        """Makes sure that there is memory for operands, too.

        Raises:
            Refusal: there is not, or lanes are not numbered along x alone.
        """
        planned = dict.fromkeys([*self.planned, *values])
        if len(planned) == len(self.planned):
            return
        if self.launch.workgroup_size[0] != self.launch.threads:
            raise Refusal("the workgroup has lanes along y or z")
        used = (lds_bytes(type_of(each)) or 0 for each in lds_allocations(self.function))
        total = sum(-(-each // TILE_ALIGNMENT) * TILE_ALIGNMENT for each in used)
        total += (len(planned) - len(self._places)) * _MATRIX_BYTES * self._warpgroups
        if total > self.most_bytes:
            raise Refusal("there is no LDS for the A that all iterations multiply by")
        self.planned = planned

    def store(
        self,
        values: Iterable[ir.Value],
        loop: ir.Operation,
        like: ir.Operation,
        thread: ir.Value,
    ) -> None:
        """Emits what stores operands before a loop, those that are not stored yet.

        Args:
            like: an allocation of the same elements.
            thread: the thread id along x.
        """
        new = [each for each in dict.fromkeys(values) if each not in self._places]
        if not new:
            return
        count = self._warpgroups * len(new) * _MATRIX_BYTES // _ELEMENT_BYTES
        kind = row_major_type(type_of(like), [count])
        allocation = Builder.before(like).like(like, [], [kind])
        note_stored_factors(allocation)
        align_allocation(allocation, TILE_ALIGNMENT)
        for each in (each for value in new for each in _moves_in(loop, value)):
            each.move_before(loop)
        at = Builder.before(loop)
        for number, value in enumerate(new):
            self._places[value] = (allocation, number, len(new))
            for register, place in enumerate(_places(at, thread, number, len(new))):
                row = at.extract(value, [register])
                at.store(row, allocation.results[0], place)
        at.barrier(str(type_of(like).memory_space))

    def place(self, value: ir.Value) -> tuple[ir.Operation, str]:
        """Returns the allocation of an operand, and its first byte, an expression of the thread."""
        allocation, number, count = self._places[value]
        group = f"d0 floordiv {LANES * GROUP_WARPS} * {count} + {number}"
        return allocation, f"({group}) * {_MATRIX_BYTES}"


def _places(at: Builder, thread: ir.Value, number: int, count: int) -> list[ir.Value]:
    """Emits the elements at which a lane stores its registers of an operand of 16 bits.

    Args:
        number: the number of the operand, of the `count` of each warpgroup.
    """
    rows, half = GROUP_WARPS * _WARP_ROWS, _K // 2
    first = f"(d0 floordiv {LANES * GROUP_WARPS} * {count} + {number}) * {rows * _K}"
    warp, in_warp = f"d0 floordiv {LANES} mod {GROUP_WARPS}", f"d0 mod {LANES} floordiv 4"
    found: list[ir.Value] = []
    for register in range(4):
        row = f"{warp} * {_WARP_ROWS} + {in_warp} + {register % 2 * 8}"
        # Eight rows begin with a multiple of eight, so that the lane tells its four rows.
        moved = f"({in_warp} floordiv 4 + {register // 2}) mod 2 * {half}"
        found.append(at.apply(f"{first} + ({row}) * {_K} + {moved} + d0 mod 4 * 2", thread))
    return found
