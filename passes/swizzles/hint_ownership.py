# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which functions have swizzle hints, and whose: ours, or the stock compiler's.

Stock emits hints of its own where it loads direct to LDS, and its own passes stow, reinsert and
resolve them. Where both may occur, our passes stand before stock's and treat only functions whose
hints are ours; those that we have treated have nothing left for stock's.
"""

from __future__ import annotations

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...dialect_utils.handed_attributes import HINTS
from ...dialect_utils.operations import operations_in
from ...dialect_utils.swizzle_hint import STOWED_SWIZZLE, is_hint
from ..base import FunctionPass


def mark_hints(function: ir.Operation) -> None:
    """Marks the hints of `function` as ours."""
    function.attributes[HINTS] = ir.UnitAttr.get(function.context)


def are_hints_marked(function: ir.Operation) -> bool:
    """Returns whether `mark_hints` has marked `function`."""
    return HINTS in function.attributes


def unmark_hints(function: ir.Operation) -> None:
    """Removes the mark that `mark_hints` has made, if there is one."""
    if HINTS in function.attributes:
        del function.attributes[HINTS]


def has_hints(function: ir.Operation) -> bool:
    """Returns whether `function` holds a swizzle hint, or an allocation with a stowed one."""
    return any(is_hint(op) or STOWED_SWIZZLE in op.attributes for op in operations_in(function))


@dataclass(frozen=True)
class HintPass(FunctionPass):
    """A pass that treats swizzle hints, and changes no function without any."""

    only_own: bool = False
    """Leave functions alone whose hints are not marked as ours."""

    def is_for(self, function: ir.Operation) -> bool:
        """Returns whether the pass may treat the hints of `function`, by whose hints they are."""
        return not self.only_own or are_hints_marked(function)

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has hints that the pass may treat."""
        return self.is_for(function) and has_hints(function)
