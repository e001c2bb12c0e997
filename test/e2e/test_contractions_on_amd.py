# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions and products whose tiles IREE pads, on the emulated gfx942: they become matmuls of
other tiles under `fast`, which compute the same."""

from __future__ import annotations

import pytest

from bankwise.bench.program_families.convolutions import NCHW, NHWC, Windowed
from bankwise.bench.program_families.matmuls import Contraction
from bankwise.passes.decisions import Action
from bankwise.tuning.matmuls.enlarge_matmuls import EnlargeMatmuls
from bankwise.tuning.matmuls.tile_dynamic_matmuls import TileDynamicMatmuls

from .program_runs import run_again

NGCHW = ("n g c h w", "g f c y x", "n g f h w")


def convolution(
    op: str, dims: tuple[str, str, str], dtype: str = "f32", stride: int = 1, **sizes: int
) -> Windowed:
    """Returns a convolution with windows of 3 x 3 elements, unless sizes say otherwise."""
    sizes = {"n": 1, "y": 3, "x": 3, **sizes}
    return Windowed(op, op, dtype, *dims, sizes, stride=stride)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    "case",
    [
        convolution("conv_2d_nchw_fchw", NCHW, h=15, w=13, c=32, f=50),
        convolution("conv_2d_nchw_fchw", NCHW, n=2, h=9, w=15, c=17, f=33, stride=2),
        convolution("conv_2d_nchw_fchw", NCHW, "f16", n=2, h=12, w=14, c=64, f=66),
        convolution("conv_2d_nhwc_hwcf", NHWC, n=2, h=11, w=12, c=48, f=40),
        convolution("conv_2d_nhwc_hwcf", NHWC, "bf16", n=3, h=7, w=9, c=32, f=24, y=1, x=7),
        convolution("conv_2d_ngchw_gfchw", NGCHW, g=2, h=10, w=10, c=24, f=36),
    ],
    ids=lambda each: each.name,
)
def test_convolutions_become_matmuls_of_other_tiles(case: Windowed) -> None:
    run = run_again(case.program())
    assert run.error <= run.program.tolerance
    assert run.actions_of(EnlargeMatmuls.name) == [Action.RETILE]


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(
    ("right", "dtype", "sizes"),
    [
        ("k n", "f32", {"m": 130, "n": 100, "k": 96}),
        ("n k", "f32", {"m": 70, "n": 130, "k": 77}),
        ("k n", "f16", {"m": 100, "n": 75, "k": 160}),
        ("b k n", "f32", {"b": 3, "m": 50, "n": 49, "k": 120}),
    ],
)
def test_products_get_other_tiles(right: str, dtype: str, sizes: dict[str, int]) -> None:
    left, output = ("b m k", "b m n") if "b" in sizes else ("m k", "m n")
    matmul = Contraction("", dtype, sizes, left, right, output, epilogue=("bias", "relu"))
    run = run_again(matmul.program())
    assert run.error <= run.program.tolerance
    assert run.actions_of(EnlargeMatmuls.name) == [Action.RETILE]


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(
    ("right", "sizes"),
    [("n k", {"m": 4, "n": 120, "k": 480}), ("n k", {"m": 3, "n": 70, "k": 340})],
)
def test_few_rows_are_multiplied_by_matrix_instructions(right: str, sizes: dict[str, int]) -> None:
    matmul = Contraction("", "f32", sizes, "m k", right, "m n", epilogue=("bias", "relu"))
    run = run_again(matmul.program())
    assert run.error <= run.program.tolerance
    assert run.actions_of(TileDynamicMatmuls.name) == [Action.RETILE]
