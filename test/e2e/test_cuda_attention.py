# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/cuda_attention: what an H200 counted is what the bank model says of the same kernels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bankwise.bench import cuda_attention
from bankwise.bench.cuda_attention import COUNTERS, MODES, Row, measure_all
from bankwise.bench.gpu import counted_launches
from bankwise.bench.gpu.observed import compile_observed
from bankwise.bench.gpu.timed_kernels import CompiledKernels, TimedKernel
from bankwise.sweep.swept_kernels import Attention

RECORD = Path(cuda_attention.__file__).parent / "results" / "cuda_attention.json"
ROWS = [Row(**row) for row in json.loads(RECORD.read_text())["rows"]]


def test_all_rows_were_counted_as_predicted_with_equal_outputs():
    assert len(ROWS) == 32
    assert all(row.equal_to_none for row in ROWS)
    assert all(row.wavefronts and row.is_as_predicted for row in ROWS)


def test_other_wavefronts_than_predicted_are_noticed():
    more = replace(ROWS[0], store_wavefronts=ROWS[0].store_wavefronts + 1)
    assert not more.is_as_predicted


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("mode", MODES)
def test_the_model_still_says_what_was_counted(mode: str):
    kernel = Attention(2, 512, 64, "f16")
    (row,) = (r for r in ROWS if (r.kernel, r.mode) == (kernel.name, mode))
    _, predicted = compile_observed(kernel.source(), mode)
    assert predicted.wavefronts == row.wavefronts
    assert predicted.conflicts == row.conflicts


@pytest.mark.parametrize("other", [False, True])
def test_what_the_gpu_counts_is_recorded(
    other: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    modes = ("none", "auto/layout")
    kernel = TimedKernel("a", "attention", ("1x8x16xf16",) * 3, modes, scale=1.0)
    CompiledKernels("sm_80", {}, (kernel,)).write_list(tmp_path)
    expected = {"conflicts": 3, "wavefronts": 7, "decided": 0}
    known = {kernel.case(mode): expected for mode in modes}
    (tmp_path / "predictions.json").write_text(json.dumps(known))

    def run_module(_: Path, vmfb: Path, __: TimedKernel, inputs: Sequence[Path], out: Path) -> None:
        assert [path.stat().st_size for path in inputs] == [2 * 8 * 16] * 3
        out.write_bytes(b"other" if other and "auto" in vmfb.name else b"right")

    def output_of(command: Sequence[str]) -> str:
        assert command[0] == "ncu" and f"--metrics={','.join(COUNTERS.values())}" in command
        head = '"ID","Kernel Name","Grid Size","Metric Name","Metric Unit","Metric Value"\n'
        line = '"0","attention","(1, 1, 1)","{}","","{}"\n'
        return head + "".join(line.format(each, n) for n, each in enumerate(COUNTERS.values()))

    monkeypatch.setattr(counted_launches, "run_module", run_module)
    monkeypatch.setattr(counted_launches, "output_of", output_of)
    monkeypatch.setattr(counted_launches, "runtime_programs", Path)
    monkeypatch.setattr(counted_launches, "gpu_and_versions", lambda: ("a GPU", {}))
    # Wavefronts are predicted for both modes; 4 and 5 of them are counted.
    assert not measure_all(tmp_path, tmp_path / "rows.json")
    known = {case: each | {"wavefronts": 9} for case, each in known.items()}
    (tmp_path / "predictions.json").write_text(json.dumps(known))
    assert measure_all(tmp_path, tmp_path / "rows.json") is not other
    rows = [Row(**row) for row in json.loads((tmp_path / "rows.json").read_text())["rows"]]
    assert [(row.equal_to_none, row.wavefronts, row.loads) for row in rows] == [
        (True, 9, 2),
        (not other, 9, 2),
    ]
