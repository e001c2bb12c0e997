# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bank_model/distinct_numbers.py`."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.bank_model.distinct_numbers import distinct_numbers


@pytest.mark.parametrize("shape", [(0,), (1,), (40,), (5, 8)])
def test_each_number_comes_once_in_order(shape: tuple[int, ...]) -> None:
    numbers = np.random.default_rng(7).integers(-6, 6, shape)
    assert distinct_numbers(numbers).tolist() == sorted({*numbers.ravel().tolist()})
