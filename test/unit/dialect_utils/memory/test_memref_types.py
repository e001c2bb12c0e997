# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the type of a memref says of the LDS."""

from __future__ import annotations

import pytest
from iree.compiler import ir

from bankwise.dialect_utils.memory.memref_types import is_workgroup_memref, lds_bytes

from ...functions import lds


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (lds("64x68xf16"), 8704),
        (lds("3xi4"), 2),
        (lds("3xi1"), 3),
        (lds("f32"), 4),
        (lds("4xvector<2xf16>"), 16),
        (lds("4xcomplex<f32>"), 32),
        (lds("4xindex"), 32),
        (lds("?xf32"), None),
        ("memref<4xf32, 3>", 16),
        ("memref<4xf32, 3 : i32>", 16),
        ("memref<4xf32, #spirv.storage_class<Workgroup>>", 16),
        (lds("4xmemref<2xf32>"), None),
    ],
)
def test_lds_bytes(kind: str, expected: int | None) -> None:
    parsed = ir.MemRefType(ir.Type.parse(kind))
    assert lds_bytes(parsed) == expected
    assert is_workgroup_memref(parsed)


@pytest.mark.parametrize("kind", ["memref<4xf32>", "tensor<4xf32>", "memref<4xf32, 4>", "index"])
def test_no_workgroup_memref(kind: str) -> None:
    assert not is_workgroup_memref(ir.Type.parse(kind))
