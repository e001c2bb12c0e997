# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Assembly of four producers runs from its text: clang's, Triton's, IREE's, and a person's."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from bankwise.bench.reference_attention import attention
from bankwise.bench.runs import EXAMPLES
from bankwise.bench.transpose_ladder import measure
from bankwise.runtime.assembly_run import AssemblyRun, run_assembly

from .clang_assembly import COMPILER, rebuilt_as_committed

ASSEMBLY = EXAMPLES / "assembly"
ROWS, COLUMNS = 1024, 256

# What the LDS, the memory and the vector memory instructions do is the source's choice. The rest is
# the compiler's: IREE's code computes addresses with other VALU instructions, and has the
# arguments preloaded, where this clang loads them (SQ_INSTS_SMEM).
SAME = (
    *("SQ_INSTS_LDS", "SQ_LDS_BANK_CONFLICT", "LDS_CYCLES", "LDS_FLOOR_CYCLES"),
    *("SQ_INSTS_VMEM_RD", "SQ_INSTS_VMEM_WR", "GLOBAL_TRANSACTIONS_64B", "GLOBAL_USEFUL_BYTES"),
    "SQ_INSTS_BRANCH",
)


def matrix() -> np.ndarray:
    values = np.arange(ROWS * COLUMNS, dtype=np.uint32).astype(np.uint16) & 0x7BFF
    return values.view(np.float16).reshape(ROWS, COLUMNS)


def transposed(file: str, kernel: str, *sizes: np.int32) -> AssemblyRun:
    result = np.zeros((COLUMNS, ROWS), np.float16)
    run = run_assembly(
        ASSEMBLY / file, [matrix(), result, *sizes], grid=(8, 16), block=(256,), kernel=kernel
    )
    contents = run.buffers[1]
    assert contents is not None
    assert contents.tobytes() == np.ascontiguousarray(matrix().T).tobytes()
    assert run.stored == (1,)
    return run


@pytest.mark.parametrize("kernel", ["row_major", "padded"])
def test_clangs_kernel_counts_what_the_same_kernel_in_mlir_counts(kernel: str):
    counted = transposed("transpose.s", kernel, np.int32(ROWS), np.int32(COLUMNS)).counters
    compiled = measure(kernel, ROWS, "none")
    assert {name: counted[name] for name in SAME} == {name: compiled[name] for name in SAME}
    assert counted["SQ_LDS_BANK_CONFLICT"] == {"row_major": 57_344, "padded": 12_288}[kernel]


def test_irees_assembly_counts_what_its_module_counts():
    counted = transposed("row_major.rocmasm", "").counters
    compiled = measure("row_major", ROWS, "none")
    assert counted == {name: compiled[name] for name in counted}


def test_tritons_matmul():
    random = np.random.default_rng(0)
    left = random.standard_normal((64, 96)).astype(np.float16)
    right = random.standard_normal((96, 64)).astype(np.float16)
    product = np.full((64, 64), np.nan, np.float32)
    numbers = (np.int32(64), np.int32(96))
    # Triton passes two pointers to scratch memory, which this kernel does not need.
    run = run_assembly(
        ASSEMBLY / "matmul.amdgcn",
        [left, right, product, *numbers, None, None],
        grid=(2, 2),
        block=(256,),
        shared=4096,
    )
    contents = run.buffers[2]
    assert contents is not None
    expected = left.astype(np.float64) @ right.astype(np.float64)
    assert np.abs(contents - expected).max() < 1e-4
    # 4 waves, 3 steps and 4 products of 32x32x8 in each, 4 programs; half of them are redundant.
    assert run.counters["SQ_INSTS_MFMA"] == 4 * 3 * 4 * 4
    assert run.counters["SQ_LDS_BANK_CONFLICT"] == 0
    assert run.record.lds_bytes == 4096


def test_tritons_attention_on_gfx950():
    """Waves that store the same value to a byte by one instruction do not race."""
    random = np.random.default_rng(0)
    query, key, value = random.standard_normal((3, 128, 64)).astype(np.float16)
    scale = np.float32(np.log2(np.e) / 8)
    run = run_assembly(
        ASSEMBLY / "attention.amdgcn",
        [query, key, value, np.zeros((128, 64), np.float32), np.int32(128), scale, None, None],
        grid=(2,),
        block=(256,),
        shared=20928,
        target="gfx950",
    )
    q, k, v = (each.astype(np.float64) for each in (query, key, value))
    expected = attention(q, k, v, 1 / 8)
    contents = run.buffers[3]
    assert contents is not None
    assert np.abs(contents - expected).max() < 1e-3
    assert run.counters["SQ_INSTS_MFMA"] > 0


def test_hand_written_assembly():
    tile = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    run = run_assembly(ASSEMBLY / "by_hand.s", [tile, np.zeros_like(tile)], grid=(1,), block=(64,))
    contents = run.buffers[1]
    assert contents is not None
    assert (contents == tile.T).all()
    # 64 reads in which all lanes of both halves of a wave meet on one bank, and 16 writes of 16
    # bytes a lane in which the 8 lanes of a phase do.
    assert run.counters["SQ_INSTS_LDS"] == 64 + 16
    assert run.counters["SQ_LDS_BANK_CONFLICT"] == 64 * (64 - 2) + 16 * (64 - 8)


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"{COMPILER} is not installed")
def test_the_committed_assembly_is_what_clang_writes(tmp_path: Path):
    rebuilt_as_committed(ASSEMBLY / "transpose.hip", ASSEMBLY / "transpose.s", tmp_path)
