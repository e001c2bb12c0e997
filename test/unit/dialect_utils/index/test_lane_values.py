# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lane-wise evaluation against an evaluator of one lane and iteration at a time."""

from __future__ import annotations

import itertools
import re
from contextlib import suppress
from dataclasses import dataclass
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iree.compiler import ir

from bankwise.dialect_utils.gpu_target import Launch
from bankwise.dialect_utils.index.lane_values import (
    LaneEvaluator,
    LaneValues,
    Unknown,
    combine,
    constant,
    existing_lanes,
    thread_ids,
)
from bankwise.dialect_utils.loops import body_of
from bankwise.dialect_utils.operations import operations_of

from ...functions import Parsed, parse
from ...index_evaluator import BrokenPromiseError, UndefinedError, evaluate, signed, width_of
from ...index_programs import ARITHMETIC, DYNAMIC_BASES, index_programs

LAUNCH = Launch((5, 3, 2), 8)
LOOPS = ((1, 6, 2), (-2, 1, 1))
"""(lower, upper, step) of the two loops around the generated code."""


@dataclass(frozen=True)
class Point:
    """One lane in one iteration of each loop."""

    thread: int
    iterations: tuple[int, ...]

    def leaf(self, operation: ir.Operation) -> int:
        """Returns an id that an operation gives to this lane."""
        if operation.name == "gpu.lane_id":
            return self.thread % LAUNCH.subgroup_size
        if operation.name == "gpu.subgroup_id":
            return self.thread // LAUNCH.subgroup_size
        dx, dy, _ = LAUNCH.workgroup_size
        ids = (self.thread % dx, self.thread // dx % dy, self.thread // (dx * dy))
        return ids["xyz".index(str(operation.attributes["dimension"])[-2])]

    @property
    def place(self) -> tuple[int, ...]:
        """Returns where the lane stands in an array [iterations, iterations, waves, lanes]."""
        iterations = (range(*loop).index(i) for loop, i in zip(LOOPS, self.iterations, strict=True))
        return (*iterations, *divmod(self.thread, LAUNCH.subgroup_size))


POINTS = [
    Point(thread, iterations)
    for iterations in itertools.product(*(range(*loop) for loop in LOOPS))
    for thread in range(LAUNCH.waves * LAUNCH.subgroup_size)
]


def function_text(lines: list[str]) -> str:
    """Returns a function with the lane's ids and two loops around `lines`."""
    bounds = [
        f"%{name}{which} = arith.constant {value} : index"
        for name, loop in zip("ij", LOOPS, strict=True)
        for which, value in zip(("lo", "up", "by"), loop, strict=True)
    ]
    ids = [f"%{d} = gpu.thread_id {d}" for d in "xyz"]
    ids += ["%lane = gpu.lane_id", "%wave = gpu.subgroup_id : index"]
    return "\n".join(
        [
            "func.func @f(%unknown: index, %m: memref<8xindex>) {",
            *bounds,
            *ids,
            "scf.for %i = %ilo to %iup step %iby {",
            "scf.for %j = %jlo to %jup step %jby {",
            *lines,
            "} } return }",
        ]
    )


def last_of(parsed: Parsed) -> ir.Value:
    """Returns the last operation's first result in the innermost loop's body."""
    innermost = parsed.operations("scf.for")[-1]
    *_, last, _ = operations_of(body_of(innermost))
    return last.results[0]


def evaluated(text: str) -> LaneValues | Unknown:
    """Returns the value of what `last_of` a function is."""
    parsed = parse(text)
    return LaneEvaluator(LAUNCH).evaluate(last_of(parsed))


def at_point(parsed: Parsed, point: Point) -> int:
    """Returns what one lane has of what `last_of` a function is, by evaluating its operations."""
    loops, value = parsed.operations("scf.for"), last_of(parsed)
    leaves: dict[ir.Value, int] = {
        body_of(loop).arguments[0]: i for loop, i in zip(loops, point.iterations, strict=True)
    }
    for each in parsed.operations("gpu.thread_id", "gpu.lane_id", "gpu.subgroup_id"):
        leaves[each.results[0]] = point.leaf(each)
    return signed(evaluate(value, leaves), width_of(value, 64))


def known(*lines: str) -> LaneValues:
    """Returns the value of the last of these lines, which must be known."""
    value = evaluated(function_text(list(lines)))
    assert isinstance(value, LaneValues), value
    return value


def full(value: LaneValues) -> np.ndarray:
    """Returns both loops' iterations, [3, 3, waves, lanes], whichever the value depends on."""
    array = value.full(LAUNCH)
    depths = {loop.depth for loop in value.loops}
    shape = [len(range(*loop)) if d in depths else 1 for d, loop in enumerate(LOOPS)]
    iterations = [len(range(*loop)) for loop in LOOPS]
    return np.broadcast_to(
        array.reshape(*shape, *array.shape[-2:]), (*iterations, *array.shape[-2:])
    )


@settings(max_examples=150, deadline=None)
@given(
    body=index_programs(
        {"index": ["%x", "%y", "%z", "%lane", "%wave", "%i", "%j"]},
        st.integers(-9, 130),
        DYNAMIC_BASES,
    ),
    random=st.randoms(use_true_random=False),
)
def test_lanes_and_iterations_have_what_one_of_them_computes(body: str, random: Random) -> None:
    parsed = parse(function_text([body]))
    value = LaneEvaluator(LAUNCH).evaluate(last_of(parsed))
    if isinstance(value, Unknown):
        with pytest.raises(UndefinedError):
            for point in POINTS:
                at_point(parsed, point)
        return
    result = full(value)
    for point in random.sample(POINTS, 40):
        with suppress(BrokenPromiseError):
            assert result[point.place] == at_point(parsed, point)


@pytest.mark.sampled
@pytest.mark.parametrize("step", [text for steps in ARITHMETIC for _, text in steps])
def test_every_operation_on_both_signs(step: str) -> None:
    # Lanes hold -120, -83, ... 139 (which wraps as i8).
    (kind, *_) = re.findall(r"(\w+)\}", step)
    left = ["%index = affine.apply affine_map<(lane) -> (lane * 37 - 120)>(%lane)"]
    left += [f"%{kind} = arith.index_cast %index : index to {kind}"] if kind != "index" else []
    for right in (1, 5, 7) if "arith.sh" in step else (-9, -1, 1, 28, 120):
        operands = iter((f"%{kind}", "%right"))
        line = re.sub(r"\{.*?\}", lambda _, operands=operands: next(operands), step)
        lines = [f"%right = arith.constant {right} : {kind}", f"%v = {line}"]
        parsed = parse(function_text([*left, *lines]))
        value = LaneEvaluator(LAUNCH).evaluate(last_of(parsed))
        assert isinstance(value, LaneValues), value
        for lane, found in enumerate(value.full(LAUNCH)[0].tolist()):
            with suppress(BrokenPromiseError):
                assert found == at_point(parsed, Point(lane, (0, 0)))


def test_threads_fill_waves_x_first() -> None:
    ids = thread_ids(LAUNCH)
    assert ids.shape == (4, 8)
    assert ids[1, 3] == 11
    assert existing_lanes(LAUNCH).sum(axis=1).tolist() == [8, 8, 8, 6]


def test_thread_id_of_each_dimension() -> None:
    # Thread 11 of a 5 x 3 x 2 workgroup is (1, 2, 0), thread 29 is (4, 2, 1).
    for dimension, expected in (("x", (1, 4)), ("y", (2, 2)), ("z", (0, 1))):
        values = known(f"%t = gpu.thread_id {dimension}").full(LAUNCH)
        assert (values[1, 3], values[3, 5]) == expected


@pytest.mark.parametrize(
    ("line", "uniform"),
    [
        ("%v = gpu.block_dim y", 3),
        ("%v = gpu.num_subgroups : index", 4),
        ("%v = gpu.subgroup_size : index", 8),
        ("%v = arith.constant -3 : i8", -3),
        ("%v = arith.constant true", -1),
        ("%v = arith.constant 255 : i8", -1),
        ("%v = gpu.subgroup_broadcast %iby, first_active_lane : index", 2),
        ("%v = util.assume.int %iby<umin = 0, umax = 2> : index", 2),
    ],
)
def test_uniform_values(line: str, uniform: int) -> None:
    value = known(line)
    assert value.uniform == uniform


def test_index_hint_passes_its_operand() -> None:
    line = "%v = iree_codegen.index_hint %x(#iree_gpu.lane_constant<16>) : index"
    value = known(line)
    assert (value.full(LAUNCH) == thread_ids(LAUNCH) % 5).all()


def test_broadcast_of_a_value_of_the_wave() -> None:
    line = "%v = gpu.subgroup_broadcast %wave, first_active_lane : index"
    value = known(line)
    assert value.full(LAUNCH)[:, 0].tolist() == [0, 1, 2, 3]


def test_broadcast_from_a_given_lane() -> None:
    lines = ["%c = arith.constant 3 : i32"]
    lines += ["%v = gpu.subgroup_broadcast %x, specific_lane %c : index"]
    value = known(*lines)
    assert value.full(LAUNCH)[:, 7].tolist() == [3, 11 % 5, 19 % 5, 27 % 5]


def test_result_of_a_known_condition() -> None:
    lines = ["%c = arith.cmpi slt, %lane, %iup : index"]
    lines += ["%v = scf.if %c -> index { scf.yield %lane : index }"]
    lines += ["else { %n = arith.muli %lane, %iby : index scf.yield %n : index }"]
    value = known(*lines)
    assert value.full(LAUNCH)[0].tolist() == [0, 1, 2, 3, 4, 5, 12, 14]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["divsi", "floordivsi", "ceildivsi"])
