# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operands of matrix instructions lie where the compiler has them, as its bindings say."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest
from iree.compiler import ir
from iree.compiler._mlir_libs._ireeCompilerDialects import iree_gpu
from iree.compiler.dialects.iree_gpu import MMAIntrinsic

from bankwise.bank_model.matrix_operands import OPERANDS, MatrixInstruction, matrix_instructions

_NAME = re.compile(r"(NV_MMA_SYNC|MFMA)_([FI]\d+)_(\d+)x(\d+)x(\d+)_(\w+)")
_SOURCES = {
    "F8E4M3": "fp8",
    "F8E5M2": "bf8",
    "I8": "i8",
    "BF16": "bf16",
    "F64": "f64",
    "F32": "f32",
    "F16": "f16",
}
_BITS = {"fp8": 8, "bf8": 8, "bf16": 16, "f64": 64, "f32": 32, "f16": 16, "i8": 8}
_SPLIT_RUNS = re.compile(r"MFMA_F32_(16x16x128|32x32x64)_F8")
"""Of these a lane has two runs of elements, and to the compiler one."""

OURS = {
    name: each
    for arch in ("sm_90", "gfx950", "gfx942", "gfx90a")
    for name, each in matrix_instructions(arch).items()
}


def known_to_both() -> Iterator[tuple[str, MatrixInstruction, int]]:
    """Yields instructions: the compiler's name, ours, and the bits of elements of A and B."""
    for intrinsic in MMAIntrinsic:
        match = _NAME.fullmatch(intrinsic.name)
        if match is None or _SPLIT_RUNS.match(intrinsic.name):
            continue
        family, result, m, n, k, types = match.groups()
        sources = [_SOURCES[each] for each in re.findall("|".join(_SOURCES), types)]
        bits = _BITS[sources[0]]
        name = f"mma.m{m}n{n}k{k}"
        if family == "MFMA":
            # Of 8-bit floats A and B may have different types, which our names always say.
            pair = (sources[0], sources[-1]) if types.startswith("F8") else sources
            name = f"mfma_{result.lower()}_{m}x{n}x{k}_{'_'.join(pair)}"
        ours = OURS.get(name)
        if ours is not None:
            yield intrinsic.name, ours, bits


KNOWN = {name: (ours, bits) for name, ours, bits in known_to_both()}


def lanes_of(name: str, fragment: int, lanes: int) -> npt.NDArray[np.int64]:
    """Returns the row and the column of each element of each lane: [lanes, elements, 2]."""
    with ir.Context():
        # For the layout that a configuration names, the binding returns empty lists.
        attribute = iree_gpu.MMAIntrinsicAttr.get(MMAIntrinsic[name])
        layout = iree_gpu.get_single_subgroup_layout(attribute, fragment)
    lane = np.arange(lanes)
    held = [
        np.add.outer(
            lane // max(stride, 1) % threads * elements,
            np.add.outer(np.arange(outer) * threads * elements, np.arange(elements)).ravel(),
        )
        for outer, threads, stride, elements in zip(
            layout.outer, layout.thread, layout.tstrides, layout.element, strict=True
        )
    ]
    rows, columns = held
    pairs = np.broadcast_arrays(rows[:, :, None], columns[:, None, :])
    return np.stack([each.reshape(lanes, -1) for each in pairs], axis=-1)


def test_many_instructions_are_known_to_both() -> None:
    assert sum(name.startswith("MFMA") for name in KNOWN) == 34
    assert sum(name.startswith("NV_MMA_SYNC") for name in KNOWN) == 5


@pytest.mark.parametrize("name", KNOWN)
def test_lanes_hold_what_the_compiler_says(name: str) -> None:
    ours, bits = KNOWN[name]
    for fragment, letter in enumerate(OPERANDS):
        operand = ours.operand(letter, bits)
        places = np.stack([operand.rows.T, operand.columns.T], axis=-1)
        theirs = lanes_of(name, fragment, ours.lanes)
        assert places.shape == theirs.shape
        for lane in range(ours.lanes):
            one, other = (sorted(map(tuple, each[lane].tolist())) for each in (places, theirs))
            assert one == other


WMMA = sorted(each.name for each in MMAIntrinsic if each.name.startswith("WMMA"))


def test_all_generations_of_wmma_are_asked_for() -> None:
    assert {name.split("_")[0] for name in WMMA} == {"WMMAR3", "WMMAR4", "WMMA"}


@pytest.mark.parametrize("name", WMMA)
def test_a_lane_has_one_row_of_a_and_one_column_of_b_and_of_the_result(name: str) -> None:
    """`bankwise-rename-contractions` relies on it: lane l has slot l % size of an instruction."""
    lane, size = np.arange(32), int(name.split("_")[2].split("x")[0])
    a, b, result = (lanes_of(name, fragment, 32) for fragment in range(3))
    assert a.shape == (32, a.shape[1], 2) and a.shape[1] >= 1
    assert (a[..., 0] == (lane % size)[:, None]).all()
    assert (b[..., 1] == (lane % size)[:, None]).all()
    assert (result[..., 1] == (lane % size)[:, None]).all()
    # Each element of the result is some lane's, and no two lanes have one.
    assert len({tuple(each) for each in result.reshape(-1, 2).tolist()}) == result[..., 0].size
