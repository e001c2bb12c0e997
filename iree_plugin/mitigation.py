# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each mitigation and level splices into a codegen pipeline, by the tables of the rooms."""

from __future__ import annotations

from functools import cache

from ..passes.layout_steps import counting_edits
from ..passes.mode import MITIGATIONS, Mode
from ..passes.pipeline_edit import PipelineEdit
from ..passes.steps import Step, edits_of, joined
from .rooms import rooms_of


@cache
def steps() -> tuple[Step, ...]:
    """Returns the steps of all modes; an earlier one stands before a later one at one place."""
    return joined(room.steps for room in rooms_of())


def mitigation_edits(mode: Mode) -> list[PipelineEdit]:
    """Returns the edits of a mode, in the order in which they are made.

    Raises:
        KeyError: a part of the mode does not exist.
    """
    if mode.mitigation not in MITIGATIONS:
        raise KeyError(mode.mitigation)
    return [*counting_edits(mode), *edits_of(steps(), mode)]
