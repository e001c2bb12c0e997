# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-reorder-keys`: lanes read the masks of an attention wide.

`mma.sync` gives a lane the scores of keys 2 l, 2 l + 1, 2 l + 8, 2 l + 9, ... of a row, so that it
reads a mask of f16 four bytes at a time. It is all the same which key of a tile stands for which
number, as long as K, V and the mask agree. With the key 8 l + 4 j + t in the place of 8 t + 2 l + j
a lane has 8 keys side by side, and reads the mask of them at once:

    number of a key       digits   t1 t0 l1 l0  j       rows of K and V in the LDS: 0 4 8 ... 28
    its place in memory   digits   l1 l0  j t1 t0       mask: 8 elements of a lane are neighbours

Rows of the tiles of K and V are read in another order, which costs nothing: each lane of an
`ldmatrix` has an address of its own, and the layouts of tiles are chosen for these addresses
afterwards. The order of the sums over keys changes: results are right to rounding. A lane takes as
many keys at once as 16 bytes of the mask are, and no more than it has.

What agrees is found as for `bankwise-rename-registers` (`tuning/registers/dimension_classes.py`):
the digits of the keys form a class, of which nothing depends on positions. All that the class
touches must be reads, those of LDS tiles and of masks. So a key that is excluded for its number, as
beyond the last one, keeps its place.

Runs before sums are deferred, right after `iree-codegen-gpu-vector-alloc`, on functions that
multiply by `mma.sync`. Tiles that `wgmma` reads by descriptors have their rows in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.coalescing import WIDEST_BYTES
from ...bank_model.layout_digits import Holder, LayoutDigit, layout_digits
from ...bank_model.lds_rules import AccessKind
from ...bank_model.nested_layout import NestedLayout
from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...bank_model.register_renaming import Renamed, Renaming, renamed
from ...bank_model.shown_text import counted
from ...dialect_utils.described_tiles import has_described_tile
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.memory.memref_types import WORKGROUP
from ...dialect_utils.memory.vector_layouts import VectorLayouts, infer_vector_layouts
from ...dialect_utils.operations import has_operation
from ...passes.base import FunctionPass, PassContext
from ..registers.dimension_classes import (
    ClassKind,
    DimensionClass,
    NamedTransfer,
    dimension_classes,
)
from ..registers.renamed_transfers import rename_transfer

_REDUCTION = "vector.multi_reduction"
_BYTE = 8


