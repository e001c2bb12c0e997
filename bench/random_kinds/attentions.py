# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random attentions whose keys only the program knows, or whose heads are large."""

from __future__ import annotations

import numpy as np

from ..program_families.attention import Attention
from ..program_families.program import Program

_DIMENSIONS = (
    ("b m k1", "b k2 k1", "b k2 n"),
    ("m b k1", "k2 b k1", "k2 b n"),
    ("b m k1", "b k1 k2", "b n k2"),
)
"""Orders of the dimensions of Q, K and V."""


def dynamic(random: np.random.Generator, name: str) -> Program:
    """Returns an attention without a mask with a dynamic number of keys, and maybe of rows."""
    # IREE fails to distribute some other numbers of columns ("failed to distribute").
    head, columns = random.choice([8, 16, 24, 32, 40, 64]), random.choice([8, 16, 32, 64])
    sizes = {"b": random.integers(1, 3), "m": random.integers(1, 4), "n": columns, "k1": head}
    keys = {"k2": random.integers(1, 1100)}
    known = {each: int(size) for each, size in (sizes | keys).items()}
    dtype, sizes_asked = (
        ("f16", "bf16", "f32")[random.integers(3)],
        ("k2", "k2", "m k2", "b m k2")[random.integers(4)],
    )
    dims = _DIMENSIONS[random.integers(3)]
    return Attention(name, dtype, known, *dims, dynamic=sizes_asked).program()


def large_head(random: np.random.Generator, name: str) -> Program:
    """Returns an attention of few rows with a head above that of matrix instructions."""
    dtype = ("f32", "f32", "f16", "bf16")[random.integers(4)]
    # Of other heads in f16, such as 552, compiles of stock had not ended after 100 s.
    head = 256 + 4 * int(random.integers(1, 50))
    if dtype != "f32":
        head = 512 + 32 * int(random.integers(1, 6))
    columns = int(random.choice([1, 8, 16, 64, 128]))
    keys = int(random.choice([32, 64, 96, 160, 256, int(random.integers(2, 300))]))
    sizes = {"b": int(random.integers(1, 3)), "m": int(random.integers(1, 4)), "n": columns}
    return Attention(name, dtype, {**sizes, "k1": head, "k2": keys}).program()
