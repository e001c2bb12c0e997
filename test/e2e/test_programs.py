# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fast programs of bench/programs, a few of each family, and what makes a row of its table fail."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import cache

import numpy as np
import pytest

from bankwise.bench.program_families import all_programs
from bankwise.bench.program_families.attention import Attention, plain_sizes
from bankwise.bench.program_families.program import Program, largest_error
from bankwise.bench.programs import ProgramRow, cases, markdown_table, summary
from bankwise.emulator.counters import Counted
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags

FAST = (
    ("conv_1d_f16", "gfx942"),
    ("attention_f16_1x128x64", "gfx942"),
    ("attention_f16_value_transposed", "gfx950"),
    ("matmul_vector_times_matrix_f16_1x512x512", "gfx942"),
    ("matmul_plain_f64_64x64x64", "gfx950"),
    ("matmul_ragged_f32_67x45x33", "gfx942"),
    ("matmul_batched_f16_4x64x64x64", "gfx950"),
    ("matmul_narrow_f16_512x4x256", "gfx942"),
    ("pooling_max_f32", "gfx950"),
    ("softmax_f32", "gfx942"),
    ("argmax_f32", "gfx950"),
    ("transpose_f16", "gfx942"),
    ("stablehlo_gather", "gfx950"),
    ("onnx_lstm_cell", "gfx942"),
    ("tosa_layernorm", "gfx950"),
    ("reproducer_mmt4d_f16", "gfx942"),
    ("reproducer_const_bias", "gfx950"),
    ("matmul_ragged_i8_99x65x130", "gfx1100"),
    ("transpose_f16", "gfx1201"),
    ("attention_f16_1x64x320x64", "gfx1201"),
    ("onnx_lstm_cell", "gfx1100"),
    ("matmul_ragged_f16_100x130x70", "gfx1250"),
    ("softmax_f16_odd", "gfx1250"),
    ("reproducer_const_bias", "gfx1250"),
)
WRONG_IN_STOCK = (("reproducer_mmt4d_f32", "gfx1201"),)
"""What only our modes compute rightly."""
BY_NIGHT = tuple(
    (f"onnx_{name}", "gfx942")
    for name in (
        "mlp",
        "transformer_block",
        "resnet_block",
        "embedding_layernorm",
        "pool_classifier",
    )
)


def program(name: str) -> Program:
    (found,) = (each for each in all_programs() if each.name == name)
    return found


@cache
def measured(name: str, target: str) -> ProgramRow:
    return ProgramRow.measure((program(name), target))


@pytest.mark.sampled(every=16)
@pytest.mark.parametrize(
    ("name", "target"),
    [*FAST, *(pytest.param(*each, marks=pytest.mark.nightly) for each in BY_NIGHT)],
)
def test_a_program_is_right_and_no_worse_than_stock(name: str, target: str):
    row = measured(name, target)
    assert row.faults == []
    assert row.equal
    assert row.stock_identical
    assert list(row.figures) == ["none", "stock", "auto"]


@pytest.mark.parametrize(("name", "target"), WRONG_IN_STOCK)
def test_a_program_that_stock_has_wrong_is_right(name: str, target: str):
    of = program(name)
    inputs, flags = of.draw_inputs(), (*target_flags(target), *of.flags)
    (expected,) = of.expected(inputs)
    errors = {
        mode: largest_error(run_emulated(of.source, flags, mode, inputs).outputs[0], expected)
        for mode in ("stock", "none", "auto/layout", "auto", "auto/fast")
    }
    assert errors.pop("stock") > 1
    assert max(errors.values()) <= of.tolerance


def counted(of: Program, mitigation: str) -> dict[str, int]:
    flags = (*target_flags("gfx942"), *of.flags)
    return dict(run_emulated(of.source, flags, mitigation, of.draw_inputs()).counters)


@pytest.mark.nightly
def test_equal_cycles_take_no_more_instructions():
    """Stock's padding leaves no conflict in this kernel."""
    sizes = plain_sizes(1, 128, 128)
    attention = Attention("transposed", "f8E4M3FNUZ", sizes, value="b n k2", output_dtype="f32")
    stock, auto = (counted(attention.program(), each) for each in ("stock", "auto"))
    assert stock[Counted.CONFLICTS] == 0
    assert auto[Counted.LDS_CYCLES] == stock[Counted.LDS_CYCLES]
    assert auto[Counted.LDS] <= stock[Counted.LDS]


