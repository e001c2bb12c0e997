# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Transposing bytes by `v_perm_b32`."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.tuning.contractions.byte_transposes import transposed


def permuted(high: int, low: int, selector: int) -> int:
    """Returns what `v_perm_b32` makes of two words, for bytes of the selector from 0 to 7."""
    both = (high << 32) | low
    picked = [both >> 8 * (selector >> 8 * byte & 7) & 0xFF for byte in range(4)]
    return sum(value << 8 * byte for byte, value in enumerate(picked))


def test_a_selector_picks_bytes_of_both_words() -> None:
    assert permuted(0x77665544, 0x33221100, 0x07040300) == 0x77443300


@pytest.mark.parametrize("rows", [4, 8, 16])
@pytest.mark.parametrize("columns", [2, 4, 8, 16])
def test_bytes_are_transposed_with_two_instructions_a_word(rows: int, columns: int) -> None:
    matrix = np.random.default_rng(1).integers(0, 256, (rows, columns), np.uint8)
    # What lies behind two bytes is not read.
    padded = np.full((rows, max(columns, 4)), 0xEE, np.uint8)
    padded[:, :columns] = matrix
    calls = 0

    def permute(high: int, low: int, selector: int) -> int:
        nonlocal calls
        calls += 1
        return permuted(high, low, selector)

    words = [list(map(int, row)) for row in padded.view("<u4")]
    found = np.array(transposed(words, columns, permute), "<u4").view(np.uint8)
    np.testing.assert_array_equal(found, matrix.T)
    assert calls == 2 * rows * columns // 4
