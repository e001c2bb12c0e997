# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the PTX of compiled attentions reads the Q that registers cannot hold."""

from __future__ import annotations

import re

import pytest

from bankwise import PipelineEdit
from bankwise import compile as compile_mlir
from bankwise.passes.decisions import Action, Decision, DecisionLog
from bankwise.sweep.cases import target_flags
from bankwise.sweep.swept_kernels import Attention
from bankwise.tuning.fragments.reload_operands import ReloadOperands

READ = re.compile(r"^\tldmatrix\.", re.MULTILINE)
SCALE = re.compile(r"^\t(?:mul|fma)\.rn\.b?f16", re.MULTILINE)


def compiled(
    kernel: Attention, level: str, *edits: PipelineEdit
) -> tuple[str, str, list[Decision]]:
    """Returns the PTX before a kernel's longest loop, that of the loop, and reloading decisions."""
    log = DecisionLog()
    module = compile_mlir(
        kernel.source(), target_flags("sm_80"), f"auto/{level}/off", decisions=log, edits=edits
    )
    code = module.decode("latin-1")
    labels = {match[1]: match.start() for match in re.finditer(r"^(\$\w+):", code, re.MULTILINE)}
    loops = [
        (labels[match[1]], match.start())
        for match in re.finditer(r"\bbra(?:\.uni)?\s+(\$\w+)", code)
        if labels.get(match[1], match.start()) < match.start()
    ]
    begin, end = max(loops, key=lambda loop: loop[1] - loop[0])
    reloads = [each for each in log if each.action is Action.RELOAD]
    return code[:begin], code[begin:end], reloads


@pytest.mark.sampled
@pytest.mark.parametrize(("dtype", "level"), [("f16", "exact"), ("bf16", "fast")])
def test_a_q_that_registers_cannot_hold_is_read_in_the_loop(dtype: str, level: str) -> None:
    # A warp has 16 rows of 128 elements of Q, which are 32 registers of a lane.
    kernel = Attention(1, 256, 128, dtype)
    few = PipelineEdit.replace(ReloadOperands.name, ReloadOperands(most_registers=100))
    before, loop, reloads = compiled(kernel, level, few)
    before_held, loop_held, no_reloads = compiled(kernel, level)
    assert len(READ.findall(before_held)) == 8
    assert not READ.findall(before)
    assert len(READ.findall(loop)) == len(READ.findall(loop_held)) + 8
    # Q is scaled before the loop in both: as it is read, and as it is stored.
    assert len(SCALE.findall(before)) == len(SCALE.findall(before_held)) == 32
    assert len(SCALE.findall(loop)) == len(SCALE.findall(loop_held))
    (decision,) = reloads
    assert not no_reloads
    assert decision.allocation == f"memref<8192x{dtype}>"
    assert decision.detail == "8 reads in every iteration"
