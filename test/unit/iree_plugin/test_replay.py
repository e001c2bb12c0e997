# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""iree_plugin/replay: the compiler's passes run on functions, and what they report is passed on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from iree.compiler import ir
from iree.compiler.api import Session

from bankwise.dialect_utils.diagnostics import DiagnosticSink, PassFailure, Refusal
from bankwise.dialect_utils.operations import children, operations_in
from bankwise.iree_plugin.beside import Beside
from bankwise.iree_plugin.embedding import Lost
from bankwise.iree_plugin.replay import (
    IrPrinting,
    NativeFailure,
    PassRunner,
    RecoverableFailure,
    ReplayError,
)
from bankwise.passes.base import FunctionPass, PassContext
from bankwise.passes.decisions import Action, Decision
from bankwise.passes.pipeline_edit import NativePass, PassClass, PlannedPass
from bankwise.passes.swizzles.flatten_swizzle_hints import FlattenSwizzleHints

SOURCE = """
func.func @twice(%n: index) -> index {
  %0 = arith.addi %n, %n : index
  %1 = arith.addi %n, %n : index
  %2 = arith.muli %0, %1 : index
  return %2 : index
}
func.func @dynamic(%n: index) -> f32 {
  %m = memref.alloc(%n) : memref<?xf32, #gpu.address_space<workgroup>>
  %x = memref.load %m[%n] : memref<?xf32, #gpu.address_space<workgroup>>
  return %x : f32
}
func.func @again(%n: index) -> index {
  %0 = arith.addi %n, %n : index
  %1 = arith.addi %n, %n : index
  %2 = arith.muli %0, %1 : index
  return %2 : index
}
"""
PASSES = [
    NativePass("cse"),
    NativePass("canonicalize"),
    NativePass("iree-codegen-gpu-check-resource-usage"),
]
REASON = "'memref.alloc' op has unsupported dynamic shared memory allocations"
BLAMED = FlattenSwizzleHints()


@pytest.fixture(params=[False, True], ids=["kept managers", "invocations"])
def runner(request: pytest.FixtureRequest) -> Iterator[PassRunner]:
    found = PassRunner(Session(), PassContext(), flagged=request.param)
    yield found
    found.managers.clear()


def parsed(runner: PassRunner) -> ir.Module:
    return ir.Module.parse(SOURCE, runner.session.context)


@pytest.mark.parametrize("blamed", [None, BLAMED])
def test_equal_passes_run_on_every_function(runner: PassRunner, blamed: FlattenSwizzleHints | None):
    module = parsed(runner)
    for function in children(module.operation)[::2]:
        runner.run_native_passes(function, PASSES, blamed)
        assert len(operations_in(function, "arith.addi")) == 1
    # The canonicalizer of all pipelines has one of its own.
    assert [*runner.managers] == (
        [] if runner.flagged else [f"func.func({each})" for each in PASSES]
    )


def test_a_failure_is_reported_and_other_functions_go_on(
    runner: PassRunner, capfd: pytest.CaptureFixture[str]
):
    module = parsed(runner)
    first, failing, last = children(module.operation)
    runner.run_native_passes(first, PASSES)
    with pytest.raises(NativeFailure) as failed:
        runner.run_native_passes(failing, PASSES)
    failed.value.emit()
    assert REASON.split(" op ")[1] in capfd.readouterr().err
    runner.run_native_passes(last, PASSES)
    assert len(operations_in(last, "arith.addi")) == 1


def test_a_failure_that_a_pass_is_blamed_for_is_not_printed(
    runner: PassRunner, capfd: pytest.CaptureFixture[str]
):
    module = parsed(runner)
    _, failing, last = children(module.operation)
    with pytest.raises(RecoverableFailure) as raised:
        runner.run_native_passes(failing, PASSES, BLAMED)
    assert raised.value.failure.message == REASON
    assert raised.value.step is BLAMED
    runner.run_native_passes(last, PASSES, BLAMED)
    assert capfd.readouterr().err == ""


class Nowhere(FunctionPass):
    """Says neither where it fails nor a text."""

    name, summary = "nowhere", "fails"

    def run(self, function: ir.Operation, context: PassContext) -> None:
        raise PassFailure(None, ValueError("no more"))  # pyright: ignore[reportArgumentType]


class Refusing(FunctionPass):
    """Lets a refusal out."""

    name, summary = "refusing", "refuses"

    def run(self, function: ir.Operation, context: PassContext) -> None:
        raise Refusal("it is odd")


@pytest.mark.parametrize(
    ("step", "message"), [(Nowhere(), "no more"), (Refusing(), "refusing: it is odd")]
)
def test_a_failure_without_a_place_and_a_refusal_are_failures_of_the_function(
    runner: PassRunner, capfd: pytest.CaptureFixture[str], step: FunctionPass, message: str
) -> None:
    function = children(parsed(runner).operation)[0]
    with pytest.raises(ReplayError):
        runner.run_python_pass(function, step)
    assert f":2:1): error: {message}" in capfd.readouterr().err
    with pytest.raises(RecoverableFailure) as recoverable:
        runner.run_python_pass(function, step, recoverable=True)
    assert recoverable.value.failure.message == message


