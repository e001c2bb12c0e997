# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which rows a whole sweep finds, keeps and writes; `test_engine` has the measuring."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bankwise.iree_plugin.atomic_file import OutputError
from bankwise.sweep.settings import SweepSettings
from bankwise.sweep.whole_sweep import WholeSweep

from .swept_rows import failed_row, row


def settings(tmp_path: Path) -> SweepSettings:
    kernels = tmp_path / "k.json"
    kernels.write_text('[{"kernel": "attention", "batch": 1, "seq": 128, "head_dim": 64}]')
    modes = ("none", "auto")
    return SweepSettings(
        str(kernels), ("f16",), ("gfx942",), modes, tmp_path / "out", 1, 1, 2, None, None
    )


def test_finished_outdated_and_failed_rows_are_told_apart(tmp_path: Path):
    asked = settings(tmp_path)
    with WholeSweep.opened(asked) as sweep:
        none, auto = sweep.cases
        assert (sweep.finished, sweep.outdated, sweep.rows) == (0, 0, [])
        sweep.file.append(replace(row(none), code="another"))
        sweep.file.append(failed_row(auto))
        assert (sweep.finished, sweep.outdated) == (0, 1)
        sweep.file.append(row(none))
        assert [each.mode for each in sweep.rows] == ["none", "auto"]
    with WholeSweep.opened(asked) as sweep:
        assert (sweep.finished, sweep.outdated, len(sweep.rows)) == (1, 1, 2)
        sweep.write(["bankwise-sweep"])
    written = {path.suffix for path in asked.output.glob("k_sweep.*")}
    assert written == {".csv", ".html", ".json", ".md", ".png", ".svg", ".jsonl"}


def test_a_file_that_cannot_be_written_is_found_before_the_sweep(tmp_path: Path):
    asked = settings(tmp_path)
    asked.path("csv").mkdir(parents=True)
    with pytest.raises(OutputError, match="k_sweep"), WholeSweep.opened(asked):
        pytest.fail("the sweep has begun")
