# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether AMD's Origami ranks the tiles of matmuls on an MI300X as our formula does.

    python -m bankwise.bench.origami_tiles [-o bench/results]

Both predict 60 products from sizes alone, each with the tiles that its sizes and the LDS allow, and
nothing is measured. Origami (rocm-origami on the package registry, of AMD's rocm-libraries) tells
tiles apart by rows, columns and summed elements; our formula by waves, too, of which the best
count. Writes origami_tiles.json: the rank correlation (Spearman's) of each product, and what each
chooses.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

from ..emulator.chips import CDNA3
from ..emulator.timing.constants import CHIPS
from ..iree_plugin.atomic_file import write_output
from ..tuning.costs.processors import processor_of
from ..tuning.costs.tile_cost import (
    MatmulTile,
    concurrent_workgroups,
    matmul_work,
    predicted_microseconds,
)
from .benchmark import RESULTS
from .forced_tiles.ranks import rank_correlation

NAME, VERSION = "origami_tiles", "0.0.3"
Sizes = tuple[int, int, int]
KINDS: dict[str, tuple[Sizes, ...]] = {
    "square": (
        (512, 512, 512),
        (1024, 1024, 1024),
        (2048, 2048, 2048),
        (4096, 4096, 4096),
        (8192, 8192, 8192),
    ),
    "of models": (
        (2048, 11008, 4096),
        (4096, 14336, 4096),
        (8192, 1024, 8192),
        (1536, 1536, 8960),
        (2048, 2048, 64),
    ),
    "ragged": (
        (1000, 1000, 1000),
        (3000, 3000, 3000),
        (1023, 2049, 513),
        (4100, 4100, 4100),
        (777, 5120, 1280),
    ),
    "few rows": (
        (1, 4096, 4096),
        (16, 4096, 4096),
        (32, 14336, 4096),
        (64, 4096, 14336),
        (128, 8192, 8192),
    ),
}
"""Rows, columns and summed elements of the products of each kind."""
DTYPES = {"f16": (2, (16, 16, 16)), "bf16": (2, (16, 16, 16)), "f32": (4, (16, 16, 4))}
"""The bytes of an element, and the matrix instruction."""
_ROWS, _COLUMNS, _SUMMED = (16, 32, 64, 128, 256), (16, 32, 64, 128, 256), (16, 32, 64, 128)
_WAVES = ((1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4), (4, 2), (2, 4))
_CACHE_HINTS = ((0, 0), (0, 4), (4, 0))
"""None, B not to be kept in caches, and A not to be kept. Origami takes long steps of products with
few rows or columns only with the second or third one."""


@dataclass(frozen=True)
class Row:
    """Two predictions for a product.

    Attributes:
        kind: one of `KINDS`.
        dtype: the type of the operands.
        sizes: rows, columns and summed elements.
        tiles: how many tiles both take.
        correlation: the rank correlation of the two predictions.
        ours: rows, columns and summed elements of the tile that our formula chooses.
        theirs: the same of Origami.
        ours_of_theirs: our formula's time of Origami's choice, over that of its own.
        theirs_of_ours: Origami's time of our choice, over that of its own.
    """

    kind: str
    dtype: str
    sizes: Sizes
    tiles: int
    correlation: float
    ours: Sizes
    theirs: Sizes
    ours_of_theirs: float
    theirs_of_ours: float

    @classmethod
    def of(cls, kind: str, dtype: str, sizes: Sizes, predict: Callable[..., float]) -> Row:
        """Compares the two; `predict` is Origami's."""
        ours = dict(_our_times(sizes, dtype))
        asked = {tile: predict(dtype, sizes, tile, held) for tile, (_, held) in ours.items()}
        # Origami gives the largest number to tiles that it does not take.
        theirs = {tile: cycles for tile, cycles in asked.items() if cycles < sys.float_info.max}
        times = {tile: ours[tile][0] for tile in theirs}
        best, their_best = min(times, key=times.__getitem__), min(theirs, key=theirs.__getitem__)
        return cls(
            kind=kind,
            dtype=dtype,
            sizes=sizes,
            tiles=len(times),
            correlation=rank_correlation([*times.values()], [*theirs.values()]),
            ours=best,
            theirs=their_best,
            ours_of_theirs=times[their_best] / times[best],
            theirs_of_ours=theirs[best] / theirs[their_best],
        )


def _our_times(sizes: Sizes, dtype: str) -> Iterator[tuple[Sizes, tuple[float, int]]]:
    """Yields each tile with the time of its best waves, and the workgroups that a unit holds."""
    processor = processor_of(CDNA3)
    assert processor is not None
    element_bytes, instruction = DTYPES[dtype]
    for rows, columns, summed in product(_ROWS, _COLUMNS, _SUMMED):
        tile, found = (rows, columns, summed), []
        for down, across in _WAVES:
            shared = MatmulTile(*tile, down, across)
            if shared.warp_rows % instruction[0] or shared.warp_columns % instruction[1]:
                continue
            work = matmul_work(sizes, shared, processor, element_bytes, instruction, stages=2)
            work = work._replace(result_bytes=0.0, reads_ahead=False)
            if work.registers <= processor.lane_registers:
                time = predicted_microseconds(work, processor)
                found.append((time, concurrent_workgroups(work, processor)))
        if found and math.isfinite(min(found)[0]):
            yield tile, min(found)


def origami_predictor(origami: ModuleType | Any) -> Callable[..., float]:
    """Returns a function that gives Origami's cycles of a product with a tile on an MI300X.

    A workgroup has a whole sum (`data_parallel`), as with our tiles.
    """
    chip = CHIPS[CDNA3]
    hardware = origami.get_hardware_for_arch(
        origami.architecture_t.gfx942,
        int(chip.units.value),
        64 * 1024,
        int(chip.l2_mib.value * 2**20),
        int(chip.gigahertz.value * 1e6),
    )

    def cycles(dtype: str, sizes: Sizes, tile: Sizes, held: int) -> float:
        problem, config = origami.problem_t(), origami.config_t()
        its = origami.string_to_datatype(dtype)
        problem.size, problem.batch = origami.dim3_t(*sizes), 1
        problem.a_transpose, problem.b_transpose = origami.transpose_t.T, origami.transpose_t.N
        problem.a_dtype = problem.b_dtype = problem.mi_dtype = its
        problem.c_dtype = problem.d_dtype = origami.string_to_datatype("f32")
        config.mt, config.mi = origami.dim3_t(*tile), origami.dim3_t(*DTYPES[dtype][1])
        config.occupancy = held
        config.grid_selection = origami.grid_selection_t.data_parallel
        found = []
        for config.cache_hints_a, config.cache_hints_b in _CACHE_HINTS:
            found.append(origami.compute_total_latency(problem, hardware, config, hardware.N_CU))
        return min(found)

    return cycles


def compared(predict: Callable[..., float]) -> list[Row]:
    """Returns the rows of all products."""
    return [
        Row.of(kind, dtype, sizes, predict)
        for kind, products in KINDS.items()
        for dtype in DTYPES
        for sizes in products
    ]


def main() -> int:
    """Writes the record; returns 1 where Origami is missing."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, default=RESULTS, help="the folder of the file")
    folder = parser.parse_args().output
    try:
        import origami  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        print(
            f"{NAME}: error: Origami is missing: pip install 'bankwise[origami]', which builds it "
            f"and needs HIP's headers and rocm-cmake ({error})",
            file=sys.stderr,
        )
        return 1
    rows = compared(origami_predictor(origami))
    text = json.dumps({"origami": VERSION, "rows": [asdict(row) for row in rows]}, indent=1) + "\n"
    write_output(str(folder / f"{NAME}.json"), text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
