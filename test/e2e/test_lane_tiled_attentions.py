# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions whose lanes multiply tiles of their own."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from bankwise.bench.program_families.attention import Attention
from bankwise.iree_plugin.python_compile import compile
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.passes.pipeline_edit import PipelineEdit
from bankwise.report.compile_decisions import decisions
from bankwise.sweep.cases import target_flags
from bankwise.tuning.attention.tile_by_lanes import TileByLanes
from bankwise.tuning.attention.use_matrix_instructions import UseMatrixInstructions

from .program_runs import run_again, run_program
from .test_dynamic_sizes import batched
from .test_grouped_attentions import grouped
from .test_odd_attentions import odd, source

# An emulated GPU has matrix instructions for f32, so that no level asks for the pass there.
EDITS = [PipelineEdit.replace(UseMatrixInstructions.name, TileByLanes(everywhere=True))]


@pytest.mark.sampled(every=7)
@pytest.mark.parametrize(
    ("arch", "sizes", "mask"),
    [
        ("gfx942", (64, 64, 40, 40), False),
        ("gfx942", (48, 64, 36, 72), True),
        ("gfx950", (32, 96, 40, 72), False),
        # The loop over the keys has one iteration.
        ("gfx942", (16, 8, 40, 40), False),
        # No tile divides these.
        ("gfx942", (77, 77, 64, 64), False),
        ("gfx950", (50, 131, 75, 41), True),
        ("gfx942", (5, 3, 1, 1), False),
    ],
)
def test_lanes_compute_what_rows_one_at_a_time_do(
    arch: str, sizes: tuple[int, int, int, int], mask: bool
) -> None:
    # The products of a head are summed one after the other, which has larger errors.
    program = replace(odd(*sizes, "f32", mask).program(), tolerance=2.0**-17)
    run_program(program, arch, edits=EDITS).assert_tiled(TileByLanes.name, matrix=False)


@pytest.mark.nightly
@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    "attention",
    [
        # A workgroup has a row of each of eight heads, of which the last is not there.
        grouped(20, 40, group=7, keys=77, mask="g m k2", dtype="f32", mask_dtype="f32"),
        # Only the program knows how many rows and keys there are.
        batched(1, 5, 40, 40, "f32"),
        batched(70, 33, 40, 40, "f32"),
    ],
)
def test_lanes_have_rows_of_several_loops_and_of_any_number(attention: Attention) -> None:
    ran = run_again(attention.program(), edits=EDITS)
    ran.assert_tiled(TileByLanes.name, matrix=False)


def test_f32_on_nvidia_gpus_is_overlapped_and_read_next_to_its_use() -> None:
    log = DecisionLog()
    text = source(256, 256, 64, 64, "f32", False, 16)
    module = compile(text, target_flags("sm_80"), "auto/fast", decisions=log)
    actions = {each.action for each in log}
    assert {Action.RETILE, Action.HINT, Action.OVERLAP} <= actions
    assert log.conflict_cycles_left() == 0
    code = module.decode("latin-1")
    assert "cp.async.cg.shared.global" in code
    # Between reads stand multiplications: the longest run of reads is that of one step.
    lines = re.findall(r"^\t(ld\.shared|fma\.rn\.f32)", code, re.MULTILINE)
    runs = [len(run) for run in re.findall("l+", "".join(line[0] for line in lines))]
    assert max(runs) < 40


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("sizes", [(197, 197, 64, 64), (1000, 1000, 72, 41), (8, 4096, 128, 128)])
def test_layouts_leave_no_conflicts_at_any_size(sizes: tuple[int, int, int, int]) -> None:
    text = source(*sizes, "f32", False, 8)
    log = decisions(text, target_flags("sm_80"), "auto/fast")
    assert [each.pass_name for each in log if each.action is Action.RETILE] == [TileByLanes.name]
    # Rows of 41 words are copied with conflicts, whatever the layout.
    layouts = [each for each in log if log.stands(each) and each.action is not Action.OVERLAP]
    assert {each.conflict_cycles_after for each in layouts} == {0}