def test_the_least_number_by_minus_one_wraps(name: str) -> None:
    lines = ["%least = arith.constant -9223372036854775808 : index"]
    lines += ["%minus = arith.constant -1 : index"]
    assert known(*lines, f"%v = arith.{name} %least, %minus : index").uniform == -(2**63)


def test_only_loops_that_matter_are_enumerated() -> None:
    value = known("%v = arith.addi %x, %j : index")
    assert [(loop.depth, loop.iterations) for loop in value.loops] == [(1, 3)]
    assert value.values.shape == (3, 4, 8)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["%v = arith.addi %unknown, %x : index"], "block argument of func.func"),
        (["%b = gpu.block_id x", "%v = arith.addi %x, %b : index"], "result of gpu.block_id"),
        (["%v = gpu.grid_dim x"], "result of gpu.grid_dim"),
        (["%v = memref.load %m[%x] : memref<8xindex>"], "result of memref.load"),
        (["%v = arith.divui %iby, %x : index"], "arith.divui by zero"),
        (["%v = arith.remsi %iby, %lane : index"], "arith.remsi by zero"),
        (
            ["%c = arith.constant 64 : index", "%v = arith.shli %x, %c : index"],
            "arith.shli by the width of its type or more",
        ),
        (
            ["%v = affine.apply affine_map<(d0)[s0] -> (d0 mod s0)>(%x)[%lane]"],
            "affine division by a number below 1",
        ),
        (
            ["%v:2 = affine.delinearize_index %x into (%lane) : index, index"],
            "affine.delinearize_index by a number below 1",
        ),
        (
            ["%v = gpu.subgroup_broadcast %x, first_active_lane : index"],
            "gpu.subgroup_broadcast of a value that differs between lanes",
        ),
        (["%v = arith.constant dense<1> : vector<4xindex>"], "value of type vector<4xindex>"),
        (["%v = arith.constant 1 : i128"], "value of type i128"),
    ],
)
def test_unknown_names_its_cause(lines: list[str], reason: str) -> None:
    value = evaluated(function_text(lines))
    assert value == Unknown(reason)


