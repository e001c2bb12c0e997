# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the solver claims about a layout, and the check of it, which believes no number of a proof.

The check counts by the definition (`slow_count.py`) and searches in its own way
(`linear_minimum.py`). With the solver it shares only the tables of the hardware and the formulas of
the layouts, so that a mistake in the solver's mathematics shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np

from .accesses import LdsAccess, LdsTile
from .errors import ProofError
from .layouts import AccessCost, Layout, PlainLayout, SwizzledLayout
from .lds_rules import Lds
from .linear_minimum import check_linear_minimum
from .quick_dataclass import dataclass
from .slow_count import count_slowly


class Optimality(Enum):
    """What is known about layouts with fewer conflict cycles."""

    FLOOR = "no bank conflicts are left, so that no layout has fewer"
    """Zero conflict cycles: every phase already runs in the cycles its data volume needs."""
    LINEAR_MINIMUM = "a search of all XOR swizzles shows that none has fewer"
    """No unit-triangular swizzle has fewer, of those whose rows fill the tile and that run no more
    phases than the plain layout, whatever accesses they split. Paddings and rotations were counted
    too."""
    BEST_FOUND = "no layout with fewer was found among those allowed"
    """Nothing is proven."""


@dataclass(frozen=True)
class Proof:
    """What is claimed about one allocation, in numbers that a checker can recount."""

    arch: str
    tile: LdsTile
    layout: Layout
    lds_bytes: int
    costs: tuple[AccessCost, ...]
    """Per access, without weights."""
    conflict_cycles: int
    """Weighted, under `layout`."""
    plain_conflict_cycles: int
    """Weighted, under the plain layout."""
    optimality: Optimality | None
    """What is claimed about other layouts. None for a layout that the solver did not choose: it may
    even be worse than the plain one."""


def check(proof: Proof, lds: Lds, accesses: Sequence[LdsAccess]) -> None:
    """Verifies every claim of `proof`; raises ProofError for the first one that does not hold."""
    if proof.arch != lds.arch:
        raise ProofError(f"arch: the proof is about {proof.arch}, not {lds.arch}")
    if len(proof.costs) != len(accesses):
        raise ProofError(f"costs: {len(proof.costs)} for {len(accesses)} accesses")
    _check_placement(proof)
    counted = [count_slowly(lds, proof.tile, proof.layout, access) for access in accesses]
    for index, (found, claimed) in enumerate(zip(counted, proof.costs, strict=True)):
        if found != claimed:
            raise ProofError(f"costs[{index}]: claimed {claimed}, counted {found}")
    total, cycles = _weighted(accesses, counted)
    if total != proof.conflict_cycles:
        raise ProofError(f"conflict_cycles: claimed {proof.conflict_cycles}, counted {total}")
    plain = [count_slowly(lds, proof.tile, PlainLayout(), access) for access in accesses]
    plain_total, plain_cycles = _weighted(accesses, plain)
    if plain_total != proof.plain_conflict_cycles:
        raise ProofError(
            f"plain_conflict_cycles: claimed {proof.plain_conflict_cycles}, counted {plain_total}"
        )
    if proof.optimality is None:
        return
    if cycles > plain_cycles:
        raise ProofError(
            f"layout: it takes {cycles} LDS cycles, and the plain layout {plain_cycles}"
        )
    _check_optimality(proof, lds, accesses)


def _check_placement(proof: Proof) -> None:
    """Raises ProofError unless every element has a place of its own inside the allocation."""
    tile = proof.tile
    places = proof.layout.offsets(tile, np.arange(tile.elements)).tolist()
    if len(set(places)) != len(places):
        raise ProofError("layout: two elements share a place")
    size = proof.layout.size_bytes(tile)
    if size != proof.lds_bytes:
        raise ProofError(f"lds_bytes: claimed {proof.lds_bytes}, counted {size}")
    if min(places) < 0 or (max(places) + 1) * tile.element_bits > size * 8:
        raise ProofError("layout: an element lies outside the allocation")
    if isinstance(proof.layout, SwizzledLayout) and not proof.layout.is_bijection(tile):
        raise ProofError("layout: a swizzle of the chain does not permute the allocation")


def _check_optimality(proof: Proof, lds: Lds, accesses: Sequence[LdsAccess]) -> None:
    """Raises ProofError unless what is claimed about other layouts holds."""
    total = proof.conflict_cycles
    if proof.optimality is Optimality.FLOOR and total:
        raise ProofError(f"optimality: {total} conflict cycles are above the floor, 0")
    if proof.optimality is not Optimality.FLOOR and not total:
        raise ProofError("optimality: 0 conflict cycles are the floor")
    if proof.optimality is Optimality.LINEAR_MINIMUM:
        check_linear_minimum(lds, proof.tile, accesses, total)


def _weighted(accesses: Sequence[LdsAccess], costs: Sequence[AccessCost]) -> tuple[int, int]:
    """Returns the conflict cycles and all cycles."""
    weighted = [(a.weight, cost) for a, cost in zip(accesses, costs, strict=True)]
    return (
        sum(weight * cost.conflict_cycles for weight, cost in weighted),
        sum(weight * cost.wavefronts for weight, cost in weighted),
    )
