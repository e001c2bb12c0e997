# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions of f32 whose lanes multiply tiles of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from bankwise.bench.program_families.convolutions import NCHW, NHWC, Windowed
from bankwise.bench.program_families.matmuls import Contraction
from bankwise.bench.program_families.program import Program, normal
from bankwise.bench.random_kinds.generic_convolutions import Convolution as GenericConvolution
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


def ncw(n: int, w: int, c: int, f: int, window: int, stride: int = 1) -> Windowed:
    """Returns a convolution along one dimension, with channels first."""
    sizes = {"n": n, "w": w, "c": c, "f": f, "x": window}
    return convolution("conv_1d_ncw_fcw", ("n c w", "f c x", "n f w"), stride, **sizes)


@dataclass(frozen=True)
class Reordered:
    """A convolution as `linalg.generic`, of normal values, whose sums show their order."""

    convolution: GenericConvolution

    @property
    def name(self) -> str:
        """Returns the loops in their order."""
        return self.convolution.loops

    def program(self) -> Program:
        """Returns it with its inputs."""
        case = self.convolution
        values = tuple(normal(case.dtype, *case.shape(each)) for each in (case.image, case.window))
        return replace(case.program(), inputs=values)


def along_width(image: str, window: str, output: str, loops: str) -> Reordered:
    """Returns a convolution along one dimension with its loops in any order."""
    sizes = {"n": 2, "w": 16, "f": 8, "c": 16, "q": 3}
    return Reordered(GenericConvolution(sizes, image, window, output, loops, "f32"))


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
        # MLIR makes vectors of the channels of a step, for each place of the window.
        (ncw(2, 18, 16, 8, 3), "16,64,16,1,4,1"),
        (ncw(3, 19, 8, 8, 5, stride=2), "16,64,16,1,4,1"),
        # Without a batch it makes none, and with another order of loops, neither.
        (ncw(1, 22, 12, 8, 7), "16,64,16,1,4,1"),
        (along_width("ncx", "fcq", "nfw", "nwfcq"), "16,64,16,1,4,1"),
        (along_width("ncx", "fcq", "nwf", "nfwcq"), "16,64,16,1,4,1"),
        (along_width("cnx", "fcq", "nfw", "nfwcq"), "16,64,16,1,4,1"),
        (along_width("nxc", "qcf", "nwf", "nwfqc"), "16,64,16,1,4,1"),
        (
            Contraction("", "f32", {"a": 2, "m": 10, "n": 36, "k": 36}, "a k n", "m k", "a m n"),
            "16,64,16,1,4,1",
        ),
    ],
    ids=lambda each: each if isinstance(each, str) else each.name,
)
def test_sum_order_have_the_bits_of_stock(
    program: Windowed | Contraction | Reordered, tile: str
) -> None:
    # RDNA4 has no matrix instruction for f32, so that IREE computes there as for NVIDIA.
    made, arch = program.program(), "gfx1201"
    stock = run_program(made, arch, "stock")
    ours = run_again(made, arch, "auto/exact", edits=keeping_bits(tile))
    assert ours.actions_of(PASS) == [Action.RETILE]
    assert ours.bits == stock.bits
