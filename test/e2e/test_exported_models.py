# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks of whole models, as PyTorch exports those of transformers, on the emulator.

`python -m bankwise.bench.models export test/e2e/exported_models --tiny` writes them, with elements
of what PyTorch computes in float32.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bankwise.bench.whole_models.exported import ExportedModels
from bankwise.emulator.counters import Counted
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.runtime.dtypes import dtype_of
from bankwise.runtime.emulated_run import EmulatedRun, run_emulated
from bankwise.sweep.cases import target_flags

DIRECTORY = Path(__file__).with_name("exported_models")
MODELS = {each.name: each for each in ExportedModels.of_directory(DIRECTORY).models}
# A decoder with two heads for each of K and V, 50 tokens of an image, and heads of 20.
TARGETS = {"llama_f16": "gfx942", "vit_bf16": "gfx950", "t5_f32": "gfx942"}
TOLERANCE = {"f16": 5e-3, "bf16": 8e-2, "f32": 5e-6}


def run(name: str, mode: str) -> tuple[EmulatedRun, DecisionLog]:
    model, log = MODELS[name], DecisionLog()
    inputs = []
    for each in model.inputs:
        *shape, dtype = each.operand.split("x")
        inputs.append(np.frombuffer(each.data(), dtype_of(dtype)).reshape(*map(int, shape)))
    flags = (*target_flags(TARGETS[name]), f"--iree-input-type={model.input_type}")
    source = model.source(DIRECTORY).read_text()
    return run_emulated(source, flags, mode, inputs, decisions=log), log


def test_all_models_run():
    assert MODELS.keys() == TARGETS.keys()


@pytest.mark.nightly
@pytest.mark.parametrize("name", TARGETS)
def test_fast_is_right_to_rounding_and_uses_matrix_instructions(name: str):
    done, log = run(name, "auto/fast")
    model = MODELS[name]
    found = done.outputs[0].astype(np.float64).flatten()[:: model.stride]
    assert np.abs(found - model.expected).max() < TOLERANCE[name.rpartition("_")[2]]
    assert done.counters[Counted.CONFLICTS] == 0
    attentions = [each for each in log if "attention" in each.function]
    assert Action.RETILE in {each.action for each in attentions}


@pytest.mark.nightly
@pytest.mark.parametrize("name", TARGETS)
def test_exact_is_bitwise_equal_to_stock(name: str):
    exact, stock = (run(name, mode)[0] for mode in ("auto/exact", "stock"))
    assert exact.outputs[0].tobytes() == stock.outputs[0].tobytes()
    assert exact.counters[Counted.CONFLICTS] == 0 < stock.counters[Counted.CONFLICTS]
