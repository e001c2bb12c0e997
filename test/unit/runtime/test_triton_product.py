# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The emulator counts in Triton's code for a matrix product what an MI300X has counted there.

A public fork of tritonBLAS (`tests/test_k451_kpack_default.py`) gives the counters of 10,240
workgroups, 4096 x 4096 x 512 in f16 by tiles of 256 x 256 x 64, for both values of `kpack`. Per
workgroup they are whole numbers. The code is that of Triton 3.9.0 (`triton_product.py`).
"""

from __future__ import annotations

import lzma
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pytest

from bankwise.runtime.assembly_run import run_assembly

MEASURED = {
    1: {"SQ_LDS_BANK_CONFLICT": 0, "LDS_CYCLES": 16_384, "SQ_INSTS_LDS": 2_528},
    2: {"SQ_LDS_BANK_CONFLICT": 2_048, "LDS_CYCLES": 18_432, "SQ_INSTS_LDS": 2_304},
}
"""By `kpack`. What is `LDS_CYCLES` here is `SQ_LDS_IDX_ACTIVE` there."""


def recorded(kpack: int) -> str:
    path = Path(__file__).with_name(f"triton_product_kpack{kpack}.amdgcn.xz")
    return lzma.decompress(path.read_bytes()).decode()


@pytest.mark.sampled
@pytest.mark.parametrize("kpack", [2, 1])
def test_six_counters_of_an_mi300x(kpack: int):
    left = np.arange(256 * 512, dtype=np.uint32).reshape(256, 512) % 7 - np.float16(3)
    right = np.arange(512 * 256, dtype=np.uint32).reshape(512, 256) % 5 - np.float16(2)
    left, right = left.astype(np.float16), right.astype(np.float16)
    sizes = map(np.int32, (256, 256, 512, 512, 256, 256))
    run = run_assembly(
        recorded(kpack),
        [left, right, np.zeros((256, 256), np.float16), *sizes, None, None],
        grid=[1],
        block=[512],
        shared=65_536,
    )
    assert {name: run.counters[name] for name in MEASURED[kpack]} == MEASURED[kpack]
    product = run.buffers[2]
    assert product is not None
    assert np.array_equal(product, (left.astype(np.float32) @ right.astype(np.float32)))


@pytest.mark.nightly
@pytest.mark.parametrize("kpack", MEASURED)
def test_triton_writes_the_recorded_code(kpack: int, monkeypatch: pytest.MonkeyPatch):
    try:
        if version("triton") != "3.9.0":
            pytest.skip("the code was recorded from Triton 3.9.0")
    except PackageNotFoundError:
        pytest.skip("it needs Triton 3.9.0")
    monkeypatch.setenv("TRITON_DISABLE_LINE_INFO", "1")
    from .triton_product import assembly

    assert assembly(kpack) == recorded(kpack)
