# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Swizzles and layouts: the documented formulas, bijectivity, and how accesses split."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.conflicts import phase_costs
from bankwise.bank_model.errors import InvalidParameterError
from bankwise.bank_model.layouts import (
    PaddedLayout,
    PlainLayout,
    SubByteAccessError,
    SwizzledLayout,
    access_costs,
    layout_conflicts,
    machine_accesses,
    split_into_runs,
)
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.lds_tables import lds_of
from bankwise.bank_model.notations import CuteSwizzle
from bankwise.bank_model.slow_count import count_slowly
from bankwise.bank_model.strided_layout import Mode, StridedLayout
from bankwise.bank_model.swizzles import RotateRows, XorShuffle

READ, WRITE = AccessKind.READ, AccessKind.WRITE
GFX942 = lds_of("gfx942")
LANES = np.arange(64)


@st.composite
def xor_shuffles(draw):
    access_width = draw(st.sampled_from([1, 2, 3, 4, 8]))
    groups = draw(st.integers(1, 9))
    row_width = access_width * groups
    return XorShuffle(
        row_width, access_width, row_width * draw(st.integers(1, 4)), draw(st.integers(1, groups))
    )


@settings(deadline=None)
@given(xor_shuffles(), st.integers(0, 400))
def test_xor_shuffle_is_the_documented_formula(s, size):
    moved = []
    for o in range(size):
        col = (o % s.row_width) // s.access_width
        row = (o // s.row_stride // s.per_phase) % (s.row_width // s.access_width)
        moved.append(o - o % s.row_width + (row ^ col) * s.access_width + o % s.access_width)
    assert s.apply(np.arange(size)).tolist() == moved
    assert s.is_bijection(size) == (sorted(moved) == list(range(size)))
    assert ((s.apply(np.arange(size) + s.period) - s.period) == moved).all()


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(1, 8), st.integers(0, 300))
def test_rotate_rows_is_the_documented_formula(groups, access_width, size):
    s = RotateRows(groups * access_width, access_width)
    moved = []
    for o in range(size):
        i, j = o // s.row_width, (o % s.row_width) // access_width
        moved.append(i * s.row_width + (i + j) % groups * access_width + o % access_width)
    assert s.apply(np.arange(size)).tolist() == moved
    assert s.is_bijection(size) == (sorted(moved) == list(range(size)))


def test_pictures_of_the_attribute_documentation():
    def groups(swizzle):
        placed = np.empty(64, int)
        placed[swizzle.apply(np.arange(64))] = np.arange(64) // 4
        return placed[::4].reshape(4, 4).tolist()

    assert groups(XorShuffle(16, 4)) == [
        [0, 1, 2, 3],
        [5, 4, 7, 6],
        [10, 11, 8, 9],
        [15, 14, 13, 12],
    ]
    assert groups(RotateRows(16, 4)) == [
        [0, 1, 2, 3],
        [7, 4, 5, 6],
        [10, 11, 8, 9],
        [13, 14, 15, 12],
    ]


def test_xor_shuffle_of_three_eight():
    assert XorShuffle(128, 4, 128, 1).apply(np.array(3 * 128 + 8)) == 388
    assert XorShuffle(128, 4, 0, 0) == XorShuffle(128, 4, 128, 1)
    assert str(XorShuffle(128, 4)) == "xor_shuffle<128, 4, 128, 1>"


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ((10, 4), "access_width is 4"),
        ((0, 4), "row_width is 0"),
        ((8, 0), "access_width is 0"),
        ((8, 4, 12), "row_stride is 12"),
        ((8, 4, -8), "row_stride is -8"),
        ((8, 4, 8, 3), "per_phase is 3"),
        ((8, 4, 8, -1), "per_phase is -1"),
    ],
)
def test_illegal_xor_shuffle(arguments, parameter):
    with pytest.raises(ValueError, match=parameter):
        XorShuffle(*arguments)


