# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts of the CuTe DSL: their texts, and digests of what its own functions compute.

`places` is of the place of each element, row after row; `lanes` of the elements that each thread
holds. Run as a script, it writes the table that CI reads.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

# The extra `oracles`.
import cutlass  # pyright: ignore[reportMissingImports]
from cutlass import cute  # pyright: ignore[reportMissingImports]

if __name__ == "__main__":
    from digests import digest
else:
    from .digests import digest

Row = dict[str, Any]
TABLE = Path(__file__).parents[1] / "unit" / "tiles" / "recorded" / "cute.json"
FOUND: list[Row] = []


def _shared(layout: Any, rows: int, columns: int) -> None:
    places = [int(layout((row, column))) for row in range(rows) for column in range(columns)]
    FOUND.append({"text": str(layout), "shape": [rows, columns], "places": digest(places)})


def _lanes(layout: Any, sizes: Any, copy: Any = None) -> None:
    m, n = int(sizes[0]), int(sizes[1])
    threads, values = (cute.size(layout, mode=[mode]) for mode in (0, 1))
    held: list[list[int]] = []
    for thread in range(threads):
        indices = {int(layout((thread, value))) for value in range(values)}
        held.append(sorted(index % m * n + index // m for index in indices))
    text = f"{layout} tiler ({m},{n})" if copy is None else str(copy)
    FOUND.append({"text": text, "shape": [m, n], "lanes": digest(held)})


@cute.jit
def _all():
    for shape, stride, rows, columns in (
        ((16, 32), (32, 1), 16, 32),
        ((16, 32), (1, 16), 16, 32),
        ((16, 32), (40, 1), 16, 32),
        (((8, 2), (8, 4)), ((8, 256), (1, 64)), 16, 32),
        (((4, 4), (2, 16)), ((2, 128), (1, 8)), 16, 32),
        ((32, (8, 2)), (8, (1, 256)), 32, 16),
        (((2, 16), 32), ((32, 64), 1), 32, 32),
    ):
        _shared(cute.make_layout(shape, stride=stride), rows, columns)
    for swizzle in ((3, 3, 3), (2, 3, 3), (1, 3, 3), (3, 4, 3), (2, 4, 3), (2, 2, 4), (3, 3, 4)):
        for shape, stride in (((32, 64), (64, 1)), ((8, 64), (64, 1)), ((64, 32), (1, 64))):
            inner = cute.make_layout(shape, stride=stride)
            layout = cute.make_composed_layout(cute.make_swizzle(*swizzle), 0, inner)
            _shared(layout, shape[0], shape[1])
        inner = cute.make_layout((8, 64), stride=(64, 1))
        atom = cute.make_composed_layout(cute.make_swizzle(*swizzle), 0, inner)
        _shared(cute.tile_to_shape(atom, (32, 64), (0, 1)), 32, 64)
        _shared(cute.tile_to_shape(atom, (16, 128), (1, 0)), 16, 128)
    copy = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
    for threads, values in (
        (cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 8), stride=(8, 1))),
        (cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((4, 4), stride=(4, 1))),
        (cute.make_layout((32, 4), stride=(1, 32)), cute.make_layout((8, 1))),
        (cute.make_layout((8, 8), stride=(8, 1)), cute.make_layout((2, 8), stride=(8, 1))),
    ):
        sizes, layout = cute.make_layout_tv(threads, values)
        _lanes(layout, sizes)
        _lanes(layout, sizes, cute.make_tiled_copy_tv(copy, threads, values))
    for (m, n, k), (rows, columns, depth) in (
        ((16, 8, 16), (32, 16, 16)),
        ((16, 8, 16), (32, 32, 16)),
        ((16, 8, 8), (32, 16, 8)),
    ):
        op = cute.nvgpu.warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (m, n, k))
        mma = cute.make_tiled_mma(
            op, cute.make_layout((2, 2, 1)), permutation_mnk=(rows, columns, depth)
        )
        _lanes(mma.tv_layout_A, (m, k))
        _lanes(mma.tv_layout_B, (n, k))
        _lanes(mma.tv_layout_C, (m, n))
        _lanes(mma.tv_layout_A_tiled, (rows, depth))
        _lanes(mma.tv_layout_B_tiled, (columns, depth))
        _lanes(mma.tv_layout_C_tiled, (rows, columns))


def rows() -> list[Row]:
    """Returns the rows of all layouts."""
    FOUND.clear()
    _all()
    return list(FOUND)


def main() -> None:
    """Writes the table, a row a line."""
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows())
    TABLE.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    sys.exit(main())
