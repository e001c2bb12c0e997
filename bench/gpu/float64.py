# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of attentions against float64, over a sample of rows. This needs NumPy."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..reference_attention import F64, attention
from .elements import STORAGE, Elements, values
from .kernels import TimedKernel
from .record import Errors

SAMPLED_HEADS = 4
SAMPLED_ROWS = 64


@dataclass(frozen=True)
class SampledAttention:
    """Some rows of softmax(q k^T scale) v in float64.

    Attributes:
        rows: the sampled rows of each sampled head.
        expected: their values, of shape [rows, head_dim].
    """

    kernel: TimedKernel
    rows: dict[int, list[int]]
    expected: dict[int, F64]

    @staticmethod
    def of(kernel: TimedKernel, inputs: Sequence[Path]) -> SampledAttention:
        """Returns the sample of an attention whose inputs are in files.

        Heads are spread evenly; rows are drawn at random, since rows at equal distances would all
        lie in the same lane.

        Raises:
            ValueError: the kernel is no attention.
            OSError: a file cannot be read.
        """
        if kernel.scale is None:
            raise ValueError(f"{kernel.name} is no attention")
        batch, seq, _ = kernel.shapes[0]
        q, k, v = (_elements(kernel, path) for path in inputs)
        rows: dict[int, list[int]] = {}
        expected: dict[int, F64] = {}
        parts = range(SAMPLED_HEADS)
        for head in sorted({part * (batch - 1) // (SAMPLED_HEADS - 1) for part in parts}):
            rows[head] = random.Random(head).sample(range(seq), min(seq, SAMPLED_ROWS))
            queries = values(q[head, rows[head]])
            expected[head] = attention(queries, values(k[head]), values(v[head]), kernel.scale)
        return SampledAttention(kernel, rows, expected)

    def errors(self, output: Path) -> Errors:
        """Returns the errors of the output in a file; infinite where it has NaNs."""
        out = _elements(self.kernel, output)
        differences = np.concatenate(
            [values(out[head, self.rows[head]]) - value for head, value in self.expected.items()]
        )
        return errors_of(differences)


def errors_of(differences: F64) -> Errors:
    """Returns the errors that differences are; infinite if one is not finite, or there is none."""
    if not differences.size or not np.isfinite(differences).all():
        return Errors(math.inf, math.inf)
    return Errors(math.sqrt(np.mean(differences**2)), float(np.abs(differences).max()))


def _elements(kernel: TimedKernel, path: Path) -> Elements:
    """Returns a tensor in a file, of the shape of an input; of bf16, the words."""
    kind = STORAGE[kernel.dtype]
    return np.memmap(path, kind, "r", shape=kernel.shapes[0])
