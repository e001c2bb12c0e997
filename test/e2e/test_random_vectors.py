# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels of vectors, whose registers are renamed, against stock and against NumPy.

At `exact` the outputs are stock's, bit by bit. At `fast` they are within the error that sums in f32
may have in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from bankwise.bench.program_families.attention import Attention
from bankwise.bench.program_families.program import Program as WholeProgram
from bankwise.bench.program_families.program import largest_error
from bankwise.emulator.counters import Counted
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.runtime.emulated_run import EmulatedRun, run_emulated
from bankwise.sweep.cases import target_flags

from .random_vectors import (
    Combine,
    Cut,
    Load,
    Product,
    Program,
    Reduce,
    Restage,
    Scale,
    Space,
    Split,
    Spread,
    Turn,
    expected,
    input_arrays,
    programs,
    render,
)

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@dataclass(frozen=True)
class Renamed:
    """How many classes of dimensions were renamed at each level."""

    exact: int
    fast: int


def run(program: Program, mode: str, log: DecisionLog | None = None) -> EmulatedRun:
    flags = target_flags(program.chip)
    return run_emulated(render(program), flags, mode, input_arrays(program), decisions=log)


def renamed_in(log: DecisionLog) -> int:
    return sum(decision.action is Action.RENAME for decision in log)


def check(program: Program) -> Renamed:
    """Compares the outputs of a program at all levels."""
    exact_log, fast_log = DecisionLog(), DecisionLog()
    stock = run(program, "stock")
    exact = run(program, "auto/exact", exact_log)
    fast = run(program, "auto/fast", fast_log)
    known = expected(program, input_arrays(program))
    assert len(known) == len(stock.outputs)
    for plain, same, near, right in zip(
        stock.outputs, exact.outputs, fast.outputs, known, strict=True
    ):
        assert plain.tobytes() == same.tobytes()
        for output in (plain, near):
            wrong = np.abs(output.astype(np.float64) - right.value) - right.bound
            assert wrong.max() <= 0
    if renamed_in(exact_log):
        # An access that a layout splits to avoid conflicts is two instructions, and fewer cycles.
        saved = stock.counters[Counted.LDS_CYCLES] - exact.counters[Counted.LDS_CYCLES]
        assert saved > 0 or exact.counters[Counted.LDS] <= stock.counters[Counted.LDS]
    return Renamed(renamed_in(exact_log), renamed_in(fast_log))


# Programs that are known to be worth a look.

ROWS = Split(batch=4, lane=4, lane_stride=16)
COLUMNS = Split(batch=4, lane=16, lane_stride=1)
"""Lane l holds l, l + 16, l + 32, l + 48: the columns of an operand."""
SPACE: Space = {"m": Split(batch=16), "n": COLUMNS, "k": ROWS}
SUMMED: Space = {
    "m": Split(lane=4, lane_stride=16, batch=4),
    "n": Split(batch=16),
    "k": COLUMNS,
}
OTHER: Space = {
    "m": Split(lane=4, lane_stride=16, batch=4),
    "n": Split(batch=4, lane=4, lane_stride=1),
    "k": Split(batch=16, lane=4, lane_stride=4),
}

TILE = Load(("k", "n"), ("k", "n"), copied=8)
PLAIN = Program("gfx942", "f16", 1, (SPACE,), 2, (TILE,), (0,))
OF_SUMS = Load(("m", "k"), ("m", "k"), copied=8)

