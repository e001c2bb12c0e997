# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a matmul of IREE's TileAndFuse is spread over workgroups and warps.

A `linalg.generic` that multiplies matrices, C (m, n) += A (m, k) * B (k, n), with any batch
dimensions and orders of dimensions, carries its tiles:

    lowering_config = #iree_gpu.lowering_config<{
        mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1],
        reduction = [0, 0, 8], subgroup = [2, 4, 0], workgroup = [64, 128, 0]}>

`workgroup` counts elements, `subgroup` and `reduction` count matrix instructions: here each of two
by two waves computes 2 x 4 tiles of 16 x 16 elements, and sums 8 times 16 elements a step.

A matmul of another form is refused with the reason. Convolutions among them: which elements of an
image a tile of a window needs is not this module's affair.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from iree.compiler import ir

from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.lowering_config import (
    CONFIG,
    REDUCTION,
    TRANSLATION_INFO,
    WORKGROUP,
    LoweringConfig,
    WarpLaunch,
    loops_of,
    numbers_attribute,
    roots_in,
)
from ...dialect_utils.operations import operations_in

_GENERIC = "linalg.generic"
_SUBGROUP = "subgroup"
_PROMOTED = "promote_operands"
_ADDED_LATER = "convert_acc_gemm"
"""The entry that makes IREE add the products to C when all of them are summed."""
_A, _B, _C = range(3)


@dataclass(frozen=True)
class MatmulTiling:
    """What a workgroup of a matmul computes.

    Attributes:
        rows, columns: of its part of C.
        summed: elements of a row of A that it sums in one trip of its loop.
        row_warps, column_warps: how many warps share the rows, and the columns.
    """

    rows: int
    columns: int
    summed: int
    row_warps: int
    column_warps: int

    @property
    def warps(self) -> int:
        """Returns the warps of the workgroup."""
        return self.row_warps * self.column_warps

    def __str__(self) -> str:
        return (
            f"{self.rows} x {self.columns}, {self.summed} a step, "
            f"{self.row_warps} x {self.column_warps} warps"
        )


