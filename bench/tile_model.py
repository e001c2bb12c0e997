# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether predicted times of tiles order them as measured times do.

    python -m bankwise.bench.tile_model compile DIR           # where the compiler is
    python -m bench.tile_model measure DIR -o tiles.json      # where the GPU is
    python -m bankwise.bench.tile_model report tiles.json     # where the compiler is
    python -m bankwise.bench.tile_model emulate               # gfx942, on the emulator

60 pairs of a kernel and a tile are compiled with the tile forced, beside stock and the tile that
`--bankwise-retile` chooses. `measure` is that of `gpu_times`, without PyTorch's kernels. `report`
asks today's model of what was measured: the rank correlation (Spearman's) of predicted and measured
times for each kernel and over all, and how much the predicted best tile loses to the best one.

`emulate` says what tiles of smaller kernels do on gfx942, whose time nobody has taken: LDS
instructions and cycles, matrix instructions, conflicts, and whether outputs keep stock's bits.
"""

from __future__ import annotations

import sys
from argparse import Namespace

from .gpu.measuring import MEASURE_ARGUMENTS, measure_all, wanted
from .gpu.record import Record
from .gpu.steps import COMPILE_ARGUMENTS, Step, jobs, only, output, record, take_step

EMULATED = "gfx942"

# What needs the compiler is imported by the steps that use it.


def _compile(arguments: Namespace) -> None:
    from .forced_tiles.compiling import compile_pairs

    compile_pairs(arguments.directory, arguments.only, arguments.jobs)


def _report(arguments: Namespace) -> None:
    from .forced_tiles.report import markdown

    print(markdown(Record.read(arguments.record)), end="")


def _emulate(arguments: Namespace) -> None:
    from .forced_tiles.emulating import emulated_table

    print(emulated_table(EMULATED, arguments.only, arguments.jobs))


STEPS = {
    "compile": Step(
        "compile kernels with forced tiles",
        _compile,
        COMPILE_ARGUMENTS,
    ),
    "measure": Step(
        "time them on the GPU of this machine",
        lambda arguments: measure_all(wanted(arguments, libraries=False)),
        (*MEASURE_ARGUMENTS, output("tiles.json")),
    ),
    "report": Step("compare predicted and measured times", _report, (record,)),
    "emulate": Step(
        f"count what tiles do on {EMULATED}",
        _emulate,
        (only("search it in kernels' names"), jobs(1, "kernels")),
    ),
}

if __name__ == "__main__":
    sys.exit(take_step(__doc__, STEPS))
