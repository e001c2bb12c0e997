# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the mitigations make of the packaged pipelines."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

import pytest
from iree.compiler import ir
from iree.compiler.api import Session

from bankwise.iree_plugin import mitigation, replay
from bankwise.iree_plugin.embedding import compiler_version
from bankwise.iree_plugin.mitigation import mitigation_edits, steps
from bankwise.iree_plugin.native_callbacks import AROUND_NATIVE_PASS
from bankwise.iree_plugin.native_passes import is_native_pass
from bankwise.iree_plugin.recording import Recording, load_recordings
from bankwise.passes import layout_steps, registry
from bankwise.passes.base import FunctionPass
from bankwise.passes.mode import LEVELS, MITIGATIONS, Mode
from bankwise.passes.padding.pad_unhinted_allocs import PadUnhintedAllocs
from bankwise.passes.pipeline_edit import (
    COPYING,
    LOWERED,
    NativePass,
    PassClass,
    PipelineEdit,
    PipelineStep,
    Position,
    made,
    splice,
)
from bankwise.passes.registry import PASSES
from bankwise.passes.steps import Place, Step
from bankwise.passes.swizzles.flatten_swizzle_hints import FlattenSwizzleHints
from bankwise.passes.swizzles.swizzle_plan import SwizzlingPass
from bankwise.tuning import tuning_steps
from bankwise.tuning.arithmetic.native_exp2 import NativeExp2
from bankwise.tuning.fragments.reload_operands import ReloadOperands
from bankwise.tuning.ldmatrix.form_ldmatrix import FormLdmatrix
from bankwise.tuning.overlap.overlap_copies import OverlapCopies
from bankwise.tuning.retile import Retile


@pytest.fixture(scope="module")
def recordings() -> list[Recording]:
    version = compiler_version()
    packaged = resources.files("bankwise.iree_plugin.recordings")
    return load_recordings((packaged / f"{version}.json").read_text(), version)


def made_for(edits: Sequence[PipelineEdit], instruction: str) -> list[PipelineEdit]:
    """Returns the edits that are made for a function that multiplies by an instruction."""
    tiles = f"#iree_gpu.lowering_config<{{mma_kind = #iree_gpu.mma_layout<{instruction}>}}>"
    config = f"decomposition_config = {{qk_attrs = {{lowering_config = {tiles}}}}}"
    with Session().context as context:
        context.allow_unregistered_dialects = True
        function = ir.Module.parse(f'"test.function"() {{{config}}} : () -> ()')
        return [edit for edit in edits if edit.only is None or edit.only(function.operation)]


def loaded(step: PipelineStep) -> NativePass | FunctionPass:
    return step if isinstance(step, NativePass) else made(step)


@pytest.mark.parametrize("attribute", ["MFMA_F32_16x16x16_F16", "NV_MMA_SYNC_F32_16x8x16_F16"])
@pytest.mark.parametrize("mitigation", ["auto", "swizzle"])
def test_swizzling_leaves_to_padding_only_where_padding_follows(
    recordings: list[Recording], mitigation: str, attribute: str
) -> None:
    seen = set[bool]()
    edits = made_for(mitigation_edits(Mode(mitigation)), attribute)
    matrices = any(isinstance(each, FormLdmatrix) for edit in edits for each in edit.loaded_passes)
    assert matrices == attribute.startswith("NV")
    for recording in recordings:
        if recording.key.pipeline == COPYING or (matrices and recording.key.pipeline == LOWERED):
            continue
        steps, more = splice(recording.stages, edits, recording.key.pipeline)
        whole = [loaded(step) for step in (*steps, *more)]
        passes = [step for step in whole if isinstance(step, SwizzlingPass)]
        # What vector distribution allocates is swizzled by a pass of its own, where operands of
        # products are swizzled early.
        early = not matrices and recording.key.pipeline == "VectorDistribute"
        assert len(passes) == (2 if early else 1)
        for swizzling in passes:
            later = whole[whole.index(swizzling) + 1 :]
            pads = any(
                isinstance(step, PadUnhintedAllocs) and not step.unresolved_only for step in later
            )
            assert swizzling.defer_to_padding == pads, recording.key
            seen.add(pads)
    assert seen == ({True, False} if mitigation == "auto" else {False})


def test_every_recorded_pass_has_a_text_or_stands_for_patterns(recordings: list[Recording]) -> None:
    passes = {step for recording in recordings for stage in recording.stages for step in stage}
    unnamed = {each.name for each in passes if not is_native_pass(each.name)}
    assert unnamed == {*replay._PATTERN_SETS}
    assert {*AROUND_NATIVE_PASS} <= {each.name for each in passes}


def test_pad_pads_lowered_functions_too(recordings: list[Recording]) -> None:
    kinds = set[str]()
    for recording in recordings:
        stages = splice(recording.stages, mitigation_edits(Mode("pad")), recording.key.pipeline)
        if any(isinstance(loaded(step), PadUnhintedAllocs) for stage in stages for step in stage):
            kinds.add(recording.key.pipeline)
    assert kinds == {"VectorDistribute", "TileAndFuse", "Lowered"}


def test_every_mode_and_level_says_what_it_is_for() -> None:
    assert {each for step in steps() for each in step.mitigations} == {*MITIGATIONS} - {"stock"}
    assert {step.since for step in steps()} == {*LEVELS}
    with pytest.raises(KeyError, match="unknown"):
        mitigation_edits(Mode("unknown"))


def test_a_new_level_is_an_entry_and_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(Position.BEFORE, "iree-codegen-gpu-vector-alloc")
    table = (*steps(), Step(place, FlattenSwizzleHints, since="new"))
    monkeypatch.setattr(mitigation, "steps", lambda: table)
    monkeypatch.setitem(LEVELS, "new", "more than the others")
    fast, new = (mitigation_edits(Mode("auto", level)) for level in ("fast", "new"))
    (added,) = (edit for edit in new if edit not in fast)
    assert (added.anchor, added.passes) == (place.anchor, (FlattenSwizzleHints(),))
    assert [edit for edit in new if edit != added] == fast


@pytest.mark.parametrize("level", ["exact", "fast"])
def test_a_tile_is_judged_by_the_passes_that_follow(level: str) -> None:
    edits = mitigation_edits(Mode("auto", level))
    passes = [each for edit in edits for each in edit.loaded_passes]
    (retile,) = (each for each in passes if isinstance(each, Retile))
    kinds = {type(each) for each in passes}
    assert retile.overlap == (OverlapCopies in kinds)
    assert retile.reloads == (ReloadOperands in kinds)
    assert retile.native_exponentials == (NativeExp2 in kinds) == (level == "fast")


def test_a_pass_that_is_not_loaded_has_the_name_of_its_class() -> None:
    kinds = [step.kind for step in steps() if step.kind is not None]
    for kind in {*kinds, *PASSES}:
        assert isinstance(kind, PassClass)
        assert PassClass.of(kind.loaded()) == kind
    for table in (layout_steps, tuning_steps, registry):
        named = {n: each.name for n, each in vars(table).items() if isinstance(each, PassClass)}
        assert [*named] == [*named.values()] != []
