# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Swizzle notations: published tables, conversions in both directions, factoring."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.bank_model.accesses import LdsTile
from bankwise.bank_model.layouts import PaddedLayout, PlainLayout, SwizzledLayout
from bankwise.bank_model.linear_swizzle import LinearSwizzle, NotExpressible
from bankwise.bank_model.notations import (
    CkTileSwizzle,
    CuteSwizzle,
    TmaSwizzle,
    TritonSwizzle,
    WaveSwizzle,
    picture,
)
from bankwise.bank_model.swizzles import RotateRows, XorShuffle, linear_chain, xor_chain


def test_cute_3_0_3_table():
    """The 8 x 8 table that CUTLASS and CuTe tutorials print: entry (r, c) is r * 8 + (c ^ r)."""
    table = CuteSwizzle(3, 0, 3).linear().apply(np.arange(64)).reshape(8, 8)
    assert table.tolist() == [
        [0, 1, 2, 3, 4, 5, 6, 7],
        [9, 8, 11, 10, 13, 12, 15, 14],
        [18, 19, 16, 17, 22, 23, 20, 21],
        [27, 26, 25, 24, 31, 30, 29, 28],
        [36, 37, 38, 39, 32, 33, 34, 35],
        [45, 44, 47, 46, 41, 40, 43, 42],
        [54, 55, 52, 53, 50, 51, 48, 49],
        [63, 62, 61, 60, 59, 58, 57, 56],
    ]


def test_wave_tile():
    """32 x 64 f16, 8 elements a thread: element (1, 0) goes to column 8 of row 1."""
    assert WaveSwizzle(8, 64).linear().apply(np.array(64)) == 64 + 8


def test_one_layout_in_all_notations():
    """Eight groups of 8 f16 in rows of 64: the 128-byte swizzle."""
    same = [
        XorShuffle(64, 8),
        CuteSwizzle(3, 3, 3),
        TritonSwizzle(8, 1, 8, 64),
        WaveSwizzle(8, 64),
        CkTileSwizzle(64, 8),
    ]
    linear = {notation.linear() for notation in same}
    assert linear == {LinearSwizzle(((6, 8), (7, 16), (8, 32)))}
    (swizzle,) = linear
    assert isinstance(swizzle, LinearSwizzle)
    assert swizzle.scaled(1) == TmaSwizzle(128).linear()
    assert CuteSwizzle.of(swizzle) == CuteSwizzle(3, 3, 3)
    assert TritonSwizzle.of(swizzle, 64) == TritonSwizzle(8, 1, 8, 64)
    assert CkTileSwizzle.of(swizzle, 64) == CkTileSwizzle(64, 8)
    assert TmaSwizzle.of(swizzle, 2) == TmaSwizzle(128)
    assert xor_chain(swizzle) == (XorShuffle(64, 8),)


@pytest.mark.parametrize(
    ("span", "bits"), [(32, {7: 16}), (64, {7: 16, 8: 32}), (128, {7: 16, 8: 32, 9: 64})]
)
def test_tma_modes(span, bits):
    assert TmaSwizzle(span).linear() == LinearSwizzle.of(bits)


@pytest.mark.parametrize(
    ("atom", "flips", "rows"),
    [
        (32, False, ("01234567", "23016745", "45670123", "67452301")),
        (64, False, ("01234567", "45670123")),
    ],
)
def test_tma_atoms(atom: int, flips: bool, rows: Sequence[str]) -> None:
    """The tables of the PTX ISA: the 16 bytes that lie at each place of a line of 128 bytes."""
    linear = TmaSwizzle(128, atom, flips).linear()
    for line in range(16):
        places = linear.apply(np.arange(8) * 16 + line * 128) // 16 % 8
        found = "".join(str(int(np.flatnonzero(places == place)[0])) for place in range(8))
        assert found == rows[line % len(rows)]


