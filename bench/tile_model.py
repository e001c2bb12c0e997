# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether predicted times of tiles order them as measured times do.

    python -m bankwise.bench.tile_model compile DIR           # where the compiler is
    python -m bench.tile_model measure DIR -o tiles.json      # where the GPU is
    python -m bankwise.bench.tile_model report tiles.json     # where the compiler is

60 pairs of a kernel and a tile are compiled with the tile forced, beside stock and the tile that
`--bankwise-retile` chooses. `measure` is that of `gpu_times`, without PyTorch's kernels. `report`
asks today's model of what was measured: the rank correlation (Spearman's) of predicted and measured
times for each kernel and over all, and how much the predicted best tile loses to the best one.
"""

from __future__ import annotations

import sys
from argparse import Namespace

from .gpu.command_steps import COMPILE_ARGUMENTS, Step, output, record, take_step
from .gpu.measuring import MEASURE_ARGUMENTS, measure_all, wanted
from .gpu.record import Record

# What needs the compiler is imported by the steps that use it.


def _compile(arguments: Namespace) -> None:
    from .forced_tiles.compiled_tiles import compile_pairs

    compile_pairs(arguments.directory, arguments.only, arguments.jobs)


def _report(arguments: Namespace) -> None:
    from .forced_tiles.tile_comparisons import markdown

    print(markdown(Record.read(arguments.record)), end="")


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
}

if __name__ == "__main__":
    sys.exit(take_step(__doc__, STEPS))
