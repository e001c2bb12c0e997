# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/models: files of weights, kernels without matrix instructions, and what fails."""

from __future__ import annotations

import json
import math
import struct
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from bankwise.bench.gpu.ratios import Finding
from bankwise.bench.gpu.record import Errors
from bankwise.bench.whole_models.compiled_models import scalar_contractions, timed
from bankwise.bench.whole_models.exported import ExportedModel, ExportedModels, ModelInput
from bankwise.bench.whole_models.model_record import ModelRecord, ModelRow, TorchRow
from bankwise.bench.whole_models.model_table import markdown
from bankwise.bench.whole_models.weights_file import write_parameters

WEIGHTS = (
    ModelInput("mlp.weight", "6x20xf16", 0.5),
    ModelInput("norm.weight", "5xbf16", 0.1, 1.0),
    ModelInput("bias", "7xf32", 0.1),
)
ROW = ModelRow(
    "vit_f16", "stock", "m", "o", True, 2.0, {"a": 1.0, "b": 0.5}, Errors(0.01, 0.1), 1.0
)


def record(*rows: ModelRow) -> ModelRecord:
    return ModelRecord("GPU", "sm_80", "base", "2026-11-23", {"compiler": "3.13"}, rows)


TORCH = (
    TorchRow("vit_f16", "eager", 1.0, Errors(0.01, 0.1)),
    TorchRow("vit_f16", "compiled", None, None, "no such operation"),
)


def test_weights_are_written_as_safetensors(tmp_path: Path):
    write_parameters(path := tmp_path / "weights.safetensors", WEIGHTS)
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + size])
    assert list(header) == [each.name for each in WEIGHTS] and (8 + size) % 64 == 0
    kinds = {"F16": np.float16, "BF16": ml_dtypes.bfloat16, "F32": np.float32}
    end = 0
    for each in WEIGHTS:
        start, end = header[each.name]["data_offsets"]
        stored = data[8 + size + start : 8 + size + end]
        assert stored == each.data()
        numbers = np.frombuffer(stored, kinds[header[each.name]["dtype"]])
        assert numbers.size == np.prod(header[each.name]["shape"])
        assert abs(numbers.astype(np.float64).mean() - each.mean) < each.deviation
    assert len(data) == 8 + size + end


def test_a_list_is_read_as_it_was_written(tmp_path: Path):
    model = ExportedModel("a_f16", "torch", WEIGHTS[:1], WEIGHTS[1:], "6x5xf16", 7, (0.5, 1.0))
    listed = ExportedModels({"torch": "2"}, (model,))
    listed.write_list(tmp_path)
    assert ExportedModels.of_directory(tmp_path) == listed
    assert timed(model).operands == ("6x20xf16",)
    with pytest.raises(RuntimeError, match="export into it"):
        ExportedModels.of_directory(tmp_path / "other")


def test_contractions_without_matrix_instructions_are_found():
    bodies = {"main_matmul_8x8": "fma.rn", "main_attention_4": "mma.sync", "main_reduction": "fma"}
    ptx = "".join(f".visible .entry {name}(\n) {{ {body} }}\n" for name, body in bodies.items())
    assert list(scalar_contractions(ptx.encode())) == ["main_matmul_8x8"]


def test_right_rows_are_well():
    exact = replace(ROW, mode="auto/exact", milliseconds=1.0)
    fast = replace(ROW, mode="auto/fast", output="p", milliseconds=0.5)
    found = record(ROW, exact, fast)
    assert found.findings() == []
    assert found.mean("auto/fast", lambda row: row.milliseconds) == pytest.approx(0.25)
    assert "| geometric mean | | | 0.50x | 0.25x | | 1.00x | 1.00x | |" in " ".join(
        markdown(found).replace("\n", " \n").split()
    )


def test_calls_that_were_not_timed_are_unknown():
    stock = replace(ROW, milliseconds=math.nan, kernels={"a": 1.0})
    slower = replace(stock, mode="auto/exact", kernels={"a": 1.5})
    found = replace(record(stock, slower), torch=TORCH)
    assert found.mean("auto/exact", lambda row: row.milliseconds) is None
    assert found.mean("auto/exact", lambda row: row.kernel_milliseconds) == pytest.approx(1.5)
    assert found.torch_ratio("vit_f16", "stock", "eager") is None
    assert [each.what for each in found.findings()] == ["slower than stock: 1.500x"]
    assert "nan" not in markdown(found)


def test_times_stand_beside_those_of_torch():
    fast = replace(ROW, mode="auto/fast", milliseconds=0.5)
    found = replace(record(ROW, fast), torch=TORCH)
    assert found.torch_ratio("vit_f16", "stock", "eager") == 2
    assert found.torch_ratio("vit_f16", "auto/exact", "eager") is None
    assert found.torch_mean("auto/fast", "eager") == pytest.approx(0.5)
    assert found.torch_mean("auto/fast", "compiled") is None
    line = next(each for each in markdown(found).splitlines() if "no such operation" in each)
    assert line.split("|")[2:-1] == [
        " 1.000 ms ", "  ", " 2.00x ", "  ", " 0.50x ", "  ", "  ", "  ", "  ", "  ",
        " no such operation "
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("mode", "changes", "what"),
    [
        ("auto/exact", {"output": "p"}, "the output differs from that of stock"),
        ("auto/fast", {"errors": Errors(0.02, 0.1)}, "the rms error is 2.00e-02, stock's 1.00e-02"),
        ("auto/fast", {"milliseconds": 2.1}, "slower than stock: 1.050x"),
        ("auto/fast@sm_90a", {"output": "p", "milliseconds": 2.1}, "slower than stock: 1.050x"),
        ("auto/fast", {"repeats": False}, "a second call gave other bits"),
        ("stock", {"errors": Errors(float("nan"), 0.1)}, "the rms error is nan of 1.00e+00"),
    ],
)
def test_what_is_wrong_is_found(mode: str, changes: dict[str, object], what: str):
    row = replace(ROW, mode=mode, **changes)
    rows = (row,) if mode == "stock" else (ROW, row)
    assert record(*rows).findings() == [Finding("vit_f16", mode, what)]


def test_what_mends_a_wrong_output_is_not_compared_with_it():
    wrong = replace(ROW, errors=Errors(0.5, 2.0))
    mended = replace(ROW, mode="auto/exact", output="p")
    found = [(each.mode, each.what) for each in record(wrong, mended).findings()]
    assert found == [("stock", "the rms error is 5.00e-01 of 1.00e+00")]
