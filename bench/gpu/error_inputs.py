# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs of attentions that lead their scores to where rounding differs. This needs NumPy.

They depend on nothing but the kernel's shapes and type and the kind of inputs.
"""

from __future__ import annotations

import numpy as np

from .elements import F64, Elements, rounded
from .kernels import TimedKernel

NORMAL, LARGE, EQUAL, TINY, MASKED = (
    "normal",
    "large",
    "equal",
    "tiny",
    "masked",
)
ERROR_INPUTS = {
    NORMAL: "standard normal numbers",
    LARGE: "queries and keys 10 times as large, so that scores are up to several hundred and one "
    "key has almost all of a row's weight",
    EQUAL: "keys that are equal in each batch, so that all scores of a row are",
    TINY: "scores spread over 80 units in the first row and 104 in the last one, so that weights "
    "reach the subnormal numbers of f16 in all rows, and of f32 in the last ones",
    MASKED: "a mask that hides half of the keys of most rows, all but one of every eighth, and all "
    "of some",
}
"""What the inputs of attentions can be; an attention with a mask gets the last kind alone."""

_LARGE_FACTOR = 10.0
_SPREAD, _MOST_SPREAD = 80.0, 104.0
"""How many units of scores are between the keys of the first and of the last row of `tiny`."""
_STEEP = 16.0
"""What queries of `tiny` have in the dimension that their scores are spread by."""
_SEEN, _LONE, _BLIND = 1 / 2, 1 / 8, 1 / 32
"""The shares of the keys that a row sees, and of rows that see one key and no key."""


def kinds_of(kernel: TimedKernel) -> tuple[str, ...]:
    """Returns the kinds of inputs that an attention gets."""
    has_mask = len(kernel.operands) == 4
    return (MASKED,) if has_mask else (NORMAL, LARGE, EQUAL, TINY)


def made_inputs(kernel: TimedKernel, kind: str, number: int = 0) -> list[Elements]:
    """Returns q, k and v [batch, seq, head_dim], and for `masked` a mask [batch, seq, seq].

    Args:
        kind: a key of `ERROR_INPUTS`.
        number: which inputs of this kind; different numbers give different ones.
    """
    seed = [*kernel.shapes[0], [*ERROR_INPUTS].index(kind)]
    random = np.random.default_rng([*seed, number] if number else seed)
    q, k, v = (random.standard_normal(kernel.shapes[0]) for _ in range(3))
    operands = [q, k, v]
    if kind == LARGE:
        operands = [_LARGE_FACTOR * q, _LARGE_FACTOR * k, v]
    elif kind == EQUAL:
        operands = [q, np.broadcast_to(k[:, :1], k.shape), v]
    elif kind == TINY:
        assert kernel.scale is not None
        _spread(q, k, kernel.scale, random)
    made = [rounded(each, kernel.dtype) for each in operands]
    return [*made, _mask(kernel, random)] if kind == MASKED else made


def _spread(q: F64, k: F64, scale: float, random: np.random.Generator) -> None:
    """Makes the scores of each row fall evenly from 0, beside what the other dimensions add.

    For even rows they do so in a random order of the keys. For odd rows the later of two keys has
    the higher score, so that what was summed before a tile of keys always counts less.
    """
    rows, keys = q.shape[1], k.shape[1]
    falling = np.linspace(0, -_SPREAD / (_STEEP * scale), keys)
    k[..., 0] = random.permutation(falling)
    k[..., 1] = falling[::-1]
    steepness = np.linspace(_STEEP, _STEEP * _MOST_SPREAD / _SPREAD, rows)
    odd = np.arange(rows) % 2 == 1
    q[..., 0] = np.where(odd, 0, steepness)
    q[..., 1] = np.where(odd, steepness, 0)


def _mask(kernel: TimedKernel, random: np.random.Generator) -> Elements:
    """Returns 0 where a row sees a key, and minus infinity where it does not.

    Of a mask of i1 these are true and false.
    """
    shape, dtype = kernel.shapes[3], kernel.types[3]
    batch, rows, keys = shape
    seen = random.random(shape) < _SEEN
    lone = random.random((batch, rows)) < _LONE
    only = random.integers(keys, size=(batch, rows, 1)) == np.arange(keys)
    seen[lone] = only[lone]
    seen[random.random((batch, rows)) < _BLIND] = False
    return seen if dtype == "i1" else rounded(np.where(seen, 0, -np.inf), dtype)
