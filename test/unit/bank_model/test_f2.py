# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""F2 linear algebra against exhaustive enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankwise.bank_model import f2

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


@given(VECTORS, st.sets(st.integers(0, 63)))
def test_basis_of_members(vectors, members):
    assert f2.basis_of_members(f2.span(vectors)) == f2.reduced_basis(vectors)
    is_closed = bool(members) and enumerate_span(members) == members
    assert f2.basis_of_members(sorted(members)) == (
        f2.reduced_basis(members) if is_closed else None
    )


@given(VECTORS, st.integers(0, 63))
def test_contains(vectors, vector):
    assert f2.contains(vectors, vector) == (vector in enumerate_span(vectors))


@given(VECTORS, VECTORS)
def test_intersection(a, b):
    common = f2.intersection(a, b)
    assert enumerate_span(common) == enumerate_span(a) & enumerate_span(b)
    assert f2.reduced_basis(common) == common


@given(VECTORS)
def test_kernel(columns):
    expected = {v for v in range(1 << len(columns)) if f2.apply(columns, v) == 0}
    assert enumerate_span(f2.kernel(columns)) == expected


def test_bad_input():
    with pytest.raises(ValueError, match=r"vector is 4.*0 \.\. 3$"):
        f2.apply([1, 2], 4)
    with pytest.raises(ValueError, match="vectors is -1"):
        f2.rank([-1])


@given(st.integers(0, 6), st.randoms(use_true_random=False))
def test_an_inverse_undoes_the_matrix(bits, random):
    columns = [random.randrange(1 << bits) for _ in range(bits)]
    inverse = f2.inverse(columns, bits)
    assert (inverse is not None) == (f2.rank(columns) == bits)
    if inverse is not None:
        identity = tuple(1 << bit for bit in range(bits))
        assert f2.product(columns, inverse) == f2.product(inverse, columns) == identity
    assert f2.inverse([*columns, 0], bits) is None
