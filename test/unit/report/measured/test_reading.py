# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is read of the files of profilers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from bankwise.report.measured.dispatches import (
    Dispatch,
    MeasuredFileError,
    kernel_symbol,
    whole_number,
)
from bankwise.report.measured.reading import read_measured

from .profiler_files import (
    ncu_details,
    ncu_details_with_rules,
    ncu_raw,
    newer_rocprofv3,
    rocprof,
    rocprofv2,
    rocprofv3,
)

CONFLICTS, LDS = "SQ_LDS_BANK_CONFLICT", "SQ_INSTS_LDS"


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str | bytes], list[Dispatch]]:
    def read_text(text: str | bytes) -> list[Dispatch]:
        path = tmp_path / "file.csv"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_measured(str(path))

    return read_text


Read = Callable[[str | bytes], list[Dispatch]]


def test_counters_of_a_dispatch_come_together(read: Read):
    dispatches = read(
        rocprofv3(
            (1, "k", 8, CONFLICTS, "448.000000"),
            (1, "k", 8, LDS, "36"),
            (2, "f(float*, int)", 2, LDS, "5.000000"),
        )
    )
    assert dispatches == [
        Dispatch("k", 8, 256, {CONFLICTS: "448.000000", LDS: "36"}),
        Dispatch("f", 2, 256, {LDS: "5.000000"}),
    ]


def test_units_of_the_chip_that_have_a_row_each_are_added_up(read: Read):
    rows = [(1, "k", 8, CONFLICTS, f"{count}.000000") for count in (400, 40, 8)]
    (dispatch,) = read(rocprofv3(*rows))
    assert dispatch.counters == {CONFLICTS: "448"}


@pytest.mark.parametrize("table", [rocprof, rocprofv2])
@pytest.mark.parametrize("suffix", ["", ".kd", " [clone .kd]", " (.kd)"])
def test_tables_with_a_column_for_each_counter(read: Read, table: Callable[..., str], suffix: str):
    (dispatch,) = read(table(f"k{suffix}", {CONFLICTS: "448.0000000000", LDS: "36.0"}, 8))
    assert (dispatch.kernel, dispatch.workgroups, dispatch.threads) == ("k", 8, 256)
    assert whole_number(dispatch.counters[CONFLICTS]) == 448
    assert whole_number(dispatch.counters[LDS]) == 36


def test_a_table_that_names_counters_without_their_values(read: Read):
    (dispatch,) = read(f"Kernel_Name,Grid_Size,Counter_Name\nk,8,{CONFLICTS}\n")
    assert CONFLICTS not in dispatch.counters


@pytest.mark.parametrize("page", [ncu_details, ncu_raw])
def test_both_pages_of_ncu_say_the_same(read: Read, page: Callable[..., str]):
    metrics = {"l1tex__a.sum": "24,576", "l1tex__b.sum": "n/a"}
    first, second = read(page(["k", "void f<int>(int, T1)"], metrics))
    assert first == Dispatch("k", 128, 256, metrics)
    assert second.kernel == "void f<int>"


def test_a_page_of_ncu_with_rules(read: Read):
    # As ncu 2025.3.1 wrote it of a kernel whose eight loads of a column conflict.
    advice = (
        "The memory access pattern for shared loads might not be optimal and causes on average a "
        "32.0 - way bank conflict across all 256 shared load requests.This results in 7936 bank "
        "conflicts,  which represent 96.88% of the overall 8192 wavefronts for shared loads. Check",
        "This results in 1,024 bank conflicts, which represent 50.00% of the overall 2,048 "
        "wavefronts for shared stores.",
    )
    (launch,) = read(ncu_details_with_rules("k", {"Duration": "5.1", "Block Size": "256"}, *advice))
    assert (launch.kernel, launch.workgroups, launch.threads) == ("k", 128, 256)
    name = "l1tex__data_{}pipe_lsu_{}mem_shared_op_{}.sum"
    assert launch.counters == {
        "Duration": "5.1",
        "Block Size": "256",
        name.format("bank_conflicts_", "", "ld"): "7936",
        name.format("", "wavefronts_", "ld"): "8192",
        name.format("bank_conflicts_", "", "st"): "1,024",
        name.format("", "wavefronts_", "st"): "2,048",
    }


def test_a_metric_whose_instances_stand_behind_it(read: Read):
    metrics = {"l1__a": "3,670,016 (1; 2)", "memory_l1_b": "7 (0; 0; 7)", "c_": "5"}
    (dispatch,) = read(ncu_raw(["k"], metrics))
    assert [whole_number(dispatch.counters[name]) for name in metrics] == [3_670_016, 7, 5]


