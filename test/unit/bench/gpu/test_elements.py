# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/gpu/elements: numbers rounded to f16 and bf16, and read back."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from bankwise.bench.gpu.elements import EPSILON, STORAGE, rounded, values

KINDS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}


@pytest.mark.parametrize("dtype", KINDS)
def test_numbers_are_rounded_as_the_type_does(dtype: str):
    numbers = np.random.default_rng(1).standard_normal(4096).astype(np.float32)
    # Numbers halfway between two of the type go to the even one.
    ties = 1 + EPSILON[dtype] * np.array([0.5, 1.5, 2.5, -0.25], np.float32)
    numbers = np.concatenate([numbers, ties, [0.0, -0.0, 1e-30, -np.inf, np.inf]])
    elements = rounded(numbers.astype(np.float32), dtype)
    expected = numbers.astype(np.float32).astype(KINDS[dtype])
    assert elements.dtype == STORAGE[dtype]
    assert elements.tobytes() == expected.tobytes()
    assert np.array_equal(values(elements), expected.astype(np.float64))


@pytest.mark.parametrize("dtype", KINDS)
def test_epsilon_is_that_of_the_type(dtype: str):
    assert EPSILON[dtype] == float(ml_dtypes.finfo(KINDS[dtype]).eps)
