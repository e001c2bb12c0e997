# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the lanes of a cp.async read, as far as the bank conflicts of the copy depend on it."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.bank_model.accesses import CopySources
from bankwise.dialect_utils.gpu_target import Launch
from bankwise.dialect_utils.memory.lds_accesses import AllocationAccesses

from ...functions import parse, traced

LAUNCH = Launch((32, 1, 1), 32)
LANES = np.arange(32)

SOURCE = """
#space = #gpu.address_space<workgroup>
func.func @f(%count: index, %from: memref<64x96xf16>, %rows: memref<?x?xf16>) {
  %x = gpu.thread_id x
  %w = gpu.block_id x
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c96 = arith.constant 96 : index
  %m = memref.alloc() : memref<256xf16, #space>
  %at = affine.apply affine_map<(x) -> (x * 8)>(%x)
  BODY
  return
}"""


def trace(body: str) -> AllocationAccesses:
    (found,) = traced(parse(SOURCE.replace("BODY", body)), LAUNCH)
    return found


def copy(indices: str, source: str = "%from", kind: str = "memref<64x96xf16>") -> str:
    return (
        f"%t = nvgpu.device_async_copy {source}[{indices}], %m[%at], 8 bypassL1 : {kind} to "
        "memref<256xf16, #space>"
    )


def sources(body: str) -> CopySources:
    found = trace(body)
    assert not found.unknown and not found.uncounted
    (access,) = found.accesses
    assert access.instruction == "cp.async.cg.16" and access.copied is not None
    return access.copied


def test_rows_of_a_tile() -> None:
    found = sources(
        f"%r, %c = affine.delinearize_index %at into (4, 64) : index, index\n{copy('%r, %c')}"
    )
    assert (found.addresses == LANES // 8 * 192 + LANES % 8 * 16).all()
    assert found.reading.all() and found.shifts == (0,)


@pytest.mark.parametrize(
    ("rows", "shifts"), [(2, (0,)), (1, (0, 64))], ids=["whole lines", "half lines"]
)
def test_a_row_of_each_workgroup(rows: int, shifts: tuple[int, ...]) -> None:
    body = f"%r = affine.apply affine_map<(w, x) -> (w * {rows} + x)>(%w, %x)\n{copy('%r, %c0')}"
    found = sources(body)
    assert (found.addresses == LANES * 192).all() and found.shifts == shifts


def test_a_part_of_a_workgroups_number_is_divided() -> None:
    body = """%n = affine.apply affine_map<(w, x) -> ((w * 128 + x) floordiv 16)>(%w, %x)
      %k = affine.apply affine_map<(w, x) -> ((w * 128 + x) mod 16)>(%w, %x)
      %c = affine.apply affine_map<(k) -> (k * 8)>(%k)"""
    found = sources(f"{body}\n{copy('%n, %c')}")
    assert (found.addresses == LANES // 16 * 192 + LANES % 16 * 16).all()
    assert found.shifts == (0,)


def test_lanes_that_read_nothing() -> None:
    body = f"""%is = arith.cmpi ult, %at, %c96 : index
      %n = arith.select %is, %c8, %c0 : index
      {copy("%c0, %at").replace("], 8 ", "], 8, %n ")}"""
    found = sources(body)
    assert (found.reading == (LANES < 12)).all()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (copy("%x, %c0", "%rows", "memref<?x?xf16>"), "rows whose length is not known"),
        (
            "%v = memref.load %from[%x, %c0] : memref<64x96xf16>\n%i = arith.fptoui %v : f16 to i32"
            f"\n%r = arith.index_cast %i : i32 to index\n{copy('%r, %c0')}",
            "an index depends on the result of arith.fptoui",
        ),
        (copy("%c0, %at").replace("], 8 ", "], 8, %x "), "some lanes read a part"),
    ],
    ids=["unknown rows", "loaded index", "parts"],
)
def test_what_is_not_known_is_not_counted(body: str, reason: str) -> None:
    found = trace(body)
    (uncounted,) = found.uncounted
    assert "not counted" in uncounted.reason and reason in uncounted.reason
    (access,) = found.accesses
    assert access.copied is None
