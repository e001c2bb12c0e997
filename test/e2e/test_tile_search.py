# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiles that are compiled, emulated and compared."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

import bankwise
from bankwise.bench.emulated_runs import MarkingDevice
from bankwise.dialect_utils.diagnostics import Refusal
from bankwise.iree_plugin.stepped_compile import CompileError
from bankwise.iree_plugin.tile_search import TileCandidate
from bankwise.iree_plugin.user_cache import UserCache
from bankwise.passes.decisions import DecisionLog
from bankwise.passes.tile_times import TileTime
from bankwise.runtime import tile_times
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags
from bankwise.sweep.kernels import Attention

from .conftest import Tool

KERNEL = Attention(4, 256, 64, "f16")
FLAGS = target_flags("gfx942")
MODE = "auto/fast/search"


def test_tiles_are_timed_as_they_are_compiled_and_times_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, asked = UserCache(tmp_path), dict[TileCandidate, TileTime]()

    def predictor(candidate: TileCandidate) -> TileTime:
        return asked.setdefault(candidate, bankwise.emulated_time(candidate, cache))

    log = DecisionLog()
    compiled = bankwise.compile(KERNEL.source(), FLAGS, MODE, decisions=log, predictor=predictor)
    assert len(asked) == len([*tmp_path.iterdir()]) == 4
    (decision,) = (each for each in log if each.pass_name == "bankwise-retile")
    for candidate, time in asked.items():
        assert f"{candidate.tile}" in decision.reason
        assert f"{time.microseconds:.1f} us" in decision.reason

    candidate, time = [*asked.items()][-1]
    inputs = [np.full(shape, 0.5, np.float16) for shape in KERNEL.operands]
    device = partial(MarkingDevice, whole_grid=0, timing=True)
    run = run_emulated(
        KERNEL.source(), FLAGS, "auto/fast", inputs, forced=candidate.force, device=device
    )
    assert run.records[0].timing is not None
    assert run.records[0].timing.microseconds.expected == pytest.approx(time.microseconds, rel=0.01)

    monkeypatch.setattr(tile_times, "compile_tile", None)
    again = bankwise.compile(KERNEL.source(), FLAGS, MODE, predictor=predictor)
    assert again == compiled


def test_a_kernel_that_fails_is_refused_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[TileCandidate] = []

    def fail(candidate: TileCandidate) -> None:
        tried.append(candidate)
        raise CompileError("f.mlir:1:1: error: out of registers\nmore")

    def predictor(candidate: TileCandidate) -> TileTime:
        with pytest.raises(Refusal) as refused:
            bankwise.emulated_time(candidate, UserCache(tmp_path))
        assert refused.value.reason == "f.mlir:1:1: error: out of registers"
        raise refused.value

    monkeypatch.setattr(tile_times, "compile_tile", fail)
    compiled = [
        bankwise.compile(KERNEL.source(), FLAGS, MODE, predictor=predictor) for _ in range(2)
    ]
    assert len(tried) == 4
    assert compiled == [bankwise.compile(KERNEL.source(), FLAGS, "auto/fast")] * 2


def test_a_search_needs_a_predictor() -> None:
    with pytest.raises(ValueError, match="there is no predictor"):
        bankwise.compile(KERNEL.source(), FLAGS, MODE)


def test_where_no_kernel_is_predicted_a_remark_says_so(tool: Tool, tmp_path: Path) -> None:
    source = tmp_path / "a.mlir"
    source.write_text(KERNEL.source())
    flags = (*target_flags("sm_80"), "--bankwise-retile=search", "--bankwise-remarks")
    found = tool("bankwise-compile", source, *flags, "-o", "a.vmfb")
    assert found.returncode == 0
    assert f"{source}:" in found.stderr
    assert "remark: no tiles are searched: no compiled kernel for this GPU" in found.stderr
