# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The search against exhaustive enumeration of the attribute's parameters, on small tiles."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.layouts import (
    Layout,
    PlainLayout,
    SwizzledLayout,
    access_cost,
    layout_conflicts,
)
from bankwise.bank_model.swizzles import XorShuffle
from bankwise.bank_model.targets import AccessKind, Target, target
from bankwise.dialect_utils.nested_layout import NestedLayout
from bankwise.dialect_utils.swizzle_legality import illegality
from bankwise.passes.swizzle_search import _apply, _Step, best_swizzle

READ, WRITE = AccessKind.READ, AccessKind.WRITE
F16_K = LdsTile((64, 128), 16)


def transfer(
    tile: LdsTile, kind: AccessKind, layout: NestedLayout, threads: int = 256, wave: int = 64
) -> tuple[LdsAccess, ...]:
    return layout.accesses(tile, kind, threads=threads, wave_size=wave)


def k_tile_accesses() -> tuple[LdsAccess, ...]:
    """The K tile of an f16 attention on gfx942: rows of 8 elements in, MFMA operands out."""
    copy = NestedLayout((1, 1), (4, 1), (1, 1), (16, 16), (1, 8), (0, 0), (16, 1))
    operand = NestedLayout((1, 1), (4, 4), (1, 1), (16, 4), (1, 8), (0, 0), (1, 16))
    return transfer(F16_K, WRITE, copy) + transfer(F16_K, READ, operand)


def cost(
    chip: Target, tile: LdsTile, layout: Layout, accesses: tuple[LdsAccess, ...]
) -> tuple[int, int, int]:
    """(wavefronts, conflict cycles, instructions), counted access by access."""
    counted = [(a.weight, len(a.elements), access_cost(chip, tile, layout, a)) for a in accesses]
    return (
        sum(weight * c.wavefronts for weight, _, c in counted),
        sum(weight * c.conflict_cycles for weight, _, c in counted),
        sum(weight * waves * c.instructions for weight, waves, c in counted),
    )


def all_xor_shuffles(elements: int) -> list[XorShuffle]:
    """Every xor_shuffle with power-of-two parameters on a tile of `elements`."""
    powers = [1 << k for k in range((elements - 1).bit_length() + 1)]
    return [
        XorShuffle(row, access, stride, per_phase)
        for row, access, stride, per_phase in itertools.product(powers, powers, powers, powers)
        if access <= row <= stride and per_phase <= row // access
    ]


def legal(chain: tuple[XorShuffle, ...], tile: LdsTile, accesses: tuple[LdsAccess, ...]) -> bool:
    footprints = [(a.count, int(np.gcd.reduce(a.elements, None))) for a in accesses]
    return illegality(chain, tile.elements, footprints) is None


@st.composite
def problems(draw: st.DrawFn) -> tuple[LdsTile, tuple[LdsAccess, ...]]:
    """Transfers of power-of-two layouts to a tile of 256 elements, in one wave of sm_80."""
    element_bits = draw(st.sampled_from([16, 32]))
    row_bits = draw(st.integers(2, 6))
    tile = LdsTile((256 >> row_bits, 1 << row_bits), element_bits)
    accesses: tuple[LdsAccess, ...] = ()
    for kind in (WRITE, READ):
        rows, columns = 8 - row_bits, row_bits
        element_column = draw(st.integers(0, min(2, columns)))
        element_row = draw(st.integers(0, 1 if element_column == 0 and rows else 0))
        rows -= element_row
        columns -= element_column
        thread_row = draw(st.integers(max(0, 5 - columns), min(5, rows)))
        thread_column = 5 - thread_row
        assume(thread_column <= columns)
        strides = (1 << thread_column, 1) if draw(st.booleans()) else (1, 1 << thread_row)
        layout = NestedLayout(
            (1, 1),
            (1 << (rows - thread_row), 1 << (columns - thread_column)),
            (1, 1),
            (1 << thread_row, 1 << thread_column),
            (1 << element_row, 1 << element_column),
            (0, 0),
            strides,
        )
        weight = draw(st.sampled_from([1, 3]))
        accesses += layout.accesses(tile, kind, threads=32, wave_size=32, weight=weight)
    return tile, accesses


@settings(max_examples=15, deadline=None)
@given(problems())
def test_best_of_all_single_swizzles(problem: tuple[LdsTile, tuple[LdsAccess, ...]]) -> None:
    tile, accesses = problem
    chip = target("sm_80")
    plain = cost(chip, tile, PlainLayout(), accesses)
    choice = best_swizzle(chip, tile, accesses, max_chain=1)
    # Counting one of many equal permutations is enough.
    distinct = {
        s.apply(np.arange(tile.elements)).tobytes() + bytes([s.access_width.bit_length()]): s
        for s in all_xor_shuffles(tile.elements)
        if legal((s,), tile, accesses)
    }
    best = min(cost(chip, tile, SwizzledLayout((s,)), accesses) for s in distinct.values())
    if choice is None:
        assert plain[1] == 0 or best[1] >= plain[1] or best > plain
    else:
        assert best == (choice.wavefronts, choice.conflict_cycles, choice.instructions)


