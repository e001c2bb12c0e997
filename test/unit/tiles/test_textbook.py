# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiles of textbooks, manuals and tutorials, whose conflicts are known, asked by `bankwise-tile`.

Each answer may take 1 s of CPU, from the start of Python to its end.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import pytest

import bankwise


@dataclass(frozen=True)
class Textbook:
    """A tile, and what is known of it.

    Attributes:
        plain: conflict cycles of one read (or write) of each argument, fewest and most.
        known: a layout that the source gives, and that leaves no conflicts.
        notations: how the solver's swizzle is written elsewhere, as the source writes it.
    """

    target: str
    tile: str
    arguments: tuple[str, ...]
    plain: tuple[tuple[int, int], ...]
    known: tuple[str, ...] = ()
    notations: dict[str, str] = field(default_factory=dict)


CASES = {
    # M. Harris, "An Efficient Matrix Transpose in CUDA C/C++" (NVIDIA blog, 2013): a column of a
    # 32 x 32 tile of floats lies in one bank, a 32-way conflict; one more column, TILE_DIM + 1,
    # has none. L. Mao, "CUDA Shared Memory Swizzling": neither has column ^ row.
    "transpose_f32": Textbook(
        "sm_80",
        "32x32xf32",
        ("--write=rows", "--read=columns"),
        ((0, 0), (31, 31)),
        ("padded:1", "xor_shuffle<32, 1>", "Swizzle<5, 0, 5>"),
        {"bits": "o[0] ^= o[5], o[1] ^= o[6], o[2] ^= o[7], o[3] ^= o[8], o[4] ^= o[9]"}
        | {"CuTe": "Swizzle<5, 0, 5>", "Triton": "vec = 1, perPhase = 1, maxPhase = 32"},
    ),
    # The same on AMD: ds_read_b32 serves 32 lanes at a time (ROCm/composable_kernel,
    # docs/conceptual/ck_tile/hardware/lds_bank_conflicts.rst), so that 64 lanes are two phases.
    "transpose_f32_amd": Textbook(
        "gfx942",
        "64x32xf32",
        ("--write=rows", "--read=columns"),
        ((0, 0), (62, 62)),
        ("padded:1", "xor_shuffle<32, 1>"),
    ),
    # CUTLASS, cute/atom/mma_traits_sm90_gmma.hpp: a K-major tile of 64 f16 in a row is
    # GMMA::Layout_K_SW128_Atom, Swizzle<3,4,3> on bytes, Swizzle<3,3,3> on f16; without it the 8
    # rows of 128 bytes of each ldmatrix matrix lie in the same 4 banks. CUDA driver API: TMA's
    # CU_TENSOR_MAP_SWIZZLE_128B is the same. TritonGPUAttrDefs.td: vec 8, perPhase 1, maxPhase 8.
    "ldmatrix_f16_64": Textbook(
        "sm_90",
        "64x64xf16",
        ("--write=rows:128", "--read=ldmatrix"),
        ((0, 0), (28, 28)),
        ("padded:8", "Swizzle<3, 3, 3>"),
        {"CuTe": "Swizzle<3, 3, 3>", "TMA": "CU_TENSOR_MAP_SWIZZLE_128B"}
        | {"Triton": "vec = 8, perPhase = 1, maxPhase = 8"},
    ),
    # The 64-byte atom, Layout_K_SW64_Atom: Swizzle<2,4,3> on bytes. Rows r and r + 2 are 32 banks
    # apart: 4 rows in the same banks. Triton has perPhase 2, maxPhase 4 for rows of 64 bytes.
    "ldmatrix_f16_32": Textbook(
        "sm_90",
        "64x32xf16",
        ("--write=rows:128", "--read=ldmatrix"),
        ((0, 0), (12, 12)),
        ("padded:8", "Swizzle<2, 3, 3>"),
        {"CuTe": "Swizzle<2, 3, 3>", "TMA": "CU_TENSOR_MAP_SWIZZLE_64B"}
        | {"Triton": "vec = 8, perPhase = 2, maxPhase = 4"},
    ),
    # PTX ISA, figure of A in mma.m16n8k16: a register of lane l is A[l / 4, 2 (l % 4)] and its
    # neighbour, 8 rows of 16 bytes. Rows of 128 bytes put all 8 into the same 4 banks; likewise
    # those of B, if the tile holds columns of B side by side.
    "mma_m16n8k16": Textbook(
        "sm_80",
        "64x64xf16",
        ("--write=rows:128", "--read=mma.m16n8k16:A", "--read=mma.m16n8k16:BT"),
        ((0, 0), (7, 7), (7, 7)),
        ("padded:8", "Swizzle<3, 3, 3>"),
        {"CuTe": "Swizzle<3, 3, 3>"},
    ),
    # AMD's matrix instruction calculator, A of v_mfma_f32_16x16x16_f16: lane l has row l % 16 and 4
    # consecutive k. ds_read_b64 serves 16 lanes at a time (lds_bank_conflicts.rst): 16 rows of 128
    # bytes in the same 2 banks, 15 conflicts in each of 4 phases. CuTe cannot say the best layout,
    # and is given one that takes no more LDS cycles.
    "mfma_16x16x16": Textbook(
        "gfx942",
        "64x64xf16",
        ("--write=rows:128", "--read=mfma_f32_16x16x16_f16:A"),
        ((0, 0), (60, 60)),
        ("padded:4",),
        {"CuTe": "Swizzle<4, 2, 4>"},
    ),
    # f8, PTX ISA, figure of A in mma.m16n8k32: 8 rows of 16 bytes again, here in rows of 64 bytes.
    # That is the 64-byte atom of CUTLASS, Swizzle<2,4,3>, in units of bytes.
    "mma_f8": Textbook(
        "sm_89",
        "64x64xf8E4M3FN",
        ("--write=rows:128", "--read=mma.m16n8k32:A"),
        ((0, 0), (3, 3)),
        ("padded:16", "Swizzle<2, 4, 3>"),
        {"CuTe": "Swizzle<2, 4, 3>", "TMA": "not expressible: sm_89 has no TMA"},
    ),
    # A row of 96 f16, 192 bytes: row r begins in bank 48 r mod 32, which is 0 or 16, so that the 8
    # rows of an ldmatrix matrix are 4 in each of two places (PTX ISA, ldmatrix: a matrix is 8
    # rows of 16 bytes). One more group of 16 bytes a row has no conflict.
    "ldmatrix_f16_96": Textbook(
        "sm_80",
        "64x96xf16",
        ("--read=ldmatrix",),
        ((12, 12),),
        ("padded:8", "xor_shuffle<32, 8, 96, 2>"),
        {"Triton": "not expressible: rows of 96 elements are no power of two"},
    ),
    # lds_bank_conflicts.rst: ds_read_b128 serves the lanes 0-3 and 20-23 together, then 4-7 and
    # 16-19, and so on. Lane l reads 16 bytes at row l % 16, 16-byte column l / 16, of rows of 64
    # bytes: the first phase has 4 rows of column 0 and 4 of column 1, two of each in the same
    # banks: 1 conflict in each of 8 phases. Lanes in order, 8 rows of one column, would have 3.
    "ds_read_b128_phases": Textbook(
        "gfx942",
        "16x32xf16",
        ("--write=rows:128", "--read=(lane%16, lane//16*8 + reg)"),
        ((0, 0), (8, 8)),
        ("Swizzle<2, 3, 3>",),
    ),
    # CK Tile tutorial 01, row-major transpose of a 64 x 32 tile of f16 on an MI300: rocprof
    # counted SQ_LDS_BANK_CONFLICT 3,670,016 in 8192 tiles, 448 a tile, of 8 reads by 4 waves.
    "ck_tile_tutorial": Textbook(
        "gfx942",
        "64x32xf16",
        (
            "--threads=256",
            "--write=(thread//4, 8*(thread%4) + reg)",
            "--read=(8*(lane%8) + j, lane//8 + 8*wave) for j in range(8)",
        ),
        ((0, 0), (56, 56)),
    ),
    # Tutorial 02, the same tile column-major: 1,572,864 in 8192 tiles, 192 a tile, of 8 writes;
    # 128-byte columns, as a tile of 32 rows of 64.
    "ck_tile_tutorial_columns": Textbook(
        "gfx942",
        "32x64xf16",
        (
            "--threads=256",
            "--write=(8*(lane%4) + j, lane//4 + 16*wave) for j in range(8)",
            "--read=rows:128",
        ),
        ((24, 24), (0, 0)),
    ),
}


