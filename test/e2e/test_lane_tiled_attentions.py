# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions whose lanes multiply tiles of their own."""

from __future__ import annotations

import re

import numpy as np
import pytest

from bankwise.bench.program_families.program import largest_error
from bankwise.bench.reference_attention import attention
from bankwise.emulator.counters import Counted
from bankwise.iree_plugin.compile import compile
from bankwise.iree_plugin.pipeline_edit import PipelineEdit
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.passes.tiles.tile_by_lanes import TileByLanes
from bankwise.passes.tiles.use_matrix_instructions import UseMatrixInstructions
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags

from .test_dynamic_sizes import BATCHED, attention_source
from .test_grouped_attentions import grouped
from .test_odd_attentions import source

# An emulated GPU has matrix instructions for f32, so that no level asks for the pass there.
EDITS = [PipelineEdit.replace(UseMatrixInstructions.name, TileByLanes(everywhere=True))]


@pytest.mark.sampled
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
    rows, keys, head, columns = sizes
    random, log = np.random.default_rng(3), DecisionLog()
    shapes = [(2, rows, head), (2, keys, head), (2, keys, columns), (2, rows, keys)]
    inputs = [random.standard_normal(s).astype(np.float32) for s in shapes[: 3 + mask]]
    text = source(*sizes, "f32", mask)
    done = run_emulated(text, target_flags(arch), "auto/fast", inputs, edits=EDITS, decisions=log)
    q, k, v, *more = (each.astype(np.float64) for each in inputs)
    expected = attention(q, k, v, head**-0.5, *more)
    assert np.abs(done.outputs[0] - expected).max() < 2e-6
    retiled = [each for each in log if each.action is Action.RETILE]
    assert [each.pass_name for each in retiled] == [TileByLanes.name]
    assert done.counters[Counted.MFMA] == 0
    assert done.counters[Counted.CONFLICTS] == 0


def test_lanes_have_rows_of_several_loops() -> None:
    """A workgroup has a row of each of eight heads, of which the last is not there."""
    attention = grouped(20, 40, group=7, keys=77, mask="g m k2", dtype="f32", mask_dtype="f32")
    program, log = attention.program(), DecisionLog()
    inputs, flags = program.draw_inputs(), target_flags("gfx942")
    done = run_emulated(program.source, flags, "auto/fast", inputs, edits=EDITS, decisions=log)
    (expected,) = program.expected(inputs)
    assert largest_error(done.outputs[0], expected) < program.tolerance
    retiled = [each for each in log if each.action is Action.RETILE]
    assert [each.pass_name for each in retiled] == [TileByLanes.name]
    assert done.counters[Counted.CONFLICTS] == 0


@pytest.mark.parametrize(("rows", "keys"), [(1, 5), (70, 33)])
def test_lanes_compute_numbers_of_rows_and_keys_that_only_the_program_knows(
    rows: int, keys: int
) -> None:
    maps = [each for each in BATCHED if each != "(b, m, k)"]
    text = attention_source(["?x?x40xf32"] * 4, maps, 1, "(b, m, n, d, k)", "f32")
    random, log = np.random.default_rng(3), DecisionLog()
    inputs = [random.standard_normal((2, n, 40)).astype(np.float32) for n in (rows, keys, keys)]
    flags = target_flags("gfx942")
    done = run_emulated(text, flags, "auto/fast", inputs, edits=EDITS, decisions=log)
    q, k, v = (each.astype(np.float64) for each in inputs)
    expected = attention(q, k, v, 0.125)
    assert np.abs(done.outputs[0] - expected).max() < 2e-6
    retiled = [each for each in log if each.action is Action.RETILE]
    assert [each.pass_name for each in retiled] == [TileByLanes.name]
    assert done.counters[Counted.CONFLICTS] == 0


def test_f32_on_nvidia_gpus_is_overlapped_and_read_next_to_its_use() -> None:
    log = DecisionLog()
    module = compile(source(256, 256, 64, 64, "f32", False, 16), target_flags("sm_80"), "auto/fast",
                     decisions=log)  # fmt: skip
    actions = {each.action for each in log}
    assert {Action.RETILE, Action.HINT, Action.OVERLAP} <= actions
    assert log.conflict_cycles_left() == 0
    code = module.decode("latin-1")
    assert "cp.async.cg.shared.global" in code
    # Between reads stand multiplications: the longest run of reads is that of one step.
    lines = re.findall(r"^\t(ld\.shared|fma\.rn\.f32)", code, re.MULTILINE)
    runs = [len(run) for run in re.findall("l+", "".join(line[0] for line in lines))]
    assert max(runs) < 40


@pytest.mark.parametrize("sizes", [(197, 197, 64, 64), (1000, 1000, 72, 41), (8, 4096, 128, 128)])
def test_all_sizes_leave_no_conflicts(sizes: tuple[int, int, int, int]) -> None:
    log = DecisionLog()
    compile(source(*sizes, "f32", False, 8), target_flags("sm_80"), "auto/fast", decisions=log)
    assert [each.pass_name for each in log if each.action is Action.RETILE] == [TileByLanes.name]
    assert log.conflict_cycles_left() == 0