def nested(*lines: str) -> tuple[Parsed, ir.Operation]:
    """Returns the `scf.for` that `lines` hold, and the module that keeps it alive."""
    parsed = parse(function_text(list(lines)))
    return parsed, parsed.operations("scf.for")[2]


def test_loop_over_the_lanes_of_a_workgroup() -> None:
    # for k = lane; k < 6; k += 2: lane 0 runs for 0, 2, 4, lane 5 only for 5, lane 6 not at all.
    _module, loop = nested("scf.for %k = %lane to %iup step %iby {}")
    evaluator = LaneEvaluator(LAUNCH)
    assert isinstance(evaluator.trip_count(loop), Unknown)
    iterations = evaluator.loop_range(loop)
    assert not isinstance(iterations, Unknown)
    assert (iterations.loop.depth, iterations.loop.iterations) == (2, 3)
    assert iterations.running.full(LAUNCH)[:, 0].sum(axis=0).tolist() == [3, 3, 2, 2, 1, 1, 0, 0]
    assert iterations.induction.full(LAUNCH)[:, 0, 1].tolist() == [1, 3, 5]


def test_loop_with_bounds_of_an_outer_loop() -> None:
    # for i in (1, 3, 5): for k = i; k < 6; k += 2
    _module, loop = nested("scf.for %k = %i to %iup step %iby {}")
    iterations = LaneEvaluator(LAUNCH).loop_range(loop)
    assert not isinstance(iterations, Unknown)
    assert [(x.depth, x.iterations) for x in iterations.running.loops] == [(0, 3), (2, 3)]
    assert iterations.running.values[:, :, 0, 0].sum(axis=1).tolist() == [3, 2, 1]


