# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes of ours are loaded while the compiler's run."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from iree.compiler import ir
from iree.compiler.passmanager import PassManager

from bankwise.iree_plugin.beside import Lost
from bankwise.iree_plugin.passes_ahead import PassesAhead
from bankwise.passes.pipeline_edit import NativePass, PassClass, PlannedPass

FUNCTION = "func.func @f(%a: i32) -> i32 { %b = arith.muli %a, %a : i32 return %a : i32 }"


@pytest.fixture
def function(context: ir.Context) -> Iterator[ir.Operation]:
    module = ir.Module.parse(FUNCTION, context)
    yield module.body.operations[0].operation


def planned(name: str) -> PlannedPass:
    return PlannedPass(PassClass(f"bankwise.{name}", "anything", "bankwise-anything"))


def run(ahead: PassesAhead, function: ir.Operation, text: str) -> None:
    ahead.run([PassManager.parse(f"func.func({text})", function.context)], function)


def test_a_pass_is_loaded_while_others_run(
    function: ir.Operation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "bankwise.tuning.retile_mode", raising=False)
    ahead = PassesAhead([NativePass("cse"), planned("tuning.retile_mode"), planned("passes.base")])
    assert ahead
    run(ahead, function, ",".join(["cse", "canonicalize"] * 20))
    assert "muli" not in str(function)
    assert "bankwise.tuning.retile_mode" in sys.modules
    assert not ahead


def test_what_cannot_be_loaded_is_left_to_whoever_needs_it(function: ir.Operation) -> None:
    ahead = PassesAhead([planned("not_there"), planned("passes.base")])
    run(ahead, function, "canonicalize")
    assert not ahead


def test_what_the_compiler_says_is_lost(
    function: ir.Operation, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Lost):
        run(PassesAhead([planned("not_there")]), function, "convert-func-to-spirv")
    assert capfd.readouterr() == ("", "")
