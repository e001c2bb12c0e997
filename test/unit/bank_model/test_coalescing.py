# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Coalescing counts against sets of bytes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.bank_model.accesses import LdsAccess
from bankwise.bank_model.coalescing import coalescing, transactions_of
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.lds_tables import lds_of


@settings(deadline=None)
@given(
    st.sampled_from(["gfx942", "sm_80"]),
    st.sampled_from([1, 2, 4, 12, 16, 200]),
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 4, 64]),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_counts_equal_the_touched_blocks(arch, width, seed, grain, density):
    lds = lds_of(arch)
    rng = np.random.default_rng(seed)
    addresses = rng.integers(0, 700, (2, lds.wave_size)) * grain
    active = rng.random(addresses.shape) < density
    counted = coalescing(lds, addresses, width, active)
    sector = 32 if arch == "sm_80" else 64
    for issue in range(2):
        touched = {
            int(a) + i
            for a, on in zip(addresses[issue], active[issue], strict=True)
            if on
            for i in range(width)
        }
        assert counted.useful_bytes[issue] == len(touched)
        assert counted.transactions[issue] == len({b // sector for b in touched})


def test_strides():
    lanes = np.arange(32)
    dense = coalescing(lds_of("sm_80"), lanes * 4, 4)
    assert (dense.useful_bytes, dense.transactions) == (128, 4)
    strided = coalescing(lds_of("sm_80"), lanes * 8, 4)
    assert (strided.useful_bytes, strided.transactions) == (128, 8)
    sparse = coalescing(lds_of("sm_80"), lanes * 128, 4)
    assert (sparse.useful_bytes, sparse.transactions) == (128, 32)
    assert coalescing(lds_of("gfx942"), np.arange(64) * 16, 16).transactions == 16
    assert coalescing(lds_of("sm_80"), lanes, 1, np.zeros(32, bool)).transactions == 0


def test_bad_input():
    with pytest.raises(ValueError, match=r"addresses\.shape"):
        coalescing(lds_of("gfx942"), np.arange(32), 4)
    with pytest.raises(ValueError, match="addresses is -1"):
        coalescing(lds_of("sm_80"), np.arange(32) - 1, 4)
    with pytest.raises(ValueError, match="width_bytes is 0"):
        coalescing(lds_of("sm_80"), np.arange(32), 0)


def test_accesses_add_up():
    """Runs of 24 bytes are 16 and 8 bytes; masked accesses and others are counted apart."""
    lds, lanes, kind = lds_of("gfx942"), np.arange(64), AccessKind.READ
    runs = [LdsAccess(kind, lanes * 8 + first, 6) for first in (0, 512, 3)]
    masked = LdsAccess(kind, lanes * 64, 4, active=lanes < 5)
    expected = sum(
        int(coalescing(lds, access.elements * 4 + start, size, access.active).transactions.sum())
        for access in (*runs, masked)
        for start, size in (((0, 16), (16, 8)) if access.count == 6 else ((0, 16),))
    )
    assert transactions_of(lds, [*runs, masked, masked.moved(9)], 4) == expected + 5