def cpu_seconds(program: str, *arguments: str) -> tuple[float, str]:
    """Returns the CPU time of a Python program, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", program, *arguments]
    run = subprocess.run(command, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (run.returncode, run.stderr) == (0, "")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, run.stdout


def ask(arguments: tuple[str, ...]) -> dict[str, Any]:
    """Returns the JSON of `bankwise-tile`, which takes at most 1 s of CPU.

    That is on a machine on which NumPy is imported in 0.14 s; it may be longer on a slower one.
    """
    program = "from bankwise.tools.commands import tile_command; tile_command()"
    seconds, printed = cpu_seconds(program, *arguments, "--format=json")
    assert seconds <= 1.0 or seconds <= 7 * cpu_seconds("import numpy")[0]
    return json.loads(printed)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("name", CASES)
def test_what_is_known(name: str) -> None:
    case = CASES[name]
    question = (f"--target={case.target}", f"--tile={case.tile}", *case.arguments)
    found = ask(question)
    plain = found["layouts"]["plain"]["accesses"]
    assert [tuple(each["conflict_cycles_per_access"]) for each in plain] == list(case.plain)
    assert found["layouts"][found["best"]]["conflict_cycles"] == 0
    assert found["layouts"]["swizzled"]["conflict_cycles"] == 0
    assert found["optimality"] == "floor"
    assert "counted again lane by lane" in found["proof"]
    for framework, text in case.notations.items():
        assert found["notations"][framework]["text"] == text


@pytest.mark.parametrize(
    ("name", "layout"), [(name, layout) for name, case in CASES.items() for layout in case.known]
)
def test_layouts_that_sources_give_have_no_conflicts_in_reads(name: str, layout: str) -> None:
    case = CASES[name]
    reads = [each.removeprefix("--read=") for each in case.arguments if each.startswith("--read")]
    found = bankwise.count(case.target, case.tile, read=reads, layout=layout)
    assert found.conflict_cycles == 0


def test_published_counters() -> None:
    """The sums of the two tutorials, as rocprof counted them over 8192 tiles."""
    for name, counted in (
        ("ck_tile_tutorial", 3_670_016),
        ("ck_tile_tutorial_columns", 1_572_864),
    ):
        case = CASES[name]
        flags = dict(each.removeprefix("--").split("=", 1) for each in case.arguments)
        found = bankwise.count(
            case.target, case.tile, write=flags["write"], read=flags["read"], threads=256
        )
        assert 8192 * found.conflict_cycles == counted


def test_padding_by_one_is_what_a_transpose_gets() -> None:
    found = bankwise.solve("sm_80", "32x32xf32", write="rows", read="columns")
    assert str(found.layouts["padded"].layout) == "padded by 1 elements"
    assert found.layouts["padded"].conflict_cycles == 0
