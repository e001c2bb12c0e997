# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels for chips that nothing here runs: decisions, verification and the model agree.

What their code computes, and what the emulator counts, is for `test_random_kernels.py`, on the
chips that are emulated.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, note, seed
from hypothesis import settings as hypothesis_settings
from iree.compiler.api import Session

from bankwise.bank_model.layouts import layout_conflicts
from bankwise.bank_model.lds_tables import lds_of
from bankwise.iree_plugin.compile_settings import AFTER_LLVM, CompileSettings
from bankwise.iree_plugin.python_compile import open_source
from bankwise.iree_plugin.stepped_compile import SteppedCompile
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.passes.swizzles.swizzle_lds_allocs import SwizzleLdsAllocs
from bankwise.sweep.cases import target_flags

from .counted_accesses import CountAccesses, counting_edits
from .random_kernels import Kernel, kernels, lds_accesses, lds_tile, render
from .test_random_kernels import layout_of

CHIPS = ("gfx1100", "gfx1151", "gfx1201", "gfx1250")
SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)


@dataclass
class Tally:
    """What a run of many kernels has checked, so that no check can vanish unseen."""

    kernels: int = 0
    swizzled: int = 0
    """Kernels with a swizzled allocation."""
    agreed: int = 0
    """Kernels whose decisions leave the conflicts that verification sees, in the final IR."""
    recounted: int = 0
    """Those of them for which the description of the kernel gives the same number."""
    conflicting: int = 0
    """Those of them that keep conflicts."""


def check(kernel: Kernel, tally: Tally) -> None:
    """Compares what decisions leave with what verification and the model see."""
    log, count = DecisionLog(), CountAccesses()
    flags = (*target_flags(kernel.arch), "--iree-input-demote-f64-to-f32=false")
    settings = CompileSettings(mitigation="stock", compile_to=AFTER_LLVM)
    edits = counting_edits(count, "auto")
    with closing(Session()) as session:
        session.set_flags(*flags)
        with SteppedCompile(session, settings, edits, log, console=False) as compilation:
            compilation.run(open_source(session, render(kernel)))
    (verified,) = map(count.cycles, count.found)
    decided = log.conflict_cycles_left()
    tally.kernels += 1
    made = [each for each in log if each.pass_name == SwizzleLdsAllocs.name]
    tally.swizzled += any(each.action is Action.HINT for each in made)
    assert not [each for each in log if each.action is Action.DROP]
    if decided is None or verified is None:
        return
    assert decided == verified
    tally.agreed += 1
    upcoming, recounted = iter(made), 0
    for tile in kernel.tiles:
        decision, *_ = (next(upcoming) for _ in range(tile.allocations))
        recounted += layout_conflicts(
            *(lds_of(kernel.arch), lds_tile(tile), layout_of(decision)), lds_accesses(kernel, tile)
        )
    tally.recounted += recounted == verified
    tally.conflicting += verified > 0


def check_many(number: int, seeded: int) -> Tally:
    """Checks `number` random kernels, always the same ones for a seed."""
    tally = Tally()

    @seed(seeded)
    @hypothesis_settings(
        max_examples=number,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=SLOW,
    )
    @given(kernels(chips=CHIPS))
    def check_one(kernel: Kernel) -> None:
        note(render(kernel))
        check(kernel, tally)

    check_one()
    print(tally)
    return tally


@pytest.mark.nightly
@pytest.mark.parametrize("seeded", range(40))
def test_decisions_say_what_verification_sees(seeded: int) -> None:
    tally = check_many(50, seeded)
    assert tally.agreed >= tally.kernels * 4 // 5
    assert tally.recounted >= tally.agreed // 2
    assert tally.swizzled >= tally.kernels // 4


def test_a_few_decisions_say_what_verification_sees() -> None:
    tally = check_many(2, seeded=100)
    assert tally.agreed == tally.recounted == tally.kernels
