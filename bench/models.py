# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole models on a GPU, a layer or two of each: stock, `auto/exact` and `auto/fast`.

    python -m bankwise.bench.models export DIR                # where the extra `models` is
    python -m bankwise.bench.models compile DIR               # where the compiler is
    python -m bench.models measure DIR -o models.json         # where the GPU is
    python -m bench.models torch DIR -o models.json           # the same, where PyTorch is
    python -m bankwise.bench.models table models.json         # where the compiler is

`export` writes the MLIR of models of transformers, diffusers and JAX, with outputs of PyTorch and
JAX in float32. Weights are random and drawn where the model runs, so that DIR stays small.
`measure` runs in the root of the repository. It needs Python's standard library, NumPy, Nsight
Compute's `ncu` in PATH, and the wheel of `iree-base-runtime`. An unpacked wheel whose programs are
executable will do, with its folder in PYTHONPATH. The same command goes on where it was stopped.
`torch` adds to the record how long PyTorch takes for the models, with the same inputs and weights:
as they are, and by `torch.compile`. It needs PyTorch, transformers and diffusers there, whichever
versions; the outputs are compared with those of the export too.

The time of a call is the median of 15 means of 4 calls, each from its begin until its output is
there. Times of kernels are those that `ncu` reads in one call behind others; by default it holds
the GPU's clocks at their base frequency and flushes the caches before each launch. A row fails
where the output of `exact` is not bitwise equal to stock's, where an error is too large, where two
calls give different bits, or where a mode is slower than stock.
"""

from __future__ import annotations

import importlib.util
import sys
from argparse import ArgumentParser, Namespace

from .gpu.command_steps import (
    COMPILE_ARGUMENTS,
    Step,
    jobs,
    modules,
    only,
    output,
    record,
    take_step,
)
from .gpu.profiler import CLOCKS

# What needs the compiler, a framework or NumPy is imported by the steps that use it.


def _add_tiny(parser: ArgumentParser) -> None:
    about = "export the small models that the tests run"
    parser.add_argument("--tiny", action="store_true", help=about)


def _add_clocks(parser: ArgumentParser) -> None:
    about = "; ".join(f"{name}: {text}" for name, text in CLOCKS.items())
    parser.add_argument("--clocks", choices=CLOCKS, default="base", help=about)


def _add_calls_only(parser: ArgumentParser) -> None:
    about = "leave out the times of kernels; the same command without this adds them"
    parser.add_argument("--calls-only", action="store_true", help=about)


def _add_seconds(parser: ArgumentParser) -> None:
    about = "how long a model may take to compile, and again to be timed"
    parser.add_argument("--seconds", type=float, default=120, help=about)


def _export(arguments: Namespace) -> bool:
    if importlib.util.find_spec("torch") is None:
        raise RuntimeError("PyTorch is not installed: it comes with the extra `models`")
    from .whole_models.exporting import export_all

    return export_all(arguments.directory, arguments.only, tiny=arguments.tiny)


def _compile(arguments: Namespace) -> bool:
    from .whole_models.compiled_models import compile_all

    return compile_all(arguments.directory, arguments.only, arguments.jobs)


def _measure(arguments: Namespace) -> bool:
    if importlib.util.find_spec("numpy") is None:
        raise RuntimeError("NumPy is not installed")
    from .whole_models.model_runs import measure_models

    a = arguments
    return measure_models(a.directory, a.output, a.only, a.clocks, a.jobs, a.calls_only)


def _torch(arguments: Namespace) -> bool:
    if importlib.util.find_spec("torch") is None:
        raise RuntimeError("PyTorch is not installed")
    from .whole_models.torch_times import measure_torch

    a = arguments
    return measure_torch(a.directory, a.output, a.only, a.jobs, a.seconds)


def _print_table(arguments: Namespace) -> None:
    from .whole_models.model_record import ModelRecord
    from .whole_models.model_table import markdown

    print(markdown(ModelRecord.read(arguments.record)), end="")


STEPS = {
    "export": Step(
        "export every model as MLIR",
        _export,
        (modules, only("export the models in whose names it is found"), _add_tiny),
    ),
    "compile": Step("compile every model in every mode", _compile, COMPILE_ARGUMENTS),
    "measure": Step(
        "run and time them on the GPU of this machine",
        _measure,
        (
            modules,
            only("measure the models in whose names it is found"),
            _add_clocks,
            _add_calls_only,
            jobs(1, "models that are not timed yet"),
            output("models.json"),
        ),
    ),
    "torch": Step(
        "time them in PyTorch on the GPU of this machine",
        _torch,
        (
            modules,
            only("time the models in whose names it is found"),
            _add_seconds,
            jobs(1, "models that are compiled"),
            output("models.json"),
        ),
    ),
    "table": Step("print ratios of times", _print_table, (record,)),
}

if __name__ == "__main__":
    sys.exit(take_step(__doc__, STEPS))
