# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of bench/matmul_table: what they say of kernels that are right, wrong, or do not compile."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import pytest

from bankwise.bench.emulated_rows import KeptRows, Reason
from bankwise.bench.emulated_runs import MarkingDevice, written
from bankwise.bench.matmul_table import (
    WHOLE_GRID,
    Row,
    cases,
    csv_table,
    largest_error,
    markdown_table,
    measure,
    summary,
)
from bankwise.emulator.counters import Counted
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags
from bankwise.sweep.kernels import F64, Convolution, Mask, Matmul, Product, random_operands

MATMUL = Matmul(64, 64, 128, "f16")


@pytest.fixture(scope="module")
def row() -> Row:
    return measure((MATMUL, "gfx942"))


def test_a_matmul_passes(row: Row):
    assert row.faults == []
    assert row.equal
    assert row.written == 64 * 64
    assert (row.count("auto", Counted.CONFLICTS), row.uses_lds) == (0, True)
    assert summary([row]).startswith("1 rows: 1 with 0 conflicts (0 of them without LDS)")
    assert "| bitwise equal |" in markdown_table([row])
    assert len(csv_table([row]).splitlines()) == 2


def test_a_strided_convolution_passes():
    row = measure((Convolution(1, 17, 17, 32, 64, 3, "i8", stride=2), "gfx950"))
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


def test_wrong_results_fail_the_row():
    row = measure((OneTermMore(64, 64, 128, "f16"), "gfx942"))
    (fault,) = row.faults
    assert fault.startswith("results are wrong")
    assert "1 failed" in summary([row])


def test_compile_errors_are_rows():
    row = measure((Misspelt(64, 64, 128, "f16"), "gfx942"))
    assert len(row.faults) == 3
    assert all("fails: CompileError" in fault for fault in row.faults)
    assert "FAILED" in markdown_table([row])


def test_other_faults(row: Row):
    """Each figure that must not be, put into a row that passes."""
    auto = row.figures["auto"]
    conflicting = replace(auto, counters=auto.counters | {Counted.CONFLICTS: 8})

    def faults(**changes: object) -> list[str]:
        return replace(row, **changes).faults

    assert faults(equal=False) == ["outputs differ"]
    assert faults(unwritten=3) == ["3 elements were not written"]
    assert faults(figures=row.figures | {"auto": replace(auto, lds_bytes=1 << 16)}) != []
    assert faults(figures=row.figures | {"auto": conflicting}) == ["conflicts without a reason"]
    reason = Reason("memref<8xf16>", "keep", "it has a swizzle hint already", None, None)
    assert faults(figures=row.figures | {"auto": conflicting}, reasons=(reason,)) == []


@pytest.mark.parametrize("kernel", [Matmul(1024, 1024, 64, "i8", True)], ids=str)
def test_samples_compare_what_they_wrote(kernel: Product):
    operands = random_operands(kernel)
    flags = target_flags("gfx942")
    run = run_emulated(
        kernel.source(),
        flags,
        "auto",
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


def test_rows_are_kept_for_the_same_sources(row: Row, tmp_path: Path):
    path = tmp_path / "rows.json"
    KeptRows(path, row.code, Row).append(row)
    found = KeptRows(path, row.code, Row).find(row.key)
    assert found is not None
    assert asdict(found) == asdict(row)
    assert KeptRows(path, "other", Row).find(row.key) is None


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
