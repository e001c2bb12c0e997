# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels whose workgroups compute other tiles than stock's."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from iree.compiler import ir
from iree.compiler.api import Session

import bankwise
from bankwise.dialect_utils.diagnostics import PassFailure
from bankwise.emulator.assembly import parse_assembly
from bankwise.emulator.counters import Counted
from bankwise.emulator.emulation_errors import LdsRaceError
from bankwise.emulator.waits import check_waits
from bankwise.iree_plugin.python_compile import open_source, settings_of
from bankwise.iree_plugin.stepped_compile import CompileError, SteppedCompile
from bankwise.passes.base import FunctionPass, PassContext
from bankwise.passes.decisions import Action, Decision, DecisionLog
from bankwise.passes.pipeline_edit import PipelineEdit
from bankwise.runtime.emulated_run import EmulatedRun, run_emulated
from bankwise.sweep.cases import target_flags
from bankwise.sweep.swept_kernels import Attention, Matmul
from bankwise.tuning.attention.use_larger_instructions import UseLargerInstructions
from bankwise.tuning.costs.tile_cost import AttentionTile, MatmulTile
from bankwise.tuning.retile import Retile, tiled_operation

from .conftest import BIN, Tool
from .exact_results import exact_result, inputs_of

FIRST = "iree-codegen-tile-and-distribute-to-workgroups-using-forall-op"


@dataclass(frozen=True)
class GiveTile(FunctionPass):
    """Gives a function a tile, whatever is predicted of it."""

    name: ClassVar[str] = "test-give-tile"
    summary: ClassVar[str] = "give a workgroup a tile"
    later_passes_may_refuse: ClassVar[bool] = True
    kept: ClassVar[str] = "tile"
    tile: Any = None

    def run(self, function: ir.Operation, context: PassContext) -> None:
        tiled = tiled_operation(function)
        assert tiled is not None and tiled.takes(self.tile)
        tiled.configure(function, self.tile)


def run(
    kernel: Attention | Matmul,
    mode: str,
    tile: object = None,
    *behind: FunctionPass,
    **more: Any,
) -> EmulatedRun:
    passes = (*((GiveTile(tile),) if tile is not None else ()), *behind)
    edits = [PipelineEdit.before(FIRST, each, optional=True) for each in passes]
    flags = target_flags("gfx942")
    return run_emulated(kernel.source(), flags, mode, inputs_of(kernel), edits=edits, **more)


@cache
def stock(kernel: Attention | Matmul) -> EmulatedRun:
    return run(kernel, "stock")


ATTENTIONS = st.tuples(
    st.sampled_from([Attention(1, 128, 64, "f16"), Attention(2, 128, 32, "bf16")]),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([16, 32]),
    st.sampled_from([1, 2]),
    st.booleans(),
)
MATMULS = st.tuples(
    st.sampled_from([Matmul(128, 128, 128, "f16"), Matmul(128, 128, 128, "i8", transposed=True)]),
    st.sampled_from([(1, 4), (2, 2), (4, 1), (2, 4), (4, 2)]),
    st.sampled_from([32, 64, 128]),
    st.sampled_from([32, 64, 128]),
    st.sampled_from([32, 64]),
)
QUICK = [HealthCheck.too_slow]
FEW = settings(max_examples=5, deadline=None, suppress_health_check=QUICK)


def check_attention(case: tuple[Attention, int, int, int, bool]) -> None:
    kernel, warps, high, stages, staged = case
    if warps * high > kernel.seq:
        return
    tile = AttentionTile(
        *(warps * high, kernel.head_dim, 64, warps), stages=stages, staged_queries=staged
    )
    result = run(kernel, "auto/exact/off", tile)
    assert result.outputs[0].tobytes() == stock(kernel).outputs[0].tobytes()
    assert result.counters[Counted.CONFLICTS] == 0
    assert result.workgroups == kernel.batch * kernel.seq // tile.rows


def check_product(case: tuple[Matmul, tuple[int, int], int, int, int]) -> None:
    kernel, (down, across), rows, columns, summed = case
    if rows % (16 * down) or columns % (16 * across):
        return
    tile = MatmulTile(rows, columns, summed, down, across)
    result = run(kernel, "auto/exact/off", tile)
    assert result.outputs[0].tobytes() == stock(kernel).outputs[0].tobytes()
    assert result.workgroups == kernel.m * kernel.n // (rows * columns)


test_attentions_have_the_same_bits_in_any_tile = pytest.mark.nightly(
    FEW(given(ATTENTIONS)(check_attention))
)
test_products_have_the_same_bits_in_any_tile = pytest.mark.nightly(
    FEW(given(MATMULS)(check_product))
)


