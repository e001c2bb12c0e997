# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The arguments of the commands that compile kernels and measure them on a GPU."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from .inputs import INPUTS, NORMAL
from .measuring import Wanted
from .profiler import CLOCKS

_NVIDIA, _ROCM = BACKENDS = ("nvidia", "rocm")


def add_compile_arguments(parser: ArgumentParser) -> None:
    """Adds what a step that compiles takes."""
    _add_common_arguments(parser, "compile the kernels in whose names it is found")
    parser.add_argument("--jobs", type=int, default=2, help="compiles at a time")


def add_measure_arguments(parser: ArgumentParser, output: Path) -> None:
    """Adds what a step that measures takes.

    Args:
        output: the record's file if the user names none.
    """
    _add_common_arguments(
        parser,
        "measure the kernels in whose names it is found; the name of a mode or a library follows, "
        "as in 'attention_2x1024x128_f16 auto/fast' or 'matmul_2048x2048x2048_f16 cublas'",
    )
    parser.add_argument("-o", "--output", type=Path, default=output, metavar="FILE.json")
    about = "; ".join(f"{name}: {text}" for name, text in INPUTS.items())
    parser.add_argument("--inputs", choices=INPUTS, default=NORMAL, help=f"of attentions: {about}")
    about = "; ".join(f"{name}: {text}" for name, text in CLOCKS.items())
    parser.add_argument("--clocks", choices=CLOCKS, default="base", help=about)


def add_modules_arguments(parser: ArgumentParser, only: str) -> None:
    """Adds the directory of the modules, and the regular expression that chooses some.

    Args:
        only: the help of the regular expression.
    """
    parser.add_argument("directory", type=Path, metavar="DIR", help="where the modules are")
    parser.add_argument("--only", default="", metavar="REGEX", help=only)


def _add_common_arguments(parser: ArgumentParser, only: str) -> None:
    add_modules_arguments(parser, only)
    parser.add_argument("--backend", choices=BACKENDS, default=_NVIDIA, help="whose GPU it is")


def check_backend(arguments: Namespace) -> None:
    """Checks that the GPU can be measured.

    Raises:
        RuntimeError: it is AMD's, whose profiler is not asked yet.
    """
    if getattr(arguments, "backend", _NVIDIA) == _ROCM:
        raise RuntimeError("--backend rocm is not there yet: times are read by NVIDIA's ncu")


def wanted(arguments: Namespace, *, libraries: bool = True) -> Wanted:
    """Returns what the arguments of a measuring step ask for.

    Args:
        libraries: whether PyTorch's kernels are measured too.
    """
    return Wanted(
        arguments.directory,
        arguments.output,
        arguments.only,
        arguments.inputs,
        arguments.clocks,
        libraries,
    )