def test_a_chain_applies_the_outer_hint_first():
    tile = LdsTile((4, 64), 16)
    s0, s1 = XorShuffle(8, 4, 8), XorShuffle(16, 8, 16)
    e = np.arange(256)
    got = SwizzledLayout((s0, s1)).offsets(tile, e)
    assert (got == s0.apply(s1.apply(e))).all()
    assert (got != s1.apply(s0.apply(e))).any()


def test_padded_offsets_and_size():
    tile, layout = LdsTile((2, 3, 8), 16), PaddedLayout(4)
    assert layout.offsets(tile, np.array([0, 7, 8, 23, 24])).tolist() == [0, 7, 12, 31, 36]
    assert layout.size_bytes(tile) == 6 * 12 * 2
    assert PlainLayout().size_bytes(LdsTile((3, 3), 4)) == 5


def test_padding_decides_the_alignment_and_with_it_the_instructions():
    tile = LdsTile((64, 64), 16)
    access = LdsAccess(READ, LANES * 64, 8)
    for padding, names in [
        (0, ["ds_read_b128"]),
        (8, ["ds_read_b128"]),
        (4, ["ds_read_b64"] * 2),
        (2, ["ds_read_b32"] * 4),
        (1, ["ds_read_b128"]),
    ]:
        machine = machine_accesses(GFX942, tile, PaddedLayout(padding), access)
        assert [m.instruction.name for m in machine] == names
        assert (machine[0].addresses == LANES * (64 + padding) * 2).all()


