# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the hot parts of a program while it runs, and has their machine code run.

A straight run of instructions that was executed often is compiled together with the hot runs that
branches lead to, as one region (`regions.py`), so that a loop goes round without Python. What the
executor sees is what it would see if the steps had run: registers, steps, rounds and counters are
the same whenever a region is left, and the region does nothing for which the executor must look
first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..assembly import Kernel
from ..instruction_text import EXEC
from ..step import Step
from ..supervision import COMPILE_AFTER
from ..wave_state import Machine, WaveGroup
from .machine_code import CompiledFunction, available
from .regions import Block, Branch, Exit, RegionWriter
from .runner import Compiled, Progress, Runner, version_of
from .tracing import Layout

_MOST_INSTRUCTIONS = 4000
_MOST_MISSES = 50
_MOST_COMPILES = 100
# A kernel of a few thousand instructions is done before LLVM is there. Steps of many waves take
# longer, but so does what remains of them in code: matrix products and unknown patterns.
_INSTRUCTIONS = 40
_FEW_WAVES, _PART = 16, 4
_EXEC_WORDS = frozenset(range(EXEC.index, EXEC.index + EXEC.count))


class HotCode:
    """The machine code of a program.

    Args:
        steps: the steps of its instructions.
        accesses: whether each instruction accesses memory.
        flow: the instructions of the control flow, and those of them that are branches.
        next_flow: for each instruction the first one from there on that `flow` holds.
        polls: the branches at which the executor looks now and then whether waves poll.

    Attributes:
        threshold: how often a long straight run of few waves has run when it is compiled; 0 for
            never, 1 for at once.
    """

    def __init__(
        self,
        kernel: Kernel,
        steps: Sequence[Step],
        accesses: Sequence[bool],
        flow: Mapping[int, Branch | None],
        next_flow: Sequence[int],
        polls: Sequence[int],
    ) -> None:
        self.threshold = COMPILE_AFTER
        self._steps = steps
        self._accesses = accesses
        self._flow = flow
        self._next_flow = next_flow
        self._polls = polls
        targets = {branch.target for branch in flow.values() if branch is not None}
        self._leaders = frozenset({*targets, *(index + 1 for index in flow), kernel.entry})
        self._heat = [0] * (len(steps) + 1)
        self._compiled: dict[int, list[Compiled]] = {}
        self._refused: set[int] = set()
        # Where code has been left because there was none.
        self._beside_code: set[int] = set()
        self._compiles = 0
        self._runner: Runner | None = None

    @property
    def compiled(self) -> list[Compiled]:
        """Returns the regions that have machine code."""
        return list(dict.fromkeys(each for found in self._compiled.values() for each in found))

    def run(self, portion: Progress, group: WaveGroup, pc: int) -> tuple[int, int] | None:
        """Runs the code from `pc` on, if there is some.

        Returns:
            The beginning of the straight run that is not counted yet, and where the group is; None
            if nothing was run.

        Raises:
            EmulationError: what a step raises.
        """
        found: tuple[int, int] | None = None
        while True:
            self._heat[pc] += _PART if group.count <= _FEW_WAVES else 1
            if not self._is_hot(pc) or pc in self._refused:
                return found
            compiled = self._of(group, pc)
            if compiled is None:
                return found
            if self._runner is None:
                self._runner = Runner(self._steps)
            start, pc, reason = self._runner.run(compiled, portion, group, pc)
            found = start, pc
            if reason is Exit.UNDEFINED:
                self._missed(compiled)
            if start != pc or any(pc == block.start for block in compiled.blocks):
                return found
            self._beside_code.add(pc)

    def _is_hot(self, pc: int) -> bool:
        """Returns whether the steps of a straight run have taken as long as to compile them."""
        if self.threshold <= 1:
            return self.threshold == 1
        length = self._next_flow[pc] + 1 - pc if pc < len(self._steps) else 1
        needed = self.threshold + _INSTRUCTIONS * self.threshold // length
        if pc in self._beside_code:
            needed = self.threshold
        return self._heat[pc] >= _PART * needed

    def flush(self, group: WaveGroup) -> None:
        """Counts what code has executed for a group that ends here."""
        if self._runner is not None:
            self._runner.flush(group)

    def _of(self, group: WaveGroup, pc: int) -> Compiled | None:
        """Returns the code that begins at `pc` and that the group can run."""
        machine = group.machine
        for compiled in self._compiled.get(pc, ()):
            layout = compiled.layout
            if layout.mode == group.mode and layout.waves == machine.waves:
                if compiled.version == version_of(machine) or compiled.validate(machine):
                    return compiled
                self._missed(compiled)
                return None
        return self._compile(group, pc)

    def _missed(self, compiled: Compiled) -> None:
        """Notes that registers were not as the code expects them."""
        compiled.version = ()
        compiled.misses += 1
        if compiled.misses >= _MOST_MISSES:
            self._refused.update(block.start for block in compiled.blocks)

    # -- compiling -------------------------------------------------------------------------------

    def _compile(self, group: WaveGroup, pc: int) -> Compiled | None:
        machine = group.machine
        layout, blocks = _layout_of(machine, group), self._blocks(pc)
        self._compiles += 1
        possible = self._compiles <= _MOST_COMPILES and pc in self._leaders and pc in blocks
        if not possible or not layout.tracked_s.isdisjoint(_EXEC_WORDS) or not available():
            self._refused.add(pc)
            return None
        writer = RegionWriter(blocks, self._steps, layout, self._polls, self._accesses)
        region = writer.write()
        function = CompiledFunction(region.text)
        rounds = np.zeros(len(blocks), np.int64)
        compiled = Compiled(region, tuple(blocks.values()), layout, function, rounds)
        for start in blocks:
            self._compiled.setdefault(start, []).insert(0, compiled)
        return compiled if compiled.validate(machine) else None

    def _blocks(self, pc: int) -> dict[int, Block]:
        """Returns the blocks of a region that begins at `pc`, by their beginnings."""
        found: dict[int, Block] = {}
        waiting, instructions = [pc], 0
        while waiting:
            start = waiting.pop()
            stop = self._next_flow[start] if start < len(self._steps) else len(self._steps)
            if start in found or stop >= len(self._steps):
                continue
            leader = min((x for x in self._leaders if start < x < stop), default=stop)
            instructions += leader - start
            if instructions > _MOST_INSTRUCTIONS:
                break
            if leader < stop:
                found[start] = Block(start, leader, None, flows=False)
                waiting.append(leader)
                continue
            branch = self._flow[stop]
            found[start] = Block(start, stop, branch, flows=True)
            if branch is not None:
                waiting += [x for x in (branch.target, stop + 1) if self._is_warm(x)]
        return found

    def _is_warm(self, pc: int) -> bool:
        """Returns whether a straight run is executed often enough to be compiled with others."""
        return pc < len(self._steps) and self._heat[pc] >= self.threshold // 10 * _PART


def _layout_of(machine: Machine, group: WaveGroup) -> Layout:
    """Returns what code may assume of a machine as it is."""
    tracked_s, tracked_v = (
        frozenset(i for i, complete in enumerate(defined.complete) if not complete)
        for defined in (machine.s_defined, machine.v_defined)
    )
    place = machine.lanes, machine.waves, machine.accum_offset
    return Layout(*place, group.mode, tracked_s, tracked_v)