KNOWN: Mapping[str, tuple[Program, Renamed]] = {
    "columns": (PLAIN, Renamed(1, 1)),
    "columns that are read turned": (
        replace(PLAIN, body=(replace(TILE, dims=("n", "k")),)),
        Renamed(1, 1),
    ),
    "columns that are turned, scaled, and met by a row": (
        replace(
            PLAIN,
            body=(
                TILE,
                Load(("n",), ("n",), copied=2),
                Spread(1, "k"),
                Combine("mulf", 0, 2),
                Turn(3),
                Scale(4, 2.0),
                Scale(1, 2.0),
            ),
            sums=(5, 6),
        ),
        Renamed(1, 1),
    ),
    "columns behind a mask": (
        replace(PLAIN, body=(TILE, Turn(0), Cut(1, 21)), sums=(2,)),
        Renamed(0, 0),
    ),
    "columns that are not all there": (
        replace(PLAIN, body=(replace(TILE, missing=13),)),
        Renamed(1, 1),
    ),
    "columns that meet masked ones from global memory": (
        replace(
            PLAIN,
            body=(TILE, Load(("k", "n"), ("k", "n"), missing=21), Combine("addf", 0, 1)),
            sums=(2,),
        ),
        Renamed(0, 0),
    ),
    "a sum along the columns": (
        replace(PLAIN, element="f32", spaces=(SUMMED,), body=(OF_SUMS, Reduce(0, "k")), sums=(1,)),
        Renamed(0, 1),
    ),
    "a sum along the rows": (
        replace(PLAIN, body=(TILE, Reduce(0, "k")), sums=(1,), epilogue=(Spread(0, "m"),)),
        Renamed(1, 1),
    ),
    "a product": (
        replace(
            PLAIN,
            spaces=(SUMMED,),
            body=(OF_SUMS, Load(("k", "n"), ("n", "k"), copied=4, turned=True), Product(0, 1)),
            sums=(2,),
        ),
        Renamed(0, 1),
    ),
    "a product of a product in other lanes": (
        replace(
            PLAIN,
            spaces=(OTHER, {"m": OTHER["m"], "n": OTHER["n"], "k": COLUMNS}),
            body=(
                Load(("m", "n"), ("m", "n"), copied=8),
                Load(("n", "k"), ("n", "k"), copied=8),
                Product(0, 1),
                Restage(2, 1),
                Reduce(3, "k", "maximumf"),
                Spread(4, "k"),
                Turn(5),
                Combine("subf", 3, 6),
            ),
            sums=(7,),
        ),
        Renamed(1, 3),
    ),
}


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize(("program", "renamed"), KNOWN.values(), ids=KNOWN.keys())
def test_known_programs_are_renamed_as_far_as_they_may(program: Program, renamed: Renamed) -> None:
    assert check(program) == renamed


@pytest.mark.nightly
@settings(max_examples=200, derandomize=True, deadline=None, suppress_health_check=SLOW)
@given(programs())
def test_random_vectors(program: Program) -> None:
    renamed = check(program)
    event(f"renamed at exact: {renamed.exact > 0}, at fast: {renamed.fast > 0}")


@st.composite
def attentions(draw: st.DrawFn) -> Attention:
    """Attentions with transposed operands, odd sizes, and masks."""
    dtype = draw(st.sampled_from(["f16", "bf16", "f32"]))
    head = draw(st.sampled_from([32, 64, 64, 128]))
    sizes = {"b": draw(st.integers(1, 2)), "m": draw(st.sampled_from([64, 128, 77, 96]))}
    sizes |= {"n": draw(st.sampled_from([head, 64])), "k1": head}
    sizes["k2"] = draw(st.sampled_from([64, 128, 192, 100]))
    masked = dtype != "bf16" and draw(st.booleans())
    return Attention(
        "attention",
        dtype,
        sizes,
        key=draw(st.sampled_from(["b k2 k1", "b k2 k1", "b k1 k2"])),
        value=draw(st.sampled_from(["b k2 n", "b k2 n", "b n k2"])),
        output=draw(st.sampled_from(["b m n", "b m n", "b n m"])),
        mask="m k2" if masked else "",
        mask_dtype=dtype,
    )


def check_attention(program: WholeProgram, chip: str) -> int:
    """Compares the outputs at all levels; returns how many classes `exact` renames."""
    inputs = program.draw_inputs()
    log = DecisionLog()

    def outputs(mode: str, decisions: DecisionLog | None = None) -> EmulatedRun:
        flags = target_flags(chip)
        return run_emulated(program.source, flags, mode, inputs, decisions=decisions)

    stock, fast = outputs("stock"), outputs("auto/fast")
    exact = outputs("auto/exact", log)
    assert stock.outputs[0].tobytes() == exact.outputs[0].tobytes()
    (right,) = program.expected(inputs)
    for each in (stock, fast):
        assert largest_error(each.outputs[0], right) <= program.tolerance
    return renamed_in(log)


PARTIAL = Attention("partial", "f16", {"b": 1, "m": 77, "n": 64, "k1": 64, "k2": 100}, mask="m k2")


@pytest.mark.nightly
def test_an_attention_with_masks_and_partial_tiles() -> None:
    check_attention(PARTIAL.program(), "gfx942")


@pytest.mark.nightly
@settings(max_examples=40, derandomize=True, deadline=None, suppress_health_check=SLOW)
@given(attentions(), st.sampled_from(["gfx942", "gfx950"]))
def test_random_attentions(attention: Attention, chip: str) -> None:
    event(f"renamed at exact: {check_attention(attention.program(), chip) > 0}")
