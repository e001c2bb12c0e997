# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles regions of a program, and keeps them. Only a program with a hot part loads this."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..instruction_text import EXEC
from ..wave_state import Machine, WaveGroup
from .branches import StepProgram
from .machine_code import CompiledFunction, available
from .regions import Block, Exit, RegionWriter
from .runner import Compiled, Progress, Runner, version_of
from .tracing import Layout

_MOST_INSTRUCTIONS = 4000
_MOST_MISSES = 50
_MOST_COMPILES = 100


class Compiler:
    """Compiles the hot parts of one program.

    Args:
        program: its steps and control flow.
        leaders: where straight runs begin.
        is_warm: tells whether the run at an instruction is to be compiled with others.

    Attributes:
        refused: where no code is to begin.
    """

    def __init__(
        self,
        program: StepProgram,
        leaders: frozenset[int],
        is_warm: Callable[[int], bool],
    ) -> None:
        self.refused: set[int] = set()
        self._program = program
        self._leaders = leaders
        self._is_warm = is_warm
        self._compiled: dict[int, list[Compiled]] = {}
        self._compiles = 0
        self._runner = Runner(program.steps)

    @property
    def compiled(self) -> list[Compiled]:
        """Returns the regions that have machine code."""
        return list(dict.fromkeys(each for found in self._compiled.values() for each in found))

    def run(self, portion: Progress, group: WaveGroup, pc: int) -> tuple[int, int, bool] | None:
        """Runs the code from `pc` on, if there is some.

        Returns:
            The beginning of the straight run that is not counted yet, where the group is, and
            whether the region lacks code for what comes there; None if nothing was run.

        Raises:
            EmulationError: what a step raises.
        """
        compiled = None if pc in self.refused else self._of(group, pc)
        if compiled is None:
            return None
        start, pc, reason = self._runner.run(compiled, portion, group, pc)
        if reason is Exit.UNDEFINED:
            self._missed(compiled)
        lacks = start == pc and all(pc != block.start for block in compiled.blocks)
        return start, pc, lacks

    def flush(self, group: WaveGroup) -> None:
        """Counts what code has executed for a group that ends here."""
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
            self.refused.update(block.start for block in compiled.blocks)

    # -- compiling -------------------------------------------------------------------------------

    def _compile(self, group: WaveGroup, pc: int) -> Compiled | None:
        machine = group.machine
        layout, blocks = _layout_of(machine, group), self._blocks(pc)
        self._compiles += 1
        exec_words = range(EXEC.index, EXEC.index + machine.lanes // 32)
        possible = self._compiles <= _MOST_COMPILES and pc in self._leaders and pc in blocks
        if not possible or not layout.tracked_s.isdisjoint(exec_words) or not available():
            self.refused.add(pc)
            return None
        steps, accesses, *_, polls = self._program
        writer = RegionWriter(blocks, steps, layout, polls, accesses)
        region = writer.write()
        function = CompiledFunction(region.text)
        rounds = np.zeros(len(blocks), np.int64)
        compiled = Compiled(region, tuple(blocks.values()), layout, function, rounds)
        for start in blocks:
            self._compiled.setdefault(start, []).insert(0, compiled)
        return compiled if compiled.validate(machine) else None

    def _blocks(self, pc: int) -> dict[int, Block]:
        """Returns the blocks of a region that begins at `pc`, by their beginnings."""
        program, count = self._program, len(self._program.steps)
        found: dict[int, Block] = {}
        waiting, instructions = [pc], 0
        while waiting:
            start = waiting.pop()
            stop = program.next_flow[start] if start < count else count
            if start in found or stop >= count:
                continue
            leader = min((x for x in self._leaders if start < x < stop), default=stop)
            instructions += leader - start
            if instructions > _MOST_INSTRUCTIONS:
                break
            if leader < stop:
                found[start] = Block(start, leader, None, flows=False)
                waiting.append(leader)
                continue
            branch = program.flow[stop]
            found[start] = Block(start, stop, branch, flows=True)
            if branch is not None:
                waiting += [x for x in (branch.target, stop + 1) if self._is_warm(x)]
        return found


def _layout_of(machine: Machine, group: WaveGroup) -> Layout:
    """Returns what code may assume of a machine as it is."""
    tracked_s, tracked_v = (
        frozenset(i for i, complete in enumerate(defined.complete) if not complete)
        for defined in (machine.s_defined, machine.v_defined)
    )
    place = machine.lanes, machine.waves, machine.accum_offset
    return Layout(*place, group.mode, tracked_s, tracked_v)
