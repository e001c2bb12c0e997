# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches kernels for sm_90a 10,000 times on a GPU, with changing inputs, and compares their bits.

    python -m bankwise.bench.gpu_stress compile DIR               # where the compiler is
    python -m bench.gpu_stress run DIR                            # where the GPU is

`run` runs in the root of the repository. It needs NumPy and the wheel of `iree-base-runtime`.

What waits for copies, for `wgmma` or for other warps may be wrong once in a thousand launches, and
checkers of races do not see what tensor cores read. So each kernel is launched some hundred times,
its inputs in turn. Of the first launches, the outputs of `exact` must have the bits of stock's, and
those of `fast` the errors that `gpu_errors` allows; all later outputs must have the bits of these.
`run` returns 1 where anything differs. With few launches it is a program for `compute-sanitizer`.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from argparse import ArgumentParser, Namespace

from .gpu.kernels import CompiledKernels
from .gpu.steps import COMPILE_ARGUMENTS, Step, modules, only, take_step

# What needs the compiler or NumPy is imported by the steps that use it.


def _compile(arguments: Namespace) -> None:
    from .gpu.compiling import compile_sources
    from .gpu.stress_kernels import sources

    a = arguments
    compile_sources(a.directory, sources(a.target), a.only, a.jobs)


def _run(arguments: Namespace) -> bool:
    missing = [each for each in ("numpy", "iree") if importlib.util.find_spec(each) is None]
    if missing:
        raise RuntimeError(f"there is no Python package {' and no '.join(missing)}")
    from .gpu.device_launches import DeviceLaunches
    from .gpu.stress import stress, stress_inputs

    compiled = CompiledKernels.of_directory(arguments.directory).kernels
    total, failed = 0, 0
    for kernel in compiled:
        if not re.search(arguments.only, kernel.name):
            continue
        inputs = stress_inputs(kernel, arguments.inputs)
        launch = DeviceLaunches(kernel, arguments.directory, [each.operands for each in inputs])
        stressed = stress(kernel, inputs, launch, arguments.launches)
        total, failed = total + stressed.launches, failed + bool(stressed.findings)
        print(f"{kernel.name}: {stressed.launches:,} launches", flush=True)
        for finding in stressed.findings:
            print(f"{finding.kernel} {finding.mode}: {finding.what}", flush=True)
    print(f"{total:,} launches; {failed} kernels are wrong", flush=True)
    return total > 0 and not failed


def _add_target(parser: ArgumentParser) -> None:
    about = "the architecture that all but stock's code is compiled for"
    parser.add_argument("--target", default="sm_90a", metavar="GPU", help=about)


def _add_counts(parser: ArgumentParser) -> None:
    about = "how often each kernel is launched in each mode, after the first time"
    parser.add_argument("--launches", type=int, default=320, metavar="N", help=about)
    about = "how many different inputs it has"
    parser.add_argument("--inputs", type=int, default=8, metavar="N", help=about)


STEPS = {
    "compile": Step("compile every kernel", _compile, (*COMPILE_ARGUMENTS, _add_target)),
    "run": Step(
        "launch them on the GPU of this machine",
        _run,
        (modules, only("launch the kernels in whose names it is found"), _add_counts),
    ),
}

if __name__ == "__main__":
    sys.exit(take_step(__doc__, STEPS))
