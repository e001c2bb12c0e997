# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Barriers: `s_barrier`, and from RDNA4 on its two halves.

RDNA4 has no `s_barrier`. A wave *signals* that it has come to the barrier of its workgroup, goes
on, and *waits* later until all waves have signalled:

    s_barrier_signal -1
    ...                     what needs no order
    s_barrier_wait -1

What a wave does between the two is ordered neither with what other waves do before their signal nor
with what they do behind their wait, and races with both (`lds.py`). The barrier of a workgroup is
number -1. Named barriers, and those of clusters and of trap handlers, are not modelled.

The executor holds waves at a barrier, and lets them go.
"""

from __future__ import annotations

import numpy as np

from .emulation_errors import EmulationError, UnknownInstructionError
from .instruction_text import AssemblyError, Instruction, Literal
from .step import BuildContext, Step
from .wave_state import WaveGroup

HELD_AT = frozenset({"s_barrier", "s_barrier_wait"})
"""The instructions at which a wave stays until all waves of its workgroup have come."""
_WORKGROUP = -1
_WORKGROUP_16_BITS = 0xFFFF


def build(context: BuildContext, instruction: Instruction) -> Step | None:
    """Returns the step of an instruction of a barrier; None for any other.

    Raises:
        UnknownInstructionError: the chip has no such instruction, or the barrier is not modelled.
    """
    name = instruction.mnemonic
    if not name.startswith("s_barrier"):
        return None
    chip = instruction.chip
    split = chip.has_split_counters
    if (name == "s_barrier") is split:
        raise UnknownInstructionError(instruction, f"{chip.name} has no '{name}'")
    if name == "s_barrier":
        return lambda group: None
    if name not in _STEPS:
        raise UnknownInstructionError(instruction, "no model of named barriers")
    _expect_workgroup(instruction)
    return _STEPS[name]


def _expect_workgroup(instruction: Instruction) -> None:
    """Refuses every barrier but that of a workgroup."""
    (operand,) = instruction.operands
    number = operand.value
    if not isinstance(number, Literal):
        raise UnknownInstructionError(instruction, "no model of named barriers")
    waits = instruction.mnemonic == "s_barrier_wait"
    if number.value != _WORKGROUP and not (waits and number.value == _WORKGROUP_16_BITS):
        raise AssemblyError(f"no model of barrier {number}: a workgroup's is {_WORKGROUP}")


def _signal(group: WaveGroup) -> None:
    if group.machine.lds.signalled[group.waves].any():
        raise EmulationError("a wave signals a barrier again before it has waited for it")
    group.machine.lds.signal(group.waves)


def _signal_is_first(group: WaveGroup) -> None:
    """Signals, and tells the first wave of each workgroup in SCC that it is the first.

    Of waves that signal at once, the one with the lowest number is.
    """
    lds, index = group.machine.lds, group.workgroup_index
    signalled = lds.signalled.reshape(-1, lds.waves_per_workgroup)
    others = np.logical_or.reduce(signalled, axis=1)[index]
    # Waves ascend, and so do their workgroups.
    lowest = np.diff(index, prepend=-1) != 0
    _signal(group)
    group.set_scc(lowest & ~others)


def _wait(group: WaveGroup) -> None:
    if not group.machine.lds.signalled[group.waves].all():
        raise EmulationError("a wave waits for a barrier that it has not signalled")


_STEPS = {
    "s_barrier_signal": _signal,
    "s_barrier_signal_isfirst": _signal_is_first,
    "s_barrier_wait": _wait,
}
