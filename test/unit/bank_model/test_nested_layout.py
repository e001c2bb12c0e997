# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nested layouts against their definition, spelled out element by element."""

from __future__ import annotations

import itertools
from collections import defaultdict
from math import prod

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bankwise.bank_model.accesses import LdsTile
from bankwise.bank_model.lds_rules import AccessKind
from bankwise.bank_model.nested_layout import NestedLayout, NestedLayoutError, TilePart

K_TILE = NestedLayout((1, 1), (4, 1), (1, 1), (16, 16), (1, 8), (0, 0), (16, 1))
TEXT = (
    "#iree_vector_ext.nested_layout<subgroup_tile = [1, 1], batch_tile = [4, 1], "
    "outer_tile = [1, 1], thread_tile = [16, 16], element_tile = [1, 8], "
    "subgroup_strides = [0, 0], thread_strides = [16, 1]>"
)
WAVE = 8
CHECKED = settings(max_examples=60, deadline=None)


@st.composite
def layouts(draw: st.DrawFn, max_rank: int = 3) -> NestedLayout:
    """Draws layouts that IREE can distribute: strides nest, thread ids may be unused."""
    rank = draw(st.integers(1, max_rank))
    sizes = st.sampled_from([1, 1, 2, 3, 4])

    def distribution() -> tuple[tuple[int, ...], tuple[int, ...]]:
        tile, strides = [1] * rank, [0] * rank
        next_stride = 1
        for dim in draw(st.permutations(range(rank))):
            tile[dim] = draw(sizes)
            if tile[dim] > 1:
                next_stride *= draw(st.sampled_from([1, 1, 2]))
                strides[dim] = next_stride
                next_stride *= tile[dim]
        return tuple(tile), tuple(strides)

    def unrolled() -> tuple[int, ...]:
        return tuple(draw(st.sampled_from([1, 1, 2])) for _ in range(rank))

    subgroup_tile, subgroup_strides = distribution()
    thread_tile, thread_strides = distribution()
    batch, outer = unrolled(), unrolled()
    element = tuple(draw(sizes) for _ in range(rank))
    return NestedLayout(
        subgroup_tile, batch, outer, thread_tile, element, subgroup_strides, thread_strides
    )


def elements_of(layout: NestedLayout, thread: int) -> dict[tuple[int, ...], tuple[int, ...]]:
    """Returns the vector index of each (batch, outer, element) of one thread by definition."""
    held = {}
    unrolled = [*layout.batch_tile, *layout.outer_tile, *layout.element_tile]
    for position in itertools.product(*map(range, unrolled)):
        index = []
        for d in range(layout.rank):
            b, o, e = (position[d + k * layout.rank] for k in range(3))
            s = t = 0
            if layout.subgroup_strides[d]:
                s = thread // WAVE // layout.subgroup_strides[d] % layout.subgroup_tile[d]
            if layout.thread_strides[d]:
                t = thread // layout.thread_strides[d] % layout.thread_tile[d]
            i = s
            for digit, size in (
                (b, layout.batch_tile[d]),
                (o, layout.outer_tile[d]),
                (t, layout.thread_tile[d]),
                (e, layout.element_tile[d]),
            ):
                i = i * size + digit
            index.append(i)
        held[position] = tuple(index)
    return held


def touched(accesses, thread: int) -> dict[int, int]:
    """Returns how often each linear element of the tile is touched by one thread."""
    count: dict[int, int] = defaultdict(int)
    for access in accesses:
        wave, lane = divmod(thread, WAVE)
        if access.active is None or access.active[wave, lane]:
            first = int(access.elements[wave, lane])
            for k in range(access.count):
                count[first + k] += 1
    return dict(count)


def test_parse_prints_what_it_read() -> None:
    assert NestedLayout.parse(TEXT) == K_TILE
    assert str(K_TILE) == TEXT
    assert K_TILE.shape == (64, 128)


@pytest.mark.parametrize(
    "text",
    [
        "#iree_codegen.xor_shuffle<64, 16>",
        TEXT.replace("batch_tile = [4, 1], ", ""),
        TEXT.replace("batch_tile = [4, 1]", "batch_tile = [4]"),
        TEXT.replace("batch_tile = [4, 1]", "batch_tile = [0, 1]"),
        TEXT.replace("thread_strides = [16, 1]", "thread_strides = [-16, 1]"),
    ],
)
def test_parse_rejects(text: str) -> None:
    with pytest.raises(NestedLayoutError):
        NestedLayout.parse(text)


