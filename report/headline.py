# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one number of a report: the conflict cycles of the code as it stands.

It is what `--fail-on-conflicts` judges: hints count, and so does what a compile chose, but nothing
that is only proposed.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..passes.mode import LEVELLED
from .contents import Contents, Sums


@dataclass(frozen=True)
class Headline:
    """Conflict cycles of a workgroup, in all functions and allocations of a report together.

    Attributes:
        before: in the plain layout.
        padded: with stock's padding.
        standing: in the IR as it stands, or in what the compile made of it.
        chosen: in the chosen layouts, or in the proposed ones where nothing is chosen yet.
        proposed: whether a proposal is among the layouts that `chosen` counts.
        complete: whether everything could be counted; if not, the figures are lower bounds.
        known: whether anything could be counted at all.
        ours: whether a compile of ours has made the tiles, and the accesses to them, that are
            counted in all layouts. Stock's code may have others.
    """

    before: int
    padded: int
    standing: int
    chosen: int
    proposed: bool
    complete: bool
    known: bool
    ours: bool = False

    @staticmethod
    def of(contents: Contents) -> Headline | None:
        """Returns the headline of a report; None where there is no LDS that it could be about."""
        allocations = [each.report for each in contents.allocations]
        unread = any(each.report.unread or each.report.uncompiled for each in contents.functions)
        if not allocations and not unread:
            return None
        sums = Sums.of(allocations)
        cycles = {name: count for name, (count, _) in sums.of_layouts.items()}
        return Headline(
            **cycles,
            proposed=any(each.is_proposed for each in allocations),
            complete=sums.complete and not unread,
            known=bool(allocations) and not sums.nothing_known,
            ours=contents.mitigation in LEVELLED,
        )

    @property
    def number(self) -> str:
        """Returns the one number."""
        return self._shown(self.standing)

    @property
    def what(self) -> str:
        """Returns what the number counts."""
        where = "as the IR stands" if self.proposed else "in the chosen layout"
        return f"conflict cycles of a workgroup {where}"

    @property
    def word(self) -> str:
        """Returns the word for the layouts that `chosen` counts."""
        return "proposed" if self.proposed else "chosen"

    @property
    def is_clean(self) -> bool:
        """Returns whether it is certain that the code as it stands has no conflict cycle."""
        return self.known and self.complete and not self.standing

    def __str__(self) -> str:
        if not self.known:
            return "the conflict cycles are not known"
        text = (
            f"{self._shown(self.before)} conflict cycles in the plain layout, "
            f"{self._shown(self.padded)} with stock's padding, "
            f"{self._shown(self.chosen)} in the {self.word} one"
            f"{', for the accesses of this compile' if self.ours else ''}"
        )
        return (
            text
            if self.standing in (self.before, self.chosen)
            else (f"{text}; {self.number} as the IR stands")
        )

    def _shown(self, cycles: int) -> str:
        if not self.known:
            return "not known"
        return f"{cycles:,}" if self.complete else f"at least {cycles:,}"
