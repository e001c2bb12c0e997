# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that clang wrote for what the ABI and the address spaces offer: assembly/abi.hip."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bankwise.emulator.emulation_errors import EmulationError, GlobalAccessError
from bankwise.runtime.assembly_run import AssemblyRun, run_assembly

from .clang_assembly import COMPILER, rebuilt_as_committed

FOLDER = Path(__file__).parent / "assembly"
# The second has up to 8 words of arguments in registers when a wave starts.
FILES = ("abi.s", "preload.s")
N = 64


def run(file: str, kernel: str, *arguments: Any, **options: Any) -> AssemblyRun:
    options = {"grid": (1,), "block": (N,)} | options
    return run_assembly(FOLDER / file, list(arguments), kernel=kernel, **options)


def buffer(done: AssemblyRun, number: int) -> np.ndarray:
    contents = done.buffers[number]
    assert contents is not None
    return contents


@pytest.mark.parametrize("file", FILES)
def test_sizes_of_grid_and_workgroups(file: str):
    grid, block = (3, 2, 4), (8, 4, 2)
    x, y, z = (count * size for count, size in zip(grid, block, strict=True))
    done = run(file, "sizes", np.zeros((z, y, x), np.int32), grid=grid, block=block)
    assert (buffer(done, 0) == 8 + 100 * 4 + 10000 * 24).all()


@pytest.mark.parametrize("file", FILES)
def test_private_arrays(file: str):
    values = np.random.default_rng(0).integers(0, 1000, (N, 64), np.int32)
    expected = []
    for array in values.copy():
        at = 0
        for _ in range(9):
            at = int(array[at & 63])
            array[at & 63] += 1
        expected.append(array[at & 63])
    done = run(file, "scratch", values, np.zeros(N, np.int32), np.int32(9))
    assert (buffer(done, 1) == expected).all()
    # Private memory is no traffic that a kernel chooses: only its buffers count.
    assert done.counters["GLOBAL_USEFUL_BYTES"] == values.nbytes + 4 * N


@pytest.mark.parametrize("shift", [0, 1, 2])
@pytest.mark.parametrize("file", FILES)
def test_generic_pointers(file: str, shift: int):
    """Each of 256 work items stores, adds and loads in LDS, private or global memory."""
    count = 256
    item = np.arange(count)
    done = run(
        file, "generic",
        np.zeros(count, np.int32), np.full(count, -1, np.int32), np.int32(shift), block=(count,),
    )  # fmt: skip
    assert (buffer(done, 0) == 5 * item + 7).all()
    assert (buffer(done, 1) == np.where((item + shift) % 3 == 2, 5 * item + 7, -1)).all()
    # Four waves write zeros by `ds_write`; flat instructions are no LDS instructions.
    assert done.counters["SQ_INSTS_LDS"] == 4
    cycles = done.record.counters.lds_cycles
    names = [each.mnemonic for each in done.record.kernel.instructions]
    assert all(cycles[names.index(name)] > 0 for name in ("flat_store_dword", "flat_load_dword"))


@pytest.mark.parametrize("file", FILES)
def test_atomics(file: str):
    values = np.random.default_rng(0).integers(0, 100, (5, N), np.uint32)
    done = run(file, "atomics", np.zeros(16, np.uint32), np.zeros(1, np.float32), values, grid=(5,))
    assert (buffer(done, 0) == np.bincount((values & 15).ravel(), minlength=16)).all()
    assert buffer(done, 1)[0] == values.sum()
    assert done.stored == (0, 1)


@pytest.mark.parametrize("file", FILES)
def test_dynamic_lds(file: str):
    values = np.arange(N, dtype=np.int32)
    given = (values, np.zeros(N, np.int32), np.int32(N))
    assert (buffer(run(file, "reversed", *given, shared=4 * N), 1) == values[::-1]).all()
    with pytest.raises(EmulationError, match="the workgroup has 252 bytes of LDS"):
        run(file, "reversed", *given, shared=4 * N - 4)


@pytest.mark.parametrize("file", FILES)
def test_a_read_beyond_a_buffer_names_it(file: str):
    given = (np.zeros(N, np.int32), np.zeros(N, np.int32))
    assert run(file, "beyond", *given, np.int32(0)).stored == (1,)
    with pytest.raises(GlobalAccessError) as error:
        run(file, "beyond", *given, np.int32(1))
    message = str(error.value)
    assert message.startswith(f"{FOLDER / file}:")
    assert "byte 256 of argument 0 'in.coerce', which has 256 (wave 0, lane 63)" in message
    assert "in kernel 'beyond': global_load_dword" in message


@pytest.mark.parametrize("file", FILES)
def test_structures_and_small_numbers(file: str):
    factors = np.array([1.5, 2.5, 3.5], np.float32)
    done = run(file, "structure", np.zeros(N, np.float32), factors, np.int16(-100), np.int8(-3))
    assert (buffer(done, 0) == np.resize(factors, N) * -3 - 100).all()


@pytest.mark.parametrize("file", FILES)
def test_a_function_is_called(file: str):
    done = run(file, "calls", np.zeros(N, np.int32))
    assert (buffer(done, 0) == 2 * np.arange(N)).all()


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"{COMPILER} is not installed")
@pytest.mark.parametrize("file", FILES)
def test_the_committed_assembly_is_what_clang_writes(file: str, tmp_path: Path):
    preload = ("-mllvm", "-amdgpu-kernarg-preload-count=8") if file == "preload.s" else ()
    rebuilt_as_committed(FOLDER / "abi.hip", FOLDER / file, tmp_path, preload)
