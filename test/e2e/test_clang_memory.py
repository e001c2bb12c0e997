# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels with every kind of memory, by clang for RDNA, in waves of 32 and of 64 lanes."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bankwise.runtime.assembly_run import run_assembly

from .clang_assembly import COMPILER

SOURCE = Path(__file__).parent / "assembly" / "memory.hip"
FLAGS = ("-x", "hip", "--cuda-device-only", "-nogpulib", "-nogpuinc", "-S", "-O2")
RANDOM = np.random.default_rng(0)
ITEM = np.arange(128)
WORDS = RANDOM.integers(0, 1000, 128).astype(np.int32)


class Kernels:
    """The kernels of a file, each launched as one workgroup."""

    def __init__(self, text: Path) -> None:
        self.text = text

    def __call__(self, kernel: str, *arguments: object) -> Sequence[np.ndarray]:
        """Returns the buffers after a launch; arguments are buffers and 32-bit integers."""
        given = [np.int32(each) if isinstance(each, int) else each for each in arguments]
        done = run_assembly(self.text, given, kernel=kernel, grid=(1,), block=(128,))  # type: ignore[arg-type]
        return [each for each in done.buffers if each is not None]


def empty(kind: type[np.generic], count: int = 128) -> np.ndarray:
    return np.zeros(count, kind)


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"{COMPILER} is not installed")
@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201"])
def test_kernels_compute_what_numpy_computes(arch: str, lanes: int, tmp_path: Path) -> None:
    text = tmp_path / "memory.s"
    wide = ["-mwavefrontsize64"] if lanes == 64 else []
    chip = f"--offload-arch={arch}"
    subprocess.run([COMPILER, *FLAGS, chip, *wide, "-o", text, SOURCE], check=True)
    assert f".amdhsa_wavefront_size32 {int(lanes == 32)}" in text.read_text()
    kernels = Kernels(text)
    check_lds(kernels)
    check_memory(kernels)
    check_lanes(kernels)
    for kind in range(3):
        check_flat_addresses(kernels, kind)


def check_lds(kernels: Kernels) -> None:
    rows = RANDOM.standard_normal((128, 4)).astype(np.float32)
    assert (kernels("reverse", rows, np.zeros_like(rows))[1] == rows[::-1]).all()
    sums, floats = kernels("on_lds", empty(np.uint32), empty(np.float32))
    expected = np.array([ITEM[k == ITEM % 4].sum() for k in range(4)])[ITEM % 4]
    assert (sums == expected).all() and (floats == expected).all()


def check_memory(kernels: Kernels) -> None:
    total = int(ITEM.sum())
    first = np.array([5, 0, 7], np.uint32)
    words, wide, before = kernels("on_memory", first, empty(np.uint64, 1), empty(np.uint32))
    assert words.tolist() == [5 + total, 127, 1007] and wide.tolist() == [total]
    # Each item found a sum of others that had their turn.
    order = np.argsort(before)
    assert (np.diff(before[order].astype(np.int64)) == order[:-1])[before[order][:-1] > 5].all()
    octets = RANDOM.integers(0, 256, 132).astype(np.uint8)
    halves = RANDOM.integers(-(2**15), 2**15, 132).astype(np.int16)
    given = octets, halves, empty(np.int32), empty(np.uint8), empty(np.uint16)
    *_, sums, thirds, shifted = kernels("narrow", *given)
    signed, unsigned = octets.view(np.int8).astype(int), halves.view(np.uint16).astype(int)
    assert (sums == octets[:128] + signed[1:129] + halves[:128] + unsigned[2:130]).all()
    assert (thirds == ITEM * 3 % 256).all() and (shifted == ITEM << 4).all()


def check_lanes(kernels: Kernels) -> None:
    sums = kernels("of_lane", WORDS, empty(np.int32), 9)[1]
    steps = (7 * np.arange(9)[:, None] + ITEM) % 40
    assert (sums == WORDS[(ITEM + steps) % 64].sum(axis=0)).all()
    found = kernels("neighbours", WORDS, empty(np.int32))[1]
    assert (found == 2 * WORDS[ITEM ^ 1] + WORDS[ITEM ^ 2]).all()


def check_flat_addresses(kernels: Kernels, kind: int) -> None:
    memory, found = kernels("anywhere", WORDS.copy(), empty(np.int32), kind)
    private = np.stack([ITEM, 2 * ITEM, 0 * ITEM + 3, 0 * ITEM + 4])[ITEM % 4, ITEM]
    expected = (2 * WORDS + 5, 2 * (WORDS + 5), private + 5 + WORDS)[kind]
    assert (found == expected).all()
    assert (memory == WORDS + (5 if kind == 0 else 0)).all()
