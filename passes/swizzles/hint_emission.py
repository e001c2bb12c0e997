# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Emitting `iree_codegen.swizzle_hint`s."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir

from ...bank_model.swizzles import Swizzle
from ...dialect_utils.builders import Builder
from ...dialect_utils.memory.flow import uses_of
from ...dialect_utils.swizzle_hint import swizzle_attribute


def emit_hints(buffer: ir.Value, swizzles: Sequence[Swizzle | ir.Attribute]) -> None:
    """Puts hints on a memref or tensor, and lets its users use the last of them.

    The first swizzle is nearest to the buffer. What touches no element of it, as `memref.dealloc`,
    stays with the buffer itself.
    """
    uses = uses_of(buffer)
    hinted = behind_hints(buffer, swizzles)
    for use in uses:
        use.user.operands[use.number] = hinted


def behind_hints(buffer: ir.Value, swizzles: Sequence[Swizzle | ir.Attribute]) -> ir.Value:
    """Returns `buffer` behind hints right after it, the first of them on it."""
    at = Builder.behind(buffer)
    for swizzle in swizzles:
        attribute = swizzle
        if isinstance(swizzle, Swizzle):
            attribute = swizzle_attribute(swizzle, buffer.context)
        buffer = at.swizzle_hint(buffer, attribute)
    return buffer
