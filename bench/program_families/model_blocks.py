# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks of whole models in the dialects that frameworks export: ONNX, StableHLO, TOSA.

Each has its MLIR in `sources/`; the first part of its name says in which dialect.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..reference_attention import attention, softmax
from .matmuls import gelu
from .program import TOLERANCE, Array, Input, Program, Reference, file_source, integers, normal
from .reductions import layernorm


def _model(name: str, inputs: Sequence[Input], reference: Reference, precision: str) -> Program:
    dialect = name.partition("_")[0]
    flags = (f"--iree-input-type={dialect}",)
    return Program(name, file_source(name), tuple(inputs), reference, TOLERANCE[precision], flags)


def _weights(element_type: str, rows: int, columns: int) -> Input:
    """Returns a matrix whose products with a normal vector are normal again."""
    return normal(element_type, rows, columns, scale=rows**-0.5)


def sigmoid(x: Array) -> Array:
    """Returns 1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def onnx_mlp(x: Array, w1: Array, b1: Array, w2: Array) -> Array:
    """Returns what `onnx_mlp.mlir` computes."""
    b2 = np.array([0.5, -1.0, 0.25, 2.0, 0.0, 1.0, -0.5, 3.0])
    return softmax(np.maximum(x @ w1.T + b1, 0) @ w2.T + b2)


def onnx_transformer_block(x: Array, *weights: Array) -> Array:
    """Returns what `onnx_transformer_block.mlir` computes."""
    wq, wk, wv, wo, w1, w2 = weights

    def heads(of: Array) -> Array:
        return of.reshape(1, 32, 2, 32).transpose(0, 2, 1, 3)

    n = layernorm(x) * 1.5 + 0.125
    q, k, v = (heads(n @ w) for w in (wq, wk, wv))
    y = x + attention(q, k, v, 32**-0.5).transpose(0, 2, 1, 3).reshape(1, 32, 64) @ wo
    return y + gelu((layernorm(y) * 1.5 + 0.125) @ w1) @ w2


def _same_convolution(x: Array, w: Array) -> Array:
    """Returns a 3x3 convolution, n c h w by f c y x, of an image with a margin of zeros."""
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return np.einsum("nchwyx,fcyx->nfhw", windows, w, optimize=True)


def onnx_resnet_block(x: Array, w1: Array, w2: Array, *norm: Array) -> Sequence[Array]:
    """Returns what `onnx_resnet_block.mlir` computes."""
    gain, bias, mean, variance = (each[:, None, None] for each in norm)

    def normalized(of: Array) -> Array:
        return (of - mean) / np.sqrt(variance + 1e-5) * gain + bias

    inner = np.maximum(normalized(_same_convolution(x, w1)), 0)
    out = np.maximum(x + normalized(_same_convolution(inner, w2)), 0)
    return [out.mean(axis=(2, 3), keepdims=True), out]


def lstm_cell(gates: Array, c: Array) -> Sequence[Array]:
    """Returns the new hidden state and cell from the four gates, i, f, g, o, side by side."""
    i, f, g, o = np.split(gates, 4, axis=1)
    cell = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return [sigmoid(o) * np.tanh(cell), cell]


def onnx_embedding_layernorm(
    tokens: Array, table: Array, places: Array, head: Array
) -> list[Array]:
    """Returns what `onnx_embedding_layernorm.mlir` computes."""
    n = layernorm(table[tokens] + places) * 2 - 0.5
    return [n, np.argmax(n @ head, axis=-1)]


def onnx_pool_classifier(x: Array, w: Array, b: Array) -> Array:
    """Returns what `onnx_pool_classifier.mlir` computes."""
    pooled = x.reshape(2, 16, 4, 2, 4, 2).max(axis=(3, 5)).reshape(2, 256)
    return np.log(softmax(pooled @ w.T + b))


def stablehlo_mlp(x: Array, w1: Array, b1: Array, w2: Array) -> Array:
    """Returns what `stablehlo_mlp.mlir` computes."""
    h = x @ w1 + b1
    return h * (np.tanh((h + 0.044715 * h**3) * np.sqrt(2 / np.pi)) + 1) / 2 @ w2


def stablehlo_attention_block(q: Array, k: Array, v: Array) -> Array:
    """Returns what `stablehlo_attention_block.mlir` computes."""
    q, k, v = (each.transpose(0, 2, 1, 3) for each in (q, k, v))
    return attention(q, k, v, 32**-0.5)


def stablehlo_layernorm_mlp(x: Array, gain: Array, w: Array) -> Array:
    """Returns what `stablehlo_layernorm_mlp.mlir` computes."""
    return np.maximum(layernorm(x) * gain @ w, 0) + x


def stablehlo_resnet_block(x: Array, w: Array) -> Array:
    """Returns what `stablehlo_resnet_block.mlir` computes."""
    convolved = _same_convolution(x.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1))
    return np.maximum(convolved, 0).transpose(0, 2, 3, 1) + x


def _sorted_rows(x: Array) -> Sequence[Array]:
    places = np.argsort(x, axis=1, kind="stable")
    return [np.take_along_axis(x, places, axis=1), places]


def _scatter_add(table: Array, places: Array, rows: Array) -> Array:
    result = table.copy()
    result[places[:, 0]] += rows
    return result


def _distinct_places(random: np.random.Generator) -> Array:
    return random.permutation(64)[:16, None].astype(np.int32)


def tosa_resnet_block(x: Array, w: Array, b: Array) -> Array:
    """Returns what `tosa_resnet_block.mlir` computes."""
    convolved = _same_convolution(x.transpose(0, 3, 1, 2), w.transpose(0, 3, 1, 2))
    summed = np.clip(convolved.transpose(0, 2, 3, 1) + b, 0, 6) + x
    return summed.reshape(1, 8, 2, 8, 2, 32).max(axis=(2, 4))


def programs() -> list[Program]:
    """Returns all blocks."""
    return [*_onnx(), *_stablehlo(), *_tosa()]


def _onnx() -> list[Program]:
    square = [_weights("f32", 64, 64)] * 4
    filters = normal("f32", 16, 16, 3, 3, scale=1 / 12)
    state = normal("f32", 4, 64)
    return [
        _model("onnx_mlp", [normal("f32", 32, 128), normal("f32", 256, 128, scale=0.1),
                            normal("f32", 256), normal("f32", 8, 256, scale=0.1)],
               onnx_mlp, "f32"),
        _model("onnx_transformer_block",
               [normal("f32", 1, 32, 64), *square, _weights("f32", 64, 128),
                _weights("f32", 128, 64)], onnx_transformer_block, "f32"),
        _model("onnx_resnet_block",
               [normal("f32", 1, 16, 14, 14), filters, filters, *[normal("f32", 16)] * 3,
                lambda random: random.uniform(0.5, 2, 16).astype(np.float32)],
               onnx_resnet_block, "f32"),
        _model("onnx_lstm_cell", [normal("f32", 4, 32), state, state, _weights("f32", 32, 256),
                                  _weights("f32", 64, 256), normal("f32", 256)],
               lambda x, h, c, wx, wh, bias: lstm_cell(x @ wx + h @ wh + bias, c), "f32"),
        _model("onnx_embedding_layernorm",
               [integers("i64", 2, 16, low=0, high=100), normal("f32", 100, 64),
                normal("f32", 16, 64), normal("f32", 64, 10)], onnx_embedding_layernorm, "f32"),
        _model("onnx_pool_classifier",
               [normal("f32", 2, 16, 8, 8), normal("f32", 10, 256, scale=0.1), normal("f32", 10)],
               onnx_pool_classifier, "f32"),
    ]  # fmt: skip


def _stablehlo() -> list[Program]:
    heads = [normal("f32", 2, 64, 4, 32)] * 3
    return [
        _model("stablehlo_mlp", [normal("f16", 64, 128), _weights("f16", 128, 256),
                                 normal("f32", 256), _weights("f16", 256, 64)],
               stablehlo_mlp, "f16"),
        _model("stablehlo_attention_block", heads, stablehlo_attention_block, "f32"),
        _model("stablehlo_layernorm_mlp",
               [normal("f32", 64, 128), normal("f32", 128), _weights("f32", 128, 128)],
               stablehlo_layernorm_mlp, "f32"),
        _model("stablehlo_resnet_block",
               [normal("bf16", 1, 16, 16, 32), normal("bf16", 3, 3, 32, 32, scale=1 / 17)],
               stablehlo_resnet_block, "bf16"),
        _model("stablehlo_lstm_cell",
               [normal("f16", 16, 64), normal("f32", 16, 32), _weights("f16", 64, 128)],
               lambda x, c, w: lstm_cell(x @ w, c), "f32"),
        _model("stablehlo_sort", [normal("f32", 8, 64)], _sorted_rows, "exact"),
        _model("stablehlo_scatter_add",
               [normal("f32", 64, 32), _distinct_places, normal("f32", 16, 32)],
               _scatter_add, "f32"),
        _model("stablehlo_gather",
               [normal("f16", 256, 64), integers("i32", 4, 32, 1, low=0, high=256)],
               lambda table, places: table[places[..., 0]], "exact"),
        _model("stablehlo_fft", [normal("f32", 8, 64)], lambda x: np.abs(np.fft.rfft(x)), "f32"),
    ]  # fmt: skip


def _tosa() -> list[Program]:
    return [
        _model("tosa_mlp", [normal("f16", 2, 32, 64), normal("f16", 2, 64, 96, scale=1 / 8),
                            normal("f16", 2, 96, 32, scale=0.1)],
               lambda x, w1, w2: sigmoid(x @ w1) @ w2, "f16"),
        _model("tosa_resnet_block", [normal("f32", 1, 16, 16, 32),
                                     normal("f32", 32, 3, 3, 32, scale=1 / 17),
                                     normal("f32", 32)], tosa_resnet_block, "f32"),
        _model("tosa_quantized_matmul", [integers("i8", 1, 64, 128, low=-128, high=128),
                                         integers("i8", 1, 128, 64, low=-128, high=128)],
               lambda x, w: (x - 3) @ (w + 5), "exact"),
        _model("tosa_layernorm", [normal("f32", 32, 128)], layernorm, "f32"),
    ]  # fmt: skip
