# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A benchmark keeps what was measured when its workers cannot go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bankwise.bench import kept_rows
from bankwise.sweep.engine import SweepError, Workers
from bankwise.sweep.rows_file import RowsFile


@dataclass(frozen=True)
class Square:
    number: int
    square: int = 0
    failed: bool = False

    @property
    def key(self) -> int:
        return self.number


def test_workers_that_die_end_the_benchmark_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(
        cases: list[int], measure: Callable[[int], Square], _: Workers
    ) -> Iterator[Square]:
        yield from map(measure, cases[:2])
        raise SweepError("a worker process died")

    monkeypatch.setattr(kept_rows, "measured", measured)
    path = tmp_path / "squares.jsonl"
    message = "^squares: error: a worker process died; finished rows are kept$"
    with RowsFile(path, Square) as rows, pytest.raises(SystemExit, match=message):
        kept_rows.fill_rows(
            rows, [1, 2, 3], Square, lambda n: Square(n, n**2), "squares", Workers(jobs=1)
        )
    with RowsFile(path, Square) as rows:
        assert rows.latest([1, 2, 3]) == [Square(1, 1), Square(2, 4)]
