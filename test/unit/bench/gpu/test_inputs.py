# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/gpu/inputs: numbers of the right distribution, from the standard library."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from bankwise.bench.gpu.inputs import INPUTS, bounded_bytes, input_bytes, normal_bytes
from bankwise.bench.gpu.timed_kernels import TimedKernel

TYPES = pytest.mark.parametrize(
    ("dtype", "kind"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)]
)


def attention_input(number: int, inputs: str, dtype: str = "f16") -> npt.NDArray[Any]:
    kernel = TimedKernel("a", "attention", (f"2x64x32x{dtype}",) * 3, ("stock",), scale=1.0)
    kind = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}[dtype]
    data = np.frombuffer(input_bytes(kernel, number, inputs), kind)
    return data.astype(np.float64).reshape(2, 64, 32)


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [("f16", np.float16), ("bf16", ml_dtypes.bfloat16), ("f32", np.float32)],
)
def test_bounded_inputs_are_numbers_of_like_magnitude(dtype: str, kind: type):
    values = np.frombuffer(bounded_bytes(f"64x64x{dtype}", "seed"), kind).astype(np.float64)
    magnitudes = np.abs(values)
    assert values.size == 64 * 64
    assert 0.125 <= magnitudes.min() < 0.13 and 1.9 < magnitudes.max() < 2
    assert 0.4 < (values < 0).mean() < 0.6
    assert len(np.unique(values)) > 500
    assert bounded_bytes(f"64x64x{dtype}", "seed") != bounded_bytes(f"64x64x{dtype}", "other")


def test_masks_are_normal_or_of_both_booleans():
    operands = ("2x64x32xf16",) * 3
    added, hiding = (
        TimedKernel("a", "attention", (*operands, f"2x64x64x{dtype}"), ("stock",), scale=1.0)
        for dtype in ("f16", "i1")
    )
    mask = np.frombuffer(input_bytes(added, 3, "large"), np.float16).astype(np.float64)
    assert mask.size == 2 * 64 * 64 and abs(mask.std() - 1) < 0.05
    seen = np.frombuffer(input_bytes(hiding, 3, "normal"), np.uint8)
    assert seen.size == 2 * 64 * 64 and {*seen} == {0, 1} and 0.45 < seen.mean() < 0.55


def test_bounded_integers_are_all_of_their_type():
    values = np.frombuffer(bounded_bytes("64x64xi8", "seed"), np.int8)
    assert values.size == 64 * 64
    assert len(np.unique(values)) == 256


@TYPES
def test_normal_inputs_have_the_quantiles_of_a_normal_distribution(dtype: str, kind: type):
    values = np.frombuffer(normal_bytes(f"512x512x{dtype}", "seed", 2.0), kind).astype(np.float64)
    assert values.size == 512 * 512
    assert abs(values.mean()) < 0.02 and abs(values.std() - 2) < 0.02
    # Of a normal distribution 0.135 % lie beyond three standard deviations on either side.
    assert (values > 6).mean() == pytest.approx(0.00135, rel=0.2)
    assert (values < -6).mean() == pytest.approx(0.00135, rel=0.2)
    assert normal_bytes(f"8x8x{dtype}", "seed") != normal_bytes(f"8x8x{dtype}", "other")


def test_large_inputs_have_no_row_twice():
    values = np.frombuffer(normal_bytes("3x8192x128xf16", "seed"), np.float16).reshape(-1, 128)
    assert len(np.unique(values, axis=0)) == 3 * 8192
    assert abs(values[16384:].astype(np.float64).std() - 1) < 0.01
    # What is drawn first does not depend on how much follows.
    assert normal_bytes("8192x128xf16", "seed") == values[:8192].tobytes()


def test_bf16_is_rounded_to_nearest():
    bits = np.frombuffer(normal_bytes("256x256xbf16", "seed"), np.uint16)
    quantiles = np.sort(np.unique(bits.view(ml_dtypes.bfloat16).astype(np.float64)))
    from statistics import NormalDist

    exact = [NormalDist().inv_cdf((number + 0.5) / 65536) for number in range(65536)]
    rounded = np.array(exact, np.float32).astype(ml_dtypes.bfloat16).astype(np.float64)
    assert np.isin(quantiles, rounded).all()


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_equal_keys_give_equal_scores(dtype: str):
    keys = attention_input(1, "equal", dtype)
    assert (keys == keys[0, 0]).all() and keys[0, 0].std() > 0.5
    values = attention_input(2, "equal", dtype)
    assert (values == attention_input(2, "normal", dtype)).all() and values.std() > 0.9


def test_large_queries_and_keys_are_four_times_as_large():
    for number, factor in enumerate((4, 4, 1)):
        large, normal = (attention_input(number, inputs) for inputs in ("large", "normal"))
        assert np.allclose(large, factor * normal, rtol=2e-3)


def test_operands_differ_and_kinds_of_inputs_do():
    assert not (attention_input(0, "normal") == attention_input(1, "normal")).all()
    keys = {attention_input(1, inputs).tobytes() for inputs in INPUTS}
    assert len(keys) == len(INPUTS)


@pytest.mark.parametrize("inputs", INPUTS)
def test_matmuls_always_get_bounded_numbers(inputs: str):
    kernel = TimedKernel("m", "matmul", ("4x2xf16", "2x8xf16"), ("stock",))
    assert input_bytes(kernel, 1, inputs) == bounded_bytes("2x8xf16", "2x8f161")
