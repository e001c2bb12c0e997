# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a wave may ask of the hardware: what time it is, and where it runs.

No answer is that of a chip, on which both differ from run to run; each is one that a chip may give.
*Time* goes on by 4 cycles with each instruction that the emulator executes, so that whoever waits
for a time sees it pass; the constant clock has 100 MHz, a 21st of the other. *Places* are taken in
the order in which the timing model fills the chip: workgroups go to the dies in turn, on a die to
its compute units in turn, and the waves of a workgroup to the SIMDs in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from .chips import Chip, Isa
from .emulation_errors import UnknownInstructionError
from .hardware_registers import no_model, register_field
from .instruction_text import Instruction, Operand
from .residency import COMPUTE_UNITS
from .step import BuildContext, Step
from .wave_state import U32, WaveGroup

_CYCLES = 4
_CYCLES_OF_TICK = 21


def _cycles(group: WaveGroup) -> int:
    """Returns the time in cycles, which is later whenever somebody asks."""
    machine = group.machine
    machine.clock = max(machine.clock + 1, machine.steps_before + group.pc)
    return _CYCLES * machine.clock


def _time(instruction: Instruction, cycles_of_unit: int) -> Step:
    target = instruction.operands[0].scalars(2)

    def step(group: WaveGroup) -> None:
        time = np.full(group.count, _cycles(group) // cycles_of_unit, np.uint64)
        group.set_s64(target.index, time)

    return step


def _message_with_answer(instruction: Instruction) -> Step:
    """Returns the step of s_sendmsg_rtn_b64, by which RDNA asks for the time."""
    text = str(instruction.operands[1].value)
    if text != "sendmsg(MSG_RTN_GET_REALTIME)":
        raise UnknownInstructionError(instruction, f"the emulator has no model of '{text}'")
    return _time(instruction, _CYCLES_OF_TICK)


_TIMES: Mapping[str, Callable[[Instruction], Step]] = {
    "s_memtime": lambda instruction: _time(instruction, 1),
    "s_memrealtime": lambda instruction: _time(instruction, _CYCLES_OF_TICK),
    "s_sendmsg_rtn_b64": _message_with_answer,
}


def build(context: BuildContext, instruction: Instruction) -> Step | None:
    """Returns the step of an instruction that asks for the time; None for any other."""
    make = _TIMES.get(instruction.mnemonic)
    return make(instruction) if make else None


# Hardware registers.


def _place(group: WaveGroup) -> tuple[U32, U32, U32, U32]:
    """Returns the die, the unit on it, the slot for a workgroup, and the wave in it, each [n]."""
    machine = group.machine
    unit = COMPUTE_UNITS[machine.kernel.arch]
    x, y, _ = machine.dispatch.grid
    ids = machine.workgroups[group.workgroup_index]
    number = ids[:, 0] + x * (ids[:, 1] + y * ids[:, 2])
    wave = group.waves % machine.waves_per_workgroup
    on_die = number // unit.dies
    places = number % unit.dies, on_die % (unit.units // unit.dies), number // unit.units, wave
    die, place, slot, wave = (values.astype(np.uint32) for values in places)
    return die, place, slot, wave


def _id_cdna(group: WaveGroup) -> U32:
    """Returns HW_ID: bits 3:0 wave, 5:4 SIMD, 11:8 CU, 14:13 SE, 19:16 workgroup (CDNA3 ISA)."""
    _, unit, slot, wave = _place(group)
    slots = slot % np.uint32(8)
    place = (unit // np.uint32(4)) << np.uint32(8) | (unit % np.uint32(4)) << np.uint32(13)
    which = (wave // np.uint32(4) + slots) % np.uint32(8) | wave % np.uint32(4) << np.uint32(4)
    return place | which | slots << np.uint32(16)


def _id_rdna(group: WaveGroup) -> U32:
    """Returns HW_ID1: bits 4:0 wave, 9:8 SIMD, 13:10 WGP, 20:18 SE (RDNA3 ISA)."""
    _, unit, slot, wave = _place(group)
    wgp = unit // np.uint32(2)
    place = (wgp // np.uint32(8)) << np.uint32(18) | (wgp % np.uint32(8)) << np.uint32(10)
    simd = (unit % np.uint32(2)) * np.uint32(2) + wave % np.uint32(2)
    return place | simd << np.uint32(8) | (wave // np.uint32(2) + slot) % np.uint32(16)


def _low_cycles(group: WaveGroup) -> U32:
    return np.full(group.count, _cycles(group) & 0xFFFFFFFF, np.uint32)


def _zeros(group: WaveGroup) -> U32:
    return np.zeros(group.count, np.uint32)


_READ: Mapping[bool, Mapping[str, Callable[[WaveGroup], U32]]] = {
    False: {"HW_REG_HW_ID": _id_cdna, "HW_REG_XCC_ID": lambda group: _place(group)[0]},
    True: {
        "HW_REG_HW_ID1": _id_rdna,
        "HW_REG_SHADER_CYCLES": lambda group: _low_cycles(group) & np.uint32(0xFFFFF),
        "HW_REG_SHADER_CYCLES_LO": _low_cycles,
        "HW_REG_SHADER_CYCLES_HI": _zeros,
    },
}
# Bits 9:6 of this register of gfx1250 number a workgroup's cluster. They are 0 where it was
# launched alone, as all are here ("CLUSTER_ID" in the sources of AMD's comgr). There is no model of
# the other bits.
_CLUSTER = ("HW_REG_IB_STS2", 6, 0xF)


def register_reader(instruction: Instruction, operand: Operand) -> Callable[[WaveGroup], U32]:
    """Returns what reads a field of a hardware register other than MODE, [n].

    Raises:
        UnknownInstructionError: there is no model of the register.
    """
    name, offset, mask = register_field(instruction, operand)
    if instruction.chip.isa is Isa.GFX1250 and (name, offset, mask) == _CLUSTER:
        return _zeros
    read = readable(instruction.chip).get(name)
    if read is None:
        raise no_model(instruction, operand)
    return lambda group: read(group) >> np.uint32(offset) & np.uint32(mask)


def readable(chip: Chip) -> Mapping[str, Callable[[WaveGroup], U32]]:
    """Returns what reads each hardware register of a chip, besides MODE."""
    return _READ[chip.is_rdna]
