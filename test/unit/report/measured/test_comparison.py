# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measured counters stand beside what the bank model predicts for the same grid.

The measured figures are those that others have published for an MI300, and those that Nsight
Compute has counted on an H200.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bankwise.report.conflict_report import FunctionReport
from bankwise.report.measured.comparison import Measurements, compare
from bankwise.report.measured.dispatches import MeasuredFileError
from bankwise.report.measured.words import cells, is_exact, kernel_title, remarks
from bankwise.report.sources import report_files

from .profiler_files import ncu_details, ncu_raw, rocprofv3

ROOT = Path(__file__).parents[4]
CONFLICTS, LDS = "SQ_LDS_BANK_CONFLICT", "SQ_INSTS_LDS"
NCU = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_"
TILES = 8192
"""Workgroups of the transpose of 65536 x 256 elements that was measured on an MI300."""


def reports(name: str, arch: str) -> list[FunctionReport]:
    path = str(ROOT / "examples" / "transpose" / f"{name}.mlir")
    return [report for _, report in report_files([path], arch)]


@pytest.fixture(scope="module")
def row_major() -> list[FunctionReport]:
    return reports("row_major", "gfx942")


@pytest.fixture
def measured(tmp_path: Path) -> Callable[[list[FunctionReport], str], Measurements]:
    def compared(found: list[FunctionReport], text: str) -> Measurements:
        path = tmp_path / "measured.csv"
        path.write_text(text)
        return compare([str(path)], found)

    return compared


Measured = Callable[[list[FunctionReport], str], Measurements]


@pytest.mark.parametrize(
    ("name", "published"),
    [("row_major", 3_670_016), ("column_major", 1_572_864), ("padded", 786_432)],
)
def test_published_counters_of_an_mi300(measured: Measured, name: str, published: int):
    text = rocprofv3(
        (1, name, TILES, CONFLICTS, f"{published}.000000"), (1, name, TILES, LDS, "294912")
    )
    (kernel,) = measured(reports(name, "gfx942"), text).kernels
    conflicts, instructions = kernel.counters
    assert kernel_title(kernel) == f"@{name}, 8,192 workgroups, 1 dispatch"
    assert (conflicts.predicted, conflicts.ratio, is_exact(conflicts)) == (published, 1.0, True)
    assert (instructions.predicted, instructions.ratio) == (None, None)
    assert [*remarks(kernel)] == [
        "SQ_INSTS_LDS: only the compiled code says it; bankwise-run --counters predicts it"
    ]


@pytest.mark.parametrize("page", [ncu_details, ncu_raw])
def test_conflicts_that_ncu_counted_on_an_h200(measured: Measured, page: Callable[..., str]):
    record = json.loads((ROOT / "bench" / "results" / "gpu_examples.json").read_text())
    (row,) = (r for r in record["rows"] if (r["kernel"], r["mode"]) == ("cuda_f16", "none"))
    metrics = {
        f"{NCU}ld.sum": f"{row['load_conflicts']:,}",
        f"{NCU}st.sum": f"{row['store_conflicts']:,}",
    }
    found = measured(reports("cuda_f16", "sm_80"), page(["cuda_f16"], metrics))
    (kernel,) = found.kernels
    assert [each.predicted for each in kernel.counters] == [0, 24_576]
    assert [each.ratio for each in kernel.counters] == [1.0, 1.0]


BY_SOURCE = "memory_l1_wavefronts_shared"
TOTAL = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"


def test_metrics_of_the_source_view(measured: Measured):
    # A kernel without `cp.async`: 16 of its 17 wavefronts wait for the first.
    metrics = {
        BY_SOURCE: "53,248 (1; 2)",
        f"{BY_SOURCE}_ideal": "28,672",
        f"derived__{BY_SOURCE}_excessive": "24,576 (24,576; 0)",
        TOTAL: "54,000",
    }
    (kernel,) = measured(reports("cuda_f16", "sm_80"), ncu_raw(["cuda_f16"], metrics)).kernels
    predicted = {each.name: each.predicted for each in kernel.counters}
    assert predicted[f"derived__{BY_SOURCE}_excessive"] == 24_576
    ideal = predicted[f"{BY_SOURCE}_ideal"]
    assert ideal is not None and predicted[BY_SOURCE] == ideal + 24_576
    (remark,) = remarks(kernel)
    assert remark.startswith(f"{TOTAL}: as an H200 counts it, it leaves out cp.async past the L1")