@pytest.mark.nightly
def test_rows_of_96_that_lanes_copy_by_6_elements():
    """8 waves copy 32 x 96 f16: no padding of such rows is free of conflicts, a swizzle is."""
    layout, exact = (
        counted(program("reproducer_atcfg_8w"), f"auto/{m}") for m in ("layout", "exact")
    )
    assert layout[Counted.CONFLICTS] == 0
    assert layout[Counted.LDS_CYCLES] == layout["LDS_FLOOR_CYCLES"]
    # Two columns at once take fewer cycles, with conflicts that no swizzle and no padding removes.
    assert exact[Counted.LDS_CYCLES] < 0.8 * layout[Counted.LDS_CYCLES]


@pytest.fixture(scope="module")
def row() -> ProgramRow:
    return measured(*FAST[0])


def test_a_row_is_shown_and_kept(row: ProgramRow):
    assert summary([row]).startswith("1 rows, 1 with LDS: 1 of these without conflicts under auto")
    assert "| conv_1d_f16 | bitwise equal |" in markdown_table([row])
    assert ProgramRow.of_document(**json.loads(json.dumps(asdict(row)))) == row


def test_what_is_worse_than_stock_fails_a_row(row: ProgramRow):
    auto, stock = row.figures["auto"], row.figures["stock"]
    more = stock.counters[Counted.LDS_CYCLES] + 1
    slower = replace(auto, counters=auto.counters | {Counted.LDS_CYCLES: more})
    worse = replace(row, figures=row.figures | {"auto": slower})
    assert worse.faults == [f"auto has {more:,} LDS cycles, stock {more - 1:,}"]
    stalled = replace(
        auto, counters=auto.counters | {Counted.CONFLICTS: stock.counters[Counted.CONFLICTS] + 1}
    )
    worse = replace(row, figures=row.figures | {"auto": stalled})
    assert any("conflict cycles, stock" in fault for fault in worse.faults)
    assert replace(row, stock_identical=False).faults != []


def test_a_wrong_reference_fails_a_row():
    right = program("stablehlo_gather")
    wrong = replace(right, reference=lambda *inputs: 1.001 * np.asarray(right.reference(*inputs)))
    (fault,) = ProgramRow.measure((wrong, "gfx942")).faults
    assert fault.startswith("results are wrong")


def test_a_program_that_does_not_compile_is_a_row_that_fails():
    row = ProgramRow.measure((replace(program("conv_1d_f16"), source="func.func @f(\n"), "gfx942"))
    assert [fault.split(":")[0] for fault in row.faults] == [
        "none fails",
        "stock fails",
        "auto fails",
    ]


def test_the_error_of_an_element():
    """Errors are relative to the element, but small elements may err as typical ones do."""
    expected = np.array([2.0, -2.0, 0.0, 4.0])
    typical = np.sqrt(6.0)
    assert largest_error(expected + np.array([0, 0, 0.01, 0]), expected) == pytest.approx(
        0.01 / typical
    )
    assert largest_error(expected + np.array([0, 0, 0, 0.01]), expected) == pytest.approx(0.01 / 4)
    assert largest_error(expected[:3], expected) == np.inf
    assert largest_error(np.array([2.0, -2.0, np.nan, 4.0]), expected) == np.inf
    assert largest_error(np.array([1, 3]), np.array([1, 2])) > 0


def test_names_are_distinct_and_select_programs():
    names = [each.name for each in all_programs()]
    assert len(set(names)) == len(names)
    assert {p.name for p, _ in cases(["gfx942"], "^conv_1d")} == {"conv_1d_f16"}
    assert not [case for case in cases(["gfx942"]) if "gfx942" not in case[0].targets]


def test_programs_for_all_chips_are_for_other_families():
    found = {p.name for p, _ in cases(["gfx1201"], "^matmul_plain_f(16|8)")}
    assert found == {"matmul_plain_f16_128x128x128"}


@pytest.mark.nightly
def test_what_names_instructions_of_another_family_has_no_code():
    row = measured("reproducer_atcfg_8w", "gfx1201")
    assert row.is_uncompiled and row.faults == [] and not row.failed
    assert "1 that iree-compile has no code of; 0 failed" in summary([row])
    assert "## Without code of iree-compile" in markdown_table([row])
    # The chips of the record have code for all.
    assert replace(row, target="gfx950").faults != []
