# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bankwise-sweep as a whole, on one small kernel."""

from __future__ import annotations

import csv
import json
import signal
from functools import cache, partial
from pathlib import Path

import pytest

from bankwise.sweep import engine as sweep_engine
from bankwise.sweep import progress as sweep_progress
from bankwise.sweep.measure import measure
from bankwise.tools.interruption import Interrupted
from bankwise.tools.sweep import main

FILES = {
    f"k_sweep.{suffix}" for suffix in ("csv", "html", "json", "md", "png", "svg", "rows.jsonl")
}


measured_once = cache(measure)
"""Most tests sweep the same two cases."""


@pytest.fixture(autouse=True)
def _rows_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_engine, "measure", measured_once)


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    path = tmp_path / "k.json"
    path.write_text('[{"kernel": "attention", "batch": 1, "seq": 128, "head_dim": 64}]')
    return path


def command(kernels: Path, *more: str) -> list[str]:
    output = kernels.parent / "out"
    return [f"--kernels={kernels}", "--dtypes=f16", "--modes=none,auto", "-o", str(output),
            "--backend=sequential", *more]  # fmt: skip


def rows(kernels: Path) -> list[dict[str, str]]:
    with (kernels.parent / "out" / "k_sweep.csv").open() as file:
        return list(csv.DictReader(file))


def test_a_sweep_leaves_tables_and_plots(
    kernels: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert main(command(kernels)) == 0
    output = kernels.parent / "out"
    assert {path.name for path in output.iterdir()} == FILES
    none, auto = rows(kernels)
    assert int(none["grid_SQ_LDS_BANK_CONFLICT"]) > 0
    assert auto["grid_SQ_LDS_BANK_CONFLICT"] == "0"
    assert json.loads((output / "k_sweep.json").read_text())["command"][0] == "bankwise-sweep"
    captured = capsys.readouterr()
    assert "| gfx942 | f16 | auto | 1 | 0 | 0 |" in captured.out
    # A machine that is busy takes long enough for a line on how far the sweep is.
    assert all(line.startswith("sweep: 1 of 2 ") for line in captured.err.splitlines())


def test_a_log_says_how_far_the_sweep_is(
    kernels: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (kernels.parent / "bad.mlir").write_text("func.func @f(")
    kernels.write_text(json.dumps([{"mlir": "bad.mlir"}, *json.loads(kernels.read_text())]))
    now = iter(range(0, 3000, 100))
    monkeypatch.setattr(
        sweep_progress, "LogLines", partial(sweep_progress.LogLines, clock=lambda: next(now))
    )
    assert main(command(kernels)) == 1
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("sweep: ")]
    assert lines == [
        "sweep: 1 of 4 rows, 1 failed, about 5 min left",
        "sweep: 2 of 4 rows, 2 failed, about 3 min left",
        "sweep: 3 of 4 rows, 2 failed, about 100 s left",
    ]


@pytest.mark.nightly
def test_a_finished_sweep_is_drawn_again_without_measuring(
    kernels: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    assert main(command(kernels)) == 0
    output, again = kernels.parent / "out", kernels.parent / "again"
    before = {path.name: path.read_bytes() for path in output.iterdir()}
    monkeypatch.setattr(sweep_engine, "measure", lambda case: pytest.fail("it was measured"))
    monkeypatch.setenv("COLUMNS", "80")
    capsys.readouterr()
    assert main([f"--redraw={output / 'k_sweep.json'}", "-o", str(again)]) == 0
    for path in again.iterdir():
        assert path.read_bytes() == before.pop(path.name)
    assert [*before] == ["k_sweep.rows.jsonl"]
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines()[1:])) <= 80
    assert "gfx942 f16, 1 kernels" in text
    (output / "k_sweep.png").unlink()
    assert main([f"--redraw={output / 'k_sweep.json'}"]) == 0
    assert (output / "k_sweep.png").read_bytes() == (again / "k_sweep.png").read_bytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "'{}': No such file"), ("[1]", "'{}': is no JSON table of a sweep")],
)
def test_what_cannot_be_drawn_again_is_one_line(
    text: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    table = tmp_path / "a_sweep.json"
    if text is not None:
        table.write_text(text)
    assert main([f"--redraw={table}"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"bankwise-sweep: error: {message.format(table)}")
    assert not list(tmp_path.glob("*.png"))


def test_a_killed_sweep_goes_on(
    kernels: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """The kill fell into the second row's line: it alone is measured again."""
    assert main(command(kernels)) == 0
    kept = kernels.parent / "out" / "k_sweep.rows.jsonl"
    table = rows(kernels)
    kept.write_bytes(kept.read_bytes()[:-30])
    calls: list[str] = []

    def counted(case):
        calls.append(case.mode)
        return measure(case)

    monkeypatch.setattr(sweep_engine, "measure", counted)
    capsys.readouterr()
    assert main(command(kernels)) == 0
    assert calls == ["auto"]
    assert "1 of 2 rows are finished" in capsys.readouterr().err
    timeless = [{k: v for k, v in r.items() if k != "seconds"} for r in (*table, *rows(kernels))]
    assert timeless[:2] == timeless[2:]


def test_an_interrupted_sweep_writes_what_is_there(
    kernels: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def interrupted(case):
        if case.mode == "auto":
            raise Interrupted(signal.SIGINT)
        return measure(case)

    monkeypatch.setattr(sweep_engine, "measure", interrupted)
    assert main(command(kernels)) == 130
    assert [row["mode"] for row in rows(kernels)] == ["none"]
    assert capsys.readouterr().err.splitlines() == [
        "bankwise-sweep: error: interrupted; 1 of 2 rows are open: the same command goes on with "
        "them"
    ]


def test_a_failing_kernel_does_not_stop_the_others(
    kernels: Path, capsys: pytest.CaptureFixture[str]
):
    (kernels.parent / "bad.mlir").write_text("func.func @f(")
    entries = [{"mlir": "bad.mlir"}, *json.loads(kernels.read_text())]
    kernels.write_text(json.dumps(entries))
    assert main(command(kernels, "--modes=auto")) == 1
    assert [row["measured"] for row in rows(kernels)] == ["failed", "all 2"]
    error = capsys.readouterr().err
    assert "bad.mlir for gfx942, auto: bad.mlir:1:14: error:" in error
    assert "1 of 2 rows failed" in error
    assert "Traceback" not in error


def test_a_table_that_cannot_be_written_is_known_before_the_first_kernel(
    kernels: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sweep_engine, "measure", lambda case: pytest.fail("it was measured"))
    table = kernels.parent / "out" / "k_sweep.md"
    table.mkdir(parents=True)
    assert main(command(kernels)) == 1
    error = f"bankwise-sweep: error: cannot write '{table}': Is a directory\n"
    assert capsys.readouterr().err == error
    assert list(table.parent.iterdir()) == [table]