def test_a_pass_that_no_function_does_without_may_fail_on_what_another_one_has_made(
    runner: PassRunner, capfd: pytest.CaptureFixture[str]
):
    function, *_ = children(parsed(runner).operation)
    with pytest.raises(RecoverableFailure):
        runner.run(function, [Refusing()], blamed=BLAMED)
    assert capfd.readouterr().err == ""
    with pytest.raises(ReplayError):
        runner.run(function, [Refusing()])
    assert "it is odd" in capfd.readouterr().err


class Counting(FunctionPass):
    """Changes a function, and counts for what it decides."""

    name, summary = "counting", "marks functions"

    def mostly_counts(self, function: ir.Operation, context: PassContext) -> bool:
        return context.explains

    def run(self, function: ir.Operation, context: PassContext) -> None:
        function.attributes["marked"] = ir.UnitAttr.get(function.context)
        context.log.add(Decision(self.name, "twice", "", "", Action.KEEP, "counted"))
        context.sink.warning(function.location, "counted")


class OtherProcess(Beside):
    """Stands for one that takes passes."""

    def add_pass(self, function: ir.Operation, step: FunctionPass) -> None:
        assert "marked" not in function.attributes


def test_what_fails_without_being_verified_one_by_one_is_to_be_done_again() -> None:
    runner = PassRunner(Session(), PassContext())
    with runner.session.context, ir.Location.unknown():
        module = ir.Module.parse(SOURCE)
        twice, dynamic, again = children(module.operation)
        none = ir.TypeAttr.get(ir.FunctionType.get([ir.IndexType.get()], []))
        again.attributes["function_type"] = none
        for function in (dynamic, again):
            with pytest.raises(NativeFailure):
                runner.run(function, PASSES)
        runner.each_verified = False
        for function in (dynamic, again):
            with pytest.raises(Lost):
                runner.run(function, PASSES)
        runner.run(twice, PASSES)
    runner.managers.clear()


@pytest.mark.parametrize(("takes", "explains"), [(True, True), (False, True), (True, False)])
def test_what_a_pass_decides_beside_it_does_not_decide_here(
    runner: PassRunner, takes: bool, explains: bool
):
    said: list[str] = []
    runner.context = PassContext(DiagnosticSink(lambda each: said.append(each.message)))
    runner.context.explains = explains
    runner.beside = OtherProcess(runner.context) if takes else None
    module = parsed(runner)
    (function, *_) = children(module.operation)
    runner.run(function, [Counting()])
    assert "marked" in function.attributes
    here = 0 if takes and explains else 1
    assert len(runner.context.log.decisions) == len(said) == here


class LoseArgument(FunctionPass):
    name, summary = "lose-argument", "make a function that its type does not fit"

    def run(self, function: ir.Operation, context: PassContext) -> None:
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([], []))


class SeeInvalid(FunctionPass):
    name, summary = "see-invalid", "look at what is not verified yet"

    def run(self, function: ir.Operation, context: PassContext) -> None:
        with pytest.raises(ir.MLIRError):
            function.verify()


PLANNED = [PlannedPass.of(PassClass.of(kind), {}) for kind in (LoseArgument, SeeInvalid)]


def test_passes_behind_each_other_are_verified_together(
    runner: PassRunner, capfd: pytest.CaptureFixture[str]
) -> None:
    module = parsed(runner)
    function = children(module.operation)[0]
    with runner.session.context, pytest.raises(ReplayError, match="lose-argument, see-invalid"):
        runner.run(function, [*PLANNED, NativePass("cse")])
    assert "entry block must have 0 arguments" in capfd.readouterr().err


def test_a_pass_from_outside_is_verified_alone(runner: PassRunner) -> None:
    module = parsed(runner)
    function = children(module.operation)[0]
    with runner.session.context, pytest.raises(ReplayError, match=r"^lose-argument failed"):
        runner.run(function, [LoseArgument(), *PLANNED])


def test_where_the_ir_is_shown_each_pass_is_verified(runner: PassRunner) -> None:
    module = parsed(runner)
    function = children(module.operation)[0]
    runner.printing = IrPrinting(after=frozenset({"see-invalid"}))
    with runner.session.context, pytest.raises(ReplayError, match=r"^lose-argument failed"):
        runner.run(function, PLANNED)


def test_operations_of_other_kinds_have_other_managers(runner: PassRunner) -> None:
    text = "util.func private @f() { util.return } func.func private @g() { return }"
    module = ir.Module.parse(text, runner.session.context)
    for function in children(module.operation):
        runner.run_native_passes(function, [NativePass("canonicalize")])
    assert len(runner.managers) == (0 if runner.flagged else 2)
