# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands of matrix instructions and `ldmatrix` as access patterns."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bankwise
from bankwise.bank_model.lds_tables import known_targets
from bankwise.bank_model.matrix_operands import matrix_instructions


def accesses(arch: str, tile: str, pattern: str, threads: int | None = None):
    found = bankwise.count(arch, tile, read=pattern, threads=threads)
    return found.question.flat


def test_an_operand_is_read_block_after_block() -> None:
    found = accesses("gfx942", "32x32xf16", "mfma_f32_16x16x16_f16:A")
    assert [access.count for access in found] == [4] * 4
    # Lane 17 has row 1 and k 4 to 7 of each block, blocks along the rows first.
    first = 32 + 4
    places = [access.elements[0, 17] - first for access in found]
    assert places == [0, 16, 16 * 32, 16 * 32 + 16]
    # Four waves read the four blocks at once.
    (access,) = accesses("gfx942", "32x32xf16", "mfma_f32_16x16x16_f16:A", 256)
    assert access.elements[:, 17].tolist() == [first + place for place in places]


def test_a_transposed_tile_has_single_elements() -> None:
    found = accesses("gfx942", "16x16xf16", "mfma_f32_16x16x16_f16:AT")
    assert [access.count for access in found] == [1] * 4
    assert [access.elements[0, 17] for access in found] == [k * 16 + 1 for k in range(4, 8)]
    # The rows of D are neighbours in a tile that holds it transposed.
    assert [a.count for a in accesses("gfx942", "16x16xf32", "mfma_f32_16x16x16_f16:C")] == [1] * 4
    assert [a.count for a in accesses("gfx942", "16x16xf32", "mfma_f32_16x16x16_f16:CT")] == [4]


def test_registers_of_mma_are_accesses() -> None:
    found = accesses("sm_80", "16x16xf16", "mma.m16n8k16:A")
    assert [access.count for access in found] == [2] * 4
    assert [access.elements[0, 5] for access in found] == [18, 9 * 16 + 2, 26, 9 * 16 + 10]
    assert [access.count for access in accesses("sm_80", "16x8xf16", "mma.m16n8k16:B")] == [1] * 4
    assert [access.count for access in accesses("sm_80", "8x16xf16", "mma.m16n8k16:BT")] == [2] * 2
    assert [access.count for access in accesses("sm_80", "16x8xf32", "mma.m16n8k16:C")] == [2] * 2


def test_names_are_the_isas_or_irees() -> None:
    names = ("v_mfma_f32_16x16x16_f16:A", "MFMA_F32_16x16x16_F16:a", "mfma_f32_16x16x16_f16 : A")
    for name in names:
        (access,) = accesses("gfx942", "16x16xf16", name)
        assert access.count == 4


@pytest.mark.parametrize(
    ("name", "count", "lanes", "last"),
    [
        ("ldmatrix", 1, 32, 15 * 16 + 8),
        ("ldmatrix.x4.trans", 1, 32, 15 * 16 + 8),
        ("ldmatrix.x2", 2, 16, 7 * 16 + 8),
        ("ldmatrix.x1", 4, 8, 7 * 16),
    ],
)
def test_matrices_of_ldmatrix(name: str, count: int, lanes: int, last: int) -> None:
    found = accesses("sm_80", "16x16xf16", name)
    assert len(found) == count
    first = found[0]
    active = np.ones((1, 32), bool) if first.active is None else first.active
    assert active.sum() == lanes
    assert (first.count, first.instruction, first.alignment) == (8, "ldmatrix", 8)
    assert first.elements[active].max() == last
    rows = {e + k for a in found for e in a.elements[active].tolist() for k in range(8)}
    assert rows == set(range(256))


