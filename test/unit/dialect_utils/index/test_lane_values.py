# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lane-wise evaluation against plain Python that evaluates one lane and iteration at a time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

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
    existing_lanes,
    thread_ids,
)
from bankwise.dialect_utils.operations import operations_of

from ...functions import Parsed, parse

LAUNCH = Launch((5, 3, 2), 8)
LOOPS = ((1, 6, 2), (-2, 1, 1))
"""(lower, upper, step) of the two loops around the generated code."""


class Undefined(Exception):
    """The operation has no defined result in this lane."""


@dataclass(frozen=True)
class Point:
    """One lane in one iteration of each loop."""

    thread: int
    iterations: tuple[int, int]

    def leaf(self, name: str) -> int:
        dx, dy, _ = LAUNCH.workgroup_size
        return {
            "x": self.thread % dx,
            "y": self.thread // dx % dy,
            "z": self.thread // (dx * dy),
            "lane": self.thread % LAUNCH.subgroup_size,
            "wave": self.thread // LAUNCH.subgroup_size,
            "i": self.iterations[0],
            "j": self.iterations[1],
        }[name]


@dataclass(frozen=True)
class Expression:
    """MLIR text for an expression, and the same as a Python function of the point."""

    emit: Callable[[Emitter], str]
    run: Callable[[Point], int]


