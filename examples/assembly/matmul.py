# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A matrix product in Triton, f16 to f32: a program for each tile of 32 x 32, in steps of 32.

    pip install triton==3.9.0
    python matmul.py

writes matmul.amdgcn, .ttir and .json, as in Triton's cache. That needs no GPU, and no torch.
"""

import os
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def matmul(a, b, c, n, k, TILE: tl.constexpr):
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    column = tl.program_id(1) * TILE + tl.arange(0, TILE)
    step = tl.arange(0, TILE)
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for start in range(0, k, TILE):
        left = tl.load(a + row[:, None] * k + (start + step)[None, :])
        right = tl.load(b + (start + step)[:, None] * n + column[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + row[:, None] * n + column[None, :], total)


SIGNATURE = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "n": "i32", "k": "i32", "TILE": "constexpr"}


def write(suffix, text):
    """Writes a file without the names of this machine's folders, where lines and libraries are."""
    for file, name in ((__file__, "."), (triton.__file__, "triton")):
        text = text.replace(os.fspath(Path(file).resolve().parent), name)
    Path(f"matmul.{suffix}").write_text(text)


if __name__ == "__main__":
    # Imported here, so that the lines of the kernel stay where the committed assembly has them.
    import json

    multiples_of_16 = {(number,): [["tt.divisibility", 16]] for number in range(5)}
    source = ASTSource(matmul, SIGNATURE, {"TILE": 32}, multiples_of_16)
    compiled = triton.compile(
        source, target=GPUTarget("hip", "gfx942", 64), options={"num_warps": 4}
    )
    for stage in ("amdgcn", "ttir"):
        write(stage, compiled.asm[stage])
    # Triton's cache has the same text in this file.
    write("json", json.dumps(compiled.metadata._asdict(), default=vars))
