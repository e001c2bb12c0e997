# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which tiles `--bankwise-retile=search` takes, and what they save over `auto`'s by prediction.

python -m bankwise.bench.tile_search [-o bench/results] [--only REGEX]

tile_search.json and tile_search.md have the predicted times of all tiles that are compiled. No time
in them was measured on a GPU.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ..emulator.chips import CDNA3, CDNA4
from ..iree_plugin.atomic_file import write_output
from ..iree_plugin.compile import compile
from ..iree_plugin.tile_search import TileCandidate
from ..passes.decisions import DecisionLog
from ..passes.tile_times import TileTime
from ..passes.tiles.retile import Retile
from ..runtime.tile_times import emulated_time
from ..sweep.cases import target_flags
from ..sweep.kernels import Attention, Kernel, Matmul
from ..sweep.tables import markdown_lines
from .benchmark import RESULTS, record_arguments
from .gpu.modes import FAST

NAME = "tile_search"
KERNELS: tuple[Kernel, ...] = (
    Attention(16, 4096, 128, "f16"),
    Attention(64, 2048, 64, "f16"),
    Attention(4, 2048, 256, "f16"),
    Attention(32, 1000, 128, "f16"),
    Attention(24, 2048, 96, "f16"),
    Matmul(4096, 4096, 4096, "f16"),
    Matmul(4096, 4096, 4096, "f16", transposed=True),
)


@dataclass(frozen=True)
class Row:
    """The tiles of a kernel that a search compiles.

    Attributes:
        times: their predicted microseconds, that of `auto` first; None where there is none.
        taken: the tile that is taken.
    """

    kernel: str
    target: str
    times: Mapping[str, float | None]
    taken: str


def searched(kernel: Kernel, target: str) -> Row:
    """Returns the tiles of a kernel that are compiled; none where nothing is searched."""
    times: dict[str, float | None] = {}

    def predictor(candidate: TileCandidate) -> TileTime:
        times[str(candidate.tile)] = None
        time = emulated_time(candidate)
        times[str(candidate.tile)] = round(time.microseconds, 1)
        return time

    log = DecisionLog()
    mode = f"{FAST}/search"
    compile(kernel.source(), target_flags(target), mode, decisions=log, predictor=predictor)
    taken = [each.detail for each in log if each.pass_name == Retile.name]
    return Row(kernel.name, target, times, taken[0] if taken else "")


def page(rows: Sequence[Row]) -> str:
    """Returns the table as Markdown."""
    head = ["kernel", "auto, us", "search, us", "saved", "tile of search", "other tiles, us"]
    lines = [head]
    for row in rows:
        name = f"{row.kernel}, {row.target}"
        if not row.times:
            lines.append([name, "", "", "", "nothing is searched", ""])
            continue
        usual, *_ = row.times.values()
        taken = row.times[row.taken]
        assert usual is not None and taken is not None
        others = [time for tile, time in row.times.items() if tile != row.taken]
        shown = ", ".join("-" if time is None else f"{time:.1f}" for time in others)
        saved = f"{1 - taken / usual:.1%}"
        lines.append([name, f"{usual:.1f}", f"{taken:.1f}", saved, row.taken, shown])
    return (
        "# Tiles that are compiled and compared\n\n"
        f"Made by `python -m bankwise.bench.{NAME}`, at the level `fast`. All times are predicted; "
        f"no AMD GPU was used here.\n\n{markdown_lines(lines, text_columns=1)}\n"
    )


def read_rows(path: Path = RESULTS / f"{NAME}.json") -> list[Row]:
    """Returns the rows of the record."""
    return [Row(**row) for row in json.loads(path.read_text())["rows"]]


def main() -> int:
    """Writes the record; rows that are there already are taken again only where they are wanted."""
    arguments = record_arguments(__doc__)
    file = arguments.output / f"{NAME}.json"
    known = {(row.kernel, row.target): row for row in (read_rows(file) if file.exists() else [])}
    rows: list[Row] = []
    for kernel in KERNELS:
        for target in (CDNA3, CDNA4):
            case = (kernel.name, target)
            wanted = case not in known or re.search(arguments.only, ", ".join(case))
            rows.append(searched(kernel, target) if wanted else known[case])
            print(*case, rows[-1].taken, flush=True)
    text = json.dumps({"version": 1, "rows": [asdict(row) for row in rows]}, indent=1) + "\n"
    write_output(str(file), text.encode())
    write_output(str(arguments.output / f"{NAME}.md"), page(rows).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