def test_alignment_is_that_of_all_active_lanes_only():
    tile = LdsTile((4, 64), 16)
    elements = np.where(LANES == 5, 2, LANES // 16 * 64)
    assert len(machine_accesses(GFX942, tile, PlainLayout(), LdsAccess(READ, elements, 8))) == 4
    access = LdsAccess(READ, elements, 8, active=LANES != 5)
    (only,) = machine_accesses(GFX942, tile, PlainLayout(), access)
    assert only.instruction.name == "ds_read_b128"
    assert (
        machine_accesses(
            GFX942, tile, PlainLayout(), LdsAccess(READ, elements, 8, active=LANES < 0)
        )
        == ()
    )


def test_runs_of_aligned_and_unaligned_accesses():
    def runs(group, starts, count):
        elements = np.resize(np.array(starts), 64)
        return split_into_runs(group, LdsAccess(READ, elements, count))

    assert runs(8, [0, 8, 64], 8) == ((0, 8),)
    assert runs(4, [0, 8, 64], 8) == ((0, 4), (4, 4))
    assert runs(8, [2, 18], 4) == ((0, 4),)
    assert runs(8, [6, 14], 8) == ((0, 2), (2, 6))
    assert runs(8, [5, 6], 8) == ((0, 2), (2, 1), (3, 5))
    assert runs(1, [3], 2) == ((0, 1), (1, 1))
    assert runs(3, [0, 3], 8) == ((0, 3), (3, 3), (6, 2))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_machine_accesses_touch_exactly_the_bytes_of_the_elements(data):
    """Under any layout, every lane's bytes are the layout's image of its elements."""
    rows = data.draw(st.sampled_from([1, 4, 6, 16]))
    row = data.draw(st.sampled_from([8, 16, 24, 64]))
    tile = LdsTile((rows, row), data.draw(st.sampled_from([8, 16, 32, 64])))
    layout = data.draw(
        st.sampled_from(
            [
                PlainLayout(),
                PaddedLayout(1),
                PaddedLayout(4),
                SwizzledLayout((XorShuffle(8, 2),)),
                SwizzledLayout((XorShuffle(8, 4), XorShuffle(8, 1))),
                SwizzledLayout((RotateRows(8, 4),)),
                SwizzledLayout((XorShuffle(8, 4),), padding_elements=8),
            ]
        )
    )
    count = data.draw(st.integers(1, 8))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    grain = data.draw(st.sampled_from([1, 2, 4, 8]))
    elements = rng.integers(0, tile.elements - count + 1, (2, 64)) // grain * grain
    active = rng.random((2, 64)) < 0.8
    access = LdsAccess(READ, elements, count, active=active)
    size = tile.element_bits // 8
    expected = layout.offsets(tile, elements[..., None] + np.arange(count))[..., None] * size
    expected = (expected + np.arange(size)).reshape(2, 64, -1)
    touched = np.concatenate(
        [
            m.addresses[..., None] + np.arange(m.instruction.width_bytes)
            for m in machine_accesses(GFX942, tile, layout, access)
        ],
        axis=-1,
    )
    assert (np.sort(touched)[active] == np.sort(expected)[active]).all()
    (cost,) = access_costs(GFX942, tile, layout, [access])
    slow = sum(
        int(phase_costs(m.instruction, m.addresses, active).sum())
        for m in machine_accesses(GFX942, tile, layout, access)
    )
    assert cost.wavefronts == slow
    assert layout_conflicts(GFX942, tile, layout, [access, access]) == 2 * cost.conflict_cycles


def test_weight_multiplies():
    tile = LdsTile((64, 64), 32)
    access = LdsAccess(READ, LANES * 64, 1, weight=3)
    assert layout_conflicts(GFX942, tile, PlainLayout(), [access]) == 3 * 2 * 31
    assert layout_conflicts(GFX942, tile, PaddedLayout(1), [access]) == 0


def test_swizzle_removes_the_conflicts_of_a_column_read():
    tile = LdsTile((64, 64), 16)
    access = LdsAccess(READ, LANES % 16 * 64 + LANES // 16 * 4, 4)
    assert layout_conflicts(GFX942, tile, PlainLayout(), [access]) == 4 * 15
    assert layout_conflicts(GFX942, tile, SwizzledLayout((XorShuffle(64, 4),)), [access]) == 0


def test_sub_byte_elements():
    tile = LdsTile((64, 64), 4)
    access = LdsAccess(READ, LANES * 64, 8)
    (machine,) = machine_accesses(GFX942, tile, PlainLayout(), access)
    assert machine.instruction.name == "ds_read_b32"
    assert (machine.addresses == LANES * 32).all()
    with pytest.raises(SubByteAccessError, match="element_bits is 4"):
        machine_accesses(GFX942, tile, SwizzledLayout((XorShuffle(64, 1),)), access)
    with pytest.raises(SubByteAccessError, match="element_bits is 4"):
        machine_accesses(GFX942, tile, PaddedLayout(1), access)
    with pytest.raises(SubByteAccessError, match="element_bits is 4"):
        machine_accesses(GFX942, tile, PlainLayout(), LdsAccess(READ, LANES * 64 + 1, 8))


def test_bad_input():
    tile = LdsTile((64, 64), 16)
    with pytest.raises(ValueError, match=r"elements is 0 \.\. 4096"):
        machine_accesses(GFX942, tile, PlainLayout(), LdsAccess(READ, LANES * 65, 2))
    with pytest.raises(ValueError, match=r"elements\.shape"):
        machine_accesses(lds_of("sm_80"), tile, PlainLayout(), LdsAccess(READ, LANES, 2))
    with pytest.raises(ValueError, match="count is 0"):
        LdsAccess(READ, LANES, 0)
    with pytest.raises(ValueError, match="weight is -1"):
        LdsAccess(READ, LANES, 1, weight=-1)
    with pytest.raises(ValueError, match="shape is 0"):
        LdsTile((4, 0), 16)
    with pytest.raises(ValueError, match="padding_elements is -1"):
        PaddedLayout(-1)
    with pytest.raises(ValueError, match="swizzles"):
        SwizzledLayout(())


@pytest.mark.parametrize(
    ("swizzle", "legal"),
    [(XorShuffle(64, 8), True), (XorShuffle(24, 8), False), (XorShuffle(48, 8), False)],
)
def test_bijection_of_a_layout(swizzle, legal):
    assert SwizzledLayout((swizzle,)).is_bijection(LdsTile((48, 64), 16)) is legal


@pytest.mark.parametrize(
    ("source", "instructions", "why"),
    [
        (256, 1, "equal in all lanes and waves: the halves of every vector swap alike"),
        (64, 2, "differs between waves"),
        (8, 2, "differs between lanes"),
    ],
)
def test_a_vector_stays_whole_where_a_swizzle_only_reorders_it(
    source: int, instructions: int, why: str
) -> None:
    tile = LdsTile((512,), 32)
    lanes = np.arange(64) % 16 * 4 + np.arange(2)[:, None] * 64
    access = LdsAccess(AccessKind.WRITE, 256 + lanes, 4)
    layout = SwizzledLayout((XorShuffle(4, 2, source, 1),))
    (cost,) = access_costs(lds_of("gfx942"), tile, layout, [access])
    assert cost.instructions == instructions, why
    assert cost == count_slowly(lds_of("gfx942"), tile, layout, access)
    names = {m.instruction.name for m in machine_accesses(lds_of("gfx942"), tile, layout, access)}
    assert names == ({"ds_write_b128"} if instructions == 1 else {"ds_write_b64"})


HUGE = np.int32(1 << 20)


@pytest.mark.parametrize(
    "make",
    [
        # Products of these wrap around to 0 in 32 bits.
        lambda: XorShuffle(HUGE, np.int32(1), np.int32(1 << 30)),  # pyright: ignore[reportArgumentType]
        lambda: XorShuffle(64, 8, 64.0),  # pyright: ignore[reportArgumentType]
        lambda: PaddedLayout(1.5),  # pyright: ignore[reportArgumentType]
        lambda: PaddedLayout(np.int64(-1)),  # pyright: ignore[reportArgumentType]
        lambda: SwizzledLayout((XorShuffle(64, 8),), 0.5),  # pyright: ignore[reportArgumentType]
        lambda: StridedLayout(((Mode(64, 1 << 30),),)),
        lambda: StridedLayout(((Mode(HUGE, np.int32(1 << 12)),),)),  # pyright: ignore
        lambda: StridedLayout(((Mode(64, 1.5),),)),  # pyright: ignore[reportArgumentType]
        lambda: LdsTile((64.5, 64), 16),  # pyright: ignore[reportArgumentType]
        lambda: LdsAccess(READ, np.array([0.5, 1.5]), 1),  # pyright: ignore[reportArgumentType]
        lambda: LdsAccess(READ, np.array([1 << 70]), 1),
        lambda: LdsAccess(READ, np.arange(64), 1, weight=0.5),  # pyright: ignore[reportArgumentType]
        lambda: CuteSwizzle(3, 1 << 40, 3),
        lambda: CuteSwizzle(3, 3, 1 << 40),
    ],
)
def test_numbers_without_a_meaning_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidParameterError):
        make()


def test_numbers_of_numpy_do_not_wrap() -> None:
    assert LdsTile((HUGE, HUGE), np.int32(16)).elements == 1 << 40  # pyright: ignore
    padded = PaddedLayout(np.int32(1 << 30))  # pyright: ignore[reportArgumentType]
    assert padded.size_bytes(LdsTile((64, 64), 16)) == 64 * ((1 << 30) + 64) * 2


@pytest.mark.parametrize("padding", [(1 << 32) - 64, (1 << 62) + 5])
def test_a_layout_that_32_bits_cannot_count_is_refused(padding: int) -> None:
    access = LdsAccess(READ, np.arange(64) * 64, 1)
    with pytest.raises(InvalidParameterError, match="bytes of the tile is"):
        access_costs(lds_of("gfx942"), LdsTile((64, 64), 16), PaddedLayout(padding), [access])
