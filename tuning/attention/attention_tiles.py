# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How an attention is spread over workgroups and warps, to be read and changed.

An `iree_linalg_ext.online_attention` has one loop for each dimension of its `indexing_maps`; in

    Q (b, m, k1), K (b, k2, k1), V (b, k2, n), output (b, m, n)

a workgroup computes a tile of b, m and n, and goes over k2 in steps. Its `lowering_config` says how
long the tiles are, with 0 where a loop is not tiled:

    #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, 64],
        workgroup = [1, 64, 32, 0, 0]}>

IREE computes the attention by two contractions whose warps share the rows. The configuration of
each says how many warps there are along each loop, and which matrix instruction multiplies:

    decomposition_config = {
      qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = ...,
        promote_operands = [0, 1], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]], ...}>},
      pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = ...,
        promote_operands = [1], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 4]], ...}>}}

The rows may be those of several loops, and so may the columns and the head. Where g heads of Q
share a head of K and V, for one, IREE cannot always make one loop of g and m:

    Q (m, b, g, k1), K (k2, b, k1), V (k2, b, n), output (m, b, g, n)

A workgroup has as many rows of the innermost of these loops as divide it, and of the next one
outwards what is left. What one matrix instruction computes is of the innermost loops.

An attention of another form than this is refused with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from math import gcd, prod
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.errors import divisors
from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.dynamic_sizes import DYNAMIC
from ...dialect_utils.indexing_maps import loops_of, renumber_loops
from ...dialect_utils.lowering_config import (
    BASIS,
    CONFIG,
    MMA_KIND,
    PROMOTED,
    REDUCTION,
    TRANSLATION_INFO,
    WORKGROUP,
    LoweringConfig,
    WarpLaunch,
    basis_attribute,
    basis_of,
    only_root,
    promoting,
)
from ...dialect_utils.operations import ONLINE_ATTENTION, children
from ..costs.copy_layouts import LEAST_ASYNC_BYTES, share_evenly
from ..costs.tile_cost import (
    SECTOR_BYTES,
    AttentionShape,
    AttentionTile,
    TileWork,
    attention_work,
)
from ..shapes.enlarged_shapes import true_row, true_shape
from ..shapes.shifted_rows import word_elements
from ..tiles.tiled_operation import (
    Circumstances,
    Maps,
    TiledOperation,
    loop_extents,
    loop_sizes,
    of_operation,
    rounded_up,
)

_INDEX = "iree_linalg_ext.index"
DECOMPOSITION = "decomposition_config"
SCORES, OUTPUTS = "qk_attrs", "pv_attrs"
"""The entries with the configurations of the two contractions."""
PROMOTED_ALL = {SCORES: (0, 1), OUTPUTS: (1,)}
"""Which operands of each contraction IREE stages in the LDS."""
Q, K, V = range(3)
_OUTPUT = -3
"""The place of the output's map: those of the rows' maxima and sums follow."""

_WARPS = (1, 2, 4, 8)
_INSTRUCTIONS_HIGH = (1, 2)
"""How many matrix instructions below each other a warp computes."""
_KEY_STEPS = (16, 32, 64, 128)
_LDS_SCORE_BYTES = 4
"""The bytes of an element from which on scores do not stay in registers."""
_DIRECT_ELEMENT, _COLUMNS = 2, 16
"""The bytes of elements that loads transpose which lanes have copied to the LDS without registers,
and the columns that 16 lanes read at once."""
_LOADED_BYTES = 16
"""What a lane loads at once at most."""
_SMALL = re.compile(r"\b(V?MFMA_F32)_16x16x(\d+)_(B?F16)\b")
"""Instructions on 2-byte floats, each of which has a larger one; those on other types were not
compared."""
_TYPICAL_SIZE = 2048
"""What a size counts as that the program computes: the best tiles of long sequences change little
with their lengths."""
_REPEATED = 1.25
"""What the time of a tile counts that holds a part of the head, so that every part computes the
scores again. The model lets that hide behind the latency of a step, and times do not: of 2x1024x128
f16, 64 rows x 32 columns take 1.18 times the predicted time."""


