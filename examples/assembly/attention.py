# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An attention in Triton for gfx950, in tiles of 64 rows, in steps of 32.

    pip install triton==3.9.0
    python attention.py

writes attention.amdgcn, .ttir and .json, as in Triton's cache. Its waves exchange the maxima of
rows through LDS, where several of them store the same value to a byte.
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


def write(suffix, text):
    """Writes a file without the names of this machine's folders, where lines and libraries are."""
    for file, name in ((__file__, "."), (triton.__file__, "triton")):
        text = text.replace(os.fspath(Path(file).resolve().parent), name)
    Path(f"attention.{suffix}").write_text(text)


if __name__ == "__main__":
    # Imported here, so that the lines of the kernel stay where the committed assembly has them.
    import json

    multiples_of_16 = {(number,): [["tt.divisibility", 16]] for number in range(5)}
    source = ASTSource(attention, SIGNATURE, {"DEPTH": 64, "ROWS": 64}, multiples_of_16)
    compiled = triton.compile(
        source, target=GPUTarget("hip", "gfx950", 64), options={"num_warps": 4}
    )
    for stage in ("amdgcn", "ttir"):
        write(stage, compiled.asm[stage])
    # Triton's cache has the same text in this file.
    write("json", json.dumps(compiled.metadata._asdict(), default=vars))
