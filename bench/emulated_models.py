# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models with real weights for AMD GPUs: their kernels on the emulator, and predicted times.

python -m bankwise.bench.emulated_models DIR [--models NAME ...] [--targets gfx942 gfx1201]
    [--checked 12] [--jobs 2] [-o bench/results]

DIR is what `python -m bankwise.bench.real_models import` has written. Each model is compiled in
each mode for each target; what it launches is kept in DIR/emulated. Of every model and target at
least `--checked` launches, every n-th of the distinct ones in their order, run with their whole
grids, by themselves: on the model's weights, and on normal numbers in the place of what other
kernels compute. A row fails where the output of `layout` or `exact` is not bitwise equal to
stock's, and where that of `fast` differs from it by more than sums in another order do. Times are
predicted of all launches, from three workgroups of each, for targets whose times are known. No time
was measured on a GPU.

Finished rows are kept in DIR/emulated_models.json at once, and the same command goes on from there.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..emulator.assembly import Kernel
from ..emulator.chips import EMULATED_CHIPS
from ..emulator.timing.constants import TIMED_CHIPS
from ..runtime.host_values import DispatchCommand
from ..sweep.engine import Workers, measured
from ..sweep.tables import markdown_lines
from .benchmark import RESULTS, Benchmark, BenchRow, count, each_mode, table, total
from .gpu.modes import EXACT, FAST, LAYOUT, STOCK
from .program_families.program import TOLERANCE, largest_error
from .whole_models.exported import ExportedModels
from .whole_models.launched_kernels import Launches

MODES = (STOCK, LAYOUT, EXACT, FAST)
TARGETS = ("gfx942", "gfx1201")
FOLDER = "emulated"
_SAMPLE = 3
"""The workgroups of a launch from which its time is predicted."""
MOST_ERROR = 4 * TOLERANCE["f32"]
"""The largest error of sums of thousands of f32 against those in another order."""


class Case(NamedTuple):
    """A distinct launch of a model for a target.

    Attributes:
        number: its place among those of the model.
        launches: how often a call of the model has it.
        checks, times: whether it runs whole, and whether its time is predicted.
    """

    directory: Path
    model: str
    target: str
    number: int
    launches: int
    checks: bool
    times: bool


@dataclass(frozen=True)
class Row(BenchRow):
    """A distinct launch of a model.

    Attributes:
        model: the model's name; `kernel` has the number of the launch behind it.
        name: the kernel's name.
        launches: how often a call has it.
        workgroups: those of its grid.
        microseconds: the predicted time of one launch, by mode.
        error: how far the output is from stock's, by mode: 0 where it is bitwise equal.
        same_code: the modes whose instructions are stock's.
    """

    model: str = ""
    name: str = ""
    launches: int = 0
    workgroups: int = 0
    microseconds: dict[str, float] = field(default_factory=dict)
    error: dict[str, float] = field(default_factory=dict)
    same_code: tuple[str, ...] = ()

    @classmethod
    def of_case(cls, case: Case) -> Row:
        """Returns the row of a launch that has not been emulated."""
        what = "check" if case.checks else "time"
        name = f"{case.model} {case.number}"
        return cls(name, case.target, what, model=case.model, launches=case.launches)

    def measured(self, case: Case) -> Row:
        """Emulates the launch in all modes."""
        stock = _launches(case, STOCK)
        command = distinct(stock)[case.number][0]
        first = stock.kernel(command.kernel)
        same: list[str] = []
        times: dict[str, float] = {}
        outputs: dict[str, Mapping[int, npt.NDArray[np.uint8]]] = {}

        def emulate(mode: str) -> float:
            launches = _launches(case, mode)
            own = _counterpart(launches, case.number, command)
            same_grid = own.workgroups == command.workgroups
            kernel = launches.kernel(own.kernel)
            if mode != STOCK and same_grid and _same_code(kernel, first):
                same.append(mode)
                times.update({mode: times[STOCK]} if STOCK in times else {})
                return 0.0
            if case.times:
                timing = launches.timed(own, _SAMPLE).timing
                assert timing is not None
                times[mode] = timing.microseconds.expected
            if not case.checks:
                return 0.0
            outputs[mode] = launches.run(own)
            return _difference(outputs[mode], outputs[STOCK], stock.buffers)

        error, errors = each_mode([mode for mode in MODES if _is_there(case, mode)], emulate)
        return replace(
            self,
            name=command.kernel,
            workgroups=int(np.prod(command.workgroups)),
            microseconds=times,
            error=error if case.checks else {},
            same_code=tuple(same),
            errors=errors,
        )

    @property
    def wrong(self) -> list[str]:
        """Returns the modes whose output is not what it must be."""
        most = {FAST: MOST_ERROR}
        return [mode for mode, error in self.error.items() if not error <= most.get(mode, 0.0)]

    @property
    def faults(self) -> list[str]:
        """Returns why the row fails; empty if it does not."""
        found = [f"{mode} differs from stock by {self.error[mode]:.2e}" for mode in self.wrong]
        return super().faults + found