class AttentionLoops(NamedTuple):
    """The loops of an attention by their parts in it, the innermost one of each part last.

    Attributes:
        batch: those that index the output, and are neither rows nor columns of it.
        rows, head, columns: M, K1 and N of Q (M, K1), K (K2, K1), V (K2, N).
        keys: K2.
    """

    batch: tuple[int, ...]
    rows: tuple[int, ...]
    head: tuple[int, ...]
    columns: tuple[int, ...]
    keys: int

    @staticmethod
    def of(maps: Maps, loops: int) -> AttentionLoops:
        """Finds the parts of so many loops.

        Raises:
            Refusal: there are no rows, columns or head, not one loop of keys, or a loop has no
                part.
        """
        q, k, v, output = (frozenset(maps[each]) for each in (Q, K, V, _OUTPUT))
        parts = {
            "rows": (q & output) - k - v,
            "head": (q & k) - v - output,
            "columns": (v & output) - q - k,
            "keys": (k & v) - q - output,
        }
        for name, found in parts.items():
            if not found:
                raise Refusal(f"it has no {name}")
        if len(parts["keys"]) > 1:
            raise Refusal("its keys are no single loop")
        batch = (output & (q | k | v)) - parts["rows"] - parts["columns"]
        if batch.union(*parts.values()) != {*range(loops)}:
            raise Refusal("not all of its loops are known")
        rows, head, columns, (keys,) = (tuple(sorted(found)) for found in parts.values())
        return AttentionLoops(tuple(sorted(batch)), rows, head, columns, keys)

    @property
    def rows_first(self) -> tuple[int, ...]:
        """Returns the loops in an order in which those of the output's rows precede others.

        Vectors of scores then have the keys as their last dimension, which is the form in which
        later passes can do the most.
        """
        outer = sorted((*self.batch, *self.rows))
        return (*outer, *sorted((*self.head, *self.columns, self.keys)))

    def renumbered(self, order: Sequence[int]) -> AttentionLoops:
        """Returns the loops as they are numbered in another order."""
        batch, rows, head, columns, (keys,) = (
            tuple(sorted(order.index(loop) for loop in part))
            for part in (self.batch, self.rows, self.head, self.columns, (self.keys,))
        )
        return AttentionLoops(batch, rows, head, columns, keys)

    def row_tiles(self, extents: Sequence[int], size: int, least: int = 1) -> dict[int, int]:
        """Returns what a tile of so many rows has of the loops over rows.

        Where these are several loops, it is the tile for which the fewest rows are to be added.

        Args:
            extents: how long all loops of the attention are.
            least: what it has a multiple of, along the innermost loop.
        """
        rows = [extents[loop] for loop in self.rows]
        tiles = min(
            _parts_of(size, len(rows), least),
            key=lambda parts: prod(rounded_up(rows, dict(enumerate(parts)))),
        )
        return dict(zip(self.rows, tiles, strict=True))


