# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The clone of an index has the value that the index has for the replaced leaves."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iree.compiler import ir

from bankwise.dialect_utils.builders import Builder
from bankwise.dialect_utils.index.index_cloner import IndexCloner, is_index_arithmetic, is_uniform
from bankwise.dialect_utils.loops import body_of
from bankwise.dialect_utils.operations import defining_operation, is_inside, operations_in
from bankwise.test.unit.index_evaluator import evaluate

STEPS = (
    "%{n} = arith.addi {a}, {b} : index",
    "%{n} = arith.muli {a}, {b} : index",
    "%{n} = arith.xori {a}, {b} : index",
    "%{n} = arith.select %p, {a}, {b} : index",
    "%{n} = affine.apply affine_map<(x, y) -> (x * 3 + y floordiv 4)>({a}, {b})",
    "%{n} = affine.linearize_index [{a}, {b}] by (8, 16) : index",
    "%q{n}, %{n} = affine.delinearize_index {a} into (16) : index, index",
)
"""What the bodies of loops compute, of two earlier values."""

Program = list[tuple[int, int, int]]
programs: st.SearchStrategy[Program] = st.lists(
    st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 99), st.integers(0, 99)),
    min_size=1,
    max_size=12,
)


def loop_of(program: Program, context: ir.Context) -> tuple[ir.Module, ir.Operation]:
    """Returns a loop that computes the steps of a program and stores the last value."""
    values = ["%i", "%t", "%inner"]
    lines: list[str] = []
    for number, (step, left, right) in enumerate(program):
        a, b = values[left % len(values)], values[right % len(values)]
        lines.append(STEPS[step].format(n=f"v{number}", a=a, b=b))
        values.append(f"%v{number}")
        if step == len(STEPS) - 1:
            values.append(f"%qv{number}")
    body = "\n".join(lines)
    text = f"""
      func.func @f(%t: index, %p: i1, %m: memref<?xindex>) {{
        %c0 = arith.constant 0 : index
        %c5 = arith.constant 5 : index
        %c1 = arith.constant 1 : index
        scf.for %i = %c0 to %c5 step %c1 {{
          %inner = arith.constant 37 : index
          {body}
          memref.store {values[-1]}, %m[%c0] : memref<?xindex>
        }}
        return
      }}"""
    module = ir.Module.parse(text, context)
    (loop,) = operations_in(module.operation, "scf.for")
    return module, loop


def inputs_of(value: ir.Value) -> set[ir.Value]:
    """Returns the block arguments that a value is computed from."""
    operation = defining_operation(value)
    if operation is None:
        return {value}
    return {each for operand in operation.operands for each in inputs_of(operand)}


@settings(deadline=None, max_examples=60)
@given(program=programs, iteration=st.integers(0, 4), thread=st.integers(0, 63))
def test_the_clone_of_an_iteration_has_its_value(
    context: ir.Context, program: Program, iteration: int, thread: int
) -> None:
    module, loop = loop_of(program, context)
    function = loop.parent.operation
    lanes, condition, _ = function.regions[0].blocks[0].arguments
    induction = body_of(loop).arguments[0]
    (store,) = operations_in(loop, "memref.store")
    before = Builder.before(loop)
    other = before.index(iteration)

    def leaf(value: ir.Value) -> ir.Value | None:
        if value == induction:
            return other
        operation = defining_operation(value)
        return None if operation is not None and is_inside(operation, loop) else value

    clone = IndexCloner(before, leaf, shares=False).clone(store.operands[0])
    assert module.operation.verify()
    leaves = {lanes: thread, condition: thread % 2}
    wanted = evaluate(store.operands[0], {**leaves, induction: iteration})
    assert evaluate(clone, leaves) == wanted


