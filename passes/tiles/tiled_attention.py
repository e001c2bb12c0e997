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

from iree.compiler import ir

from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.lowering_config import (
    CONFIG,
    REDUCTION,
    WORKGROUP,
    LoweringConfig,
    loops_of,
    roots_in,
)

ATTENTION = "iree_linalg_ext.online_attention"
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
