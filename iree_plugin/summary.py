# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a compile has gained, in one line: stock's layouts beside ours, by the decisions.

    6 kernels: 69,376 -> 0 conflict cycles, 11,520 -> 4,096 LDS instructions; 2 as stock

The first figures are those of the layouts that stock gives the tiles as the kernels have them, with
its padding, and with the accesses of lanes as they were before our passes renamed or joined them.
Nothing is compiled twice for them: where the tiles are ours, stock's own code has others, and other
figures, and the line says of how many kernels that is so. A kernel counts with all of its
workgroups, once, where their number is known.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..bank_model.quick_tuple import NamedTuple
from ..bank_model.shown_text import counted
from ..passes.decisions import Action, DecisionLog
from .compile_settings import CompileSettings


class KernelCost(NamedTuple):
    """What the LDS of one kernel costs a workgroup, in stock's layouts and in ours.

    Attributes:
        as_stock: whether the kernel is compiled as `iree-compile` would compile it.
        conflicts: the conflict cycles, or None where they are not known.
        instructions: the LDS instructions, or None where they are not known.
        workgroups: how many it is launched with; None where only the running program knows.
        other_tiles: whether its workgroups compute other tiles than stock's.
    """

    as_stock: bool = False
    conflicts: tuple[int, int] | None = None
    instructions: tuple[int, int] | None = None
    workgroups: int | None = None
    other_tiles: bool = False

    @property
    def has_lds(self) -> bool:
        """Returns whether a figure of it is not 0."""
        return any((*(self.conflicts or ()), *(self.instructions or ())))

    @staticmethod
    def of(name: str, log: DecisionLog, workgroups: int | None) -> KernelCost:
        """Returns the cost of a function whose pipeline has run.

        Args:
            log: what was decided on the function in this run.
            workgroups: see `workgroups`.
        """
        stock = log.stock_costs(name)
        conflicts, instructions = log.conflict_cycles_left(name), log.lds_instructions_left(name)
        retiled = any(d.function == name and d.action is Action.RETILE for d in log)
        return KernelCost(
            False,
            None if stock is None or conflicts is None else (stock[0], conflicts),
            None if stock is None or instructions is None else (stock[1], instructions),
            workgroups,
            retiled,
        )


AS_STOCK = KernelCost(as_stock=True)


def summary_text(kernels: Sequence[KernelCost], settings: CompileSettings) -> str:
    """Returns the line for the GPU kernels of a compile; nothing where it generates no code."""
    if not settings.generates_code:
        return ""
    if not kernels:
        return "no GPU kernels: everything is as iree-compile makes it"
    count = counted(len(kernels), "kernel")
    if settings.mitigation == "stock":
        return f"{count} as stock"
    if settings.mitigation == "none":
        return f"{count} without padding, whose conflict cycles nobody has counted"
    ours = [each for each in kernels if not each.as_stock]
    parts = [f"{count}: {_changes(ours)}" if ours else f"{count} as stock"]
    if ours and len(ours) < len(kernels):
        parts.append(f"{len(kernels) - len(ours)} as stock")
    known = [each for each in ours if each.conflicts is not None]
    if known and len(known) < len(ours):
        parts.append(f"{len(ours) - len(known)} not counted")
    others = sum(each.other_tiles and each.has_lds for each in known)
    if others:
        parts.append(f"{others} in other tiles than stock's")
    single = sum(each.workgroups is None and any(each.conflicts or ()) for each in known)
    if single:
        parts.append(f"{single} counted for one workgroup, because the grid is not known")
    return "; ".join(parts)


def _changes(kernels: Sequence[KernelCost]) -> str:
    """Returns what has become of the conflict cycles and the instructions of kernels of ours."""
    known = [each for each in kernels if each.conflicts is not None]
    if not known:
        return "conflict cycles not known"
    text = f"{_change([(each.conflicts, each.workgroups) for each in known])} conflict cycles"
    if any(each.instructions is None for each in known):
        return text
    changed = _change([(each.instructions, each.workgroups) for each in known])
    return f"{text}, {changed} LDS instructions"


def _change(costs: Sequence[tuple[tuple[int, int] | None, int | None]]) -> str:
    """Returns the sums before and after; a kernel with a grid that is not known counts once."""
    before, after = (
        sum((1 if grid is None else grid) * cost[place] for cost, grid in costs if cost)
        for place in (0, 1)
    )
    return f"{before:,} -> {after:,}"
