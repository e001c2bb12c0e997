# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rules by which everything is counted on a GPU, with where each comes from, as text."""

from __future__ import annotations

from collections.abc import Iterator

from ..bank_model.lane_pattern import runs_text
from ..bank_model.lds_rules import Lds, LdsInstruction, Sharing
from ..bank_model.lds_tables import revision_of
from ..bank_model.readings import EVIDENCE, served_by

_SHARED = {
    Sharing.WORD: "",
    Sharing.LANE: "a cycle for each lane, also of lanes that want the same word",
    Sharing.LANE_TWICE: "two cycles for each lane, also of lanes that want the same word",
}


def rules_of(lds: Lds) -> Iterator[str]:
    """Yields the lines of a table of the LDS instructions of a target."""
    yield f"{lds.arch}: waves of {lds.wave_size} lanes, banks of {lds.bank_width_bytes} bytes"
    width = max(len(each.name) for each in lds.rows)
    for each in lds.rows:
        first, *others = _about(each)
        yield f"  {each.name:<{width}}  {first}"
        yield from (f"  {'':<{width}}  {line}" for line in others)


def _about(instruction: LdsInstruction) -> Iterator[str]:
    yield _rule(instruction)
    yield f"  {_source(instruction)}"
    if instruction.merging is not None:
        source, status = instruction.merging
        yield "phases that follow each other merge where neighbours want the same"
        yield f"  {EVIDENCE[status]}: {source}"
    if instruction.other is not None:
        yield f"or else {_rule(instruction.other)}"
        yield f"  {_source(instruction.other)}"


def _rule(instruction: LdsInstruction) -> str:
    served = f"{served_by(instruction)} of {len(instruction.phases[0])} lanes"
    first = f", the first {runs_text(instruction.phases[0])}" if len(instruction.phases) > 1 else ""
    shared = _SHARED[instruction.sharing]
    return f"{served}{first}{f'; {shared}' if shared else ''}"


def _source(instruction: LdsInstruction) -> str:
    revision = revision_of(instruction.source)
    revision = f" ({revision})" if revision else ""
    return f"{EVIDENCE[instruction.status]}: {instruction.source}{revision}"
