# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts that other frameworks print: what they mean by the frameworks' own definitions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bankwise
from bankwise.bank_model.accesses import LdsTile
from bankwise.bank_model.layouts import PaddedLayout, PlainLayout, SwizzledLayout
from bankwise.bank_model.lds_tables import lds_of
from bankwise.bank_model.slow_count import count_slowly
from bankwise.bank_model.strided_layout import StridedLayout
from bankwise.bank_model.swizzles import RotateRows, XorShuffle
from bankwise.tiles.framework_notations import notations
from bankwise.tiles.layout_text import layout_of

ROWS_OF_64 = LdsTile((64, 64), 16)
H100 = lds_of("sm_90")


def places(text: str, tile: LdsTile = ROWS_OF_64) -> list[int]:
    """Returns where the elements lie, row after row."""
    return layout_of(text, tile, H100).offsets(tile, np.arange(tile.elements)).tolist()


def swizzled(offset: int, bits: int, base: int, shift: int) -> int:
    """CuTe's `Swizzle<B, M, S>`, as swizzle.hpp defines it."""
    return offset ^ ((offset & ((1 << bits) - 1) << (base + shift)) >> shift)


# -- what is printed goes back in ------------------------------------------------------------

SIZES = st.sampled_from((16, 32, 64, 128))


@st.composite
def swizzles(draw: st.DrawFn) -> tuple[LdsTile, SwizzledLayout]:
    bits = draw(st.sampled_from((4, 8, 16, 32, 64)))
    shape = draw(st.sampled_from(((64, 64), (32, 128), (4, 16, 32), (48, 32), (16, 96), (2048,))))
    tile = LdsTile(shape, bits)
    chain: list[XorShuffle | RotateRows] = []
    for _ in range(draw(st.integers(1, 2))):
        access = 1 << draw(st.integers(0, 4))
        row = access << draw(st.integers(1, 4))
        stride = row * draw(st.sampled_from((1, 2, 3, 4, 8)))
        kind = draw(st.integers(0, 4))
        chain.append(RotateRows(row, access) if not kind else XorShuffle(row, access, stride))
    padding = draw(st.sampled_from((0, 0, 0, 8)))
    return tile, SwizzledLayout(tuple(chain), padding)


@settings(max_examples=200, deadline=None)
@given(swizzles(), st.sampled_from(("gfx942", "sm_90")))
def test_every_notation_of_a_swizzle_is_read_back(
    drawn: tuple[LdsTile, SwizzledLayout], arch: str
) -> None:
    tile, layout = drawn
    if not layout.is_bijection(tile):
        return
    expected = layout.offsets(tile, np.arange(tile.elements)).tolist()
    for each in notations(layout, tile, lds_of(arch)):
        if each.is_expressible:
            assert places(each.text, tile) == expected
            assert places(f"{each.name}: {each.text}", tile) == expected
    assert layout_of(str(layout), tile, H100) == layout


QUESTIONS = (
    st.sampled_from(("gfx942", "gfx950", "sm_80", "sm_90")),
    st.sampled_from(("64x64xf16", "32x64xf32", "128x64xf8", "64x32xbf16", "8x8x64xf16")),
    st.sampled_from(("rows:128", "rows:64", "rows")),
    st.sampled_from(("columns", "columns:64", "columns:128")),
)


@settings(max_examples=60, deadline=None)
@given(*QUESTIONS)
def test_notations_of_an_answer_give_the_same_counts(
    arch: str, tile: str, write: str, read: str
) -> None:
    found = bankwise.solve(arch, tile, write=write, read=read)
    best = found.best if isinstance(found.best.layout, SwizzledLayout) else found.swizzled
    others = {each.text for each in found.notations if each.note}
    wanted = [(str(count.layout), count) for count in found.layouts.values()]
    if best is not None:
        wanted += [(each.text, best) for each in found.notations if each.is_expressible]
    for text, count in wanted:
        again = bankwise.count(arch, tile, write=write, read=read, layout=text)
        if text in others:
            # Another layout of a framework that cannot say this one.
            assert again.cycles <= count.cycles
            continue
        for name in ("conflict_cycles", "cycles", "instructions", "lds_bytes"):
            assert getattr(again, name) == getattr(count, name), text
        for one, other in zip(again.accesses, count.accesses, strict=True):
            assert (one.instructions, one.costs) == (other.instructions, other.costs)


# -- CuTe ------------------------------------------------------------------------------------


@st.composite
def cute_modes(draw: st.DrawFn) -> tuple[list[list[int]], list[list[int]]]:
    """Draws two modes of two sizes each, and strides that give every element its own place."""
    shape = [[draw(st.sampled_from((1, 2, 4, 8))) for _ in range(2)] for _ in range(2)]
    order = draw(st.permutations([(mode, digit) for mode in range(2) for digit in range(2)]))
    strides = [[0, 0], [0, 0]]
    step = 1
    for mode, digit in order:
        strides[mode][digit] = step
        step *= shape[mode][digit] + draw(st.integers(0, 1))
    return shape, strides


