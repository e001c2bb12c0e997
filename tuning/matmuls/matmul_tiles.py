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

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from math import ceil, gcd, prod
from typing import ClassVar, Self

from iree.compiler import ir

from ...bank_model.descriptor_tiles import CYCLE_BYTES
from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.copy_slots import noted_slots
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.indexing_maps import GENERIC, loops_of
from ...dialect_utils.lowering_config import (
    CONFIG,
    PROMOTED,
    REDUCTION,
    TRANSLATION_INFO,
    WORKGROUP,
    LoweringConfig,
    WarpLaunch,
    only_root,
    roots_in,
)
from ...dialect_utils.operations import (
    defining_operation,
    has_no_numbers,
    operations_in,
    parents_of,
)
from ..costs.gathered_copies import Gather
from ..costs.later_arithmetic import later_instructions
from ..costs.processors import Processor
from ..costs.tile_cost import PATH_BYTES, MatmulTile, TileWork, matmul_work, with_later
from ..shapes.enlarged_shapes import (
    LOAD,
    binding_of,
    gathered,
    has_enlarged_bindings,
    true_shape,
)
from ..shapes.strided_buffers import StridedBuffer
from ..tiles.tiled_operation import (
    Circumstances,
    Maps,
    TiledOperation,
    loop_extents,
    of_operation,
    single_loops,
)

SUBGROUP = "subgroup"
ADDED_LATER = "convert_acc_gemm"
"""The entry that makes IREE add the products to C when all of them are summed."""
PADDING = "padding"
_A, _B, _C = range(3)

_SIZES = (32, 64, 128, 256)
_COPIED_BYTES, _WORD_BYTES, _COPY_INSTRUCTIONS = 16, 4, 2.5
"""What a thread copies at once, the least that `cp.async` copies, and instructions of a copy."""
_BOUND_INSTRUCTIONS, _BOUND_OF_STEP = 5, 150
"""Instructions with which a copy finds out in each step where the summed elements end, and those of
a step besides where `wgmma` has A in registers: then 64 x 192 takes 1.2 times as long as with
`mma.sync`. Where rows and columns end is found out before the first step. Fitted to 23 tiles by
`mma.sync` of nine f16 and bf16 products of 1000 to 4304 summed elements, on an H200."""
_BOUND_DESCRIBED, _BOUND_OF_DESCRIBED_STEP = 7, 42
"""The same where descriptors give A and B; fitted with `_RUNNING_ON` (`tile_cost.py`)."""
_SECTOR_BYTES = 32
_HALF_BYTES, MODELLED_HALF_GAIN = 2, 0.065
"""The bytes of elements of which a tile needs to save less on AMD, and how much of the predicted
time. Of 20 f16 and bf16 matmuls on gfx942 of which it saves 6.5 % to 10 %, the model of
`emulator/timing/` says 6.7 % to 27 %. Of 3072x3072x3072 with B transposed, 5.1 % less are predicted
and that model says 10 % more; of 4096x4096x4096 on i8, 6.6 % less and 2.7 % more."""
_WARPS = (4, 8)
_WARPS_DOWN = (1, 2, 4, 8)
"""How many warps stand below each other."""
_FEWEST_SUMS = 128
"""How many summed elements there are at least where descriptors give operands."""
_LARGEST_SHARE = 3
"""How many times the rows that there are a tile may have whose operands descriptors give. f16
17x2304x768 and 7x3584x18944 take up to 1.07 and 1.03 times as long by `wgmma` in 64 rows as by
`mma.sync` in 32; 33x4096x4096 takes 0.6 times."""
_FEW_COLUMNS = {8: 32}
"""With fewer columns a warp multiplies each row that it loads too few times; by the columns of the
instruction, where that was measured."""
_DESCRIBED_WARPS, _DESCRIBED_COLUMNS, _DESCRIBED_STEPS = (4, 8, 12), range(32, 257, 16), (64, 128)
"""The warps, the columns and the summed elements of a step of tiles whose operands descriptors may
give. By 12 warps, 192 x 192 takes 0.82 times as long as the best tile by fewer in f16
384x12288x4096 on an H200, and 0.90 times in 3000x3000x3000; 192 x 96 takes 0.84 times as long in
140x12288x4096."""
_WHOLE_COLUMNS = 32
"""What divides the columns where they lie along the rows of B. f16 333x2048x5632, 64 rows by 4
warps, takes 1.4 times as long with 112 columns as with 128 then, and 1.0 times otherwise."""


