# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs of the kinds that IREE 3.13 computes wrongly, on the emulator."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.bench.random_kinds.generic_convolutions import Convolution
from bankwise.bench.random_kinds.kinds import AMD, KINDS
from bankwise.bench.random_programs import Row, cases

from .program_runs import run_program

EMULATED = [kind for kind, each in KINDS.items() if {*each.targets} & {*AMD}]
PROGRAMS = 30
"""How many programs of a kind run by night; `bench/random_programs.py` runs hundreds."""


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(PROGRAMS))
@pytest.mark.parametrize("kind", EMULATED)
def test_all_levels_are_right(kind: str, seed: int) -> None:
    (case,) = cases([kind], AMD, 1, seed)
    row = Row.measure(case)
    assert row.error
    assert row.faults == []


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        *[("large_heads", 1), ("top_k", 3), ("grouped", 39), ("extremes", 0)],
        *[("integer_rows", 54), ("stable_sorts", 0), ("small_products", 3)],
        *[("padded_functions", 12), ("begun_products", 7)],
    ],
)
def test_what_was_wrong_is_right(kind: str, seed: int) -> None:
    program = KINDS[kind].program(kind, seed)
    run = run_program(program, "gfx942", "auto/layout")
    for output, right in zip(run.run.outputs, program.expected(run.inputs), strict=True):
        assert np.abs(output.astype(float) - right).max() <= program.tolerance * np.abs(right).max()


def test_programs_are_the_same_each_time() -> None:
    for kind, known in KINDS.items():
        one, other = (known.program(kind, 5) for _ in range(2))
        assert one.source == other.source
        for first, second in zip(one.draw_inputs(), other.draw_inputs(), strict=True):
            assert first.tobytes() == second.tobytes()


def test_a_row_says_what_is_wrong() -> None:
    modes = {"auto/layout": 0.5, "auto/exact": 0.0, "auto/fast": float("inf")}
    seconds = {"auto/layout": 1.0, "auto/exact": 9.0, "stock": 1.0}
    row = Row("grouped_7", "gfx942", tolerance=0.1, error=modes, seconds=seconds)
    assert row.kind == "grouped"
    assert row.faults == [
        "auto/layout is wrong by 5.00e-01",
        "auto/fast is wrong by inf",
        "auto/exact compiles in 9.0 s, stock in 1.0 s",
    ]
    failing = {"auto/fast": "CompileError: no\nmore", "stock": "CompileError: no"}
    assert Row("grouped_7", "gfx942", errors=failing).uncompiled == []
    del failing["stock"]
    assert Row("grouped_7", "gfx942", errors=failing).faults == [
        "auto/fast fails: CompileError: no"
    ]


def test_filters_have_each_of_24_orders() -> None:
    drawn = (Convolution.of_all_orders(np.random.default_rng(seed)) for seed in range(400))
    assert len({(each.window, each.image.strip("n")) for each in drawn}) == 48