@settings(max_examples=25, deadline=None)
@given(problems(), st.sampled_from(["sm_80"]))
def test_counts_are_exact_and_the_chain_is_legal(
    problem: tuple[LdsTile, tuple[LdsAccess, ...]], arch: str
) -> None:
    tile, accesses = problem
    chip = target(arch)
    choice = best_swizzle(chip, tile, accesses)
    plain = cost(chip, tile, PlainLayout(), accesses)
    if choice is None:
        return
    assert (choice.plain_wavefronts, choice.plain_conflict_cycles, choice.plain_instructions) == (
        plain
    )
    layout = SwizzledLayout(choice.swizzles)
    assert cost(chip, tile, layout, accesses) == (
        choice.wavefronts,
        choice.conflict_cycles,
        choice.instructions,
    )
    assert choice.conflict_cycles < choice.plain_conflict_cycles
    assert legal(choice.swizzles, tile, accesses)
    assert layout.is_bijection(tile)
    single = best_swizzle(chip, tile, accesses, max_chain=1)
    if single is not None:
        assert choice.conflict_cycles <= single.conflict_cycles
        assert choice.wavefronts <= single.wavefronts


def test_k_tile_of_an_f16_attention() -> None:
    accesses = k_tile_accesses()
    chip = target("gfx942")
    choice = best_swizzle(chip, F16_K, accesses)
    assert choice is not None
    assert len(choice.swizzles) == 1
    assert choice.plain_conflict_cycles == layout_conflicts(chip, F16_K, PlainLayout(), accesses)
    assert choice.plain_conflict_cycles > 0
    assert choice.conflict_cycles == 0
    assert choice.instructions == choice.plain_instructions
    # Vectors of 8 stay whole, and at most half of the column batches need a XOR of their own.
    assert choice.swizzles[0].access_width >= 8
    assert choice.address_registers <= 3


def test_conflict_free_tile_needs_nothing() -> None:
    tile = LdsTile((32, 32), 32)
    rows = NestedLayout((1, 1), (32, 1), (1, 1), (1, 32), (1, 1), (0, 0), (0, 1))
    accesses = transfer(tile, WRITE, rows, 32, 32) + transfer(tile, READ, rows, 32, 32)
    assert best_swizzle(target("sm_80"), tile, accesses) is None


def test_transpose_through_a_square_tile() -> None:
    tile = LdsTile((32, 32), 32)
    rows = NestedLayout((1, 1), (32, 1), (1, 1), (1, 32), (1, 1), (0, 0), (0, 1))
    columns = NestedLayout((1, 1), (1, 32), (1, 1), (32, 1), (1, 1), (0, 0), (1, 0))
    accesses = transfer(tile, WRITE, rows, 32, 32) + transfer(tile, READ, columns, 32, 32)
    choice = best_swizzle(target("sm_80"), tile, accesses)
    assert choice is not None
    assert choice.swizzles == (XorShuffle(32, 1, 32, 1),)
    assert (choice.plain_conflict_cycles, choice.conflict_cycles) == (32 * 31, 0)
    # One address for the row and one for each of the 32 columns.
    assert choice.address_registers == 32 + 32


def test_chain_where_one_swizzle_is_not_enough() -> None:
    """The P tile of an f32 attention on gfx942: 64x16, written in columns of 4, read in rows."""
    tile = LdsTile((64, 16), 32)
    written = NestedLayout((4, 1), (1, 1), (1, 1), (4, 16), (4, 1), (1, 0), (16, 1))
    read = NestedLayout((4, 1), (1, 4), (1, 1), (16, 4), (1, 1), (1, 0), (1, 16))
    accesses = transfer(tile, WRITE, written) + transfer(tile, READ, read)
    chip = target("gfx942")
    single = best_swizzle(chip, tile, accesses, max_chain=1)
    chain = best_swizzle(chip, tile, accesses, max_chain=3)
    assert single is not None and chain is not None
    assert single.conflict_cycles > 0
    assert chain.conflict_cycles == 0
    assert len(chain.swizzles) == 2
    assert layout_conflicts(chip, tile, SwizzledLayout(chain.swizzles), accesses) == 0


def test_splits_a_vector_only_where_it_pays() -> None:
    """f32: 16-byte writes and 4-byte reads of 16 rows; 4-element groups cannot spread 16 rows."""
    tile = LdsTile((16, 128), 32)
    written = NestedLayout((1, 1), (2, 1), (1, 1), (8, 32), (1, 4), (0, 0), (32, 1))
    read = NestedLayout((1, 1), (1, 32), (1, 1), (16, 4), (1, 1), (0, 0), (1, 16))
    accesses = transfer(tile, WRITE, written) + transfer(tile, READ, read)
    choice = best_swizzle(target("gfx942"), tile, accesses)
    assert choice is not None
    assert choice.conflict_cycles == 0
    assert min(s.access_width for s in choice.swizzles) == 2
    assert choice.instructions > choice.plain_instructions
    assert choice.wavefronts < choice.plain_wavefronts


