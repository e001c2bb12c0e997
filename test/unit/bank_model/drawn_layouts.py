# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts for properties that hold in all of them."""

from __future__ import annotations

from hypothesis import strategies as st

from bankwise.bank_model.layouts import PaddedLayout, PlainLayout, SwizzledLayout
from bankwise.bank_model.swizzles import XorShuffle

LAYOUTS = st.one_of(
    st.just(PlainLayout()),
    st.integers(1, 9).map(PaddedLayout),
    st.sampled_from([(8, 1), (16, 2), (32, 4), (32, 8)]).map(
        lambda sizes: SwizzledLayout((XorShuffle(*sizes),))
    ),
)
