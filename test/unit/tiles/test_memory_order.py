# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vectors follow memory: a tile and its transpose, with transposed accesses, count alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import bankwise
from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.layouts import Layout
from bankwise.bank_model.linear_swizzle import FieldStep
from bankwise.bank_model.slow_count import count_slowly
from bankwise.bank_model.strided_layout import Mode, StridedLayout
from bankwise.tiles.memory_order import MemoryOrder

COLUMNS = "(64,64):(1,64)"
EIGHT = "(lane%8*8 + reg, lane//8 + 8*k) for k in range(8) for reg in range(8)"


def figures(found: Any) -> list[tuple[object, ...]]:
    return [
        (each.instructions, each.conflict_cycles, each.cycles, each.is_split)
        for each in found.accesses
    ] + [(found.cycles, found.instructions, found.lds_bytes)]


@pytest.mark.parametrize(
    "layout",
    [
        COLUMNS,
        "((8,8),64):((1,8),64)",
        "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0, 1]}>",
        "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>",
    ],
)
@pytest.mark.parametrize("write", [EIGHT, f"{EIGHT} : 128", "rows.T:128"])
def test_eight_halves_of_a_column_are_one_store(layout: str, write: str) -> None:
    found = bankwise.count("gfx942", "64x64xf16", write=write, layout=layout)
    assert found.accesses[0].instructions == (("ds_write_b128", 8),)
    assert found.conflict_cycles == 0
    # Of a row they are eight.
    rows = bankwise.count("gfx942", "64x64xf16", write="rows:128", layout=layout)
    assert rows.accesses[0].instructions == (("ds_write_b16", 64),)


def test_steps_are_joined_in_whatever_order_they_come() -> None:
    for loops in ("for c in range(8) for r in range(8)", "for r in range(8) for c in range(8)"):
        blocks = f"(lane//8*8 + r, lane%8*8 + c) {loops}"
        for layout in ("plain", COLUMNS):
            found = bankwise.count("gfx942", "64x64xf16", read=blocks, layout=layout)
            assert found.accesses[0].instructions == (("ds_read_b128", 8),)


@pytest.mark.parametrize("name", ["ldmatrix", "ldmatrix.trans", "ldmatrix.x2", "ldmatrix.x1"])
def test_matrices_lie_along_memory(name: str) -> None:
    rows = bankwise.count("sm_80", "64x32xf16", read=name)
    columns = bankwise.count("sm_80", "32x64xf16", read=name, layout="(32,64):(1,32)")
    assert figures(rows) == figures(columns)
    reason = "read: 'ldmatrix': in this layout what ldmatrix takes at once lies side by side neith"
    with pytest.raises(bankwise.TileArgumentError, match=reason):
        bankwise.count("sm_80", "32x64xf16", read="ldmatrix", layout="(32,(4,16)):(4,(1,128))")


def test_numbers_follow_the_strides() -> None:
    layout = StridedLayout(((Mode(2, 2), Mode(2, 16)), (Mode(2, 1), Mode(2, 8))))
    order = MemoryOrder.of(layout, LdsTile((4, 4), 16))
    assert order is not None
    assert order.tile.shape == (4, 4)
    assert order.numbers.tolist() == [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]
    assert str(order.layout) == "padded by 4 elements"
    assert (
        MemoryOrder.of(StridedLayout(((Mode(4, 8),), (Mode(4, 2),))), LdsTile((4, 4), 16)) is None
    )


def test_pictures_name_the_elements_of_the_program() -> None:
    found = bankwise.count("sm_80", "16x64xf16", write="rows.T:128", layout="(16,64):(1,16)")
    lanes = str(found.picture("lanes"))
    assert lanes.splitlines()[2].split()[:9] == ["0", *["0"] * 4, *["1"] * 4]
    # A word holds two halves of a column.
    assert "row 6, column 0 and row 7, column 0; lane 0" in found.picture("lanes").svgs[0]