def test_per_cents_of_rocprof(measured: Measured, row_major: list[FunctionReport]):
    # 448 conflict cycles of 544, and 96 others.
    rows = [
        (1, "row_major", 128, "LDSBankConflict", "45.250000"),
        (1, "row_major", 128, "LdsBankConflict", "4.666667"),
    ]
    (kernel,) = measured(row_major, rocprofv3(*rows)).kernels
    of_time, of_accesses = kernel.counters
    assert cells(of_time, kernel)[1:] == ("at most 82.353 %", "45.250 %", "-")
    assert cells(of_accesses, kernel)[1:] == ("4.667", "4.667", "1.000")
    assert (is_exact(of_time), is_exact(of_accesses)) == (False, True)
    (remark,) = remarks(kernel)
    assert remark.startswith("LDSBankConflict: on gfx942 it is the part of the kernel's time")
    # gfx10 and newer divide by the LDS's own cycles.
    newer = [replace(each, arch="gfx1100") for each in row_major]
    exact = (1, "row_major", 128, "LDSBankConflict", "82.352941")
    (kernel,) = measured(newer, rocprofv3(exact)).kernels
    (counter,) = kernel.counters
    assert (is_exact(counter), [*remarks(kernel)]) == (True, [])


def test_a_counter_that_reads_nothing_on_a_chip_is_said(
    measured: Measured, row_major: list[FunctionReport]
):
    newer = [replace(each, arch="gfx1201") for each in row_major]
    counter = "SQC_LDS_BANK_CONFLICT"
    (kernel,) = measured(newer, rocprofv3((1, "row_major", 128, counter, "0"))).kernels
    (found,) = kernel.counters
    assert found.predicted and (found.ratio, is_exact(found)) == (None, False)
    assert list(remarks(kernel)) == [
        f"{counter}: on gfx1201 it reads 0 whatever the LDS does (rocprofv3, ROCm/rocm-systems "
        "issue 5953)"
    ]
    # Where something was counted, and on other chips, a count is a count.
    for arch, count in (("gfx1201", "57344"), ("gfx1200", "0")):
        others = [replace(each, arch=arch) for each in row_major]
        (kernel,) = measured(others, rocprofv3((1, "row_major", 128, counter, count))).kernels
        assert list(remarks(kernel)) == []
        assert kernel.counters[0].ratio is not None


def test_names_of_gfx10(measured: Measured, row_major: list[FunctionReport]):
    rows = [
        (1, "row_major", 128, "SQC_LDS_BANK_CONFLICT", "57344"),
        (1, "row_major", 128, "SQC_LDS_IDX_ACTIVE", "69632"),
    ]
    (kernel,) = measured(row_major, rocprofv3(*rows)).kernels
    assert [is_exact(each) for each in kernel.counters] == [True, True]


def test_dispatches_that_differ_show_their_median_and_their_spread(
    measured: Measured, row_major: list[FunctionReport]
):
    values = ("57344", "57400", "57360")
    rows = [(n, "row_major", 128, CONFLICTS, value) for n, value in enumerate(values)]
    (kernel,) = measured(row_major, rocprofv3(*rows)).kernels
    (counter,) = kernel.counters
    assert cells(counter, kernel)[1:] == ("57,344", "57,360 (57,344 to 57,400)", "1.000")
    assert counter.ratio == 57_360 / 57_344
    assert not is_exact(counter)


def test_other_grids_of_a_kernel_stand_by_themselves(
    measured: Measured, row_major: list[FunctionReport]
):
    text = rocprofv3((1, "row_major", 128, CONFLICTS, "1"), (2, "row_major", 1, CONFLICTS, "448"))
    first, second = measured(row_major, text).kernels
    assert [k.counters[0].predicted for k in (first, second)] == [57_344, 448]


