# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""F2 linear algebra against exhaustive enumeration, and linear layouts."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bankwise.bank_model import f2
from bankwise.bank_model.linear_layout import LinearLayout, NestedTile, nested_layout

VECTORS = st.lists(st.integers(0, 63), max_size=7)


def enumerate_span(vectors):
    members = {0}
    for v in vectors:
        members |= {m ^ v for m in members}
    return members


@given(VECTORS)
def test_rank_span_and_reduced_basis(vectors):
    members = enumerate_span(vectors)
    assert f2.span(vectors) == tuple(sorted(members))
    assert 2 ** f2.rank(vectors) == len(members)
    basis = f2.reduced_basis(vectors)
    assert enumerate_span(basis) == members
    leads = [v.bit_length() - 1 for v in basis]
    assert leads == sorted(set(leads), reverse=True)
    assert all(
        (v >> lead & 1) == (i == j) for i, v in enumerate(basis) for j, lead in enumerate(leads)
    )


@given(VECTORS)
def test_reduced_basis_of_many(vectors):
    assert f2.reduced_basis_of_many(np.array(vectors, dtype=np.int64)) == f2.reduced_basis(vectors)


@given(VECTORS, st.integers(0, 63))
def test_contains(vectors, vector):
    assert f2.contains(vectors, vector) == (vector in enumerate_span(vectors))


@given(VECTORS, VECTORS)
def test_intersection(a, b):
    common = f2.intersection(a, b)
    assert enumerate_span(common) == enumerate_span(a) & enumerate_span(b)
    assert f2.reduced_basis(common) == common


@given(VECTORS)
def test_complement(vectors):
    complement = f2.complement(vectors, 6)
    assert f2.rank([*vectors, *complement]) == 6
    assert len(complement) == 6 - f2.rank(vectors)


@given(VECTORS)
def test_kernel(columns):
    expected = {v for v in range(1 << len(columns)) if f2.apply(columns, v) == 0}
    assert enumerate_span(f2.kernel(columns)) == expected


@given(st.lists(st.integers(0, 31), min_size=5, max_size=5))
def test_inverse(columns):
    identity = tuple(1 << i for i in range(5))
    if f2.rank(columns) < 5:
        with pytest.raises(f2.SingularMatrixError, match="independent columns"):
            f2.inverse(columns)
    else:
        assert f2.product(columns, f2.inverse(columns)) == identity
        assert f2.product(f2.inverse(columns), columns) == identity


def test_bad_input():
    with pytest.raises(f2.SingularMatrixError, match="columns"):
        f2.inverse([1, 4])
    with pytest.raises(ValueError, match="vector is 4"):
        f2.apply([1, 2], 4)
    with pytest.raises(ValueError, match="dimension is 2"):
        f2.complement([8], 2)
    with pytest.raises(ValueError, match="vectors is -1"):
        f2.rank([-1])


LANES = LinearLayout(
    (("lane", ((0, 1), (0, 2), (1, 0), (2, 0), (4, 0))),), (("row", 8), ("column", 4))
)


def test_apply_broadcasts_and_xors():
    got = LANES.apply(lane=np.arange(32))
    assert (got["row"] == np.arange(32) // 4).all()
    assert (got["column"] == np.arange(32) % 4).all()
    with pytest.raises(ValueError, match="lane is up to 32"):
        LANES.apply(lane=32)
    with pytest.raises(ValueError, match="input is 'wave'"):
        LANES.apply(wave=0)


@given(st.permutations(range(5)), st.permutations(range(5)))
def test_compose_and_invert(first, second):
    def layout(a, b, order):
        return LinearLayout.from_columns([a], [b], [1 << i for i in order])

    f = layout(("x", 32), ("y", 32), first)
    g = layout(("y", 32), ("z", 32), second)
    x = np.arange(32)
    expected = g.apply(y=f.apply(x=x)["y"])["z"]
    assert (f.compose(g).apply(x=x)["z"] == expected).all()
    assert f.compose(f.invert()) == LinearLayout.from_columns(
        [("x", 32)], [("x", 32)], [1 << i for i in range(5)]
    )


def test_compose_matches_dimensions_by_name():
    inner = LinearLayout.identity("a", 4).compose(
        LinearLayout((("a", ((1, 0), (0, 1))),), (("r", 2), ("c", 2)))
    )
    swapped = LinearLayout((("c", ((1,),)), ("r", ((2,),))), (("flat", 4),))
    assert inner.compose(swapped).apply(a=np.arange(4))["flat"].tolist() == [0, 2, 1, 3]
    with pytest.raises(ValueError, match=r"outer.inputs"):
        swapped.compose(swapped)


def test_singular_layouts_have_no_inverse():
    broadcast = LinearLayout((("lane", ((1,), (0,))),), (("row", 4),))
    assert not broadcast.is_injective()
    assert not broadcast.is_surjective()
    assert LANES.is_injective()
    with pytest.raises(f2.SingularMatrixError):
        broadcast.invert()
    with pytest.raises(f2.SingularMatrixError):
        LinearLayout((("lane", ((1,),)),), (("row", 4),)).invert()


def test_nested_layout_equals_its_definition():
    """Index = (((subgroup * batch + b) * outer + o) * thread + t) * element + e, per dimension."""
    d0 = NestedTile(
        subgroup=2, batch=2, outer=1, thread=16, element=1, subgroup_stride=1, thread_stride=1
    )
    d1 = NestedTile(
        subgroup=2, batch=4, outer=2, thread=4, element=4, subgroup_stride=2, thread_stride=16
    )
    layout = nested_layout([d0, d1], 64, 4)
    for register in range(64):
        e1, rest = register % 4, register // 4
        o1, rest = rest % 2, rest // 2
        b1, b0 = rest % 4, rest // 4
        for lane in (0, 1, 17, 63):
            for wave in range(4):
                row = (((wave % 2) * 2 + b0) * 1) * 16 + lane % 16
                column = ((((wave // 2) * 4 + b1) * 2 + o1) * 4 + lane // 16) * 4 + e1
                got = layout.apply(register=register, lane=lane, subgroup=wave)
                assert (int(got["dim0"]), int(got["dim1"])) == (row, column)


@pytest.mark.parametrize(
    ("tile", "message"),
    [
        (NestedTile(thread=3, thread_stride=1), "thread size of dimension 0 is 3"),
        (NestedTile(thread=4, thread_stride=0), "thread stride of dimension 0 is 0"),
        (NestedTile(thread=4, thread_stride=32), "thread stride of dimension 0 is 32"),
        (NestedTile(element=6), "element size of dimension 0 is 6"),
    ],
)
def test_nested_layouts_that_are_not_linear(tile, message):
    with pytest.raises(ValueError, match=message):
        nested_layout([tile], 64)


def test_overlapping_threads_are_refused():
    tile = NestedTile(thread=4, thread_stride=1)
    with pytest.raises(ValueError, match="thread stride of dimension 1"):
        nested_layout([tile, tile], 64)


@given(st.lists(st.integers(0, 63), min_size=6, max_size=6))
def test_invert_is_a_two_sided_inverse(columns):
    assume(f2.rank(columns) == 6)
    layout = LinearLayout.from_columns([("l", 64)], [("r", 8), ("c", 8)], columns)
    out = layout.apply(l=np.arange(64))
    back = layout.invert().apply(r=out["r"], c=out["c"])
    assert (back["l"] == np.arange(64)).all()