def _difference(
    output: Mapping[int, npt.NDArray[np.uint8]],
    stock: Mapping[int, npt.NDArray[np.uint8]],
    before: Mapping[int, npt.NDArray[np.uint8]],
) -> float:
    """Returns how far outputs are from stock's, as f32: of what one of both has written."""
    largest = 0.0
    for address, contents in stock.items():
        if np.array_equal(output[address], contents):
            continue
        ours, theirs, old = (
            np.resize(each, -(-len(each) // 4) * 4).view(np.float32)
            for each in (output[address], contents, before[address])
        )
        written = (ours.view(np.uint32) != old.view(np.uint32)) | (
            theirs.view(np.uint32) != old.view(np.uint32)
        )
        ours, theirs = ours[written], theirs[written]
        # Both have no number where a square root of a normal number has none.
        known = ~(np.isnan(ours) & np.isnan(theirs)) & (ours != theirs)
        known |= np.isfinite(ours) & np.isfinite(theirs)
        largest = max(largest, largest_error(ours[known], theirs[known].astype(np.float64)))
    return largest


def _same_code(one: Kernel, other: Kernel) -> bool:
    return (one.instructions, one.directives) == (other.instructions, other.directives)


def distinct(launches: Launches) -> list[tuple[DispatchCommand, int]]:
    """Returns the launches of a call that differ, and how often each is there."""
    found: dict[tuple[object, ...], list[DispatchCommand]] = {}
    for command in launches.of_a_call:
        key = (command.kernel, command.workgroups, command.constants)
        found.setdefault(key, []).append(command)
    return [(commands[0], len(commands)) for commands in found.values()]


def _counterpart(launches: Launches, number: int, command: DispatchCommand) -> DispatchCommand:
    """Returns the launch of a mode that is in the place of one of stock's.

    Raises:
        RuntimeError: it takes other buffers, or there is none.
    """
    found = distinct(launches)
    own = found[number][0] if number < len(found) else None
    if own is None or (own.bindings, own.constants) != (command.bindings, command.constants):
        raise RuntimeError(f"there is no launch like {command.kernel}")
    return own


def _path(directory: Path, model: str, target: str, mode: str) -> Path:
    return directory / FOLDER / f"{model}.{target}.{mode.replace('/', '-')}.launches"


def _is_there(case: Case, mode: str) -> bool:
    return _path(case.directory, case.model, case.target, mode).exists()


def _launches(case: Case, mode: str) -> Launches:
    return _read(_path(case.directory, case.model, case.target, mode))


@lru_cache(maxsize=4)
def _read(path: Path) -> Launches:
    return Launches.read(path)


def compile_model(directory: Path, model: str, target: str, mode: str) -> str:
    """Compiles a model, and keeps what it launches; returns why it does not compile, or nothing."""
    path = _path(directory, model, target, mode)
    if path.exists():
        return ""
    (found,) = (
        each for each in ExportedModels.of_directory(directory).models if each.name == model
    )
    _, errors = each_mode(
        [mode], lambda mode: Launches.of_model(found, directory, target, mode).write(path)
    )
    return errors.get(mode, "")


def cases(
    directory: Path, models: Sequence[str], targets: Sequence[str], checked: int
) -> list[Case]:
    """Returns the launches that run whole, then those whose times are predicted.

    Raises:
        RuntimeError: a model was not compiled as stock.
    """
    checks: list[Case] = []
    times: list[Case] = []
    for model in models:
        for target in targets:
            path = _path(directory, model, target, STOCK)
            if not path.exists():
                raise RuntimeError(f"{path} is missing: {model} was not compiled for {target}")
            found = distinct(Launches.read(path))
            step = max(1, len(found) // checked)
            case = [
                Case(directory, model, target, n, m, False, False) for n, (_, m) in enumerate(found)
            ]
            checks += [each._replace(checks=True) for each in case[::step]]
            if target in TIMED_CHIPS:
                times += [each._replace(times=True) for each in case]
    return [*checks, *times]


def show(rows: Sequence[Row]) -> str:
    """Returns how many launches are right, and the predicted times over stock's, by model."""
    checks = [row for row in rows if row.mode == "check"]
    parts = [table(checks, ["model", "target"], {"checked": len, "wrong": total("wrong"), **{
        f"{mode}: stock's code": _counted(mode) for mode in MODES[1:]
    }})] if checks else []  # fmt: skip
    times = [row for row in rows if row.microseconds and row.mode == "time"]
    if times:
        columns: dict[str, Callable[[list[Row]], object]] = {"launches": _calls, STOCK: _stock}
        for mode in MODES[1:]:
            columns |= {f"{mode} over stock": _ratio(mode), f"of {mode}": _known(mode)}
        parts.append(table(times, ["model", "target"], columns))
        parts.append(_slower(times))
    return "\n\n".join(parts)


def _counted(mode: str) -> Callable[[list[Row]], int]:
    return lambda rows: sum(mode in row.same_code for row in rows)


def _calls(rows: Sequence[Row]) -> int:
    return sum(row.launches for row in rows)


def _in_both(rows: Sequence[Row], mode: str) -> list[Row]:
    """Returns the rows that have a time as stock and in a mode."""
    return [row for row in rows if {STOCK, mode} <= {*row.microseconds}]


def _sum(rows: Sequence[Row], mode: str) -> float:
    """Returns the milliseconds of all launches of rows that have a time in a mode."""
    return sum(row.launches * row.microseconds[mode] for row in rows) / 1e3


def _stock(rows: list[Row]) -> str:
    return f"{_sum(_in_both(rows, STOCK), STOCK):.3f} ms"


def _known(mode: str) -> Callable[[list[Row]], int]:
    """Returns what counts the launches that a ratio is of: those with a time in the mode."""
    return lambda rows: _calls(_in_both(rows, mode))


def _ratio(mode: str) -> Callable[[list[Row]], str]:
    def ratio(rows: list[Row]) -> str:
        known = _in_both(rows, mode)
        return f"{_sum(known, mode) / _sum(known, STOCK):.3f}" if known else "-"

    return ratio


_SLOWER = 1.05
"""From how many times stock's predicted time on a launch is shown."""


def _slower(rows: Sequence[Row]) -> str:
    """Returns the launches that `fast` is predicted to slow down, and those it speeds up most."""
    lines = [["model", "kernel", "workgroups", "stock us", "fast us", "fast over stock"]]
    timed = [row for row in rows if {STOCK, FAST} <= {*row.microseconds}]
    for row in sorted(timed, key=lambda row: -row.microseconds[FAST] / row.microseconds[STOCK]):
        stock, fast = row.microseconds[STOCK], row.microseconds[FAST]
        if fast > _SLOWER * stock:
            cells = (f"{stock:.1f}", f"{fast:.1f}", f"{fast / stock:.2f}")
            lines.append([row.model, row.name, f"{row.workgroups:,}", *cells])
    return markdown_lines(lines, 2) if len(lines) > 1 else "No launch is predicted to be slower."


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="where the models are")
    parser.add_argument("--models", nargs="+", default=[], metavar="NAME", help="default: all")
    about = "the GPUs that models are compiled for"
    parser.add_argument("--targets", nargs="+", choices=EMULATED_CHIPS, default=TARGETS, help=about)
    about = "how many kernels of a model run whole at least"
    parser.add_argument("--checked", type=count, default=12, help=about)


def _chosen(arguments: Namespace) -> list[Case]:
    directory = arguments.directory
    models = arguments.models or [
        each.name for each in ExportedModels.of_directory(directory).models
    ]
    wanted = [
        (directory, model, target, mode)
        for model in models for target in arguments.targets for mode in MODES
    ]  # fmt: skip
    (directory / FOLDER).mkdir(exist_ok=True)
    failed = [text for text in measured(wanted, _compiled, Workers(arguments.jobs)) if text]
    if failed:
        raise SystemExit("\n".join(failed))
    return cases(directory, models, arguments.targets, arguments.checked)


def _compiled(wanted: tuple[Path, str, str, str]) -> str:
    _, model, target, mode = wanted
    error = compile_model(*wanted)
    return f"{model} for {target}, {mode}: {error}" if error else ""


BENCHMARK = Benchmark(
    "models on AMD GPUs",
    Row,
    _chosen,
    show,
    texts={"md": show},
    measures="compiles and kernels",
    output=RESULTS / "emulated_models.json",
    arguments=_arguments,
)


if __name__ == "__main__":
    sys.exit(BENCHMARK.main(__doc__))