def test_passes_over_the_same_dispatches_are_one(tmp_path: Path, row_major: list[FunctionReport]):
    for counter in (CONFLICTS, LDS):
        rows = [(n, "row_major", 128, counter, "57344") for n in (1, 2)]
        (tmp_path / f"{counter}.csv").write_text(rocprofv3(*rows))
    files = [str(tmp_path / f"{counter}.csv") for counter in (CONFLICTS, LDS)]
    (kernel,) = compare(files, row_major).kernels
    assert kernel.dispatches == 2
    assert [each.name for each in kernel.counters] == [CONFLICTS, LDS]


def test_nothing_is_compared_with_zero(measured: Measured, row_major: list[FunctionReport]):
    clean = [replace(each, allocations=()) for each in row_major]
    text = rocprofv3((1, "row_major", 128, CONFLICTS, "7"), (2, "row_major", 2, CONFLICTS, "0"))
    first, second = measured(clean, text).kernels
    assert cells(first.counters[0], first)[1:] == ("0", "7", "-")
    assert cells(second.counters[0], second)[1:] == ("0", "0", "1.000")


@pytest.mark.parametrize(
    ("rows", "note"),
    [
        ([("other", CONFLICTS, "7")], "measured, but not in this report: @other"),
        ([("row_major", "SQ_WAVES", "7")], "none of its counters is about LDS; measure SQ_LDS"),
        (
            [("row_major", "SQ_LDS_MEM_VIOLATIONS", "7")],
            "none of its counters about the LDS (SQ_LDS_MEM_VIOLATIONS) is known here; measure SQ",
        ),
        ([("row_major", "LDSBankConflict", "nan")], "LDSBankConflict was not measured: "),
        ([("row_major", LDS, "24.576")], "SQ_INSTS_LDS was not measured: '24.576' may have dots"),
        ([("row_major", LDS, "n/a")], "SQ_INSTS_LDS was not measured: "),
        ([("row_major", LDS, "inf")], "SQ_INSTS_LDS was not measured: "),
    ],
)
def test_what_cannot_be_compared_is_a_line(
    measured: Measured, row_major: list[FunctionReport], rows: list[tuple[str, str, str]], note: str
):
    several = [
        (n, kernel, 128, counter, count) for n, (kernel, counter, count) in enumerate(rows, 2)
    ]
    if "none of" not in note:
        several.append((1, "row_major", 128, CONFLICTS, "57344"))
    found = measured(row_major, rocprofv3(*several))
    assert any(note in each for each in found.notes)


def test_another_compile_is_not_compared(measured: Measured, row_major: list[FunctionReport]):
    row = (1, "row_major", 128, CONFLICTS, "57344")
    found = measured(row_major, rocprofv3(row, threads=512))
    assert not found.kernels
    assert "with 512 lanes and have 256 here" in found.notes[0]
    twice = measured([*row_major, *row_major], rocprofv3(row))
    assert "2 functions of this report have its name" in twice.notes[0]


def test_lds_kernels_that_were_not_measured_are_named(
    measured: Measured, row_major: list[FunctionReport]
):
    second = [replace(each, name=f"{each.name}_2") for each in row_major]
    row = (1, "row_major", 128, CONFLICTS, "57344")
    found = measured([*row_major, *second], rocprofv3(row))
    assert found.notes == ("in this report, but not measured: @row_major_2",)


def test_a_file_on_other_kernels_is_an_error(measured: Measured, row_major: list[FunctionReport]):
    text = rocprofv3(*((n, f"k{n}", 1, CONFLICTS, "7") for n in range(5)))
    with pytest.raises(MeasuredFileError) as caught:
        measured(row_major, text)
    assert "none of the measured kernels (@k" in str(caught.value)
    assert "and 2 more) is a function of this report (@row_major, @transpose)" in str(caught.value)


def test_unknown_uses_make_lower_bounds(measured: Measured, row_major: list[FunctionReport]):
    from bankwise.dialect_utils.diagnostics import Refusal

    (kernel, *_) = row_major
    (allocation,) = kernel.allocations
    partly = replace(kernel, allocations=(replace(allocation, unknown=(Refusal("odd"),)),))
    (found,) = measured([partly], rocprofv3((1, "row_major", 128, CONFLICTS, "57344"))).kernels
    assert cells(found.counters[0], found)[1] == "at least 57,344"
