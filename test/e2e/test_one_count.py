# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decisions, verification and the emulator give one number of conflict cycles for real programs."""

from __future__ import annotations

import pytest

from bankwise.bench.program_families import all_programs
from bankwise.bench.program_families.program import Program
from bankwise.emulator.counters import totals
from bankwise.passes.decisions import DecisionLog
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags

from .counted_accesses import CountAccesses, counting_edits

PROGRAMS = {
    program.name: program
    for program in all_programs()
    # The decisions of a process of its own are not known, and a program that races has no result.
    if not program.needs_process and not program.race
}
SAMPLE = ("reproducer_conv_nchw_f16", "matmul_plain_f16_128x128x128", "softmax_f32")


def check(program: Program, target: str, mode: str) -> int:
    """Compares the counts of a program's kernels; returns how many kernels were compared."""
    count, log = CountAccesses(), DecisionLog()
    flags = (*target_flags(target), *program.flags)
    edits = counting_edits(count, mode)
    inputs = program.draw_inputs()
    run = run_emulated(program.source, flags, "stock", inputs, edits=edits, decisions=log)
    compared = 0
    for record in run.records:
        name = record.kernel.name
        verified = count.cycles(name) if name in count.found else 0
        if verified is None:
            continue
        counted = dict(totals(record.kernel, record.counters))["SQ_LDS_BANK_CONFLICT"]
        assert counted == verified * record.total
        # What is compiled as stock would compile it, because a pass could not go on, has none.
        has_decisions = any(each.function == name for each in log)
        decided = log.conflict_cycles_left(name) if has_decisions else None
        assert decided is None or decided == verified
        compared += 1
    return compared


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_of_programs(name: str) -> None:
    assert check(PROGRAMS[name], "gfx950", "auto/exact") >= 1


@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["auto/layout", "auto/exact", "auto/fast"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program(name: str, mode: str) -> None:
    for target in PROGRAMS[name].targets:
        check(PROGRAMS[name], target, mode)
