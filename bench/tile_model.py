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

import argparse
import sys
from pathlib import Path

from .gpu.arguments import add_compile_arguments, add_measure_arguments, check_backend, wanted
from .gpu.measuring import measure_all
from .gpu.record import Record
from .gpu.steps import exit_code

EMULATED = "gfx942"


def arguments_parser() -> argparse.ArgumentParser:
    """Returns the command line: a subcommand for each step."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    steps = parser.add_subparsers(dest="step", required=True)
    add_compile_arguments(steps.add_parser("compile", help="compile kernels with forced tiles"))
    measures = steps.add_parser("measure", help="time them on the GPU of this machine")
    add_measure_arguments(measures, Path("tiles.json"))
    report = steps.add_parser("report", help="compare predicted and measured times")
    report.add_argument("record", type=Path, metavar="FILE.json")
    emulate = steps.add_parser("emulate", help=f"count what tiles do on {EMULATED}")
    emulate.add_argument("--only", default="", metavar="REGEX", help="search it in kernels' names")
    emulate.add_argument("--jobs", type=int, default=1, help="kernels at a time")
    return parser


def run(arguments: argparse.Namespace) -> bool:
    """Takes a step; returns whether nothing failed.

    Raises:
        RuntimeError: something that the step needs is missing.
        OSError: a file cannot be read or written.
    """
    check_backend(arguments)
    # What needs the compiler is imported by the steps that use it.
    if arguments.step == "measure":
        return measure_all(wanted(arguments, libraries=False))
    if arguments.step == "compile":
        from .forced_tiles.compiling import compile_pairs

        compile_pairs(arguments.directory, arguments.only, arguments.jobs)
    elif arguments.step == "report":
        from .forced_tiles.report import markdown

        print(markdown(Record.read(arguments.record)), end="")
    else:
        from .forced_tiles.emulating import emulated_table

        print(emulated_table(EMULATED, arguments.only, arguments.jobs))
    return True


def main() -> int:
    """Compiles, measures, or shows; returns 1 when an output is wrong or a run fails."""
    arguments = arguments_parser().parse_args()
    return exit_code(lambda: run(arguments))


if __name__ == "__main__":
    sys.exit(main())
