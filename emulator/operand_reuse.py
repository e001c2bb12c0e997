# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packed instructions on gfx950 that may read what a register held before, found without running.

Two matrix instructions in a row may take one operand, A or B, from the same registers. The second
one then finds it in a cache, and its read of the registers is left out. On gfx950 a packed
instruction that runs beside it may lose its own read with it, and computes with an old value: not
always, and not in the same lanes each time. That is how llvm/llvm-project issue 206825 was
explained by its reporter, who had taken it for a race of `ds_read_b64` first (ROOT_CAUSE.md beside
the reproducer that the issue links, in github.com/jerryyin/scripts, July 2026). A bit that switches
the cache off makes it go away. Nothing official says which instructions are hit.

So this module looks for what the two kernels that are published as racing have, and the three that
are published beside them as stable have not: a packed instruction with two 32-bit results that
takes the second register of a pair for its low result,

    v_mfma_f32_16x16x32_bf16 v[24:27], v[88:91], v[6:9], v[0:3]
    v_pk_mul_f32 v[2:3], v[30:31], v[84:85] op_sel:[0,1]             v85 for both results
    v_mfma_f32_16x16x32_bf16 v[28:31], v[88:91], v[10:13], v[0:3]    v[88:91] again

while the second matrix instruction may run, or shortly before. LLVM makes such packed instructions
where a lane has loaded two neighbours at once, as by `ds_read_b64`, and multiplies by each of them
apart. What is found is a suspicion; that nothing is found is no proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .assembly import Kernel
from .chips import CDNA4
from .counters import instruction_class
from .instruction_text import Instruction, Name, Register

_PACKED = frozenset({"v_pk_add_f32", "v_pk_mul_f32", "v_pk_fma_f32", "v_pk_mov_b32"})
_WINDOW = 16
"""Instructions that issue while the longest matrix instruction runs: 16 passes of 4 cycles."""


@dataclass(frozen=True)
class SuspectRead:
    """A packed instruction beside matrix instructions that share an operand, by their indices."""

    packed: int
    first: int
    second: int

    def message(self, kernel: Kernel) -> str:
        """Returns what is suspected, with the lines of the file."""
        one, other, packed = (
            kernel.instructions[index] for index in (self.first, self.second, self.packed)
        )
        return (
            f"{kernel.source}:{packed.line}: {packed.mnemonic} may read an old value on "
            f"{kernel.arch}: the matrix instruction of line {other.line} takes an operand from the "
            f"registers of the one of line {one.line} (llvm/llvm-project issue 206825)"
        )


def suspect_reads(kernel: Kernel) -> list[SuspectRead]:
    """Returns each packed instruction that may read an old value, once, in the order of the text.

    There are none on other chips than gfx950.
    """
    if kernel.arch != CDNA4:
        return []
    found: dict[int, SuspectRead] = {}
    flow = _Flow(kernel)
    for packed, instruction in enumerate(kernel.instructions):
        if instruction.mnemonic not in _PACKED or not any(instruction.integers("op_sel", ())):
            continue
        for first, second in flow.around(packed):
            if _share(kernel.instructions[first], kernel.instructions[second]):
                found.setdefault(packed, SuspectRead(packed, first, second))
    return list(found.values())


def _is_matrix(instruction: Instruction) -> bool:
    return instruction_class(instruction) == "MFMA"


def _share(one: Instruction, other: Instruction) -> bool:
    """Returns whether two matrix instructions take A, or B, from the same registers."""
    return any(
        isinstance(one.operands[place].value, Register)
        and one.operands[place].value == other.operands[place].value
        for place in (1, 2)
    )


class _Flow:
    """Which instructions may follow which."""

    def __init__(self, kernel: Kernel) -> None:
        """Reads the branches of a kernel."""
        self.instructions = kernel.instructions
        self.after = [list(_followers(kernel, index)) for index in range(len(self.instructions))]
        self.before: list[list[int]] = [[] for _ in self.instructions]
        for index, followers in enumerate(self.after):
            for follower in followers:
                self.before[follower].append(index)

    def around(self, packed: int) -> Iterator[tuple[int, int]]:
        """Yields matrix instructions in a row of which the second may run beside `packed`."""
        earlier = self.matrices(packed, self.before)
        for second in self.matrices(packed, self.after, _WINDOW):
            yield from ((first, second) for first in earlier)
        for second in self.matrices(packed, self.before, _WINDOW):
            yield from ((first, second) for first in self.matrices(second, self.before))

    def matrices(
        self, start: int, steps: Sequence[Sequence[int]], most: int | None = None
    ) -> list[int]:
        """Returns the first matrix instruction on each path from `start`, in at most `most` steps.

        `steps` are what follows each instruction, or what precedes it.
        """
        seen, found, edge, distance = {start}, list[int](), list(steps[start]), 1
        while edge and (most is None or distance <= most):
            onward: list[int] = []
            for index in edge:
                if index in seen and index != start:
                    continue
                seen.add(index)
                if _is_matrix(self.instructions[index]):
                    found.append(index)
                elif index != start:
                    onward += steps[index]
            edge, distance = onward, distance + 1
        return list(dict.fromkeys(found))


def _followers(kernel: Kernel, index: int) -> Iterator[int]:
    name = kernel.instructions[index].mnemonic
    labels: Mapping[str, int] = kernel.labels
    if name.startswith(("s_branch", "s_cbranch")):
        target = kernel.instructions[index].operands[0].value
        if isinstance(target, Name) and target.text in labels:
            yield labels[target.text]
    if name not in ("s_branch", "s_endpgm") and index + 1 < len(kernel.instructions):
        yield index + 1
