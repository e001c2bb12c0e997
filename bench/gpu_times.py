# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernel times of attentions and matmuls on a GPU, for each mode and for PyTorch's kernels.

    python -m bankwise.bench.gpu_times compile DIR                # where the compiler is
    python -m bench.gpu_times measure DIR -o times.json           # where the GPU is
    python -m bankwise.bench.gpu_times table times.json           # where the compiler is
    python -m bankwise.bench.gpu_times plot times.json -o times.svg

`measure` runs in the root of the repository. It needs Python's standard library, Nsight Compute's
`ncu` in PATH, and the wheel of `iree-base-runtime`. An unpacked wheel whose programs are executable
will do, with its folder in PYTHONPATH. Where NumPy is installed, errors against float64 are
recorded; where PyTorch is, its attentions (FlashAttention-2, CUTLASS, cuDNN) and cuBLAS are timed
in the same run. Every result is written at once, and the same command goes on from there: a row
is measured again when its compiled module has changed.

Times are those of the kernels alone, read by `ncu`, which by default holds the GPU's clocks at
their base frequency and flushes the caches before each launch. They are medians of 5 launches.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .gpu.arguments import add_compile_arguments, add_measure_arguments, check_backend, wanted
from .gpu.measuring import measure_all
from .gpu.record import Record
from .gpu.steps import exit_code


def arguments_parser() -> argparse.ArgumentParser:
    """Returns the command line: a subcommand for each step."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    steps = parser.add_subparsers(dest="step", required=True)
    add_compile_arguments(steps.add_parser("compile", help="compile every kernel in every mode"))
    measures = steps.add_parser("measure", help="time them on the GPU of this machine")
    add_measure_arguments(measures, Path("gpu_times.json"))
    for step, shows in (("table", "print"), ("plot", "draw")):
        shown = steps.add_parser(step, help=f"{shows} ratios of times")
        shown.add_argument("record", type=Path, metavar="FILE.json")
    steps.choices["plot"].add_argument(
        "-o", "--output", type=Path, default=Path("gpu_times.svg"), metavar="FILE.svg"
    )
    return parser


def run(arguments: argparse.Namespace) -> bool:
    """Takes a step; returns whether nothing failed.

    Raises:
        RuntimeError: something that the step needs is missing.
        OSError: a file cannot be read or written.
    """
    check_backend(arguments)
    # What needs the compiler or a plotting library is imported by the steps that use it.
    if arguments.step == "compile":
        from .gpu.compiling import compile_all

        compile_all(arguments.directory, arguments.only, arguments.jobs)
    elif arguments.step == "table":
        from .gpu.table import markdown

        print(markdown(Record.read(arguments.record)), end="")
    elif arguments.step == "plot":
        from .gpu.plot import svg

        arguments.output.write_bytes(svg(Record.read(arguments.record)))
    else:
        return measure_all(wanted(arguments))
    return True


def main() -> int:
    """Compiles, measures, or shows; returns 1 when an output is wrong or a run fails."""
    arguments = arguments_parser().parse_args()
    return exit_code(lambda: run(arguments))


if __name__ == "__main__":
    sys.exit(main())
