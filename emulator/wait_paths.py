# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The check of waits on paths that a kernel can take.

The search of `waits.py` takes any way through the branches for a path. What it finds may lie on one
that no wave takes, as where two branches test the same register. So where it finds something, a
second search follows the paths one by one, with what each knows by its branches
(`branch_facts.py`).
A place that is reached by very many paths is looked at with the facts that all of them lack, which
are none. What is found on such paths alone cannot be decided: it is doubtful.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from .assembly import Kernel
from .branch_facts import Facts
from .call_graph import JUMPS
from .polling import Flow, flow_of
from .waits import MissingWait, Search, State, WaitReport, check_waits

_MOST_PATHS = 32
"""The most kinds of paths to a place that are told apart."""


class CheckedWaits(NamedTuple):
    """What the searches found.

    Attributes:
        missing: uses without a wait that some path comes to.
        doubtful: uses without a wait on a path of which it is not known whether it can be taken.
        report: what the LDS needs to know of barriers.
    """

    missing: tuple[MissingWait, ...]
    doubtful: tuple[MissingWait, ...]
    report: WaitReport


def checked_waits(kernel: Kernel) -> CheckedWaits:
    """Looks for uses without a wait on the paths that a kernel can take."""
    first = check_waits(kernel)
    if not first.missing:
        return CheckedWaits((), (), first)
    search = _PathSearch(kernel)
    report = search.run()
    certain = tuple(each for each in report.missing if each.instruction in search.certain)
    doubtful = tuple(each for each in report.missing if each.instruction not in search.certain)
    return CheckedWaits(certain, doubtful, report)


_Place = tuple[int, Hashable]


class _PathSearch(Search):
    """Follows paths with what is known on each.

    Attributes:
        certain: the instructions with a use without a wait on a path that is told apart.
    """

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.certain: set[int] = set()
        self._flows: dict[int, Flow] = {}
        # The states before a block by its start and the key of its facts; None where all facts of
        # too many paths were given up.
        self._paths: dict[_Place, tuple[State, Facts, bool]] = {}
        self._count: dict[int, int] = {}

    def run(self) -> WaitReport:
        waiting: set[_Place] = set()
        for start in {0, self.kernel.entry}:
            place = self._arrive(start, State(self.limits), Facts(), False)
            assert place is not None
            waiting.add(place)
        while waiting:
            place = min(waiting, key=lambda place: place[0])
            waiting.remove(place)
            found, facts, cut = self._paths[place]
            state, facts = found.copy(), facts.copy()
            for follower, on_path in self._walk(place[0], state, facts):
                arrived = self._arrive(follower, state, on_path, cut)
                if arrived is not None:
                    waiting.add(arrived)
        for (start, _), (state, facts, cut) in self._paths.items():
            before = dict(self.missing)
            self.missing = {}
            self._walk(start, state.copy(), facts.copy(), report=True)
            if not cut:
                self.certain |= self.missing.keys()
            self.missing = {**self.missing, **before}
        missing = tuple(self.missing[index] for index in sorted(self.missing))
        return WaitReport(missing, self.unfinished)

    def _arrive(self, start: int, state: State, facts: Facts, cut: bool) -> _Place | None:
        """Notes that a path comes to a block; returns the place if anything there is new."""
        place: _Place = (start, (facts.key(), cut))
        if place not in self._paths and self._count.get(start, 0) >= _MOST_PATHS:
            facts, cut, place = Facts(), True, (start, None)
        known = self._paths.get(place)
        if known is None:
            self._count[start] = self._count.get(start, 0) + 1
            self._paths[place] = state.copy(), facts.copy(), cut
            return place
        return place if known[0].join(state) else None

    def _walk(
        self, start: int, state: State, facts: Facts, report: bool = False
    ) -> list[tuple[int, Facts]]:
        """Takes a state through a block; returns where control may go, with the facts there."""
        last = start
        for index in self.block(start):
            self.pass_over(index, state, report)
            flow = self._flows.get(index)
            if flow is None:
                flow = self._flows[index] = flow_of(self.kernel, index)
            facts.after(self.kernel.instructions[index], flow)
            last = index
        followers = self.followers(last)
        name = self.kernel.instructions[last].mnemonic
        if name in JUMPS:
            facts.forget()
        condition = facts.condition_of(name) if name.startswith("s_cbranch") else None
        if condition is None or len(followers) != 2:
            return [(follower, facts) for follower in followers]
        taken = facts.decide(condition)
        if taken is not None:
            return [(followers[0 if taken else 1], facts)]
        found: list[tuple[int, Facts]] = []
        for follower, true in zip(followers, (True, False), strict=True):
            on_path = facts.copy()
            on_path.assume(condition, true)
            found.append((follower, on_path))
        return found
