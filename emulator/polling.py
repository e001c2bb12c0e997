# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops in which a wave waits for what another wave will store.

Such a loop *polls*: it loads from one place again and again, and what it loads decides whether the
loop goes on. The text tells which loops can poll: a loaded value reaches the condition of a branch
that can leave the loop. A loop over the elements of a tile does that too where its data end it, so
a wave is only seen to poll while it runs: it comes to the end of such a loop twice with the same
addresses in the registers that the loop's loads take them from.

A wave that polls lets the others take their turns (`turns.py`). And the words that it polls are no
race, because they are there to tell it something (`lds_order.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .assembly import Kernel
from .instruction_text import EXEC, VCC, Instruction, Name, Register
from .waits import RegisterKey, queues_of, registers_of, will_load
from .wave_state import SCC, WaveGroup


@dataclass(frozen=True)
class PollingLoop:
    """A loop that can poll.

    Attributes:
        first: the index of its first instruction.
        last: the index of the branch back to there.
        polls: the indices of the loads and atomics that alone decide whether it goes on, with
            what does not change from round to round. A load of the number of rounds is none.
        addresses: the registers from which its loads and atomics take addresses and data.
    """

    first: int
    last: int
    polls: frozenset[int]
    addresses: tuple[Register, ...]


def polling_loops(kernel: Kernel) -> Mapping[int, PollingLoop]:
    """Returns the loops of a kernel that can poll, by the indices of their branches back."""
    found: dict[int, PollingLoop] = {}
    flows: dict[int, Flow] = {}
    for last, instruction in enumerate(kernel.instructions):
        first = _target(kernel, instruction)
        if first is None or first > last:
            continue
        for index in range(first, last + 1):
            flows.setdefault(index, flow_of(kernel, index))
        loop = range(first, last + 1)
        body = {index: flows[index] for index in loop}
        ends = _decided_by(body, {i: flow.loaded for i, flow in body.items()}, loop)
        if not any(ends.values()):
            continue
        counts = {i: flow.writes for i, flow in body.items() if flow.counts}
        counted = frozenset().union(*_decided_by(body, counts, loop).values())
        registers = {r: None for i in ends if ends[i] for r in _addresses(kernel.instructions[i])}
        polls = frozenset(index for index, found in ends.items() if found - counted)
        found[last] = PollingLoop(first, last, polls, tuple(registers))
    return found


class Flow(NamedTuple):
    """What an instruction does to registers.

    Attributes:
        loaded: what a load or an atomic brings something into.
        reads: what it reads. That the active lanes decide what it writes is left out.
        writes: what it writes.
        counts: whether it computes a register anew from what it was, as counters and addresses are.
        condition: what decides whether a branch is taken.
        target: where a branch goes to, if that is known.
    """

    loaded: frozenset[RegisterKey]
    reads: frozenset[RegisterKey]
    writes: frozenset[RegisterKey]
    counts: bool
    condition: frozenset[RegisterKey]
    target: int | None


def _leaves(flow: Flow, index: int, loop: range) -> bool:
    """Returns whether a branch decides if a loop goes on: it goes back at the end, or out."""
    return index == loop[-1] or flow.target not in loop


def _decided_by(
    body: Mapping[int, Flow], sources: Mapping[int, frozenset[RegisterKey]], loop: range
) -> dict[int, frozenset[int]]:
    """Returns the branches that decide whether a loop goes on, by the values that they depend on.

    The values are followed from register to register, until no further register depends on them.
    SCC and VCC are computed anew all the time, and depend on what was written to them last.

    Args:
        sources: the registers that hold the values behind some instructions.
        loop: the indices of all its instructions.
    """
    bits = {index: 1 << number for number, index in enumerate(i for i in sources if sources[i])}
    # For each register a number with the bits of the values that it depends on.
    depending: dict[RegisterKey, int] = {}
    branches = dict.fromkeys((i for i, f in body.items() if f.condition and _leaves(f, i, loop)), 0)
    changed = bool(bits)
    while changed:
        now = dict(depending)
        for index, flow in body.items():
            if index in branches:
                branches[index] |= _either(now, flow.condition)
            read = _either(now, flow.reads)
            for key in flow.writes:
                now[key] = read if key in _COMPUTED_ANEW else now.get(key, 0) | read
            for key in sources.get(index, ()):
                now[key] = now.get(key, 0) | bits[index]
        changed = False
        for key, found in now.items():
            before = depending.get(key, 0)
            depending[key] = before | found
            changed = changed or depending[key] != before
    return {
        index: frozenset(branch for branch, found in branches.items() if found & bit)
        for index, bit in bits.items()
    }


def _either(depending: Mapping[RegisterKey, int], keys: frozenset[RegisterKey]) -> int:
    """Returns the bits of all values that some registers depend on."""
    found = 0
    for key in keys:
        found |= depending.get(key, 0)
    return found


SCC_KEY: RegisterKey = ("s", SCC)
_EXEC_KEYS = frozenset(registers_of(EXEC))
_COMPUTED_ANEW = frozenset({SCC_KEY, *registers_of(VCC)})


def _target(kernel: Kernel, instruction: Instruction) -> int | None:
    """Returns where a branch goes to; None if the instruction is no branch to a label."""
    if not instruction.mnemonic.startswith(("s_branch", "s_cbranch")) or not instruction.operands:
        return None
    value = instruction.operands[0].value
    return kernel.labels.get(value.text) if isinstance(value, Name) else None


def flow_of(kernel: Kernel, index: int) -> Flow:
    """Returns what the instruction at an index does to registers."""
    instruction = kernel.instructions[index]
    name = instruction.mnemonic
    loaded = frozenset(will_load(instruction))
    reads: set[RegisterKey] = set()
    writes: set[RegisterKey] = set()
    for part in instruction.parts or (instruction,):
        operands = [
            registers_of(value) if isinstance(value := operand.value, Register) else ()
            for operand in part.operands
        ]
        results = _results(part)
        first = 0 if _ACCUMULATES.search(part.mnemonic) else results
        reads.update(key for keys in operands[first:] for key in keys)
        writes.update(key for keys in operands[:results] for key in keys)
    if name.startswith("s_") and not _KEEPS_SCC.match(name):
        writes.add(SCC_KEY)
    if _READS_SCC.match(name):
        reads.add(SCC_KEY)
    if "saveexec" in name or name.startswith("v_cmpx"):
        writes |= _EXEC_KEYS
    if "saveexec" in name:
        reads |= _EXEC_KEYS
    counts = not loaded and not _MASKS.match(name) and not (reads & writes) <= _COMPUTED_ANEW
    target = _target(kernel, instruction)
    return Flow(loaded, frozenset(reads), frozenset(writes), counts, _condition(name), target)


def _results(instruction: Instruction) -> int:
    """Returns how many of an instruction's first operands it writes."""
    if _WITHOUT_RESULT.match(instruction.mnemonic):
        return 0
    if queues_of(instruction) and not will_load(instruction):
        return 0
    return 2 if _TWO_RESULTS.search(instruction.mnemonic) else 1


_TWO_RESULTS = re.compile(r"_co_|v_div_scale|v_mad_[iu]64|_swap_")


_ACCUMULATES = re.compile(r"_(addk|mulk|add_co_k|fmac|mac|pk_fmac|dot\w*c|mfmac|smfmac)_")
# Loops whose lanes leave one by one keep a mask of those that have left.
_MASKS = re.compile(r"s_(and|or|xor|andn2|orn2|and_not1|or_not1)_.*b(32|64)$")
_WITHOUT_RESULT = re.compile("s_cmp|s_bitcmp|s_setpc")
_KEEPS_SCC = re.compile(
    "s_(load|store|atomic|dcache|buffer|mov|cmov|cselect|getreg|setreg|mul|sext|brev|bitset|pack|ff|flbit|c[lt]z|"
    "waitcnt|wait_|nop|sleep|branch|cbranch|barrier|getpc|setpc|swappc|memtime|memrealtime)"
)
_READS_SCC = re.compile("s_(cselect|cmov|addc|subb|add_co_ci|sub_co_ci)")


def _condition(mnemonic: str) -> frozenset[RegisterKey]:
    """Returns what a conditional branch depends on; nothing for any other instruction."""
    if not mnemonic.startswith("s_cbranch"):
        return frozenset()
    if "scc" in mnemonic:
        return frozenset({SCC_KEY})
    return frozenset(registers_of(VCC)) if "vcc" in mnemonic else _EXEC_KEYS


def _addresses(instruction: Instruction) -> list[Register]:
    """Returns the registers from which a load or an atomic takes addresses and data."""
    operands = (operand.value for operand in instruction.operands[1:])
    return [value for value in operands if isinstance(value, Register)]


_PERIOD = 16


@dataclass
class Poll:
    """What is known of the waves that go round one loop.

    It looks at two of 16 rounds, so that a loop that does not poll costs little more.
    """

    loop: PollingLoop
    rounds: int = 0
    waves: npt.NDArray[np.intp] | None = None
    words: list[npt.NDArray[np.uint32]] = field(default_factory=list)

    def repeats(self, group: WaveGroup) -> bool:
        """Returns whether a group is seen to go round with the same addresses as before."""
        self.rounds += 1
        if self.waves is None and self.rounds % _PERIOD != 1:
            return False
        words, before = self._words(group), self.waves
        if before is None or not np.array_equal(before, group.waves):
            self.waves, self.words = group.waves, words
            return False
        if all(map(np.array_equal, words, self.words)):
            return True
        self.waves = None
        return False

    def unseen(self) -> int:
        """Returns how many rounds from now on nobody looks at."""
        return 0 if self.waves is not None else -self.rounds % _PERIOD

    def skip(self, rounds: int) -> None:
        """Notes rounds that nobody had to look at."""
        self.rounds += rounds

    def _words(self, group: WaveGroup) -> list[npt.NDArray[np.uint32]]:
        machine = group.machine
        found: list[npt.NDArray[np.uint32]] = []
        for register in self.loop.addresses:
            scalar = register.file == "s"
            first = register.index if scalar else machine.vector_index(register)
            file = machine.sgpr if scalar else machine.vgpr
            found.append(file[first : first + register.count][:, group.rows].copy())
        return found
