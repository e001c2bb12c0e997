# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A transformer block as JAX has it, exported as StableHLO. This needs the extra `models`."""

# The packages of the extra `models` are no part of a checkout's environment.
# pyright: reportMissingImports=false

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy
import torch

_BATCH, _ROWS, _HEADS, _HEAD, _INNER = 4, 1024, 12, 64, 3072
_WIDTH = _HEADS * _HEAD

SHAPES: dict[str, tuple[int, ...]] = {
    "x": (_BATCH, _ROWS, _WIDTH),
    "qkv": (_WIDTH, 3, _HEADS, _HEAD),
    "out": (_WIDTH, _WIDTH),
    "up": (_WIDTH, _INNER),
    "down": (_INNER, _WIDTH),
}
"""The inputs of `block`, weights included."""


def block(x: Any, qkv: Any, out: Any, up: Any, down: Any) -> Any:
    """Returns what a block makes of `x`: attention and an MLP, each behind a normalization."""
    query, key, value = jnp.einsum("bsd,dchk->cbshk", _normalized(x), qkv)
    # IREE refuses the products of `jax.nn.dot_product_attention`, which name their algorithm.
    scores = jnp.einsum("bqhk,bshk->bhqs", query, key).astype(jnp.float32) / math.sqrt(_HEAD)
    seen = jnp.tril(jnp.ones((_ROWS, _ROWS), bool))
    weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf)).astype(x.dtype)
    mixed = jnp.einsum("bhqs,bshk->bqhk", weights, value)
    x = x + mixed.reshape(x.shape) @ out
    return x + jax.nn.gelu(_normalized(x) @ up) @ down


def exported(tensors: Sequence[Any]) -> tuple[str, Any]:
    """Returns the block as MLIR, and what it makes of PyTorch tensors in float32."""
    dtype = {torch.float16: jnp.float16, torch.bfloat16: jnp.bfloat16}[tensors[0].dtype]
    shapes = [jax.ShapeDtypeStruct(tuple(each.shape), dtype) for each in tensors]
    output = jax.jit(block)(*(each.float().numpy() for each in tensors))
    return jax.jit(block).lower(*shapes).as_text(), torch.from_numpy(numpy.array(output))


def _normalized(x: Any) -> Any:
    wide = x.astype(jnp.float32)
    scale = jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + 1e-6)
    return (wide * scale).astype(x.dtype)
