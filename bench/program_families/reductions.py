# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalizations, reductions, scans, and programs that only move or compare values, as linalg.

Each has its MLIR in `sources/`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..reference_attention import softmax
from .program import TOLERANCE, Array, Input, Program, Reference, file_source, integers, normal


def layernorm(x: Array, epsilon: float = 1e-5) -> Array:
    """Returns each row of the last axis without its mean, over its standard deviation."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + epsilon)


def rmsnorm(x: Array, gain: Array, epsilon: float = 1e-5) -> Array:
    """Returns each row of the last axis over its root mean square, times `gain`."""
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + epsilon) * gain


def _program(name: str, inputs: Sequence[Input], reference: Reference, precision: str) -> Program:
    return Program(name, file_source(name), tuple(inputs), reference, TOLERANCE[precision])


def _argmax(x: Array) -> Sequence[Array]:
    return [x.max(axis=1), x.argmax(axis=1)]


def programs() -> list[Program]:
    """Returns all of them."""
    return [
        _program("softmax_f32", [normal("f32", 16, 1024)], softmax, "f32"),
        _program("softmax_f16_odd", [normal("f16", 12, 321)], softmax, "f16 sums"),
        _program("layernorm_f32", [normal("f32", 16, 768), normal("f32", 768), normal("f32", 768)],
                 lambda x, gain, bias: layernorm(x) * gain + bias, "f32"),
        _program("rmsnorm_f16", [normal("f16", 16, 512), normal("f16", 512)], rmsnorm, "f16"),
        _program("reduce_sum_rows_f32", [normal("f32", 64, 1000)], lambda x: x.sum(axis=1), "f32"),
        _program("reduce_sum_columns_f32", [normal("f32", 512, 96)], lambda x: x.sum(axis=0),
                 "f32"),
        _program("reduce_max_f16", [normal("f16", 32, 512)], lambda x: x.max(axis=1), "exact"),
        _program("reduce_two_axes_f32", [normal("f32", 8, 24, 40)],
                 lambda x: x.sum(axis=(0, 2)), "f32"),
        _program("reduce_sum_i32", [integers("i32", 16, 700, low=-1000, high=1000)],
                 lambda x: x.sum(axis=1), "exact"),
        _program("argmax_f32", [normal("f32", 16, 512)], _argmax, "exact"),
        _program("cumsum_f32", [normal("f32", 16, 64)], lambda x: x.cumsum(axis=1), "f32"),
        _program("transpose_f16", [normal("f16", 128, 192)], lambda x: x.T, "exact"),
        _program("transpose_f32_batched", [normal("f32", 3, 33, 65)],
                 lambda x: x.transpose(0, 2, 1), "exact"),
        _program("sort_i32", [integers("i32", 4, 48, low=-500, high=500)],
                 lambda x: np.sort(x, axis=1), "exact"),
        _program("gather_f32", [normal("f32", 100, 48), integers("i32", 64, low=0, high=100)],
                 lambda table, places: table[places], "exact"),
    ]  # fmt: skip
