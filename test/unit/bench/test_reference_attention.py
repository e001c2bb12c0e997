# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/reference_attention: attentions in float64, whole and by elements."""

import numpy as np

from bankwise.bench.reference_attention import attention_rows


def test_the_reference_computes_the_marked_elements() -> None:
    random = np.random.default_rng(0)
    q, k, v = (random.standard_normal((3, 8, 4)) for _ in range(3))
    part = random.random((3, 8, 4)) < 0.3
    part[1] = False
    weights = np.exp(q @ k.transpose(0, 2, 1) * 0.5)
    whole = weights @ v / weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(attention_rows([q, k, v], part, 0.5), whole[part], rtol=1e-12)
