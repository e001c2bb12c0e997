# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instructions and operand forms by which a lane sees another lane's registers.

DPP ("data parallel primitives") lets the first source of a VALU instruction come from another lane,
found by a fixed pattern in *rows* of 16 lanes (CDNA3 ISA 6.6.2). Worked example: with `row_shr:1`
lane 5 reads lane 4, and lane 16, the first of its row, has no source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from .chips import LANES
from .emulation_errors import UnknownInstructionError
from .instruction_text import AssemblyError, Instruction, Operand
from .operands import scalar_destination, scalar_source, vector_registers, vector_source
from .step import BuildContext, Step
from .wave_state import U32, LaneMask, WaveGroup

_LANE = np.arange(LANES)
_ROW, _IN_ROW = _LANE // 16, _LANE % 16

Lanes = npt.NDArray[np.intp]


# Patterns: for each lane the lane that it reads; -1 where there is none.


def _within(source: Lanes, same: Lanes, of: Lanes) -> Lanes:
    """Returns the lanes `source` that lie in the block `of` of the reading lane.

    -1 stands in place of the others. `same` holds the block of each lane.
    """
    inside = (source >= 0) & (source < LANES)
    return np.where(inside & (same[source % LANES] == of), source, -1)


def _row_shift(by: int) -> Lanes:
    return _within(_LANE + by, _ROW, _ROW)


def _wave_shift(by: int) -> Lanes:
    return _within(_LANE + by, np.zeros(LANES, np.intp), np.zeros(LANES, np.intp))


