# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pipeline edits: where the passes go, and what happens when an anchor does not fit."""

import pytest

from bankwise.iree_plugin.embedding import compiler_version
from bankwise.iree_plugin.recording import packaged_recordings
from bankwise.passes.pipeline_edit import (
    NativePass,
    PipelineEdit,
    PipelineEditError,
    splice,
)

A, B, C, NEW = (NativePass(name) for name in ("a", "b", "c", "new"))


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (PipelineEdit.before("b", NEW), [A, NEW, B, C]),
        (PipelineEdit.after("b", NEW), [A, B, NEW, C]),
        (PipelineEdit.replace("b", NEW), [A, NEW, C]),
        (PipelineEdit.replace("b"), [A, C]),
        (PipelineEdit.after("absent", NEW), [A, B, C]),
        (PipelineEdit.after("b", NEW, beside="c"), [A, B, NEW, C]),
        (PipelineEdit.after("b", NEW, beside="absent", required=True), [A, B, C]),
        (PipelineEdit.after("b", NEW, without="c"), [A, B, C]),
        (PipelineEdit.after("b", NEW, without="absent"), [A, B, NEW, C]),
    ],
)
def test_passes_go_where_the_edit_says(edit: PipelineEdit, expected: list[NativePass]) -> None:
    (made,) = splice([[A, B, C]], [edit], "TileAndFuse")
    assert made == expected


def test_an_occurrence_picks_among_equal_anchors() -> None:
    second = PipelineEdit.after("a", NEW, occurrence=1)
    assert splice([[A, B, A]], [second], "TileAndFuse") == [[A, B, A, NEW]]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (PipelineEdit.after("a", NEW), "occurs 2 times"),
        (PipelineEdit.after("a", NEW, occurrence=2), "occurs 2 times, not 3"),
        (PipelineEdit.after("absent", NEW, required=True), "occurs 0 times"),
    ],
)
def test_an_anchor_that_does_not_fit_is_an_error(edit: PipelineEdit, message: str) -> None:
    with pytest.raises(PipelineEditError, match=message):
        splice([[A, B, A]], [edit], "TileAndFuse")


def test_options_are_kept_with_single_spaces() -> None:
    parsed = NativePass.parse("canonicalize{x=1    y={a,b}}")
    assert parsed == NativePass("canonicalize", "x=1 y={a,b}")
    assert str(parsed) == "canonicalize{x=1 y={a,b}}"


def test_the_later_edit_stands_nearer_to_the_anchor() -> None:
    after = [PipelineEdit.after("a", B), PipelineEdit.after("a", C, NEW)]
    assert splice(([A],), after, "TileAndFuse") == [[A, C, NEW, B]]
    before = [PipelineEdit.before("a", B), PipelineEdit.before("a", C, NEW)]
    assert splice(([A],), before, "TileAndFuse") == [[B, C, NEW, A]]


STAGES = ([A, B], [B, C])


def test_an_edit_goes_to_the_stage_that_holds_its_anchor() -> None:
    codegen, lowering = splice(STAGES, [PipelineEdit.after("c", NEW)], "TileAndFuse")
    assert (codegen, lowering) == ([A, B], [B, C, NEW])


def test_an_anchor_in_both_stages_is_ambiguous() -> None:
    with pytest.raises(PipelineEditError, match="in codegen and in the LLVM lowering"):
        splice(STAGES, [PipelineEdit.after("b", NEW)], "TileAndFuse")
    codegen, _ = splice(STAGES, [PipelineEdit.after("b", NEW, occurrence=0)], "TileAndFuse")
    assert codegen == [A, B, NEW]


def test_edits_for_another_pipeline_are_not_made() -> None:
    edit = PipelineEdit.after("a", NEW, pipelines=frozenset({"VectorDistribute"}))
    assert splice(STAGES, [edit], "TileAndFuse")[0] == [A, B]


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (PipelineEdit.after(""), "the anchor of a pipeline edit is '', no name"),
        (
            PipelineEdit.after("a", pipelines="VectorDistribute"),
            "`pipelines` of a pipeline edit has a text; give a set of some of Distribute, Lowered",
        ),
        (
            PipelineEdit.after("a", pipelines={"TileAndFuse", "VectorDistributed"}),
            "`pipelines` of a pipeline edit has 'VectorDistributed'; give a set",
        ),
    ],
)
def test_a_place_that_there_is_never_is_refused(edit: PipelineEdit, reason: str) -> None:
    with pytest.raises(PipelineEditError, match=reason):
        edit.check()


def test_all_kinds_of_pipelines_are_recorded_ones() -> None:
    kinds = {each.pipeline for each in packaged_recordings(compiler_version())}
    PipelineEdit.after("a", pipelines=frozenset(kinds)).check()