class Emitter:
    """Collects lines of MLIR and hands out names."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, text: str, results: int = 1) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name}{f':{results}' if results > 1 else ''} = {text}")
        return name


def wrapped(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return -quotient if (a < 0) != (b < 0) else quotient


def nonzero(divide: Callable[[int, int], int]) -> Callable[[int, int], int]:
    def checked(a: int, b: int) -> int:
        if b == 0:
            raise Undefined
        return divide(a, b)

    return checked


SIGNED: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "minsi": min,
    "maxsi": max,
    "divsi": nonzero(truncated),
    "remsi": nonzero(lambda a, b: a - b * truncated(a, b)),
    "floordivsi": nonzero(lambda a, b: a // b),
    "ceildivsi": nonzero(lambda a, b: -(-a // b)),
}
UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "divui": nonzero(lambda a, b: a // b),
    "remui": nonzero(lambda a, b: a % b),
    "ceildivui": nonzero(lambda a, b: -(-a // b)),
    "minui": min,
    "maxui": max,
}
PREDICATES: dict[str, tuple[bool, Callable[[int, int], bool]]] = {
    "eq": (False, lambda a, b: a == b),
    "ne": (False, lambda a, b: a != b),
    "slt": (False, lambda a, b: a < b),
    "sle": (False, lambda a, b: a <= b),
    "sgt": (False, lambda a, b: a > b),
    "sge": (False, lambda a, b: a >= b),
    "ult": (True, lambda a, b: a < b),
    "ule": (True, lambda a, b: a <= b),
    "ugt": (True, lambda a, b: a > b),
    "uge": (True, lambda a, b: a >= b),
}


def bits_of(kind: str) -> int:
    return 64 if kind == "index" else int(kind[1:])


def binary(kind: str, name: str, a: Expression, b: Expression) -> Expression:
    bits = bits_of(kind)
    mask = (1 << bits) - 1

    def run(point: Point) -> int:
        x, y = a.run(point), b.run(point)
        if name in SIGNED:
            return wrapped(SIGNED[name](x, y), bits)
        if name in UNSIGNED:
            return wrapped(UNSIGNED[name](x & mask, y & mask), bits)
        if y & mask >= bits:
            raise Undefined
        if name == "shli":
            return wrapped(x << y, bits)
        return wrapped(x >> y if name == "shrsi" else (x & mask) >> y, bits)

    return Expression(lambda e: e.add(f"arith.{name} {a.emit(e)}, {b.emit(e)} : {kind}"), run)


def comparison(
    kind: str, name: str, a: Expression, b: Expression, yes: Expression, no: Expression
) -> Expression:
    """Returns a compare and a select between two values."""
    unsigned, compare = PREDICATES[name]
    mask = (1 << bits_of(kind)) - 1

    def emit(e: Emitter) -> str:
        condition = e.add(f"arith.cmpi {name}, {a.emit(e)}, {b.emit(e)} : {kind}")
        return e.add(f"arith.select {condition}, {yes.emit(e)}, {no.emit(e)} : {kind}")

    def run(point: Point) -> int:
        x, y = a.run(point), b.run(point)
        if unsigned:
            x, y = x & mask, y & mask
        # Both sides are computed before either is selected.
        one, other = yes.run(point), no.run(point)
        return one if compare(x, y) else other

    return Expression(emit, run)


def cast(name: str, source: str, to: str, a: Expression) -> Expression:
    def run(point: Point) -> int:
        value = a.run(point)
        if name in ("extui", "index_castui"):
            value &= (1 << bits_of(source)) - 1
        return wrapped(value, bits_of(to))

    return Expression(lambda e: e.add(f"arith.{name} {a.emit(e)} : {source} to {to}"), run)


def affine(name: str, number: int, a: Expression, b: Expression) -> Expression:
    """Draws an affine.apply, min or max with all kinds of expressions."""
    # MLIR would divide a multiple of `number` out when it reads the map, which overflows elsewhere.
    results = [
        f"(d0 * 11 - s0) floordiv {number} + 7",
        f"(s0 + d0) mod {number}",
        f"d0 ceildiv {number} - s0 * {number}",
    ]
    chosen = results if name != "apply" else [results[number % 3]]

    def emit(e: Emitter) -> str:
        text = f"affine.{name} affine_map<(d0)[s0] -> ({', '.join(chosen)})>"
        return e.add(f"{text}({a.emit(e)})[{b.emit(e)}]")

    def run(point: Point) -> int:
        d, s = a.run(point), b.run(point)
        values = [
            wrapped(wrapped(wrapped(d * 11, 64) - s, 64) // number + 7, 64),
            wrapped(s + d, 64) % number,
            wrapped(-(-d // number) - wrapped(s * number, 64), 64),
        ]
        if name == "apply":
            return values[number % 3]
        return min(values) if name == "min" else max(values)

    return Expression(emit, run)


def delinearized(
    result: int, outer: bool, bases: tuple[int, int, int], a: Expression
) -> Expression:
    def emit(e: Emitter) -> str:
        listed = bases if outer else bases[1:]
        text = f"affine.delinearize_index {a.emit(e)} into ({', '.join(map(str, listed))})"
        return e.add(f"{text} : index, index, index", 3) + f"#{result}"

    def run(point: Point) -> int:
        value = a.run(point)
        _, middle, inner = bases
        return (value // (middle * inner), value // inner % middle, value % inner)[result]

    return Expression(emit, run)


def linearized(outer: bool, a: Expression, b: Expression, size: Expression) -> Expression:
    """Returns a linearize_index whose last base is a value."""

    def emit(e: Emitter) -> str:
        bases = f"{'3, ' if outer else ''}{size.emit(e)}"
        return e.add(f"affine.linearize_index [{a.emit(e)}, {b.emit(e)}] by ({bases}) : index")

    def run(point: Point) -> int:
        return wrapped(wrapped(a.run(point) * size.run(point), 64) + b.run(point), 64)

    return Expression(emit, run)


def leaf(name: str) -> Expression:
    return Expression(lambda e: f"%{name}", lambda point: point.leaf(name))


def number(kind: str, value: int) -> Expression:
    value = wrapped(value, bits_of(kind))
    return Expression(lambda e: e.add(f"arith.constant {value} : {kind}"), lambda point: value)


@st.composite
def expressions(draw: st.DrawFn, kind: str, depth: int) -> Expression:
    """Returns a random expression tree of the given type."""
    if depth == 0:
        if kind == "index" and draw(st.integers(0, 3)):
            return leaf(draw(st.sampled_from(["x", "y", "z", "lane", "wave", "i", "j"])))
        return number(kind, draw(st.integers(-9, 130)))
    operand = expressions(kind, depth - 1)
    forms = ["binary", "shift", "compare", "cast"]
    if kind == "index":
        forms += ["affine", "delinearize", "linearize"]
    form = draw(st.sampled_from(forms))
    if form == "binary":
        return binary(
            kind, draw(st.sampled_from([*SIGNED, *UNSIGNED])), draw(operand), draw(operand)
        )
    if form == "shift":
        amount = number(kind, draw(st.integers(0, bits_of(kind) - 1)))
        name = draw(st.sampled_from(["shli", "shrsi", "shrui"]))
        return binary(kind, name, draw(operand), draw(st.one_of(st.just(amount), operand)))
    if form == "compare":
        name = draw(st.sampled_from(list(PREDICATES)))
        return comparison(kind, name, *(draw(operand) for _ in range(4)))
    if form == "affine":
        name = draw(st.sampled_from(["apply", "min", "max"]))
        return affine(name, draw(st.integers(1, 9)), draw(operand), draw(operand))
    if form == "delinearize":
        bases = draw(st.tuples(*[st.integers(1, 9)] * 3))
        return delinearized(draw(st.integers(0, 2)), draw(st.booleans()), bases, draw(operand))
    if form == "linearize":
        return linearized(draw(st.booleans()), draw(operand), draw(operand), draw(operand))
    if kind == "index":
        narrow = draw(st.sampled_from(["i8", "i32"]))
        name = draw(st.sampled_from(["index_cast", "index_castui"]))
        return cast(name, narrow, kind, draw(expressions(narrow, depth - 1)))
    if kind == "i32" and draw(st.booleans()):
        name = draw(st.sampled_from(["extsi", "extui"]))
        return cast(name, "i8", kind, draw(expressions("i8", depth - 1)))
    if kind == "i8" and draw(st.booleans()):
        return cast("trunci", "i32", kind, draw(expressions("i32", depth - 1)))
    name = draw(st.sampled_from(["index_cast", "index_castui"]))
    return cast(name, "index", kind, draw(expressions("index", depth - 1)))


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


def evaluated(text: str) -> LaneValues | Unknown:
    """Returns the value of the last operation's first result in the innermost loop's body."""
    parsed = parse(text)
    innermost = parsed.operations("scf.for")[-1]
    *_, last, _ = operations_of(innermost.regions[0].blocks[0])
    return LaneEvaluator(LAUNCH).evaluate(last.results[0])


def known(*lines: str) -> LaneValues:
    """Returns the value of the last of these lines, which must be known."""
    value = evaluated(function_text(list(lines)))
    assert isinstance(value, LaneValues), value
    return value


def points() -> Iterator[tuple[tuple[int, int, int, int], Point]]:
    ranges = [range(*loop) for loop in LOOPS]
    lanes = LAUNCH.waves * LAUNCH.subgroup_size
    for (a, i), (b, j), t in itertools.product(
        enumerate(ranges[0]), enumerate(ranges[1]), range(lanes)
    ):
        yield (a, b, t // LAUNCH.subgroup_size, t % LAUNCH.subgroup_size), Point(t, (i, j))


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
@given(expression=expressions("index", 3))
def test_every_lane_and_iteration_equals_plain_python(expression: Expression) -> None:
    emitter = Emitter()
    name = expression.emit(emitter)
    emitter.add(f"arith.addi {name}, {name} : index")
    value = evaluated(function_text(emitter.lines))
    try:
        expected = {where: expression.run(point) for where, point in points()}
    except Undefined:
        assert isinstance(value, Unknown)
        return
    assert isinstance(value, LaneValues), value
    result = full(value)
    assert {w: int(result[w]) for w in expected} == {
        w: wrapped(2 * v, 64) for w, v in expected.items()
    }


@pytest.mark.parametrize("name", [*SIGNED, *UNSIGNED, "shli", "shrsi", "shrui"])
@pytest.mark.parametrize("kind", ["index", "i32", "i8"])
def test_every_operation_on_both_signs(kind: str, name: str) -> None:
    # Lanes hold -120, -83, ... 139 (which wraps as i8): multiples of nothing below.
    steps = binary("index", "muli", leaf("lane"), number("index", 37))
    left = binary("index", "subi", steps, number("index", 120))
    if kind != "index":
        left = cast("index_cast", "index", kind, left)
    shifts = name.startswith("sh")
    for right in (1, 5, 7) if shifts else (-7, -1, 1, 7, 120):
        expression = binary(kind, name, left, number(kind, right))
        emitter = Emitter()
        expression.emit(emitter)
        value = known(*emitter.lines)
        lanes = [expression.run(Point(lane, (0, 0))) for lane in range(8)]
        assert value.full(LAUNCH)[0].tolist() == lanes


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


def test_loop_carried_values_are_unknown() -> None:
    lines = ["%r = scf.for %k = %ilo to %iup step %iby iter_args(%a = %x) -> index {"]
    lines += ["%v = arith.addi %a, %k : index", "scf.yield %v : index }"]
    assert evaluated(function_text(lines)) == Unknown("value carried around an scf.for")


def test_long_chains_do_not_exhaust_the_stack() -> None:
    lines = ["%v0 = arith.addi %x, %iby : index"]
    lines += [f"%v{n} = arith.addi %v{n - 1}, %iby : index" for n in range(1, 3000)]
    value = known(*lines)
    assert value.full(LAUNCH)[0, 0] == 6000