def test_newer_tables_of_rocprofv3_tell_runs_and_passes_apart(read: Read):
    rows = [("r1", 0, CONFLICTS, 400.0), ("r1", 0, CONFLICTS, 48.0), ("r1", 1, CONFLICTS, 448.0)]
    dispatches = read(newer_rocprofv3(*rows, ("r1", 1, LDS, 36.0), ("r2", 0, CONFLICTS, 448.0)))
    assert [(each.workgroups, each.counters[CONFLICTS]) for each in dispatches] == [
        (8, "448"),
        (8, "448.0"),
        (8, "448.0"),
    ]


def test_ncu_without_the_grid_in_the_head(read: Read):
    text = (
        '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
        '"0","k","launch__grid_size","","1,024"\n"0","k","launch__block_size","","256"\n'
    )
    (dispatch,) = read(text)
    assert (dispatch.workgroups, dispatch.threads) == (1024, 256)


def test_a_directory_of_several_passes(tmp_path: Path):
    for number, counter in enumerate((CONFLICTS, LDS), 1):
        folder = tmp_path / f"pass_{number}" / "host"
        folder.mkdir(parents=True)
        text = rocprofv3((1, "k", 8, counter, "7"))
        (folder / "12_counter_collection.csv").write_text(text)
        (folder / "12_agent_info.csv").write_text("Node_Id\n1\n")
    assert [[*each.counters] for each in read_measured(str(tmp_path))] == [[CONFLICTS], [LDS]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it has no table of counters; it takes the CSV of rocprofv3 --pmc"),
        (b"Kind,Kernel_Name,Grid_Size_X\nDISPATCH,k,8\n", "it has no table of counters"),
        (rocprofv3(), "it has no dispatch"),
        (b"SQLite format 3\0...", "have it write --output-format csv"),
        (b'{"rocprofiler-sdk-tool": []}', "have rocprofv3 write --output-format csv"),
        (b"NVR\0\1", "ncu --import FILE --page raw --csv"),
        (bytes(range(256)) * 20, "it has no table of counters"),
        (b'"' + b"x" * 200_000 + b'"\n', "it is no CSV"),
        (rocprofv3((1, "k", 8, CONFLICTS, "7")).encode("utf-16"), "no table of counters"),
    ],
)
def test_what_is_no_file_of_counters(read: Read, content: str | bytes, message: str):
    with pytest.raises(MeasuredFileError) as caught:
        read(content)
    assert message in str(caught.value)
    assert "file.csv" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_files_that_are_not_there(tmp_path: Path):
    with pytest.raises(MeasuredFileError, match=r"cannot open '.*none.csv': No such file"):
        read_measured(str(tmp_path / "none.csv"))
    with pytest.raises(MeasuredFileError, match=r"holds no \*counter_collection.csv"):
        read_measured(str(tmp_path))


@pytest.mark.parametrize(
    ("name", "symbol"),
    [
        ("matmul_dispatch_0_f16xf32", "matmul_dispatch_0_f16xf32"),
        ("k.kd", "k"),
        ("k(float const*, int) [clone .kd]", "k"),
        ("k$async.kd", "k$async"),
    ],
)
def test_symbols_of_shown_names(name: str, symbol: str):
    assert kernel_symbol(name) == symbol


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("3,670,016", 3670016), ("3670016.000000", 3670016), ("3.670016e+06", 3670016)],
)
def test_whole_numbers(text: str, value: int):
    assert whole_number(text) == value


@pytest.mark.parametrize(
    "text", ["", "n/a", "0.5", "24.576", "27.595.520", "3 (1; 2)", "-5", "1_000", "3,6", "9" * 5000]
)
def test_what_is_no_whole_number(text: str):
    with pytest.raises(ValueError, match=r".+"):
        whole_number(text)


@pytest.mark.parametrize("text", ["inf", "nan", "1e999"])
def test_what_is_no_number_at_all(text: str):
    with pytest.raises((ValueError, OverflowError)):
        whole_number(text)


def test_broken_files_are_read_or_refused(read: Read):
    random = Random(20)
    seeds = [
        rocprofv3((1, "k", 8, CONFLICTS, "448.0"), (2, "k", 8, LDS, "36")),
        rocprof("k.kd", {CONFLICTS: "448.0"}, 8),
        rocprofv2("k (.kd)", {CONFLICTS: "448.0"}, 8),
        ncu_details(["k", "f(int)"], {"l1tex__a.sum": "24,576"}),
        ncu_raw(["k"], {"l1tex__a.sum": "24,576"}),
    ]
    pieces = ['"', ",", "\n", "\0", "9" * 400, "-1", "1e308", "nan", "²", "(", "\r", "Counter_Name"]
    outcomes: set[bool] = set()
    for _ in range(400):
        text = random.choice(seeds)
        for _ in range(random.randint(1, 8)):
            at, end = sorted(random.choices(range(len(text) + 1), k=2))
            end = min(end, at + random.randint(0, 30))
            text = text[:at] + random.choice([*pieces, text[: at // 4]]) + text[end:]
        try:
            outcomes.add(bool(read(text)))
        except MeasuredFileError:
            outcomes.add(False)
    assert outcomes == {True, False}
