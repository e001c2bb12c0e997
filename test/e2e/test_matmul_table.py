# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of bench/matmul_table: what they say of kernels that are right, wrong, or do not compile."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import pytest

from bankwise.bench import matmul_table
from bankwise.bench.benchmark_kernels import Convolution, Product
from bankwise.bench.emulated_rows import Figures, Reason
from bankwise.bench.emulated_runs import (
    MarkingDevice,
    ModeRuns,
    at_given_tiles,
    run_modes,
    written,
)
from bankwise.bench.matmul_table import (
    EXACT,
    FAST,
    LAYOUT,
    MODES,
    WHOLE_GRID,
    Row,
    cases,
    largest_error,
    markdown_table,
    summary,
)
from bankwise.emulator.counters import Counted
from bankwise.runtime.emulated_run import EmulatedRun, run_emulated
from bankwise.sweep.cases import target_flags
from bankwise.sweep.swept_kernels import F64, Mask, Matmul, random_operands

MATMUL = Matmul(64, 64, 128, "f16")


@dataclass(frozen=True)
class Measured:
    """A row, and what ran for it."""

    row: Row
    runs: ModeRuns


@pytest.fixture(scope="module")
def measured() -> Measured:
    runs: list[ModeRuns] = []

    def kept(*arguments: Any, **options: Any) -> ModeRuns:
        runs.append(run_modes(*arguments, **options))
        return runs[-1]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(matmul_table, "run_modes", kept)
        row = Row.measure((MATMUL, "gfx942"))
    return Measured(row, *runs)


@pytest.fixture
def row(measured: Measured) -> Row:
    return measured.row


def test_a_matmul_passes(row: Row):
    assert row.faults == []
    assert row.equal
    assert row.written == 64 * 64
    assert row.uses_lds
    assert [row.count(mode, Counted.CONFLICTS) for mode in (LAYOUT, EXACT, FAST)] == [0, 0, 0]
    assert summary([row]).splitlines()[-1] == "| gfx942 | 1 | 0 | 0 | 1 | 0 | 0 | 0 | 1 | 1 | 0 |"
    assert "| bitwise equal |" in markdown_table([row])


@pytest.mark.nightly
def test_a_strided_convolution_passes():
    row = Row.measure((Convolution(1, 17, 17, 32, 64, 3, "i8", stride=2), "gfx950"))
    assert row.faults == []
    assert (row.written, row.error) == (8 * 8 * 64, 0.0)


@dataclass(frozen=True)
class OneTermMore(Matmul):
    """Claims a sum that has one more term of an average size."""

    def product(self, a: F64, b: F64, part: Mask) -> F64:
        return super().product(a, b, part) + 1


@dataclass(frozen=True)
class Misspelt(Matmul):
    def source(self) -> str:
        return super().source().replace("linalg.matmul", "linalg.matmull")


def test_wrong_results_fail_the_row(measured: Measured, monkeypatch: pytest.MonkeyPatch):
    # The kernel is the same, and its runs need not be made again.
    monkeypatch.setattr(matmul_table, "run_modes", lambda *_, **__: measured.runs)
    row = Row.measure((OneTermMore(64, 64, 128, "f16"), "gfx942"))
    (fault,) = row.faults
    assert fault.startswith("results are wrong")
    assert summary([row]).splitlines()[-1].startswith("| gfx942 | 1 | 1 |")


def test_compile_errors_are_rows():
    row = Row.measure((Misspelt(64, 64, 128, "f16"), "gfx942"))
    assert len(row.faults) == len(MODES)
    assert all("fails: CompileError" in fault for fault in row.faults)
    assert "FAILED" in markdown_table([row])


def test_other_faults(row: Row):
    """Each figure that must not be, put into a row that passes."""
    stock = row.figures["stock"]

    def counting(mode: str, counter: str, count: int) -> dict[str, Figures]:
        figures = row.figures[mode]
        return row.figures | {mode: replace(figures, counters=figures.counters | {counter: count})}

    def faults(**changes: object) -> list[str]:
        return replace(row, **changes).faults

    assert faults(equal=False) == ["outputs differ"]
    assert faults(unwritten=3) == ["3 elements were not written"]
    more = replace(row.figures[FAST], lds_bytes=stock.lds_bytes + 8)
    assert faults(figures=row.figures | {FAST: more}) == ["8 LDS bytes above stock"]
    conflicting = counting(FAST, Counted.CONFLICTS, 8)
    assert faults(figures=conflicting) == [f"{FAST} has conflicts without a reason"]
    reason = Reason("memref<8xf16>", "keep", "it has a swizzle hint already", None, None, FAST)
    assert faults(figures=conflicting, reasons=(reason,)) == []
    assert faults(figures=conflicting, reasons=(replace(reason, mode=EXACT),)) != []


