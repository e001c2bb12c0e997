# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions of rows that lanes share, whatever their length."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from bankwise.bench.program_families.program import Array, Program, largest_error
from bankwise.bench.program_families.rows import ROW_PROGRAMS, RowProgram
from bankwise.emulator.counters import Counted
from bankwise.iree_plugin.python_compile import compile
from bankwise.passes.decisions import Action
from bankwise.sweep.cases import target_flags
from bankwise.tuning.elements.share_rows import ShareRows

from .program_runs import ProgramRun, run_program

SHAPES = ((3, 777), (2, 5, 197), (130, 33), (2, 1000), (4, 1024))


def largest(run: ProgramRun) -> float:
    """Returns the largest error of all outputs."""
    expected = run.program.expected(run.inputs)
    return max(largest_error(*each) for each in zip(run.run.outputs, expected, strict=True))


def outputs(program: Program, mode: str, inputs: Sequence[Array]) -> list[bytes]:
    """Returns the outputs of a program as a mode compiles it."""
    return [each.tobytes() for each in run_program(program, mode=mode, inputs=inputs).run.outputs]


@pytest.mark.sampled("kind", "shape", "name", every=9)
@pytest.mark.parametrize("kind", ["f16", "f32"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ROW_PROGRAMS)
def test_lanes_share_rows_of_any_length(name: str, shape: tuple[int, ...], kind: str) -> None:
    program = RowProgram(name, kind, shape).program()
    run = run_program(program)
    assert largest(run) <= program.tolerance
    assert {*run.actions_of(ShareRows.name)} == {Action.RETILE}
    assert run.run.counters[Counted.CONFLICTS] == 0


@pytest.mark.sampled("name", every=4)
@pytest.mark.parametrize("name", ROW_PROGRAMS)
def test_lanes_share_a_tensor_that_is_one_row(name: str) -> None:
    """IREE lets a single lane compute it, as the softmax behind a classifier of one image."""
    program = RowProgram(name, "f32", (1000,)).program()
    run = run_program(program)
    assert largest(run) <= program.tolerance
    assert {*run.actions_of(ShareRows.name)} == {Action.RETILE}


def strange_rows(program: Program) -> Array:
    """Returns rows with and without numbers."""
    (rows,) = program.draw_inputs()
    rows[0, 40], rows[1, 0], rows[2] = np.nan, np.nan, np.nan
    rows[3], rows[4, 7], rows[5, :50] = -np.inf, np.inf, -0.0
    return rows


def test_the_place_of_the_largest_number_is_that_of_stock() -> None:
    program = RowProgram("argmax", "f32", (6, 100), "maxnumf").program()
    rows = strange_rows(program)
    stock = outputs(program, "stock", [rows])
    assert outputs(program, "auto/exact", [rows]) == stock
    assert outputs(program, "auto/fast", [rows]) == stock


def test_no_element_is_larger_behind_a_nan() -> None:
    """On AMD GPUs IREE computes `arith.maximumf` by an instruction that prefers numbers."""
    program = RowProgram("argmax", "f32", (6, 100)).program()
    rows = strange_rows(program)
    largest, places = run_program(program, mode="auto/exact", inputs=[rows]).run.outputs
    np.testing.assert_array_equal(largest, rows.max(axis=1))
    before = [rows[0, :40].argmax(), 0, 0, 0, 7, rows[5].argmax()]
    np.testing.assert_array_equal(places, before)


def test_only_the_program_knows_how_many_rows_there_are() -> None:
    program = RowProgram("softmax", "f32", (6, 33)).program()
    source = program.source.replace("tensor<6x", "tensor<?x").replace(
        "%empty = tensor.empty()",
        "%c0 = arith.constant 0 : index\n"
        "%count = tensor.dim %x, %c0 : tensor<?x33xf32>\n%empty = tensor.empty(%count)",
    )
    run = run_program(replace(program, source=source))
    assert largest(run) <= program.tolerance
    assert run.actions_of(ShareRows.name) == [Action.RETILE]


def test_sums_keep_their_order_at_exact() -> None:
    program = RowProgram("sum", "f32", (70, 77)).program()
    inputs = program.draw_inputs()
    assert outputs(program, "auto/exact", inputs) == outputs(program, "stock", inputs)


@pytest.mark.sampled("arch", "name", "length", every=8)
@pytest.mark.parametrize("arch", ["gfx942", "gfx1201"])
@pytest.mark.parametrize("name", ["softmax", "masked_softmax"])
@pytest.mark.parametrize(("length", "kind"), [(777, "f16"), (1030, "f32")])
def test_maxima_of_long_rows_are_found_step_by_step(
    arch: str, name: str, length: int, kind: str
) -> None:
    program = RowProgram(name, kind, (6, length)).program()
    rows, *rest = program.draw_inputs()
    rows[0, 40], rows[1], rows[2, 7], rows[3, 1:] = np.nan, -np.inf, np.inf, -0.0
    exact, stock = (
        run_program(program, arch, mode, inputs=[rows, *rest]).run.outputs
        for mode in ("auto/exact", "stock")
    )
    assert [each.tobytes() for each in exact] == [each.tobytes() for each in stock]


def test_an_element_is_read_once_by_neighbouring_lanes() -> None:
    source = RowProgram("softmax", "f16", (3000, 777)).program().source
    code = compile(source, target_flags("sm_80"), "auto/fast").decode("latin-1")
    assert len(re.findall(r"ld\.global", code)) == 25
    assert len(re.findall(r"st\.global", code)) == 25
    assert re.search(r"\.maxntid 128", code)
    assert len(re.findall(r"\bbra\b", code)) == 1
