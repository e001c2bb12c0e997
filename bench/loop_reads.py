# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which reads of the LDS stand in the loops of a kernel's assembly, and how wide they are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from ..emulator.assembly import Kernel
from ..emulator.instruction_text import Instruction

_BRANCHES = ("s_branch", "s_cbranch")
_SCALAR_READS = ("ds_read_u16", "ds_read_i16", "ds_read_u8", "ds_read_i8")

_PTX_LABEL = re.compile(r"^(\$\w+):")
_PTX_BRANCH = re.compile(r"\bbra(?:\.uni)?\s+(\$\w+);")
_PTX_LOAD = re.compile(r"\bld\.shared(?:\.v(?P<count>\d))?\.[a-z]+(?P<bits>\d+)\b")
_PTX_MATRIX = re.compile(r"\bldmatrix\.\S*?\.x(?P<count>\d)\b")

WORD_BITS = 32
"""The width of a register: a narrower load fills a part of one."""


def instructions_in_loops(kernel: Kernel) -> Iterator[Instruction]:
    """Yields the instructions between a label and a later branch back to it."""
    branches = (
        (kernel.labels.get(str(operand.value)), index)
        for index, instruction in enumerate(kernel.instructions)
        if instruction.mnemonic.startswith(_BRANCHES)
        for operand in instruction.operands
    )
    inside = _between((start, end) for start, end in branches if start is not None)
    return (kernel.instructions[index] for index in sorted(inside))


def scalar_reads_in_loops(kernel: Kernel) -> int:
    """Returns how many LDS reads of a single element of less than 32 bits stand in loops."""
    return sum(each.mnemonic.startswith(_SCALAR_READS) for each in instructions_in_loops(kernel))


def shared_loads_in_loops(ptx: str) -> dict[str, int]:
    """Returns how many loads from shared memory stand in the loops of PTX, by what they load.

    The names are the bits that a thread gets, such as `64`, and `ldmatrix.x4`. A load of less than
    32 bits is of a single element, for PTX has no wider element of its own that is as narrow.
    """
    lines = ptx.splitlines()
    labels = {
        match[1]: index for index, line in enumerate(lines) if (match := _PTX_LABEL.match(line))
    }
    branches = (
        (labels.get(match[1]), index)
        for index, line in enumerate(lines)
        if (match := _PTX_BRANCH.search(line))
    )
    found: Counter[str] = Counter()
    for index in _between((start, end) for start, end in branches if start is not None):
        if match := _PTX_LOAD.search(lines[index]):
            found[str(int(match["count"] or 1) * int(match["bits"]))] += 1
        elif match := _PTX_MATRIX.search(lines[index]):
            found[f"ldmatrix.x{match['count']}"] += 1
    return dict(found)


def _between(spans: Iterable[tuple[int, int]]) -> set[int]:
    """Returns the numbers in all spans; a span whose end lies before its start has none."""
    return {index for start, end in spans for index in range(start, end + 1)}
