# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Applying pipeline edits to a recording, which has two stages."""

from __future__ import annotations

from collections.abc import Iterable

from .pipeline_edit import PipelineEdit, PipelineEditError, PipelineStep
from .recording import Recording


def splice(
    recording: Recording, edits: Iterable[PipelineEdit], pipeline: str
) -> tuple[list[PipelineStep], list[PipelineStep]]:
    """The codegen and lowering stages of `recording` with the edits for `pipeline` made, in order.

    An edit goes to the stage that holds its anchor; an anchor in both needs an `occurrence`, which
    then counts within the codegen stage.

    Raises:
        PipelineEditError: an anchor is ambiguous, or missing though required.
    """
    stages: list[list[PipelineStep]] = [
        list(recording.codegen_steps),
        list(recording.lowering_steps),
    ]
    for edit in edits:
        if pipeline not in edit.pipelines:
            continue
        holders = [s for s in stages if any(step.name == edit.anchor for step in s)]
        if len(holders) == 2 and edit.occurrence is None:
            raise PipelineEditError(
                f"anchor '{edit.anchor}' occurs in codegen and in the LLVM lowering; "
                "name a pass that occurs once, or set `occurrence`"
            )
        stage = holders[0] if holders else stages[0]
        stage[:] = edit.apply(stage)
    return stages[0], stages[1]
