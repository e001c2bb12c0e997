# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of one function in LLVM's IR, as it is written instruction by instruction.

Code for one wave consists of *scalar* code, which runs once, and of loops over its lanes, which go
16 lanes at a time (`CHUNK`). While a loop is open, scalar code goes before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

CHUNK = 16
"""The lanes of a vector in the code; a row of lanes, within which most exchanges stay."""


@dataclass(eq=False)
class LaneLoop:
    """A loop over the lanes of a wave.

    Attributes:
        counter: the name of the number of a round's first lane, an i64.
        body: the lines of a round.
        tail: what every round ends with.
    """

    counter: str
    body: list[str] = field(default_factory=list[str])
    tail: list[str] = field(default_factory=list[str])


class Code:
    """The lines of one function.

    Attributes:
        lanes: the lanes of a wave.
        lines: the finished lines.
        allocas: the lines at the function's beginning that reserve memory.
        constants: the arrays of constants by their names, for the module.
        tables: the arrays in whose places the code reads and writes.
        functions: what the code calls by its number.
        leave: ends the open loop, with whatever its end needs.
        loop: the loop over lanes that is open.
    """

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.lines: list[str | LaneLoop] = []
        self.allocas: list[str] = []
        self.constants: dict[str, str] = {}
        self.loop: LaneLoop | None = None
        self.tables: list[npt.NDArray[np.generic]] = []
        self.functions: list[Callable[[], object]] = []
        self.leave: Callable[[], None] = self.close_loop
        self._count = 0

    def name(self) -> str:
        """Returns a name that nothing else has."""
        self._count += 1
        return f"%v{self._count}"

    def label(self, hint: str) -> str:
        """Returns the name of a basic block that no other has."""
        self._count += 1
        return f"{hint}{self._count}"

    def emit(self, text: str, lane: bool = False) -> str:
        """Adds an instruction with a result, whose name it returns, to the loop or before it."""
        name = self.name()
        self.line(f"{name} = {text}", lane)
        return name

    def line(self, text: str, lane: bool = False) -> None:
        """Adds an instruction without a result."""
        if lane:
            assert self.loop is not None
            self.loop.body.append(text)
        else:
            self.lines.append(text)

    def function(self, function: Callable[[], object]) -> int:
        """Returns the number by which the code calls a function."""
        self.functions.append(function)
        return len(self.functions) - 1

    def alloca(self, kind: str) -> str:
        """Returns the address of memory of a type that lives as long as the function runs."""
        name = self.name()
        self.allocas.append(f"{name} = alloca {kind}, align 64")
        return name

    def place(self, label: str) -> None:
        """Begins a basic block, to which what is before it goes on."""
        self.line(f"br label %{label}")
        self.start(label)

    def start(self, label: str) -> None:
        """Begins a basic block."""
        self.line(f"{label}:")

    def constant(self, kind: str, values: Sequence[str]) -> str:
        """Returns the address of an array of constants."""
        text = f"[{len(values)} x {kind}] [{', '.join(f'{kind} {value}' for value in values)}]"
        for name, known in self.constants.items():
            if known == text:
                return name
        name = f"@c{len(self.constants)}"
        self.constants[name] = text
        return name

    # -- loops over lanes ------------------------------------------------------------------------

    def open_loop(self) -> LaneLoop:
        """Returns the loop over lanes that is open, or begins one."""
        if self.loop is None:
            self.loop = LaneLoop(self.name())
        return self.loop

    def close_loop(self) -> None:
        """Ends the open loop, if there is one; its tail may still grow."""
        loop, self.loop = self.loop, None
        if loop is None:
            return
        before, head, behind = (self.label(hint) for hint in ("before", "lanes", "behind"))
        following, more = self.name(), self.name()
        self.place(before)
        self.lines += [
            f"br label %{head}",
            f"{head}:",
            f"{loop.counter} = phi i64 [0, %{before}], [{following}, %{head}]",
            loop,
            f"{following} = add i64 {loop.counter}, {CHUNK}",
            f"{more} = icmp ult i64 {following}, {self.lanes}",
            f"br i1 {more}, label %{head}, label %{behind}",
            f"{behind}:",
        ]

    def finished(self) -> list[str]:
        """Returns the lines, with those of the loops."""
        found: list[str] = []
        for line in self.lines:
            found += line.body + line.tail if isinstance(line, LaneLoop) else [line]
        return found