@dataclass(frozen=True)
class ReorderKeys(FunctionPass):
    """Renames keys so that a lane reads the mask of several neighbours at once."""

    name: ClassVar[str] = "bankwise-reorder-keys"
    summary: ClassVar[str] = "let lanes of attentions have neighbouring keys, and read masks wide"
    later_passes_may_refuse: ClassVar[bool] = True

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` reduces vectors, and reads its tiles in any order."""
        return has_operation(function, _REDUCTION) and not has_described_tile(function)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the transfers of the classes that gain; never fails."""
        function = function.operation
        if not self.has_work(function):
            return
        layouts, classes = infer_vector_layouts(function), dimension_classes(function)
        # All layouts are read before the first transfer is touched.
        found: list[_Reordered] = []
        for each in classes.classes:
            transfers = classes.transfers_of(each)
            masks = [transfer for transfer in transfers if _is_mask(transfer, each)]
            if each.kind is not ClassKind.REDUCED or not masks:
                continue
            with context.refusals_said(masks[0].op.location, "keys stay in their order"):
                found.append(_reordered(each, transfers, masks[0], layouts))
        for each in found:
            each.carry_out(context)


class _Reordered(NamedTuple):
    """The transfers of a class, with the layouts that they have and get.

    Attributes:
        mask: the one for which the others are read in another order, too.
        neighbours: how many keys that are neighbours a lane has of it, before and after.
    """

    mask: NamedTransfer
    neighbours: tuple[int, int]
    transfers: Sequence[tuple[NamedTransfer, NestedLayout, Renamed]]

    def carry_out(self, context: PassContext) -> None:
        """Reads tiles and masks in the new order of keys, and remarks on the mask."""
        before, after = self.neighbours
        text = (
            f"keys come in another order: a lane reads the mask of {counted(after, 'key')} at "
            f"once instead of {before}"
        )
        context.sink.remark(self.mask.op.location, text)
        for transfer, layout, new in self.transfers:
            rename_transfer(transfer, layout, new.layout, new.order)


def _reordered(
    keys: DimensionClass,
    transfers: Sequence[NamedTransfer],
    mask: NamedTransfer,
    layouts: VectorLayouts,
) -> _Reordered:
    """Returns the order of keys in which a lane reads a mask the widest.

    Raises:
        Refusal: there is none, or something else than reads of tiles and masks depends on it.
    """
    if keys.pinned is not None:
        raise keys.pinned
    for transfer in transfers:
        if transfer.kind is not AccessKind.READ:
            raise Refusal("keys are stored, too")
        if not _is_in_lds(transfer) and not _is_mask(transfer, keys):
            raise Refusal("lanes read K or V from global memory themselves")
    of = [(transfer, _layout(transfer, layouts)) for transfer in transfers]
    layout = next(each for transfer, each in of if transfer == mask)
    dim = len(mask.names) - 1
    for renaming in _orders(layout, mask, keys):
        new = [(t, each, renamed(each, t.names, renaming)) for t, each in of]
        changed = [(t, each, other) for t, each, other in new if other is not None]
        if len(changed) < len(new):
            continue
        after = next(other for t, _, other in changed if t == mask)
        neighbours = layout.element_tile[dim], after.layout.element_tile[dim]
        if neighbours[0] < neighbours[1]:
            return _Reordered(mask, neighbours, changed)
    raise Refusal("no layout of registers has neighbouring keys in a lane")


def _orders(layout: NestedLayout, mask: NamedTransfer, keys: DimensionClass) -> Iterator[Renaming]:
    """Yields renamings that give a lane more neighbours of a mask's row, the most of them first.

    The lowest digits become those of registers above the lanes, and all others follow in their
    order. So the lanes of a tile's rows stay digits of the index that are side by side.
    """
    held, row = layout_digits(layout), mask.names[-1]
    if held is None or not keys.digits.issuperset(row):
        return
    digits: Sequence[LayoutDigit] = held[-1]
    lanes = [place for place, digit in enumerate(digits) if digit.holder is Holder.LANE]
    above = [
        place
        for place, digit in enumerate(digits)
        if digit.holder is Holder.REGISTER and digit.base == 2 and lanes and place > lanes[-1]
    ]
    bits = max(element_bits(ir.ShapedType(mask.memory.type).element_type) or _BYTE, _BYTE)
    widest = WIDEST_BYTES * _BYTE // bits
    for count in range(len(above), 0, -1):
        if layout.element_tile[-1] << count > widest:
            continue
        chosen = above[:count]
        order = [*chosen, *(place for place in range(len(row)) if place not in chosen)]
        yield {row[place]: row[order[place]] for place in range(len(row))}


def _layout(transfer: NamedTransfer, layouts: VectorLayouts) -> NestedLayout:
    """Returns the layout of the vector that is transferred.

    Raises:
        Refusal: it is not known.
    """
    found = layouts.candidates(transfer.vector)
    if len(found) != 1 or found[0].shape != tuple(ir.ShapedType(transfer.vector.type).shape):
        raise Refusal("the layout of a transfer is not known")
    return found[0]


def _is_in_lds(transfer: NamedTransfer) -> bool:
    """Returns whether a tile in the LDS is read or written."""
    return WORKGROUP in str(transfer.memory.type)


def _is_mask(transfer: NamedTransfer, keys: DimensionClass) -> bool:
    """Returns whether lanes read rows along the keys from global memory."""
    last = len(ir.ShapedType(transfer.memory.type).shape) - 1
    return (
        transfer.kind is AccessKind.READ
        and not _is_in_lds(transfer)
        and bool(transfer.memory_dims)
        and transfer.memory_dims[-1] == last
        and not keys.digits.isdisjoint(transfer.names[-1])
    )
