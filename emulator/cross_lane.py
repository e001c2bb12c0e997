# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instructions and operand forms by which a lane sees another lane's registers.

DPP ("data parallel primitives") lets the first source of a VALU instruction come from another lane,
found by a fixed pattern in *rows* of 16 lanes (CDNA3 ISA 6.6.2). Worked example: with `row_shr:1`
lane 5 reads lane 4, and lane 16, the first of its row, has no source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from .emulation_errors import UnknownInstructionError
from .instruction_text import AssemblyError, Instruction, Operand
from .mnemonics import base_name
from .operands import scalar_destination, scalar_source, vector_registers, vector_source
from .step import BuildContext, Step
from .wave_state import U32, LaneMask, WaveGroup

Lanes = npt.NDArray[np.intp]


# Patterns: for each of some lanes the lane that it reads; -1 where there is none.


def _within(source: Lanes, same: Lanes, of: Lanes) -> Lanes:
    """Returns the lanes `source` that lie in the block `of` of the reading lane.

    -1 stands in place of the others. `same` holds the block of each lane.
    """
    inside = (source >= 0) & (source < len(same))
    return np.where(inside & (same[source % len(same)] == of), source, -1)


def _row_shift(lane: Lanes, by: int) -> Lanes:
    return _within(lane + by, lane // 16, lane // 16)


def _wave_shift(lane: Lanes, by: int) -> Lanes:
    return _within(lane + by, np.zeros_like(lane), np.zeros_like(lane))


def _row_broadcast(lane: Lanes, last: int) -> Lanes:
    """Returns for each block of `last` + 1 lanes the last lane of the block before it."""
    block = last + 1
    return np.where(lane // block > 0, lane // block * block - 1, -1)


_PATTERNS: Mapping[str, Callable[[Lanes, int], Lanes]] = {
    "row_shl": _row_shift,
    "row_shr": lambda lane, n: _row_shift(lane, -n),
    "row_ror": lambda lane, n: lane // 16 * 16 + (lane % 16 - n) % 16,
    "row_mirror": lambda lane, _: lane // 16 * 16 + 15 - lane % 16,
    "row_half_mirror": lambda lane, _: lane // 8 * 8 + 7 - lane % 8,
}
_CDNA_PATTERNS: Mapping[str, Callable[[Lanes, int], Lanes]] = {
    **_PATTERNS,
    "wave_shl": _wave_shift,
    "wave_shr": lambda lane, n: _wave_shift(lane, -n),
    "wave_rol": lambda lane, n: (lane + n) % len(lane),
    "wave_ror": lambda lane, n: (lane - n) % len(lane),
    "row_bcast": _row_broadcast,
    "row_newbcast": lambda lane, n: lane // 16 * 16 + n,
}
_RDNA_PATTERNS: Mapping[str, Callable[[Lanes, int], Lanes]] = {
    **_PATTERNS,
    "row_share": lambda lane, n: lane // 16 * 16 + n,
    "row_xmask": lambda lane, n: lane // 16 * 16 + (lane % 16 ^ n),
}
_ARGUMENTS: Mapping[str, range] = {
    **dict.fromkeys(("row_shl", "row_shr", "row_ror"), range(1, 16)),
    **dict.fromkeys(("wave_shl", "wave_shr", "wave_rol", "wave_ror"), range(1, 2)),
    "row_bcast": range(15, 32, 16),
    **dict.fromkeys(("row_newbcast", "row_share", "row_xmask"), range(16)),
}


@dataclass(frozen=True)
class DppLanes:
    """The lanes that a DPP instruction reads and writes.

    Attributes:
        source: [lanes], the lane that each lane reads; -1 where the pattern has none.
        enabled: [lanes], the lanes that `row_mask` and `bank_mask` let write.
        bound_zero: whether a lane whose source is missing or inactive reads 0 (`bound_ctrl`);
            otherwise it is not written.
        reads_inactive: whether what an inactive lane holds is read (`fi`).
    """

    source: Lanes
    enabled: npt.NDArray[np.bool_]
    bound_zero: bool
    reads_inactive: bool = False

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
        if group.active is not None and not self.reads_inactive:
            return self._present & group.active[:, self.source]
        if self._all_present:
            return None
        return np.broadcast_to(self._present, (group.count, group.lanes))

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
    lane = np.arange(instruction.lanes)
    reads_inactive = instruction.chip.is_rdna and bool(instruction.integer("fi"))
    if instruction.chip.is_rdna and "dpp8" in instruction.modifiers:
        every = np.ones(instruction.lanes, bool)
        return DppLanes(_eight(instruction, lane), every, True, reads_inactive)
    row_mask, bank_mask = instruction.integer("row_mask", 15), instruction.integer("bank_mask", 15)
    enabled = (row_mask >> lane // 16 & 1) & (bank_mask >> lane % 16 // 4 & 1)
    return DppLanes(
        source=_pattern(instruction, lane),
        enabled=enabled.astype(bool),
        bound_zero=bool(instruction.modifiers.get("bound_ctrl", False)),
        reads_inactive=reads_inactive,
    )


def _eight(instruction: Instruction, lane: Lanes) -> Lanes:
    """Returns the lanes that `dpp8` names, one for each lane of eight."""
    picks = instruction.modifiers["dpp8"]
    if not isinstance(picks, tuple) or len(picks) != 8 or not all(0 <= n < 8 for n in picks):
        raise AssemblyError(f"dpp8:{picks} is no choice of eight lanes")
    return lane // 8 * 8 + np.array(picks)[lane % 8]


def _pattern(instruction: Instruction, lane: Lanes) -> Lanes:
    modifiers = instruction.modifiers
    if "quad_perm" in modifiers:
        picks = instruction.integers("quad_perm", ())
        if len(picks) != 4 or not all(0 <= pick < 4 for pick in picks):
            raise AssemblyError(f"quad_perm:{list(picks)} is no choice of four lanes")
        return lane // 4 * 4 + np.array(picks)[lane % 4]
    patterns = _RDNA_PATTERNS if instruction.chip.is_rdna else _CDNA_PATTERNS
    for name, pattern in patterns.items():
        if name in modifiers:
            argument = instruction.integer(name) if name in _ARGUMENTS else 0
            if name in _ARGUMENTS and argument not in _ARGUMENTS[name]:
                raise AssemblyError(f"{name}:{argument} does not exist")
            return pattern(lane, argument)
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


def _lane_select(instruction: Instruction, operand: Operand) -> Callable[[WaveGroup], Lanes]:
    select, last = scalar_source(operand, "u32"), np.uint32(instruction.lanes - 1)
    return lambda group: (select(group) & last).astype(np.intp)


def _read_lane(instruction: Instruction) -> Step:
    """Returns the step of v_readlane: the value of the selected lane, active or not."""
    write, lanes = _from_lane(instruction), _lane_select(instruction, instruction.operands[2])
    return lambda group: write(group, lanes(group))


def _write_lane(instruction: Instruction) -> Step:
    """Returns the step of v_writelane: it sets the selected lane, active or not."""
    register = vector_registers(instruction.operands[0], 1)
    source = scalar_source(instruction.operands[1], "u32")
    lanes, every = _lane_select(instruction, instruction.operands[2]), np.arange(instruction.lanes)

    def step(group: WaveGroup) -> None:
        chosen = lanes(group)[:, None] == every
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
    lane = np.arange(instruction.lanes)
    odd = lane // block % 2 == 1
    if instruction.modifiers:
        raise UnknownInstructionError(instruction, "no model of its modifiers")
    first, second = (vector_registers(operand, 1) for operand in instruction.operands)

    def step(group: WaveGroup) -> None:
        if group.active is not None:
            raise UnknownInstructionError(instruction, "no model of it with inactive lanes")
        a, b = (group.machine.vector_index(register) for register in (first, second))
        low, high = group.v(a), group.v(b)
        moved_low = np.where(odd, high[:, lane ^ block], low)
        moved_high = np.where(odd, high, low[:, lane ^ block])
        group.set_v(a, moved_low)
        group.set_v(b, moved_high)

    return step


def _count_bits_below(instruction: Instruction, word: int) -> Step:
    """Returns the step of v_mbcnt, which counts for each lane the bits of a mask below it.

    The mask is that of lanes 0 to 31 or of lanes 32 to 63; a number is added to the count.
    """
    below = np.array(
        [(1 << lane) - 1 >> 32 * word & 0xFFFFFFFF for lane in range(instruction.lanes)],
        np.uint32,
    )
    target = vector_registers(instruction.operands[0], 1)
    mask, addend = (vector_source(operand, "u32") for operand in instruction.operands[1:])

    def step(group: WaveGroup) -> None:
        count = np.bitwise_count(mask(group) & below).astype(np.uint32)
        group.set_v(group.machine.vector_index(target), count + addend(group))

    return step


def _swap_halves(instruction: Instruction) -> Step:
    """Returns the step of v_swap_b16: it exchanges two halves of registers, lane by lane."""
    first, second = (operand.register for operand in instruction.operands)
    shifts = [16 if register.half == "h" else 0 for register in (first, second)]
    places = [
        vector_registers(Operand(replace(register, half="")), 1) for register in (first, second)
    ]

    def step(group: WaveGroup) -> None:
        a, b = (group.machine.vector_index(register) for register in places)
        old = [
            group.v(index) >> np.uint32(shift) for index, shift in zip((a, b), shifts, strict=True)
        ]
        group.set_half(a, old[1], shifts[0])
        group.set_half(b, old[0], shifts[1])

    return step


def _permute_rows(instruction: Instruction, other_row: bool, by_lane: bool) -> Step:
    """Returns the step of v_permlane16 and v_permlanex16: a lane reads one of a row of 16.

    It is its own row or, with `other_row`, the other one of each two. The 4 bits that name the lane
    in that row are those of 64 bits in two scalars, of which lane i of a row has bits 4 i to
    4 i + 3, or are `by_lane` in a vector register. An inactive lane gives 0 with `bound_ctrl`, and
    leaves the result as it is without, if `fi` does not let it be read; LLVM spells these two flags
    `op_sel:[fi,bound_ctrl]`.
    """
    flags = instruction.integers("op_sel", (0, 0))
    reads_inactive, bound_zero = bool(flags[0]), bool(flags[1])
    destination = vector_registers(instruction.operands[0], 1)
    source = vector_registers(instruction.operands[1], 1)
    lane = np.arange(instruction.lanes)
    row = lane // 16 * 16 ^ (16 if other_row else 0)
    chosen = _named_by_lane if by_lane else _named_by_scalars
    named = chosen(instruction, lane % 16)

    def step(group: WaveGroup) -> None:
        lanes = row + named(group)
        index = group.machine.vector_index(source)

        def moved(words: U32) -> U32:
            return np.take_along_axis(words, np.broadcast_to(lanes, words.shape), axis=1)

        valid: LaneMask | None = None
        if group.active is not None and not reads_inactive:
            every = np.broadcast_to(lanes, (group.count, group.lanes))
            valid = np.take_along_axis(group.active, every, axis=1)

        def used(group: WaveGroup) -> LaneMask:
            active = group.active_lanes()
            return active if valid is None else active & valid

        found = group.v_moved(index, moved, used)
        target = group.machine.vector_index(destination)
        if valid is None:
            group.set_v(target, found)
        elif bound_zero:
            group.set_v(target, np.where(valid, found, np.uint32(0)))
        else:
            group.set_v(target, found, used(group))

    return step


def _named_by_scalars(instruction: Instruction, place: Lanes) -> Callable[[WaveGroup], Lanes]:
    low, high = (scalar_source(operand, "u32") for operand in instruction.operands[2:4])

    def named(group: WaveGroup) -> Lanes:
        bits = low(group).astype(np.uint64) | high(group).astype(np.uint64) << np.uint64(32)
        return (bits[:, None] >> (4 * place).astype(np.uint64) & np.uint64(15)).astype(np.intp)

    return named


def _named_by_lane(instruction: Instruction, place: Lanes) -> Callable[[WaveGroup], Lanes]:
    words = vector_source(instruction.operands[2], "u32")
    return lambda group: (words(group) & np.uint32(15)).astype(np.intp)


def _other_half_of_wave(instruction: Instruction) -> Step:
    """Returns the step of v_permlane64: lane i reads lane i + 32 of 64, active or not.

    In waves of 32 lanes it does nothing.
    """
    destination, source = (vector_registers(operand, 1) for operand in instruction.operands)
    if instruction.lanes == 32:
        return lambda group: None

    def step(group: WaveGroup) -> None:
        index = group.machine.vector_index(source)
        found = group.v_moved(
            index, lambda words: np.roll(words, 32, axis=1), lambda each: each.active_lanes()
        )
        group.set_v(group.machine.vector_index(destination), found)

    return step


_INSTRUCTIONS: Mapping[str, Callable[[Instruction], Step]] = {
    "v_swap_b16": _swap_halves,
    "v_permlane16_b32": partial(_permute_rows, other_row=False, by_lane=False),
    "v_permlanex16_b32": partial(_permute_rows, other_row=True, by_lane=False),
    "v_permlane16_var_b32": partial(_permute_rows, other_row=False, by_lane=True),
    "v_permlanex16_var_b32": partial(_permute_rows, other_row=True, by_lane=True),
    "v_permlane64_b32": _other_half_of_wave,
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
    name = base_name(instruction.mnemonic)
    make = _INSTRUCTIONS.get(name)
    return make(instruction) if make else None
