# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernel times of attentions and matmuls on a GPU, for each mode and for PyTorch's kernels.

    python -m bankwise.bench.gpu_times compile DIR [--set SET]    # where the compiler is
    python -m bench.gpu_times measure DIR -o times.json           # where the GPU is
    python -m bankwise.bench.gpu_times table times.json           # where the compiler is
    python -m bench.gpu_times repeat DIR [--launches 320]         # where the GPU is

The set `kernels` has round attentions and matmuls in every mode; `attentions` has 47 f16 attentions
as models have them, with odd sizes, masks, grouped queries and few rows, and some in other types;
`products` has convolutions, batches of matmuls, and matmuls with odd sizes and epilogues;
`dynamic` has attentions and matmuls whose number of rows only the program knows.
`compile --also-for=sm_90a` puts code for a second GPU beside that for sm_80.
`measure` runs in the root of the repository. It needs Python's standard library, Nsight Compute's
`ncu` in PATH, and the wheel of `iree-base-runtime`. An unpacked wheel whose programs are executable
will do, with its folder in PYTHONPATH. Where NumPy is installed, errors against float64 are
recorded; where PyTorch is, its attentions (FlashAttention-2, CUTLASS, cuDNN) and cuBLAS are timed
in the same run. Every result is written at once, and the same command goes on from there: a row
is measured again when its compiled module has changed.
`repeat` launches each kernel many times with inputs in turn, and returns 1 where an output has
other bits than at first, or at `exact` than stock's; with few launches it is a program for
`compute-sanitizer`. It needs NumPy.

Times are those of the kernels alone, read by `ncu`, which by default holds the GPU's clocks at
their base frequency and flushes the caches before each launch. They are medians of 5 launches.
"""

from __future__ import annotations

import importlib.util
import sys
from argparse import ArgumentParser, Namespace

from .gpu.command_steps import COMPILE_ARGUMENTS, Step, modules, only, output, record, take_step
from .gpu.measuring import MEASURE_ARGUMENTS, measure_all, wanted
from .gpu.record import Record

# What needs the compiler or NumPy is imported by the steps that use it.


def _compile(arguments: Namespace) -> None:
    from .gpu.compiling import TARGET, compile_sources
    from .gpu.timed_sets import SETS

    a = arguments
    sources = SETS[a.set]()
    for target in a.also_for:
        sources = {kernel.also_for(target): source for kernel, source in sources.items()}
    compile_sources(a.directory, sources, a.only, a.jobs, a.target or TARGET)


def _add_set(parser: ArgumentParser) -> None:
    about = (
        "what is compiled: round kernels in every mode, attentions or products of models, or "
        "kernels with numbers of rows that only the program knows"
    )
    sets = ("kernels", "attentions", "products", "dynamic")
    parser.add_argument("--set", choices=sets, default="kernels", help=about)


def _add_targets(parser: ArgumentParser) -> None:
    about = "the architecture that is compiled for, such as sm_90a; sm_80 by default"
    parser.add_argument("--target", default="", metavar="GPU", help=about)
    about = "compile for it at exact and fast too, with times in columns of their own"
    parser.add_argument("--also-for", action="append", default=[], metavar="GPU", help=about)


def _print_table(arguments: Namespace) -> None:
    from .gpu.table import markdown

    print(markdown(Record.read(arguments.record)), end="")


def _repeat(arguments: Namespace) -> bool:
    missing = [each for each in ("numpy", "iree") if importlib.util.find_spec(each) is None]
    if missing:
        raise RuntimeError(f"there is no Python package {' and no '.join(missing)}")
    from .gpu.repeating import repeat_all

    return repeat_all(arguments.directory, arguments.only, arguments.launches)


def _add_launches(parser: ArgumentParser) -> None:
    about = "how often each kernel is launched in each mode, after the first times"
    parser.add_argument("--launches", type=int, default=320, metavar="N", help=about)


STEPS = {
    "compile": Step(
        "compile every kernel in every mode",
        _compile,
        (*COMPILE_ARGUMENTS, _add_set, _add_targets),
    ),
    "measure": Step(
        "time them on the GPU of this machine",
        lambda arguments: measure_all(wanted(arguments)),
        (*MEASURE_ARGUMENTS, output("gpu_times.json")),
    ),
    "table": Step("print ratios of times", _print_table, (record,)),
    "repeat": Step(
        "launch them over and over on the GPU of this machine, and compare their bits",
        _repeat,
        (modules, only("launch the kernels in whose names it is found"), _add_launches),
    ),
}

if __name__ == "__main__":
    sys.exit(take_step(__doc__, STEPS))
