# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands of matrix instructions, held against the tables of the ISAs."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.bank_model.errors import InvalidParameterError
from bankwise.bank_model.lds_tables import known_targets
from bankwise.bank_model.matrix_operands import MatrixOperand, matrix_instructions


def operand(arch: str, name: str, letter: str, bits: int) -> MatrixOperand:
    return matrix_instructions(arch)[name].operand(letter, bits)


def held(found: MatrixOperand, lane: int) -> list[tuple[int, int]]:
    """Returns the (row, column) of each element of a lane."""
    return list(zip(found.rows[:, lane].tolist(), found.columns[:, lane].tolist(), strict=True))


EVERY = [
    (arch, name, letter, bits)
    for arch in known_targets()
    for name, instruction in matrix_instructions(arch).items()
    for letter in "ABC"
    for bits in instruction.source_bits
]


@pytest.mark.sampled
@pytest.mark.parametrize(("arch", "name", "letter", "bits"), EVERY)
def test_every_element_is_held_once(arch: str, name: str, letter: str, bits: int) -> None:
    found = operand(arch, name, letter, bits)
    places = found.rows * found.shape[1] + found.columns
    assert found.rows.shape == found.columns.shape
    assert sorted(places.ravel().tolist()) == list(range(found.shape[0] * found.shape[1]))
    flipped = found.transposed
    assert flipped.shape == found.shape[::-1]
    assert np.array_equal(flipped.rows, found.columns)


@pytest.mark.parametrize(
    ("name", "letter", "bits", "lane", "elements"),
    [
        # AMD's matrix instruction calculator, --register-layout, for CDNA3.
        ("mfma_f32_32x32x8_f16", "A", 16, 37, [(5, 4), (5, 5), (5, 6), (5, 7)]),
        ("mfma_f32_32x32x8_f16", "B", 16, 37, [(4, 5), (5, 5), (6, 5), (7, 5)]),
        ("mfma_f32_16x16x16_f16", "A", 16, 17, [(1, 4), (1, 5), (1, 6), (1, 7)]),
        ("mfma_f32_16x16x16_f16", "C", 32, 17, [(4, 1), (5, 1), (6, 1), (7, 1)]),
        ("mfma_f32_16x16x4_f32", "A", 32, 50, [(2, 3)]),
        ("mfma_f64_16x16x4_f64", "C", 64, 17, [(1, 1), (5, 1), (9, 1), (13, 1)]),
    ],
)
def test_amd_tables(
    name: str, letter: str, bits: int, lane: int, elements: list[tuple[int, int]]
) -> None:
    assert held(operand("gfx942", name, letter, bits), lane) == elements


def test_results_of_32_rows_come_in_groups_of_four() -> None:
    rows = operand("gfx942", "mfma_f32_32x32x8_f16", "C", 32).rows[:, 35]
    assert rows.tolist() == [4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31]


def test_eight_bits_of_f8f6f4_are_two_runs() -> None:
    """AMD, "Matrix Core Programming on CDNA3 and CDNA4"."""
    wide = operand("gfx950", "mfma_f32_16x16x128_f8f6f4", "A", 8)
    assert wide.columns[:, 17].tolist() == [*range(16, 32), *range(80, 96)]
    narrow = operand("gfx950", "mfma_f32_16x16x128_f8f6f4", "A", 4)
    assert narrow.columns[:, 17].tolist() == [*range(32, 64)]


@pytest.mark.parametrize(
    ("name", "letter", "bits", "lane", "elements"),
    [
        # PTX ISA, figures of "Matrix Fragments for mma.m16n8k16 with floating point type" etc.
        (
            *("mma.m16n8k16", "A", 16, 5),
            [(1, 2), (1, 3), (9, 2), (9, 3), (1, 10), (1, 11), (9, 10), (9, 11)],
        ),
        ("mma.m16n8k16", "B", 16, 5, [(2, 1), (3, 1), (10, 1), (11, 1)]),
        ("mma.m16n8k16", "C", 32, 5, [(1, 2), (1, 3), (9, 2), (9, 3)]),
        ("mma.m16n8k8", "A", 32, 31, [(7, 3), (15, 3), (7, 7), (15, 7)]),
        ("mma.m16n8k8", "B", 32, 31, [(3, 7), (7, 7)]),
        ("mma.m8n8k4", "A", 64, 9, [(2, 1)]),
        ("mma.m8n8k4", "B", 64, 9, [(1, 2)]),
        ("mma.m8n8k4", "C", 64, 9, [(2, 2), (2, 3)]),
        (
            "mma.m16n8k32",
            "B",
            8,
            6,
            [(8, 1), (9, 1), (10, 1), (11, 1), *((24 + j, 1) for j in range(4))],
        ),
    ],
)
def test_ptx_figures(
    name: str, letter: str, bits: int, lane: int, elements: list[tuple[int, int]]
) -> None:
    assert held(operand("sm_80", name, letter, bits), lane) == elements


def test_chips_have_their_own_instructions() -> None:
    assert "mfma_i32_16x16x16_i8" in matrix_instructions("gfx90a")
    assert "mfma_f32_16x16x32_fp8_fp8" not in matrix_instructions("gfx90a")
    assert "mfma_f32_16x16x32_f16" not in matrix_instructions("gfx942")
    assert "mfma_f32_16x16x32_f16" in matrix_instructions("gfx950")
    assert matrix_instructions("sm_80")["mma.m16n8k16"].source_bits == (16, 8)
    assert matrix_instructions("sm_90")["mma.m16n8k16"].source_bits == (64, 16, 8)


def test_other_operands_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="operand is D; allowed: A, B, C"):
        operand("gfx942", "mfma_f32_16x16x16_f16", "D", 16)
    with pytest.raises(InvalidParameterError, match="mfma_f32_16x16x16_f16's A is 8; allowed: 16"):
        operand("gfx942", "mfma_f32_16x16x16_f16", "A", 8)