@pytest.mark.parametrize(
    ("arch", "tile", "pattern", "reason"),
    [
        ("gfx942", "16x16xf16", "mfma_f32_16x16x16_f16", "write which operand the tile is"),
        ("gfx942", "16x16xf16", "mfma_f32_16x16x16_f16:D", "write which operand the tile is"),
        ("gfx942", "16x16xf16", "mfma_f32_16x16x16_f16:AX", "write which operand the tile is"),
        ("gfx942", "16x16xf16", "mfma_f32_16x16x16_f16:A:B", "write which operand the tile is"),
        ("gfx942", "16x16xf32", "mfma_f32_16x16x16_f16:A", "of its A have 16 bits, and those"),
        ("gfx942", "16x24xf16", "mfma_f32_16x16x16_f16:A", "is not made of the 16 x 16 elements"),
        ("gfx942", "16x16xf16", "mfma_f32_16x16x32_f16:A", "no such matrix instruction"),
        ("gfx942", "16x16xf16", "mfma_f32_4x4x4_16b_f16:A", "of one block"),
        ("sm_80", "16x16xf64", "mma.m16n8k16:A", "have 16 or 8 bits"),
        ("sm_80", "16x16xf16", "ldmatrix.x3", "write 'ldmatrix'"),
        ("sm_80", "16x16xf16", "ldmatrix:A", "write 'ldmatrix'"),
        ("sm_80", "12x16xf16", "ldmatrix", "is not made of the 16 x 16 elements of ldmatrix"),
        ("sm_80", "16x16xf6", "ldmatrix", "no whole elements of 6 bits"),
        ("gfx942", "16x16xf16", "ldmatrix", "gfx942 has no ldmatrix"),
    ],
)
def test_errors(arch: str, tile: str, pattern: str, reason: str) -> None:
    with pytest.raises(bankwise.TileArgumentError, match=f"^read: '{pattern}': .*{reason}"):
        bankwise.count(arch, tile, read=pattern)


def test_ldmatrix_does_not_write() -> None:
    with pytest.raises(bankwise.TileArgumentError, match=r"^write: 'ldmatrix': ldmatrix reads"):
        bankwise.count("sm_80", "16x16xf16", write="ldmatrix")


EVERY = [
    (arch, name, letter, bits)
    for arch in known_targets()
    for name, instruction in matrix_instructions(arch).items()
    for letter in ("A", "AT", "B", "BT", "C", "CT")
    for bits in instruction.source_bits
    if bits >= 8
]


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(EVERY), st.sampled_from((1, 2)), st.sampled_from((1, 2, 4)))
def test_every_operand_covers_the_tile_once(
    case: tuple[str, str, str, int], down: int, across: int
) -> None:
    arch, name, letter, bits = case
    operand = matrix_instructions(arch)[name].operand(letter[0], bits)
    rows, columns = operand.transposed.shape if letter.endswith("T") else operand.shape
    tile = f"{rows * down}x{columns * across}xi{bits}"
    touched = [
        element + step
        for access in accesses(arch, tile, f"{name}:{letter}")
        for element in access.elements.ravel().tolist()
        for step in range(access.count)
    ]
    assert sorted(touched) == list(range(rows * down * columns * across))


# -- single instructions, random places, tables and layouts of registers ---------------------------


def counted(arch: str, tile: str, **given: Any) -> tuple[int, int, tuple[tuple[str, int], ...]]:
    found = bankwise.count(arch, tile, **given)
    return found.conflict_cycles, found.cycles, found.accesses[0].instructions


def test_stmatrix_writes_what_ldmatrix_reads() -> None:
    for layout in ("plain", "128B"):
        write = counted("sm_90", "64x64xf16", write="stmatrix.trans", layout=layout)
        read = counted("sm_90", "64x64xf16", read="ldmatrix", layout=layout)
        assert write[:2] == read[:2]
        assert write[2] == (("stmatrix", 16),)