def test_another_tile_gives_the_same_bits() -> None:
    check_product((Matmul(128, 128, 128, "f16"), (2, 2), 64, 128, 32))


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    ("kernel", "warps", "stages"),
    [
        (Attention(1, 512, 64, "f16"), 2, 1),
        (Attention(1, 512, 128, "f16"), 4, 2),
        (Attention(1, 512, 96, "bf16"), 1, 1),
        (Attention(1, 512, 32, "bf16"), 8, 2),
    ],
)
def test_larger_instructions_are_half_as_many_and_as_exact(
    kernel: Attention, warps: int, stages: int
) -> None:
    tile = AttentionTile(
        *(32 * warps, kernel.head_dim, 64, warps), stages=stages, staged_queries=False
    )
    small = run(kernel, "auto/fast/off", tile)
    large = run(kernel, "auto/fast/off", tile, UseLargerInstructions())
    assert 2 * large.counters[Counted.MFMA] == small.counters[Counted.MFMA]
    assert large.counters[Counted.CONFLICTS] == 0
    errors = [
        np.sqrt(np.mean((each.outputs[0].astype(np.float64) - exact_result(kernel)) ** 2))
        for each in (small, large)
    ]
    assert errors[1] <= 1.01 * errors[0]


@pytest.mark.nightly
def test_a_whole_head_takes_a_quarter_of_the_lds_instructions() -> None:
    kernel = Attention(2, 1024, 128, "f16")
    result = run(kernel, "auto/exact/on")
    assert result.outputs[0].tobytes() == stock(kernel).outputs[0].tobytes()
    expected = {
        Counted.LDS: (370_688, 90_112),
        Counted.MFMA: (196_608, 131_072),
        Counted.LDS_CYCLES: (1_400_832, 655_360),
        Counted.CONFLICTS: (139_264, 0),
    }
    for counted, (before, after) in expected.items():
        assert (stock(kernel).counters[counted], result.counters[counted]) == (before, after)


@cache
def decisions_on_tiles(kernel: Attention | Matmul, mode: str) -> list[Decision]:
    log = bankwise.decisions(kernel.source(), target_flags("gfx942"), mode)
    return [each for each in log if each.pass_name == Retile.name]


def test_a_gain_that_the_formula_may_be_wrong_about_is_named_only() -> None:
    kernel = Matmul(4096, 4096, 4096, "i8", transposed=True)
    (chosen,) = decisions_on_tiles(kernel, "auto/exact/on")
    (named,) = decisions_on_tiles(kernel, "auto/exact")
    assert (chosen.action, named.action) == (Action.RETILE, Action.KEEP)
    assert named.reason.startswith(chosen.reason)
    assert "saves less than 10%" in named.reason and "--bankwise-retile=on" in named.reason
    assert not decisions_on_tiles(kernel, "auto/layout")


def test_a_large_gain_is_taken_with_the_same_bits() -> None:
    kernel = Attention(40, 1024, 64, "f16")
    assert decisions_on_tiles(kernel, "auto/exact") == decisions_on_tiles(kernel, "auto/exact/on")
    (chosen,) = decisions_on_tiles(kernel, "auto/exact")
    assert chosen.action is Action.RETILE
    assert "loaded a step ahead" in chosen.detail and "Q does not lie" in chosen.detail
    small = Attention(2, 256, 64, "f16")
    tile = AttentionTile(64, 64, 64, 4, stages=2, staged_queries=False)
    result = run(small, "auto/exact/off", tile)
    assert result.outputs[0].tobytes() == stock(small).outputs[0].tobytes()
    assert result.counters[Counted.CONFLICTS] == 0
    assert result.lds_bytes == 2 * 64 * 64 * 2


@pytest.mark.sampled("dtype", "seq", every=6)
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f8E4M3FNUZ"])
@pytest.mark.parametrize("seq", [64, 128])
def test_steps_are_loaded_ahead_where_there_is_one_and_where_there_are_two(
    dtype: str, seq: int
) -> None:
    kernel = Attention(1, seq, 64, dtype)
    tile = AttentionTile(64, 64, 64, 4, stages=2, staged_queries=False)
    plain = AttentionTile(64, 64, 64, 4)
    result, other = (run(kernel, "auto/exact/off", each) for each in (tile, plain))
    assert result.outputs[0].tobytes() == other.outputs[0].tobytes()
    assert result.counters[Counted.CONFLICTS] == 0
    for name, text in result.assembly.items():
        for each in parse_assembly(text, name).values():
            assert not check_waits(each).missing


@pytest.mark.nightly
def test_a_tile_whose_barriers_iree_loses_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores of f32 go through the LDS; without the check the emulator finds a race."""
    kernel = Attention(1, 128, 64, "f32")
    monkeypatch.setattr("bankwise.tuning.attention.attention_tiles._LDS_SCORE_BYTES", 8)
    monkeypatch.setattr(
        "bankwise.tuning.tiles.tiled_operation.Circumstances.time",
        lambda self, work: 1.0 / (work.stages * 100 - work.steps),
    )
    bound = "bankwise.tuning.tiles.tiled_operation.Circumstances.least"
    monkeypatch.setattr(bound, lambda self, work: 0.0)
    result = run(kernel, "auto/exact")
    assert result.outputs[0].tobytes() == stock(kernel).outputs[0].tobytes()
    monkeypatch.setattr("bankwise.tuning.retile.check_barriers", lambda function: None)
    with pytest.raises(LdsRaceError):
        run(kernel, "auto/exact")


@pytest.mark.nightly
def test_a_tile_that_does_not_fit_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest tile is predicted to be the best, and to need no LDS."""
    monkeypatch.setattr(
        "bankwise.tuning.tiles.tiled_operation.Circumstances.time",
        lambda self, work: 1.0 / work.lds_bytes,
    )
    kernel = Attention(1, 256, 256, "f16")
    log = DecisionLog()
    source, flags = kernel.source(), target_flags("gfx942")
    retiled = bankwise.compile(source, flags, "auto/exact/on", decisions=log)
    assert not [each for each in log if each.action is Action.RETILE]
    assert retiled == bankwise.compile(source, flags, "auto/exact/off")


