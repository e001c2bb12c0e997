# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts and bank maps as data for JSON, for reports on kernels and for answers on tiles."""

from __future__ import annotations

from ..bank_model.bank_map import BankMap
from ..bank_model.layouts import Layout, PaddedLayout, PlainLayout


def layout_data(layout: Layout) -> dict[str, object]:
    """Returns a layout in words, its swizzles and its padding by keys."""
    in_rows = isinstance(layout, PlainLayout | PaddedLayout)
    return {
        "layout": str(layout),
        "swizzles": [] if in_rows else [str(each) for each in layout.swizzles],
        "padding_elements": 0 if isinstance(layout, PlainLayout) else layout.padding_elements,
    }


def bank_map_data(found: BankMap | None, issue_key: str) -> dict[str, object] | None:
    """Returns a map by keys; None where no lane is ever active.

    Args:
        issue_key: the key that says which issue is shown. Answers on tiles call it `wave`, because
            their issues are always the waves.
    """
    if found is None:
        return None
    return {
        "instruction": found.instruction.name,
        issue_key: found.issue,
        "phase": found.phase,
        "lanes": list(found.lanes),
        "cycles": found.cycles,
        "banks": [
            [{"word": word.word, "lanes": list(word.lanes)} for word in words]
            for words in found.words_by_bank
        ],
    }
