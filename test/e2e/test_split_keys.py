# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions with few rows whose keys are split over workgroups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from iree.compiler import ir
from iree.compiler.api import Session

from bankwise.bench.gpu.timed_sets import model_attention
from bankwise.bench.program_families.attention import Attention
from bankwise.bench.program_families.program import Array
from bankwise.dialect_utils.operations import operations_in
from bankwise.emulator.counters import Counted
from bankwise.passes.base import PassContext
from bankwise.passes.decisions import Action
from bankwise.report.compile_decisions import decisions
from bankwise.runtime.dtypes import dtype_of
from bankwise.sweep.cases import target_flags
from bankwise.tuning.programs.program_attention import ATTENTION
from bankwise.tuning.programs.split_keys import SplitKeys

from .conftest import Tool
from .program_runs import ProgramRun, run_again, run_program

FAST = "auto/fast/on"


def emulated(
    attention: Attention, parts: int, arch: str = "gfx942", inputs: Sequence[Array] = ()
) -> ProgramRun:
    """Runs an attention with its keys in so many parts, whatever is predicted."""
    changing = [SplitKeys(parts=parts)]
    ran = run_again(attention.program(), arch, FAST, inputs=inputs, changing=changing)
    assert [each.detail for each in ran.log if each.action is Action.SPLIT] == [f"{parts} parts"]
    return ran


@pytest.mark.sampled(every=7)
@pytest.mark.parametrize(
    ("arch", "attention", "parts"),
    [
        ("gfx942", model_attention(2, 128, 64, keys=256), 4),
        ("gfx950", model_attention(1, 16, 128, "bf16", keys=256), 2),
        # A part of 75 keys is no multiple of a tile.
        ("gfx942", model_attention(1, 40, 80, keys=300), 4),
        ("gfx950", model_attention(2, 7, 64, keys=250), 5),
        ("gfx942", model_attention(1, 16, 64, keys=256, mask="f16"), 4),
        ("gfx942", model_attention(2, 3, 64, keys=96, columns=40), 3),
        ("gfx942", model_attention(2, 5, 64, "f32", keys=256), 2),
        # A single row is computed twice.
        ("gfx942", model_attention(2, 1, 64, keys=256), 4),
        # The rows are those of heads that share a head of K and V.
        ("gfx942", model_attention(4, 1, 64, keys=512, group=4), 2),
        ("gfx950", model_attention(4, 2, 64, keys=256, group=2, mask="i1"), 8),
        ("gfx950", model_attention(2, 1, 80, keys=300), 3),
        ("gfx942", model_attention(1, 1, 64, keys=256, mask="i1"), 2),
        ("gfx942", replace(model_attention(2, 1, 64, keys=128), value="b n k2"), 2),
        ("gfx950", replace(model_attention(2, 6, 64, keys=128), output="m b n"), 2),
        ("gfx942", replace(model_attention(2, 6, 64, keys=128), key="k2 b k1", output="b n m"), 2),
    ],
)
def test_parts_of_keys_are_merged(arch: str, attention: Attention, parts: int) -> None:
    ran = emulated(attention, parts, arch)
    assert ran.error < ran.program.tolerance
    assert ran.run.counters[Counted.MFMA] > 0
    assert ran.run.counters[Counted.CONFLICTS] == 0


@pytest.mark.sampled
@pytest.mark.parametrize("rows", [1, 3])
def test_programs_that_were_split_before_a_compile_are_right_too(rows: int) -> None:
    """The loops of one row and the order of V are not IREE's yet, and no pass follows."""
    program = model_attention(2, rows, 40, keys=96).program()
    module = ir.Module.parse(program.source, Session().context)
    for function in operations_in(module.operation, "func.func"):
        SplitKeys(parts=3).run(function, PassContext())
    assert not operations_in(module.operation, ATTENTION)
    ran = run_program(replace(program, source=str(module)), mode="stock")
    assert ran.error < program.tolerance


SPECIAL = [*product((0.0, np.nan, np.inf, -np.inf), ("i1", "f16"), (16, 1))]
# One program sees each number by day.
QUICK = [each for each in SPECIAL if each[1:] == ("i1", 1)]


