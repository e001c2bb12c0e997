# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The hand-written examples: right results, no conflicts once compiled, and the same bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bankwise.bench.runs import EXAMPLES
from bankwise.runtime.emulated_run import EmulatedRun, run_emulated
from bankwise.sweep.cases import target_flags

Array = npt.NDArray[Any]
Draw = Callable[[np.random.Generator], list[Array]]


def transposed(run: EmulatedRun, matrix: Array) -> None:
    assert run.outputs[0].tobytes() == np.ascontiguousarray(matrix.T).tobytes()


def multiplied(run: EmulatedRun, a: Array, b: Array) -> None:
    wanted = a.astype(np.float64) @ b.astype(np.float64).T
    assert np.abs(run.outputs[0] - wanted).max() <= 1e-4


CASES: dict[str, tuple[str, Draw, Callable[..., None]]] = {
    "gemm/direct_b.mlir": (
        "gfx950",
        lambda random: [random.standard_normal((128, 512)).astype(np.float16) for _ in range(2)],
        multiplied,
    ),
    "transpose/wave_f32.mlir": (
        "gfx942",
        lambda random: [random.standard_normal((16, 32)).astype(np.float32)],
        transposed,
    ),
}
"""The target of each example, its inputs, and what checks its result."""
GEMM = next(iter(CASES))


@cache
def measure(path: str, mitigation: str) -> EmulatedRun:
    """Runs the whole grid, whose result must be right; several tests ask for the same runs."""
    target, draw, check = CASES[path]
    inputs = draw(np.random.default_rng(0))
    run = run_emulated(EXAMPLES / path, target_flags(target), mitigation, inputs)
    check(run, *inputs)
    return run


@pytest.mark.parametrize("path", CASES)
def test_examples_conflict_as_written_and_not_when_swizzled(path: str) -> None:
    plain, swizzled = measure(path, "none"), measure(path, "auto")
    assert plain.counters["SQ_LDS_BANK_CONFLICT"] > 0
    assert swizzled.counters["SQ_LDS_BANK_CONFLICT"] == 0
    assert swizzled.outputs[0].tobytes() == plain.outputs[0].tobytes()
    assert swizzled.lds_bytes == plain.lds_bytes
    for name in ("SQ_INSTS_VMEM_RD", "GLOBAL_TRANSACTIONS_64B", "LDS_FLOOR_CYCLES"):
        assert swizzled.counters[name] == plain.counters[name]
    assert swizzled.counters["LDS_CYCLES"] == plain.counters["LDS_FLOOR_CYCLES"]


def test_direct_loads_cost_no_more_lds_instructions() -> None:
    plain, swizzled = (measure(GEMM, each).counters for each in ("none", "auto"))
    assert swizzled["SQ_INSTS_LDS"] == plain["SQ_INSTS_LDS"]
    assert swizzled["SQ_INSTS_VALU"] < 1.25 * plain["SQ_INSTS_VALU"]


def test_direct_loads_meet_four_ways_on_a_bank_before() -> None:
    gemm = measure(GEMM, "none").counters
    # A read of 16 bytes a lane takes 4 cycles of 64 lanes on 64 banks; 12 more are 4-way conflicts.
    assert gemm["SQ_LDS_BANK_CONFLICT"] == 12 * gemm["SQ_INSTS_LDS"]
    assert gemm["LDS_CYCLES"] == 4 * gemm["LDS_FLOOR_CYCLES"]
