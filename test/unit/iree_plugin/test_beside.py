# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What only decides, in forks of a process of its own without other threads."""

from __future__ import annotations

import os
import subprocess
import sys

_PROGRAM = """
import os
from iree.compiler import ir
from bankwise.dialect_utils.diagnostics import DiagnosticSink
from bankwise.iree_plugin.beside import Beside, Lost
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
beside.drop(all_of_it=False)
beside.settle()
print(len(context.log.decisions))
beside.start(function, lambda: 7, print, lasts=True)
beside.drop(all_of_it=False)
beside.settle()
beside.start_pass(function, Fails())
try:
    beside.settle()
except Lost:
    print("lost")

def no_more():
    raise BlockingIOError
os.fork = no_more
print(beside.start_pass(function, Counts()))
beside.settle()
print(len(context.log.decisions))
"""


def test_decisions_come_where_the_pass_stands_and_failures_are_told() -> None:
    run = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert run.stderr == ""
    assert run.stdout.splitlines() == [
        "['before', '1 operations', 'meanwhile'] ['counted']",
        *("3", "7", "lost", "False", "3"),
    ]
