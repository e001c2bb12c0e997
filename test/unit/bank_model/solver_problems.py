# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiles that the tests of the solver share, and the checks that every decision must pass."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.issue import layout_cost
from bankwise.bank_model.layouts import PlainLayout, layout_conflicts
from bankwise.bank_model.lds_rules import AccessKind, Lds
from bankwise.bank_model.lds_tables import lds_of
from bankwise.bank_model.proof import check
from bankwise.bank_model.solver import LayoutDecision, SolverOptions, layout_kind, solve

READ, WRITE = AccessKind.READ, AccessKind.WRITE
GFX942, GFX950, SM80 = lds_of("gfx942"), lds_of("gfx950"), lds_of("sm_80")


def solve_checked(
    lds: Lds,
    tile: LdsTile,
    accesses: Sequence[LdsAccess],
    options: SolverOptions | None = None,
) -> LayoutDecision:
    """Solves, and has the proof and all that the decision says checked."""
    decision = solve(lds, tile, accesses, options)
    check(decision.proof, lds, accesses)
    assert decision.conflict_cycles == layout_conflicts(lds, tile, decision.layout, accesses)
    assert decision.kind is layout_kind(decision.layout)
    assert decision.lds_bytes == decision.layout.size_bytes(tile)
    cost = layout_cost(lds, tile, decision.layout, accesses)
    plain = layout_cost(lds, tile, PlainLayout(), accesses)
    assert decision.costs == cost.accesses
    assert cost.cycles <= plain.cycles
    if not lds.unaligned:
        phases = cost.cycles - cost.conflict_cycles
        assert phases <= plain.cycles - plain.conflict_cycles
    return decision


def wave_transpose() -> tuple[LdsTile, list[LdsAccess]]:
    """Returns 16 x 32 f32 of a wave of 32: lane t writes column t, and reads along half a row."""
    t = np.arange(32)
    writes = [LdsAccess(WRITE, row * 32 + t, 1) for row in range(16)]
    reads = [LdsAccess(READ, t % 16 * 32 + 2 * r + t // 16, 1) for r in range(16)]
    return LdsTile((16, 32), 32), writes + reads


def unsolvable() -> list[LdsAccess]:
    """Returns two reads of 64 words by 32 lanes that no linear swizzle frees of conflicts.

    The words of the first are those with bit 0 clear, of the second those with bit 0 equal to
    bit 5. A swizzle sends one nonzero word to bank 0, with bit 5 set: bit 0 decides whose it is.
    """
    lanes = np.arange(32)
    first = LdsAccess(READ, lanes * 2, 1, weight=2)
    second = LdsAccess(READ, lanes % 16 * 2 + lanes // 16 * 33, 1, weight=3)
    return [first, second]
