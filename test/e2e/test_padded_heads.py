# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions whose heads are copied to longer rows, whatever is predicted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bankwise.bench.gpu.timed_sets import model_attention
from bankwise.bench.program_families.attention import Attention
from bankwise.iree_plugin.python_compile import compile
from bankwise.passes.decisions import Action
from bankwise.sweep.cases import target_flags
from bankwise.tuning.programs.pad_heads import PadHeads

from .program_runs import run_again

FAST = "auto/fast/on"


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    ("attention", "multiple"),
    [
        (model_attention(2, 40, 75, keys=60), 8),
        (model_attention(1, 33, 33, "bf16", keys=70), 16),
        (model_attention(1, 32, 35, keys=64, columns=21), 8),
        (model_attention(1, 32, 27, keys=64, mask="f16"), 8),
        (model_attention(4, 8, 21, keys=64, group=2), 8),
        (replace(model_attention(2, 24, 43, keys=48), value="b n k2"), 8),
        (replace(model_attention(2, 24, 43, keys=48), output="m b n", key="k2 b k1"), 8),
    ],
)
def test_outputs_are_those_of_the_heads(attention: Attention, multiple: int) -> None:
    ran = run_again(attention.program(), "gfx942", FAST, changing=[PadHeads(multiple=multiple)])
    copied = any(each.action is Action.COPY_HEADS for each in ran.log)
    assert copied == (attention.value != "b n k2")
    assert ran.error < ran.program.tolerance


@pytest.mark.nightly
def test_a_compile_at_fast_makes_two_kernels_more_of_many_threads() -> None:
    source = model_attention(24, 2048, 75, keys=2048).program().source
    code = compile(source, target_flags("sm_80"), "auto/fast")
    assert code.count(b".visible .entry") == 3
    # Eight rows of 40 pairs of elements, and 512 elements of the output.
    assert b".maxntid 320, 1, 1" in code
    assert code.count(b".maxntid 256, 1, 1") >= 1
