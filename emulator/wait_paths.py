# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The check of waits on paths that a kernel can take.

The search of `waits.py` takes any way through the branches for a path. What it finds may lie on one
that no wave takes, as where two branches test the same register. So where it finds something, a
second search follows the paths one by one, with what each knows by its branches
(`branch_facts.py`).
A place that is reached by very many paths is looked at with the facts that all of them lack, which
are none. What is found on such paths alone cannot be decided: it is doubtful. So is what is found
behind a branch that depends on what an atomic found in memory: whether that can be, other waves
decide.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from .assembly import Kernel
from .branch_facts import Facts
from .call_graph import CALLS, JUMPS, jump_source
from .instruction_text import EXEC, Register
from .polling import Flow, flow_of
from .waits import MissingWait, RegisterKey, Search, State, WaitReport, check_waits, registers_of

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
        self._count: dict[_Place, int] = {}
        self._live = self._asked_for()

    def run(self) -> WaitReport:
        waiting: dict[int, list[_Place]] = {}
        for start in {0, self.kernel.entry}:
            place = self._arrive(start, State(self.limits), Facts(), False)
            assert place is not None
            waiting[start] = [place]
        while waiting:
            start = min(waiting)
            place = waiting[start].pop()
            if not waiting[start]:
                del waiting[start]
            found, facts, cut = self._paths[place]
            state, facts = found.copy(), facts.copy()
            for follower, on_path, doubt in self._walk(place[0], state, facts):
                arrived = self._arrive(follower, state, on_path, cut or doubt)
                if arrived is not None and arrived not in waiting.get(follower, ()):
                    waiting.setdefault(follower, []).append(arrived)
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
        facts = facts.copy()
        facts.keep(self._live.get(start, frozenset()))
        place: _Place = (start, (facts.key(), cut))
        # The paths of a function are counted for each place that it returns to.
        returns: _Place = (start, frozenset(facts.returns.items()))
        if place not in self._paths and self._count.get(returns, 0) >= _MOST_PATHS:
            facts, cut, place = Facts(returns=facts.returns), True, returns
        known = self._paths.get(place)
        if known is None:
            self._count[returns] = self._count.get(returns, 0) + 1
            self._paths[place] = state.copy(), facts, cut
            return place
        return place if known[0].join(state) else None

    def _walk(
        self, start: int, state: State, facts: Facts, report: bool = False
    ) -> list[tuple[int, Facts, bool]]:
        """Takes a state through a block.

        Returns where control may go, with the facts there, and whether it is doubtful that it may.
        """
        last = start
        for index in self.block(start):
            self.pass_over(index, state, report)
            facts.after(self.kernel.instructions[index], self._flow(index))
            last = index
        followers = self.followers(last)
        name = self.kernel.instructions[last].mnemonic
        if name in JUMPS:
            followers = self._jump(last, facts, followers)
        if any(follower <= start for follower in followers):
            facts.go_back()
        doubt = not facts.shared.keys().isdisjoint(self._flow(last).condition)
        condition = facts.condition_of(name) if name.startswith("s_cbranch") else None
        if condition is None or len(followers) != 2:
            return [(follower, facts, doubt) for follower in followers]
        taken = facts.decide(condition)
        if taken is not None:
            return [(followers[0 if taken else 1], facts, doubt)]
        found: list[tuple[int, Facts, bool]] = []
        for follower, true in zip(followers, (True, False), strict=True):
            on_path = facts.copy()
            on_path.assume(condition, true)
            found.append((follower, on_path, doubt))
        return found

    def _jump(self, index: int, facts: Facts, followers: list[int]) -> list[int]:
        """Returns where a jump may go, and notes where the function that it calls returns to."""
        instruction = self.kernel.instructions[index]
        register = instruction.operands[0].value
        if not isinstance(register, Register):
            return followers
        key = registers_of(register)[0]
        if instruction.mnemonic in CALLS:
            facts.returns[key] = index + 1
            return followers
        return [facts.returns[key]] if key in facts.returns else followers

    def _flow(self, index: int) -> Flow:
        if index not in self._flows:
            self._flows[index] = flow_of(self.kernel, index)
        return self._flows[index]

    def _asked_for(self) -> dict[int, frozenset[RegisterKey]]:
        """Returns for each block the registers on whose values before it later branches depend."""
        blocks = sorted(start for start in self.starts if start < len(self.kernel.instructions))
        ends = {start: self.followers(self.block(start)[-1]) for start in blocks}
        sources: dict[int, list[int]] = {}
        for start, followers in ends.items():
            for follower in followers:
                sources.setdefault(follower, []).append(start)
        live = dict.fromkeys(blocks, frozenset[RegisterKey]())
        waiting = set(blocks)
        while waiting:
            start = max(waiting)
            waiting.remove(start)
            behind = frozenset[RegisterKey]().union(*(live.get(end, ()) for end in ends[start]))
            before = self._asked_before(start, behind)
            if before != live[start]:
                live[start] = before
                waiting.update(sources.get(start, ()))
        return live

    def _asked_before(self, start: int, behind: frozenset[RegisterKey]) -> frozenset[RegisterKey]:
        """Returns the registers asked for before a block, of those that are behind it."""
        asked = set(behind)
        for index in reversed(self.block(start)):
            flow = self._flow(index)
            asks = not asked.isdisjoint(flow.writes)
            asked -= flow.writes | flow.loaded
            asked |= flow.condition
            instruction = self.kernel.instructions[index]
            if instruction.mnemonic in JUMPS:
                source = jump_source(instruction).value
                asked |= set(registers_of(source)) if isinstance(source, Register) else set()
            if asks:
                asked |= flow.reads
        # What lanes compare depends on which of them are active.
        return frozenset(asked).union(registers_of(EXEC))
