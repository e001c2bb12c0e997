# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random inputs of kernels, and what the kernels make of them in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bankwise.bench.reference_attention import attention
from bankwise.runtime.dtypes import dtype_of
from bankwise.sweep.swept_kernels import Attention, Matmul, random_operands

Array = npt.NDArray[Any]
Kernel = Attention | Matmul


def inputs_of(kernel: Kernel) -> list[Array]:
    """Returns the same inputs at every call."""
    if isinstance(kernel, Matmul):
        return random_operands(kernel)
    random = np.random.default_rng(7)
    values = random.standard_normal((3, kernel.batch, kernel.seq, kernel.head_dim))
    return list(values.astype(dtype_of(kernel.dtype)))


def exact_result(kernel: Kernel) -> Array:
    """Returns what a kernel makes of its inputs; a matmul's second one is not transposed."""
    inputs = [each.astype(np.float64) for each in inputs_of(kernel)]
    if isinstance(kernel, Matmul):
        return inputs[0] @ inputs[1]
    query, key, value = inputs
    return attention(query, key, value, kernel.head_dim**-0.5)
