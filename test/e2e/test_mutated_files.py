# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of all kinds that Bankwise reads, mutated: each is read, or refused as it is documented.

By night there are 600 of each kind, by day a few.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bankwise.iree_plugin.atomic_file import OutputError
from bankwise.iree_plugin.recording import (
    Recording,
    RecordingKey,
    dump_recordings,
    load_recordings,
)
from bankwise.iree_plugin.shared_decisions import check_decisions_file, keep_decisions
from bankwise.iree_plugin.user_cache import UserCache
from bankwise.passes.decisions import Action, Decision, DecisionLog
from bankwise.report.measured.comparison import compare
from bankwise.report.measured.dispatches import MeasuredFileError
from bankwise.report.measured.words import cells
from bankwise.report.sources import report_files
from bankwise.sweep.cases import KernelFileError, kernels_of_file
from bankwise.sweep.plot import plot
from bankwise.sweep.rows import Row
from bankwise.sweep.rows_file import RowsFile, RowsFileError
from bankwise.sweep.tables import (
    SweepTableError,
    csv_table,
    json_table,
    markdown_table,
    read_json_table,
)
from bankwise.sweep.terminal_table import terminal_table
from bankwise.test.e2e.mutations import mutated_files, unexpected
from bankwise.test.unit.report.measured.profiler_files import (
    ncu_details,
    ncu_raw,
    rocprof,
    rocprofv2,
    rocprofv3,
)
from bankwise.test.unit.sweep.swept_rows import case, differing_row, failed_row, row

EXAMPLES = Path(__file__).parents[2] / "examples"
CASES = [case(name, mode) for name in ("attention_1x64x64", "k") for mode in ("none", "auto")]
ROWS = [
    *(row(each, 7 * number, expected=2.5) for number, each in enumerate(CASES)),
    row(case(dtype="f32"), 3),
    differing_row(case("differs")),
    failed_row(case("failed")),
]
FILES = pytest.mark.parametrize("count", [8, pytest.param(600, marks=pytest.mark.nightly)])
Read = Callable[[bytes], object]


def check(
    name: str, texts: tuple[str, ...], count: int, read: Read, *refusals: type[Exception]
) -> None:
    """Fails where mutations of texts end in anything but what a reader's documentation names."""
    counts: dict[str, int] = {"read": 0, "refused": 0}
    faults: list[tuple[str, bytes]] = []
    for seed, text in enumerate(texts):
        found, its = unexpected(mutated_files(text, -(-count // len(texts)), seed), read, refusals)
        counts = {each: counts[each] + found[each] for each in counts}
        faults += its
    print(f"{name}: {counts}, faults {len(faults)}")
    assert not faults, "\n".join(f"{why}\n    {data[:300]!r}" for why, data in faults[:5])


def show(rows: Sequence[Row], number: int) -> None:
    """Makes all that a sweep shows of rows; of some the pictures, which take a second."""
    if not rows:
        return
    csv_table(rows)
    json_table(rows, ["bankwise-sweep"])
    markdown_table(rows, ["bankwise-sweep"])
    terminal_table(rows, 80)
    if number % 16 == 1:
        plot(rows)


@FILES
def test_rows_of_a_sweep_that_goes_on(tmp_path: Path, count: int) -> None:
    path = tmp_path / "k.rows.jsonl"
    numbers = itertools.count()

    def read(data: bytes) -> None:
        path.write_bytes(data.replace(b"\n", b" ") + b"\n" + lines[1] + b"\n")
        with RowsFile(path, Row.of_document) as file:
            rows = [*file.rows()]
        assert ROWS[1] in rows
        if len(rows) == 2:
            show(rows, next(numbers))

    lines = [json.dumps(vars(each)).encode() for each in ROWS]
    check("rows", (lines[0].decode(), lines[5].decode()), count, read, RowsFileError)


@FILES
def test_tables_that_are_drawn_again(count: int) -> None:
    numbers = itertools.count()

    def read(data: bytes) -> None:
        show(read_json_table(data)[0], next(numbers))

    check("tables", (json_table(ROWS, ["bankwise-sweep"]),), count, read, SweepTableError)


@FILES
def test_recorded_pipelines(count: int) -> None:
    key = RecordingKey("rocm", "VectorDistribute", ("prefetch_num_stages = 2",), ("--flag=1",))
    text = dump_recordings("1", [Recording(key, ("canonicalize{top-down=true}", "cse"), ("cse",))])

    def read(data: bytes) -> None:
        for recording in load_recordings(data.decode(), "1"):
            assert len(recording.stages) == 2

    check("pipelines", (text,), count, read, ValueError)


@FILES
def test_files_of_the_cache(tmp_path: Path, count: int) -> None:
    cache = UserCache(tmp_path)
    cache.keep("tile", "key", '{"microseconds": 1.5, "ratio": 1.1}')
    (file,) = tmp_path.iterdir()
    whole = file.read_text()

    def read(data: bytes) -> None:
        file.write_bytes(data)
        assert (cache.read("tile", "key") is None) == (data != whole.encode())

    check("cache", (whole,), count, read)


@FILES
def test_decisions(tmp_path: Path, count: int) -> None:
    def log(function: str) -> DecisionLog:
        words = ("bankwise-pad-unhinted-allocs", function, "memref<4xf32>", "")
        return DecisionLog([Decision(*words, Action.KEEP, "a reason")])

    path = tmp_path / "decisions.json"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        try:
            check_decisions_file(path)
            keep_decisions(path, log("g"), {"g"})
        except OutputError:
            assert path.read_bytes() == data
            raise

    check("decisions", (log("f").to_json(),), count, read, OutputError)


@FILES
def test_counters_of_profilers(tmp_path: Path, count: int) -> None:
    path = tmp_path / "counters.csv"
    example = str(EXAMPLES / "transpose" / "row_major.mlir")
    reports = [each for _, each in report_files([example], "gfx942")]
    name, conflicts = "row_major", "SQ_LDS_BANK_CONFLICT"
    texts = (
        rocprofv3((1, name, 8, conflicts, "448.0"), (2, name, 8, "SQ_INSTS_LDS", "36")),
        rocprof(f"{name}.kd", {conflicts: "448.0"}, 8),
        rocprofv2(f"{name} (.kd)", {conflicts: "448.0"}, 8),
        ncu_details([name], {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": "24,576"}),
        ncu_raw([name], {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": "24,576"}),
    )

    def read(data: bytes) -> None:
        path.write_bytes(data)
        for kernel in compare([str(path)], reports).kernels:
            for counter in kernel.counters:
                assert counter.typical >= 0
                cells(counter, kernel)

    check("counters", texts, count, read, MeasuredFileError)


@FILES
def test_lists_of_kernels(tmp_path: Path, count: int) -> None:
    text = """[{"kernel": "attention", "batch": 2, "seq": 512, "head_dim": 64},
        {"kernel": "matmul", "m": 256, "n": 256, "k": 512, "dtype": "bf16"},
        {"mlir": "k.mlir", "function": "main", "inputs": ["8x4096xf32=1.0"]}]"""
    (tmp_path / "k.mlir").write_text("module {}")

    def read(data: bytes) -> None:
        (tmp_path / "k.json").write_bytes(data)
        for kernel in kernels_of_file(tmp_path / "k.json", ["f16"]):
            assert kernel.name

    check("kernels", (text,), count, read, KernelFileError)