class LoopShare(NamedTuple):
    """What a workgroup has of the loops over rows or columns, in their order.

    Attributes:
        tiles: how many elements of each loop.
        warps: how many warps share them.
    """

    tiles: tuple[int, ...]
    warps: tuple[int, ...]

    @staticmethod
    def of(extents: Sequence[int], size: int, warps: int, least: int) -> LoopShare | None:
        """Returns how a workgroup has so many elements, with the most of the innermost loops.

        None stands for a size that the loops do not divide into.

        Args:
            extents: how long the loops are.
            size: the product of all tiles.
            warps: the product of the warps along all loops.
            least: what a warp has a multiple of, along the innermost loop.
        """
        if not extents:
            return LoopShare((), ()) if size == warps == 1 else None
        *outer, inner = extents
        for tile in divisors(gcd(inner, size)):
            if tile % least:
                continue
            for along in divisors(gcd(tile // least, warps)):
                rest = LoopShare.of(outer, size // tile, warps // along, 1)
                if rest is not None:
                    return LoopShare((*rest.tiles, tile), (*rest.warps, along))
        return None


def _parts_of(size: int, loops: int, least: int) -> Iterator[tuple[int, ...]]:
    """Yields tiles of so many loops of so many elements, with the most of the innermost one first.

    Args:
        least: what the innermost one is a multiple of.
    """
    if loops == 1:
        yield from [(size,)] if size % least == 0 else []
        return
    for inner in divisors(size):
        if inner % least == 0:
            for outer in _parts_of(size // inner, loops - 1, 1):
                yield (*outer, inner)


class MemoryRows(NamedTuple):
    """A tensor in memory, and how many elements its rows have.

    Attributes:
        shape: that of the whole tensor.
        row: the elements from one row to the next, which go along the head or the columns.
    """

    shape: tuple[int, ...]
    row: int


@dataclass(frozen=True)
class WarpTiledAttention(TiledOperation[AttentionTile]):
    """An attention, its tile, and the instructions that multiply.

    Attributes:
        scores, outputs: rows, columns and summed elements of the instruction of each contraction.
        kinds: the instructions, where the operation has no configuration with them yet.
        memory: K and V as lanes copy them, where these are not the operands; empty where they are.
    """

    loops: AttentionLoops
    scores: tuple[int, int, int]
    outputs: tuple[int, int, int]
    kinds: ContractionKinds | None = None
    memory: tuple[MemoryRows, ...] = ()

    multiplied: ClassVar[tuple[int, ...]] = (Q, K, V)
    sizes_differ: ClassVar[str] = "the elements of Q, K and V differ in size"
    handicapped_by: ClassVar[str] = "each part of a head computes the scores again"

    @property
    def batch(self) -> int:
        """Returns how many attentions of all rows there are."""
        return prod(self._extents(self.loops.batch))

    @property
    def rows(self) -> int:
        """Returns the rows of the output."""
        return prod(self._extents(self.loops.rows))

    @property
    def keys(self) -> int:
        """Returns the rows of K and V."""
        return self.extents[self.loops.keys]

    @property
    def head(self) -> int:
        """Returns the columns of Q and K."""
        return prod(self._extents(self.loops.head))

    @property
    def columns(self) -> int:
        """Returns the columns of V and of the output."""
        return prod(self._extents(self.loops.columns))

    def has_whole_rows(self, operand: int, alignment: int = _LOADED_BYTES) -> bool:
        """Returns whether a lane can load 16 bytes of each row of K or V.

        Args:
            alignment: the bytes at multiples of which rows have to begin.
        """
        size = ir.ShapedType(self.operation.operands[operand].type).shape[-1]
        row = size * self.element_bytes
        return row >= _LOADED_BYTES and row % alignment == 0

    @of_operation
    def row_alignment(self) -> int:
        """Returns the bytes at multiples of which rows of K and V begin, up to a sector's."""
        rows = [each.row for each in self._rows_in_memory]
        return gcd(SECTOR_BYTES // self.element_bytes, *rows) * self.element_bytes

    @of_operation
    def word_bytes(self) -> int:
        """Returns the bytes of the words by which lanes read odd rows of K and V; 0 if they do not.

        Both are taken for whole buffers, or parts of buffers whose sizes are known.
        """
        words = [
            word_elements(
                each.shape, each.row, ir.ShapedType(operand.type).element_type, SECTOR_BYTES
            )
            for operand, each in zip(
                (self.operation.operands[K], self.operation.operands[V]),
                self._rows_in_memory,
                strict=True,
            )
        ]
        return min(words) * self.element_bytes

    @property
    def _rows_in_memory(self) -> Sequence[MemoryRows]:
        """Returns K and V as lanes copy them.

        Rows go along the head and the columns, in whatever order the operands have them.
        """
        if self.memory:
            return self.memory
        maps, found = loops_of(self.operation), []
        for number, loop in ((K, self.loops.head[-1]), (V, self.loops.columns[-1])):
            operand = self.operation.operands[number]
            size = ir.ShapedType(operand.type).shape[maps[number].index(loop)]
            shape = true_shape(operand) or ir.ShapedType(operand.type).shape
            found.append(MemoryRows(tuple(shape), true_row(operand) or size))
        return found

    @property
    def is_copied_meanwhile(self) -> bool:
        """Returns whether `cp.async` can copy K and V, where there is such a thing."""
        return self.row_alignment >= LEAST_ASYNC_BYTES

    @property
    def scores_lie_in_lds(self) -> bool:
        """Returns whether scores go through the LDS from one contraction to the other."""
        return self.element_bytes >= _LDS_SCORE_BYTES

    @property
    def handicap(self) -> float:
        """Returns what the time of its own tile counts."""
        return 1.0 if self.tile.columns == self.columns else _REPEATED

    def takes(self, tile: AttentionTile) -> bool:
        """Returns whether the loops and the instructions divide evenly into such tiles."""
        return None not in (self._rows_of(tile), self._columns_of(tile)) and not (
            self.keys % tile.keys
            or self.extents[self.loops.head[-1]] % self.scores[2]
            or tile.keys % self.scores[1]
            or tile.keys % self.outputs[2]
        )

    def with_rows_first(self) -> WarpTiledAttention:
        """Gives the operation an order of loops with the rows first, and returns it as it is then.

        Raises:
            Refusal: it asks for the number of an iteration.
        """
        order = self.loops.rows_first
        if order == tuple(range(len(order))):
            return self
        if any(each.name == _INDEX for each in children(self.operation)):
            raise Refusal("its scores depend on the numbers of its loops")
        renumber_loops(self.operation, order)
        return replace(
            self,
            extents=tuple(self.extents[loop] for loop in order),
            loops=self.loops.renumbered(order),
            computed=frozenset(order.index(loop) for loop in self.computed),
            multiples={order.index(loop): by for loop, by in self.multiples.items()},
        )

    def of_whole_instructions(self) -> WarpTiledAttention:
        """Returns the attention with a head and columns that the instructions divide."""
        return self.changed(extents=self._whole_extents)

    @cached_property
    def _whole_extents(self) -> tuple[int, ...]:
        multiples = {self.loops.head[-1]: self.scores[2], self.loops.columns[-1]: self.outputs[1]}
        return rounded_up(self.extents, multiples)

    @property
    def asked(self) -> int | None:
        """Returns the loop of computed length by which kernels may differ: that of rows, or keys.

        None stands for several loops of rows, of which nothing is known together.
        """
        rows = self.computed.intersection(self.loops.rows)
        if len(rows) > 1:
            return None
        return next(iter(rows or self.computed.intersection({self.loops.keys})), None)

    def likely(self, size: int) -> list[tuple[int, ...]]:
        """Returns how long the loops may be where the program computes this size.

        Few rows may have few keys, as a short sequence has, or many.
        """
        extents = self.typical(size)
        if not self.computed or self.asked == self.loops.keys:
            return [extents]
        keys = max(size, self.extents[self.loops.keys])
        return [
            extents,
            tuple(keys if loop == self.loops.keys else each for loop, each in enumerate(extents)),
        ]

    def enlarged(self, tile: AttentionTile) -> WarpTiledAttention:
        """Returns the attention with sizes that such tiles and the instructions divide."""
        multiples = self.loops.row_tiles(self.extents, tile.rows, self.high)
        multiples |= {self.loops.keys: tile.keys}
        if len(self.loops.columns) == 1:
            multiples |= {self.loops.columns[0]: tile.columns}
        extents = rounded_up(self._whole_extents, multiples)
        return self.changed(extents=extents, tile=tile, multiples=multiples)

    def _extents(self, loops: Sequence[int]) -> list[int]:
        return [self.extents[loop] for loop in loops]

    def _rows_of(self, tile: AttentionTile) -> LoopShare | None:
        """Returns what a tile has of the loops over rows; None if they do not divide into it."""
        return LoopShare.of(self._extents(self.loops.rows), tile.rows, tile.warps, self.high)

    def _columns_of(self, tile: AttentionTile) -> LoopShare | None:
        """Returns what a tile has of the loops over columns, which warps do not share."""
        return LoopShare.of(self._extents(self.loops.columns), tile.columns, 1, self.outputs[1])

    @property
    def high(self) -> int:
        """Returns the rows that both instructions divide into."""
        return max(self.scores[0], self.outputs[0])

    def candidates(self, circumstances: Circumstances) -> Iterator[AttentionTile]:
        """Yields tiles of whole heads, and any rows, warps, and keys a step."""
        keys = {self.tile.keys, *(_KEY_STEPS if circumstances.other_order else ())}
        for warps, count, step in product(_WARPS, _INSTRUCTIONS_HIGH, sorted(keys)):
            if warps >= circumstances.processor.least_warps:
                tile = AttentionTile(warps * self.high * count, self.columns, step, warps)
                yield from self._ways(tile, circumstances)

    def _ways(self, tile: AttentionTile, circumstances: Circumstances) -> Iterator[AttentionTile]:
        """Yields the ways to bring a tile's operands to the registers.

        Where lanes load their elements of an operand side by side, they can do so from memory, too.
        Q is loaded once, before the loop: what it would take of the LDS is left to other workgroups
        and to larger tiles. Scores of f32 go through the LDS, and where that is so, IREE 3.13 loses
        barriers when copies are loaded a step ahead.
        """
        if circumstances.ldmatrix:
            yield tile
            return
        ahead = circumstances.prefetches and not self.scores_lie_in_lds
        tile = tile._replace(staged_queries=False)
        if not self.is_copied_evenly(tile):
            # IREE 3.13 fails ("failed to derive layout for promoted read-like op").
            return
        yield tile
        if ahead:
            direct = circumstances.direct_loads and self.is_copied_directly(tile)
            yield tile._replace(stages=2, slots=2 if direct else 1)

    def copied_bytes(self, tile: AttentionTile) -> int:
        """Returns the bytes of K and V that a step copies."""
        return tile.copied_elements(self.head) * self.element_bytes

    def work(self, tile: AttentionTile, circumstances: Circumstances) -> TileWork:
        """Returns how much work a tile is."""
        shape = AttentionShape(
            self.batch,
            self.rows,
            self.keys,
            self.head,
            self.columns,
            element_bytes=self.element_bytes,
            exponential=circumstances.exponential,
            reloads=circumstances.reloads,
            asks_ends=circumstances.ldmatrix and self.loops.keys in self.computed,
            row_alignment=self.row_alignment if circumstances.ldmatrix else SECTOR_BYTES,
            short_steps=circumstances.short_steps and not circumstances.ldmatrix,
            word_bytes=self.word_bytes if circumstances.ldmatrix else 0,
        )
        if circumstances.ldmatrix:
            return attention_work(shape, tile, circumstances.processor, self.outputs)
        larger = self.larger if circumstances.larger_instructions else None
        multiplied = self if larger is None or not larger.takes(tile) else larger
        shape = shape._replace(depth=multiplied.scores[2])
        return attention_work(shape, tile, circumstances.processor, multiplied.outputs)

    @property
    def larger(self) -> WarpTiledAttention | None:
        """Returns the attention with instructions of 32 rows and columns, where there are some."""
        larger = self._larger_instructions
        return None if larger is None else self.changed(scores=larger[0], outputs=larger[1])

    @of_operation
    def _larger_instructions(self) -> tuple[tuple[int, int, int], tuple[int, int, int]] | None:
        """Returns rows, columns and summed elements of the instructions of 32 rows and columns."""
        if self.kinds is None:
            found = contractions_of(self.operation)
            kinds = [found[name].entries.get(MMA_KIND) for name in (SCORES, OUTPUTS)]
        else:
            kinds = [self.kinds.scores, self.kinds.outputs]
        larger = [larger_kind(each) for each in kinds]
        scores, outputs = (
            None if each is None else LoweringConfig({MMA_KIND: each}).instruction
            for each in larger
        )
        return None if scores is None or outputs is None else (scores, outputs)

    def attributes(self, tile: AttentionTile) -> dict[str, ir.Attribute]:
        """Returns the attributes of the operation and, as `TRANSLATION_INFO`, of its function.

        Raises:
            ValueError: the operation does not take the tile.
        """
        context, loops = self.operation.context, self.loops
        rows, columns = self._rows_of(tile), self._columns_of(tile)
        if rows is None or columns is None:
            raise ValueError(f"an attention of {self.extents} does not divide into {tile}")
        warps = dict(zip(loops.rows, rows.warps, strict=True))
        tiled = zip((*loops.rows, *loops.columns), (*rows.tiles, *columns.tiles), strict=True)
        tiles = {
            WORKGROUP: dict(tiled),
            REDUCTION: {loops.keys: tile.keys},
        }
        config, contractions = self._configurations()
        if (staged := _staged(tile)) != config.numbers(PROMOTED):
            config = config.with_entries(**promoting(staged, context))
            contractions = {
                name: each.with_entries(**promoting(_promoted(name, staged), context))
                for name, each in contractions.items()
            }
        spread = {name: self._spread(each, warps) for name, each in contractions.items()}
        return {
            CONFIG: config.with_tiles(len(self.extents), tiles, context).attribute(context),
            DECOMPOSITION: decomposition_of(spread, context),
            TRANSLATION_INFO: self.launch.with_warps(tile.warps, tile.held_stages),
        }

    def _configurations(self) -> tuple[LoweringConfig, Mapping[str, LoweringConfig]]:
        """Returns the configuration of the operation, and those of both contractions."""
        if self.kinds is None:
            config = LoweringConfig.of(self.operation.attributes[CONFIG])
            return config, contractions_of(self.operation)
        context, loops = self.operation.context, range(len(self.extents))
        config = LoweringConfig(promoting((Q, K, V), context))
        ones = dict.fromkeys(self.loops.batch, 1)
        config = config.with_tiles(len(self.extents), {WORKGROUP: ones}, context)
        left_out = {SCORES: self.loops.columns, OUTPUTS: self.loops.head}
        kinds = {SCORES: self.kinds.scores, OUTPUTS: self.kinds.outputs}
        contractions: dict[str, LoweringConfig] = {}
        for name, out in left_out.items():
            order = [loop for loop in loops if loop not in out]
            basis = basis_attribute([1] * len(loops), order, context)
            entries = promoting(PROMOTED_ALL[name], context)
            contractions[name] = LoweringConfig({MMA_KIND: kinds[name], **entries, BASIS: basis})
        return config, contractions

    def staged_bytes(self, tile: AttentionTile) -> int:
        """Returns the bytes of Q, K and V that a workgroup holds in the LDS."""
        queries = tile.rows * self.head * self.element_bytes if tile.staged_queries else 0
        return queries + self.copied_bytes(tile)

    def is_copied_evenly(self, tile: AttentionTile) -> bool:
        """Returns whether the lanes of a workgroup can share the copies of operands evenly."""
        shapes = {
            Q: (tile.rows, self.head),
            K: (tile.keys, self.head),
            V: (tile.keys, tile.columns),
        }
        copied = (shapes[each] for each in _staged(tile))
        return share_evenly(copied, tile.warps * self.launch.warp_size)

    def is_copied_directly(self, tile: AttentionTile) -> bool:
        """Returns whether waves can copy K and V by 16 bytes of a lane, one behind another.

        The copies of a step must be those of whole waves. K must lie along the head in memory, and
        V along the columns.
        """
        maps = loops_of(self.operation)
        along = maps[K][-1] == self.loops.head[-1] and maps[V][-1] == self.loops.columns[-1]
        if not along or self.computed or self.element_bytes != _DIRECT_ELEMENT:
            return False
        if self.keys == tile.keys:
            # Nothing computes while the only step copies.
            return False
        for operand, width in ((K, self.extents[self.loops.head[-1]]), (V, tile.columns)):
            lanes, rest = divmod(width * _DIRECT_ELEMENT, _LOADED_BYTES)
            if rest or width % _COLUMNS or tile.keys * lanes % self.launch.warp_size:
                return False
            if not self.has_whole_rows(operand):
                return False
        return True

    def _spread(self, contraction: LoweringConfig, warps: Mapping[int, int]) -> LoweringConfig:
        counts, order = basis_of(contraction)
        context = self.operation.context
        counts = tuple(warps.get(loop, 1) for loop in range(len(counts)))
        return contraction.with_entries(**{BASIS: basis_attribute(counts, order, context)})


def larger_kind(kind: ir.Attribute | None) -> ir.Attribute | None:
    """Returns the instruction of 32 rows and columns that does as much as two of 16 rows.

    None stands for a contraction that is not computed by such an instruction.
    """
    text, count = _SMALL.subn(_enlarged_name, str(kind))
    return ir.Attribute.parse(text, kind.context) if kind is not None and count else None


def _enlarged_name(match: re.Match[str]) -> str:
    return f"{match[1]}_32x32x{int(match[2]) // 2}_{match[3]}"


def _staged(tile: AttentionTile) -> tuple[int, ...]:
    """Returns which of Q, K and V a tile stages in the LDS."""
    staged = {Q: tile.staged_queries, K: tile.staged_keys, V: tile.staged_values}
    return tuple(each for each, is_staged in staged.items() if is_staged)


def _promoted(contraction: str, staged: Collection[int]) -> tuple[int, ...]:
    """Returns which of its operands a contraction stages, where the attention stages these."""
    operands = {SCORES: {Q: 0, K: 1}, OUTPUTS: {V: 1}}[contraction]
    return tuple(number for each, number in operands.items() if each in staged)


def only_attention(function: ir.Operation) -> ir.Operation | None:
    """Returns the attention that alone decides on the workgroups of `function`, if there is one."""
    root = only_root(function)
    return None if root is None or root.name != ONLINE_ATTENTION else root


class ContractionKinds(NamedTuple):
    """The matrix instructions of the two contractions, as attributes."""

    scores: ir.Attribute
    outputs: ir.Attribute

    @staticmethod
    def of(scores: str, outputs: str, operation: ir.Operation) -> ContractionKinds:
        """Reads the attributes, such as `mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>`."""
        texts = (f"#iree_gpu.{each}" for each in (scores, outputs))
        return ContractionKinds(*(ir.Attribute.parse(each, operation.context) for each in texts))


SizedLoops = tuple[AttentionLoops, tuple[int, ...], frozenset[int]]
"""The loops of an attention, how long they are, and those that the program computes."""


def attention_loops(operation: ir.Operation) -> SizedLoops:
    """Returns the loops of an attention, how long they are, and those that the program computes.

    The latter have a typical length.

    Raises:
        Refusal: its loops are not known, or the size of its head.
    """
    maps = loops_of(operation)
    if operation.name != ONLINE_ATTENTION:
        # Before it is tiled, it has no maxima and sums of rows.
        maps = (*maps, (), ())
    sizes = loop_sizes(operation, maps, (Q, K, V))
    loops = AttentionLoops.of(maps, len(sizes))
    computed = frozenset(loop for loop, size in enumerate(sizes) if size == DYNAMIC)
    if computed.intersection((*loops.head, *loops.columns)):
        raise Refusal("the size of its head is not known")
    extents = tuple(_TYPICAL_SIZE if size == DYNAMIC else size for size in sizes)
    return loops, extents, computed


def configured_attention(
    operation: ir.Operation, sized: SizedLoops, kinds: ContractionKinds, launch: WarpLaunch
) -> WarpTiledAttention:
    """Returns an attention as these instructions compute it, with no tile yet.

    Raises:
        Refusal: the shape of an instruction is not known.
    """
    loops, extents, computed = sized
    scores, outputs = (
        LoweringConfig({MMA_KIND: each}).instruction for each in (kinds.scores, kinds.outputs)
    )
    return WarpTiledAttention(
        operation,
        extents,
        launch,
        AttentionTile(0, 0, 0, 0),
        loops,
        scores,
        outputs,
        kinds,
        computed=computed,
    )


def warp_tiled_attention(function: ir.Operation) -> WarpTiledAttention | None:
    """Returns the attention that alone decides on the workgroups of `function`, if there is one.

    Raises:
        Refusal: there is one, but of another form than this module describes.
    """
    operation = only_attention(function)
    if operation is None:
        return None
    maps = loops_of(operation)
    extents = loop_extents(operation, maps, (Q, K, V))
    config = LoweringConfig.of(operation.attributes[CONFIG])
    workgroup, reduction = (config.per_loop(name, len(extents)) for name in (WORKGROUP, REDUCTION))
    loops = AttentionLoops.of(maps, len(extents))
    config.only((PROMOTED, REDUCTION, WORKGROUP), ("promotion_types",))
    staged = config.numbers(PROMOTED)
    if staged not in ((Q, K, V), (K, V)):
        raise Refusal("not both of K and V are staged in the LDS")
    if (
        {loop for loop, tile in enumerate(workgroup) if tile}
        != {*loops.batch, *loops.rows, *loops.columns}
        or any(workgroup[loop] != 1 for loop in loops.batch)
        or {loop for loop, tile in enumerate(reduction) if tile} != {loops.keys}
    ):
        raise Refusal("its loops are tiled otherwise than rows, columns and keys")
    contractions = contractions_of(operation)
    warps = {_warps(each, _promoted(name, staged), loops) for name, each in contractions.items()}
    launch = WarpLaunch.of(function)
    if warps != {launch.warps}:
        raise Refusal("its contractions are not spread over all warps of the workgroup")
    rows, columns = (prod(workgroup[loop] for loop in of) for of in (loops.rows, loops.columns))
    tile = AttentionTile(
        *(rows, columns, reduction[loops.keys], launch.warps),
        stages=launch.stages,
        staged_queries=Q in staged,
    )
    scores, outputs = (contractions[name].instruction for name in (SCORES, OUTPUTS))
    read = WarpTiledAttention(operation, extents, launch, tile, loops, scores, outputs)
    if not read.takes(tile):
        raise Refusal("its tiles do not divide its sizes")
    return read


def contractions_of(operation: ir.Operation) -> Mapping[str, LoweringConfig]:
    """Returns the configurations of both contractions, by their names.

    Raises:
        Refusal: they have other entries, or none.
    """
    if DECOMPOSITION not in operation.attributes:
        raise Refusal("its contractions have no configuration")
    parts = _entries(operation.attributes[DECOMPOSITION])
    if {*parts} != {SCORES, OUTPUTS}:
        raise Refusal("its decomposition_config has other entries than qk_attrs and pv_attrs")
    contractions: dict[str, LoweringConfig] = {}
    for name, part in parts.items():
        entries = _entries(part)
        if {*entries} != {CONFIG}:
            raise Refusal(f"its {name} have other entries than a lowering_config")
        contractions[name] = LoweringConfig.of(entries[CONFIG])
    return contractions


def decomposition_of(
    contractions: Mapping[str, LoweringConfig], context: ir.Context
) -> ir.Attribute:
    """Returns the attribute with the configurations of both contractions."""
    entries = {
        name: ir.DictAttr.get({CONFIG: each.attribute(context)}, context)
        for name, each in contractions.items()
    }
    return ir.DictAttr.get(entries, context)


def _entries(attribute: ir.Attribute) -> dict[str, ir.Attribute]:
    if not isinstance(attribute, ir.DictAttr):
        raise Refusal("its decomposition_config is no dictionary")
    return {each.name: each.attr for each in attribute}


def _warps(contraction: LoweringConfig, promoted: tuple[int, ...], loops: AttentionLoops) -> int:
    """Returns how many warps a contraction is spread over, all of them along the rows.

    Args:
        promoted: the operands that it stages in the LDS if its configuration is of a known form.
    """
    contraction.only((MMA_KIND, PROMOTED, BASIS), ("promotion_types",))
    if contraction.numbers(PROMOTED) != promoted:
        raise Refusal("its contractions stage other operands in the LDS than IREE's")
    counts, _ = basis_of(contraction)
    warps = prod(counts[loop] for loop in loops.rows)
    if prod(counts) != warps:
        raise Refusal("its warps share more than rows")
    return warps
