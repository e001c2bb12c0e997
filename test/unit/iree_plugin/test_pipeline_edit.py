# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pipeline edits: where the passes go, and what happens when an anchor does not fit."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from bankwise.iree_plugin import pipeline_edit
from bankwise.iree_plugin.codegen_replay import splice
from bankwise.iree_plugin.pipeline_edit import (
    NativePass,
    PipelineEdit,
    PipelineEditError,
    installed_plugins,
)
from bankwise.iree_plugin.recording import Recording, RecordingKey

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
    assert (edit.apply([A, B, C]) if edit.fits([[A], [B, C]]) else [A, B, C]) == expected


def test_an_occurrence_picks_among_equal_anchors() -> None:
    assert PipelineEdit.after("a", NEW, occurrence=1).apply([A, B, A]) == [A, B, A, NEW]


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
        edit.apply([A, B, A])


def test_options_are_kept_with_single_spaces() -> None:
    parsed = NativePass.parse("canonicalize{x=1    y={a,b}}")
    assert parsed == NativePass("canonicalize", "x=1 y={a,b}")
    assert str(parsed) == "canonicalize{x=1 y={a,b}}"


RECORDING = Recording(RecordingKey("rocm", "TileAndFuse"), ("a", "b"), ("b", "c"))


def test_an_edit_goes_to_the_stage_that_holds_its_anchor() -> None:
    codegen, lowering = splice(RECORDING, [PipelineEdit.after("c", NEW)], "TileAndFuse")
    assert (codegen, lowering) == ([A, B], [B, C, NEW])


def test_an_anchor_in_both_stages_is_ambiguous() -> None:
    with pytest.raises(PipelineEditError, match="in codegen and in the LLVM lowering"):
        splice(RECORDING, [PipelineEdit.after("b", NEW)], "TileAndFuse")
    codegen, _ = splice(RECORDING, [PipelineEdit.after("b", NEW, occurrence=0)], "TileAndFuse")
    assert codegen == [A, B, NEW]


def test_edits_for_another_pipeline_are_not_made() -> None:
    edit = PipelineEdit.after("a", NEW, pipelines=frozenset({"VectorDistribute"}))
    assert splice(RECORDING, [edit], "TileAndFuse")[0] == [A, B]


def install(monkeypatch: pytest.MonkeyPatch, load: Callable[[], object]) -> None:
    entry = SimpleNamespace(name="example", load=load)
    monkeypatch.setattr(pipeline_edit, "may_be_installed", lambda group: True)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry])


def test_installed_plugins_contribute_edits(monkeypatch: pytest.MonkeyPatch) -> None:
    edit = PipelineEdit.after("a", NEW)
    install(monkeypatch, lambda: lambda: [edit])
    assert installed_plugins() == [edit]


def test_a_broken_plugin_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def load() -> object:
        raise ImportError("no such module")

    install(monkeypatch, load)
    with pytest.raises(PipelineEditError, match="plugin 'example' failed to load: no such module"):
        installed_plugins()


def test_a_plugin_that_yields_no_edit_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lambda: lambda: ["canonicalize"])
    with pytest.raises(PipelineEditError, match="plugin 'example' yields str"):
        installed_plugins()
