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

import importlib.util
import sys
from argparse import Namespace

from .gpu.steps import COMPILE_ARGUMENTS, Step, jobs, modules, only, output, record, take_step

# What needs the compiler or NumPy is imported by the steps that use it.


def _compile(arguments: Namespace) -> None:
    from .gpu.compiling import compile_sources
    from .gpu.error_kernels import sources

    compile_sources(arguments.directory, sources(), arguments.only, arguments.jobs)


def _measure(arguments: Namespace) -> bool:
    if importlib.util.find_spec("numpy") is None:
        raise RuntimeError("NumPy is not installed")
    from .gpu.error_measuring import measure_errors

    return measure_errors(arguments.directory, arguments.output, arguments.only, arguments.jobs)


def _print_table(arguments: Namespace) -> None:
    from .gpu.errors import ErrorRecord
    from .gpu.errors_table import markdown

    print(markdown(ErrorRecord.read(arguments.record)), end="")


_MEASURED = (
    "measure the kernels in whose names it is found; the kind of inputs follows, as in "
    "'attention_2x1024x128_f16 normal' or 'attention_2x1024x128_f16_masked masked'"
)

STEPS = {
    "compile": Step(
        "compile every kernel in every mode",
        _compile,
        COMPILE_ARGUMENTS,
    ),
    "measure": Step(
        "take their errors on the GPU of this machine",
        _measure,
        (modules, only(_MEASURED), jobs(8, "kernels"), output("gpu_errors.json")),
    ),
    "table": Step("print the errors as Markdown", _print_table, (record,)),
}

if __name__ == "__main__":
    sys.exit(take_step(__doc__, STEPS))
