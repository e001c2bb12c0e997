# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that surely gain nothing from another level, told by their configurations alone.

To know what a kernel would gain (`advice.py`), the passes of that level are loaded, in a process of
its own. Most kernels have matrix instructions already, and there is nothing to ask.
"""

from __future__ import annotations

from iree.compiler import ir

from ..dialect_utils.diagnostics import Refusal
from ..dialect_utils.indexing_maps import GENERIC
from ..dialect_utils.lowering_config import CONFIG, MMA_KIND, PARTIAL, LoweringConfig, only_root
from ..dialect_utils.operations import ONLINE_ATTENTION


def may_gain(function: ir.Operation) -> bool:
    """Returns whether a configured function might gain from another level.

    Where matrix instructions compute what decides on its workgroups, it does not.
    """
    root = only_root(function)
    if root is None:
        return True
    try:
        entries = LoweringConfig.of(root.attributes[CONFIG]).entries
    except Refusal:
        return True
    if root.name == GENERIC:
        return MMA_KIND not in entries
    return root.name != ONLINE_ATTENTION or PARTIAL in entries