def test_lanes_that_transpose_read_four_columns_each() -> None:
    (access, *_) = bankwise.count("gfx950", "16x16xf16", read="ds_read_b64_tr_b16").question.flat
    lanes = np.arange(64)
    expected = (lanes // 16 * 4 + lanes % 16 // 4) * 16 + lanes % 4 * 4
    assert (access.elements[0] == expected).all()
    bytes_ = counted("gfx950", "32x16xf8", read="ds_read_b64_tr_b8")
    assert bytes_[2] == (("ds_read_b64_tr_b8", 1),)


@pytest.mark.parametrize(
    ("pattern", "name", "number"),
    [
        ("cp.async", "cp.async.cg.16", 16),
        ("cp.async.ca", "cp.async.ca.16", 16),
        ("cp.async:64", "cp.async.ca.8", 32),
        ("cp.async.ca:32", "cp.async.ca.4", 64),
    ],
)
def test_asynchronous_copies(pattern: str, name: str, number: int) -> None:
    found = bankwise.count("sm_80", "64x64xf16", write=pattern)
    assert found.accesses[0].instructions == ((name, number),)
    sources = found.question.flat[1].copied
    assert sources is not None
    # A warp copies 4 rows of 128 bytes at a time, 16 bytes a lane.
    if number == 16:
        assert sources.addresses[0, :9].tolist() == [512, *range(528, 640, 16), 640]


def test_wgmma_reads_what_a_descriptor_gives() -> None:
    nvmma = "swizzlingByteWidth = 128, transposed = {}, elementBitWidth = 16"
    for read, tile, layout in (
        ("wgmma:B", "128x64xf16", "128B"),
        ("wgmma:A", "64x32xf16", "64B"),
        ("wgmma:BT", "64x128xf16", f"#ttg.nvmma_shared<{{{nvmma.format('false')}}}>"),
        ("wgmma:B", "128x64xf16", f"#ttg.nvmma_shared<{{{nvmma.format('true')}}}>"),
    ):
        conflicts, cycles, _ = counted("sm_90a", tile, read=read, layout=layout)
        rows, columns = map(int, tile.removesuffix("xf16").split("x"))
        assert (conflicts, cycles) == (0, rows * columns * 2 // 128)
    with pytest.raises(bankwise.TileArgumentError, match="no descriptor of wgmma gives this"):
        bankwise.count("sm_90a", "128x64xf16", read="wgmma:B", layout="padded:8")
    with pytest.raises(bankwise.TileArgumentError, match="know few swizzles"):
        bankwise.solve("sm_90a", "128x64xf16", read="wgmma:B")


def test_random_places_are_those_of_the_seed() -> None:
    found = [bankwise.count("gfx942", "64x64xf32", read=f"random:{seed}") for seed in (1, 1, 2)]
    places = [np.concatenate([a.elements for a in each.question.flat]) for each in found]
    assert (places[0] == places[1]).all() and (places[0] != places[2]).any()
    assert places[0][0, :4].tolist() == [1061, 235, 3980, 1096]
    assert found[0].conflict_cycles > 0


def test_a_table_of_addresses_answers_for_anything(tmp_path: Path) -> None:
    table = np.stack([np.arange(64) * 128, np.where(np.arange(64) < 32, np.arange(64) * 16, -1)])
    found = bankwise.count("gfx942", "64x64xf32", read=table)
    assert [int(cost.conflict_cycles) for cost in found.accesses[0].costs] == [62 + 3]
    # 32 lanes that lie 16 bytes apart: each bank has 4 words in each of the two halves.
    assert found.cycles == 64 + 4
    file = tmp_path / "table.npy"
    np.save(file, table)
    again = bankwise.count("gfx942", "64x64xf32", read=f"addresses={file}")
    assert (again.cycles, again.conflict_cycles) == (found.cycles, found.conflict_cycles)
    wide = bankwise.count("gfx942", "64x64xf32", read=f"addresses={file}:128")
    assert wide.accesses[0].instructions == (("ds_read_b128", 1),)
    assert bankwise.solve("gfx942", "64x64xf32", read=table[:1]).best.conflict_cycles == 0


@pytest.mark.parametrize(
    ("read", "reason"),
    [
        (np.zeros((2, 32), dtype=int), "it has 32 lanes, and waves of gfx942 have 64"),
        (np.arange(64), "byte 1 is inside an element of 32 bits"),
        (np.arange(64) * 4096, "leaves the tile's elements 0 to 4095"),
        (np.full(64, -1), "no lane takes part"),
        (np.zeros(64), "no table of whole numbers"),
        ("addresses=/nowhere/table.npy", "No such file"),
        ("random:-1", "write a seed behind it"),
        ("stmatrix", "stmatrix writes"),
        ("ds_read_b64_tr_b16", "gfx942 has no ds_read_b64_tr_b16"),
        ("((4,8),(2,2)):((32,1),(16,8))", "covers 128 elements, and the tile has 4,096"),
        ("((4,8),(2,2)):((32,1),(16,8)) tiler (24,8)", "the tile of 64 x 64 is not made"),
        ("#ttg.swizzled_shared<{vec = 8}>", "no layout of registers that is read"),
        (
            "#ttg.dot_op<{opIdx = 0, parent = #ttg.amd_wmma<{version = 1}>, kWidth = 16}>",
            "operands of amd_wmma are not read",
        ),
        ("Tiled MMA Thr Layout VMNK: (32,2,2,1):(1,32,64,0)", "its operand's layout is read alone"),
    ],
)
def test_why_an_access_is_not_read(read: Any, reason: str) -> None:
    with pytest.raises(bankwise.TileArgumentError, match=f"^read: .*{re.escape(reason)}"):
        bankwise.count("gfx942", "64x64xf32", read=read)


def test_layouts_of_registers_say_how_many_threads_there_are() -> None:
    mfma = (
        "#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [16, 16, 16], "
        "isTransposed = true}>"
    )
    found = bankwise.count(
        "gfx942",
        "64x64xf16",
        write="#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 8], "
        "warpsPerCTA = [4, 1], order = [1, 0]}>",
        read=f"#mma = {mfma}\n#ttg.dot_op<{{opIdx = 0, parent = #mma, kWidth = 4}}>",
    )
    assert found.question.lanes.threads == 256
    blocked = bankwise.count("gfx942", "64x64xf16", write="blocked:8x8:128", threads=256)
    operand = bankwise.count("gfx942", "64x64xf16", read="mfma_f32_16x16x16_f16:A")
    assert found.accesses[0].costs == blocked.accesses[0].costs
    # Two columns of warps read the same rows.
    assert found.accesses[1].cycles == 2 * operand.cycles
    assert found.accesses[1].conflict_cycles == 2 * operand.conflict_cycles
    with pytest.raises(bankwise.TileArgumentError, match="of 256 threads, and there are 64"):
        bankwise.count("gfx942", "64x64xf16", write=BLOCKED, threads=64)
    with pytest.raises(bankwise.TileArgumentError, match="warps have 64 lanes, and waves of sm_80"):
        bankwise.count("sm_80", "64x64xf16", write=BLOCKED)


BLOCKED = (
    "BlockedLayout(size_per_thread=[1, 8], threads_per_warp=[8, 8], warps_per_cta=[4, 1], "
    "order=[1, 0], cga_layout=[])"
)


def test_thread_value_layouts_of_cute() -> None:
    text = "((8,16),8):((128,1),16)"
    tiled = f"Tiled Copy\n  Tiler MN:        (16:1,64:1)\n  TV Layout tiled: {text}\nCopy Atom"
    for words in (f"{text} tiler (16,64)", tiled):
        found = bankwise.count("sm_90", "64x64xf16", read=words)
        rows = bankwise.count("sm_90", "64x64xf16", read="rows:128", threads=128)
        assert found.question.lanes.threads == 128
        assert found.accesses[0].costs == rows.accesses[0].costs