@dataclass(frozen=True)
class WarpTiledMatmul(TiledOperation[MatmulTile]):
    """A matmul, its tile, and the instruction that multiplies.

    Attributes:
        loops: the numbers of the loops over rows, columns and summed elements.
        instruction: rows, columns and summed elements of the matrix instruction.
    """

    loops: tuple[int, int, int]
    instruction: tuple[int, int, int]

    multiplied: ClassVar[tuple[int, ...]] = (_A, _B)
    sizes_differ: ClassVar[str] = (
        "the elements of its operands differ in size, or have none that is known"
    )
    more_sizes: ClassVar[tuple[int, ...]] = tuple(range(32, 257, 32))
    """The rows and columns of tiles that need not divide the sizes."""
    steps: ClassVar[tuple[int, ...]] = (32, 64)
    """The summed elements of a step."""

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
    def modelled_gain(self) -> float:
        """Returns the part of its time that another tile must save where no time was measured."""
        return MODELLED_HALF_GAIN if self.element_bytes == _HALF_BYTES else super().modelled_gain

    @property
    def is_copied_meanwhile(self) -> bool:
        """Returns whether `cp.async` can copy the operands, where there is such a thing."""
        return not self._gathers

    @property
    def vector_bytes(self) -> int:
        """Returns the bytes of the vectors by which it copies the operands of a matmul, or 0."""
        return self._copy_bytes if self.is_copied_meanwhile else 0

    def takes(self, tile: MatmulTile) -> bool:
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

    def enlarged(self, tile: MatmulTile) -> Self:
        """Returns the matmul with sizes that such tiles divide."""
        multiples = dict(zip(self.loops, (tile.rows, tile.columns, tile.summed), strict=True))
        sizes = (
            -(-extent // multiples.get(loop, 1)) * multiples.get(loop, 1)
            for loop, extent in enumerate(self.extents)
        )
        return self.changed(extents=tuple(sizes), tile=tile, multiples=multiples)

    def candidates(self, circumstances: Circumstances) -> Iterator[MatmulTile]:
        """Yields tiles of many sizes.

        Outputs are the same bits in all of them: an element is the sum over k in the order in which
        matrix instructions take it, whatever a step holds of it.
        """
        yield from self._tiles(_SIZES)
        yield from self.described_candidates(circumstances)

    def enlarging_candidates(self, sizes: Sequence[int] = ()) -> Iterator[MatmulTile]:
        """Yields tiles of many more sizes, of which one may leave less to be computed in vain.

        All threads share their copies evenly.

        Args:
            sizes: the rows and columns of the tiles, where not all of these are asked for.
        """
        return filter(self._shares_copies, self._tiles(sizes or self.more_sizes))

    def described_candidates(self, circumstances: Circumstances) -> Iterator[MatmulTile]:
        """Yields tiles whose operands descriptors may give: each warp has the rows of an
        instruction.

        They have many numbers of columns, of which one may leave fewer multiprocessors idle.
        """
        if not circumstances.processor.described_cycles or self.element_bytes != _HALF_BYTES:
            return
        # By 12 warps no image was measured.
        counts = _WARPS if self._gathers else _DESCRIBED_WARPS
        for warps, columns, summed in product(counts, _DESCRIBED_COLUMNS, _DESCRIBED_STEPS):
            tile = MatmulTile(warps * self.instruction[0], columns, summed, warps, 1)
            is_cut = self._columns_along_rows and columns % _WHOLE_COLUMNS
            if self._shares_copies(tile) and not is_cut:
                yield tile

    def lacks_described_tiles(self, circumstances: Circumstances) -> bool:
        """Returns whether the GPU has descriptors, and none of these tiles divides the sizes."""
        tiles = [*self.described_candidates(circumstances)]
        return bool(tiles) and not any(map(self.takes, tiles))

    def _shares_copies(self, tile: MatmulTile) -> bool:
        """Returns whether all threads share the copies of a tile evenly."""
        run, threads = _COPIED_BYTES // self.element_bytes, tile.warps * self.launch.warp_size
        runs = (size * tile.summed // run for size in (tile.rows, tile.columns))
        return not any(each % threads for each in runs)

    def _tiles(self, sizes: Sequence[int]) -> Iterator[MatmulTile]:
        shares = [
            (down, warps // down) for warps in _WARPS for down in _WARPS_DOWN if down <= warps
        ]
        # Of tiles that are predicted to take equally long the last one is chosen: of 128 x 64, two
        # by two warps take 0.88 times as long as four by one in a convolution from 64 channels. Of
        # 64 x 32, four by one take 0.8 times as long in f16 200x768x3072 and 33x4096x4096.
        shares.sort(key=lambda share: (-abs(share[0] - share[1]), -share[0]))
        steps = sorted({self.tile.summed, *self.steps})
        few = _FEW_COLUMNS.get(self.instruction[1], 0)
        for rows, columns, summed in product(sizes, sizes, steps):
            for down, across in sorted(shares, key=lambda share: columns // share[1] >= few):
                yield MatmulTile(rows, columns, summed, down, across)

    def copied_bytes(self, tile: MatmulTile) -> int:
        """Returns the bytes of A and B that a step copies."""
        return (tile.rows + tile.columns) * tile.summed * self.element_bytes

    def work(self, tile: MatmulTile, circumstances: Circumstances) -> TileWork:
        """Returns how much work a tile is."""
        shape = (self.rows, self.columns, self.summed)
        of_elements = (self.element_bytes, self.instruction, self.batch)
        # Only for AMD does IREE's pipeline do what the launch asks for.
        stages = self.launch.stages if circumstances.prefetches else 1
        processor = circumstances.processor
        along = self._columns_along_rows
        work = matmul_work(shape, tile, processor, *of_elements, stages, along)
        if work.described and not (self._may_describe(work) and self._fills_rows_of(tile)):
            processor = processor._replace(described_cycles=0.0)
            work = matmul_work(shape, tile, processor, *of_elements, stages, along)
        if not processor.modelled:
            results = tile.rows * tile.columns / (tile.warps * processor.lanes)
            later = self._later_instructions(circumstances)
            work = with_later(work, results, later, processor.lane_registers)
        if self._gathers and not circumstances.prefetches:
            return self._gathered(work, tile, circumstances.processor)
        if work.rows_described and self.copies_words:
            work = self._copied(work, tile)
        if self.copies_words and not circumstances.prefetches:
            if self._asks_where_sums_end:
                asked = _BOUND_INSTRUCTIONS * work.copies + _BOUND_OF_STEP * work.described
                if work.rows_described:
                    asked = _BOUND_DESCRIBED * work.copies + _BOUND_OF_DESCRIBED_STEP
                work = work._replace(instructions=work.instructions + asked)
            # Copies that ask where a computed size ends wait as long as those of short pieces: f16
            # ?x4096x4096 with 512 rows takes 1.23 times as long on an H200 with 64 summed elements
            # a step and 2 slots as with 32 and 4.
            asks = bool(self.computed) and not work.described
            return work._replace(row_pieces=self.sums_along_rows or asks)
        # Registers hold what is copied by single elements, or for the next step, and warps wait for
        # one another.
        return work._replace(result_bytes=0.0, reads_ahead=False)

    def _copied(self, work: TileWork, tile: MatmulTile) -> TileWork:
        """Returns the work of a tile whose operands descriptors give, with what its copies take.

        Copies of fewer bytes are more instructions. A copy writes no more in a cycle of the LDS
        than a row of the tile: f16 1536x8960x1536, 128 x 128 by 8 warps, takes 114.8 us on an H200
        with 32 summed elements a step, which are 64 bytes, and 98.6 with 64.
        """
        more = (_COPIED_BYTES // self._copy_bytes - 1) * work.copies
        column = tile.summed * self.element_bytes
        rows = tile.rows + (0 if self._columns_along_rows else tile.columns)
        narrow = rows * max(0.0, 1 - column / CYCLE_BYTES)
        return work._replace(
            copies=work.copies + more,
            instructions=work.instructions + _COPY_INSTRUCTIONS * more,
            lds_cycles=work.lds_cycles + narrow,
            within_sectors=self._run_bytes % _SECTOR_BYTES != 0,
            narrow_rows=column < CYCLE_BYTES,
        )

    def _gathered(self, work: TileWork, tile: MatmulTile, processor: Processor) -> TileWork:
        """Returns the work of a tile of which an operand is copied element by element, or by words
        that are shifted into place.

        Args:
            work: that of a tile whose operands are copied as they lie.
        """
        threads, sums = tile.warps * processor.lanes, self.loops[2]
        cycles, instructions = work.lds_cycles, work.instructions
        loaded = path_cycles = 0.0
        for number, size in zip(self.multiplied, (tile.rows, tile.columns), strict=True):
            elements, gather = size * tile.summed, self._gathers.get(number)
            if gather is None:
                # Lanes load it to registers, by the memory that the LDS is a part of.
                cycles += elements * self.element_bytes / CYCLE_BYTES
                path_cycles += elements * self.element_bytes / PATH_BYTES
                loaded += elements * self.element_bytes / (_WORD_BYTES * threads)
                continue
            along = loops_of(self.operation)[number][-1] == sums
            copy = gather.best(tile.summed if along else size, processor)
            copies = ceil(elements / (copy.width * threads))
            stored = elements * self.element_bytes / CYCLE_BYTES
            cycles += tile.warps * copies * copy.time(processor) - stored
            instructions += copies * copy.instructions
            loaded += copies * copy.registers
        # Registers hold what the next step copies, if there are enough.
        is_ahead = work.registers + loaded <= processor.lane_registers
        return work._replace(
            lds_cycles=cycles,
            instructions=instructions,
            registers=work.registers + (loaded if is_ahead else 0.0),
            slots=2 if is_ahead else 1,
            reads_ahead=False,
            through_registers=True,
            memory_cycles=path_cycles,
        )

    def _later_instructions(self, circumstances: Circumstances) -> float:
        """Returns how many instructions of long operations compute with an element of C."""
        how = circumstances.exponential, circumstances.division
        known = f"later, with {how} for an exponential and a division"
        if known not in self.known:
            self.known[known] = later_instructions(self.operation.results[0], *how)
        return self.known[known]

    def _may_describe(self, work: TileWork) -> bool:
        """Returns whether descriptors give operands to a tile that would have them.

        A single step gains nothing: 12 batches of 197x197x64 in f16 take 7.0 us on an H200 by
        `wgmma`, and 6.0 us by `mma.sync`. Neither do so few sums that products never run on into
        the next step, which `mma.sync` makes in one: f16 25088x64x64 takes 7.2 us by `wgmma` and
        6.5 by `mma.sync`, 25088x256x64 13.9 and 13.0, 8192x1024x96 17.3 and 16.7, and 6272x512x128
        9.1 and 10.1.
        """
        is_known = work.rows_described or self._is_whole
        sums = {self.summed} if self.loops[2] in self.computed else self._true_sums
        is_long = work.steps > 1 and min(sums) >= _FEWEST_SUMS
        return self._sums_are_f32 and is_known and is_long

    def _fills_rows_of(self, tile: MatmulTile) -> bool:
        """Returns whether so many of a tile's rows exist that descriptors gain."""
        return tile.rows <= _LARGEST_SHARE * self._true_rows

    @cached_property
    def _true_rows(self) -> int:
        """Returns the rows of C, without those that a tile adds."""
        rows = self.loops[0]
        size = _true_size(self.operation.operands[_A], loops_of(self.operation)[_A].index(rows))
        return self.rows if rows in self.computed else size

    @of_operation
    def _sums_are_f32(self) -> bool:
        """Returns whether sums are f32, as those of `wgmma` whose predictions were compared."""
        return isinstance(ir.ShapedType(self.operation.operands[_C].type).element_type, ir.F32Type)

    @cached_property
    def _is_whole(self) -> bool:
        """Returns whether no shape is enlarged, so that no copy asks where the matrix ends."""
        around = parents_of(self.operation)
        return not self.multiples and not any(has_enlarged_bindings(each) for each in around)

    @property
    def _asks_where_sums_end(self) -> bool:
        """Returns whether copies ask in each step where the summed elements end."""
        return self._true_sums != {self.extents[self.loops[2]]}

    @of_operation
    def _true_sums(self) -> set[int]:
        """Returns how many summed elements the operands have, without those that a tile adds."""
        summed, maps = self.loops[2], loops_of(self.operation)
        values = ((self.operation.operands[each], maps[each]) for each in self.multiplied)
        return {_true_size(value, loops.index(summed)) for value, loops in values}

    @of_operation
    def _gathers(self) -> Mapping[int, Gather]:
        """Returns how the operands lie whose elements `cp.async` cannot copy, by their numbers."""
        ways = {number: gathered(self.operation.operands[number]) for number in self.multiplied}
        return {number: way for number, way in ways.items() if way is not None}

    @of_operation
    def copies_words(self) -> bool:
        """Returns whether copies of both operands are of 4 bytes or more, as `cp.async` takes."""
        return self._copy_bytes % _WORD_BYTES == 0

    @of_operation
    def _copy_bytes(self) -> int:
        """Returns the bytes that a thread copies at once of the operand of which they are fewer."""
        return gcd(_COPIED_BYTES, self._run_bytes)

    @of_operation
    def _run_bytes(self) -> int:
        """Returns the bytes that divide those before each row of both operands."""
        runs = (_aligned_run(self.operation.operands[each]) for each in self.multiplied)
        return gcd(*(run * self.element_bytes for run in runs))

    @of_operation
    def _columns_along_rows(self) -> bool:
        """Returns whether the innermost dimension of B is that of the columns."""
        return loops_of(self.operation)[_B][-1] == self.loops[1]

    @of_operation
    def sums_along_rows(self) -> bool:
        """Returns whether the innermost dimensions of both operands are summed."""
        maps = loops_of(self.operation)
        return all(maps[each][-1] == self.loops[2] for each in self.multiplied)

    def attributes(self, tile: MatmulTile) -> dict[str, ir.Attribute]:
        """Returns the attributes of the operation and, as `TRANSLATION_INFO`, of its function."""
        context = self.operation.context
        config = LoweringConfig.of(self.operation.attributes[CONFIG]).without(PADDING)
        m, n, k = self.instruction
        row, column, summed = self.loops
        tiles = {
            WORKGROUP: {row: tile.rows, column: tile.columns},
            SUBGROUP: {row: tile.warp_rows // m, column: tile.warp_columns // n},
            REDUCTION: {summed: tile.summed // k},
        }
        return {
            CONFIG: config.with_tiles(len(self.extents), tiles, context).attribute(context),
            TRANSLATION_INFO: self.launch.with_warps(tile.warps),
        }


def _aligned_run(value: ir.Value) -> int:
    """Returns how many elements of a tensor lie side by side from multiples of that number on."""
    run = (true_shape(value) or ir.ShapedType(value.type).shape)[-1]
    strided = _strided(value)
    return run if strided is None else strided.aligned_run


def _strided(value: ir.Value) -> StridedBuffer | None:
    """Returns how the elements of a tensor are found in its buffer, if loops do not index that."""
    load = defining_operation(value)
    binding = None if load is None or load.name != LOAD else binding_of(load.operands[0])
    return None if binding is None else StridedBuffer.of(binding)


def _true_size(value: ir.Value, dim: int) -> int:
    """Returns the true size of a dimension of a tensor, as far as its buffer remembers it."""
    strided = _strided(value)
    shape = strided.shape if strided is not None else true_shape(value)
    return (shape or ir.ShapedType(value.type).shape)[dim]


def warp_tiled_matmul(function: ir.Operation) -> WarpTiledMatmul | None:
    """Returns the matmul that decides on the workgroups of `function`, if there is one.

    Raises:
        Refusal: there is one, but of another form than this module describes.
    """
    matmul = _configured(function)
    if matmul is not None and not matmul.takes(matmul.tile):
        raise Refusal("its tiles do not divide its sizes")
    return matmul


def padded_matmul(function: ir.Operation) -> WarpTiledMatmul | None:
    """Returns the matmul of `function` if IREE has to pad the tiles of its operands.

    Its tile need not divide its sizes.

    Raises:
        Refusal: there is one, but of another form than this module describes.
    """
    roots = roots_in(function)
    configs = [each.attributes[CONFIG] for each in roots if has_matrix_instruction(each)]
    if not any(PADDING in LoweringConfig.of(each).entries for each in configs):
        return None
    return _configured(function, (PADDING,))


def _configured(function: ir.Operation, entries: tuple[str, ...] = ()) -> WarpTiledMatmul | None:
    """Returns the matmul that decides on the workgroups of `function`, if there is one.

    Args:
        entries: those that its configuration may have beside the usual ones.
    """
    roots = roots_in(function)
    if not any(has_matrix_instruction(each) for each in roots):
        return None
    if len(roots) != 1:
        raise Refusal("several operations decide on the workgroups")
    (operation,) = roots
    if operation.name != GENERIC or len(operation.operands) != 3:
        raise Refusal(f"{operation.name} multiplies no two matrices that are known")
    config = LoweringConfig.of(operation.attributes[CONFIG])
    usual = ("mma_kind", PROMOTED, REDUCTION, SUBGROUP, WORKGROUP)
    config.only(usual, (ADDED_LATER, *entries))
    if config.numbers(PROMOTED) != (_A, _B):
        raise Refusal("not its two operands are staged in the LDS")
    if not (ADDED_LATER in config.entries or is_filled(operation.operands[_C], function)):
        raise Refusal("what it adds to is staged in the LDS too")
    maps = loops_of(operation)
    extents = loop_extents(operation, maps, (_A, _B, _C))
    loops = matmul_loops(maps, len(extents))
    launch = WarpLaunch.of(function)
    tile = _tile(config, loops, extents)._replace(slots=noted_slots(function))
    matmul = WarpTiledMatmul(operation, extents, launch, tile, loops, config.instruction)
    if tile.warps != launch.warps:
        raise Refusal("it is not spread over all warps of the workgroup")
    return matmul


def generic_root(function: ir.Operation) -> ir.Operation | None:
    """Returns the operation that alone decides on the workgroups of `function`, if it is a
    `linalg.generic` of three tensors or buffers."""
    root = only_root(function)
    if root is None or root.name != GENERIC or len(root.operands) != _C + 1:
        return None
    return root if has_no_numbers(root) else None


def has_matrix_instruction(root: ir.Operation) -> bool:
    """Returns whether an operation is configured to use matrix instructions."""
    try:
        return "mma_kind" in LoweringConfig.of(root.attributes[CONFIG]).entries
    except Refusal:
        return False


def is_filled(value: ir.Value, function: ir.Operation) -> bool:
    """Returns whether all elements of a tensor are one scalar."""
    # To ask the value for its operation would import the bindings' module of linalg, which is slow.
    fills = operations_in(function, "linalg.fill")
    return any(value == result for fill in fills for result in fill.results)


def matmul_loops(maps: Maps, loops: int) -> tuple[int, int, int]:
    """Returns the numbers of the loops over rows, columns and summed elements.

    Args:
        maps: those of A, B and C.
        loops: how many loops there are.

    Raises:
        Refusal: one of these is no single loop, or there are other loops than these and a batch's.
    """
    a, b, c = (frozenset(each) for each in maps)
    parts = {"rows": (a & c) - b, "columns": (b & c) - a, "summed elements": (a & b) - c}
    rows, columns, summed = single_loops(parts, a & b & c, loops)
    return rows, columns, summed


def _tile(
    config: LoweringConfig, loops: tuple[int, int, int], extents: tuple[int, ...]
) -> MatmulTile:
    m, n, k = config.instruction
    names = (WORKGROUP, SUBGROUP, REDUCTION)
    sizes = {name: config.per_loop(name, len(extents)) for name in names}
    row, column, summed = loops
    batch = {*range(len(extents))} - {*loops}
    tiled = {name: {loop for loop, size in enumerate(sizes[name]) if size} for name in names}
    if (
        tiled != {WORKGROUP: {row, column} | batch, SUBGROUP: {row, column}, REDUCTION: {summed}}
        or any(sizes[WORKGROUP][loop] != 1 for loop in batch)
    ):  # fmt: skip
        raise Refusal("its loops are tiled otherwise than rows, columns and summed elements")
    workgroup, warp = sizes[WORKGROUP], sizes[SUBGROUP]
    by_warp = warp[row] * m, warp[column] * n
    shares = workgroup[row] // by_warp[0], workgroup[column] // by_warp[1]
    if (shares[0] * by_warp[0], shares[1] * by_warp[1]) != (workgroup[row], workgroup[column]):
        raise Refusal("its warps do not share its tile evenly")
    return MatmulTile(workgroup[row], workgroup[column], sizes[REDUCTION][summed] * k, *shares)
