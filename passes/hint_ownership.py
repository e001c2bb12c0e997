# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whose swizzle hints a function has: ours, or the stock compiler's.

Stock emits hints of its own where it loads direct to LDS, and its own passes stow, reinsert and
resolve them. Where both may occur, our passes stand before stock's and treat only functions whose
hints are ours; those that we have treated have nothing left for stock's.
"""

from __future__ import annotations

from iree.compiler import ir

_MARK = "bankwise.hints"
"""Unit attribute of a function with our hints, from emitting to resolving them."""


def mark_hints(function: ir.Operation) -> None:
    """Says that the hints of `function` are ours."""
    function.attributes[_MARK] = ir.UnitAttr.get(function.context)


def are_hints_marked(function: ir.Operation) -> bool:
    """Whether `mark_hints` has been called."""
    return _MARK in function.attributes


def unmark_hints(function: ir.Operation) -> None:
    """Undoes `mark_hints`."""
    if _MARK in function.attributes:
        del function.attributes[_MARK]
