# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions whose heads and sequences IREE has no matrix instructions for."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.bench.program_families.attention import Attention
from bankwise.emulator.counters import Counted
from bankwise.passes.decisions import Action
from bankwise.report.compile_decisions import decisions
from bankwise.sweep.cases import target_flags
from bankwise.tuning.attention.use_matrix_instructions import UseMatrixInstructions
from bankwise.tuning.registers.rename_registers import RenameRegisters

from .program_runs import run_again, run_program

PASS = UseMatrixInstructions.name


def odd(
    rows: int, keys: int, head: int, columns: int, dtype: str, mask: bool, batch: int = 2
) -> Attention:
    """Returns an attention whose mask, if it has one, is of its own type."""
    sizes = {"b": batch, "m": rows, "n": columns, "k1": head, "k2": keys}
    return Attention("", dtype, sizes, mask="b m k2" if mask else "", mask_dtype=dtype)


def source(
    rows: int, keys: int, head: int, columns: int, dtype: str, mask: bool, batch: int = 2
) -> str:
    """Returns such an attention as MLIR."""
    return odd(rows, keys, head, columns, dtype, mask, batch).program().source


@pytest.mark.sampled(every=8)
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
        # Tiles reach beyond the end of these.
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
def test_odd_sizes_use_matrix_instructions(
    arch: str, sizes: tuple[int, int, int, int], dtype: str, mask: bool
) -> None:
    run_program(odd(*sizes, dtype, mask).program(), arch).assert_tiled(PASS)


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize(
    ("arch", "sizes", "dtype"),
    [
        ("gfx942", (4, 96, 64, 128), "f16"),
        ("gfx942", (2, 70, 40, 72), "bf16"),
        ("gfx950", (3, 129, 96, 64), "bf16"),
        # Rows begin at odd words.
        ("gfx950", (4, 65, 74, 42), "f16"),
    ],
)
def test_few_rows_are_one_warp_s_that_needs_no_lds(
    arch: str, sizes: tuple[int, int, int, int], dtype: str
) -> None:
    """K is read as it lies in memory, and columns of V are renamed so that they are neighbours."""
    ran = run_program(odd(*sizes, dtype, mask=False).program(), arch)
    ran.assert_tiled(PASS)
    assert ran.run.counters[Counted.LDS_CYCLES] == 0
    assert ran.actions_of(RenameRegisters.name) == [Action.RENAME]
    assert "1 warps, Q and K and V do not lie in the LDS" in str([*ran.log])


def test_values_whose_rows_begin_at_odd_elements_go_by_way_of_the_lds() -> None:
    ran = run_program(odd(4, 80, 64, 21, "f16", mask=False).program())
    ran.assert_tiled(PASS)
    assert "1 warps, Q and K do not lie in the LDS" in str([*ran.log])


def test_warps_load_few_keys_themselves() -> None:
    ran = run_program(odd(77, 77, 64, 64, "f16", mask=True).program())
    ran.assert_tiled(PASS)
    assert "80 keys a step, 5 warps, Q and K do not lie in the LDS" in str([*ran.log])


def test_rows_of_one_element_keep_scalar_instructions() -> None:
    """The compiler has folded the loop over the row away."""
    program = odd(1, 64, 96, 96, "f16", False).program()
    ran = run_program(program)
    assert ran.error < program.tolerance
    assert not ran.actions_of(PASS)
    assert ran.run.counters[Counted.MFMA] == 0


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_rows_that_begin_at_odd_elements_are_copied_by_vectors(arch: str) -> None:
    """A row of 75 elements is nine times 8 of them, and 3, which are read with the 5 before."""
    ran = run_program(odd(64, 256, 75, 75, "f16", mask=False, batch=1).program(), arch)
    ran.assert_tiled(PASS)
    (assembly,) = ran.run.assembly.values()
    assert "global_load_dwordx4" in assembly
    assert "load_ushort" not in assembly and "ds_write_b16" not in assembly


@pytest.mark.sampled("operand", "number")
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("operand", range(3))
def test_what_lies_at_an_end_does_not_spread(operand: int, number: float) -> None:
    """NaN and Inf in the last row or column of an operand are not multiplied by absent zeros."""
    random = np.random.default_rng(5)
    q, k, v = (random.standard_normal((1, each, 20)).astype(np.float16) for each in (18, 19, 19))
    (q, k, v)[operand][0, -1, -1] = number
    program = odd(18, 19, 20, 20, "f16", False, batch=1).program()
    found, stock = (
        run_again(program, mode=mode, inputs=[q, k, v]).run.outputs[0]
        for mode in ("auto/fast", "stock")
    )
    assert np.array_equal(np.isnan(found), np.isnan(stock))
    assert np.array_equal(np.isposinf(found), np.isposinf(stock))
    finite = np.isfinite(stock)
    assert np.allclose(found[finite], stock[finite], atol=2e-3)


def test_sums_keep_their_order_at_exact() -> None:
    program = odd(16, 32, 24, 24, "f16", False).program()
    ran, stock = (run_program(program, mode=mode) for mode in ("auto/exact", "stock"))
    assert not ran.actions_of(PASS)
    assert ran.bits == stock.bits


def test_operands_on_nvidia_gpus_are_read_by_ldmatrix_and_copied_ahead() -> None:
    text = source(1024, 1024, 96, 96, "f16", False)
    log = decisions(text, target_flags("sm_80"), "auto/fast")
    actions = {each.action for each in log}
    assert {Action.RETILE, Action.LDMATRIX, Action.HINT, Action.OVERLAP} <= actions
    assert log.conflict_cycles_left() == 0


def test_copies_of_odd_sizes_are_filled_with_zeros_by_the_hardware() -> None:
    text = source(1000, 1000, 100, 100, "f16", False)
    log = decisions(text, target_flags("sm_80"), "auto/fast")
    assert Action.OVERLAP in {each.action for each in log}
    assert log.conflict_cycles_left() == 0
