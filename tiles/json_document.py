# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Answers about a tile as JSON; `docs/tile.md` describes the schema."""

from __future__ import annotations

import json

from ..bank_model.layouts import Layout, PaddedLayout, PlainLayout
from ..report.bank_map_data import bank_map_data
from .answers import AccessCount, TileCount, TileSolution
from .contents import notes, swizzle_of

SCHEMA_VERSION = 1


def solution_json(solution: TileSolution, *, maps: bool = True) -> str:
    """Returns an answer; `maps` says whether the bank maps are part of it."""
    decision = solution.decision
    swizzled = swizzle_of(solution)
    document = {
        **_question(solution.plain),
        "layouts": {name: _count(each, maps) for name, each in solution.layouts.items()},
        "best": solution.best_name,
        "reason": decision.reason,
        "optimality": decision.optimality.name.lower(),
        "proof": solution.proof,
        "swizzle": swizzled and str(swizzled.layout),
        "notations": {
            each.name: {"text": each.text, "expressible": each.is_expressible}
            for each in solution.notations
        },
    }
    return json.dumps(document, indent=2) + "\n"


def count_json(count: TileCount, *, maps: bool = True) -> str:
    """Returns the costs in one layout."""
    document = {**_question(count), "layouts": {"counted": _count(count, maps)}}
    return json.dumps(document, indent=2) + "\n"


def _question(count: TileCount) -> dict[str, object]:
    question = count.question
    return {
        "version": SCHEMA_VERSION,
        "target": question.target.arch,
        "tile": question.named.text,
        "shape": list(question.named.tile.shape),
        "element_bits": question.named.tile.element_bits,
        "threads": question.lanes.threads,
        "wave_size": question.lanes.wave_size,
    }


def _count(count: TileCount, maps: bool) -> dict[str, object]:
    code = count.code
    return {
        "layout": str(count.layout),
        **_layout(count.layout),
        "conflict_cycles": count.conflict_cycles,
        "cycles": count.cycles,
        "instructions": count.instructions,
        "lds_bytes": count.lds_bytes,
        "accesses": [_access(each, maps) for each in count.accesses],
        "notes": list(notes(count)),
        "c": {
            "offset": code.offset,
            "place": code.place,
            "subscript": code.subscript or None,
            "function": code.function(),
        },
    }


def _layout(layout: Layout) -> dict[str, object]:
    padding = 0 if isinstance(layout, PlainLayout) else layout.padding_elements
    in_rows = isinstance(layout, PlainLayout | PaddedLayout)
    swizzles = () if in_rows else layout.swizzles
    return {"swizzles": [str(each) for each in swizzles], "padding_elements": padding}


def _access(access: AccessCount, maps: bool) -> dict[str, object]:
    least, most = access.conflicts_per_access
    data: dict[str, object] = {
        "kind": access.accesses.kind.value,
        "text": access.accesses.text,
        "accesses": len(access.costs),
        "conflict_cycles": access.conflict_cycles,
        "conflict_cycles_per_access": [least, most],
        "cycles": access.cycles,
        "instructions": dict(access.instructions),
        "split": access.is_split,
        "reordered_elements": access.reordered_elements,
    }
    return {**data, "bank_map": bank_map_data(access.bank_map(), "wave")} if maps else data
