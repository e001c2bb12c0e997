# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which layouts the passes would give the allocations of a function, which stays as it is.

The passes themselves decide, on a copy of the function: allocations that meet get one layout, those
that are padded share stock's LDS bytes, and nothing is proposed that an access cannot take.
"""

from __future__ import annotations

from collections.abc import Mapping

from iree.compiler import ir

from ..bank_model.layouts import Layout, PaddedLayout, PlainLayout
from ..dialect_utils.diagnostics import Refusal
from ..dialect_utils.gpu_target import TARGET_ATTRIBUTES
from ..dialect_utils.lowering_config import has_padding_pass
from ..dialect_utils.memory.allocation_layout import standing_layout
from ..dialect_utils.memory.flow import lds_allocations
from ..dialect_utils.operations import GPU_LAUNCH
from ..passes.base import PassContext, UnresolvedHint
from ..passes.decisions import Decision
from ..passes.padding.pad_unhinted_allocs import PadUnhintedAllocs
from ..passes.swizzles.flatten_swizzle_hints import FlattenSwizzleHints
from ..passes.swizzles.swizzle_lds_allocs import SwizzleLdsAllocs


def proposed_layouts(
    function: ir.Operation,
    arch: str,
    limit_bytes: int | None,
    unresolved: Mapping[str, UnresolvedHint],
) -> dict[ir.Operation, tuple[Layout, str]]:
    """Returns the layout that the passes would give each `memref.alloc` in LDS, and why.

    Returns nothing where they would not look at the function, as at a `gpu.launch` in another one.
    Nothing is padded where stock pads nothing, unless a hint of it cannot be resolved.

    Args:
        arch: the GPU, whatever target the function has.
        limit_bytes: the LDS of a workgroup; None for all that the GPU has.
        unresolved: as `PassContext` has it.
    """
    if function.name == GPU_LAUNCH:
        return {}
    module = ir.Module.create(function.location)
    copy = function.clone(ip=ir.InsertionPoint(module.body)).operation
    for name in TARGET_ATTRIBUTES:
        if name in copy.attributes:
            del copy.attributes[name]
    context = PassContext(test_target=arch, unresolved={**unresolved})
    pads = has_padding_pass(function)
    SwizzleLdsAllocs(defer_to_padding=pads).run(copy, context)
    swizzled = list(context.log)
    FlattenSwizzleHints().run(copy, context)
    padding = PadUnhintedAllocs(lds_limit_bytes=limit_bytes or 0, unresolved_only=not pads)
    padding.run(copy, context)
    if not swizzled:
        return {}
    decided = zip(lds_allocations(function), lds_allocations(copy), swizzled, strict=True)
    return {mine: _with_reason(its, decision) for mine, its, decision in decided}


def _with_reason(allocation: ir.Operation, swizzled: Decision) -> tuple[Layout, str]:
    """Returns the layout of an allocation, and why it is swizzled with that or not at all."""
    try:
        layout = standing_layout(allocation.results[0]).layout
    except Refusal:
        return PlainLayout(), ""
    was_counted = swizzled.conflict_cycles_after is not None
    if isinstance(layout, PaddedLayout) and not was_counted:
        return layout, f"not swizzled: {swizzled.reason}"
    return layout, swizzled.reason
