# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which of some layouts costs what another one does, or comes nearest.

Most layouts are told by a few accesses. Swizzles are linear, so that an access whose elements are
those of another one XOR a constant takes the same cycles: its banks are the other's XOR a constant,
too. So one of each kind is counted first, and only what may be cheap enough is counted in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..bank_model.accesses import LdsAccess
from ..bank_model.errors import InvalidParameterError
from ..bank_model.issue import ISSUE_CYCLES, LayoutCost, LayoutCosts
from ..bank_model.layouts import Layout, PlainLayout, access_costs, misaligned_element

_COUNTED = 3
"""The cheapest candidates that are counted in full where none is as cheap as it should be."""


class Nearest(NamedTuple):
    """The layout that comes nearest to another one, `chosen`, and the costs of both."""

    layout: Layout
    cost: LayoutCost
    chosen: LayoutCost


def nearest(chosen: Layout, others: Sequence[Layout], costs: LayoutCosts) -> Nearest | None:
    """Returns the first of `others` that costs no more than `chosen`, or the cheapest; else None.

    None is returned where none of them leaves whole what has to stay whole.
    """
    wanted = costs.of(chosen)
    whole = [access for access in costs.accesses if access.instruction]
    legal = [each for each in others if _keeps(each, whole, costs)]
    # A layout only adds instructions to those of the plain one.
    issued = ISSUE_CYCLES * costs.instructions(PlainLayout())
    kinds = _kinds(costs.accesses)
    bounds = [(_cycles(each, kinds, costs) + issued, place) for place, each in enumerate(legal)]
    best: Nearest | None = None
    for counted, (bound, place) in enumerate(sorted(bounds)):
        if bound > wanted.rank[0] and best is not None and counted >= _COUNTED:
            break
        if best is not None and bound >= best.cost.rank[0]:
            break
        found = Nearest(legal[place], costs.of(legal[place]), wanted)
        if best is None or found.cost.rank < best.cost.rank:
            best = found
        if best.cost.rank[0] <= wanted.rank[0]:
            break
    return best


def _keeps(layout: Layout, whole: Sequence[LdsAccess], costs: LayoutCosts) -> bool:
    group = layout.group_elements(costs.tile)
    return all(
        group % access.count == 0 and misaligned_element(costs.tile, layout, access) is None
        for access in whole
    )


def _kinds(accesses: Sequence[LdsAccess]) -> list[LdsAccess]:
    """Returns an issue of each kind, with the weight of all: those of a kind differ by a constant
    XOR."""
    found: dict[tuple[object, ...], LdsAccess] = {}
    for access in accesses:
        for issue, elements in enumerate(access.elements):
            active = None if access.active is None else access.active[issue]
            first = elements[0] if active is None or not active.any() else elements[active][0]
            relative = np.where(True if active is None else active, elements ^ first, 0)
            mask = b"" if active is None else active.tobytes()
            key = (
                access.kind, access.count, access.instruction, int(first) % access.count,
                relative.tobytes(), mask, None if access.copied is None else id(access),
            )  # fmt: skip
            if key in found:
                kind = found[key]
                found[key] = replace(kind, weight=kind.weight + access.weight)
            else:
                found[key] = replace(
                    access,
                    elements=elements[None],
                    active=None if active is None else active[None],
                    copied=None if access.copied is None else access.copied.of_issues([issue]),
                )
    return list(found.values())


def _cycles(layout: Layout, kinds: Sequence[LdsAccess], costs: LayoutCosts) -> int:
    """Returns the LDS cycles of a swizzle."""
    try:
        counted = access_costs(costs.lds, costs.tile, layout, kinds)
    except InvalidParameterError:
        # It splits an element that is smaller than a byte.
        return 1 << 40
    return sum(kind.weight * cost.wavefronts for kind, cost in zip(kinds, counted, strict=True))