@pytest.mark.parametrize("counter", [Counted.LDS, Counted.LDS_CYCLES, Counted.CONFLICTS])
def test_exact_must_not_be_worse_than_layout(row: Row, counter: str):
    reason = Reason("memref<8xf16>", "keep", "it has a swizzle hint already", None, None, EXACT)
    most = row.count(LAYOUT, counter)
    assert most is not None
    for count, expected in ((most, 0), (most + 1, 1)):
        figures = row.figures[EXACT]
        worse = replace(figures, counters=figures.counters | {counter: count})
        changed = replace(row, figures=row.figures | {EXACT: worse}, reasons=(reason,))
        assert sum("auto/exact has" in fault for fault in changed.faults) == expected


@pytest.mark.parametrize(("dtype", "most"), [("f16", 1.0), ("f32", 0.625)])
def test_fast_must_not_take_more_lds_instructions_than_stock(row: Row, dtype: str, most: float):
    for ratio, expected in ((most, 0), (most + 0.1, 1)):
        figures = {
            mode: replace(each, counters=each.counters | {Counted.LDS: round(1000 * of_stock)})
            for mode, of_stock in (("stock", 1.0), (FAST, ratio))
            for each in (row.figures[mode],)
        }
        changed = replace(row, dtype=dtype, figures=row.figures | figures)
        assert sum("stock's SQ_INSTS_LDS" in fault for fault in changed.faults) == expected


def test_other_sums_are_no_difference_in_fast_alone(row: Row):
    """Of two modes with other bits, one makes the row fail."""
    operands = random_operands(MATMUL)
    run = run_emulated(MATMUL.source(), target_flags("gfx942"), "stock", operands)
    other = replace(run, outputs=[run.outputs[0] + 1])

    def runs(**modes: EmulatedRun) -> ModeRuns:
        return ModeRuns({name.replace("_", "/"): each for name, each in modes.items()}, {}, {})

    assert runs(stock=run, auto_exact=run, auto_fast=other).equal
    assert len(runs(stock=run, auto_exact=run, auto_fast=other).distinct) == 2
    assert not runs(stock=run, auto_exact=other, auto_fast=other).equal


def test_rows_without_all_modes_are_measured_again(row: Row):
    assert not row.failed
    assert replace(row, figures={m: row.figures[m] for m in ("none", "stock")}).failed


@pytest.mark.parametrize("kernel", [Matmul(1024, 1024, 64, "i8", True)], ids=str)
def test_samples_compare_what_they_wrote(kernel: Product):
    operands = random_operands(kernel)
    flags = target_flags("gfx942")
    run = run_emulated(
        kernel.source(),
        flags,
        at_given_tiles("auto"),
        operands,
        device=partial(MarkingDevice, whole_grid=WHOLE_GRID),
    )
    (output,) = run.outputs
    part = written(output)
    assert run.emulated == 2 < run.workgroups
    assert part.sum() * run.workgroups == part.size * run.emulated
    assert largest_error(kernel, operands, output) == 0
    assert part[0, 0]
    assert part[-1, -1]


def test_a_row_is_kept(row: Row):
    assert Row.of_document(**json.loads(json.dumps(asdict(row)))) == row


def test_the_table_covers_ten_shapes_and_all_types():
    chosen = cases(["gfx942", "gfx950"])
    matmuls = [(kernel, chip) for kernel, chip in chosen if isinstance(kernel, Matmul)]
    for chip in ("gfx942", "gfx950"):
        dtypes = {kernel.dtype for kernel, of in matmuls if of == chip}
        assert len(dtypes) == 5
        for dtype in dtypes:
            shapes = {(k.m, k.n, k.k) for k, of in matmuls if (k.dtype, of) == (dtype, chip)}
            assert len(shapes) == 10
    assert len({(kernel.name, chip) for kernel, chip in chosen}) == len(chosen)
    assert {kernel.name for kernel, _ in cases(["gfx942"], "^matmul_100x130x70_f")} == {
        "matmul_100x130x70_f16",
        "matmul_100x130x70_f16_transposed",
        "matmul_100x130x70_f32",
        "matmul_100x130x70_f8E4M3FNUZ",
    }
