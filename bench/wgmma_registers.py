# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds `wgmma` in machine code for Hopper whose operand A may be overwritten while it is read.

    ptxas -arch=sm_90a kernel.ptx -o kernel.cubin
    nvdisasm -c kernel.cubin > kernel.sass
    python -m bankwise.bench.wgmma_registers kernel.sass ...

`wgmma` (in machine code `HGMMA`) reads its registers until somebody waits for it. ptxas 13.0 has
given a factor that a loop does not change the registers of one that the loop computes, so that the
former was gone behind the first iteration. This looks for both: between an `HGMMA` and what waits
for it nothing else may write its A, and what a loop has not written before it multiplies by it, it
may not write behind that. Instructions are read in the order of the text, which follows the control
flow where no branch stands inside a group. Loops are what branches go back over.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\d+ )?([A-Z][\w.]*)(.*?);")
_REGISTER = re.compile(r"R(\d+)\b")
_MULTIPLY = re.compile(r"HGMMA\.64x\d+x16\.\S+ R\d+, R(\d+),")
_WAIT = "WARPGROUP.DEPBAR"
_LABEL, _BRANCH = re.compile(r"^(\.L_x_\d+):"), re.compile(r"BRA\b.*`\((\.L_x_\d+)\)")
_A_REGISTERS = 4
_WIDTHS = ((4, (".128", ".M88.4", ".MT88.4")), (2, (".64", ".WIDE", ".M88.2", ".MT88.2")))


@dataclass(frozen=True)
class Instruction:
    """One instruction of machine code.

    Attributes:
        line: its number in the text, from 1.
        text: the name and the operands.
    """

    line: int
    text: str

    @property
    def factor(self) -> frozenset[int]:
        """Returns the registers that an `HGMMA` reads A from; none for one with a descriptor."""
        match = _MULTIPLY.match(self.text)
        return frozenset(range(int(match[1]), int(match[1]) + _A_REGISTERS)) if match else _NONE

    @property
    def written(self) -> frozenset[int]:
        """Returns the registers that an instruction other than `HGMMA` writes."""
        name, _, operands = self.text.partition(" ")
        match = _REGISTER.match(operands.strip())
        if match is None or name.startswith("HGMMA"):
            return _NONE
        width = next((width for width, marks in _WIDTHS if any(m in name for m in marks)), 1)
        return frozenset(range(int(match[1]), int(match[1]) + width))


_NONE: frozenset[int] = frozenset()


def instructions(sass: str) -> Iterator[Instruction]:
    """Yields the instructions in what `nvdisasm -c` has printed."""
    for number, line in enumerate(sass.splitlines(), 1):
        match = _INSTRUCTION.search(line)
        if match:
            yield Instruction(number, f"{match[1]} {match[2].strip()}")


def faults(sass: str) -> list[str]:
    """Returns a message for each `HGMMA` whose A may not be what was meant."""
    code = list(instructions(sass))
    return [*_overwritten(code), *_lost(code, _loops(sass, code))]


def _overwritten(code: Sequence[Instruction]) -> Iterator[str]:
    """Yields a message for each write to an A that is still read."""
    reading: set[int] = set()
    for each in code:
        if each.text.startswith(_WAIT):
            reading = set()
        if both := each.written & reading:
            yield f"line {each.line} writes R{min(both)}, which an HGMMA still reads"
        reading |= each.factor


def _lost(code: Sequence[Instruction], loops: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yields a message for each A from before a loop that the loop writes."""
    for first, last in loops:
        body = [each for each in code if first < each.line <= last]
        written: set[int] = set()
        kept: dict[int, int] = {}
        for each in body:
            kept |= dict.fromkeys(each.factor - written - {*kept}, each.line)
            written |= each.written
        for register in sorted(kept.keys() & written):
            yield f"line {kept[register]} reads R{register}, which the loop writes behind that"


def _loops(sass: str, code: Sequence[Instruction]) -> list[tuple[int, int]]:
    """Returns the first and the last line of each loop."""
    lines = enumerate(sass.splitlines(), 1)
    labels = {match[1]: number for number, line in lines if (match := _LABEL.match(line))}
    ends = ((match[1], each.line) for each in code if (match := _BRANCH.match(each.text)))
    return [(labels[name], end) for name, end in ends if labels.get(name, end) < end]


def main(paths: list[str]) -> int:
    """Prints what is found in files; returns 1 if anything is."""
    bad = False
    for path in paths:
        sass = Path(path).read_text()
        count = sum(each.text.startswith("HGMMA") for each in instructions(sass))
        messages = faults(sass)
        bad |= bool(messages)
        print(f"{path}: {count} HGMMA, {len(messages)} faults", *messages, sep="\n  ")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
