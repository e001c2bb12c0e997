# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The transpose ladder: five LDS layouts of one f16 transpose, on the emulated gfx942.

python -m bankwise.bench.transpose_ladder [--rows 65536]

Beside the counters stand those that were published for an MI300: CK Tile's tutorials 01
(row-major), 02 (column-major) and 03 (padded by 2 elements) transpose the same matrix in the same
tiles (A. H. Ghamarian, "LDS Bank Conflicts on CDNA", 2026, ROCm/composable_kernel at commit
393ebc1, bank_conflict_slides.qmd; rocprofv3). `auto` is what Bankwise makes of each example without
a hint in it.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from ..emulator.counters import Counted
from ..runtime.emulated_run import run_emulated
from ..sweep.cases import target_flags
from ..sweep.tables import markdown_lines
from .runs import EXAMPLES

VARIANTS = ("row_major", "column_major", "padded", "xor", "xor_vectorized")
PUBLISHED = {
    "row_major": (294_912, 3_670_016),
    "column_major": (294_912, 1_572_864),
    "padded": (327_680, 786_432),
}
"""The counters (SQ_INSTS_LDS, SQ_LDS_BANK_CONFLICT) of 65536 rows."""
PUBLISHED_ROWS = 65536
COLUMNS = 256
_EXAMPLE_ROWS, _TILE_ROWS = 1024, 64


def source(variant: str, rows: int) -> str:
    """Returns the example's text for a matrix of `rows` rows, a multiple of 64."""
    text = (EXAMPLES / "transpose" / f"{variant}.mlir").read_text()
    tiles = rows // _TILE_ROWS
    text = text.replace(str(_EXAMPLE_ROWS), str(rows))
    text = text.replace("%y = arith.constant 16", f"%y = arith.constant {tiles}")
    return text.replace("upper_bound 16", f"upper_bound {tiles}")


def measure(variant: str, rows: int, mode: str, arch: str = "gfx942") -> dict[str, int]:
    """Returns the counters of the whole grid.

    Raises:
        RuntimeError: the result is not the transpose.
    """
    matrix = np.arange(rows * COLUMNS, dtype=np.uint32).astype(np.uint16)
    matrix = (matrix & 0x7BFF).view(np.float16).reshape(rows, COLUMNS)
    run = run_emulated(source(variant, rows), target_flags(arch), mode, [matrix])
    (result,) = run.outputs
    if result.tobytes() != np.ascontiguousarray(matrix.T).tobytes():
        raise RuntimeError(f"{variant} with {mode} does not transpose")
    return run.counters | {"LDS_BYTES": run.lds_bytes}


def main() -> int:
    """Prints the ladder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=PUBLISHED_ROWS, help="a multiple of 64")
    rows = parser.parse_args().rows
    if rows < _TILE_ROWS or rows % _TILE_ROWS:
        parser.error(f"--rows={rows}: expects a multiple of {_TILE_ROWS}")
    lines = [["layout", "compiled with", Counted.LDS, Counted.CONFLICTS, "LDS bytes", "published"]]
    for variant in VARIANTS:
        for mode in ("none", "auto"):
            if variant.startswith("xor") and mode == "none":
                continue  # Its hints are resolved by our passes.
            counted = measure(variant, rows, mode)
            known = PUBLISHED.get(variant) if rows == PUBLISHED_ROWS else None
            published = f"{known[0]:,} / {known[1]:,}" if known and mode == "none" else ""
            shown = (f"{counted[name]:,}" for name in (Counted.LDS, Counted.CONFLICTS, "LDS_BYTES"))
            lines.append([variant, mode, *shown, published])
    print(f"f16 [{rows}, {COLUMNS}] transposed on the emulated gfx942\n")
    print(markdown_lines(lines, text_columns=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