@pytest.mark.parametrize(
    ("number", "mask", "rows"),
    [
        *QUICK,
        *(pytest.param(*e, marks=pytest.mark.nightly) for e in SPECIAL if e not in QUICK),
    ],
)
def test_rows_without_keys_and_special_numbers_are_as_in_stock(
    rows: int, mask: str, number: float
) -> None:
    """A row sees no key at all, another one none of two parts, and K has a special number."""
    attention = model_attention(3, rows, 64, keys=128, mask=mask)
    random = np.random.default_rng(7)
    shapes = [shape for shape, _ in attention.operands]
    q, k, v = (random.standard_normal(each).astype(np.float16) for each in shapes[:3])
    k[1, 70, 3] = v[1, 100, 5] = number
    hidden = random.integers(0, 2, shapes[3]).astype(bool)
    hidden[0, 0, :] = hidden[2, 0, 64:] = True
    added = np.where(hidden, -np.inf, random.standard_normal(shapes[3]))
    inputs = [q, k, v, ~hidden if mask == "i1" else added.astype(dtype_of(mask))]
    (stock,) = run_again(attention.program(), mode="stock", inputs=inputs).run.outputs
    (found,) = emulated(attention, 4, inputs=inputs).run.outputs
    assert np.isnan(stock[0, 0]).all()
    assert np.isfinite(stock[2]).all()
    assert np.array_equal(np.isnan(found), np.isnan(stock))
    assert np.allclose(found, stock, atol=2e-3, equal_nan=True)


def test_large_scores_do_not_overflow() -> None:
    attention = model_attention(1, 16, 64, keys=128)
    random = np.random.default_rng(3)
    q, k, v = (
        (random.standard_normal(shape) * factor).astype(np.float16)
        for (shape, _), factor in zip(attention.operands, (20, 20, 1), strict=True)
    )
    (found,) = emulated(attention, 4, inputs=[q, k, v]).run.outputs
    expected = attention.reference(*(each.astype(np.float64) for each in (q, k, v)))
    assert np.abs(found - expected).max() < 5e-3


LONG = model_attention(1, 16, 64, keys=16384)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("mode", "splits"),
    [(FAST, True), ("auto/fast", True), ("auto/fast/off", False), ("auto/exact/on", False)],
)
def test_keys_are_split_at_the_level_fast(mode: str, splits: bool) -> None:
    """Where a model alone says what they gain, they are split if that is much."""
    log = decisions(LONG.program().source, target_flags("gfx942"), mode)
    found = [each for each in log if each.pass_name == "bankwise-split-keys"]
    assert [each.action for each in found] == ([Action.SPLIT] if splits else [])


@pytest.mark.sampled
@pytest.mark.parametrize(("start", "splits"), [("global-optimization", True), ("flow", False)])
def test_a_compile_may_go_on_where_another_has_stopped(
    start: str, splits: bool, tool: Tool, tmp_path: Path
) -> None:
    """What ends before the codegen is IREE's alone; what begins behind the place is, too."""
    flags, steps = target_flags("gfx942"), [str(tmp_path / name) for name in ("0.mlir", "1.mlir")]
    Path(steps[0]).write_text(LONG.program().source)
    fast = ["--bankwise-level=fast", "--bankwise-retile=on"]
    first = [steps[0], *flags, *fast, f"--compile-to={start}", "-o", steps[1]]
    assert tool("bankwise-compile", *first).returncode == 0
    assert "online_attention" not in Path(steps[1]).read_text()
    rest = [steps[1], *flags, *fast, f"--compile-from={start}", "--bankwise-remarks"]
    ran = tool("bankwise-compile", *rest, "-o", "2.vmfb")
    assert ran.returncode == 0
    assert ("parts are predicted to take" in ran.stderr) == splits


@pytest.mark.nightly
def test_a_whole_compile_splits_keys() -> None:
    ran = run_program(LONG.program(), mode=FAST)
    assert ran.error < ran.program.tolerance
    assert Action.SPLIT in {each.action for each in ran.log}
