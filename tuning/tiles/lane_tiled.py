# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls whose lanes have tiles of the operands in the LDS, told by their configurations alone.

The table of steps asks that of every function: to answer, nothing of tiles or their costs is
loaded.
"""

from __future__ import annotations

from iree.compiler import ir

from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.indexing_maps import GENERIC
from ...dialect_utils.lowering_config import CONFIG, LANE_BASIS, PROMOTED, LoweringConfig, only_root


def is_tiled_by_lanes(root: ir.Operation) -> bool:
    """Returns whether lanes have tiles of the operands of a matmul in the LDS."""
    try:
        entries = LoweringConfig.of(root.attributes[CONFIG]).entries
    except Refusal:
        return False
    return {LANE_BASIS, PROMOTED} <= entries.keys()


def is_lane_tiled_matmul(function: ir.Operation) -> bool:
    """Returns whether a matmul decides on the workgroups of a function whose lanes have tiles."""
    root = only_root(function)
    return root is not None and root.name == GENERIC and is_tiled_by_lanes(root)
