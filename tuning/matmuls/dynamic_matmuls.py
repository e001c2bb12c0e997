# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls with sizes that only the program knows, as matrix instructions compute them.

The configuration is one for IREE's pipeline VectorDistribute, which counts elements:

    lowering_config = #iree_gpu.lowering_config<{
        mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1],
        reduction = [0, 0, 64], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [64, 64, 0]}>

Tiles need not divide the sizes, which are rounded up (`tuning/shapes/enlarged_shapes.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import inf, log, prod
from typing import Any, ClassVar, Self, TypeVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.gpu_target import gpu_target_of
from ...dialect_utils.indexing_maps import loops_of
from ...dialect_utils.lowering_config import (
    BASIS,
    CONFIG,
    MMA_KIND,
    PROMOTED,
    REDUCTION,
    THREAD,
    TRANSLATION_INFO,
    WORKGROUP,
    LoweringConfig,
    WarpLaunch,
    basis_attribute,
    changed_info,
    promoting,
)
from ...dialect_utils.operations import has_no_numbers
from ..costs.least_cost import least_cost
from ..costs.tile_cost import MatmulTile, TileWork
from ..shapes.enlarged_shapes import EnlargedShapes, check_zeros, enlarged_shapes
from ..tiles.lane_tiled import is_tiled_by_lanes
from ..tiles.size_ranges import SIZES, asked_sizes
from ..tiles.tiled_operation import Circumstances, Maps, TiledOperation, loop_sizes, rounded_up
from .matmul_tiles import WarpTiledMatmul, generic_root, is_filled
from .scalar_contractions import multiplies_and_adds

Tiled = TypeVar("Tiled", bound=TiledOperation[Any])

_OPERANDS = 3
_STEP = 32
"""The summed elements of a step that all instructions divide, but for the deepest ones."""
_ROUND = 256
"""What the sizes count as where a tile has to divide them."""


@dataclass(frozen=True)
class DynamicMatmul(WarpTiledMatmul):
    """A matmul of dynamic sizes in IREE's VectorDistribute, whose configurations count elements.

    Attributes:
        kind: the matrix instruction.
    """

    kind: ir.Attribute

    more_sizes: ClassVar[tuple[int, ...]] = (16, *WarpTiledMatmul.more_sizes)
    steps: ClassVar[tuple[int, ...]] = (*WarpTiledMatmul.steps, 128)

    def tilings(self, sizes: Sequence[int] = ()) -> list[Self]:
        """Returns the matmul with each of its tiles, and with sizes that these divide.

        Other tiles than powers of two can divide a size that is known.

        Args:
            sizes: the rows and columns of the tiles; none stands for all that tiles may have.
        """
        enlarged = (self.enlarged(tile) for tile in self.enlarging_candidates(sizes))
        computed = self.computed.intersection(self.loops)
        return [
            each
            for each in enlarged
            if each.takes(each.tile)
            and all(each.multiples[loop].bit_count() == 1 for loop in computed)
        ]

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
    function: ir.Operation,
    circumstances: Circumstances | None,
    test_target: str | None = None,
    *,
    known_sizes: bool = False,
) -> tuple[DynamicMatmul, EnlargedShapes] | None:
    """Returns the matmul of dynamic sizes of `function`, with the tile that is best for it, and the
    shapes that values get with that.

    None stands for a function without one by scalar instructions.

    Args:
        known_sizes: whether its sizes may all be known, too.

    Raises:
        Refusal: there is one that matrix instructions cannot compute.
    """
    root = scalar_matmul_root(function)
    if root is None or (known_sizes and not is_tiled_by_threads(root)):
        return None
    loops = ScalarLoops.of(function, root)
    if not loops.computed and not known_sizes:
        return None
    matmul = planned_matmul(function, root, loops, WarpLaunch.as_row(function), test_target)
    best = fastest(matmul.tilings(), loops.tiled[2], circumstances, loops.sizes(root))
    if best is None:
        raise Refusal("no tile of matrix instructions fits in the LDS")
    return best, rounded_shapes(best, best.loops)


def planned_matmul(
    function: ir.Operation,
    root: ir.Operation,
    loops: ScalarLoops,
    launch: WarpLaunch,
    test_target: str | None,
) -> DynamicMatmul:
    """Returns a matmul as matrix instructions compute it, with no tile yet.

    Args:
        loops: those of the matmul.
        launch: the lanes of a workgroup.

    Raises:
        Refusal: matrix instructions cannot compute it.
    """
    kind = matrix_instruction(function, root, test_target)
    shape = LoweringConfig({MMA_KIND: kind}).instruction
    tile = MatmulTile(1, 1, _STEP, 1, 1)
    of_root = (root, loops.extents, launch, tile, loops.tiled, shape, kind)
    return DynamicMatmul(*of_root, computed=loops.computed)


class ScalarLoops(NamedTuple):
    """The loops of a matmul that IREE computes by scalar instructions.

    Attributes:
        extents: how long each loop is, and `_ROUND` where the program computes that.
        computed: the loops whose lengths the program computes.
        tiled: those over rows, columns and summed elements that a tile has more than one of.
    """

    extents: tuple[int, ...]
    computed: frozenset[int]
    tiled: tuple[int, int, int]

    @property
    def asked(self) -> int | None:
        """Returns the loop with more than one element in a tile whose length is computed.

        None stands for several such loops, of which nothing is known together.
        """
        computed = self.computed.intersection(self.tiled)
        return next(iter(computed)) if len(computed) == 1 else None

    def sizes(self, root: ir.Operation) -> Sequence[int]:
        """Returns what the program may compute for the matmul whose loops these are."""
        return SIZES if self.asked is None else asked_sizes(root, self.asked)

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
    root = generic_root(function)
    if root is None:
        return None
    if MMA_KIND in LoweringConfig.of(root.attributes[CONFIG]).entries or is_tiled_by_lanes(root):
        return None
    return root if multiplies(root) else None


def is_tiled_by_threads(root: ir.Operation) -> bool:
    """Returns whether each thread computes some elements of a matmul in IREE's TileAndFuse."""
    try:
        entries = LoweringConfig.of(root.attributes[CONFIG]).entries.keys()
    except Refusal:
        return False
    return entries - {PROMOTED} == {REDUCTION, THREAD, WORKGROUP}


def threads_microseconds(
    function: ir.Operation, root: ir.Operation, circumstances: Circumstances
) -> float:
    """Returns how long a matmul of known sizes takes at least that threads compute.

    Nothing is counted but what a step waits for its operands, which no step loads for the next one.
    Of f32 4x120x480, of which IREE sums 4 elements a step, 43 us are predicted on gfx942, and the
    model of `emulator/timing/` says 65.

    Raises:
        Refusal: something else computes it, or not all its sizes are known.
    """
    loops, config = ScalarLoops.of(function, root), LoweringConfig.of(root.attributes[CONFIG])
    if loops.computed or not is_tiled_by_threads(root):
        raise Refusal("no threads compute a matmul of known sizes")
    summed, count = loops.tiled[2], len(loops.extents)
    tile, step = config.per_loop(WORKGROUP, count), config.per_loop(REDUCTION, count)[summed]
    shares = zip(loops.extents, tile, strict=True)
    workgroups = prod(-(-extent // size) for extent, size in shares if size)
    steps = -(-loops.extents[summed] // (step or loops.extents[summed]))
    warps = WarpLaunch.as_row(function).warps
    return circumstances.time(TileWork(workgroups, warps, steps, 0, 0, 0, 0, 1, 0, slots=1))


def multiplies(root: ir.Operation) -> bool:
    """Returns whether the body of an operation is that of a matmul."""
    return has_no_numbers(root) and any(multiplies_and_adds(root, *body) for body in _BODIES)


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


def fastest(
    tiled: Sequence[Tiled],
    summed: int,
    circumstances: Circumstances | None,
    sizes: Sequence[int] = SIZES,
) -> Tiled | None:
    """Returns the operation with the tile that is predicted to take the least time.

    Where the program computes sizes, that is in the geometric mean over some. None stands for tiles
    of which none fits in the LDS.

    Args:
        tiled: the operation with each of its tiles, and sizes that the tile divides.
        summed: the loop over the summed elements.
        circumstances: None for a GPU without a model, where the first tile is taken.
        sizes: what the program may compute.
    """
    if circumstances is None:
        return tiled[0] if tiled else None

    def cost(number: int) -> tuple[float, Tiled]:
        found = predicted_logarithms(tiled[number : number + 1], summed, circumstances, sizes)
        slotted, logarithms = min(found, key=lambda each: sum(each[1]))
        return sum(logarithms), slotted

    bounds = [-inf] * len(tiled)
    if tiled and not tiled[0].computed:
        times = tiled[0].least_times(tiled, circumstances)
        bounds = [log(time) if time else -inf for time in times]
    best = least_cost(bounds, cost)
    return None if best is None or best[0] == inf else best[1]


def predicted_logarithms(
    tiled: Sequence[Tiled], summed: int, circumstances: Circumstances, sizes: Sequence[int]
) -> Iterator[tuple[Tiled, list[float]]]:
    """Yields the operation with each tile and number of slots, and the logarithms of its times.

    There is one for each of the sizes that the program may compute, and a single one where it
    computes none.
    """
    for each in tiled:
        known = [each.typical(size) for size in sizes] if each.computed else [each.extents]
        rounded = [rounded_up(extents, each.multiples) for extents in known]
        longest = each if rounded[-1] == each.extents else each.changed(extents=rounded[-1])
        for tile in circumstances.ways(longest, each.tile):
            work = longest.work(tile, circumstances)
            logarithms = {
                extents: log(circumstances.time(_scaled(work, summed, rounded[-1], extents)))
                for extents in {*rounded}
            }
            found = each if tile == each.tile else each.changed(tile=tile)
            yield found, [logarithms[extents] for extents in rounded]


def _scaled(work: TileWork, summed: int, extents: Sequence[int], others: Sequence[int]) -> TileWork:
    """Returns the work of a workgroup where loops have other lengths, which the tile divides."""
    if others == extents:
        return work
    steps = work.steps * others[summed] // extents[summed]
    parts = work.workgroups * prod(others) * extents[summed] // (prod(extents) * others[summed])
    return work._replace(workgroups=parts, steps=steps)


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