@settings(deadline=None, max_examples=60)
@given(program=programs, thread=st.integers(0, 63), other=st.integers(0, 63))
def test_what_does_not_change_is_shared(
    context: ir.Context, program: Program, thread: int, other: int
) -> None:
    module, loop = loop_of(program, context)
    lanes, condition, _ = loop.parent.operation.regions[0].blocks[0].arguments
    induction = body_of(loop).arguments[0]
    (store,) = operations_in(loop, "memref.store")
    at = Builder.before(store)
    lane = at.index(other)
    existing = len(operations_in(loop))
    kept = {induction: induction, condition: condition, lanes: lane}
    clone = IndexCloner(at, kept.get).clone(store.operands[0])
    assert module.operation.verify()
    leaves = {induction: 3, condition: 1}
    wanted = evaluate(store.operands[0], {**leaves, lanes: other})
    assert evaluate(clone, {**leaves, lanes: thread}) == wanted
    stays = lanes not in inputs_of(store.operands[0])
    assert (clone == store.operands[0]) == stays
    assert len(operations_in(loop)) - existing <= (0 if stays else len(program))


def test_operations_of_several_results_are_cloned_once(context: ir.Context) -> None:
    module, loop = loop_of([(6, 0, 0), (0, 3, 4)], context)
    induction = body_of(loop).arguments[0]
    (store,) = operations_in(loop, "memref.store")
    at = Builder.before(store)
    IndexCloner(at, {induction: at.index(3)}.get).clone(store.operands[0])
    assert len(operations_in(loop, "affine.delinearize_index")) == 2
    assert len(operations_in(loop, "arith.addi")) == 2
    assert module.operation.verify()


@pytest.mark.parametrize(
    "promise",
    [
        "%h = iree_codegen.index_hint %t(#iree_gpu.lane_constant<16>) : index",
        "%o, %h = util.assume.int %s<umax = 3>, %t<umax = 4> : index, index",
    ],
)
def test_a_promise_need_not_be_true_of_the_clone(context: ir.Context, promise: str) -> None:
    text = f"func.func @f(%s: index, %t: index) -> index {{\n {promise}\n return %h : index }}"
    module = ir.Module.parse(text, context)
    name = promise.split(" = ")[1].split()[0]
    (operation,) = operations_in(module.operation, name)
    *_, thread = operation.operands
    at = Builder.after(operation)
    leaves = {each: at.index(number) for number, each in enumerate(operation.operands)}
    *_, promised = operation.results
    assert IndexCloner(at, leaves.get).clone(promised) == leaves[thread]
    assert len(operations_in(module.operation, name)) == 1


def test_a_leaf_may_forbid_the_clone(context: ir.Context) -> None:
    _, loop = loop_of([(0, 0, 1)], context)
    (store,) = operations_in(loop, "memref.store")
    existing = len(operations_in(loop))

    def leaf(value: ir.Value) -> ir.Value | None:
        if defining_operation(value) is None:
            raise LookupError
        return None

    with pytest.raises(LookupError):
        IndexCloner(Builder.before(store), leaf).clone(store.operands[0])
    assert len(operations_in(loop)) == existing


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("arith.addi %i, %i : index", True),
        ("affine.apply affine_map<(x) -> (x)>(%i)", True),
        ("affine.min affine_map<(x) -> (x, 4)>(%i)", True),
        ("util.assume.int %i<umin = 0> : index", True),
        ("gpu.thread_id x", False),
        ("memref.load %m[%i] : memref<8xindex>", False),
        ("affine.for %k = 0 to 4 iter_args(%x = %i) -> index { affine.yield %x : index }", False),
    ],
)
def test_index_arithmetic_follows_from_operands_alone(
    context: ir.Context, text: str, expected: bool
) -> None:
    function = f"func.func @f(%i: index, %m: memref<8xindex>) {{ %v = {text} \n return }}"
    module = ir.Module.parse(function, context)
    _, operation, *_ = operations_in(module.operation, "func.func", text.split()[0])
    assert is_index_arithmetic(operation) == expected


@pytest.mark.parametrize(
    ("begin", "uniform"), [("gpu.block_id x", True), ("gpu.thread_id x", False)]
)
def test_a_value_is_uniform_that_is_computed_of_uniform_ones(
    context: ir.Context, begin: str, uniform: bool
) -> None:
    """There are 2^2000 ways to the first value, and Python's stack is not so deep."""
    steps = [f"%{n + 1} = arith.addi %{n}, %{n} : index" for n in range(2000)]
    text = "\n".join(
        ["func.func @f() -> index {", f"%0 = {begin}", *steps, "return %2000 : index }"]
    )
    module = ir.Module.parse(text, context)
    (end,) = operations_in(module.operation, "func.return")
    assert is_uniform(end.operands[0]) == uniform
