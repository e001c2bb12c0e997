# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No layout takes fewer LDS cycles than the least, and simple accesses have one that takes it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.layouts import (
    Layout,
    PlainLayout,
    SwizzledLayout,
    access_costs,
)
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.lds_tables import lds_of
from bankwise.bank_model.least_cycles import least_cycles
from bankwise.bank_model.swizzles import XorShuffle

from .drawn_layouts import LAYOUTS

LANES = np.arange(64)


def read(elements: np.ndarray, count: int = 1, **more: object) -> LdsAccess:
    return LdsAccess(AccessKind.READ, elements, count, **more)  # pyright: ignore[reportArgumentType]


def cycles(tile: LdsTile, layout: Layout, access: LdsAccess, arch: str = "gfx942") -> int:
    (cost,) = access_costs(lds_of(arch), tile, layout, [access])
    return cost.wavefronts


@pytest.mark.parametrize(
    ("element_bits", "count", "least"), [(8, 1, 2), (16, 1, 2), (32, 1, 2), (32, 2, 4), (32, 4, 8)]
)
def test_a_row_takes_its_least_in_the_plain_layout(element_bits: int, count: int, least: int):
    tile, access = LdsTile((1, 1024), element_bits), read(LANES * count, count)
    assert least_cycles(lds_of("gfx942"), tile, access) == least
    assert cycles(tile, PlainLayout(), access) == least


def test_a_column_takes_its_least_with_a_swizzle():
    tile, access = LdsTile((64, 32), 32), read(LANES * 32)
    assert least_cycles(lds_of("gfx942"), tile, access) == 2
    assert cycles(tile, PlainLayout(), access) == 64
    assert cycles(tile, SwizzledLayout((XorShuffle(32, 1),)), access) == 2


def test_words_that_all_lanes_share_take_a_cycle_in_each_phase():
    tile, access = LdsTile((1, 64), 32), read(LANES * 0, 2)
    assert least_cycles(lds_of("gfx942"), tile, access) == 4


def test_lanes_that_are_masked_off_want_nothing():
    tile = LdsTile((64, 32), 32)
    for on, least in ((LANES < 0, 0), (LANES < 3, 1), (LANES > 31, 1)):
        access = read(LANES * 32, active=on)
        assert least_cycles(lds_of("gfx942"), tile, access) == least


def test_issues_add_up():
    tile = LdsTile((64, 64), 32)
    access = read(np.stack([LANES * 64, LANES * 64 + 1, LANES * 0]))
    one, two, three = (read(row) for row in access.elements)
    lds = lds_of("gfx942")
    assert least_cycles(lds, tile, access) == sum(
        least_cycles(lds, tile, each) for each in (one, two, three)
    )


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.sampled_from(["gfx942", "gfx950", "sm_80"]),
    st.sampled_from(list(AccessKind)),
    st.sampled_from([8, 16, 32, 64]),
    st.integers(1, 9),
    st.integers(0, 2**32 - 1),
    LAYOUTS,
)
def test_no_layout_takes_fewer(
    arch: str, kind: AccessKind, bits: int, count: int, seed: int, layout: Layout
):
    random = np.random.default_rng(seed)
    lds, tile = lds_of(arch), LdsTile((32, 32), bits)
    step = int(random.choice([1, 2, count, 8]))
    spread = int(random.choice([1, 4, 1024]))
    elements = random.integers(0, (1024 - count) // step, (2, lds.wave_size)) // spread * step
    active = random.random((2, lds.wave_size)) < 0.7 if seed % 2 else None
    access = LdsAccess(kind, elements, count, active=active)
    least = least_cycles(lds, tile, access)
    (cost,) = access_costs(lds, tile, layout, [access])
    assert least <= cost.wavefronts
    assert (least > 0) == (active is None or bool(active.any()))
