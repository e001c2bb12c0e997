# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of attentions against float64 on a GPU, for stock, `auto/exact` and `auto/fast`.

    python -m bankwise.bench.gpu_errors compile DIR               # where the compiler is
    python -m bench.gpu_errors measure DIR -o errors.json         # where the GPU is
    python -m bankwise.bench.gpu_errors table errors.json         # where the compiler is

`measure` runs in the root of the repository. It needs Python's standard library, NumPy, and the
wheel of `iree-base-runtime`. An unpacked wheel whose programs are executable will do, with its
folder in PYTHONPATH.

A row is an attention with one kind of inputs. It fails where the output of `exact` is not bitwise
equal to stock's; where the root mean square of a mode's errors is above 1.1 times stock's; where
the largest of them is above 1.1 times stock's and one unit in the last place of the largest output;
where a mode gives NaN and float64 does not, or the other way round, unless stock does the same; and
where stock's own error is too large to be one of rounding. `measure` returns 1 when a row fails.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path

from .gpu.arguments import add_modules_arguments
from .gpu.steps import exit_code


def arguments_parser() -> argparse.ArgumentParser:
    """Returns the command line: a subcommand for each step."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    steps = parser.add_subparsers(dest="step", required=True)
    compiles = steps.add_parser("compile", help="compile every kernel in every mode")
    measures = steps.add_parser("measure", help="take their errors on the GPU of this machine")
    add_modules_arguments(compiles, "compile the kernels in whose names it is found")
    compiles.add_argument("--jobs", type=int, default=2, help="compiles at a time")
    add_modules_arguments(
        measures,
        "measure the kernels in whose names it is found; the kind of inputs follows, as in "
        "'attention_2x1024x128_f16 normal' or 'attention_2x1024x128_f16_masked masked'",
    )
    measures.add_argument("--jobs", type=int, default=8, help="kernels that run at a time")
    measures.add_argument(
        "-o", "--output", type=Path, default=Path("gpu_errors.json"), metavar="FILE.json"
    )
    shown = steps.add_parser("table", help="print the errors as Markdown")
    shown.add_argument("record", type=Path, metavar="FILE.json")
    return parser


def run(arguments: argparse.Namespace) -> bool:
    """Takes a step; returns whether nothing failed.

    Raises:
        RuntimeError: something that the step needs is missing.
        OSError: a file cannot be read or written.
    """
    if importlib.util.find_spec("numpy") is None:
        raise RuntimeError("NumPy is not installed")
    # What needs the compiler is imported by the steps that use it, and what needs NumPy here.
    if arguments.step == "compile":
        from .gpu.error_kernels import compile_all

        compile_all(arguments.directory, arguments.only, arguments.jobs)
    elif arguments.step == "table":
        from .gpu.errors import ErrorRecord
        from .gpu.errors_table import markdown

        print(markdown(ErrorRecord.read(arguments.record)), end="")
    else:
        from .gpu.error_measuring import measure_errors

        return measure_errors(arguments.directory, arguments.output, arguments.only, arguments.jobs)
    return True


def main() -> int:
    """Compiles, measures, or shows; returns 1 when a row fails or a step cannot be taken."""
    arguments = arguments_parser().parse_args()
    return exit_code(lambda: run(arguments))


if __name__ == "__main__":
    sys.exit(main())