@st.composite
def strided_layouts(draw: st.DrawFn, shape: tuple[int, ...], bits: int) -> StridedLayout:
    """Returns strides in any order of the digits, with gaps and a swizzle."""
    dimensions: list[list[int]] = []
    for size in shape:
        sizes: list[int] = []
        while size > 1:
            factor = draw(st.sampled_from([f for f in range(2, size + 1) if size % f == 0]))
            sizes.append(factor)
            size //= factor
        dimensions.append(sizes or [1])
    digits = [(d, m) for d, sizes in enumerate(dimensions) for m in range(len(sizes))]
    strides: dict[tuple[int, int], int] = {}
    stride = 1
    for d, m in draw(st.permutations(digits)):
        strides[d, m] = stride
        stride = stride * dimensions[d][m] + draw(st.sampled_from((0, 0, 0, 2, 8)))
    step = None
    if draw(st.booleans()):
        target, width = draw(st.integers(0, 4)), draw(st.integers(1, 3))
        step = FieldStep(target, width, draw(st.integers(target + width, 8)))
    modes = tuple(
        tuple(Mode(size, strides[d, m]) for m, size in enumerate(sizes))
        for d, sizes in enumerate(dimensions)
    )
    layout = StridedLayout(modes, step)
    tile = LdsTile(shape, bits)
    assume(layout.is_injective(tile) and layout.size_bytes(tile) <= 65536)
    return layout


@st.composite
def formulas(draw: st.DrawFn, shape: tuple[int, ...], lanes: int) -> tuple[str, str]:
    """Returns a formula that gives each bit of row and column to a bit of lane or register."""
    rows, columns = (size.bit_length() - 1 for size in shape)
    named = [f"(lane>>{bit}&1)" for bit in range(lanes.bit_length() - 1)]
    named += [f"(reg>>{bit}&1)" for bit in range(rows + columns - len(named))]
    shuffled = draw(st.permutations(named))
    parts = shuffled[:rows], shuffled[rows:]
    row, column = (
        " + ".join(f"{bit}*{1 << place}" for place, bit in enumerate(bits)) for bits in parts
    )
    return f"({row}, {column})", f"({column}, {row})"


NAMED = (
    *((f"{name}{bits}", f"{name}.T{bits}") for name in ("rows", "columns") for bits in ("", ":64")),
    ("blocked:8x8:32", "blocked.T:8x8:32"),
    ("blocked.T:4x16", "blocked:4x16"),
)
OPERANDS = {
    "gfx942": ("mfma_f32_16x16x16_f16", 16),
    "gfx950": ("mfma_f32_32x32x16_bf16", 16),
    "sm_80": ("mma.m16n8k16", 16),
    "sm_90": ("mma.m16n8k8", 32),
}


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_a_tile_and_its_transpose_count_alike(data: st.DataObject) -> None:
    arch = data.draw(st.sampled_from(tuple(OPERANDS)))
    shape = data.draw(st.tuples(*[st.sampled_from((16, 32))] * 2))
    bits = data.draw(st.sampled_from((8, 16, 32)))
    chip = next(each for each in bankwise.targets() if each.arch == arch)
    pairs = [data.draw(formulas(shape, chip.wave_size))]
    if arch.startswith("gfx"):
        pairs += [data.draw(st.sampled_from(NAMED))]
    else:
        pairs += [("ldmatrix", "ldmatrix")]
    name, operand_bits = OPERANDS[arch]
    if bits == operand_bits:
        letter = data.draw(st.sampled_from("AB"))
        pairs += [(f"{name}:{letter}", f"{name}:{letter}T")]
    pair = data.draw(st.sampled_from(pairs))
    layout = data.draw(strided_layouts(shape, bits))
    turned = StridedLayout(layout.dimensions[::-1], layout.step)
    answers: list[object] = []
    for tile_shape, lies, read in ((shape, layout, pair[0]), (shape[::-1], turned, pair[1])):
        tile = LdsTile(tile_shape, bits)
        try:
            found = bankwise.count(arch, tile, read=read, layout=lies)
        except bankwise.TileArgumentError as error:
            answers.append(error.argument)
            continue
        answers.append(figures(found))
        question, counted = found.question, found.question.counted(lies)
        slow = [count_slowly(chip, question.tile, counted, each) for each in question.flat]
        assert found.conflict_cycles == sum(each.conflict_cycles for each in slow)
        if read != "ldmatrix":
            rows = bankwise.count(arch, tile, read=read).question
            expected = places(rows.flat, tile, lies)
            assert places(question.flat, question.tile, counted) == expected
    assert answers[0] == answers[1]


def places(accesses: Sequence[LdsAccess], tile: LdsTile, layout: Layout) -> list[tuple[int, ...]]:
    """Returns the pairs of a lane and a place that it accesses, in order."""
    found: list[tuple[int, ...]] = []
    for access in accesses:
        active = np.ones(access.elements.shape, bool) if access.active is None else access.active
        lanes = np.nonzero(active)[1]
        for step in range(access.count):
            offsets = layout.offsets(tile, access.elements[active] + step)
            found += zip(lanes.tolist(), offsets.tolist(), strict=True)
    return sorted(found)