def test_chains_apply_in_the_order_of_nested_hints() -> None:
    """bit 2 ^= bit 3 and bit 3 ^= bit 5 do not commute."""
    first, second = _Step(2, 1, 1), _Step(3, 1, 2)
    tile = LdsTile((64,), 32)
    offsets = np.arange(64)
    moved = _apply([(first, second), (second, first), (first,)], offsets)
    for chain, places in zip([(first, second), (second, first), (first,)], moved, strict=True):
        layout = SwizzledLayout(tuple(step.attribute() for step in chain))
        assert np.array_equal(layout.offsets(tile, offsets), places)
    assert not np.array_equal(moved[0], moved[1])


def test_rows_that_are_no_power_of_two() -> None:
    """48x80 has 3840 = 15 * 256 elements: swizzles of up to 256 elements are legal."""
    tile = LdsTile((48, 80), 16)
    rows = np.arange(64)[None] % 16 * 80
    accesses = tuple(
        LdsAccess(READ, rows + 16 * (np.arange(64)[None] // 16) + column, 4)
        for column in (0, 4, 8, 12)
    )
    chip = target("gfx942")
    choice = best_swizzle(chip, tile, accesses)
    assert choice is not None
    layout = SwizzledLayout(choice.swizzles)
    assert layout.is_bijection(tile)
    assert all(256 % s.row_width == 0 for s in choice.swizzles)
    assert layout_conflicts(chip, tile, layout, accesses) == choice.conflict_cycles
    assert choice.conflict_cycles < layout_conflicts(chip, tile, PlainLayout(), accesses)


@pytest.mark.parametrize("stride", [32, 64])
def test_inactive_lanes_do_not_conflict(stride: int) -> None:
    tile = LdsTile((32, 64), 32)
    lanes = np.arange(32)[None] * stride
    half = np.arange(32)[None] < 16
    chip = target("sm_80")
    for active in (half, None):
        accesses = (LdsAccess(READ, lanes, 1, active=active),)
        choice = best_swizzle(chip, tile, accesses)
        assert choice is not None
        assert choice.plain_conflict_cycles == (15 if active is not None else 31)
        assert choice.conflict_cycles == 0
    one = LdsAccess(READ, lanes, 1, active=np.arange(32)[None] == 5)
    assert best_swizzle(chip, tile, (one,)) is None
    # Issues with the same addresses and other masks are counted apart.
    both = best_swizzle(chip, tile, (one, LdsAccess(READ, lanes, 1, active=half)))
    assert both is not None
    assert both.plain_conflict_cycles == 15


def test_unaligned_accesses_are_counted_as_they_are() -> None:
    """Pairs at offsets 1 modulo 32 are two accesses each, and no group may cut them in two."""
    tile = LdsTile((32, 32), 32)
    accesses = (LdsAccess(READ, np.arange(32)[None] * 32 + 1, 2),)
    chip = target("sm_80")
    choice = best_swizzle(chip, tile, accesses)
    assert choice is not None
    assert choice.plain_instructions == 2
    assert min(s.access_width for s in choice.swizzles) != 2
    layout = SwizzledLayout(choice.swizzles)
    assert layout_conflicts(chip, tile, layout, accesses) == choice.conflict_cycles == 0


def test_offset_that_fits_no_group_is_not_hinted() -> None:
    """Vectors of 3 at any multiple of 3: only single elements stay together, and bytes cannot."""
    tile = LdsTile((32, 96), 8)
    accesses = (LdsAccess(READ, np.arange(32)[None] * 96 + 3 * (np.arange(32)[None] % 32), 3),)
    choice = best_swizzle(target("sm_80"), tile, accesses)
    assert choice is None


def test_weights_decide_between_accesses() -> None:
    """Two readers that no swizzle of this tile serves both: the one that runs more often wins."""
    tile = LdsTile((32, 32), 32)
    columns = np.arange(32)[None] * 32
    pairs = LdsAccess(READ, np.arange(32)[None] * 2 % 32 + np.arange(32)[None] // 16 * 32, 1)
    for heavy, light in ((1000, 1), (1, 1000)):
        accesses = (
            LdsAccess(READ, columns, 1, weight=heavy),
            LdsAccess(pairs.kind, pairs.elements, 1, weight=light),
        )
        choice = best_swizzle(target("sm_80"), tile, accesses, max_chain=1)
        assert choice is not None
        layout = SwizzledLayout(choice.swizzles)
        counted = [layout_conflicts(target("sm_80"), tile, layout, (a,)) for a in accesses]
        assert sum(counted) == choice.conflict_cycles
        assert choice.conflict_cycles < 1000


def test_no_chain_allowed() -> None:
    assert best_swizzle(target("gfx942"), F16_K, k_tile_accesses(), max_chain=0) is None
