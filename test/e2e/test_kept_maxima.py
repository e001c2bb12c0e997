# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions that rescale their sums only where a maximum has grown much."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from bankwise.bench.program_families.attention import Attention

from .program_runs import run_again

Array = npt.NDArray[np.float16]
STEP = 64
"""The keys of a step of these attentions."""
KEYS = 4 * STEP


def drawn() -> list[Array]:
    """Returns normal Q, K and V."""
    random = np.random.default_rng(3)
    sizes = ((1, 64, 64), (1, KEYS, 64), (1, KEYS, 64))
    return [random.standard_normal(size).astype(np.float16) for size in sizes]


def growing() -> list[Array]:
    """Returns operands of which each step has larger scores than the one before."""
    q, k, v = drawn()
    k += (np.arange(KEYS) // STEP)[None, :, None].astype(np.float16)
    return [np.abs(q), k, v]


def jumping() -> list[Array]:
    """Returns operands whose first scores are far below zero, and all others near it."""
    q, k, v = drawn()
    q = np.float16(2) + q / np.float16(64)
    k[:, :STEP] = -240
    k[:, STEP:] /= 4
    return [q, k, v]


def equal() -> list[Array]:
    """Returns operands with equal scores in each row, so that stock's probabilities are 1."""
    q, k, v = drawn()
    k[:] = k[:, :1]
    return [q, k, v]


def masked(first: int, row: float = 0) -> list[Array]:
    """Returns operands with a mask that hides the first keys, and adds a number to the last row."""
    mask = np.zeros((1, 64, KEYS), np.float16)
    mask[..., :first] = -np.inf
    mask[:, -1] += np.float16(row)
    return [*drawn(), mask]


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize(
    "inputs",
    [
        growing(),
        jumping(),
        equal(),
        masked(0),
        masked(STEP),
        masked(STEP + 1, -100),
        masked(1, -np.inf),
    ],
    ids=["growing", "jumping", "equal", "shown", "first step hidden", "low row", "row hidden"],
)
def test_errors_are_those_of_stock(arch: str, inputs: list[Array]) -> None:
    sizes = {"b": 1, "m": 64, "n": 64, "k1": 64, "k2": KEYS}
    mask = "b m k2" if len(inputs) > 3 else ""
    program = Attention("", "f16", sizes, mask=mask, mask_dtype="f16").program()
    found, stock = (
        run_again(program, arch, mode, inputs=inputs).run.outputs[0]
        for mode in ("auto/fast", "stock")
    )
    (expected,) = program.expected(inputs)
    assert np.array_equal(np.isnan(found), np.isnan(stock))
    known = np.isfinite(expected)
    errors = [
        np.sqrt(np.mean((each - expected)[known].astype(np.float64) ** 2))
        for each in (found, stock)
    ]
    assert errors[0] <= 1.1 * errors[1]
