# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls of f32 whose lanes multiply tiles of their own."""

from __future__ import annotations

import pytest

from bankwise.bench.program_families.matmuls import Contraction
from bankwise.iree_plugin.python_compile import compile
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.passes.pipeline_edit import PipelineEdit
from bankwise.sweep.cases import target_flags
from bankwise.sweep.swept_kernels import Matmul
from bankwise.tuning.convolutions.tile_convolutions_by_lanes import TileConvolutionsByLanes
from bankwise.tuning.matmuls.tile_dynamic_matmuls import TileDynamicMatmuls
from bankwise.tuning.matmuls.tile_matmuls_by_lanes import TileMatmulsByLanes
from bankwise.tuning.retile import Retile

from .program_runs import run_again, run_program

# An emulated GPU has matrix instructions for f32, so that no level asks for the pass there.
EDITS = [PipelineEdit.replace(TileDynamicMatmuls.name, TileMatmulsByLanes(everywhere=True))]
PASS = TileMatmulsByLanes.name


def retiled(log: DecisionLog) -> list[str]:
    return [each.pass_name for each in log if each.action is Action.RETILE]


@pytest.mark.sampled("arch")
@pytest.mark.parametrize("rows", [1, 70])
@pytest.mark.parametrize(
    ("arch", "right", "summed", "epilogue"),
    [("gfx942", "k n", 64, ("bias", "relu")), ("gfx950", "n k", 37, ())],
)
def test_lanes_take_any_number_of_rows(
    rows: int, arch: str, right: str, summed: int, epilogue: tuple[str, ...]
) -> None:
    sizes = {"m": rows, "n": 90, "k": summed}
    matmul = Contraction("", "f32", sizes, right=right, epilogue=epilogue, dynamic="m")
    run_again(matmul.program(), arch, edits=EDITS).assert_tiled(PASS, matrix=False)


@pytest.mark.sampled("left")
@pytest.mark.parametrize("summed", [1, 45])
@pytest.mark.parametrize("left", ["m k", "k m"])
def test_how_much_lanes_sum_may_be_dynamic(summed: int, left: str) -> None:
    matmul = Contraction("", "f32", {"m": 64, "n": 80, "k": summed}, left, dynamic="k")
    run_again(matmul.program(), edits=EDITS).assert_tiled(PASS, matrix=False)


@pytest.mark.sampled("sizes", "transposed", every=6)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("sizes", [(1001, 777, 503), (1000, 1000, 1000), (40, 700, 50)])
def test_sizes_that_no_tile_divides_are_tiled_on_nvidia_gpus(
    sizes: tuple[int, int, int], transposed: bool
) -> None:
    log = DecisionLog()
    source = Matmul(*sizes, "f32", transposed).source()
    code = compile(source, target_flags("sm_80"), "auto/fast", decisions=log).decode("latin-1")
    assert retiled(log) in ([PASS], [TileConvolutionsByLanes.name])
    # Rows of an odd length are copied with conflicts, whatever the layout.
    known = [each for each in log if log.stands(each) and each.action is not Action.OVERLAP]
    assert {each.conflict_cycles_after for each in known} == {0}
    assert "cp.async" in code
    assert "ld.shared.v4.b32" in code


def test_sizes_that_a_tile_divides_keep_their_bits() -> None:
    log = DecisionLog()
    source = Matmul(4096, 1024, 256, "f32").source()
    compile(source, target_flags("sm_80"), "auto/fast", decisions=log)
    assert retiled(log) == [Retile.name]


def test_warps_share_sums_where_workgroups_are_few() -> None:
    log = DecisionLog()
    # Longer sums are shared by workgroups (test_split_sums.py).
    compile(Matmul(64, 96, 512, "f32").source(), target_flags("sm_80"), "auto/fast", decisions=log)
    (tiled,) = (each for each in log if each.action is Action.RETILE)
    assert tiled.pass_name == TileConvolutionsByLanes.name
    assert "sums in 8 parts" in tiled.reason


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(
    ("sizes", "right"),
    [
        # Threads of IREE's tile round the products of 16 of 36 columns.
        ({"m": 20, "n": 36, "k": 44}, "k n"),
        # They add by fused multiply-adds, from the last of 8 or 32 elements to the first.
        ({"m": 20, "n": 48, "k": 40}, "n k"),
        ({"m": 20, "n": 64, "k": 96}, "k n"),
    ],
)
def test_the_bits_of_stock_are_kept(sizes: dict[str, int], right: str) -> None:
    # RDNA4 has no matrix instruction for f32, so that IREE computes there as for NVIDIA.
    program, arch = Contraction("", "f32", sizes, right=right).program(), "gfx1201"
    step = TileMatmulsByLanes(everywhere=True, same_bits=True)
    stock = run_program(program, arch, "stock")
    ours = run_again(program, arch, "auto/exact", edits=[PipelineEdit.replace(PASS, step)])
    assert ours.actions_of(PASS) == [Action.RETILE]
    assert ours.bits == stock.bits


def test_exact_gives_lanes_tiles_where_that_keeps_bits() -> None:
    log = DecisionLog()
    source = Matmul(160, 360, 120, "f32").source()
    code = compile(source, target_flags("sm_80"), "auto/exact", decisions=log).decode("latin-1")
    assert retiled(log) == [PASS]
    assert "mul.rn.f32" in code
    assert "fma.rn.f32" not in code


def test_sums_that_begin_with_minus_zero_get_no_zeros_behind_them() -> None:
    log = DecisionLog()
    # No step divides 100 elements.
    source = Matmul(160, 360, 100, "f32").source()
    assert "0.0" in source
    negative = source.replace("0.0", "-0.0")
    compile(negative, target_flags("sm_80"), "auto/exact", decisions=log)
    assert retiled(log) == []
