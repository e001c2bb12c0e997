# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The PTX of compiled kernels copies later tiles while products run, and nothing else changes."""

from __future__ import annotations

import re

import pytest

from bankwise import PipelineEdit
from bankwise import compile as compile_mlir
from bankwise.passes.accesses.verify_lds_conflicts import VerifyLdsConflicts
from bankwise.sweep.cases import target_flags
from bankwise.sweep.swept_kernels import Attention, Kernel, Matmul


def loop_of(code: str) -> list[str]:
    """Returns the instructions of the longest loop of a kernel's PTX, by their mnemonics."""
    lines = code.splitlines()
    labels = {line.split(":")[0]: n for n, line in enumerate(lines) if re.match(r"\$\w+:", line)}
    loops = [
        lines[labels[target[1]] : number]
        for number, line in enumerate(lines)
        if (target := re.search(r"\tbra(?:\.uni)? +\t?(\$\w+)", line))
        and labels.get(target[1], number) < number
    ]
    found = (re.match(r"\t(?:@!?%\w+ )?([a-z][\w.]*)", line) for line in max(loops, key=len))
    return [each[1] for each in found if each]


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    "kernel",
    [
        Attention(1, 256, 64, "f16"),
        Attention(2, 256, 128, "bf16"),
        Matmul(256, 256, 256, "f16"),
        Matmul(256, 256, 256, "f16", transposed=True),
    ],
    ids=lambda kernel: kernel.name,
)
def test_loops_store_nothing_and_wait_once(kernel: Kernel) -> None:
    # The slots leave no conflicts.
    verify = PipelineEdit.after("bankwise-overlap-copies", VerifyLdsConflicts())
    module = compile_mlir(kernel.source(), target_flags("sm_80"), "auto/exact", edits=[verify])
    loop = loop_of(module.decode("latin-1"))
    assert any(each.startswith("mma.sync") for each in loop)
    assert loop.count("bar.sync") == 1
    assert loop.count("cp.async.wait_group") == loop.count("cp.async.commit_group") == 1
    assert any(each.startswith("cp.async.cg.shared.global") for each in loop)
    assert not [each for each in loop if each.startswith(("st.shared", "ld.global"))]


def test_level_layout_copies_as_the_program_says() -> None:
    source = Matmul(256, 256, 256, "f16").source()
    module = compile_mlir(source, target_flags("sm_80"), "auto/layout")
    assert "cp.async" not in module.decode("latin-1")


def test_fast_attentions_multiply_before_they_copy() -> None:
    source = Attention(16, 1024, 128, "f16").source()
    loop = loop_of(compile_mlir(source, target_flags("sm_80"), "auto/fast").decode("latin-1"))
    products = [place for place, each in enumerate(loop) if each.startswith("mma.sync")]
    copies = [place for place, each in enumerate(loop) if each.startswith("cp.async.cg")]
    assert products[0] < copies[0] < copies[-1] < products[-1]
