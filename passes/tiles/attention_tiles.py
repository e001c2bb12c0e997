# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How an attention's rows are spread over workgroups and warps, to be read and changed.

IREE computes an attention by two contractions whose warps share the rows. Beside the tiles of
the loops (`tiled_attention.py`), the configuration of each contraction says how many warps there
are along each loop, and which matrix instruction multiplies:

    decomposition_config = {
      qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = ...,
        promote_operands = [0, 1], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]], ...}>},
      pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = ...,
        promote_operands = [1], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 4]], ...}>}}

An attention of another form than this is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from iree.compiler import ir

from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.lowering_config import (
    CONFIG,
    REDUCTION,
    TRANSLATION_INFO,
    WORKGROUP,
    LoweringConfig,
    WarpLaunch,
    integers,
    numbers_attribute,
)
from .tiled_attention import TiledAttention, only_attention

_DECOMPOSITION = "decomposition_config"
_SCORES, _OUTPUTS = "qk_attrs", "pv_attrs"
_BASIS = "subgroup_basis"
_PROMOTED = "promote_operands"
_PROMOTED_ALL = {_SCORES: (0, 1), _OUTPUTS: (1,)}
"""Which operands of each contraction IREE stages in the LDS."""
_Q, _K, _V = range(3)
_OUTPUT = -3


@dataclass(frozen=True)
class AttentionTiling:
    """What a workgroup of an attention computes.

    Attributes:
        rows: rows of the output.
        columns: columns of the output.
        keys: keys of one trip of its loop.
        warps: its warps, which share the rows.
    """

    rows: int
    columns: int
    keys: int
    warps: int

    def __str__(self) -> str:
        return (
            f"{self.rows} rows x {self.columns} columns, {self.keys} keys a step, "
            f"{self.warps} warps"
        )


@dataclass(frozen=True)
class AttentionLoops:
    """The loops of an attention by their parts in it.

    Attributes:
        batch: those that index every operand.
        rows, head, keys, columns: M, K1, K2 and N of Q (M, K1), K (K2, K1), V (K2, N).
    """

    batch: tuple[int, ...]
    rows: int
    head: int
    keys: int
    columns: int

    @staticmethod
    def of(attention: TiledAttention) -> AttentionLoops:
        """Finds the parts of the loops.

        Raises:
            Refusal: a part is that of several loops, or a loop has none of them.
        """
        maps = attention.maps
        q, k, v, output = (frozenset(maps[each]) for each in (_Q, _K, _V, _OUTPUT))
        batch = q & k & v & output
        parts = {
            "rows": (q & output) - k - v,
            "head": (q & k) - v - output,
            "keys": (k & v) - q - output,
            "columns": (v & output) - q - k,
        }
        for name, loops in parts.items():
            if len(loops) != 1:
                raise Refusal(f"its {name} are no single loop")
        if batch.union(*parts.values()) != {*range(len(attention.extents))}:
            raise Refusal("not all of its loops are known")
        rows, head, keys, columns = (next(iter(loops)) for loops in parts.values())
        return AttentionLoops(tuple(sorted(batch)), rows, head, keys, columns)


@dataclass(frozen=True)
class WarpTiledAttention:
    """An attention, its tile, and the instructions that multiply.

    Attributes:
        scores, outputs: rows, columns and summed elements of the instruction of each contraction.
    """

    attention: TiledAttention
    loops: AttentionLoops
    launch: WarpLaunch
    tile: AttentionTiling
    scores: tuple[int, int, int]
    outputs: tuple[int, int, int]

    @property
    def operation(self) -> ir.Operation:
        """Returns the attention itself."""
        return self.attention.operation

    @property
    def batch(self) -> int:
        """Returns how many attentions of all rows there are."""
        return prod(self.attention.extents[loop] for loop in self.loops.batch)

    @property
    def rows(self) -> int:
        """Returns the rows of the output."""
        return self.attention.extents[self.loops.rows]

    @property
    def keys(self) -> int:
        """Returns the rows of K and V."""
        return self.attention.extents[self.loops.keys]

    @property
    def head(self) -> int:
        """Returns the columns of Q and K."""
        return self.attention.extents[self.loops.head]

    @property
    def columns(self) -> int:
        """Returns the columns of V and of the output."""
        return self.attention.extents[self.loops.columns]

    @property
    def element_bits(self) -> int:
        """Returns the bits of an element of K, as wide as those of Q and V.

        Raises:
            Refusal: they differ, or have no known size.
        """
        bits = {self.attention.element_bits_of(each) for each in (_Q, _K, _V)}
        if len(bits) != 1:
            raise Refusal("the elements of Q, K and V differ in size")
        return bits.pop()

    def takes(self, tile: AttentionTiling) -> bool:
        """Returns whether the loops and the instructions divide evenly into such tiles."""
        rows = max(self.scores[0], self.outputs[0])
        return not (
            self.rows % tile.rows
            or self.columns % tile.columns
            or self.keys % tile.keys
            or tile.rows % (tile.warps * rows)
            or tile.columns % self.outputs[1]
            or tile.keys % self.scores[1]
            or tile.keys % self.outputs[2]
        )

    def attributes(self, tile: AttentionTiling) -> dict[str, ir.Attribute]:
        """Returns the attributes of the operation and, as `TRANSLATION_INFO`, of its function."""
        context = self.operation.context
        workgroup, reduction = list(self.attention.workgroup), list(self.attention.reduction)
        workgroup[self.loops.rows], workgroup[self.loops.columns] = tile.rows, tile.columns
        reduction[self.loops.keys] = tile.keys
        config = LoweringConfig.of(self.operation.attributes[CONFIG]).with_entries(
            **{
                WORKGROUP: numbers_attribute(workgroup, context),
                REDUCTION: numbers_attribute(reduction, context),
            }
        )
        contractions = _contractions(self.operation)
        decomposition = {
            name: ir.DictAttr.get(
                {CONFIG: self._spread(contraction, tile.warps).attribute(context)}, context
            )
            for name, contraction in contractions.items()
        }
        return {
            CONFIG: config.attribute(context),
            _DECOMPOSITION: ir.DictAttr.get(decomposition, context),
            TRANSLATION_INFO: self.launch.with_warps(tile.warps),
        }

    def configure(self, function: ir.Operation, tile: AttentionTiling) -> None:
        """Makes `tile` that of the operation in its function."""
        attributes = self.attributes(tile)
        function.attributes[TRANSLATION_INFO] = attributes.pop(TRANSLATION_INFO)
        for name, attribute in attributes.items():
            self.operation.attributes[name] = attribute

    def _spread(self, contraction: LoweringConfig, warps: int) -> LoweringConfig:
        counts, order = _basis(contraction)
        context = self.operation.context
        counts = tuple(warps if loop == self.loops.rows else 1 for loop in range(len(counts)))
        lists = [numbers_attribute(each, context) for each in (counts, order)]
        return contraction.with_entries(**{_BASIS: ir.ArrayAttr.get(lists, context)})


