# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The loops of a configured attention, and the tiles that IREE has chosen for them.

An `iree_linalg_ext.online_attention` has one loop for each dimension of its `indexing_maps`; in

    Q (b, m, k1), K (b, k2, k1), V (b, k2, n), output (b, m, n)

a workgroup computes a tile of b, m and n, and goes over k2 in steps. Its `lowering_config` says how
long the tiles are, with 0 where a loop is not tiled:

    #iree_gpu.lowering_config<{reduction = [0, 0, 0, 0, 64], workgroup = [1, 64, 32, 0, 0]}>
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from iree.compiler import ir

from .diagnostics import Refusal
from .dynamic_sizes import DYNAMIC
from .element_types import element_bits
from .lowering_config import (
    CONFIG,
    REDUCTION,
    WORKGROUP,
    LoweringConfig,
    loops_of,
    numbers_attribute,
    roots_in,
)

ATTENTION = "iree_linalg_ext.online_attention"
TILE_IS_CHOSEN = "bankwise.tile_is_chosen"
"""An attribute of an operation whose tile was compared with others, and stands."""
_Q, _K, _V = range(3)
_OUTPUT = -3
"""The place of the output's map: those of the rows' maxima and sums follow."""


@dataclass(frozen=True)
class TiledAttention:
    """An attention whose sizes are known.

    Attributes:
        maps: the loops of each operand's dimensions, in the order of `indexing_maps`.
        extents: how long each loop is.
        workgroup: how much of each loop a workgroup computes; 0 for all of it.
        reduction: how much of each loop it computes at once; 0 for all of it.
    """

    operation: ir.Operation
    maps: tuple[tuple[int, ...], ...]
    extents: tuple[int, ...]
    workgroup: tuple[int, ...]
    reduction: tuple[int, ...]

    @property
    def columns(self) -> tuple[int, ...]:
        """Returns the loops over the output's columns: those of V that scores do not depend on."""
        scores = {*self.maps[_Q], *self.maps[_K]}
        return tuple(d for d in self.maps[_V] if d in self.maps[_OUTPUT] and d not in scores)

    @property
    def rows(self) -> tuple[int, ...]:
        """Returns the loops over the output's rows: those of Q of which a workgroup has a part."""
        return tuple(d for d in self.maps[_Q] if d in self.maps[_OUTPUT] and self.workgroup[d] > 1)

    @property
    def workgroups(self) -> int:
        """Returns how many workgroups there are."""
        pairs = zip(self.extents, self.workgroup, strict=True)
        return prod(-(-extent // tile) for extent, tile in pairs if tile)

    @property
    def output_elements(self) -> int:
        """Returns how many elements of the output a workgroup computes."""
        return self._elements(_OUTPUT)

    @property
    def scores(self) -> int:
        """Returns how many scores a workgroup computes at once."""
        summed = {*self.maps[_Q]} & {*self.maps[_K]} - {*self.maps[_OUTPUT]}
        loops = {*self.maps[_Q], *self.maps[_K]} - summed
        return prod(self._size(loop) for loop in loops)

    @property
    def query_bits(self) -> int:
        """Returns how many bits of Q a workgroup reads.

        Raises:
            Refusal: its elements have no known size.
        """
        return self._elements(_Q) * self.element_bits_of(_Q)

    @property
    def operand_bytes(self) -> int:
        """Returns the bytes of Q, K and V that a workgroup holds at once.

        Raises:
            Refusal: their elements have no known size.
        """
        bits = sum(self._elements(each) * self.element_bits_of(each) for each in (_Q, _K, _V))
        return -(-bits // 8)

    def with_tile(self, loop: int, tile: int) -> TiledAttention:
        """Returns the attention with another tile of `loop`; its operation stays as it is."""
        tiles = (*self.workgroup[:loop], tile, *self.workgroup[loop + 1 :])
        return TiledAttention(self.operation, self.maps, self.extents, tiles, self.reduction)

    def configure(self) -> None:
        """Makes the tiles of the workgroup those of the operation."""
        context = self.operation.context
        config = LoweringConfig.of(self.operation.attributes[CONFIG])
        tiles = {WORKGROUP: numbers_attribute(self.workgroup, context)}
        self.operation.attributes[CONFIG] = config.with_entries(**tiles).attribute(context)

    def _elements(self, operand: int) -> int:
        return prod(self._size(loop) for loop in self.maps[operand])

    def _size(self, loop: int) -> int:
        """Returns how much of a loop a workgroup computes at once."""
        return self.reduction[loop] or self.workgroup[loop] or self.extents[loop]

    def element_bits_of(self, operand: int) -> int:
        """Returns the bits of an element of Q, K or V.

        Raises:
            Refusal: they have no known size.
        """
        kind = ir.ShapedType(self.operation.operands[operand].type).element_type
        bits = element_bits(kind)
        if bits is None:
            raise Refusal(f"elements of {kind} have no known size")
        return bits


def only_attention(function: ir.Operation) -> TiledAttention | None:
    """Returns the attention that alone decides on the workgroups of `function`, if there is one.

    Raises:
        Refusal: there is one, but its loops or tiles are not known.
    """
    roots = roots_in(function)
    if [operation.name for operation in roots] != [ATTENTION]:
        return None
    return _read(roots[0])


def _read(operation: ir.Operation) -> TiledAttention:
    maps = loops_of(operation)
    affine = ir.AffineMapAttr(ir.ArrayAttr(operation.attributes["indexing_maps"])[0])
    loops = affine.value.n_dims
    extents = [0] * loops
    for operand in (_Q, _K, _V):
        sizes = ir.ShapedType(operation.operands[operand].type).shape
        for loop, size in zip(maps[operand], sizes, strict=True):
            extents[loop] = size
    if DYNAMIC in extents:
        raise Refusal("its sizes are not all known")
    config = LoweringConfig.of(operation.attributes[CONFIG])
    workgroup, reduction = (config.per_loop(name, loops) for name in (WORKGROUP, REDUCTION))
    return TiledAttention(operation, maps, tuple(extents), workgroup, reduction)
