# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of matmuls and convolutions against float64, over a sample of rows. This needs NumPy."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .array_elements import F64, STORAGE, Elements, values
from .float64 import errors_of
from .record import Errors
from .timed_kernels import CONVOLUTION, MATMUL, TimedKernel

SAMPLED_ROWS = 128
"""How many rows of a matmul, or pixels of a convolution, are compared in all their columns."""
_FILTERS_FIRST = 1
"""The axis of the channels in images and outputs that have them first."""
_SUMS = {"i8": "i32"}
"""The types of sums that are not f32, by those of their factors."""


@dataclass(frozen=True)
class SampledProduct:
    """Some rows of a matmul, or some pixels of a convolution, in float64.

    Attributes:
        shape: the shape of the output.
        dtype: the type of its elements.
        rows: the numbers of the sampled rows, counted over all dimensions but the columns, which
            the filters of a convolution are.
        expected: their values, of shape [rows, columns].
        columns: the axis of the columns in the output.
    """

    shape: tuple[int, ...]
    dtype: str
    rows: list[int]
    expected: F64
    columns: int = -1

    @staticmethod
    def of(kernel: TimedKernel, inputs: Sequence[Path]) -> SampledProduct:
        """Returns the sample of a matmul or a convolution whose inputs are in files.

        Raises:
            ValueError: the kernel is neither.
            OSError: a file cannot be read.
        """
        operands = [
            np.memmap(path, STORAGE[dtype], "r", shape=shape)
            for path, shape, dtype in zip(inputs, kernel.shapes, kernel.types, strict=True)
        ]
        if kernel.function == MATMUL:
            return _of_matmul(kernel, operands)
        if kernel.function == CONVOLUTION:
            return _of_convolution(kernel, operands)
        raise ValueError(f"{kernel.name} is no product")

    def errors(self, output: Path) -> Errors:
        """Returns the errors of the output in a file; infinite where it has NaNs."""
        elements = np.memmap(output, STORAGE[self.dtype], "r", shape=self.shape)
        rows = np.moveaxis(elements, self.columns, -1).reshape(-1, self.expected.shape[-1])
        return errors_of((values(rows[self.rows]) - self.expected).ravel())


def _drawn(rows: int) -> list[int]:
    """Returns the numbers of the sampled rows, in their order."""
    return sorted(random.Random(rows).sample(range(rows), min(rows, SAMPLED_ROWS)))


def _of_matmul(kernel: TimedKernel, operands: Sequence[Elements]) -> SampledProduct:
    """Returns the sample of a matmul, of a batch of them, or of one with bias and residual."""
    left, right, *epilogue = operands
    right = right.swapaxes(-1, -2) if kernel.transposed else right
    shape = (*left.shape[:-1], right.shape[-1])
    rows = _drawn(math.prod(shape[:-1]))
    left, right = left.reshape(-1, *left.shape[-2:]), right.reshape(-1, *right.shape[-2:])
    each = left.shape[1]
    expected = np.empty((len(rows), shape[-1]))
    for batch in sorted({row // each for row in rows}):
        chosen = [number for number, row in enumerate(rows) if row // each == batch]
        factors = left[batch, [rows[number] % each for number in chosen]]
        expected[chosen] = values(factors) @ values(right[batch])
    dtype = kernel.dtype if epilogue else _SUMS.get(kernel.dtype, "f32")
    if epilogue:
        bias, residual = epilogue
        expected += values(bias) + values(residual[rows])
    return SampledProduct(shape, dtype, rows, expected)


def _of_convolution(kernel: TimedKernel, operands: Sequence[Elements]) -> SampledProduct:
    """Returns the sample of a convolution over one or two dimensions, rounded to its type."""
    image, window = operands
    if not kernel.channels_last:
        image = np.moveaxis(image, _FILTERS_FIRST, -1)
        window = np.moveaxis(window, (0, 1), (-1, -2))
    reach, filters = window.shape[:-2], window.shape[-1]
    extents = [
        (size - length) // kernel.stride + 1
        for size, length in zip(image.shape[1:-1], reach, strict=True)
    ]
    pixels = (image.shape[0], *extents)
    rows = _drawn(math.prod(pixels))
    patches: list[Elements] = []
    for row in rows:
        number, *place = (int(each) for each in np.unravel_index(row, pixels))
        starts = (kernel.stride * each for each in place)
        part = (slice(s, s + length) for s, length in zip(starts, reach, strict=True))
        patches.append(image[(number, *part)].ravel())
    expected = values(np.stack(patches)) @ values(window.reshape(-1, filters))
    if kernel.channels_last:
        return SampledProduct((*pixels, filters), kernel.dtype, rows, expected)
    shape = (pixels[0], filters, *extents)
    return SampledProduct(shape, kernel.dtype, rows, expected, columns=_FILTERS_FIRST)
