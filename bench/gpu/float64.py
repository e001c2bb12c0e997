# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of attentions against float64, over a sample of rows. This needs NumPy."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..reference_attention import F64, added_scores, attention
from .array_elements import STORAGE, Elements, values
from .record import Errors
from .timed_kernels import TimedKernel

SAMPLED_HEADS = 4
SAMPLED_ROWS = 64


@dataclass(frozen=True)
class SampledAttention:
    """Some rows of softmax(q k^T scale + mask) v in float64.

    Attributes:
        rows: the sampled rows of each sampled head of q.
        expected: their values, of shape [rows, columns of v].
    """

    kernel: TimedKernel
    rows: dict[int, list[int]]
    expected: dict[int, F64]

    @staticmethod
    def of(kernel: TimedKernel, inputs: Sequence[Path]) -> SampledAttention:
        """Returns the sample of an attention whose inputs are in files.

        Heads are spread evenly; rows are drawn at random, since rows at equal distances would all
        lie in the same lane. Heads are counted over all leading dimensions of q; where k, v or the
        mask has fewer, each of theirs is that of as many neighbouring heads of q.

        Raises:
            ValueError: the kernel is no attention.
            OSError: a file cannot be read.
        """
        if kernel.scale is None:
            raise ValueError(f"{kernel.name} is no attention")
        q, *others = (
            _heads(path, shape, dtype)
            for path, shape, dtype in zip(inputs, kernel.shapes, kernel.types, strict=True)
        )
        batch, seq, _ = q.shape
        rows: dict[int, list[int]] = {}
        expected: dict[int, F64] = {}
        parts = range(SAMPLED_HEADS)
        for head in sorted({part * (batch - 1) // (SAMPLED_HEADS - 1) for part in parts}):
            rows[head] = random.Random(head).sample(range(seq), min(seq, SAMPLED_ROWS))
            k, v, *mask = (each[head * len(each) // batch] for each in others)
            added = [values(added_scores(each[rows[head]])) for each in mask]
            queries = values(q[head, rows[head]])
            expected[head] = attention(queries, values(k), values(v), kernel.scale, *added)
        return SampledAttention(kernel, rows, expected)

    def errors(self, output: Path) -> Errors:
        """Returns the errors of the output in a file; infinite where it has NaNs."""
        out = _heads(output, self.kernel.attention_shape, self.kernel.dtype)
        differences = np.concatenate(
            [values(out[head, self.rows[head]]) - value for head, value in self.expected.items()]
        )
        return errors_of(differences)


def errors_of(differences: F64) -> Errors:
    """Returns the errors that differences are; infinite if one is not finite, or there is none."""
    if not differences.size or not np.isfinite(differences).all():
        return Errors(math.inf, math.inf)
    return Errors(math.sqrt(np.mean(differences**2)), float(np.abs(differences).max()))


def _heads(path: Path, shape: tuple[int, ...], dtype: str) -> Elements:
    """Returns a tensor in a file, its leading dimensions as one; of bf16, the words."""
    return np.memmap(path, STORAGE[dtype], "r", shape=(math.prod(shape[:-2]), *shape[-2:]))