def warp_tiled_attention(function: ir.Operation) -> WarpTiledAttention | None:
    """Returns the attention that decides on the workgroups of `function`, if there is one.

    Raises:
        Refusal: there is one, but of another form than this module describes.
    """
    attention = only_attention(function)
    if attention is None:
        return None
    loops = AttentionLoops.of(attention)
    config = LoweringConfig.of(attention.operation.attributes[CONFIG])
    config.only((_PROMOTED, REDUCTION, WORKGROUP), ("promotion_types",))
    if config.numbers(_PROMOTED) != (_Q, _K, _V):
        raise Refusal("not all of Q, K and V are staged in the LDS")
    _check_tiles(attention, loops)
    contractions = _contractions(attention.operation)
    warps = {_warps(name, contraction, loops) for name, contraction in contractions.items()}
    launch = WarpLaunch.of(function)
    if warps != {launch.warps}:
        raise Refusal("its products are not spread over all warps of the workgroup")
    tile = AttentionTiling(
        attention.workgroup[loops.rows],
        attention.workgroup[loops.columns],
        attention.reduction[loops.keys],
        launch.warps,
    )
    scores, outputs = (contractions[name].instruction for name in (_SCORES, _OUTPUTS))
    read = WarpTiledAttention(attention, loops, launch, tile, scores, outputs)
    if not read.takes(tile):
        raise Refusal("its tiles do not divide its sizes")
    return read


def _check_tiles(attention: TiledAttention, loops: AttentionLoops) -> None:
    tiled = {loop for loop, tile in enumerate(attention.workgroup) if tile}
    steps = {loop for loop, tile in enumerate(attention.reduction) if tile}
    if (
        tiled != {*loops.batch, loops.rows, loops.columns}
        or any(attention.workgroup[loop] != 1 for loop in loops.batch)
        or steps != {loops.keys}
    ):
        raise Refusal("its loops are tiled otherwise than rows, columns and keys")


def _contractions(operation: ir.Operation) -> Mapping[str, LoweringConfig]:
    """Returns the configurations of both contractions, by their names."""
    if _DECOMPOSITION not in operation.attributes:
        raise Refusal("its products have no configuration")
    parts = _entries(operation.attributes[_DECOMPOSITION])
    if {*parts} != {_SCORES, _OUTPUTS}:
        raise Refusal("its decomposition_config has other entries than qk_attrs and pv_attrs")
    contractions: dict[str, LoweringConfig] = {}
    for name, part in parts.items():
        entries = _entries(part)
        if {*entries} != {CONFIG}:
            raise Refusal(f"its {name} have other entries than a lowering_config")
        contractions[name] = LoweringConfig.of(entries[CONFIG])
    return contractions


def _entries(attribute: ir.Attribute) -> dict[str, ir.Attribute]:
    if not isinstance(attribute, ir.DictAttr):
        raise Refusal("its decomposition_config is no dictionary")
    return {each.name: each.attr for each in attribute}


def _warps(name: str, contraction: LoweringConfig, loops: AttentionLoops) -> int:
    """Returns how many warps a contraction is spread over, all of them along the rows."""
    contraction.only(("mma_kind", _PROMOTED, _BASIS), ("promotion_types",))
    if contraction.numbers(_PROMOTED) != _PROMOTED_ALL[name]:
        raise Refusal("its products stage other operands in the LDS than IREE's")
    counts, _ = _basis(contraction)
    if prod(counts) != counts[loops.rows]:
        raise Refusal("its warps share more than rows")
    return counts[loops.rows]


def _basis(contraction: LoweringConfig) -> tuple[tuple[int, ...], tuple[int, ...]]:
    attribute = contraction.entries[_BASIS]
    lists: Iterable[ir.Attribute] = attribute if isinstance(attribute, ir.ArrayAttr) else ()
    numbers = [integers(each) for each in lists]
    if len(numbers) != 2:
        raise Refusal(f"{attribute} is no subgroup_basis")
    return numbers[0], numbers[1]
