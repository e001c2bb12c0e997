# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/cuda_attention: what an H200 counted is what the bank model says of the same kernels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bankwise.bench import cuda_attention
from bankwise.bench.cuda_attention import MITIGATIONS, compile_observed, is_as_predicted
from bankwise.sweep.kernels import Attention

RECORD = Path(cuda_attention.__file__).parent / "results" / "cuda_attention.json"
ROWS: list[dict[str, Any]] = json.loads(RECORD.read_text())


def test_all_rows_were_counted_as_predicted_with_equal_outputs():
    assert len(ROWS) == 32
    assert all(row["equal_to_none"] for row in ROWS)
    assert all("load_wavefronts" in row and is_as_predicted(row) for row in ROWS)


def test_other_wavefronts_than_predicted_are_noticed():
    assert not is_as_predicted({**ROWS[0], "store_wavefronts": ROWS[0]["store_wavefronts"] + 1})


@pytest.mark.parametrize("mitigation", MITIGATIONS)
def test_the_model_still_says_what_was_counted(mitigation: str):
    kernel = Attention(2, 512, 64, "f16")
    (row,) = (r for r in ROWS if (r["kernel"], r["mitigation"]) == (kernel.name, mitigation))
    _, predicted, _ = compile_observed(kernel.source(), mitigation)
    assert predicted.wavefronts == row["load_wavefronts"] + row["store_wavefronts"]
    assert predicted.conflicts == row["load_conflicts"] + row["store_conflicts"]
