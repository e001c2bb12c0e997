# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls whose sizes no tile divides, which IREE pads in every step."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.emulator.counters import Counted
from bankwise.iree_plugin.compile import compile
from bankwise.iree_plugin.pipeline_edit import PipelineEdit
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.passes.tiles.enlarge_matmuls import EnlargeMatmuls
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags
from bankwise.sweep.kernels import Matmul, random_operands

FIRST = "iree-codegen-tile-and-distribute-to-workgroups-using-forall-op"


@pytest.mark.parametrize(
    "kernel",
    [
        Matmul(100, 77, 50, "f16"),
        Matmul(33, 70, 129, "bf16", transposed=True),
        Matmul(130, 50, 70, "f16", transposed=True),
    ],
    ids=lambda each: each.name,
)
def test_sizes_of_whole_tiles_keep_all_bits(kernel: Matmul) -> None:
    """The pass is for NVIDIA; on the emulator AMD's instructions multiply."""
    enlarge = PipelineEdit.before(FIRST, EnlargeMatmuls(), pipelines=frozenset({"TileAndFuse"}))
    inputs = random_operands(kernel)
    inputs[0][0, 0], inputs[0][1, 1], inputs[1][-1, -1] = np.inf, -0.0, np.nan
    log = DecisionLog()
    text, flags = kernel.source(), target_flags("gfx942")
    stock = run_emulated(text, flags, "stock", inputs)
    ours = run_emulated(text, flags, "auto/exact", inputs, edits=[enlarge], decisions=log)
    assert [each.action for each in log if each.pass_name == EnlargeMatmuls.name] == [Action.RETILE]
    assert ours.outputs[0].tobytes() == stock.outputs[0].tobytes()
    assert ours.counters[Counted.MFMA] > 0
    assert ours.counters[Counted.CONFLICTS] == 0


@pytest.mark.parametrize(
    ("kernel", "copies"),
    [
        (Matmul(250, 200, 264, "f16"), "cp.async.cg.shared.global"),
        (Matmul(250, 202, 262, "f16"), "cp.async.ca.shared.global"),
        (Matmul(250, 201, 263, "f16"), ""),
    ],
    ids=lambda each: each.name if isinstance(each, Matmul) else "",
)
def test_rows_of_an_even_length_are_copied_past_the_registers(kernel: Matmul, copies: str) -> None:
    code = compile(kernel.source(), target_flags("sm_80"), "auto/exact").decode("latin-1")
    found = {
        each for each in ("cp.async.cg.shared.global", "cp.async.ca.shared.global") if each in code
    }
    assert found == ({copies} if copies else set())
