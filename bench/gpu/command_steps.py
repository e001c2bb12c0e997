# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands whose steps run on different machines: their arguments, and how they end."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

AddArguments = Callable[[ArgumentParser], object]


@dataclass(frozen=True)
class Step:
    """One step of a command.

    Attributes:
        help: what the step does.
        run: takes the step; returns False where something failed. It raises a RuntimeError or an
            OSError where the step cannot be taken.
        arguments: each adds arguments of the step.
    """

    help: str
    run: Callable[[Namespace], bool | None]
    arguments: tuple[AddArguments, ...]


def take_step(description: str | None, steps: Mapping[str, Step]) -> int:
    """Parses a command line and takes its step; returns the exit code.

    It is 1 where something failed, or where the step cannot be taken: that is said in one line.
    """
    parser = ArgumentParser(description=description, formatter_class=RawDescriptionHelpFormatter)
    subparsers = parser.add_subparsers(dest="step", required=True)
    for name, step in steps.items():
        subparser = subparsers.add_parser(name, help=step.help)
        for add in step.arguments:
            add(subparser)
    arguments = parser.parse_args()
    try:
        return int(steps[arguments.step].run(arguments) is False)
    except (RuntimeError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def modules(parser: ArgumentParser) -> None:
    """Adds the directory of the compiled modules."""
    parser.add_argument("directory", type=Path, metavar="DIR", help="where the modules are")


def record(parser: ArgumentParser) -> None:
    """Adds the record that is shown."""
    parser.add_argument("record", type=Path, metavar="FILE.json")


def only(about: str) -> AddArguments:
    """Adds the regular expression that chooses kernels."""
    return lambda parser: parser.add_argument("--only", default="", metavar="REGEX", help=about)


def jobs(default: int, what: str) -> AddArguments:
    """Adds how many of something run at a time."""
    about = f"{what} at a time"
    return lambda parser: parser.add_argument("--jobs", type=int, default=default, help=about)


def output(name: str) -> AddArguments:
    """Adds the file that is written, which has this name if the user gives none."""
    return lambda parser: parser.add_argument(
        "-o", "--output", type=Path, default=Path(name), metavar=f"FILE{Path(name).suffix}"
    )


COMPILE_ARGUMENTS = (
    modules,
    only("compile the kernels in whose names it is found"),
    jobs(2, "compiles"),
)
"""What a step takes that compiles kernels."""
