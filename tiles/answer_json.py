# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Answers about a tile as JSON; `docs/tile.md` describes the schema."""

from __future__ import annotations

import json

from ..report.bank_map_data import bank_map_data, layout_data
from .answer_contents import notes
from .answers import Answer, TileSolution
from .counts import AccessCount, CountedLayout, Question

SCHEMA_VERSION = 1


def answer_json(answer: Answer, *, maps: bool = True) -> str:
    """Returns an answer; `maps` says whether the bank maps are part of it."""
    if isinstance(answer, TileSolution):
        layouts = {name: _count(each, maps) for name, each in answer.layouts.items()}
        found = {"layouts": layouts, **_choice(answer)}
    else:
        found = {"layouts": {"counted": _count(answer.counted, maps)}}
    return json.dumps({**_question(answer.question), **found}, indent=2) + "\n"


def _choice(solution: TileSolution) -> dict[str, object]:
    swizzled = solution.written_swizzle
    return {
        "best": solution.best_name,
        "reason": solution.reason,
        "optimality": solution.decision.optimality.name.lower(),
        "proof": solution.proof,
        "swizzle": swizzled and str(swizzled.layout),
        "notations": {
            each.name: {"text": each.text, "expressible": each.is_expressible, "note": each.note}
            for each in solution.notations
        },
    }


def _question(question: Question) -> dict[str, object]:
    return {
        "version": SCHEMA_VERSION,
        "target": question.lds.arch,
        "tile": question.named.text,
        "shape": list(question.named.tile.shape),
        "element_bits": question.named.tile.element_bits,
        "threads": question.lanes.threads,
        "wave_size": question.lanes.wave_size,
    }


def _count(count: CountedLayout, maps: bool) -> dict[str, object]:
    code = count.code
    return {
        **layout_data(count.layout),
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
