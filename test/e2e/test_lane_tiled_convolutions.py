# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions of f32 whose lanes multiply tiles of their own."""

from __future__ import annotations

import pytest

from bankwise.bench.program_families.convolutions import NCHW, NHWC, Windowed
from bankwise.bench.program_families.matmuls import Contraction
from bankwise.iree_plugin.python_compile import compile
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.passes.pipeline_edit import PipelineEdit
from bankwise.sweep.cases import target_flags
from bankwise.tuning.convolutions.tile_convolutions_by_lanes import TileConvolutionsByLanes
from bankwise.tuning.convolutions.tile_windows import TileWindows

from .program_runs import run_again, run_program

PASS = TileConvolutionsByLanes.name
KEPT = "auto/fast/off"
"""Makes no convolution a matmul for matrix instructions, which the emulated GPU has for f32."""


def edits(tile: str) -> tuple[PipelineEdit, ...]:
    """Returns what gives convolutions a tile of lanes on an emulated GPU.

    It has matrix instructions for f32, so that no level asks for the pass there.
    """
    step = TileConvolutionsByLanes(everywhere=True, tile=tile)
    place = "iree-codegen-gpu-pad-convs"
    return (PipelineEdit.before(place, step, pipelines=frozenset({"TileAndFuse"}), optional=True),)


def convolution(op: str, dims: tuple[str, str, str], stride: int = 1, **sizes: int) -> Windowed:
    """Returns a convolution of f32."""
    return Windowed(op, op, "f32", *dims, sizes, stride=stride)


def nchw(n: int, h: int, w: int, c: int, f: int, window: int, stride: int = 1) -> Windowed:
    """Returns a convolution whose image has its channels first."""
    sizes = {"n": n, "h": h, "w": w, "c": c, "f": f, "y": window, "x": window}
    return convolution("conv_2d_nchw_fchw", NCHW, stride, **sizes)


def nhwc(n: int, h: int, w: int, c: int, f: int, window: int, stride: int = 1) -> Windowed:
    """Returns a convolution whose image has its channels last."""
    sizes = {"n": n, "h": h, "w": w, "c": c, "f": f, "y": window, "x": window}
    return convolution("conv_2d_nhwc_hwcf", NHWC, stride, **sizes)


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(
    ("case", "tile"),
    [
        (nchw(1, 7, 9, 20, 18, 1), "16,64,16,1,4,2"),
        (nchw(1, 11, 7, 12, 17, 3, stride=2), "16,64,16,2,4,4"),
        (nchw(3, 9, 8, 3, 5, 3), "16,64,16,1,4,1"),
        (nhwc(1, 9, 7, 24, 40, 3), "32,64,8,4,4,2"),
        (nhwc(2, 13, 5, 16, 33, 1, stride=2), "16,64,16,2,4,2"),
    ],
    ids=lambda each: each if isinstance(each, str) else each.name,
)
def test_lanes_share_convolutions(case: Windowed, tile: str) -> None:
    run = run_again(case.program(), mode=KEPT, edits=edits(tile))
    assert run.error <= run.program.tolerance
    assert run.actions_of(PASS) == [Action.RETILE]


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("right", "sizes", "tile"),
    [
        ("k n", {"m": 20, "n": 70, "k": 96}, "16,64,16,1,4,2"),
        ("n k", {"m": 33, "n": 50, "k": 64}, "16,64,16,2,4,4"),
        ("b k n", {"b": 3, "m": 9, "n": 17, "k": 40}, "16,64,16,1,4,2"),
    ],
)
def test_warps_share_sums_of_matmuls(right: str, sizes: dict[str, int], tile: str) -> None:
    left = "b m k" if "b" in sizes else "m k"
    output = "b m n" if "b" in sizes else "m n"
    matmul = Contraction("", "f32", sizes, left, right, output, epilogue=("bias", "relu"))
    run = run_again(matmul.program(), mode=KEPT, edits=edits(tile))
    assert run.error <= run.program.tolerance
    assert run.actions_of(PASS) == [Action.RETILE]


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("case", [nchw(1, 12, 12, 128, 128, 3), nchw(1, 20, 20, 384, 128, 1)])
def test_copies_and_contractions_overlap_on_nvidia_gpus(case: Windowed) -> None:
    log = DecisionLog()
    code = compile(case.source(), target_flags("sm_80"), "auto/fast", decisions=log)
    assert [each.pass_name for each in log if each.action is Action.RETILE] == [PASS]
    assert [each.action for each in log].count(Action.OVERLAP) == 2
    assert "cp.async" in code.decode("latin-1")


DEPTHWISE = ("n c h w", "c y x", "n c h w")
POOLED = ("n c h w", "y x", "n c h w")


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    ("op", "dims", "stride", "width", "height"),
    [
        ("depthwise_conv_2d_nchw_chw", DEPTHWISE, 1, 18, 9),
        ("depthwise_conv_2d_nchw_chw", DEPTHWISE, 2, 19, 9),
        ("depthwise_conv_2d_nhwc_hwc", ("n h w c", "y x c", "n h w c"), 2, 11, 9),
        ("pooling_nchw_max", POOLED, 1, 13, 9),
        # So many that each lane has 4 neighbours.
        ("depthwise_conv_2d_nchw_chw", DEPTHWISE, 1, 20, 170),
    ],
)
def test_lanes_lie_along_rows_of_what_has_windows(
    op: str, dims: tuple[str, str, str], stride: int, width: int, height: int
) -> None:
    case = convolution(op, dims, stride, n=2, c=12, h=height, w=width, y=3, x=3)
    run = run_again(case.program())
    assert run.error <= run.program.tolerance
    assert run.actions_of(TileWindows.name) == [Action.RETILE]


def keeping_bits(tile: str) -> tuple[PipelineEdit, ...]:
    """Returns what gives convolutions a tile of lanes that adds as IREE does."""
    step = TileConvolutionsByLanes(everywhere=True, same_bits=True, tile=tile)
    place = "iree-codegen-gpu-pad-convs"
    return (PipelineEdit.before(place, step, pipelines=frozenset({"TileAndFuse"}), optional=True),)


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(
    ("program", "tile"),
    [
        (nchw(1, 7, 8, 8, 10, 3), "16,64,16,1,4,1"),
        # IREE goes over the rows of this window outside of the channels.
        (nchw(1, 13, 13, 3, 10, 7, stride=2), "16,64,16,1,4,1"),
        # Steps of 4 of 24 channels.
        (nchw(1, 7, 9, 24, 8, 2), "16,64,16,2,4,1"),
        (nhwc(1, 9, 7, 12, 20, 3), "16,64,16,1,4,1"),
        (
            Contraction("", "f32", {"a": 2, "m": 10, "n": 36, "k": 36}, "a k n", "m k", "a m n"),
            "16,64,16,1,4,1",
        ),
    ],
    ids=lambda each: each if isinstance(each, str) else each.name,
)
def test_sum_order_have_the_bits_of_stock(program: Windowed | Contraction, tile: str) -> None:
    # RDNA4 has no matrix instruction for f32, so that IREE computes there as for NVIDIA.
    made, arch = program.program(), "gfx1201"
    stock = run_program(made, arch, "stock")
    ours = run_again(made, arch, "auto/exact", edits=keeping_bits(tile))
    assert ours.actions_of(PASS) == [Action.RETILE]
    assert ours.bits == stock.bits
