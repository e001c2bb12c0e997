# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""iree_plugin/replay: the compiler's passes run on functions, and what they report is passed on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from iree.compiler import ir
from iree.compiler.api import Session

from bankwise.dialect_utils.operations import children, operations_in
from bankwise.iree_plugin.replay import NativeFailure, PassRunner, RecoverableFailure
from bankwise.passes.base import PassContext
from bankwise.passes.pipeline_edit import NativePass
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
    assert len(runner.managers) == (not runner.flagged)


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
