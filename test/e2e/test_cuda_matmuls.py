# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which instructions compute matmuls of i8 and f32 for CUDA."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from bankwise import compile as compile_mlir
from bankwise.sweep.cases import target_flags
from bankwise.sweep.swept_kernels import Matmul

MMA = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
LDMATRIX = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
COPY = "cp.async.cg.shared.global"


def instructions(kernel: Matmul, mode: str = "auto/exact") -> Counter[str]:
    """Returns the instructions of a kernel's PTX, which the module carries as text."""
    code = compile_mlir(kernel.source(), target_flags("sm_80"), mode).decode("latin-1")
    return Counter(re.findall(r"^\t(?:@!?%\w+ )?([a-z][\w.]*)", code, re.MULTILINE))


@pytest.mark.parametrize("transposed", [False, True])
def test_i8_is_multiplied_by_instructions_whose_sums_wrap(transposed: bool) -> None:
    found = instructions(Matmul(512, 512, 512, "i8", transposed=transposed))
    assert {each for each in found if each.startswith("mma")} == {MMA}
    assert found[COPY] and found[LDMATRIX]
    # A column of B is read byte by byte where its elements are not neighbours.
    assert (found["ld.shared.b8"] == 0) is transposed
    assert found["mad.lo.s32"] == 0


@pytest.mark.sampled("shape", "transposed", every=6)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("shape", [(100, 132, 72), (100, 130, 70), (250, 201, 263)])
def test_i8_of_ragged_sizes_is_multiplied_so_too(
    shape: tuple[int, int, int], transposed: bool
) -> None:
    found = instructions(Matmul(*shape, "i8", transposed=transposed))
    assert {each for each in found if each.startswith("mma")} == {MMA}
    assert found["mad.lo.s32"] == 0
    # Rows of a multiple of 4 bytes are copied past the registers.
    copied = any(each.startswith("cp.async.c") and "shared" in each for each in found)
    assert copied is (shape[2] % 4 == 0)


@pytest.mark.sampled
@pytest.mark.parametrize("transposed", [False, True])
def test_f32_is_multiplied_from_the_lds(transposed: bool) -> None:
    found = instructions(Matmul(1024, 1024, 256, "f32", transposed=transposed))
    assert found["fma.rn.f32"] >= 8 * found["ld.shared.v4.b32"] > 0
    assert found[COPY]
    assert found["ld.global.nc.v4.b32"] == found["mul.rn.f32"] == 0