@settings(max_examples=60, deadline=None)
@given(cute_modes(), st.sampled_from((None, (1, 1, 2), (2, 0, 3), (3, 3, 3))), st.booleans())
def test_a_nested_layout_is_what_cute_makes_of_it(
    modes: tuple[list[list[int]], list[list[int]]],
    swizzle: tuple[int, int, int] | None,
    printed: bool,
) -> None:
    (shape, strides), mark = modes, "_" if printed else ""
    text = ":".join(
        "(" + ",".join("(" + ",".join(f"{mark}{n}" for n in mode) + ")" for mode in nested) + ")"
        for nested in (shape, strides)
    )
    if swizzle:
        text = f"{'Sw' if printed else 'Swizzle'}<{','.join(map(str, swizzle))}> o {mark}0 o {text}"
    tile = LdsTile((prod(shape[0]), prod(shape[1])), 16)
    expected: list[int] = []
    for row, column in product(range(tile.shape[0]), range(tile.shape[1])):
        place = 0
        for index, sizes, steps in zip((row, column), shape, strides, strict=True):
            place += index % sizes[0] * steps[0] + index // sizes[0] * steps[1]
        expected.append(swizzled(place, *swizzle) if swizzle else place)
    assert places(text, tile) == expected
    layout = layout_of(text, tile, H100)
    assert layout_of(str(layout), tile, H100) == layout
    last = max(expected) + 1
    assert layout.size_bytes(tile) >= last * 2
    if isinstance(layout, StridedLayout):
        assert layout.size_bytes(tile) == last * 2


def test_behind_a_pointer_cute_swizzles_bytes() -> None:
    layout = "o smem_ptr[16b](unset) o (_64,_64):(_64,_1)"
    assert places(f"Sw<3,4,3> {layout}") == places("Swizzle<3,3,3>")
    by_bytes = [swizzled(2 * element, 3, 3, 3) // 2 for element in range(4096)]
    assert places(f"Sw<3,3,3> {layout}") == by_bytes
    atom = "((_8,_8),(_64,_1)):((_64,_512),(_1,_0))"
    for printed in ("Sw<3,4,3>_smem_ptr[16b](0x7f2a00000000)", "Sw<3,4,3> o smem_ptr[16b](unset)"):
        assert places(f"{printed} o {atom}") == places("Swizzle<3,3,3>")
    plain = LdsTile((8, 8), 16)
    assert places("smem_ptr[16b](unset) o (_8,_8):(_8,_1)", plain) == list(range(64))


def test_sizes_are_shared_out_among_the_dimensions() -> None:
    operand = places("((_128,_16),_1,_4):((_64,_1),_0,_16)", LdsTile((128, 64), 16))
    assert operand == list(range(128 * 64))
    assert places("((8,4),(2,16)):((2,16),(1,64))", LdsTile((32, 32), 16))[32] == 2


def test_an_offset_is_added_before_the_swizzle() -> None:
    tile = LdsTile((2, 8), 16)
    assert places("Swizzle<1,0,1> o 2 o (2,8):(8,1)", tile) == [
        swizzled(2 + place, 1, 0, 1) for place in range(16)
    ]


def test_rows_are_recognised() -> None:
    def read(text: str) -> object:
        return layout_of(text, ROWS_OF_64, H100)

    assert read("(64,64):(64,1)") == PlainLayout()
    assert read("(_64,_64):(_72,_1)") == PaddedLayout(8)
    assert read("Swizzle<3,3,3> o (64,64):(64,1)") == SwizzledLayout((XorShuffle(64, 8),))
    assert isinstance(read("(64,64):(1,64)"), StridedLayout)


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from(
        (
            "(32,32):(1,32)",
            "Swizzle<2,3,3> o 0 o (32,32):(1,32)",
            "((8,4),(8,4)):((8,256),(1,64))",
            "((8,4),(2,16)):((2,16),(1,64))",
            "(32,32):(33,1)",
            "Swizzle<3,0,5> o 4 o (32,32):(32,1)",
        )
    ),
    st.sampled_from(("gfx942", "sm_90")),
    st.sampled_from(("rows", "rows:32", "rows:128", "columns:32", "columns:128")),
)
def test_strides_are_counted_as_by_the_definition(layout: str, arch: str, read: str) -> None:
    found = bankwise.count(arch, "32x32xf16", read=read, layout=layout)
    question = found.question
    lds, tile, lies = question.lds, question.tile, question.counted(found.layout)
    costs = [count_slowly(lds, tile, lies, access) for access in question.flat]
    assert found.conflict_cycles == sum(cost.conflict_cycles for cost in costs)
    assert found.cycles == sum(cost.wavefronts for cost in costs)
    code = found.code
    offset, place = (text.replace("/", "//") for text in (code.offset, code.place))
    lying = [
        eval(place, {"o": eval(offset, {"row": row, "column": column})})
        for row, column in product(range(32), range(32))
    ]
    elements = np.arange(question.named.tile.elements)
    assert lying == found.layout.offsets(question.named.tile, elements).tolist()


