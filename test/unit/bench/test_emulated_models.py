# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/emulated_models: a model of two kernels, what differs, and what is shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bankwise.bench.emulated_models import (
    FAST,
    MODES,
    Case,
    Row,
    _difference,
    cases,
    compile_model,
    show,
)
from bankwise.bench.gpu.modes import EXACT, LAYOUT, STOCK
from bankwise.bench.whole_models.exported import ExportedModel, ExportedModels, ModelInput
from bankwise.bench.whole_models.launched_kernels import Launches

MODEL = """
func.func @main(%x: tensor<64x40xf32>) -> tensor<64xf32> {
  %weights = arith.constant dense<[WEIGHTS]> : tensor<40xf32>
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64xf32>) -> tensor<64xf32>
  %out = linalg.matvec ins(%x, %weights : tensor<64x40xf32>, tensor<40xf32>)
      outs(%init : tensor<64xf32>) -> tensor<64xf32>
  return %out : tensor<64xf32>
}
"""


def test_launches_of_a_model_are_emulated_one_by_one(tmp_path: Path) -> None:
    weights = ", ".join(f"{each}.5" for each in range(40))
    (tmp_path / "net.mlir").write_text(MODEL.replace("WEIGHTS", weights))
    net = ExportedModel("net", "none", (ModelInput("x", "64x40xf32"),), (), "64xf32", 1, ())
    ExportedModels({}, (net,)).write_list(tmp_path)
    (tmp_path / "emulated").mkdir()
    for mode in ("stock", FAST):
        assert compile_model(tmp_path, "net", "gfx942", mode) == ""
    checked, timed = cases(tmp_path, ["net"], ["gfx942"], 12)
    assert (checked.checks, timed.times) == (True, True)
    row = Row.measure(checked)
    assert row.faults == []
    assert {*row.error} == {"stock", FAST}
    times = Row.measure(timed).microseconds
    assert {*times} == {"stock", FAST} and min(times.values()) > 0
    launches = Launches.read(tmp_path / "emulated/net.gfx942.stock.launches")
    contents = [each.view(np.float32) for each in launches.buffers.values()]
    assert all(np.isfinite(each).all() and each.any() for each in contents)


def test_what_a_kernel_writes_is_compared() -> None:
    before, right, near, far = (
        {0: np.array(each, np.float32).view(np.uint8)}
        for each in ([5, 0, 0, 9], [5, 1, 2, 9], [5, 1, 2.5, 9], [5, 1, 2, 8])
    )
    assert _difference(right, right, before) == 0.0
    assert _difference(near, right, before) == 0.25
    # A place that stock leaves alone.
    assert _difference(far, right, before) > 0.1


def test_times_are_sums_over_launches_and_slower_kernels_are_named() -> None:
    times = dict.fromkeys(MODES, 10.0) | {FAST: 5.0}
    slower = dict.fromkeys(MODES, 1.0) | {FAST: 1.5}
    rows = [
        Row("net 0", "gfx942", "time", model="net", name="conv", launches=2, microseconds=times),
        Row("net 1", "gfx942", "time", model="net", name="sum", launches=1, microseconds=slower),
    ]
    # A launch without a time at `fast` counts in the other ratios alone.
    unknown = {STOCK: 4.0, LAYOUT: 2.0, EXACT: 4.0}
    rows.append(
        Row("net 2", "gfx942", "time", model="net", name="max", launches=1, microseconds=unknown)
    )
    text = show(rows)
    counts = "| net | gfx942 | 4 | 0.025 ms | 0.920 | 4 | 1.000 | 4 | 0.548 | 3 |"
    assert text.splitlines()[2] == counts
    assert "| net | sum |" in text and "| net | conv |" not in text


def test_a_row_fails_where_an_output_differs() -> None:
    errors = {"stock": 0.0, "auto/layout": 0.0, "auto/exact": 1e-7, FAST: 1e-7}
    row = Row.of_case(Case(Path(), "net", "gfx942", 3, 1, True, False))
    assert row.key == ("net 3", "gfx942", "check", row.code)
    assert Row("net 3", "gfx942", error=errors).faults == [
        "auto/exact differs from stock by 1.00e-07"
    ]
