# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs whose tiles kept conflicts: what is decided, verified and counted is 0."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from bankwise.iree_plugin.mitigation import mitigation_edits
from bankwise.passes.decisions import DecisionLog
from bankwise.passes.layout_steps import verifying_edits
from bankwise.passes.mode import Mode
from bankwise.passes.pipeline_edit import PipelineEdit
from bankwise.runtime.emulated_run import EmulatedRun, run_emulated
from bankwise.sweep.cases import target_flags

FOLDER = Path(__file__).parent / "conflict_free"
DTYPES = {"f16": np.float16, "f32": np.float32, "i1": np.bool_}
CONFLICTS = "SQ_LDS_BANK_CONFLICT"


def inputs_of(source: str) -> list[np.ndarray]:
    """Returns normal numbers, and random truths, for the arguments of the source's function."""
    arguments = re.search(r"func\.func @\w+\((.*?)\) ->", source)
    assert arguments is not None
    random = np.random.default_rng(0)
    found: list[np.ndarray] = []
    for kind in re.findall(r"tensor<([^>]+)>", arguments[1]):
        *sizes, element = kind.split("x")
        values = random.standard_normal([int(size) for size in sizes])
        found.append(values > 0 if element == "i1" else values.astype(DTYPES[element]))
    return found


def run(source: str, arch: str, edits: list[PipelineEdit], log: DecisionLog) -> EmulatedRun:
    """Runs what stock's pipelines make of the source with these edits."""
    flags = target_flags(arch)
    return run_emulated(source, flags, "stock", inputs_of(source), edits=edits, decisions=log)


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("attention_same_kv_f16", "gfx942"),
        ("attention_same_kv_f16", "gfx950"),
        ("attention_same_kv_f32", "gfx942"),
        ("matmul_rows_of_12_words", "gfx942"),
        ("attention_waves_of_keys", "gfx950"),
        ("matmul_half_of_the_waves_load", "gfx950"),
    ],
)
def test_no_conflict_is_left(name: str, arch: str) -> None:
    source = (FOLDER / f"{name}.mlir").read_text()
    stock = run(source, arch, [], DecisionLog())
    for level in ("layout", "exact"):
        log = DecisionLog()
        # The check comes first: the mitigation puts another pass in the place of its anchor.
        edits = [*verifying_edits(), *mitigation_edits(Mode("auto", level))]
        ours = run(source, arch, edits, log)
        decided = [each.conflict_cycles_after for each in log if log.stands(each)]
        assert decided and not any(decided)
        assert ours.counters[CONFLICTS] == 0
        assert ours.counters["LDS_CYCLES"] <= stock.counters["LDS_CYCLES"]
        assert ours.lds_bytes <= stock.lds_bytes
        for one, other in zip(ours.outputs, stock.outputs, strict=True):
            assert one.tobytes() == other.tobytes()
