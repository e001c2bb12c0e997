# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What only decides, in forks of a process of its own without other threads."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
from iree.compiler import ir
from bankwise.dialect_utils.diagnostics import DiagnosticSink
from bankwise.iree_plugin.embedding import StepError
from bankwise.iree_plugin.beside import Beside
from bankwise.passes.base import FunctionPass, PassContext
from bankwise.passes.decisions import Action, Decision

class Counts(FunctionPass):
    name, summary = "counts", "counts operations"

    def run(self, function, context):
        number = len(function.regions[0].blocks[0].operations)
        decision = Decision(self.name, "f", "", "", Action.STOCK, f"{number} operations")
        context.log.add(decision)
        context.sink.remark(function.location, "counted")

class Fails(Counts):
    name = "fails"

    def run(self, function, context):
        raise KeyError

said = []
context = PassContext(DiagnosticSink(said.append, remarks=True))
module = ir.Module.parse("func.func @f() { return }", ir.Context())
function = module.body.operations[0].operation
beside = Beside(context)
context.log.add(Decision("one", "f", "", "", Action.KEEP, "before"))
beside.start_pass(function, Counts())
context.log.add(Decision("two", "f", "", "", Action.KEEP, "meanwhile"))
other = ir.Operation.parse("func.func private @g()", context=function.context)
ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]).insert(other)
beside.settle()
print([each.reason for each in context.log], [each.message for each in said])
beside.start_pass(function, Counts())
beside.drop()
beside.settle()
print(len(context.log.decisions))
beside.start_pass(function, Fails())
try:
    beside.settle()
except StepError as error:
    print(error)
"""


def test_decisions_come_where_the_pass_stands_and_failures_are_said() -> None:
    run = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True)
    assert run.stdout.splitlines() == [
        "['before', '1 operations', 'meanwhile'] ['counted']",
        "3",
        "fails failed in a process of its own; with --bankwise-dump-ir it says why",
    ]
    assert "error: fails failed in a process of its own" in run.stderr
