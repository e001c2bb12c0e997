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

def grow():
    other = ir.Operation.parse("func.func private @g()", context=function.context)
    ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]).insert(other)

beside = Beside(context)
context.log.add(Decision("one", "f", "", "", Action.KEEP, "before"))
beside.add_pass(function, Counts())
context.log.add(Decision("two", "f", "", "", Action.KEEP, "meanwhile"))
grow()
beside.add_pass(function, Counts())
context.log.add(Decision("three", "f", "", "", Action.KEEP, "later"))
grow()
beside.begin(function)
grow()
beside.settle()
print([each.reason for each in context.log], [each.message for each in said])
print(len(function.regions[0].blocks[0].operations))
beside.add_pass(function, Counts())
beside.drop(all_of_it=False)
beside.begin(function)
beside.settle()
print(len(context.log.decisions))
beside.add(function, lambda: 7, print, lasts=True)
beside.drop(all_of_it=False)
beside.begin(function)
beside.settle()

def lost(work):
    beside.add_pass(function, Counts())
    work()
    try:
        beside.settle()
    except Lost:
        print("lost", len(context.log.decisions))

def fails():
    beside.add_pass(function, Fails())
    beside.begin(function)

def no_fork():
    def no_more():
        raise BlockingIOError
    os.fork = no_more
    beside.begin(function)

lost(fails)
lost(lambda: None)
lost(no_fork)
beside.settle()
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
        "['before', '1 operations', 'meanwhile', '2 operations', 'later'] ['counted', 'counted']",
        *("4", "5", "7", "lost 5", "lost 5", "lost 5"),
    ]
