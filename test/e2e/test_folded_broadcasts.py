# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batches of matmuls by copies of one matrix, as PyTorch exports linear layers on images."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.bench.program_families.program import file_source
from bankwise.emulator.counters import Counted
from bankwise.iree_plugin.python_compile import compile
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags

LAYER = file_source("layer_of_copies_f16")


def test_outputs_are_those_of_the_batch() -> None:
    random = np.random.default_rng(12)
    shapes = ((2, 3, 7, 64), (48, 64))
    inputs = [random.standard_normal(each).astype(np.float16) for each in shapes]
    ran = run_emulated(LAYER, target_flags("gfx942"), "auto/fast", inputs)
    assert ran.counters[Counted.MFMA] > 0
    rows, weights = (each.astype(float) for each in inputs)
    expected = np.einsum("nhwc,fc->nhwf", rows, weights).reshape(6, 7, 48)
    np.testing.assert_allclose(ran.outputs[0], expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("mode", "kernels"), [("auto/exact", 2), ("auto/fast", 1)])
def test_no_copy_is_written_at_fast(mode: str, kernels: int) -> None:
    code = compile(LAYER, target_flags("sm_80"), mode)
    assert code.count(b".visible .entry") == kernels
