# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands of matrix instructions and `ldmatrix` as access patterns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bankwise
from bankwise.bank_model.matrix_operands import matrix_instructions
from bankwise.bank_model.targets import known_targets, target


def accesses(arch: str, tile: str, pattern: str, threads: int | None = None):
    found = bankwise.count(arch, tile, read=pattern, threads=threads)
    return found.question.flat


def test_an_operand_is_read_block_after_block() -> None:
    found = accesses("gfx942", "32x32xf16", "mfma_f32_16x16x16_f16:A")
    assert [access.count for access in found] == [4] * 4
    # Lane 17 has row 1 and k 4 to 7 of each block, blocks along the rows first.
    first = 32 + 4
    places = [access.elements[0, 17] - first for access in found]
    assert places == [0, 16, 16 * 32, 16 * 32 + 16]
    # Four waves read the four blocks at once.
    (access,) = accesses("gfx942", "32x32xf16", "mfma_f32_16x16x16_f16:A", 256)
    assert access.elements[:, 17].tolist() == [first + place for place in places]


def test_a_transposed_tile_has_single_elements() -> None:
    found = accesses("gfx942", "16x16xf16", "mfma_f32_16x16x16_f16:AT")
    assert [access.count for access in found] == [1] * 4
    assert [access.elements[0, 17] for access in found] == [k * 16 + 1 for k in range(4, 8)]
    # The rows of D are neighbours in a tile that holds it transposed.
    assert [a.count for a in accesses("gfx942", "16x16xf32", "mfma_f32_16x16x16_f16:C")] == [1] * 4
    assert [a.count for a in accesses("gfx942", "16x16xf32", "mfma_f32_16x16x16_f16:CT")] == [4]


def test_registers_of_mma_are_accesses() -> None:
    found = accesses("sm_80", "16x16xf16", "mma.m16n8k16:A")
    assert [access.count for access in found] == [2] * 4
    assert [access.elements[0, 5] for access in found] == [18, 9 * 16 + 2, 26, 9 * 16 + 10]
    assert [access.count for access in accesses("sm_80", "16x8xf16", "mma.m16n8k16:B")] == [1] * 4
    assert [access.count for access in accesses("sm_80", "8x16xf16", "mma.m16n8k16:BT")] == [2] * 2
    assert [access.count for access in accesses("sm_80", "16x8xf32", "mma.m16n8k16:C")] == [2] * 2


def test_names_are_the_isas_or_irees() -> None:
    names = ("v_mfma_f32_16x16x16_f16:A", "MFMA_F32_16x16x16_F16:a", "mfma_f32_16x16x16_f16 : A")
    for name in names:
        (access,) = accesses("gfx942", "16x16xf16", name)
        assert access.count == 4


@pytest.mark.parametrize(
    ("name", "count", "lanes", "last"),
    [
        ("ldmatrix", 1, 32, 15 * 16 + 8),
        ("ldmatrix.x4.trans", 1, 32, 15 * 16 + 8),
        ("ldmatrix.x2", 2, 16, 7 * 16 + 8),
        ("ldmatrix.x1", 4, 8, 7 * 16),
    ],
)
def test_matrices_of_ldmatrix(name: str, count: int, lanes: int, last: int) -> None:
    found = accesses("sm_80", "16x16xf16", name)
    assert len(found) == count
    first = found[0]
    active = np.ones((1, 32), bool) if first.active is None else first.active
    assert active.sum() == lanes
    assert (first.count, first.instruction, first.alignment) == (8, "ldmatrix", 8)
    assert first.elements[active].max() == last
    rows = {e + k for a in found for e in a.elements[active].tolist() for k in range(8)}
    assert rows == set(range(256))


@pytest.mark.parametrize(
    ("arch", "tile", "pattern", "reason"),
    [
        ("gfx942", "16x16xf16", "mfma_f32_16x16x16_f16", "write which operand the tile is"),
        ("gfx942", "16x16xf16", "mfma_f32_16x16x16_f16:D", "write which operand the tile is"),
        ("gfx942", "16x16xf16", "mfma_f32_16x16x16_f16:AX", "write which operand the tile is"),
        ("gfx942", "16x16xf16", "mfma_f32_16x16x16_f16:A:B", "write which operand the tile is"),
        ("gfx942", "16x16xf32", "mfma_f32_16x16x16_f16:A", "of its A have 16 bits, and those"),
        ("gfx942", "16x24xf16", "mfma_f32_16x16x16_f16:A", "is not made of the 16 x 16 elements"),
        ("gfx942", "16x16xf16", "mfma_f32_16x16x32_f16:A", "no such matrix instruction"),
        ("gfx942", "16x16xf16", "mfma_f32_4x4x4_16b_f16:A", "of one block"),
        ("sm_80", "16x16xf64", "mma.m16n8k16:A", "have 16 or 8 bits"),
        ("sm_80", "16x16xf16", "ldmatrix.x3", "write 'ldmatrix'"),
        ("sm_80", "16x16xf16", "ldmatrix:A", "write 'ldmatrix'"),
        ("sm_80", "12x16xf16", "ldmatrix", "is not made of the 16 x 16 elements of ldmatrix"),
        ("sm_80", "16x16xf6", "ldmatrix", "no whole elements of 6 bits"),
        ("gfx942", "16x16xf16", "ldmatrix", "gfx942 has no ldmatrix"),
    ],
)
def test_errors(arch: str, tile: str, pattern: str, reason: str) -> None:
    with pytest.raises(bankwise.TileArgumentError, match=f"^read: '{pattern}': .*{reason}"):
        bankwise.count(arch, tile, read=pattern)


def test_ldmatrix_does_not_write() -> None:
    with pytest.raises(bankwise.TileArgumentError, match=r"^write: 'ldmatrix': ldmatrix reads"):
        bankwise.count("sm_80", "16x16xf16", write="ldmatrix")


EVERY = [
    (arch, name, letter, bits)
    for arch in known_targets()
    for name, instruction in matrix_instructions(target(arch)).items()
    for letter in ("A", "AT", "B", "BT", "C", "CT")
    for bits in instruction.source_bits
    if bits >= 8
]


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(EVERY), st.sampled_from((1, 2)), st.sampled_from((1, 2, 4)))
def test_every_operand_covers_the_tile_once(
    case: tuple[str, str, str, int], down: int, across: int
) -> None:
    arch, name, letter, bits = case
    operand = matrix_instructions(target(arch))[name].operand(letter[0], bits)
    rows, columns = operand.transposed.shape if letter.endswith("T") else operand.shape
    tile = f"{rows * down}x{columns * across}xi{bits}"
    touched = [
        element + step
        for access in accesses(arch, tile, f"{name}:{letter}")
        for element in access.elements.ravel().tolist()
        for step in range(access.count)
    ]
    assert sorted(touched) == list(range(rows * down * columns * across))
