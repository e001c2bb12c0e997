# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A framework is said to have no words for a layout only where all of its own cost more."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import bankwise
from bankwise.bank_model.accesses import LdsTile
from bankwise.bank_model.features import features_of
from bankwise.bank_model.layouts import SwizzledLayout
from bankwise.bank_model.lds_tables import lds_of
from bankwise.bank_model.linear_layout import linear_layout
from bankwise.bank_model.linear_swizzle import LinearSwizzle
from bankwise.bank_model.notations import CkTileSwizzle, CuteSwizzle, TmaSwizzle, WaveSwizzle
from bankwise.bank_model.swizzle_search import SearchSpace, field_steps
from bankwise.bank_model.swizzles import XorShuffle, xor_chain
from bankwise.tiles.framework_notations import Notation, notations
from bankwise.tiles.layout_text import layout_of

TILES = (
    ("gfx942", "64x64xf16", "rows:128", "columns"),
    ("gfx942", "128x32xf16", "rows:128", "mfma_f32_16x16x16_f16:A"),
    ("gfx942", "64x128xbf16", "rows:128", "columns:64"),
    ("gfx942", "32x128xf32", "rows:128", "columns"),
    ("gfx942", "64x256xf8", "rows:128", "columns:64"),
    ("gfx950", "64x64xbf16", "rows:128", "columns:128"),
    ("gfx950", "64x64xf16", "rows:128", "columns"),
    ("gfx950", "128x64xf8", "rows:128", "columns:64"),
    ("gfx950", "64x256xf8", "rows:128", "columns:64"),
    ("sm_80", "64x64xf16", "rows:128", "ldmatrix"),
    ("sm_80", "64x128xf32", "rows:128", "columns:64"),
    ("sm_80", "128x32xbf16", "cp.async", "ldmatrix"),
    ("sm_90", "64x64xbf16", "rows:128", "columns"),
    ("sm_90", "64x256xf16", "rows:128", "columns:32"),
    ("sm_90", "128x128xf8", "rows:128", "columns:64"),
)


def words_of(tile: LdsTile, name: str, arch: str) -> Iterator[LinearSwizzle]:
    """Yields all swizzles that a framework has for a tile, by its own definition."""
    bits, row = tile.elements.bit_length() - 1, tile.row_elements
    if name == "CuTe":
        for step in field_steps(SearchSpace(bits, (1 << bits) - 1)):
            yield CuteSwizzle(step.width, step.target, step.distance).linear()
    elif name == "CK Tile":
        for layer, pack, mul in np.ndindex(bits, bits, bits):
            if pack <= row.bit_length() - 1 + layer:
                yield CkTileSwizzle(row, 1 << pack, 1 << layer, 1 << mul).linear()
    elif name == "TMA" and features_of(arch).tensor_copies:
        for span in (32, 64, 128):
            if row * tile.element_bits <= span * 8:
                yield TmaSwizzle(span).linear().scaled(4 - tile.element_bits.bit_length())
    elif name == "Wave" and arch == "gfx950" and row * tile.element_bits >= 1024:
        yield WaveSwizzle(128 // tile.element_bits, row).linear()


def cheapest(found: bankwise.TileSolution, name: str) -> int | None:
    """Returns the fewest LDS cycles of all layouts of a framework, each counted in full."""
    named, lds = found.question.named, found.question.lds
    swizzles = {s for s in words_of(named.tile, name, lds.arch) if s.columns}
    layouts = [SwizzledLayout(xor_chain(s)) for s in swizzles if 1 << s.bits <= named.tile.elements]
    whole = [access for access in found.question.flat if access.instruction]
    cycles = [
        found.costs.of(layout).cycles
        for layout in layouts
        if not any(layout.group_elements(named.tile) % access.count for access in whole)
    ]
    return min(cycles, default=None)


def check(found: bankwise.TileSolution, each: Notation) -> None:
    """Raises AssertionError where what is said of a framework is not so."""
    chosen = found.written_swizzle
    assert chosen is not None
    if not each.is_expressible:
        least = cheapest(found, each.name)
        assert least is None or least > chosen.cycles, each
        if least is not None:
            assert f"and {least:,} LDS cycles, here" in each.text
        return
    question = found.question
    layout = layout_of(each.text, question.named.tile, question.lds)
    assert found.costs.of(layout).cycles <= chosen.cycles, each


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(("arch", "tile", "write", "read"), TILES)
def test_usual_tiles(arch: str, tile: str, write: str, read: str) -> None:
    found = bankwise.solve(arch, tile, write=write, read=read)
    if found.written_swizzle is None:
        return
    for each in found.notations:
        if each.name not in ("bits", "IREE", "CuTe"):
            check(found, each)


@pytest.mark.nightly
@pytest.mark.parametrize(("arch", "tile", "write", "read"), TILES)
def test_cute_has_a_single_xor(arch: str, tile: str, write: str, read: str) -> None:
    found = bankwise.solve(arch, tile, write=write, read=read)
    for each in found.notations:
        if each.name == "CuTe":
            check(found, each)


def test_another_layout_is_said_to_be_another() -> None:
    found = bankwise.solve("gfx942", "64x64xf16", write="rows:128", read="columns")
    each = {notation.name: notation for notation in found.notations}
    assert each["CuTe"].text.startswith("Swizzle<")
    assert each["CuTe"].note == "another layout: no more LDS cycles, 24 instructions more"
    assert f"{each['CuTe'].text} ({each['CuTe'].note})" in " ".join(str(found).split())
    assert each["IREE"].note == each["bits"].note == ""


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_triton_has_words_for_every_chain(bits: int) -> None:
    tile = LdsTile((64, 64), bits)
    layout = SwizzledLayout((XorShuffle(8, 2, 512), XorShuffle(64, 8), XorShuffle(16, 4, 1024)))
    (text,) = (n.text for n in notations(layout, tile, lds_of("gfx942")) if n.name == "Triton")
    assert text.startswith("SharedLinearLayout(offset_bases=[[0, 1], ")
    elements = np.arange(tile.elements)
    read = layout_of(text, tile, lds_of("gfx942"))
    assert (read.offsets(tile, elements) == layout.offsets(tile, elements)).all()


def test_bases_are_those_of_the_inverse() -> None:
    found = linear_layout(LinearSwizzle(((3, 1),)), LdsTile((2, 8), 16))
    assert str(found) == "#ttg.shared_linear<{offset = [[0, 1], [0, 2], [0, 4], [1, 1]]}>"


def test_wave_has_one_swizzle() -> None:
    tile = LdsTile((64, 64), 16)
    for arch, swizzle, text in (
        ("gfx950", XorShuffle(64, 8), "elements_per_thread = 8, max_phase = 8"),
        ("gfx942", XorShuffle(64, 8), "not expressible: Wave's pass has one swizzle"),
        ("gfx950", XorShuffle(64, 4), "not expressible: Wave's pass has one swizzle"),
    ):
        found = notations(SwizzledLayout((swizzle,)), tile, lds_of(arch))
        written = {each.name: each.text for each in found}
        assert written["Wave"].startswith(text)
