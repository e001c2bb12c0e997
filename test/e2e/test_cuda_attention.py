# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/cuda_attention: what an H200 counted is what the bank model says of the same kernels."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bankwise.bench import cuda_attention
from bankwise.bench.cuda_attention import COUNTERS, MITIGATIONS, Row, counters
from bankwise.bench.gpu.observed import compile_observed
from bankwise.sweep.kernels import Attention

RECORD = Path(cuda_attention.__file__).parent / "results" / "cuda_attention.json"
ROWS = [Row(**row) for row in json.loads(RECORD.read_text())]


def test_all_rows_were_counted_as_predicted_with_equal_outputs():
    assert len(ROWS) == 32
    assert all(row.equal_to_none for row in ROWS)
    assert all(row.wavefronts and row.is_as_predicted for row in ROWS)


def test_other_wavefronts_than_predicted_are_noticed():
    more = replace(ROWS[0], store_wavefronts=ROWS[0].store_wavefronts + 1)
    assert not more.is_as_predicted


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("mitigation", MITIGATIONS)
def test_the_model_still_says_what_was_counted(mitigation: str):
    kernel = Attention(2, 512, 64, "f16")
    (row,) = (r for r in ROWS if (r.kernel, r.mitigation) == (kernel.name, mitigation))
    _, predicted = compile_observed(kernel.source(), mitigation)
    assert predicted.wavefronts == row.wavefronts
    assert predicted.conflicts == row.conflicts


def test_counters_are_read_of_one_run_under_ncu(monkeypatch: pytest.MonkeyPatch):
    counted = {name: 1000 + number for number, name in enumerate(COUNTERS)}

    def output_of(command: Sequence[str]) -> str:
        assert command[0] == "ncu" and [*command[-2:]] == ["once", "kernel.vmfb"]
        assert f"--metrics={','.join(COUNTERS.values())}" in command
        head = '"ID","Kernel Name","Grid Size","Metric Name","Metric Unit","Metric Value"\n'
        line = '"0","attention","(1, 1, 1)","{}","","{:,}"\n'
        return head + "".join(line.format(COUNTERS[name], counted[name]) for name in COUNTERS)

    monkeypatch.setattr(cuda_attention.shutil, "which", str)
    monkeypatch.setattr(cuda_attention, "output_of", output_of)
    assert counters(Path("kernel.vmfb")) == counted


def test_the_command_runs_as_a_script(tmp_path: Path):
    command = [sys.executable, str(RECORD.parents[1] / "cuda_attention.py"), "run", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 1
    assert run.stderr.startswith("error: ") and "predictions.json" in run.stderr
