# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/gpu/float64: errors of attentions over a sample of rows."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from bankwise.bench.gpu.array_elements import STORAGE, values
from bankwise.bench.gpu.float64 import SampledAttention, attention, errors_of
from bankwise.bench.gpu.inputs import input_bytes
from bankwise.bench.gpu.record import Errors
from bankwise.bench.gpu.timed_kernels import TimedKernel
from bankwise.bench.gpu.timed_sets import model_attention, timed_model
from bankwise.bench.program_families.attention import Attention

KINDS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}
SHAPE = (9, 96, 16)
SCALE = 0.37


def sampled(tmp_path: Path, dtype: str) -> tuple[SampledAttention, npt.NDArray[Any]]:
    """Returns a sample, and the whole attention in float64."""
    operand = f"{'x'.join(map(str, SHAPE))}x{dtype}"
    kernel = TimedKernel("a", "attention", (operand,) * 3, ("stock",), scale=SCALE)
    paths = [tmp_path / f"{number}.bin" for number in range(3)]
    for number, path in enumerate(paths):
        path.write_bytes(input_bytes(kernel, number, "normal"))
    q, k, v = (np.fromfile(p, KINDS[dtype]).astype(np.float64).reshape(SHAPE) for p in paths)
    weights = np.exp(q @ k.transpose(0, 2, 1) * SCALE)
    return SampledAttention.of(kernel, paths), weights / weights.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize(
    "model",
    [
        model_attention(6, 20, 16, group=3, mask="f16"),
        model_attention(3, 7, 16, "f32", keys=12, columns=8),
        model_attention(3, 20, 16, mask="i1"),
    ],
    ids=lambda model: model.name,
)
def test_heads_may_share_keys_and_have_masks(tmp_path: Path, model: Attention):
    kernel = timed_model(model, ("stock",))
    paths = [tmp_path / f"{number}.bin" for number in range(len(kernel.operands))]
    operands: list[npt.NDArray[Any]] = []
    for number, (path, shape) in enumerate(zip(paths, kernel.shapes, strict=True)):
        path.write_bytes(input_bytes(kernel, number, "normal"))
        operands.append(np.fromfile(path, STORAGE[kernel.types[number]]).reshape(shape))
    sample = SampledAttention.of(kernel, paths)
    output = tmp_path / "output.bin"
    exact = model.reference(*(each if each.dtype == bool else values(each) for each in operands))
    assert exact.shape == kernel.attention_shape
    exact.astype(STORAGE[kernel.dtype]).tofile(output)
    assert sample.errors(output).largest < 1e-3


def errors_of_file(tmp_path: Path, sample: SampledAttention, out: npt.NDArray[Any], dtype: str):
    path = tmp_path / "output.bin"
    out.astype(KINDS[dtype]).tofile(path)
    return sample.errors(path)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_a_rounded_output_has_errors_of_its_type(tmp_path: Path, dtype: str):
    sample, exact = sampled(tmp_path, dtype)
    errors = errors_of_file(tmp_path, sample, exact, dtype)
    unit = 2.0 ** (-11 if dtype == "f16" else -8)
    assert 0 < errors.rms < errors.largest <= unit * np.abs(exact).max()
    offset = errors_of_file(tmp_path, sample, exact + 0.5, dtype)
    assert offset.rms == pytest.approx(0.5, rel=2e-2)


def test_the_sample_has_rows_of_heads_at_both_ends(tmp_path: Path):
    sample, exact = sampled(tmp_path, "f16")
    assert list(sample.rows) == [0, 2, 5, 8]
    for head, rows in sample.rows.items():
        assert len({*rows}) == 64 and {row % 16 for row in rows} == {*range(16)}
        assert np.allclose(sample.expected[head], exact[head, rows], atol=1e-12)


def test_one_wrong_element_is_the_largest_error(tmp_path: Path):
    sample, exact = sampled(tmp_path, "f16")
    exact[8, sample.rows[8][3], 7] += 2.0
    errors = errors_of_file(tmp_path, sample, exact, "f16")
    assert errors.largest == pytest.approx(2, abs=1e-2)
    assert errors.rms == pytest.approx(2 / math.sqrt(4 * 64 * 16), rel=1e-2)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_is_infinitely_wrong(tmp_path: Path, value: float):
    sample, exact = sampled(tmp_path, "bf16")
    exact[0, sample.rows[0][0], 0] = value
    errors = errors_of_file(tmp_path, sample, exact, "bf16")
    assert errors.rms == errors.largest == math.inf


def test_a_matmul_has_no_sample():
    with pytest.raises(ValueError, match="m is no attention"):
        SampledAttention.of(TimedKernel("m", "matmul", ("4x4xf16",) * 2, ("stock",)), [])


def test_a_mask_hides_keys():
    random = np.random.default_rng(2)
    q, k, v = (random.standard_normal((4, 8)) for _ in range(3))
    mask = np.zeros((4, 4))
    mask[0, 2:] = mask[1, :3] = mask[2] = -np.inf
    mask[3] = 0.5
    out = attention(q, k, v, SCALE, mask)
    assert np.allclose(out[0], attention(q[:1], k[:2], v[:2], SCALE))
    assert np.array_equal(out[1], v[3])
    assert np.isnan(out[2]).all()
    # What is added to all scores of a row changes nothing.
    assert np.allclose(out[3], attention(q, k, v, SCALE)[3])


def test_nothing_compared_is_infinitely_wrong():
    assert errors_of(np.zeros(0)).rms == math.inf
    assert errors_of(np.array([3.0, -4.0])) == Errors(12.5**0.5, 4.0)
