# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/gpu/sampled_products: errors of matmuls and convolutions over a sample of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bankwise.bench.gpu.array_elements import STORAGE, values
from bankwise.bench.gpu.inputs import input_bytes
from bankwise.bench.gpu.sampled_products import SAMPLED_ROWS, SampledProduct
from bankwise.bench.gpu.timed_kernels import CONVOLUTION, MATMUL, TimedKernel
from bankwise.bench.program_families.convolutions import NCHW, NHWC, Windowed

Array = npt.NDArray[Any]


def matmul(*operands: str, transposed: bool = False) -> TimedKernel:
    return TimedKernel("m", MATMUL, operands, ("stock",), transposed=transposed)


def read(tmp_path: Path, kernel: TimedKernel) -> tuple[SampledProduct, list[Array]]:
    """Returns a kernel's sample, and its inputs as numbers."""
    paths = [tmp_path / f"{number}.bin" for number in range(len(kernel.operands))]
    operands: list[Array] = []
    for number, path in enumerate(paths):
        path.write_bytes(input_bytes(kernel, number, "normal"))
        elements = np.fromfile(path, STORAGE[kernel.types[number]])
        operands.append(values(elements).reshape(kernel.shapes[number]))
    return SampledProduct.of(kernel, paths), operands


def largest(tmp_path: Path, sample: SampledProduct, output: Array, dtype: str) -> float:
    path = tmp_path / "output.bin"
    output.astype(STORAGE[dtype]).tofile(path)
    return sample.errors(path).largest


@pytest.mark.parametrize(
    ("kernel", "dtype"),
    [
        (matmul("200x24xf16", "24x7xf16"), "f32"),
        (matmul("5x24xbf16", "7x24xbf16", transposed=True), "f32"),
        (matmul("40x300xi8", "300x9xi8"), "i32"),
        (matmul("3x90x16xf16", "3x11x16xf16", transposed=True), "f32"),
    ],
    ids=lambda value: str(value.operands) if isinstance(value, TimedKernel) else value,
)
def test_rows_of_matmuls_are_sampled(tmp_path: Path, kernel: TimedKernel, dtype: str) -> None:
    sample, (left, right) = read(tmp_path, kernel)
    exact = left @ (right.swapaxes(-1, -2) if kernel.transposed else right)
    assert largest(tmp_path, sample, exact, dtype) < 1e-5
    assert len(sample.rows) == min(SAMPLED_ROWS, exact.size // exact.shape[-1])
    rows = exact.reshape(-1, exact.shape[-1])
    rows[sample.rows[-1], -1] += 3.0
    assert largest(tmp_path, sample, exact, dtype) == pytest.approx(3.0, rel=1e-5)


def test_a_bias_and_a_residual_are_added(tmp_path: Path) -> None:
    kernel = matmul("30x24xf16", "24x7xf16", "7xf16", "30x7xf16")
    sample, (left, right, bias, residual) = read(tmp_path, kernel)
    exact = left @ right + bias + residual
    assert 0 < largest(tmp_path, sample, exact, "f16") <= 2.0**-11 * np.abs(exact).max()
    assert largest(tmp_path, sample, exact - bias, "f16") > 0.1


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(
    ("op", "dims", "sizes"),
    [
        ("conv_2d_nhwc_hwcf", NHWC, {"h": 9, "w": 8, "y": 3, "x": 2}),
        ("conv_2d_nchw_fchw", NCHW, {"h": 9, "w": 8, "y": 3, "x": 2}),
        ("conv_1d_ncw_fcw", ("n c w", "f c x", "n f w"), {"w": 21, "x": 3}),
    ],
)
def test_pixels_of_convolutions_are_sampled(
    tmp_path: Path, op: str, dims: tuple[str, str, str], sizes: dict[str, int], stride: int
) -> None:
    made = Windowed("c", op, "f16", *dims, {"n": 2, "c": 5, "f": 6, **sizes}, stride=stride)
    operands = tuple("x".join([*map(str, shape), "f16"]) for shape in made.operands)
    last = dims == NHWC
    kernel = TimedKernel("c", CONVOLUTION, operands, ("stock",), channels_last=last, stride=stride)
    sample, inputs = read(tmp_path, kernel)
    exact = made.convolved(*inputs)
    assert exact.shape == sample.shape
    assert 0 < largest(tmp_path, sample, exact, "f16") <= 2.0**-11 * np.abs(exact).max()
    wrong = np.roll(exact, 1, axis=-1 if last else 1)
    assert largest(tmp_path, sample, wrong, "f16") > 0.1


def test_an_attention_is_no_product() -> None:
    with pytest.raises(ValueError, match="a is no product"):
        SampledProduct.of(TimedKernel("a", "attention", (), ("stock",)), [])