@dataclass(frozen=True)
class WarpTiledMatmul:
    """A matmul, its tile, and the instruction that multiplies.

    Attributes:
        loops: the numbers of the loops over rows, columns and summed elements.
        extents: how long each loop is.
        instruction: rows, columns and summed elements of the matrix instruction.
    """

    operation: ir.Operation
    launch: WarpLaunch
    loops: tuple[int, int, int]
    extents: tuple[int, ...]
    tile: MatmulTiling
    instruction: tuple[int, int, int]

    @property
    def batch(self) -> int:
        """Returns how many matmuls there are."""
        return prod(self.extents) // (self.rows * self.columns * self.summed)

    @property
    def rows(self) -> int:
        """Returns the rows of C."""
        return self.extents[self.loops[0]]

    @property
    def columns(self) -> int:
        """Returns the columns of C."""
        return self.extents[self.loops[1]]

    @property
    def summed(self) -> int:
        """Returns the columns of A."""
        return self.extents[self.loops[2]]

    @property
    def element_bits(self) -> int:
        """Returns the bits of an element of A, as wide as those of B.

        Raises:
            Refusal: they differ, or have no known size.
        """
        kinds = [ir.ShapedType(self.operation.operands[each].type) for each in (_A, _B)]
        bits = {element_bits(kind.element_type) for kind in kinds}
        if len(bits) != 1 or None in bits:
            raise Refusal("the elements of its operands differ in size, or have none that is known")
        return next(each for each in bits if each is not None)

    def takes(self, tile: MatmulTiling) -> bool:
        """Returns whether the loops and the instruction divide evenly into such tiles."""
        m, n, k = self.instruction
        return not (
            self.rows % tile.rows
            or self.columns % tile.columns
            or self.summed % tile.summed
            or tile.rows % (tile.row_warps * m)
            or tile.columns % (tile.column_warps * n)
            or tile.summed % k
        )

    def attributes(self, tile: MatmulTiling) -> dict[str, ir.Attribute]:
        """Returns the attributes of the operation and, as `TRANSLATION_INFO`, of its function."""
        context = self.operation.context
        config = LoweringConfig.of(self.operation.attributes[CONFIG])
        m, n, k = self.instruction
        loops = len(self.extents)
        by_warp = tile.rows // tile.row_warps // m, tile.columns // tile.column_warps // n
        changed = {
            WORKGROUP: (tile.rows, tile.columns, None),
            _SUBGROUP: (*by_warp, None),
            REDUCTION: (None, None, tile.summed // k),
        }
        entries: dict[str, ir.Attribute] = {}
        for name, sizes in changed.items():
            numbers = list(config.per_loop(name, loops))
            for loop, size in zip(self.loops, sizes, strict=True):
                numbers[loop] = numbers[loop] if size is None else size
            entries[name] = numbers_attribute(numbers, context)
        return {
            CONFIG: config.with_entries(**entries).attribute(context),
            TRANSLATION_INFO: self.launch.with_warps(tile.warps),
        }

    def configure(self, function: ir.Operation, tile: MatmulTiling) -> None:
        """Makes `tile` that of the operation in its function."""
        attributes = self.attributes(tile)
        function.attributes[TRANSLATION_INFO] = attributes[TRANSLATION_INFO]
        self.operation.attributes[CONFIG] = attributes[CONFIG]


def warp_tiled_matmul(function: ir.Operation) -> WarpTiledMatmul | None:
    """Returns the matmul that decides on the workgroups of `function`, if there is one.

    Raises:
        Refusal: there is one, but of another form than this module describes.
    """
    roots = roots_in(function)
    if not any(_multiplies(each) for each in roots):
        return None
    if len(roots) != 1:
        raise Refusal("several operations decide on the workgroups")
    (operation,) = roots
    if operation.name != _GENERIC or len(operation.operands) != 3:
        raise Refusal(f"{operation.name} is no product of two matrices that is known")
    config = LoweringConfig.of(operation.attributes[CONFIG])
    config.only(("mma_kind", _PROMOTED, REDUCTION, _SUBGROUP, WORKGROUP), (_ADDED_LATER,))
    if config.numbers(_PROMOTED) != (_A, _B):
        raise Refusal("not its two operands are staged in the LDS")
    if not (_ADDED_LATER in config.entries or _is_filled(operation.operands[_C], function)):
        raise Refusal("what it adds to is staged in the LDS too")
    maps = loops_of(operation)
    extents = _extents(operation, maps)
    loops = _parts(maps, len(extents))
    launch = WarpLaunch.of(function)
    tile = _tile(config, loops, extents)
    matmul = WarpTiledMatmul(operation, launch, loops, extents, tile, config.instruction)
    if tile.warps != launch.warps:
        raise Refusal("it is not spread over all warps of the workgroup")
    if not matmul.takes(tile):
        raise Refusal("its tiles do not divide its sizes")
    return matmul


def _multiplies(root: ir.Operation) -> bool:
    try:
        return "mma_kind" in LoweringConfig.of(root.attributes[CONFIG]).entries
    except Refusal:
        return False


def _is_filled(value: ir.Value, function: ir.Operation) -> bool:
    # To ask the value for its operation would import the bindings' module of linalg: 65 ms.
    fills = operations_in(function, "linalg.fill")
    return any(value == result for fill in fills for result in fill.results)


def _extents(operation: ir.Operation, maps: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    sizes: dict[int, int] = {}
    for value, loops in zip(operation.operands, maps, strict=True):
        sizes.update(zip(loops, ir.ShapedType(value.type).shape, strict=True))
    if DYNAMIC in sizes.values():
        raise Refusal("its sizes are not all known")
    if {*sizes} != {*range(len(sizes))}:
        raise Refusal("not all of its loops are known")
    return tuple(sizes[loop] for loop in range(len(sizes)))


def _parts(maps: tuple[tuple[int, ...], ...], loops: int) -> tuple[int, int, int]:
    a, b, c = (frozenset(each) for each in maps)
    rows, columns, summed = (a & c) - b, (b & c) - a, (a & b) - c
    for name, part in (("rows", rows), ("columns", columns), ("summed elements", summed)):
        if len(part) != 1:
            raise Refusal(f"its {name} are no single loop")
    if (a & b & c) | rows | columns | summed != {*range(loops)}:
        raise Refusal("not all of its loops are known")
    return next(iter(rows)), next(iter(columns)), next(iter(summed))


def _tile(
    config: LoweringConfig, loops: tuple[int, int, int], extents: tuple[int, ...]
) -> MatmulTiling:
    m, n, k = config.instruction
    names = (WORKGROUP, _SUBGROUP, REDUCTION)
    sizes = {name: config.per_loop(name, len(extents)) for name in names}
    row, column, summed = loops
    batch = {*range(len(extents))} - {*loops}
    tiled = {name: {loop for loop, size in enumerate(sizes[name]) if size} for name in names}
    if (
        tiled != {WORKGROUP: {row, column} | batch, _SUBGROUP: {row, column}, REDUCTION: {summed}}
        or any(sizes[WORKGROUP][loop] != 1 for loop in batch)
    ):  # fmt: skip
        raise Refusal("its loops are tiled otherwise than rows, columns and summed elements")
    workgroup, warp = sizes[WORKGROUP], sizes[_SUBGROUP]
    by_warp = warp[row] * m, warp[column] * n
    shares = workgroup[row] // by_warp[0], workgroup[column] // by_warp[1]
    if (shares[0] * by_warp[0], shares[1] * by_warp[1]) != (workgroup[row], workgroup[column]):
        raise Refusal("its warps do not share its tile evenly")
    return MatmulTiling(workgroup[row], workgroup[column], sizes[REDUCTION][summed] * k, *shares)
