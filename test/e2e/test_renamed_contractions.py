# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls and a convolution with renamed indices: the same bits, or right to rounding."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy.typing as npt
import pytest

from bankwise.bench.benchmark_kernels import Convolution, Product
from bankwise.bench.emulated_runs import MarkingDevice, at_given_tiles, written
from bankwise.bench.matmul_table import TOLERANCE, largest_error
from bankwise.bench.program_families.matmuls import Contraction
from bankwise.bench.program_families.program import largest_error as relative_error
from bankwise.bench.programs import cases
from bankwise.emulator.counters import Counted
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.runtime.emulated_run import EmulatedRun, run_emulated
from bankwise.sweep.cases import target_flags
from bankwise.sweep.swept_kernels import Matmul, random_operands
from bankwise.tuning.contractions import contraction_renaming

Array = npt.NDArray[Any]


def emulate(
    source: str,
    chip: str,
    operands: list[Array],
    reductions: bool | None,
    decisions: DecisionLog | None = None,
) -> EmulatedRun:
    """Runs a module as stock compiles it, or with renamed indices."""
    mode = "stock" if reductions is None else "auto/fast" if reductions else "auto/exact"
    return run_emulated(
        source,
        target_flags(chip),
        at_given_tiles(mode),
        operands,
        decisions=decisions,
        device=partial(MarkingDevice, whole_grid=64),
    )


def name_of(case: object) -> str:
    return case.name if isinstance(case, Matmul | Convolution) else str(case)


def check_fewer_instructions(stock: EmulatedRun, ours: EmulatedRun, most: float) -> None:
    assert ours.counters[Counted.LDS] <= most * stock.counters[Counted.LDS]
    assert ours.counters[Counted.CONFLICTS] == 0
    assert ours.lds_bytes <= stock.lds_bytes
    assert ours.counters[Counted.TRANSACTIONS] <= stock.counters[Counted.TRANSACTIONS]
    assert ours.counters[Counted.LDS_CYCLES] == ours.counters[Counted.LDS_FLOOR_CYCLES]


@pytest.mark.sampled(every=9)
@pytest.mark.parametrize(
    ("kernel", "chip", "exact", "fast"),
    [
        (Matmul(100, 132, 70, "f32"), "gfx950", 0.75, 0.63),
        (Matmul(128, 128, 128, "f16"), "gfx942", 0.3, 0.28),
        (Matmul(128, 128, 128, "f32"), "gfx942", 0.75, 0.6),
        (Matmul(128, 128, 128, "f32"), "gfx950", 0.75, 0.6),
        (Convolution(1, 18, 18, 64, 128, 3, "f16"), "gfx942", 0.4, 0.4),
        (Matmul(128, 128, 128, "i8"), "gfx942", 0.2, 0.2),
        (Matmul(16, 256, 512, "f32"), "gfx942", 0.75, 0.6),
        (Matmul(100, 130, 70, "f16"), "gfx942", 0.4, 0.4),
        (Matmul(100, 130, 70, "i8"), "gfx942", 0.55, 0.55),
    ],
    ids=name_of,
)
def test_outputs_stay(kernel: Product, chip: str, exact: float, fast: float) -> None:
    operands = random_operands(kernel)
    runs = [emulate(kernel.source(), chip, operands, each) for each in (None, False, True)]
    outputs = [run.outputs[0] for run in runs]
    assert all(written(output).all() for output in outputs)
    assert outputs[1].tobytes() == outputs[0].tobytes()
    assert largest_error(kernel, operands, outputs[2]) <= TOLERANCE[kernel.accumulator]
    check_fewer_instructions(runs[0], runs[1], exact)
    check_fewer_instructions(runs[0], runs[2], fast)


@pytest.mark.nightly
def test_wide_reads_that_stock_pairs_stay_as_few() -> None:
    kernel = Matmul(128, 128, 128, "f16", transposed=True)
    operands = random_operands(kernel)
    stock, ours = (emulate(kernel.source(), "gfx942", operands, each) for each in (None, True))
    assert largest_error(kernel, operands, ours.outputs[0]) <= TOLERANCE["f32"]
    check_fewer_instructions(stock, ours, 1)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "kernel",
    [Convolution(1, 18, 18, 64, 128, 3, "i8"), Matmul(128, 128, 512, "i8")],
    ids=name_of,
)
def test_transposed_bytes_take_fewer_instructions_than_single_ones(kernel: Product) -> None:
    operands = random_operands(kernel)
    stock, ours = (emulate(kernel.source(), "gfx942", operands, each) for each in (None, False))
    assert ours.outputs[0].tobytes() == stock.outputs[0].tobytes()
    assert ours.counters[Counted.VALU] < 0.95 * stock.counters[Counted.VALU]


def test_an_edge_between_two_columns_keeps_them() -> None:
    kernel = Matmul(100, 131, 70, "f32")
    operands = random_operands(kernel)
    log = DecisionLog()
    stock, ours = (emulate(kernel.source(), "gfx942", operands, x, log) for x in (None, False))
    assert not any(each.action is Action.RENAME for each in log)
    assert ours.outputs[0].tobytes() == stock.outputs[0].tobytes()


@pytest.mark.nightly
def test_a_bias_of_columns_goes_along() -> None:
    (program,) = [each for each, _ in cases(["gfx942"], "^matmul_bias_relu_f16_128x128x64$")]
    operands = program.draw_inputs()
    stock, ours = (emulate(program.source, "gfx942", operands, each) for each in (None, False))
    assert ours.outputs[0].tobytes() == stock.outputs[0].tobytes()
    check_fewer_instructions(stock, ours, 0.3)


def test_rows_and_columns_of_one_result_are_renamed() -> None:
    sizes = {"m": 128, "n": 128, "k": 128}
    program = Contraction("", "f32", sizes, left="k m").program()
    operands = program.draw_inputs()
    log = DecisionLog()
    runs = [emulate(program.source, "gfx942", operands, each, log) for each in (None, False)]
    assert sum(each.action is Action.RENAME for each in log) == 2
    outputs = [run.outputs[0] for run in runs]
    assert outputs[1].tobytes() == outputs[0].tobytes()
    assert relative_error(outputs[1], *program.expected(operands)) < program.tolerance
    check_fewer_instructions(runs[0], runs[1], 0.75)


@pytest.mark.nightly
@pytest.mark.parametrize("site", [0, 1])
@pytest.mark.parametrize("reductions", [False, True])
def test_one_transfer_that_is_left_out_makes_the_result_wrong(
    monkeypatch: pytest.MonkeyPatch, site: int, reductions: bool
) -> None:
    """The two reads of an index that is summed over, or a read of columns and their write."""
    kernel = Matmul(128, 128, 128, "f32", transposed=reductions)
    operands = random_operands(kernel)
    right = emulate(kernel.source(), "gfx942", operands, reductions).outputs[0]
    assert largest_error(kernel, operands, right) <= TOLERANCE["f32"]

    class Forgetful(contraction_renaming.ContractionSearch):
        def finish(self, decisions: Any) -> None:
            merges = [decision.merged for decision in decisions]
            renamed = [each for each in self._sites if each.chosen(merges) is not None]
            assert len(renamed) == 2
            self._sites.remove(renamed[site])
            super().finish(decisions)

    monkeypatch.setattr(
        "bankwise.tuning.contractions.rename_contractions.ContractionSearch", Forgetful
    )
    wrong = emulate(kernel.source(), "gfx942", operands, reductions).outputs[0]
    assert largest_error(kernel, operands, wrong) > 1000 * TOLERANCE["f32"]
