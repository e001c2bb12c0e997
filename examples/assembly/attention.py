# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An attention in Triton for gfx950, in tiles of 64 rows, in steps of 32.

    pip install triton==3.9.0
    python attention.py

writes attention.amdgcn. Its waves exchange the maxima of rows through LDS, where several of them
store the same value to a byte.
"""

import os
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def attention(q, k, v, out, length, scale, DEPTH: tl.constexpr, ROWS: tl.constexpr):
    depth = tl.arange(0, DEPTH)
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    query = tl.load(q + rows[:, None] * DEPTH + depth[None, :])
    highest = tl.full((ROWS,), -float("inf"), tl.float32)
    weight = tl.zeros((ROWS,), tl.float32)
    total = tl.zeros((ROWS, DEPTH), tl.float32)
    for start in range(0, length, ROWS // 2):
        step = start + tl.arange(0, ROWS // 2)
        place = step[:, None] * DEPTH + depth[None, :]
        score = tl.dot(query, tl.trans(tl.load(k + place))) * scale
        higher = tl.maximum(highest, tl.max(score, 1))
        score = tl.exp2(score - higher[:, None])
        rescale = tl.exp2(highest - higher)
        weight = weight * rescale + tl.sum(score, 1)
        total = total * rescale[:, None] + tl.dot(score.to(tl.float16), tl.load(v + place))
        highest = higher
    tl.store(out + rows[:, None] * DEPTH + depth[None, :], total / weight[:, None])


SIGNATURE = {
    **dict.fromkeys(("q", "k", "v"), "*fp16"),
    "out": "*fp32",
    "length": "i32",
    "scale": "fp32",
    **dict.fromkeys(("DEPTH", "ROWS"), "constexpr"),
}

if __name__ == "__main__":
    multiples_of_16 = {(number,): [["tt.divisibility", 16]] for number in range(5)}
    source = ASTSource(attention, SIGNATURE, {"DEPTH": 64, "ROWS": 64}, multiples_of_16)
    compiled = triton.compile(
        source, target=GPUTarget("hip", "gfx950", 64), options={"num_warps": 4}
    )
    # The text names this folder, where its lines come from, and Triton's own.
    text = compiled.asm["amdgcn"].replace(os.fspath(Path(__file__).resolve().parent), ".")
    text = text.replace(os.fspath(Path(triton.__file__).parent), "triton")
    Path("attention.amdgcn").write_text(text)
    print(f"attention.amdgcn: --shared={compiled.metadata.shared}, --block=256")
