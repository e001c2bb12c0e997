# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions whose heads and sequences IREE has no matrix instructions for."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.bench.reference_attention import attention
from bankwise.emulator.counters import Counted
from bankwise.iree_plugin.compile import compile
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.runtime.dtypes import dtype_of
from bankwise.runtime.emulated_run import EmulatedRun, run_emulated
from bankwise.sweep.cases import target_flags

TOLERANCE = {"f16": 2e-3, "bf16": 3e-2, "f32": 2e-6}
PASS = "bankwise-use-matrix-instructions"


def source(
    rows: int, keys: int, head: int, columns: int, dtype: str, mask: bool, batch: int = 2
) -> str:
    q, k = f"tensor<{batch}x{rows}x{head}x{dtype}>", f"tensor<{batch}x{keys}x{head}x{dtype}>"
    v, o = f"tensor<{batch}x{keys}x{columns}x{dtype}>", f"tensor<{batch}x{rows}x{columns}x{dtype}>"
    m = f"tensor<{batch}x{rows}x{keys}x{dtype}>"
    maps = ["(b, m, k1)", "(b, k2, k1)", "(b, k2, n)", "()"]
    maps += ["(b, m, k2)"] if mask else []
    affine = ", ".join(f"affine_map<(b, m, n, k1, k2) -> {x}>" for x in [*maps, "(b, m, n)"])
    extra = (", %mask", f", {m}") if mask else ("", "")
    return f"""
      func.func @f(%q: {q}, %k: {k}, %v: {v}{f", %mask: {m}" if mask else ""}) -> {o} {{
        %s = arith.constant {head**-0.5} : {dtype}
        %e = tensor.empty() : {o}
        %r = iree_linalg_ext.attention <{{indexing_maps = [{affine}]}}>
            ins(%q, %k, %v, %s{extra[0]} : {q}, {k}, {v}, {dtype}{extra[1]}) outs(%e : {o}) {{
          ^bb0(%x: f32):
            iree_linalg_ext.yield %x : f32
        }} -> {o}
        return %r : {o}
      }}"""


def run(
    arch: str, sizes: tuple[int, int, int, int], dtype: str, mask: bool, mode: str
) -> tuple[EmulatedRun, float, DecisionLog]:
    """Returns the run, how far its output is from float64, and the decisions."""
    rows, keys, head, columns = sizes
    random, log = np.random.default_rng(3), DecisionLog()
    shapes = [(2, rows, head), (2, keys, head), (2, keys, columns)]
    inputs = [random.standard_normal(each).astype(dtype_of(dtype)) for each in shapes]
    if mask:
        inputs.append(random.standard_normal((2, rows, keys)).astype(dtype_of(dtype)))
    text = source(*sizes, dtype, mask)
    done = run_emulated(text, target_flags(arch), mode, inputs, decisions=log)
    q, k, v, *more = (each.astype(np.float64) for each in inputs)
    expected = attention(q, k, v, head**-0.5, *more)
    return done, float(np.abs(done.outputs[0].astype(np.float64) - expected).max()), log


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("arch", "sizes", "dtype", "mask"),
    [
        ("gfx942", (128, 128, 96, 96), "f16", False),
        ("gfx950", (64, 192, 80, 80), "bf16", False),
        ("gfx942", (48, 80, 48, 48), "f16", False),
        ("gfx950", (32, 64, 192, 128), "f16", False),
        ("gfx942", (64, 96, 112, 112), "bf16", True),
        ("gfx942", (64, 64, 272, 272), "f16", False),
        ("gfx942", (16, 64, 160, 16), "f16", True),
        ("gfx942", (32, 64, 80, 48), "f32", True),
    ],
)
def test_any_multiple_of_16_uses_matrix_instructions(
    arch: str, sizes: tuple[int, int, int, int], dtype: str, mask: bool
) -> None:
    done, error, log = run(arch, sizes, dtype, mask, "auto/fast")
    assert error < TOLERANCE[dtype]
    assert [each.action for each in log if each.pass_name == PASS] == [Action.RETILE]
    assert done.counters[Counted.MFMA] > 0
    workgroups = 2 * -(-sizes[0] // 64)
    assert done.counters[Counted.CONFLICTS] == workgroups * (log.conflict_cycles_left() or 0)
    assert log.conflict_cycles_left() == 0


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("arch", "sizes", "dtype", "mask"),
    [
        ("gfx942", (77, 77, 64, 64), "f16", False),
        ("gfx950", (50, 131, 72, 40), "bf16", True),
        ("gfx942", (33, 20, 75, 75), "bf16", False),
        ("gfx942", (16, 100, 100, 7), "f16", True),
        ("gfx950", (5, 3, 1, 1), "f16", False),
        # 256 lanes cannot share 16 rows of 76 elements.
        ("gfx942", (33, 20, 75, 41), "f32", False),
        # IREE takes instructions of 8 rows, and fails to compile them.
        ("gfx942", (24, 64, 64, 32), "f16", True),
        ("gfx950", (8, 64, 64, 64), "bf16", False),
    ],
)
def test_tiles_reach_beyond_the_end_of_odd_sizes(
    arch: str, sizes: tuple[int, int, int, int], dtype: str, mask: bool
) -> None:
    done, error, log = run(arch, sizes, dtype, mask, "auto/fast")
    assert error < TOLERANCE[dtype]
    assert [each.action for each in log if each.pass_name == PASS] == [Action.RETILE]
    assert done.counters[Counted.MFMA] > 0
    assert log.conflict_cycles_left() == 0