def test_rank_0() -> None:
    text = TEXT
    for values in ("[1, 1]", "[4, 1]", "[16, 16]", "[1, 8]", "[0, 0]", "[16, 1]"):
        text = text.replace(values, "[]")
    assert NestedLayout.parse(text).shape == ()


@CHECKED
@given(layouts(), st.integers(1, 40), st.data())
def test_reads_touch_what_the_definition_says(
    layout: NestedLayout, threads: int, data: st.DataObject
) -> None:
    margin = data.draw(st.lists(st.integers(0, 2), min_size=layout.rank, max_size=layout.rank))
    order = data.draw(st.permutations(range(layout.rank)))
    origin = [data.draw(st.integers(0, m)) for m in margin]
    shape = [0] * layout.rank
    for v, m in enumerate(order):
        shape[m] = layout.shape[v] + margin[m]
    tile = LdsTile(tuple(shape), 16)
    accesses = layout.accesses(
        TilePart(tile, order, origin), AccessKind.READ, threads=threads, wave_size=WAVE
    )
    for thread in range(-(-threads // WAVE) * WAVE):
        expected: dict[int, int] = defaultdict(int)
        if thread < threads:
            for index in elements_of(layout, thread).values():
                place = list(origin)
                for v, m in enumerate(order):
                    place[m] += index[v]
                expected[int(np.ravel_multi_index(place, shape))] += 1
        assert touched(accesses, thread) == expected
    run = layout.element_tile[list(order).index(layout.rank - 1)]
    assert {a.count for a in accesses} == {run}


@CHECKED
@given(layouts())
def test_every_element_is_written_by_exactly_one_thread(layout: NestedLayout) -> None:
    used = (t * stride for t, stride in zip(layout.thread_tile, layout.thread_strides, strict=True))
    # Otherwise waves and thread tiles overlap in the thread id.
    assume(WAVE % max((1, *used)) == 0)
    waves = prod(layout.subgroup_tile) * 8
    tile = LdsTile(layout.shape, 32)
    accesses = layout.accesses(
        TilePart(tile), AccessKind.WRITE, threads=waves * WAVE, wave_size=WAVE
    )
    count: dict[int, int] = defaultdict(int)
    for thread in range(waves * WAVE):
        for element, times in touched(accesses, thread).items():
            count[element] += times
    assert count == dict.fromkeys(range(prod(layout.shape)), 1)


def test_duplicated_threads_read_but_do_not_write() -> None:
    layout = NestedLayout((1,), (1,), (1,), (4,), (2,), (0,), (1,))
    tile = LdsTile((8,), 32)
    reads = layout.accesses(TilePart(tile), AccessKind.READ, threads=16, wave_size=WAVE)
    writes = layout.accesses(TilePart(tile), AccessKind.WRITE, threads=16, wave_size=WAVE)
    assert reads[0].active is None
    assert writes[0].active is not None
    assert np.argwhere(writes[0].active).tolist() == [[0, 0], [0, 1], [0, 2], [0, 3]]


def test_broadcast_dimension_reads_once() -> None:
    layout = NestedLayout((1, 1), (4, 1), (1, 1), (1, 8), (1, 2), (0, 0), (0, 1))
    accesses = layout.accesses(
        TilePart(LdsTile((3, 16), 32), [None, 1], [2, 0]),
        AccessKind.READ,
        threads=8,
        wave_size=WAVE,
    )
    assert [a.elements.tolist() for a in accesses] == [[[32 + 2 * lane for lane in range(8)]]]


def test_transposed_transfer_is_made_of_scalars() -> None:
    layout = NestedLayout((1, 1), (1, 1), (1, 1), (8, 1), (1, 4), (0, 0), (1, 0))
    accesses = layout.accesses(
        TilePart(LdsTile((4, 8), 32), [1, 0]), AccessKind.READ, threads=8, wave_size=WAVE
    )
    assert [(a.count, int(a.elements[0, 0])) for a in accesses] == [
        (1, 0),
        (1, 8),
        (1, 16),
        (1, 24),
    ]


def test_transfer_that_leaves_the_tile() -> None:
    with pytest.raises(NestedLayoutError, match="leaves dimension 0"):
        K_TILE.accesses(
            TilePart(LdsTile((64, 128), 16), origin=[1, 0]),
            AccessKind.READ,
            threads=256,
            wave_size=64,
        )


def test_overlapping_strides() -> None:
    layout = NestedLayout((1, 1), (1, 1), (1, 1), (4, 4), (1, 1), (0, 0), (2, 1))
    with pytest.raises(NestedLayoutError, match="overlap"):
        layout.accesses(TilePart(LdsTile((4, 4), 32)), AccessKind.READ, threads=8, wave_size=WAVE)


def test_distributed_dimension_without_stride() -> None:
    layout = NestedLayout((1,), (1,), (1,), (4,), (1,), (0,), (0,))
    with pytest.raises(NestedLayoutError, match="stride 0"):
        layout.accesses(TilePart(LdsTile((4,), 32)), AccessKind.READ, threads=8, wave_size=WAVE)


@CHECKED
@given(layouts(), st.data())
def test_permute_moves_every_element(layout: NestedLayout, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(layout.rank)))
    permuted = layout.permute(order)
    for thread in range(16):
        expected = {tuple(i[d] for d in order) for i in elements_of(layout, thread).values()}
        assert set(elements_of(permuted, thread).values()) == expected


@CHECKED
@given(layouts(), st.data())
def test_project_forgets_dimensions(layout: NestedLayout, data: st.DataObject) -> None:
    dropped = data.draw(st.lists(st.booleans(), min_size=layout.rank, max_size=layout.rank))
    kept = [d for d in range(layout.rank) if not dropped[d]]
    projected = layout.project(dropped)
    for thread in range(16):
        expected = {tuple(i[d] for d in kept) for i in elements_of(layout, thread).values()}
        assert set(elements_of(projected, thread).values()) == expected


@st.composite
def reshapes(draw: st.DrawFn) -> tuple[NestedLayout, list[int]]:
    """Returns a layout and a shape with as many elements."""
    layout = draw(layouts(max_rank=2))
    remaining = prod(layout.shape)
    shape = []
    while remaining > 1:
        divisors = [d for d in range(2, remaining + 1) if remaining % d == 0]
        shape.append(draw(st.sampled_from(divisors)))
        remaining //= shape[-1]
    return layout, draw(st.permutations(shape))


@CHECKED
@given(reshapes())
def test_reshape_leaves_every_element_with_its_thread(case: tuple[NestedLayout, list[int]]) -> None:
    layout, shape = case
    reshaped = layout.reshape(shape)
    if reshaped is None:
        return
    assert list(reshaped.shape) == shape

    def linear(of: NestedLayout, thread: int) -> set[int]:
        pitch = [prod(of.shape[d + 1 :]) for d in range(of.rank)]
        held = elements_of(of, thread).values()
        return {sum(i * p for i, p in zip(index, pitch, strict=True)) for index in held}

    for thread in range(WAVE * 8):
        assert linear(reshaped, thread) == linear(layout, thread)


@CHECKED
@given(layouts(max_rank=2))
def test_reshape_to_the_same_shape_with_unit_dimensions(layout: NestedLayout) -> None:
    wide = layout.reshape([1, *layout.shape, 1])
    assert wide is not None
    back = wide.reshape(layout.shape)
    assert back == layout.reshape(layout.shape)
    assert back is not None and back.shape == layout.shape


def test_reshape_of_an_mma_operand() -> None:
    layout = NestedLayout((4, 1), (1, 4), (1, 1), (16, 4), (1, 8), (1, 0), (1, 16))
    expanded = layout.reshape([4, 16, 4, 32])
    assert expanded == NestedLayout(
        (4, 1, 1, 1),
        (1, 1, 4, 1),
        (1,) * 4,
        (1, 16, 1, 4),
        (1, 1, 1, 8),
        (1, 0, 0, 0),
        (0, 1, 0, 16),
    )
    assert expanded is not None
    assert expanded.reshape([64, 128]) == layout


def test_reshape_that_no_layout_describes() -> None:
    # Columns 0..3 of 8 are batches of 2 elements: a dimension of 3 cuts through them.
    layout = NestedLayout((1,), (4,), (1,), (3,), (2,), (0,), (1,))
    assert layout.reshape([8, 3]) is None
    assert layout.reshape([5]) is None
    # Elements after threads in one dimension.
    rows = NestedLayout((1, 1), (1, 1), (1, 1), (4, 2), (2, 1), (0, 0), (2, 1))
    assert rows.reshape([16]) is None
    # Threads of two dimensions merge only where their ids are contiguous.
    ones, tile = (1, 1), (4, 4)
    inner_first = NestedLayout(ones, ones, ones, tile, ones, (0, 0), (4, 1))
    merged = inner_first.reshape([16])
    assert merged == NestedLayout((1,), (1,), (1,), (16,), (1,), (0,), (1,))
    outer_first = NestedLayout(ones, ones, ones, tile, ones, (0, 0), (1, 4))
    assert outer_first.reshape([16]) is None
