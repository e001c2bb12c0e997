# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the assembly of `--bankwise-mitigation=stock` with iree-compile's, byte by byte.

python -m bankwise.bench.stock_identity [--every N] [--jobs N]
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from ..emulator.chips import EMULATED_CHIPS
from ..sweep.kernels import AnyKernel, Matmul, PackedMatmul, swept_attentions
from ..sweep.progress import tracked
from .runs import bench_parser, compile_kernel


def cases(every: int) -> list[tuple[AnyKernel, str]]:
    """Returns every `every`-th attention in f16 and f32 for gfx942, and matmuls.

    The matmuls are with and without edges, and of packed operands, which bufferization copies.
    """
    attentions = [a for dtype in ("f16", "f32") for a in swept_attentions(dtype)[::every]]
    matmuls = [
        (Matmul(*shape, dtype), target)
        for shape, dtype in (((2048, 2048, 2048), "f16"), ((100, 130, 70), "bf16"))
        for target in EMULATED_CHIPS
    ]
    packed = [(PackedMatmul(4, 4, 8, dtype), "gfx942") for dtype in ("f16", "f32")]
    return [*((attention, "gfx942") for attention in attentions), *matmuls, *packed]


def is_identical(case: tuple[AnyKernel, str]) -> bool:
    """Returns whether both compilers emit the same assembly for `case`."""
    kernel, target = case
    ours, stock = (compile_kernel(kernel, target, m).assembly for m in ("stock", None))
    return bool(stock) and ours == stock


def main() -> int:
    """Compares all cases; exits with 1 when one differs."""
    arguments = bench_parser(__doc__, "compiles", every="attention shape").parse_args()
    chosen = cases(arguments.every)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        results = tracked(pool.map(is_identical, chosen), "stock identity", len(chosen), "kernels")
        different = [case for case, same in zip(chosen, results, strict=True) if not same]
    for kernel, target in different:
        print(f"different: {kernel.name} for {target}")
    print(f"{len(chosen) - len(different)} of {len(chosen)} kernels byte-identical to stock")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
