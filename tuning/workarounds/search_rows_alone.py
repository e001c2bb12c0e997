# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-search-rows-alone`: one lane searches a row for its largest elements, or sums it up.

IREE 3.13 gives an `iree_linalg_ext.topk` and an `iree_linalg_ext.scan` tiles of 128 rows and
workgroups of 128 lanes:

    lowering_config = #iree_codegen.lowering_config<tile_sizes = [[128]]>
    translation_info = #iree_codegen.translation_info<... workgroup_size = [128, 1, 1]>

What is distributed to lanes is the fill of the outputs alone, of which the first lane gets all 128
rows. The search is a loop over rows and elements that every lane runs: it inserts each element into
the outputs, which all lanes read and write, without a barrier. Two waves are at different elements.
So are those of a scan, which all keep the sum of a row in one place.

This pass gives a workgroup one row and one lane, so that nothing is shared.

Runs on the configured function, before its pipeline.

This works around IREE 3.13 (`docs/for_iree.md#top-k`).
"""

from __future__ import annotations

from math import prod
from typing import ClassVar

from iree.compiler import ir
from iree.compiler._mlir_libs._ireeCompilerDialects import iree_codegen

from ...dialect_utils.lowering_config import CONFIG, TRANSLATION_INFO, changed_info
from ...dialect_utils.operations import ROW_LOOPS, operations_in
from ...passes.base import FunctionPass, PassContext

_DIMENSION = "dimension"
_TILES = "#iree_codegen.lowering_config<tile_sizes = [{tiles}]>"


class SearchRowsAlone(FunctionPass):
    """Gives each row of a search for the largest elements, or of a scan, one lane."""

    name: ClassVar[str] = "bankwise-search-rows-alone"
    summary: ClassVar[str] = "search or sum up a row by one lane, not by all"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has a search or a scan that several lanes run."""
        return bool(_row_loops(function.operation))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Rewrites the configuration of `function`; never fails."""
        function = function.operation
        loops = _row_loops(function)
        if not loops:
            return
        for loop in loops:
            config = loop.attributes[CONFIG]
            rank = ir.ShapedType(loop.operands[0].type).rank
            summed = ir.IntegerAttr(loop.attributes[_DIMENSION]).value
            tiles = [int(dim != summed) for dim in range(rank)]
            alone = ir.Attribute.parse(_TILES.format(tiles=tiles), loop.context)
            for each in operations_in(function):
                if CONFIG in each.attributes and each.attributes[CONFIG] == config:
                    each.attributes[CONFIG] = alone
            context.sink.remark(
                loop.location, "lanes would go over the same rows without a barrier"
            )
        info = function.attributes[TRANSLATION_INFO]
        function.attributes[TRANSLATION_INFO] = changed_info(info, workgroup_size=[1, 1, 1])


def _row_loops(function: ir.Operation) -> list[ir.Operation]:
    """Returns the configured searches and scans of a function with several lanes a workgroup."""
    if TRANSLATION_INFO not in function.attributes:
        return []
    info = iree_codegen.TranslationInfoAttr(function.attributes[TRANSLATION_INFO])
    if prod(info.workgroup_size) == 1:
        return []
    return [each for each in operations_in(function, *ROW_LOOPS) if CONFIG in each.attributes]
