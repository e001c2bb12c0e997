# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an attention is, in float64: the reference of all benchmarks. It needs NumPy alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]


def softmax(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns exp(x) over its sum along the last axis; NaN where that is all minus infinity."""
    with np.errstate(invalid="ignore"):
        weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def added_scores(mask: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns what a mask adds to scores: minus infinity where one of booleans is false."""
    return np.where(mask, 0.0, -np.inf) if mask.dtype == np.bool_ else mask


def attention(q: F64, k: F64, v: F64, scale: float, mask: npt.NDArray[Any] | None = None) -> F64:
    """Returns softmax(q k^T scale + mask) v.

    Args:
        q: [..., rows, head_dim].
        k, v: [..., keys, head_dim].
        mask: [..., rows, keys], added to the scores, or booleans that say which keys a row sees.
            A row whose keys it all hides becomes NaN.
    """
    scores = q @ k.swapaxes(-1, -2) * scale
    return softmax(scores if mask is None else scores + added_scores(mask)) @ v


def attention_rows(
    operands: Sequence[npt.NDArray[Any]], part: npt.NDArray[np.bool_], scale: float
) -> F64:
    """Returns the elements of an attention that `part` marks, in float64.

    Args:
        operands: q, k, v and perhaps a mask, as `attention` takes them; their leading dimensions
            broadcast to those of `part`.
        part: [..., rows, columns]; only its rows are computed.
    """
    found: list[F64] = []
    lead = part.shape[:-2]
    for batch in np.argwhere(part.any(axis=(-1, -2))):
        place = tuple(batch)
        q, k, v, *mask = (np.broadcast_to(x, (*lead, *x.shape[-2:]))[place] for x in operands)
        rows = np.flatnonzero(part[place].any(axis=1))
        q, k, v = (each.astype(np.float64) for each in (q[rows], k, v))
        computed = attention(q, k, v, scale, mask[0][rows] if mask else None)
        found.append(computed[part[place][rows]])
    return np.concatenate(found)
