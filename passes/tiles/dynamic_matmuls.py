# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls with sizes that only the program knows, as matrix instructions compute them.

The configuration is one for IREE's pipeline VectorDistribute, which counts elements:

    lowering_config = #iree_gpu.lowering_config<{
        mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1],
        reduction = [0, 0, 64], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [64, 64, 0]}>

Tiles need not divide the sizes, which are rounded up (`passes/shapes/enlarged_shapes.py`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from iree.compiler import ir

from ...bank_model.tile_cost import MatmulTile
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.gpu_target import gpu_target_of
from ...dialect_utils.lowering_config import (
    CONFIG,
    MMA_KIND,
    REDUCTION,
    TRANSLATION_INFO,
    WORKGROUP,
    LoweringConfig,
    WarpLaunch,
    changed_info,
    loops_of,
    roots_in,
)
from ..shapes.enlarged_shapes import EnlargedShapes, check_zeros, enlarged_shapes
from .attention_tiles import BASIS, basis_attribute, promoting, rounded_up
from .matmul_tiles import GENERIC, PROMOTED, WarpTiledMatmul, is_filled
from .scalar_attention import LANE_BASIS
from .scalar_contractions import multiplies_and_adds
from .tiled_operation import Circumstances, Maps, TiledOperation, loop_sizes

Tiled = TypeVar("Tiled", bound=TiledOperation[Any])

_OPERANDS = 3
_TYPICAL_SIZES = (32, 256, 2048)
"""What the sizes may be that the program computes."""
_STEP = 32
"""The summed elements of a step that all instructions divide, but for the deepest ones."""
_ROUND = 256
"""What the typical sizes count as where a tile has to divide them."""


@dataclass(frozen=True)
class DynamicMatmul(WarpTiledMatmul):
    """A matmul of dynamic sizes in IREE's VectorDistribute, whose configurations count elements.

    Attributes:
        kind: the matrix instruction.
    """

    kind: ir.Attribute

    def attributes(self, tile: MatmulTile) -> dict[str, ir.Attribute]:
        """Returns the attributes of the operation and, as `TRANSLATION_INFO`, of its function."""
        context, count = self.operation.context, len(self.extents)
        row, column, summed = self.loops
        single = {loop: 1 for loop in range(count) if loop not in self.loops}
        warps, order = {row: tile.row_warps, column: tile.column_warps}, list(range(count))
        basis = basis_attribute([warps.get(loop, 1) for loop in order], order, context)
        tiles = {
            WORKGROUP: single | {row: tile.rows, column: tile.columns},
            REDUCTION: {summed: tile.summed},
        }
        entries = {MMA_KIND: self.kind, **promoting((0, 1), context), BASIS: basis}
        config = LoweringConfig(entries).with_tiles(count, tiles, context)
        pipeline = ir.Attribute.parse("#iree_gpu.pipeline<VectorDistribute>", context)
        info = changed_info(self.launch.with_warps(tile.warps), pipeline=pipeline)
        return {CONFIG: config.attribute(context), TRANSLATION_INFO: info}


def dynamic_matmul(
    function: ir.Operation, circumstances: Circumstances | None, test_target: str | None = None
) -> tuple[DynamicMatmul, EnlargedShapes] | None:
    """Returns the matmul of dynamic sizes of `function`, with the tile that is best for it, and the
    shapes that values get with that.

    None stands for a function without one by scalar instructions.

    Raises:
        Refusal: there is one that matrix instructions cannot compute.
    """
    root = scalar_matmul_root(function)
    if root is None:
        return None
    loops = ScalarLoops.of(function, root)
    if not loops.computed:
        return None
    kind = matrix_instruction(function, root, test_target)
    shape = LoweringConfig({MMA_KIND: kind}).instruction
    tile, launch = MatmulTile(1, 1, _STEP, 1, 1), WarpLaunch.as_row(function)
    of_root = (root, loops.extents, launch, tile, loops.tiled, shape, kind)
    matmul = DynamicMatmul(*of_root, computed=loops.computed)
    tiles = [each for each in matmul.enlarging_candidates() if matmul.enlarged(each).takes(each)]
    enlarged = [matmul.enlarged(each) for each in tiles]
    best = fastest(enlarged, circumstances)
    if best is None:
        raise Refusal("no tile of matrix instructions fits in the LDS")
    return best, rounded_shapes(best, best.loops)


@dataclass(frozen=True)
class ScalarLoops:
    """The loops of a matmul that IREE computes by scalar instructions.

    Attributes:
        extents: how long each loop is, and `_ROUND` where the program computes that.
        computed: the loops whose lengths the program computes.
        tiled: those over rows, columns and summed elements that a tile has more than one of.
    """

    extents: tuple[int, ...]
    computed: frozenset[int]
    tiled: tuple[int, int, int]

    @staticmethod
    def of(function: ir.Operation, root: ir.Operation) -> ScalarLoops:
        """Returns the loops of the matmul that decides on the workgroups of a function.

        Raises:
            Refusal: it cannot be tiled otherwise than IREE does.
        """
        maps = loops_of(root)
        sizes = loop_sizes(root, maps, range(_OPERANDS))
        computed = frozenset(loop for loop, size in enumerate(sizes) if size == DYNAMIC)
        if not is_filled(root.operands[2], function):
            raise Refusal("it adds to a matrix from memory")
        extents = tuple(_ROUND if loop in computed else size for loop, size in enumerate(sizes))
        loops = _tiled_loops(maps, extents, computed)
        if sorted(loops) != list(loops):
            # IREE 3.13 would give the fragments of `mma.sync` the order of the loops.
            raise Refusal("its rows, columns and summed elements are loops in another order")
        return ScalarLoops(extents, computed, loops)


def scalar_matmul_root(function: ir.Operation) -> ir.Operation | None:
    """Returns the matmul that decides on the workgroups of a function, if it is by scalars.

    One whose lanes have tiles of operands in the LDS is none.
    """
    roots = roots_in(function)
    if len(roots) != 1 or roots[0].name != GENERIC or len(roots[0].operands) != _OPERANDS:
        return None
    (root,) = roots
    if MMA_KIND in LoweringConfig.of(root.attributes[CONFIG]).entries or is_tiled_by_lanes(root):
        return None
    return root if any(multiplies_and_adds(root, *body) for body in _BODIES) else None


def is_tiled_by_lanes(root: ir.Operation) -> bool:
    """Returns whether lanes have tiles of the operands of a matmul in the LDS."""
    try:
        entries = LoweringConfig.of(root.attributes[CONFIG]).entries
    except Refusal:
        return False
    return {LANE_BASIS, PROMOTED} <= entries.keys()


_BODIES = (
    ("arith.mulf", "arith.addf", "arith.extf"),
    ("arith.mulf", "arith.addf", ""),
    ("arith.muli", "arith.addi", "arith.extsi"),
)
"""How a matmul multiplies, adds, and widens what it multiplies."""


def _tiled_loops(
    maps: Maps, extents: tuple[int, ...], computed: frozenset[int]
) -> tuple[int, int, int]:
    """Returns the loops over rows, columns and summed elements that a tile has more than one of.

    Where rows or columns are several loops, it is the longest one, and a computed one before others
    of its length.

    Raises:
        Refusal: there are no rows, no columns, or not one loop of summed elements.
    """
    a, b, c = (frozenset(each) for each in maps)
    parts = {"rows": (a & c) - b, "columns": (b & c) - a, "summed elements": (a & b) - c}
    if c.union(*parts.values()) != {*range(len(extents))} or len(parts["summed elements"]) != 1:
        raise Refusal("it sums over other loops than one of both operands")
    for name, found in parts.items():
        if not found:
            raise Refusal(f"it has no {name}")
    rows, columns, summed = (
        max(found, key=lambda loop: (extents[loop], loop in computed, loop))
        for found in parts.values()
    )
    return rows, columns, summed


def matrix_instruction(
    function: ir.Operation, root: ir.Operation, test_target: str | None
) -> ir.Attribute:
    """Returns the matrix instruction with the most summed elements for a matmul.

    Raises:
        Refusal: the GPU has none.
    """
    a, b, c = (str(ir.ShapedType(each.type).element_type).upper() for each in root.operands)
    target = gpu_target_of(function, test_target)
    listed = () if target is None else target.matrix_instructions
    wanted = re.compile(rf"\w+_{c}_16x\d+x\d+_{a}")
    found = [each for each in listed if wanted.fullmatch(each)]
    if a != b or not found:
        raise Refusal(f"there is no matrix instruction for {a.lower()}, {b.lower()}, {c.lower()}")

    def attribute(name: str) -> ir.Attribute:
        return ir.Attribute.parse(f"#iree_gpu.mma_layout<{name}>", function.context)

    return max(map(attribute, found), key=_depth)


def _depth(kind: ir.Attribute) -> int:
    return LoweringConfig({MMA_KIND: kind}).instruction[2]


def fastest(tiled: Sequence[Tiled], circumstances: Circumstances | None) -> Tiled | None:
    """Returns the operation with the tile that is predicted to take the least time.

    Where the program computes sizes, that is in the geometric mean over typical ones. None stands
    for tiles of which none fits in the LDS.

    Args:
        tiled: the operation with each of its tiles, and sizes that the tile divides.
        circumstances: None for a GPU without a model, where the first tile is taken.
    """
    if circumstances is None:
        return tiled[0] if tiled else None
    known = circumstances
    ways = [
        replace(each, tile=tile)
        for each in tiled
        for tile in known.ways(each.with_typical(max(_TYPICAL_SIZES)), each.tile)
    ]
    best = min(ways, key=lambda each: _cost(each, known), default=None)
    return None if best is None or _cost(best, known) == math.inf else best


def _cost(tiled: TiledOperation[Any], circumstances: Circumstances) -> float:
    """Returns the logarithm of the predicted time in the mean over typical sizes."""
    total = 0.0
    for size in _TYPICAL_SIZES:
        typical = tiled.with_typical(size)
        extents = rounded_up(typical.extents, tiled.multiples)
        work = circumstances.work(replace(typical, extents=extents), tiled.tile)
        total += math.log(circumstances.time(work))
    return total


def rounded_shapes(matmul: TiledOperation[Any], loops: tuple[int, int, int]) -> EnlargedShapes:
    """Returns the shapes that values get with the sizes of a matmul.

    Args:
        loops: those over rows, columns and summed elements.

    Raises:
        Refusal: something uses the matmul or its operands that cannot have other sizes.
    """
    maps, operation = loops_of(matmul.operation), matmul.operation
    shapes = enlarged_shapes(operation, maps, dict(enumerate(matmul.sizes)))
    true = loop_sizes(operation, maps, range(_OPERANDS))
    if true[loops[2]] != matmul.sizes[loops[2]]:
        for number in matmul.multiplied:
            check_zeros(operation.operands[number], shapes)
    return shapes