# -- Triton, TMA -----------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(1, 0), (0, 1), (2, 1, 0), (1, 2, 0)])
def test_triton_in_any_order(order: Sequence[int]) -> None:
    shape: Sequence[int] = (16, 32) if len(order) == 2 else (2, 4, 32)
    tile = LdsTile(tuple(shape), 16)
    vec, per_phase, max_phase = 2, 2, 8
    fast, slow = shape[order[0]], shape[order[1]]
    max_phase = min(max_phase, fast // vec)
    expected: list[int] = []
    for index in product(*map(range, shape)):
        column, row = index[order[0]], index[order[1]]
        phase = row // per_phase % max_phase
        place = row * fast + (column // vec ^ phase) * vec + column % vec
        expected.append(place + (index[order[2]] * fast * slow if len(order) > 2 else 0))
    fields = f"vec = {vec}, perPhase = {per_phase}, maxPhase = {max_phase}"
    text = f"#ttg.swizzled_shared<{{{fields}, order = {list(order)}}}>"
    assert places(text, tile) == expected
    assert places(f"#shared = {text}", tile) == expected
    if order == tuple(reversed(range(len(order)))):
        assert places(fields, tile) == expected


@pytest.mark.parametrize("bits", [4, 8, 16, 32, 64])
@pytest.mark.parametrize("span", [32, 64, 128])
def test_tma_moves_chunks_of_16_bytes(span: int, bits: int) -> None:
    row = span * 8 // bits
    tile = LdsTile((32, row), bits)
    expected: list[int] = []
    for element in range(tile.elements):
        byte, inside = divmod(element * bits, 8)
        byte ^= (byte >> 7) % (span // 16) << 4
        expected.append((byte * 8 + inside) // bits)
    for text in (f"{span}B", f"CU_TENSOR_MAP_SWIZZLE_{span}B"):
        assert places(text, tile) == expected
    nvmma = f"swizzlingByteWidth = {span}, transposed = false, elementBitWidth = {bits}"
    assert places(f"#ttg.nvmma_shared<{{{nvmma}}}>", tile) == expected


def test_a_transposed_tile_has_its_columns_as_rows() -> None:
    attribute = "swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16"
    found = np.array(places(f"#ttg.nvmma_shared<{{{attribute}}}>")).reshape(64, 64)
    assert found.T.ravel().tolist() == places("128B")


# -- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("xor_shuffle<6 4, 4>", "is no layout; write plain"),
        ("Swizzle<3,1000000000,3>", "base . shift . bits is 1000000006; allowed"),
        ("Swizzle<3,3,-3>", "shift is -3"),
        ("(64,64):(1,1)", "puts several elements at one place"),
        ("(64,64):(64,0)", "puts several elements at one place"),
        ("(8,64):(64,1)", "sizes 8 x 64 do not make the dimensions of the tile, 64 x 64"),
        ("4096:1", "sizes 4096 do not make"),
        ("(64,64):64", "not nested alike"),
        ("((64,64):(64,1)", "no nested list of numbers"),
        ("(64,64):(64,1) o (64,64):(64,1)", "no swizzle, no offset"),
        ("(64,64):(99999999,99999999)", "its last offset is"),
        ("Sw<3,4,3> o smem_ptr[32b](unset) o (64,64):(64,1)", "have 32 bits, and those of the"),
        ("Sw<1,0,3> o smem_ptr[16b](unset) o (64,64):(64,1)", "smaller than an element"),
        ("64B", "rows of at most 64 bytes, and the tile's have 128"),
        ("vec = 8, perPhase = 1, maxPhase = 64", "max_phase is 64"),
        ("vec = 8, maxPhase = 8", "no framework has these parameters"),
        ("KPerBlock = 32, KPack = 8, MLdsLayer = 1, RowMul = 1", "those of the tile are 64"),
        ("o[6] ^= o[3]", "what is added is a higher bit"),
        ("o[3] ^= o[40]", "what is added is a higher bit"),
        (
            "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 1]}>",
            "order has to name the tile's 2 dimensions",
        ),
        (
            "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0], "
            "CTASplitNum = [2, 1]}>",
            "CTASplitNum shares the tensor out",
        ),
        ("not expressible: TMA XORs byte bits", "is no layout"),
    ],
)
def test_why_a_text_is_no_layout(text: str, reason: str) -> None:
    with pytest.raises(bankwise.TileArgumentError, match=f"^layout: .*{reason}"):
        places(text)
