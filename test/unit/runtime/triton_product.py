# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The matrix product whose LDS counters a public fork of tritonBLAS measured on an MI300X.

    pip install triton==3.9.0
    TRITON_DISABLE_LINE_INFO=1 python triton_product.py

writes `triton_product_kpack1.amdgcn.xz` and `..._kpack2...`, which `test_triton_product.py` runs.
It needs no GPU.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import lzma
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def matmul(
    a,
    b,
    c,
    m,
    n,
    k,
    stride_a,
    stride_b,
    stride_c,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
):
    columns = tl.cdiv(n, N)
    row = (tl.program_id(0) // columns * M + tl.arange(0, M)) % m
    column = (tl.program_id(0) % columns * N + tl.arange(0, N)) % n
    step = tl.arange(0, K)
    row = tl.max_contiguous(tl.multiple_of(row, M), M)
    column = tl.max_contiguous(tl.multiple_of(column, N), N)
    left = a + row[:, None] * stride_a + step[None, :]
    right = b + step[:, None] * stride_b + column[None, :]
    total = tl.zeros((M, N), dtype=tl.float32)
    for _ in range(tl.cdiv(k, K)):
        x = tl.load(tl.multiple_of(left, (1, 16)))
        y = tl.load(tl.multiple_of(right, (1, 16)))
        total += tl.dot(x, y)
        left += K
        right += K * stride_b
    tl.store(c + row[:, None] * stride_c + column[None, :], total.to(c.type.element_ty))


def assembly(kpack: int) -> str:
    """Returns the code for tiles of 256 x 256 x 64 by 8 waves, as tritonBLAS chooses them."""
    types = dict.fromkeys("abc", "*fp16")
    types |= dict.fromkeys(("m", "n", "k", "stride_a", "stride_b", "stride_c"), "i32")
    tile = {"M": 256, "N": 256, "K": 64}
    multiples_of_16 = {(number,): [["tt.divisibility", 16]] for number in range(9)}
    source = ASTSource(matmul, types | dict.fromkeys(tile, "constexpr"), tile, multiples_of_16)
    options = {"num_warps": 8, "num_stages": 2, "matrix_instr_nonkdim": 16, "kpack": kpack}
    target = GPUTarget("hip", "gfx942", 64)
    return triton.compile(source, target=target, options=options).asm["amdgcn"]


if __name__ == "__main__":
    for number in (1, 2):
        path = Path(__file__).with_name(f"triton_product_kpack{number}.amdgcn.xz")
        path.write_bytes(lzma.compress(assembly(number).encode(), preset=9 | lzma.PRESET_EXTREME))
