# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts as Triton 3.9.0 and the CuTe DSL 4.8.1 print them, held to what their functions gave.

`test/oracles/` writes the tables. With the extra `oracles` installed, the marker `oracles` compares
the tables with the packages' own functions again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bankwise
from bankwise.bank_model.accesses import LdsTile
from bankwise.bank_model.lds_tables import lds_of
from bankwise.tiles.lane_layouts import lane_layout
from bankwise.tiles.layout_text import layout_of

RECORDED = Path(__file__).with_name("recorded")
GFX950 = lds_of("gfx950")
Row = dict[str, Any]


def table(name: str) -> list[Row]:
    return json.loads((RECORDED / f"{name}.json").read_text())


def numbers(bases: list[list[int]], shape: list[int]) -> np.ndarray:
    """Returns the row-major element of each combination of bases."""
    found = np.zeros(1, dtype=np.int64)
    for basis in bases:
        element = 0
        for size, coordinate in zip(shape, basis, strict=True):
            element = element * size + coordinate
        found = np.concatenate([found, found ^ element])
    return found


def triton_places(row: Row) -> list[int]:
    """Returns the place of each element; of places that hold the same element, the first."""
    held = numbers(row["offset"], row["shape"])
    place = np.arange(len(held))
    place = place + sum(place // interval * padding for interval, padding in row["gaps"])
    _, first = np.unique(held, return_index=True)
    return place[first].tolist()


SHARED = [row for row in table("triton") if "offset" in row]
LANES = [row for row in table("triton") if "lane" in row]


@pytest.mark.parametrize("words", ["text", "gluon"])
def test_shared_memory_of_triton(words: str) -> None:
    assert len(SHARED) == 96
    for row in SHARED:
        tile = LdsTile(tuple(row["shape"]), row["bits"])
        layout = layout_of(row[words], tile, GFX950)
        places = layout.offsets(tile, np.arange(tile.elements)).tolist()
        assert places == triton_places(row), row[words]
        # What is said of it is read as the same again.
        again = layout_of(str(layout), tile, GFX950)
        assert (again.offsets(tile, np.arange(tile.elements)) == places).all(), str(layout)


@pytest.mark.parametrize("words", ["text", "gluon"])
def test_registers_of_triton(words: str) -> None:
    assert len(LANES) == 55
    for row in LANES:
        tile = LdsTile(tuple(row["shape"]), row["bits"])
        found = lane_layout(row[words], tile)
        threads = numbers([*row["lane"], *row["warp"]], row["shape"])
        registers = numbers([basis for basis in row["register"] if any(basis)], row["shape"])
        assert found.wave_size == 1 << len(row["lane"])
        assert (found.elements[0] == threads).all(), row[words]
        assert sorted(found.elements[:, 0].tolist()) == sorted(registers.tolist()), row[words]


def test_layouts_of_the_cute_dsl() -> None:
    from bankwise.test.oracles.digests import digest

    rows = table("cute")
    assert len(rows) == 68
    for row in rows:
        tile = LdsTile(tuple(row["shape"]), 16)
        if "places" in row:
            layout = layout_of(row["text"], tile, GFX950)
            found = digest(layout.offsets(tile, np.arange(tile.elements)).tolist())
            assert found == row["places"], row["text"]
        else:
            held = lane_layout(" ".join(row["text"].split()), tile).elements.T.tolist()
            assert digest([sorted(each) for each in held]) == row["lanes"], row["text"]


@pytest.mark.oracles
def test_triton_still_says_so() -> None:
    pytest.importorskip("triton")
    from bankwise.test.oracles.triton_layouts import rows

    assert rows() == table("triton")


@pytest.mark.oracles
def test_the_cute_dsl_still_says_so() -> None:
    pytest.importorskip("cutlass")
    from bankwise.test.oracles.cute_layouts import rows

    assert rows() == table("cute")


@pytest.mark.oracles
@pytest.mark.parametrize("span", [32, 64, 128])
def test_tilelang_swizzles_as_tma(span: int) -> None:
    layouts = pytest.importorskip("tilelang.layout")
    make = {
        32: layouts.make_quarter_bank_swizzled_layout,
        64: layouts.make_half_bank_swizzled_layout,
        128: layouts.make_full_bank_swizzled_layout,
    }[span]
    from tvm import tirx  # pyright: ignore[reportMissingImports]

    columns = span // 2
    tile = LdsTile((32, columns), 16)
    layout = make(tirx.decl_buffer((32, columns), "float16", scope="shared"))
    indices = [
        [int(index) for index in layout.map_forward_index([row, column])]
        for row in range(32)
        for column in range(columns)
    ]
    sizes = [int(size) for size in layout.get_output_shape()]
    places = np.ravel_multi_index(tuple(np.array(indices).T), tuple(sizes)).tolist()
    text = f"CU_TENSOR_MAP_SWIZZLE_{span}B"
    assert layout_of(text, tile, GFX950).offsets(tile, np.arange(tile.elements)).tolist() == places


# -- the right values of texts whose packages have no function for them ----------------------------


def bits(text: str, tile: LdsTile) -> str:
    """Returns which bits of an element's number a layout XORs."""
    found = layout_of(text, tile, GFX950)
    moved = [int(found.offsets(tile, np.array([1 << bit]))[0]) for bit in range(12)]
    each = []
    for target_bit in range(12):
        sources = [f"o[{s}]" for s in range(12) if s != target_bit and moved[s] >> target_bit & 1]
        if sources:
            each.append(f"o[{target_bit}] ^= {' ^ '.join(sources)}")
    return ", ".join(each)


def test_the_rotating_layout_of_amd() -> None:
    text = "#ttg.amd_rotating_shared<{vec = 4, perPhase = 1, maxPhase = 16, order = [1, 0]}>"
    assert bits(text, LdsTile((64, 64), 16)) == (
        "o[2] ^= o[6] ^ o[10], o[3] ^= o[7] ^ o[11], o[4] ^= o[8], o[5] ^= o[9]"
    )
    by_columns = text.replace("[1, 0]", "[0, 1]")
    down = bankwise.count("gfx942", "64x64xf16", write="rows.T:64", layout=by_columns)
    along = bankwise.count("gfx942", "64x64xf16", write="rows:64", layout=text)
    assert (down.cycles, down.accesses[0].instructions) == (
        along.cycles,
        along.accesses[0].instructions,
    )


PADDED = (
    "#ttg.padded_shared<[512:+8] {offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], "
    "[64, 0], [32, 0], [16, 0], [1, 0], [2, 0], [4, 0], [8, 0]], block = []}>"
)


@pytest.mark.parametrize(
    ("shape", "text", "same"),
    [
        (
            (128, 64),
            PADDED,
            "((2,2,2,2,2,2,2),64):((520,1040,2080,4160,256,128,64),1)",
        ),
        (
            (128, 64),
            "#ttg.padded_shared<[128:+8] {order = [1, 0], shape = [128, 64]}>",
            "((2,64),64):((64,136),1)",
        ),
        (
            (64, 128),
            "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, "
            "elementBitWidth = 16}>",
            "Sw<3,4,3> o smem_ptr[16b](unset) o (64,(64,2)):(64,(1,4096))",
        ),
        (
            (64, 64),
            "#ttg.partitioned_shared<{numPartitions = 2, numGroups = 4, partitionDim = 0, "
            "partitionLayout = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, "
            "order = [1, 0]}>}>",
            "Sw<3,3,3> o 0 o ((8,2,4),64):((64,2048,512),1)",
        ),
        (
            (8, 64),
            "tensor<ptr<f16, smem, align<1024>, S<3,4,3>> o (8,64):(64,1)>",
            "Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(64,1)",
        ),
        ((64, 64), "ComposedLayout<S<3,3,3> o 0 o (64,64):(64,1)>", "Swizzle<3,3,3>"),
        ((64, 64), "!fly.layout<(64,64):(1,64)>", "(64,64):(1,64)"),
        (
            (64, 64),
            "!ttg.memdesc<64x64xf16, #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, "
            "order = [1, 0], CGALayout = [[0, 0]]}>, #ttg.shared_memory, mutable>",
            "vec = 8, perPhase = 1, maxPhase = 8",
        ),
        (
            (64, 64),
            "#shared = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>",
            "Swizzle<3,3,3>",
        ),
    ],
)
def test_what_a_text_is_the_same_as(shape: tuple[int, int], text: str, same: str) -> None:
    tile = LdsTile(shape, 16)
    elements = np.arange(tile.elements)
    found, expected = (layout_of(each, tile, GFX950) for each in (text, same))
    assert (found.offsets(tile, elements) == expected.offsets(tile, elements)).all()


def test_a_text_that_may_mean_two_things_is_answered_with_both() -> None:
    text = "S<3,4,3> o 0 o ((8,8),(64,1)):((64,512),(1,0))"
    found = bankwise.count("sm_90", "64x64xf16", read="ldmatrix", layout=text)
    assert found.conflict_cycles == 64
    (remark,) = found.remarks
    other = remark.partition("count that as '")[2].removesuffix("'")
    assert "there are 0 conflict cycles" in remark
    assert bankwise.count("sm_90", "64x64xf16", read="ldmatrix", layout=other).remarks == ()
    assert remark in " ".join(str(found).split())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16, "
            "CGALayout = [[1, 0]]}>",
            "give the tile of one block, without CGALayout",
        ),
        ("#ttg.blocked<{sizePerThread = [1, 8]}>", "no layout of shared memory that is read"),
        ("#ttg.shared_linear<{offset = [[0, 1], [1, 0]]}, alignment = 16>", "a layout of 2x2"),
        ("#ttg.shared_linear<{offset = [[0, 1], [0, 1]]}>", "every element of the tile once"),
        ("#ttg.swizzled_shared<{vec = 8, perPhase = 1, order = [1, 0]}>", "maxPhase = a number"),
        ("#ttg.swizzled_shared<{vec = 8, vec = 8}>", "names vec twice"),
        ("#ttg.swizzled_shared<{vec = 8, perPhase", "missing"),
        ("#ttg.nvmma_shared<{swizzlingByteWidth = 128, elementBitWidth = 8}>", "have 8 bits"),
        ("NewSharedLayout(vec=8)", "no layout of Gluon's that is read"),
        ("tensor<ptr<f32, smem> o (64,64):(64,1)>", "have 32 bits, and those of the tile 16"),
    ],
)
def test_which_part_is_not_read(text: str, reason: str) -> None:
    with pytest.raises(bankwise.TileArgumentError, match=f"^layout: .*{reason}"):
        bankwise.count("sm_90", "64x64xf16", read="rows", layout=text)