def _row_broadcast(last: int) -> Lanes:
    """Returns for each block of `last` + 1 lanes the last lane of the block before it."""
    block = last + 1
    return np.where(_LANE // block > 0, _LANE // block * block - 1, -1)


_PATTERNS: Mapping[str, Callable[[int], Lanes]] = {
    "row_shl": _row_shift,
    "row_shr": lambda n: _row_shift(-n),
    "row_ror": lambda n: _ROW * 16 + (_IN_ROW - n) % 16,
    "wave_shl": _wave_shift,
    "wave_shr": lambda n: _wave_shift(-n),
    "wave_rol": lambda n: (_LANE + n) % LANES,
    "wave_ror": lambda n: (_LANE - n) % LANES,
    "row_mirror": lambda _: _ROW * 16 + 15 - _IN_ROW,
    "row_half_mirror": lambda _: _LANE // 8 * 8 + 7 - _LANE % 8,
    "row_bcast": _row_broadcast,
    "row_newbcast": lambda n: _ROW * 16 + n,
}
_ARGUMENTS: Mapping[str, range] = {
    **dict.fromkeys(("row_shl", "row_shr", "row_ror"), range(1, 16)),
    **dict.fromkeys(("wave_shl", "wave_shr", "wave_rol", "wave_ror"), range(1, 2)),
    "row_bcast": range(15, 32, 16),
    "row_newbcast": range(16),
}


@dataclass(frozen=True)
class DppLanes:
    """The lanes that a DPP instruction reads and writes.

    Attributes:
        source: [64], the lane that each lane reads; -1 where the pattern has none.
        enabled: [64], the lanes that `row_mask` and `bank_mask` let write.
        bound_zero: whether a lane whose source is missing or inactive reads 0 (`bound_ctrl`);
            otherwise it is not written.
    """

    source: Lanes
    enabled: npt.NDArray[np.bool_]
    bound_zero: bool

    def read(self, group: WaveGroup, words: U32) -> U32:
        """Returns the words [n, 64] of the lanes that each lane reads; 0 where it reads none."""
        moved = words.take(self.source, axis=1, mode="wrap")
        valid = self._valid(group)
        return moved if valid is None else np.where(valid, moved, np.uint32(0))

    def writes(self, group: WaveGroup) -> LaneMask | None:
        """Returns the lanes [n, 64] that are written; None if all active lanes are."""
        valid = self._valid(group)
        if self._all_enabled and (self.bound_zero or valid is None):
            return None
        lanes = group.active_lanes() & self.enabled
        return lanes if self.bound_zero or valid is None else lanes & valid

    def reads(self, group: WaveGroup) -> LaneMask:
        """Returns the lanes [n, 64] that use what they read."""
        valid = self._valid(group)
        lanes = group.active_lanes() & self.enabled
        return lanes if valid is None else lanes & valid

    def _valid(self, group: WaveGroup) -> LaneMask | None:
        """Returns the lanes that have an active source; None if all have one."""
        if group.active is not None:
            return self._present & group.active[:, self.source]
        return None if self._all_present else np.broadcast_to(self._present, (group.count, LANES))

    @cached_property
    def _all_enabled(self) -> bool:
        return bool(self.enabled.all())

    @cached_property
    def _present(self) -> npt.NDArray[np.bool_]:
        return self.source >= 0

    @cached_property
    def _all_present(self) -> bool:
        return bool(self._present.all())


def uses_dpp(instruction: Instruction) -> bool:
    """Returns whether the first source comes from other lanes."""
    return instruction.mnemonic.endswith("_dpp")


def dpp_lanes(instruction: Instruction) -> DppLanes:
    """Returns the lanes of a DPP instruction, from its modifiers."""
    row_mask, bank_mask = instruction.integer("row_mask", 15), instruction.integer("bank_mask", 15)
    enabled = (row_mask >> _ROW & 1) & (bank_mask >> _IN_ROW // 4 & 1)
    return DppLanes(
        source=_pattern(instruction),
        enabled=enabled.astype(bool),
        bound_zero=bool(instruction.modifiers.get("bound_ctrl", False)),
    )


def _pattern(instruction: Instruction) -> Lanes:
    modifiers = instruction.modifiers
    if "quad_perm" in modifiers:
        picks = instruction.integers("quad_perm", ())
        if len(picks) != 4 or not all(0 <= pick < 4 for pick in picks):
            raise AssemblyError(f"quad_perm:{list(picks)} is no choice of four lanes")
        return _LANE // 4 * 4 + np.array(picks)[_LANE % 4]
    for name, pattern in _PATTERNS.items():
        if name in modifiers:
            argument = instruction.integer(name) if name in _ARGUMENTS else 0
            if name in _ARGUMENTS and argument not in _ARGUMENTS[name]:
                raise AssemblyError(f"{name}:{argument} does not exist")
            return pattern(argument)
    raise UnknownInstructionError(instruction, "no model of this DPP pattern")


# Instructions.


def _read_first_lane(instruction: Instruction) -> Step:
    """Returns the step of v_readfirstlane, which reads the lowest active lane.

    It reads lane 0 if no lane is active.
    """
    write = _from_lane(instruction)

    def step(group: WaveGroup) -> None:
        lanes = np.zeros(group.count, np.intp)
        if group.active is not None:
            lanes = group.active.argmax(axis=1)
        write(group, lanes)

    return step


def _from_lane(instruction: Instruction) -> Callable[[WaveGroup, Lanes], None]:
    """Makes a function that moves one lane of a vector register to a scalar register."""
    register = vector_registers(instruction.operands[1], 1)
    destination = scalar_destination(instruction.operands[0], "u32")

    def write(group: WaveGroup, lanes: Lanes) -> None:
        destination(group, group.v_of_lane(group.machine.vector_index(register), lanes))

    return write


def _lane_select(operand: Operand) -> Callable[[WaveGroup], Lanes]:
    select = scalar_source(operand, "u32")
    return lambda group: (select(group) & np.uint32(LANES - 1)).astype(np.intp)


def _read_lane(instruction: Instruction) -> Step:
    """Returns the step of v_readlane: the value of the selected lane, active or not."""
    write, lanes = _from_lane(instruction), _lane_select(instruction.operands[2])
    return lambda group: write(group, lanes(group))


def _write_lane(instruction: Instruction) -> Step:
    """Returns the step of v_writelane: it sets the selected lane, active or not."""
    register = vector_registers(instruction.operands[0], 1)
    source = scalar_source(instruction.operands[1], "u32")
    lanes = _lane_select(instruction.operands[2])

    def step(group: WaveGroup) -> None:
        chosen = lanes(group)[:, None] == _LANE
        index = group.machine.vector_index(register)
        group.set_v(index, source(group)[:, None], chosen)

    return step


def _swap(instruction: Instruction) -> Step:
    """Returns the step of v_swap: it exchanges two registers, lane by lane."""
    first, second = (vector_registers(operand, 1) for operand in instruction.operands)

    def step(group: WaveGroup) -> None:
        a, b = (group.machine.vector_index(register) for register in (first, second))
        old = group.v(a).copy()
        group.set_v(a, group.v(b))
        group.set_v(b, old)

    return step


def _permlane_swap(instruction: Instruction, block: int) -> Step:
    """Returns the step of v_permlane{16,32}_swap_b32 (CDNA4).

    The odd blocks of lanes of the destination change places with the even blocks of the source.
    """
    odd = _LANE // block % 2 == 1
    if instruction.modifiers:
        raise UnknownInstructionError(instruction, "no model of its modifiers")
    first, second = (vector_registers(operand, 1) for operand in instruction.operands)

    def step(group: WaveGroup) -> None:
        if group.active is not None:
            raise UnknownInstructionError(instruction, "no model of it with inactive lanes")
        a, b = (group.machine.vector_index(register) for register in (first, second))
        low, high = group.v(a), group.v(b)
        moved_low = np.where(odd, high[:, _LANE ^ block], low)
        moved_high = np.where(odd, high, low[:, _LANE ^ block])
        group.set_v(a, moved_low)
        group.set_v(b, moved_high)

    return step


def _count_bits_below(instruction: Instruction, word: int) -> Step:
    """Returns the step of v_mbcnt, which counts for each lane the bits of a mask below it.

    The mask is that of lanes 0 to 31 or of lanes 32 to 63; a number is added to the count.
    """
    below = np.array(
        [(1 << lane) - 1 >> 32 * word & 0xFFFFFFFF for lane in range(LANES)], np.uint32
    )
    target = vector_registers(instruction.operands[0], 1)
    mask, addend = (vector_source(operand, "u32") for operand in instruction.operands[1:])

    def step(group: WaveGroup) -> None:
        count = np.bitwise_count(mask(group) & below).astype(np.uint32)
        group.set_v(group.machine.vector_index(target), count + addend(group))

    return step


_INSTRUCTIONS: Mapping[str, Callable[[Instruction], Step]] = {
    "v_readfirstlane_b32": _read_first_lane,
    "v_readlane_b32": _read_lane,
    "v_writelane_b32": _write_lane,
    "v_swap_b32": _swap,
    "v_permlane16_swap_b32": partial(_permlane_swap, block=16),
    "v_permlane32_swap_b32": partial(_permlane_swap, block=32),
    "v_mbcnt_lo_u32_b32": partial(_count_bits_below, word=0),
    "v_mbcnt_hi_u32_b32": partial(_count_bits_below, word=1),
}


def build(context: BuildContext, instruction: Instruction) -> Step | None:
    """Returns the step of an instruction that moves data between lanes, or None if it is none."""
    name = instruction.mnemonic.removesuffix("_e32").removesuffix("_e64")
    make = _INSTRUCTIONS.get(name)
    return make(instruction) if make else None
