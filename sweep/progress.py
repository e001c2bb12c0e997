# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far a long command is: a bar on a terminal, and a line now and then in a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

SOON, LATE = 10.0, 30.0
"""Seconds between two lines: at least, and at most where rows come as often."""

ItemT = TypeVar("ItemT")


class Watch(Protocol):
    """What is told of every row that is finished."""

    def advance(self, label: str = "", failed: bool = False) -> None:
        """Counts a row; `label` says which one it was."""
        ...


@contextmanager
def progress(
    title: str, total: int, done: int = 0, noun: str = "rows", console: Console | None = None
) -> Iterator[Watch]:
    """Shows how many of `total` rows are done, on stderr.

    Args:
        title: stands before all else.
        done: how many were done before.
        noun: what the rows are called.
        console: where rows are shown, if other lines go there too.
    """
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield LogLines(title, total, done, noun, lambda line: _print(console, line))
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[last]}"),
    )
    with Progress(*columns, console=console) as bar:
        yield _Bar(bar, bar.add_task(title, total=total, completed=done, last=""))


def tracked(items: Iterable[ItemT], title: str, total: int, noun: str = "rows") -> Iterator[ItemT]:
    """Yields items, and shows how many have come."""
    with progress(title, total, noun=noun) as watch:
        for item in items:
            yield item
            watch.advance()


def _print(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)


@dataclass(frozen=True)
class _Bar:
    bar: Progress
    task: TaskID

    def advance(self, label: str = "", failed: bool = False) -> None:
        self.bar.update(self.task, advance=1, last=label)


@dataclass
class LogLines:
    """Prints a line for every tenth of the rows, and one every `LATE` seconds where that is long.

    There are at least `SOON` seconds from a line to the next and from the start to the first, so
    that a short command prints none. The last row gets none either: what follows says its end.
    """

    title: str
    total: int
    done: int
    noun: str
    print: Callable[[str], object]
    clock: Callable[[], float] = time.monotonic
    _failed: int = 0
    _began: tuple[float, int] = field(init=False)
    _said: tuple[float, int] = field(init=False)

    def __post_init__(self) -> None:
        self._began = self._said = (self.clock(), self.done)

    def advance(self, label: str = "", failed: bool = False) -> None:
        """Counts a row, and prints a line where one is due."""
        self.done += 1
        self._failed += failed
        now = self.clock()
        seconds, rows = now - self._said[0], self.done - self._said[1]
        due = seconds >= LATE or (seconds >= SOON and 10 * rows >= self.total)
        if due and self.done < self.total:
            self._said = now, self.done
            self.print(self._line(now))

    def _line(self, now: float) -> str:
        began, before = self._began
        left = (now - began) / (self.done - before) * (self.total - self.done)
        failed = f", {self._failed} failed" if self._failed else ""
        counted = f"{self.done} of {self.total} {self.noun}{failed}"
        return f"{self.title}: {counted}, about {_duration(left)} left"


def _duration(seconds: float) -> str:
    """Returns a time in the largest unit of which there are two."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
