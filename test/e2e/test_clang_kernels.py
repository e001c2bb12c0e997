# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that clang compiles here, from -O0, which keeps everything in private memory, to -O3."""

from __future__ import annotations

import shutil
import subprocess
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from bankwise.runtime.assembly_run import AssemblyRun, run_assembly

from .clang_assembly import COMPILER

SOURCE = Path(__file__).parent / "assembly" / "kernels.hip"
FLAGS = ("-x", "hip", "--cuda-device-only", "--offload-arch=gfx942", "-nogpulib", "-nogpuinc", "-S")
RANDOM = np.random.default_rng(0)


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"{COMPILER} is not installed")
@pytest.mark.parametrize("level", range(4))
def test_kernels_compute_what_numpy_computes(level: int, tmp_path: Path):
    text = tmp_path / "kernels.s"
    subprocess.run([COMPILER, *FLAGS, f"-O{level}", "-o", text, SOURCE], check=True)
    run = partial(run_assembly, text)
    check_product(run)
    check_root_of_sum(run)
    check_divisions(run)
    check_chase(run)


def contents(run: AssemblyRun, number: int) -> np.ndarray:
    found = run.buffers[number]
    assert found is not None
    return found


def check_product(run) -> None:
    left, right = (
        RANDOM.standard_normal(shape).astype(np.float32) for shape in ((32, 48), (48, 32))
    )
    sizes = np.int32(32), np.int32(48)
    given = [left, right, np.zeros((32, 32), np.float32), *sizes]
    done = run(given, kernel="sgemm", grid=(2, 2), block=(16, 16))
    np.testing.assert_allclose(contents(done, 2), left @ right, rtol=1e-4, atol=1e-4)


def check_root_of_sum(run) -> None:
    values = RANDOM.random(1000).astype(np.float32)
    given = [values, np.zeros(1, np.float32), np.int32(1000)]
    done = run(given, kernel="root_of_sum", grid=(1,), block=(256,))
    np.testing.assert_allclose(contents(done, 1), np.sqrt(values.sum()), rtol=1e-5)


def check_divisions(run) -> None:
    x = (RANDOM.standard_normal(300) * 10).astype(np.float32)
    item = np.arange(300)
    given = [x, np.zeros(300, np.float32), np.zeros(300), np.zeros(300, np.int64), np.int32(300)]
    done = run(given, kernel="divisions", grid=(2,), block=(256,))
    expected = x * x + 1 / x + np.where(x > 0, 1.5, -x / 3)
    np.testing.assert_allclose(contents(done, 1), expected, rtol=1e-4)
    np.testing.assert_allclose(
        contents(done, 2), x.astype(float) / 3 + 1e-3 * x.astype(float), rtol=1e-12
    )
    assert (contents(done, 3) == item * 1234567891011 // (item + 7) % 1000003).all()


def check_chase(run) -> None:
    nodes = np.zeros(64, [("next", np.int32), ("value", np.float32)])
    nodes["next"], nodes["value"] = RANDOM.integers(-1, 64, 64), RANDOM.random(64)
    expected = []
    for start in range(64):
        at, total, left = start, np.float32(0), 10
        while at >= 0 and left:
            total, at, left = total + nodes["value"][at], nodes["next"][at], left - 1
        expected.append((total + 1, total * 2, -total, total)[start % 4])
    given = [np.frombuffer(nodes.tobytes(), np.int32), np.zeros(64, np.float32), np.int32(10)]
    done = run(given, kernel="chase", grid=(1,), block=(64,))
    assert (contents(done, 1) == np.array(expected, np.float32)).all()
