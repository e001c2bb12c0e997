# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions whose indices are renamed, compiled and run on the emulated chips."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import bankwise
from bankwise.dialect_utils.builders import Builder
from bankwise.emulator.counters import Counted
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.passes.pipeline_edit import PipelineEdit
from bankwise.runtime.emulated_run import EmulatedRun, run_emulated
from bankwise.sweep.cases import target_flags
from bankwise.sweep.measure import SamplingDevice
from bankwise.sweep.swept_kernels import Attention
from bankwise.tuning.overlap.raise_priority import RaisePriority
from bankwise.tuning.registers import renamed_transfers
from bankwise.tuning.registers.renaming_choice import RegisterSearch, RenamedTransfer

from .exact_results import exact_result, inputs_of

Array = npt.NDArray[Any]


def run(attention: Attention, mode: str, target: str = "gfx942", **options: Any) -> EmulatedRun:
    return run_emulated(
        attention.source(), target_flags(target), mode, inputs_of(attention), **options
    )


shared = cache(run)
"""For what several tests run in the same way; a test that changes the compiler calls `run`."""


def error(run: EmulatedRun, attention: Attention) -> float:
    return float(np.abs(run.outputs[0].astype(np.float64) - exact_result(attention)).max())


@pytest.mark.sampled("dtype", "target", every=4)
@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
def test_exact_gives_the_same_bits_with_fewer_lds_instructions(dtype: str, target: str) -> None:
    attention = Attention(1, 128, 64, dtype)
    modes = ("stock", "auto/layout", "auto/exact")
    stock, layout, exact = (shared(attention, mode, target) for mode in modes)
    assert stock.outputs[0].tobytes() == exact.outputs[0].tobytes()
    assert exact.counters[Counted.LDS] < layout.counters[Counted.LDS]
    assert exact.counters[Counted.CONFLICTS] == 0
    assert exact.lds_bytes <= stock.lds_bytes
    blocks = Counted.TRANSACTIONS
    assert exact.counters[blocks] <= stock.counters[blocks]


@pytest.mark.sampled
@pytest.mark.parametrize(("dtype", "target"), [("f32", "gfx942"), ("bf16", "gfx950")])
def test_fast_is_as_near_to_the_exact_result_as_stock(dtype: str, target: str) -> None:
    attention = Attention(1, 128, 64, dtype)
    stock, fast = (shared(attention, mode, target) for mode in ("stock", "auto/fast"))
    assert error(fast, attention) <= 1.1 * error(stock, attention)
    # Tiles that gfx950 copies without registers are not renamed, and read by more instructions.
    assert fast.counters[Counted.LDS] <= 0.6 * stock.counters[Counted.LDS]
    assert fast.counters[Counted.CONFLICTS] == 0


def test_the_counters_of_a_whole_attention() -> None:
    attention = Attention(1, 1024, 128, "f16")
    log = DecisionLog()
    sampled = run(attention, "auto/exact", device=partial(SamplingDevice, sample=2), decisions=log)
    (record,) = sampled.records
    grid = {name: value * 32 // 2 for name, value in sampled.counters.items()}
    assert record.total == 32 and record.emulated == 2
    assert grid[Counted.LDS] == 74_752
    assert grid[Counted.LDS_CYCLES] == 499_712
    assert grid[Counted.CONFLICTS] == 0
    assert sampled.lds_bytes == 40_960
    (renamed,) = [decision for decision in log if decision.action is Action.RENAME]
    assert renamed.allocation == "tensor<64x64xf16>"


@pytest.mark.nightly
def test_fast_keeps_the_probabilities_of_f32_in_registers() -> None:
    attention = Attention(1, 1024, 128, "f32")
    device = partial(SamplingDevice, sample=2)
    stock, layout, fast = (
        run(attention, mode, device=device) for mode in ("stock", "auto/layout", "auto/fast/off")
    )
    assert fast.counters[Counted.LDS] <= 0.5 * stock.counters[Counted.LDS]
    assert fast.counters[Counted.LDS_CYCLES] * 16 == 999_424
    assert fast.counters[Counted.CONFLICTS] == 0
    assert fast.counters[Counted.VALU] < 0.6 * stock.counters[Counted.VALU]
    assert fast.lds_bytes == layout.lds_bytes - 64 * 16 * 4


@pytest.mark.nightly
def test_renaming_one_side_only_gives_a_wrong_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks the pass on purpose, to see that the comparisons above can fail."""
    found = RegisterSearch.renamed_transfers

    def first_only(search: RegisterSearch, renaming: dict[int, int]) -> list[RenamedTransfer]:
        return found(search, renaming)[:1]

    attention = Attention(1, 128, 64, "f16")
    stock = shared(attention, "stock", "gfx942")
    monkeypatch.setattr(RegisterSearch, "renamed_transfers", first_only)
    broken = run(attention, "auto/exact")
    assert stock.outputs[0].tobytes() != broken.outputs[0].tobytes()
    assert error(broken, attention) > 100 * error(stock, attention)


def test_what_the_compiler_cannot_distribute_keeps_its_registers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A renamed read without its registers put in order is a conversion that IREE refuses."""

    def unordered(at: Builder, value: Any, source: Any, order: Any, target: Any) -> Any:
        return at.to_layout(at.to_layout(value, source), target)

    attention = Attention(1, 128, 64, "f16")
    layout = shared(attention, "auto/layout", "gfx942")
    monkeypatch.setattr(renamed_transfers, "converted", unordered)
    log = DecisionLog()
    # Priorities of waves, which `layout` does not set, are places that no instruction moves over.
    without = [PipelineEdit.replace(RaisePriority.name)]
    kept = run(attention, "auto/exact", decisions=log, edits=without)
    assert kept.counters == layout.counters
    assert kept.outputs[0].tobytes() == layout.outputs[0].tobytes()
    assert not any(decision.action is Action.RENAME for decision in log)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("level", ["exact", "layout", "fast"])
def test_a_chip_whose_lds_is_not_known_gets_padding_alone(level: str) -> None:
    source = Attention(1, 128, 64, "f16").source()
    log = bankwise.decisions(source, target_flags("gfx908"), f"auto/{level}")
    assert {decision.action for decision in log} == {Action.KEEP, Action.PAD, Action.EXCHANGE}