def test_a_tma_atom_may_flip_8_bytes_in_every_other_line() -> None:
    flipped, plain = (TmaSwizzle(128, 32, flips).linear() for flips in (True, False))
    byte = np.arange(2048)
    assert (flipped.apply(byte) == plain.apply(byte) ^ byte // 128 % 2 * 8).all()


def test_ck_tile_layers_and_row_multiplier():
    def by_definition(k_per_block, k_pack, layer, mul, o):
        row = k_per_block * layer
        m, k = divmod(o, row)
        k0 = k // k_pack ^ (m * mul) % (row // k_pack)
        return m * row + k0 * k_pack + k % k_pack

    for parameters in [(32, 8, 1, 1), (32, 8, 2, 1), (64, 8, 1, 2), (32, 4, 4, 2), (8, 8, 1, 1)]:
        swizzle = CkTileSwizzle(*parameters).linear()
        moved = swizzle.apply(np.arange(4096)).tolist()
        assert moved == [by_definition(*parameters, o) for o in range(4096)]
        if swizzle.columns:
            back = CkTileSwizzle.of(swizzle, parameters[0])
            assert isinstance(back, CkTileSwizzle)
            assert back.linear() == swizzle


def test_triton_definition():
    t = TritonSwizzle(4, 2, 4, 32)
    for o in range(1024):
        row, column = divmod(o, 32)
        expected = row * 32 + ((column // 4) ^ (row // 2) % 4) * 4 + column % 4
        assert t.linear().apply(np.array(o)) == expected
    assert TritonSwizzle.of(t.linear(), 32) == t


def test_not_expressible_answers_say_why():
    rotate = RotateRows(16, 4).linear()
    assert isinstance(rotate, NotExpressible)
    assert "carries" in str(rotate)
    odd = XorShuffle(24, 8).linear()
    assert isinstance(odd, NotExpressible)
    assert "groups_per_row 3" in odd.reason
    dense = LinearSwizzle(((3, 0b011),))
    for answer in (
        dense.field_step(),
        CuteSwizzle.of(dense),
        TritonSwizzle.of(dense, 8),
    ):
        assert isinstance(answer, NotExpressible)
        assert "several bits" in answer.reason
    overlapping = LinearSwizzle.of({1: 1, 2: 2})
    assert isinstance(overlapping.field_step(), NotExpressible)
    assert isinstance(TmaSwizzle.of(overlapping, 2), NotExpressible)
    assert isinstance(CkTileSwizzle.of(overlapping, 4), NotExpressible)
    assert isinstance(LinearSwizzle.from_matrix([1, 2, 2]), NotExpressible)
    assert RotateRows(8, 4).linear() == LinearSwizzle(((3, 4),))


@st.composite
def linear_swizzles(draw, max_bits=7):
    bits = draw(st.integers(1, max_bits))
    return LinearSwizzle.of({s: draw(st.integers(0, 2**s - 1)) for s in range(1, bits)})


@given(linear_swizzles(), linear_swizzles())
def test_group_laws_match_application(a, b):
    o = np.arange(256)
    assert (a.then(b).apply(o) == b.apply(a.apply(o))).all()
    assert a.scaled(2).scaled(-2) == a
    assert (a.scaled(2).apply(o) == a.apply(o // 4) * 4 + o % 4).all()
    if a.columns:
        runs = a.apply(o).reshape(-1, a.group_elements)
        assert (np.diff(runs) == 1).all()


@settings(deadline=None, max_examples=60)
@given(linear_swizzles(max_bits=6))
def test_a_chain_gives_the_swizzle_back(swizzle):
    o = np.arange(256)
    chain = xor_chain(swizzle)
    assert linear_chain(chain) == swizzle
    moved = o
    for step in reversed(chain):
        moved = step.apply(moved)
    assert (moved == swizzle.apply(o)).all()


@pytest.mark.parametrize("bits", [3, 4])
def test_chains_of_up_to_two_are_the_shortest(bits):
    """Against the lengths that breadth-first search over all chains finds."""
    steps = [
        XorShuffle(1 << (t + w), 1 << t, 1 << s).linear()
        for t in range(bits)
        for w in range(1, bits)
        for s in range(t + w, bits - w + 1)
    ]
    length = {LinearSwizzle(): 0}
    frontier = [LinearSwizzle()]
    while frontier:
        following = []
        for swizzle in frontier:
            for step in steps:
                assert isinstance(step, LinearSwizzle)
                product = step.then(swizzle)
                if product not in length:
                    length[product] = length[swizzle] + 1
                    following.append(product)
        frontier = following
    assert len(length) == 2 ** (bits * (bits - 1) // 2)
    for swizzle, shortest in length.items():
        found = len(xor_chain(swizzle))
        assert found == shortest or min(found, shortest) > 1


def test_wide_fields_are_one_step():
    swizzle = LinearSwizzle.of({7: 4 | 8, 8: 8 | 16, 9: 32})
    assert set(xor_chain(swizzle)) == {XorShuffle(16, 4, 128), XorShuffle(64, 8, 128)}


def test_pictures():
    tile = LdsTile((4, 16), 8)
    assert picture(XorShuffle(16, 4), tile, 4) == (
        "0000 1111 2222 3333\n5555 4444 7777 6666\nAAAA BBBB 8888 9999\nFFFF EEEE DDDD CCCC"
    )
    assert picture(RotateRows(16, 4), tile, 4) == (
        "0000 1111 2222 3333\n7777 4444 5555 6666\nAAAA BBBB 8888 9999\nDDDD EEEE FFFF CCCC"
    )
    assert picture(PaddedLayout(2), LdsTile((2, 4), 8), 2) == "00 11 ..\n22 33 .."
    assert picture(PlainLayout(), LdsTile((3, 4), 8), 4, max_rows=2) == "0000\n1111"
    assert picture(SwizzledLayout((XorShuffle(4, 2),), 4), LdsTile((2, 4), 8), 2) == (
        picture(PaddedLayout(4), LdsTile((2, 4), 8), 2)
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CuteSwizzle(3, 0, 2), "shift is 2; allowed: integers >= bits"),
        (lambda: CuteSwizzle(3, -1, 3), "base is -1"),
        (lambda: TmaSwizzle(16), "span_bytes is 16; allowed: 32, 64, 128"),
        (lambda: TritonSwizzle(3, 1, 2, 64), "vec is 3; allowed: powers of two"),
        (lambda: TritonSwizzle(8, 1, 16, 64), "max_phase is 16; allowed: powers of two up to 8"),
        (lambda: WaveSwizzle(8, 32), "max_phase is 8; allowed: powers of two up to 4"),
        (lambda: TmaSwizzle(64, 32), "atom_bytes is 32; allowed: 16"),
        (lambda: TmaSwizzle(128, 64, True), "flips is True"),
        (lambda: CkTileSwizzle(32, 64), "k_pack is 64"),
        (lambda: LinearSwizzle(((2, 4),)), "columns"),
        (lambda: LinearSwizzle(((3, 1), (2, 1))), "ascending"),
        (lambda: LinearSwizzle(((3, 1),)).scaled(-1), "log2_factor is -1"),
        (lambda: LinearSwizzle(((3, 1),)).matrix(3), "bits is 3"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()
