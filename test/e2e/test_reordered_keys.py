# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions whose keys take each other's places, so that masks are read wide."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bankwise import PipelineEdit
from bankwise import compile as compile_mlir
from bankwise.bench.program_families.attention import Attention, plain_sizes
from bankwise.emulator.counters import Counted
from bankwise.sweep.cases import target_flags
from bankwise.tuning.attention.reorder_keys import ReorderKeys

from .program_runs import run_program
from .test_overlap_copies import loop_of

_PLAIN = Attention("", "f16", plain_sizes(1, 64, 64, 256), mask="b m k2", mask_dtype="f16")


@pytest.mark.parametrize("mask", ["f16", "i1"])
def test_loops_read_masks_by_words_of_16_bytes(mask: str) -> None:
    source = replace(_PLAIN, mask_dtype=mask).program().source
    module = compile_mlir(source, target_flags("sm_80"), "auto/fast")
    loads = [each for each in loop_of(module.decode("latin-1")) if each.startswith("ld.global")]
    assert loads and all(each.endswith("v4.b32") for each in loads)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    "attention",
    [_PLAIN, replace(_PLAIN, mask_dtype="i1"), replace(_PLAIN, mask="m k2")],
    ids=["f16", "i1", "one mask"],
)
def test_outputs_are_right(attention: Attention) -> None:
    """The emulator has no `mma.sync`; on gfx950 lanes have other neighbours of the keys."""
    edit = PipelineEdit.after("iree-codegen-gpu-vector-alloc", ReorderKeys())
    plain = run_program(attention.program(), "gfx950", "auto/layout")
    ran = run_program(attention.program(), "gfx950", "auto/layout", edits=[edit])
    assert ran.error <= ran.program.tolerance
    assert ran.run.counters[Counted.CONFLICTS] == 0
    assert ran.run.assembly != plain.run.assembly