def test_loop_that_never_runs() -> None:
    _module, loop = nested("scf.for %k = %iup to %ilo step %iby {}")
    assert LaneEvaluator(LAUNCH).trip_count(loop) == 0


def test_loop_with_a_step_below_one() -> None:
    _module, loop = nested("scf.for %k = %ilo to %iup step %jlo {}")
    expected = Unknown("scf.for with a step below 1")
    assert LaneEvaluator(LAUNCH).trip_count(loop) == expected
    assert LaneEvaluator(LAUNCH).loop_range(loop) == expected


def test_loop_too_long_to_enumerate_still_has_a_count() -> None:
    lines = ["%many = arith.constant 1000000000 : index"]
    lines += ["scf.for %k = %ilo to %many step %iby { %v = arith.addi %k, %x : index }"]
    value = evaluated(function_text(lines))
    assert isinstance(value, Unknown)
    _module, loop = nested(*lines)
    assert LaneEvaluator(LAUNCH).trip_count(loop) == 500000000


def turns(lower: str = "%ilo", step: str = "%iby") -> LaneValues | Unknown:
    """Returns which of three slots the second iteration from each of a long loop takes."""
    lines = ["%one = arith.constant 1 : index", "%three = arith.constant 3 : index"]
    lines += [f"scf.for %k = {lower} to %unknown step %iby {{"]
    lines += ["%b = arith.subi %k, %ilo : index", f"%t = arith.divui %b, {step} : index"]
    lines += ["%n = arith.addi %t, %one : index", "%v = arith.remui %n, %three : index }"]
    return evaluated(function_text(lines))


def test_slots_take_turns_in_a_loop_of_unknown_length() -> None:
    value = turns()
    assert not isinstance(value, Unknown)
    assert [(loop.depth, loop.iterations) for loop in value.loops] == [(2, 3)]
    assert value.values.flatten().tolist() == [1, 2, 0]


@pytest.mark.parametrize("other", [{"lower": "%lane"}, {"step": "%three"}])
def test_turns_that_differ_between_lanes_or_last_longer_are_unknown(other: dict[str, str]) -> None:
    assert turns(**other) == Unknown("block argument of func.func")


def test_loop_carried_values_are_unknown() -> None:
    lines = ["%r = scf.for %k = %ilo to %iup step %iby iter_args(%a = %x) -> index {"]
    lines += ["%v = arith.addi %a, %k : index", "scf.yield %v : index }"]
    assert evaluated(function_text(lines)) == Unknown("value carried around an scf.for")


def test_long_chains_do_not_exhaust_the_stack() -> None:
    lines = ["%v0 = arith.addi %x, %iby : index"]
    lines += [f"%v{n} = arith.addi %v{n - 1}, %iby : index" for n in range(1, 3000)]
    value = known(*lines)
    assert value.full(LAUNCH)[0, 0] == 6000


def test_what_is_combined_with_an_unknown_value_is_unknown() -> None:
    first, second = Unknown("first"), Unknown("second")
    assert combine(np.add, constant(1), first, second) is first
    assert LaneEvaluator(LAUNCH).element([4, 2], [10, 1], first) is first


def test_an_element_is_counted_from_where_the_buffer_begins() -> None:
    found = LaneEvaluator(LAUNCH).element([4, 2], [10, 1], constant(100))
    assert isinstance(found, LaneValues) and found.uniform == 142