def test_rows_of_one_element_keep_scalar_instructions() -> None:
    """The compiler has folded the loop over the row away."""
    done, error, log = run("gfx942", (1, 64, 96, 96), "f16", False, "auto/fast")
    assert error < TOLERANCE["f16"]
    assert not [each for each in log if each.pass_name == PASS]
    assert done.counters[Counted.MFMA] == 0


@pytest.mark.sampled("operand", "number")
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("operand", range(3))
def test_what_lies_at_an_end_does_not_spread(operand: int, number: float) -> None:
    """NaN and Inf in the last row or column of an operand are not multiplied by absent zeros."""
    random = np.random.default_rng(5)
    q, k, v = (random.standard_normal((1, each, 20)).astype(np.float16) for each in (18, 19, 19))
    (q, k, v)[operand][0, -1, -1] = number
    text = source(18, 19, 20, 20, "f16", False, batch=1)
    found, stock = (
        run_emulated(text, target_flags("gfx942"), mode, [q, k, v]).outputs[0]
        for mode in ("auto/fast", "stock")
    )
    assert np.array_equal(np.isnan(found), np.isnan(stock))
    assert np.array_equal(np.isposinf(found), np.isposinf(stock))
    finite = np.isfinite(stock)
    assert np.allclose(found[finite], stock[finite], atol=TOLERANCE["f16"])


def test_sums_keep_their_order_at_exact() -> None:
    done, _, log = run("gfx942", (64, 64, 96, 96), "f16", False, "auto/exact")
    stock, *_ = run("gfx942", (64, 64, 96, 96), "f16", False, "stock")
    assert not [each for each in log if each.pass_name == PASS]
    assert done.outputs[0].tobytes() == stock.outputs[0].tobytes()


def test_operands_on_nvidia_gpus_are_read_by_ldmatrix_and_copied_ahead() -> None:
    log = DecisionLog()
    text = source(1024, 1024, 96, 96, "f16", False)
    compile(text, target_flags("sm_80"), "auto/fast", decisions=log)
    actions = {each.action for each in log}
    assert {Action.RETILE, Action.LDMATRIX, Action.HINT, Action.OVERLAP} <= actions
    assert log.conflict_cycles_left() == 0


def test_copies_of_odd_sizes_are_filled_with_zeros_by_the_hardware() -> None:
    log = DecisionLog()
    compile(
        source(1000, 1000, 100, 100, "f16", False),
        target_flags("sm_80"),
        "auto/fast",
        decisions=log,
    )
    assert Action.OVERLAP in {each.action for each in log}
    assert log.conflict_cycles_left() == 0
