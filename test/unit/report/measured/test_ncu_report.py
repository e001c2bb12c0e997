# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nsight Compute's own files are read by NVIDIA's package, here by what stands in for it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bankwise.report.measured.dispatches import Dispatch, MeasuredFileError
from bankwise.report.measured.reading import read_measured

LOADS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"


class Action:
    """The part of `IAction` of ncu-report 2026.3.1 that is used."""

    def __init__(self, name: str, **metrics: float | str | None) -> None:
        self._name, self._metrics = name, metrics

    def name(self) -> str:
        return self._name

    def metric_names(self) -> tuple[str, ...]:
        return (*self._metrics, "not there")

    def metric_by_name(self, name: str) -> Any:
        if name not in self._metrics:
            return None
        return SimpleNamespace(value=lambda: self._metrics[name], unit=lambda: "")


def _context(*ranges: tuple[Action, ...]) -> Any:
    def of(actions: tuple[Action, ...]) -> Any:
        return SimpleNamespace(
            num_actions=lambda: len(actions), action_by_idx=lambda number: actions[number]
        )

    return SimpleNamespace(
        num_ranges=lambda: len(ranges), range_by_idx=lambda number: of(ranges[number])
    )


def test_launches_of_all_ranges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.ncu-rep"
    path.write_bytes(b"NVR\0")
    sizes = {"launch__grid_size": 8, "launch__block_size": 256}
    launches = (Action("column", **sizes, **{LOADS: 8192.0}), Action("row", **sizes, text=None))
    package = SimpleNamespace(
        load_report=lambda file: {str(path): _context(*((each,) for each in launches))}[file]
    )
    monkeypatch.setitem(sys.modules, "ncu_report", package)
    kept = {name: str(size) for name, size in sizes.items()}
    assert read_measured(str(path)) == [
        Dispatch("column", 8, 256, {**kept, LOADS: "8192.0"}),
        Dispatch("row", 8, 256, kept),
    ]


@pytest.mark.parametrize(
    ("raised", "said"),
    [(None, "it has no dispatch"), (RuntimeError("Bad protobuf"), "cannot read it: Bad protobuf")],
)
def test_a_file_that_is_none_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raised: Exception | None, said: str
):
    def load_report(_: str) -> Any:
        if raised is not None:
            raise raised
        return _context()

    path = tmp_path / "a.ncu-repz"
    path.write_bytes(b"compressed")
    monkeypatch.setitem(sys.modules, "ncu_report", SimpleNamespace(load_report=load_report))
    with pytest.raises(MeasuredFileError, match=said) as caught:
        read_measured(str(path))
    assert "\n" not in str(caught.value)


def test_without_the_package_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.ncu-rep"
    path.write_bytes(b"NVR\0")
    monkeypatch.setitem(sys.modules, "ncu_report", None)
    with pytest.raises(MeasuredFileError, match=r"pip install 'bankwise\[ncu\]'"):
        read_measured(str(path))