@dataclass(frozen=True)
class Refuse(FunctionPass):
    name: ClassVar[str] = "test-refuse"
    summary: ClassVar[str] = "fail"

    def run(self, function: ir.Operation, context: PassContext) -> None:
        raise PassFailure(function.location, "refused on purpose")


@pytest.mark.parametrize("console", [True, False])
def test_errors_behind_a_new_tile_are_said_once(
    console: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    """The program is read a second time, to see whether a user has configured it."""
    flags = target_flags("sm_80")
    session = Session()
    session.set_flags(*flags)
    edits = [PipelineEdit.before("iree-llvmgpu-vector-lowering", Refuse())]
    compilation = SteppedCompile(
        session, settings_of(flags, "auto/exact"), edits, DecisionLog(), console
    )
    source = Attention(16, 1024, 64, "f16").source()
    with compilation, pytest.raises(CompileError) as caught:
        compilation.run(open_source(session, source))
    assert next(each.action for each in compilation.context.log) is Action.RETILE
    session.close()
    said = capfd.readouterr().err if console else str(caught.value)
    assert said.count("error: refused on purpose") == 1


CONFIGURED = """
func.func @f(%a: tensor<4096x4096xf16>, %b: tensor<4096x4096xf16>) -> tensor<4096x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4096x4096xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %out = linalg.matmul CONFIG ins(%a, %b : tensor<4096x4096xf16>, tensor<4096x4096xf16>)
      outs(%init : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %out : tensor<4096x4096xf32>
}
"""
CONFIG = """{compilation_info = #iree_codegen.compilation_info<
  lowering_config = #iree_gpu.lowering_config<{
    mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1],
    reduction = [0, 0, 2], subgroup = [2, 4, 0], workgroup = [64, 64, 0]}>,
  translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse>
    workgroup_size = [128, 1, 1] subgroup_size = 32>>}"""


@pytest.mark.parametrize("config", ["", CONFIG])
def test_a_user_s_configuration_stands(config: str, tool: Tool, tmp_path: Path) -> None:
    source = tmp_path / "a.mlir"
    source.write_text(CONFIGURED.replace("CONFIG", config))
    flags = [*target_flags("sm_80"), "--bankwise-remarks", "--compile-to=executable-targets"]
    compiled = tool("bankwise-compile", str(source), *flags, "-o", "b.mlir")
    assert compiled.returncode == 0, compiled.stderr
    kept = "it is not taken: the program has a compilation_info of its own"
    assert ("tile of a workgroup: " in compiled.stderr) and (kept in compiled.stderr) == bool(
        config
    )


_CONFIGS = re.compile(r"#iree_gpu\.lowering_config<\{.*?\}>|translation_info = .*?>>?\}?>")


@pytest.mark.nightly
@pytest.mark.sampled
@pytest.mark.parametrize(
    "kernel",
    [Attention(40, 1024, 64, "f16"), Matmul(4096, 4096, 1024, "f16")],
    ids=["attention", "matmul"],
)
def test_a_tuning_spec_gives_iree_the_same_tile(
    kernel: Attention | Matmul, tool: Tool, tmp_path: Path
) -> None:
    source = tmp_path / "a.mlir"
    source.write_text(kernel.source())
    flags = [str(source), *target_flags("gfx942")]
    spec = tmp_path / "spec.mlir"
    written = [f"--bankwise-write-tuning-spec={spec}", f"--bankwise-dump-ir={tmp_path}/ir"]
    ours = tool("bankwise-compile", *flags, "--bankwise-retile=on", *written, "-o", "a.vmfb")
    assert ours.returncode == 0, ours.stderr
    (dump,) = (tmp_path / "ir").glob("*-bankwise-retile.mlir")
    stock, tuned = (
        subprocess.run(
            [BIN / "iree-compile", *flags, *more, "--compile-to=executable-configurations",
             "--mlir-print-local-scope"],
            capture_output=True, text=True, check=True,
        ).stdout
        for more in ([], [f"--iree-codegen-tuning-spec-path={spec}"])
    )  # fmt: skip
    expected, without, found = (
        {*_CONFIGS.findall(each)} for each in (dump.read_text(), stock, tuned)
    )
    assert found == expected
    assert found != without
    # A spec of one's own is a configuration of one's own.
    again = tool("bankwise-compile", *flags, "--bankwise-retile=on", "-o", "b.vmfb",
                 "--bankwise-remarks", f"--iree-codegen-tuning-spec-path={spec}")  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert "remark: tile of a workgroup: " not in again.stderr.replace("it is not taken", "\0")
