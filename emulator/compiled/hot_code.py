# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the hot parts of a program while it runs, and has their machine code run.

A straight run of instructions that was executed often is compiled together with the hot runs that
branches lead to, as one region (`regions.py`), so that a loop goes round without Python. What the
executor sees is what it would see if the steps had run: registers, steps, rounds and counters are
the same whenever a region is left, and the region does nothing for which the executor must look
first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..assembly import Kernel
from ..supervision import COMPILE_AFTER
from ..wave_state import WaveGroup
from .branches import StepProgram

if TYPE_CHECKING:
    from .compiler import Compiler
    from .runner import Compiled, Progress

# A kernel of a few thousand instructions is done before LLVM is there. Steps of many waves take
# longer, but so does what remains of them in code: matrix products and unknown patterns.
_INSTRUCTIONS = 40
_FEW_WAVES, _PART = 16, 4


class HotCode:
    """The machine code of a program.

    Args:
        program: its steps and control flow.

    Attributes:
        threshold: how often a long straight run of few waves has run when it is compiled; 0 for
            never, 1 for at once.
    """

    def __init__(self, kernel: Kernel, program: StepProgram) -> None:
        self.threshold = COMPILE_AFTER
        self._program = program
        targets = {branch.target for branch in program.flow.values() if branch is not None}
        self._leaders = frozenset({*targets, *(index + 1 for index in program.flow), kernel.entry})
        self._heat = [0] * (len(program.steps) + 1)
        # Where code has been left because there was none.
        self._beside_code: set[int] = set()
        self._compiler: Compiler | None = None

    @property
    def compiled(self) -> list[Compiled]:
        """Returns the regions that have machine code."""
        return [] if self._compiler is None else self._compiler.compiled

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
            if not self._is_hot(pc):
                return found
            if self._compiler is None:
                self._compiler = self._make_compiler()
            done = self._compiler.run(portion, group, pc)
            if done is None:
                return found
            start, pc, lacks = done
            found = start, pc
            if not lacks:
                return found
            self._beside_code.add(pc)

    def flush(self, group: WaveGroup) -> None:
        """Counts what code has executed for a group that ends here."""
        if self._compiler is not None:
            self._compiler.flush(group)

    def _make_compiler(self) -> Compiler:
        from .compiler import Compiler

        return Compiler(self._program, self._leaders, self._is_warm)

    def _is_hot(self, pc: int) -> bool:
        """Returns whether the steps of a straight run have taken as long as to compile them."""
        if self.threshold <= 1:
            return self.threshold == 1
        length = self._program.next_flow[pc] + 1 - pc if pc < len(self._program.steps) else 1
        needed = self.threshold + _INSTRUCTIONS * self.threshold // length
        if pc in self._beside_code:
            needed = self.threshold
        return self._heat[pc] >= _PART * needed

    def _is_warm(self, pc: int) -> bool:
        """Returns whether a straight run is executed often enough to be compiled with others."""
        return pc < len(self._program.steps) and self._heat[pc] >= self.threshold // 10 * _PART
