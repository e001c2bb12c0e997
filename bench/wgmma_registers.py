# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds `wgmma` in machine code for Hopper whose registers are used before they are waited for.

    ptxas -arch=sm_90a kernel.ptx -o kernel.cubin
    nvdisasm -c kernel.cubin > kernel.sass
    python -m bankwise.bench.wgmma_registers kernel.sass ...

`wgmma` (in machine code `HGMMA`) reads its registers until somebody waits for it. ptxas 13.0 has
given a factor that a loop does not change the registers of one that the loop computes, so that the
former was gone behind the first iteration. This looks for both: between an `HGMMA` and what waits
for it nothing else may write its A, and what a loop has not written before it multiplies by it, it
may not write behind that. Nor may anything use the sums, of groups that run on into the next
iteration of a loop, too. Instructions are read in the order of the text, which follows the control
flow where no branch stands inside a group. Loops are what branches go back over.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\d+ )?([A-Z][\w.]*)(.*?);")
_REGISTER = re.compile(r"\bR(\d+)\b")
_MULTIPLY = re.compile(r"HGMMA\.64x\d+x16\.\S+ R\d+, R(\d+),")
_SUMS = re.compile(r"HGMMA\.64x(\d+)x16\.F32\S* R(\d+),")
_WAIT, _GROUP_END = re.compile(r"WARPGROUP\.DEPBAR\.LE gsb0, 0x([0-9a-f]+)"), "gsb0"
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
    def sums(self) -> frozenset[int]:
        """Returns the registers that an `HGMMA` adds to: half of its columns, in f32."""
        match = _SUMS.match(self.text)
        return (
            frozenset(range(int(match[2]), int(match[2]) + int(match[1]) // 2)) if match else _NONE
        )

    @property
    def named(self) -> frozenset[int]:
        """Returns the registers that an instruction names or writes."""
        return self.written | {int(each) for each in _REGISTER.findall(self.text)}

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
    loops = _loops(sass, code)
    # What an iteration leaves under way meets the beginning of the next one.
    twice = [each for first, last in loops for each in _body(code, first, last) * 2]
    return [*dict.fromkeys((*_touched(code), *_touched(twice))), *_lost(code, loops)]


def _touched(code: Sequence[Instruction]) -> Iterator[str]:
    """Yields a message for each register that is used although a group of `HGMMA` has it."""
    groups: list[tuple[set[int], set[int]]] = [(set(), set())]
    for each in code:
        if wait := _WAIT.match(each.text):
            # The last one is that to which the next `HGMMA` belongs.
            groups = groups[-int(wait[1], 16) - 1 :]
        elif each.text.startswith("HGMMA"):
            reading, adding = groups[-1]
            reading |= each.factor
            adding |= each.sums
            if _GROUP_END in each.text:
                groups.append((set(), set()))
        else:
            reading, adding = (set[int]().union(*sets) for sets in zip(*groups, strict=True))
            if both := each.written & reading:
                yield f"line {each.line} writes R{min(both)}, which an HGMMA still reads"
            if both := each.named & adding:
                yield f"line {each.line} uses R{min(both)}, to which an HGMMA still adds"


def _lost(code: Sequence[Instruction], loops: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yields a message for each A from before a loop that the loop writes."""
    for first, last in loops:
        body = _body(code, first, last)
        written: set[int] = set()
        kept: dict[int, int] = {}
        for each in body:
            kept |= dict.fromkeys(each.factor - written - {*kept}, each.line)
            written |= each.written
        for register in sorted(kept.keys() & written):
            yield f"line {kept[register]} reads R{register}, which the loop writes behind that"


def _body(code: Sequence[Instruction], first: int, last: int) -> list[Instruction]:
    return [each for each in code if first < each.line <= last]


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
