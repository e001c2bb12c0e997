# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/real_models: the shapes that it is given, and the times of kernels that it prints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bankwise.bench.gpu.record import Errors
from bankwise.bench.real_models import shapes_of
from bankwise.bench.whole_models.exported import ExportedModel, ExportedModels, ModelInput
from bankwise.bench.whole_models.kernel_table import markdown
from bankwise.bench.whole_models.model_record import ModelRecord, ModelRow, TorchRow

STOCK = ModelRow(
    "net", "stock", "m", "o", True, 2.0, {"conv": 0.004, "sum": 0.001}, Errors(0, 0), 1
)
FAST = replace(STOCK, mode="auto/fast", kernels={"conv": 0.002, "fill": 0.0005, "sum": 0.003})


def record(*torch: TorchRow) -> ModelRecord:
    return ModelRecord("GPU", "sm_80", "base", "2026-11-29", {}, (STOCK, FAST), (), torch)


def test_shapes_belong_to_inputs_of_files():
    options = ["a:x=1x3x8x8", "a:input:0=4", "b.v2:x=2x2"]
    assert shapes_of(options) == {"a": {"x": "1x3x8x8", "input:0": "4"}, "b.v2": {"x": "2x2"}}


@pytest.mark.parametrize("option", ["x=1x2", "a:x=", "a:x=1x-2", "a:x=0x2", "a:=1", "a:x"])
def test_other_forms_are_refused(option: str):
    with pytest.raises(RuntimeError, match=f"--shape {option}: FILE:INPUT=SIZES is expected"):
        shapes_of([option])


def test_kernels_stand_by_mode_longest_first():
    rows = [line.split("|")[1:-1] for line in markdown(record()).splitlines() if "|" in line]
    assert [[cell.strip() for cell in row] for row in rows if "-" not in row[1]] == [
        ["kernel", "stock us", "auto/fast us"],
        ["conv", "4.0", "2.0"],
        ["sum", "1.0", "3.0"],
        ["fill", "", "0.5"],
        ["all", "5.0", "5.5"],
    ]


def test_those_of_torch_stand_below():
    row = TorchRow("net", "eager", 1.0, Errors(0, 0), kernels={"cudnn": 0.001, "relu": 0.0005})
    shown = markdown(record(row))
    assert "PyTorch's kernels take 1.5 us:" in shown
    assert shown.index("| cudnn") < shown.index("| relu")
    assert "PyTorch" not in markdown(record(replace(row, kernels={})))


def test_a_record_keeps_the_kernels_of_torch(tmp_path: Path):
    kept = record(TorchRow("net", "eager", 1.0, Errors(0, 0), kernels={"cudnn": 0.001}))
    kept.write(tmp_path / "models.json")
    assert ModelRecord.read(tmp_path / "models.json") == kept


def test_an_imported_model_has_its_torch_module_beside_it(tmp_path: Path):
    model = ExportedModel("net", "onnx", (ModelInput("x", "4xf32"),), (), "4xf32", 1, (0.0,))
    assert not ExportedModels.is_in(tmp_path)
    ExportedModels({}, (model,)).write_list(tmp_path)
    assert ExportedModels.is_in(tmp_path)
    assert model.traced(tmp_path) == tmp_path / "net.pt"
