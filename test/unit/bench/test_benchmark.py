# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all benchmarks share: which cases are measured, what is kept, and what a command says."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bankwise.bench import benchmark
from bankwise.bench.benchmark import Benchmark, BenchRow, table, total
from bankwise.sweep import engine
from bankwise.sweep.engine import SweepError, Workers


@dataclass(frozen=True)
class Number:
    name: str


@dataclass(frozen=True)
class Square(BenchRow):
    square: int = 0

    def measured(self, case: tuple[Number, str]) -> Square:
        return replace(self, square=int(self.kernel) ** 2)

    @property
    def faults(self) -> list[str]:
        return super().faults + ["odd"] * (self.square % 2)


CASES = [(Number(name), "gpu") for name in ("2", "4")]
SQUARES = Benchmark(
    "squares",
    Square,
    lambda arguments: CASES[:: arguments.every],
    lambda rows: f"{len(rows)} squares",
    texts={"md": lambda rows: "".join(f"{row.square} " for row in rows)},
    every="number",
    output=Path("squares.json"),
    backend="sequential",
)


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Returns what runs a benchmark's command in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str, of: Benchmark[tuple[Number, str], Square] = SQUARES) -> int:
        monkeypatch.setattr(sys, "argv", ["squares", *words])
        return of.main("Squares.")

    return run


def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns a list that gets the name of each case that is measured."""
    names: list[str] = []
    measure = Square.measured

    def noted(row: Square, case: tuple[Number, str]) -> Square:
        names.append(row.kernel)
        return measure(row, case)

    monkeypatch.setattr(Square, "measured", noted)
    return names


def test_a_command_goes_on_where_it_was_stopped(
    command: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = measured(monkeypatch)
    assert command("--every=2") == 0
    assert command() == 0
    assert names == ["2", "4"]
    assert capsys.readouterr().out == "1 squares\n2 squares\n"
    assert Path("squares.md").read_text() == "4 16 "


def test_other_code_measures_again(
    command: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = measured(monkeypatch)
    assert command() == 0
    versions = benchmark.installed_versions()
    monkeypatch.setattr(benchmark, "installed_versions", lambda: replace(versions, code="other"))
    assert command() == 0
    assert names == ["2", "4"] * 2
    rows = json.loads(Path("squares.json").read_text())["rows"]
    assert [(row["kernel"], row["code"]) for row in rows] == [("2", "other"), ("4", "other")]
    assert [Square.of_document(**row).square for row in rows] == [4, 16]


def test_what_fails_is_said_and_measured_again(
    command: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = [(Number("three"), "gpu"), (Number("5"), "gpu")]
    failing = replace(SQUARES, cases=lambda arguments: wrong)
    names = measured(monkeypatch)
    assert [command(of=failing), command(of=failing)] == [1, 1]
    assert names == ["three", "5", "three"]
    lines = capsys.readouterr().out.splitlines()[-2:]
    assert lines[0].startswith("three for gpu: it fails: ValueError: invalid literal")
    assert lines[1] == "5 for gpu: odd"


@pytest.mark.parametrize(("word", "message"), [("--every=0", "a number from 1"), ("", "no case")])
def test_arguments_that_cannot_be_used(
    command: Callable[..., int], capsys: pytest.CaptureFixture[str], word: str, message: str
) -> None:
    empty = replace(SQUARES, cases=lambda arguments: [])
    with pytest.raises(SystemExit):
        command(*filter(None, [word]), of=empty)
    assert message in capsys.readouterr().err


def test_workers_that_die_end_the_benchmark_in_one_line(
    command: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def dying(
        cases: list[tuple[Number, str]], measure: Callable[..., Square], _: Workers
    ) -> Iterator[Square]:
        yield measure(cases[0])
        raise SweepError("a worker process died")

    monkeypatch.setattr(engine, "measured", dying)
    message = "^squares: error: a worker process died; finished rows are kept$"
    with pytest.raises(SystemExit, match=message):
        command()
    (line,) = Path("squares.rows.jsonl").read_text().splitlines()
    assert json.loads(line)["square"] == 4


def test_records_of_older_versions_are_read() -> None:
    row = Square.of_document(kernel="2", chip="gpu", square=4, error="")
    assert (row.target, row.code, row.failed) == ("gpu", "", False)
    assert Square.of_document(kernel="2", target="gpu", error="no").errors == {"it": "no"}


def test_rows_are_summed_by_what_they_share() -> None:
    rows = [Square("a", "one", square=1000), Square("b", "two"), Square("c", "one", square=234)]
    columns = {"rows": len, "sum": total("square"), "failed": total("failed")}
    assert table(rows, ["target"], columns).splitlines() == [
        "| target | rows | sum | failed |",
        "| --- | ---: | ---: | ---: |",
        "| one | 2 | 1,234 | 0 |",
        "| two | 1 | 0 | 0 |",
    ]
