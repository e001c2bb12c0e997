# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of `bankwise-sweep`."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from ..bank_model.families import DEFAULT_TARGET
from ..bank_model.shown_text import did_you_mean
from ..emulator.chips import EMULATED_CHIPS
from ..passes.mode import modes
from ..sweep.cases import DTYPES
from ..sweep.settings import KERNEL_SETS, SweepSettings
from .argument_parser import ArgumentParser
from .usage import UsageError, check_choice


def parse_arguments(argv: Sequence[str]) -> SweepSettings:
    """Returns the settings that `argv` asks for.

    Raises:
        UsageError: a flag that cannot be used; the message names it.
    """
    parser = make_parser()
    known = parser.parse_all(argv)
    redrawn = Path(known.redraw) if known.redraw else None
    if redrawn:
        _check_redrawing(parser, known)
    settings = SweepSettings(
        kernels=known.kernels,
        dtypes=_listed("--dtypes", known.dtypes),
        targets=_listed("--targets", known.targets),
        modes=_listed("--modes", known.modes),
        output=Path(known.output or (redrawn.parent if redrawn else ".")),
        jobs=known.jobs,
        every=known.every,
        workgroups=known.workgroups,
        backend=known.backend,
        scheduler=known.scheduler,
        timing=known.timing,
        redrawn=redrawn,
    )
    _check(settings)
    return settings


def _check_redrawing(parser: ArgumentParser, known: Namespace) -> None:
    """Refuses what says what to measure, and how."""
    for name, value in vars(known).items():
        if name not in ("redraw", "output") and value != parser.get_default(name):
            raise UsageError(f"--{name}: --redraw measures nothing, and takes --output only")
    if Path(known.redraw).suffix != ".json":
        raise UsageError(f"--redraw: '{known.redraw}' is no .json")


def listed_values() -> Mapping[str, Collection[str]]:
    """Returns what may stand in a list, by its flag."""
    return {"--dtypes": DTYPES, "--targets": EMULATED_CHIPS, "--modes": modes()}


def _listed(flag: str, text: str) -> tuple[str, ...]:
    words = tuple(dict.fromkeys(text.split(",")))
    for word in words:
        check_choice(flag, word, listed_values()[flag])
    return words


def _check(settings: SweepSettings) -> None:
    if settings.kernels not in KERNEL_SETS and not settings.kernels.endswith(".json"):
        raise UsageError(
            f"--kernels: '{settings.kernels}' is neither {' nor '.join(KERNEL_SETS)} nor a .json"
            f"{did_you_mean(settings.kernels, KERNEL_SETS)}"
        )
    if settings.jobs < 1 and settings.jobs != -1:
        raise UsageError(f"--jobs={settings.jobs}: expects a number from 1, or -1 for all")
    if settings.every < 1:
        raise UsageError(f"--every={settings.every}: expects a number from 1")
    if settings.workgroups < 2:
        raise UsageError(
            f"--workgroups={settings.workgroups}: expects a number from 2: the first and the last "
            "are compared"
        )
    if settings.scheduler and settings.backend != "dask":
        raise UsageError("--scheduler: needs --backend=dask")


def make_parser() -> ArgumentParser:
    """Returns the parser of the command line."""
    parser = ArgumentParser(
        "bankwise-sweep",
        description="Compiles kernels in several modes, emulates some workgroups of each, "
        "and writes a table and a plot.",
        epilog="""\
Finished rows are kept in DIR/<kernels>_sweep.rows.jsonl: the same command goes on from them.

examples:
  bankwise-sweep --kernels=attention --dtypes=f16,f32 --jobs=2 -o results
  bankwise-sweep --kernels=mine.json --targets=gfx942,gfx950 --modes=none,auto -o results
  bankwise-sweep --redraw=results/attention_sweep.json
""",
    )
    add = parser.add_argument
    add("--kernels", default="attention", metavar="SET|FILE",
        help="attention (the 110 shapes of the public sweep), matmul, or a .json that lists "
        "kernels (default: attention)")  # fmt: skip
    add("--dtypes", default="f16,f32", metavar="LIST", help=f"of {', '.join(DTYPES)} (f16,f32)")
    targets = f"of {', '.join(EMULATED_CHIPS)} ({DEFAULT_TARGET})"
    add("--targets", default=DEFAULT_TARGET, metavar="LIST", help=targets)
    add("--modes", "--mitigations", default="none,stock,auto", metavar="LIST",
        help=f"of {', '.join(modes())} (none,stock,auto)")  # fmt: skip
    add("-o", "--output", metavar="DIR", help="where files go; made if need be (.)")
    add("--jobs", type=int, default=-1, metavar="N", help="cases at a time (-1: one per core)")
    add("--every", type=int, default=1, metavar="N", help="take every Nth kernel only")
    add("--workgroups", type=int, default=2, metavar="N",
        help="workgroups of each dispatch to emulate, first and last among them (2)")  # fmt: skip
    add("--timing", action="store_true",
        help="predict each kernel's microseconds too, as bankwise-run --timing does")  # fmt: skip
    add("--backend", metavar="NAME",
        help="joblib's: loky (processes; the default), threading, dask, ...")  # fmt: skip
    add("--scheduler", metavar="HOST:PORT", help="the Dask scheduler, with --backend=dask")
    add("--redraw", metavar="FILE.json",
        help="measure nothing: write tables and plots again from a sweep's FILE.json, to its "
        "folder or to DIR")  # fmt: skip
    return parser
