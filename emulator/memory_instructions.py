# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory instructions: `buffer_*`, `global_*` and `scratch_*`.

The semantics are those of "AMD Instinct MI300 CDNA3 Instruction Set Architecture", chapters 8 to
10, and of the ISA documents of RDNA3 and RDNA4. All accesses may be unaligned, as under amdhsa.
Cache hints (`sc0`, `nt`, `th:TH_LOAD_NT`, ...) change nothing, except that some make an atomic
return.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from ..bank_model.coalescing import coalescing
from ..bank_model.lds_rules import Lds
from . import atomics, scalar_memory
from .buffer_resources import resource_reader
from .byte_access import Offsets, Words
from .chips import CDNA4, Isa
from .emulation_errors import EmulationError, UnknownInstructionError
from .instruction_text import M0, AssemblyError, Instruction, Name, Operand, Register
from .lds_instructions import (
    Load,
    deliver,
    exchanged,
    expect_all_lanes,
    shifted_down,
    taking_addresses,
    taking_part,
)
from .memory_names import BEFORE_RDNA4, SINCE_RDNA4, in_shared_names, offset_scale, returns_value
from .operands import scalar_source, vector_registers
from .step import BuildContext, Step
from .transposed_loads import transposed_load
from .undefined import Undefined
from .wave_state import LaneMask, WaveGroup


def build(context: BuildContext, instruction: Instruction) -> Step | None:
    """Returns the step of a global memory instruction; None for any other."""
    if not instruction.mnemonic.startswith(_PREFIXES):
        return None
    return build_shared(context, in_shared_names(instruction))


def build_shared(context: BuildContext, instruction: Instruction) -> Step | None:
    """Returns what `build` does, for an instruction under the name that the emulator has it by."""
    name = instruction.mnemonic
    if name in _CACHES:
        return _cache_control(instruction)
    if name.startswith(scalar_memory.PREFIXES):
        return scalar_memory.build(instruction)
    for prefix in _PLACES:
        if name.startswith(prefix):
            return _vector_memory(context, instruction, prefix, name.removeprefix(prefix))
    return None


_CACHES: Mapping[str, frozenset[Isa]] = {
    **dict.fromkeys(("buffer_gl0_inv", "buffer_gl1_inv", "s_gl1_inv"), BEFORE_RDNA4),
    **dict.fromkeys(("global_inv", "global_wb", "global_wbinv"), SINCE_RDNA4),
    **dict.fromkeys(("s_prefetch_inst", "s_prefetch_inst_pc_rel", "s_prefetch_data"), SINCE_RDNA4),
    **dict.fromkeys(("s_prefetch_data_pc_rel", "s_buffer_prefetch_data"), SINCE_RDNA4),
    **dict.fromkeys(("global_prefetch_b8", "flat_prefetch_b8"), frozenset({Isa.GFX1250})),
}
"""What changes nothing but caches, of which the emulator has none, and the chips that have it."""


def _cache_control(instruction: Instruction) -> Step:
    if instruction.chip.isa not in _CACHES[instruction.mnemonic]:
        chip = instruction.chip.name
        raise UnknownInstructionError(instruction, f"{chip} has no '{instruction.mnemonic}'")
    # What a prefetch names may be out of range.
    list(instruction.operands)
    instruction.modifiers.get("offset")
    return lambda group: None


def _vector_memory(
    context: BuildContext, instruction: Instruction, prefix: str, name: str
) -> Step | None:
    where = _PLACES[prefix]
    # A lane's private memory is not counted: how the hardware lays it out is no choice of a kernel.
    traffic = None if prefix == "scratch_" else _Traffic(context.lds_of_waves)
    to_lds = bool(instruction.modifiers.get("lds")) or name.startswith("load_lds_")
    name = name.replace("load_lds_", "load_")
    if traffic is None and (to_lds or name.startswith("atomic_")):
        return None
    if to_lds and traffic is not None:
        if name not in _LOADS or _LOADS[name].width % 4:
            raise UnknownInstructionError(instruction, f"no model of {name} to the LDS")
        place = where(instruction, instruction.operands)
        width = _LOADS[name].width
        if width > 4 and context.arch != CDNA4:
            raise UnknownInstructionError(instruction, f"{context.arch} moves 4 bytes to the LDS")
        return _load_to_lds(instruction, width, _from_m0(instruction, width), place, traffic)
    if "_async_" in name and traffic is not None:
        return _async_copy(instruction, name, where, traffic)
    if name.startswith("load_tr") and traffic is not None:
        place = where(instruction, instruction.operands[1:])
        return _transposed_load(instruction, place, traffic)
    if name in _LOADS:
        place = where(instruction, instruction.operands[1:])
        return _load(instruction.operands[0], _LOADS[name], place, traffic)
    if name in _STORES:
        width, shift = _STORES[name]
        if prefix == "buffer_":
            data, place = instruction.operands[0], where(instruction, instruction.operands[1:])
        else:
            data = instruction.operands[1]
            place = where(instruction, (instruction.operands[0], *instruction.operands[2:]))
        return _store(data, width, shift, place, traffic)
    if name.startswith("atomic_") and traffic is not None:
        kind = name.removeprefix("atomic_")
        return _atomic(instruction, prefix, kind, where, traffic)
    return None


_DWORDS: Mapping[str, int] = {"dword": 4, "dwordx2": 8, "dwordx3": 12, "dwordx4": 16}
_LOADS: Mapping[str, Load] = {
    **{f"load_{name}": Load(width) for name, width in _DWORDS.items()},
    "load_ubyte": Load(1),
    "load_sbyte": Load(1, signed=True),
    "load_ushort": Load(2),
    "load_sshort": Load(2, signed=True),
    **{
        f"load_{name}_{suffix}": Load(width, signed, half)
        for half, suffix in enumerate(("d16", "d16_hi"))
        for name, width, signed in (("ubyte", 1, False), ("sbyte", 1, True), ("short", 2, False))
    },
}
# Bytes, and how far the value lies up in its register.
_STORES: Mapping[str, tuple[int, int]] = {
    **{f"store_{name}": (width, 0) for name, width in _DWORDS.items()},
    "store_byte": (1, 0),
    "store_short": (2, 0),
    "store_byte_d16_hi": (1, 16),
    "store_short_d16_hi": (2, 16),
}


# -- where lanes access --------------------------------------------------------------------------


@dataclass(frozen=True)
class _LaneAccess:
    """The access of every lane of a group.

    Attributes:
        addresses: [n, lanes], byte addresses.
        active: [n, lanes], the lanes that take part; None if all do.
        space: [n, lanes], how many bytes from the address on the descriptor allows; None for no
            limit.
    """

    addresses: Offsets
    active: LaneMask | None
    space: Offsets | None = None

    def words_allowed(self, group: WaveGroup, width: int) -> list[LaneMask] | None:
        """Returns the lanes that may access each word of `width` bytes; None if all may."""
        if self.space is None:
            return None
        needed = self.space if self.active is None else np.where(self.active, self.space, width)
        if group.holds(needed >= width):
            return None
        active = True if self.active is None else self.active
        size = min(width, 4)
        return [active & (self.space >= 4 * k + size) for k in range(max(1, width // 4))]

    def words_accessed(
        self, group: WaveGroup, width: int, *, to_lds: bool = False
    ) -> list[LaneMask] | None:
        """Returns what `words_allowed` does, for an access that is carried out.

        The memory counts the lanes some of whose words are out of range. A load to the LDS cannot
        choose zeros in the place of what it loads. A lane that is to bring some reads behind the
        end on purpose, so that lanes of it are counted only where the end parts their words.
        """
        allowed = self.words_allowed(group, width)
        if allowed is not None:
            lanes = allowed[0].size if self.active is None else int(self.active.sum())
            lanes = int(allowed[0].sum()) if to_lds else lanes
            group.machine.memory.out_of_range += lanes - int(allowed[-1].sum())
        return allowed


_Place = Callable[[WaveGroup], _LaneAccess]


def _vector_register(operand: Operand, count: int) -> Register | None:
    """Returns the vector registers of an address operand; None for `off`."""
    if _is_off(operand):
        return None
    register = operand.register
    if register.file != "v" or register.count != count:
        raise AssemblyError(f"{register} where {count} address registers are expected")
    return register


def _is_off(operand: Operand) -> bool:
    return isinstance(operand.value, Name) and operand.value.text == "off"


def offset_of(instruction: Instruction, *, signed: bool) -> int:
    """Returns the offset of an instruction: 12 bits and a sign, or from RDNA4 on 23 and a sign.

    Args:
        signed: whether it may be negative.
    """
    most = 0x7FFFFF if instruction.chip.has_split_counters else 0xFFF
    return instruction.offset(-most - 1 if signed else 0, most)


def _buffer_place(instruction: Instruction, operands: tuple[Operand, ...]) -> _Place:
    """Makes the addresses of a buffer access, base + soffset + index * stride + offset.

    The lane's and the instruction's offset are added in 32 bits, and LLVM relies on it: it writes
    -1920 + 2000. Only very old chips checked that sum for a carry (llvm/llvm-project, 207796).
    What is out of range is said by `buffer_resources.py`.
    """
    if len(operands) != 3:
        raise AssemblyError("a buffer access takes an address, a descriptor and an offset")
    vaddr, descriptor, scalar = operands
    resource = descriptor.register
    if resource.file != "s" or resource.count != 4:
        raise AssemblyError(f"{resource} where 4 scalar registers are expected")
    by_index = bool(instruction.modifiers.get("idxen"))
    by_offset = bool(instruction.modifiers.get("offen"))
    vector = _vector_register(vaddr, max(1, by_index + by_offset))
    if (vector is None) == (by_index or by_offset):
        raise AssemblyError("a buffer access has an address register with 'offen' or 'idxen' alone")
    read_resource = resource_reader(instruction.chip, resource.index, scalar_source(scalar, "u32"))
    constant = offset_of(instruction, signed=False)

    def place(group: WaveGroup) -> _LaneAccess:
        found = read_resource(group)
        offset = np.full((group.count, group.lanes), constant, np.int64)
        if by_offset and vector is not None:
            offset += group.v(group.machine.vector_index(vector) + by_index)
            offset &= 0xFFFFFFFF
        if found.private:
            # The scalar offset counts the bytes of all lanes of a wave.
            return _in_private_memory(group, offset + found.soffset // group.lanes)
        addresses = offset + (found.base + found.soffset)
        if not by_index or vector is None:
            return _LaneAccess(addresses, group.active, found.space(offset, None))
        if not group.holds(found.stride != 0):
            raise EmulationError("no model of an index into a buffer without stride")
        index = group.v(group.machine.vector_index(vector)).astype(np.int64)
        space = found.space(offset, index)
        return _LaneAccess(addresses + index * found.stride, group.active, space)

    return place


def _address_place(instruction: Instruction, operands: tuple[Operand, ...]) -> _Place:
    """Makes addresses of a 64-bit vector address, or of a scalar base and a 32-bit vector offset.

    The constant `offset` is added to them.
    """
    vaddr, saddr = operands
    constant = offset_of(instruction, signed=True)
    if not _is_off(saddr):
        scalar = saddr.register
        if scalar.file != "s" or scalar.count != 2:
            raise AssemblyError(f"{scalar} where a scalar pair is expected")
        lanes = _vector_register(vaddr, 1)
        scale = np.int64(offset_scale(instruction))

        def with_base(group: WaveGroup) -> _LaneAccess:
            base = group.s64(scalar.index).astype(np.int64)[:, None] + constant
            addresses = np.broadcast_to(base, (group.count, group.lanes))
            if lanes is not None:
                addresses = base + scale * group.v(group.machine.vector_index(lanes))
            return _LaneAccess(addresses, group.active)

        return with_base
    pair = _vector_register(vaddr, 2)
    if pair is None:
        raise AssemblyError("an access without an address")

    def place(group: WaveGroup) -> _LaneAccess:
        first = group.machine.vector_index(pair)
        low, high = group.v(first).astype(np.int64), group.v(first + 1).astype(np.int64)
        return _LaneAccess((low | high << 32) + constant, group.active)

    return place


def _private_place(instruction: Instruction, operands: tuple[Operand, ...]) -> _Place:
    """Makes addresses in the lanes' own memory of a vector, a scalar and a constant offset.

    An offset that is `off` counts as 0.

    The launch reserves `.amdhsa_private_segment_fixed_size` bytes for each lane, side by side.
    """
    vaddr, saddr = operands
    lanes = _vector_register(vaddr, 1)
    scalar = None if _is_off(saddr) else scalar_source(saddr, "u32")
    constant = offset_of(instruction, signed=True)

    def place(group: WaveGroup) -> _LaneAccess:
        offset = np.full((group.count, group.lanes), constant, np.int64)
        if lanes is not None:
            offset += group.v(group.machine.vector_index(lanes))
        if scalar is not None:
            offset += scalar(group)[:, None]
        return _in_private_memory(group, offset)

    return place


def _in_private_memory(group: WaveGroup, offset: Offsets) -> _LaneAccess:
    """Returns the access at offsets [n, lanes] in the private memory of each lane.

    Raises:
        EmulationError: an active lane has no memory there.
    """
    machine = group.machine
    size = machine.kernel.private_bytes
    used = offset if group.active is None else offset[group.active]
    if used.size and not 0 <= int(used.min()) <= int(used.max()) < size:
        raise EmulationError(
            f"an access to private memory at bytes {int(used.min())} to {int(used.max())}: "
            f"each work item has {size} bytes of it"
        )
    lane = group.lanes * group.waves.astype(np.int64)[:, None] + np.arange(group.lanes)
    return _LaneAccess(machine.private_segment + lane * size + offset, group.active)


_PLACES: Mapping[str, Callable[[Instruction, tuple[Operand, ...]], _Place]] = {
    "buffer_": _buffer_place,
    "global_": _address_place,
    "scratch_": _private_place,
}


# -- counting ------------------------------------------------------------------------------------


Counts = npt.NDArray[np.int64]


@dataclass(eq=False)
class _Traffic:
    """Counts the 64-byte blocks that each wave of an issue touches.

    Loops repeat a pattern of addresses at other places. Patterns are therefore remembered by the
    addresses relative to the block of the lowest one.
    """

    lds_model: Lds
    known: dict[tuple[int, bytes], Counts] = field(default_factory=dict)

    def count(self, group: WaveGroup, target: _LaneAccess, width: int) -> None:
        """Has the machine count this issue."""
        group.machine.count_traffic(self, group, target, width)

    def counted(self, group: WaveGroup, target: _LaneAccess, width: int) -> None:
        """Adds this issue to the counters; words out of range are not fetched."""
        addresses, active = target.addresses, target.active
        allowed = target.words_allowed(group, width)
        if allowed is not None:
            active = allowed[0]
        machine = group.machine
        if machine.recorder is not None:
            machine.recorder.accessed_memory(group.pc, group.waves, addresses, width, active)
        if active is not None:
            if not active.any():
                return
            addresses = np.where(active, addresses, np.int64(1) << 62)
        relative = addresses - (addresses.min(axis=1) & ~63)[:, None]
        if active is not None:
            relative = np.where(active, relative, -1)
        counts = self.remembered(relative, width)
        counters = machine.workgroup_counters
        if group.all_waves:
            per = machine.waves_per_workgroup
            transactions, useful = counts.reshape(2, -1, per).sum(axis=2)
        else:
            transactions, useful = np.zeros((2, len(machine.workgroups)), np.int64)
            np.add.at(transactions, group.workgroup_index, counts[0])
            np.add.at(useful, group.workgroup_index, counts[1])
        counters.global_transactions[group.pc] += transactions
        counters.global_useful_bytes[group.pc] += useful

    def remembered(self, relative: Offsets, width: int) -> Counts:
        """Returns the transactions and the useful bytes of each wave, [2, n], counted once."""
        key = width, relative.tobytes()
        found = self.known.get(key)
        if found is not None:
            return found
        if len(self.known) >= _REMEMBERED_PATTERNS:
            self.known.clear()
        if len(relative) == 1:
            found = self._count_row(relative[0], width)
        else:
            found = np.concatenate([self.remembered(row[None], width) for row in relative], axis=1)
        self.known[key] = found
        return found

    def _count_row(self, row: Offsets, width: int) -> Counts:
        result = coalescing(self.lds_model, np.maximum(row, 0), width, row >= 0)
        return np.array([[result.transactions], [result.useful_bytes]], np.int64)


_REMEMBERED_PATTERNS = 4096


# -- loads, stores, atomics ----------------------------------------------------------------------


def _fetch(
    group: WaveGroup, target: _LaneAccess, width: int, *, to_lds: bool = False
) -> tuple[Words, Undefined | None]:
    """Loads words [words, n, lanes], with zeros where the descriptor says out of range."""
    memory, waves = group.machine.memory, group.waves
    allowed = target.words_accessed(group, width, to_lds=to_lds)
    if allowed is None:
        place = (target.addresses, width, target.active, waves)
        return memory.load(*place), memory.undefined(*place)
    size = min(width, 4)
    places = [(target.addresses + 4 * k, size, mask, waves) for k, mask in enumerate(allowed)]
    undefined = [memory.undefined(*place) for place in places]
    first = [None if part is None else part.at(0) for part in undefined]
    words = np.concatenate([memory.load(*place) for place in places])
    return words, Undefined.stack(first, target.addresses.shape)


def _load(destination: Operand, load: Load, place: _Place, traffic: _Traffic | None) -> Step:
    register = vector_registers(destination, max(1, load.width // 4))

    def step(group: WaveGroup) -> None:
        target = place(group)
        found = _fetch(group, target, load.width)
        if traffic is not None:
            traffic.count(group, target, load.width)
        deliver(group, group.machine.vector_index(register), load, *found)

    return step


def _transposed_load(instruction: Instruction, place: _Place, traffic: _Traffic) -> Step:
    """Returns the step of a load after which lanes exchange what they have read."""
    if instruction.lanes != 32:
        raise UnknownInstructionError(instruction, "no model of its lanes in waves of 64")
    load = transposed_load(instruction)
    register = vector_registers(instruction.operands[0], load.width // 4)

    def step(group: WaveGroup) -> None:
        expect_all_lanes(group)
        target = place(group)
        found = _fetch(group, target, load.width)
        traffic.count(group, target, load.width)
        index = group.machine.vector_index(register)
        group.set_block_or_undefined(index, *exchanged(load, *found))

    return step


def _data(operand: Operand, words: int) -> Callable[[WaveGroup], tuple[Words, Undefined | None]]:
    register = vector_registers(operand, words)
    return lambda group: group.block_or_undefined(group.machine.vector_index(register), words)


def _store(data: Operand, width: int, shift: int, place: _Place, traffic: _Traffic | None) -> Step:
    values = _data(data, max(1, width // 4))

    def step(group: WaveGroup) -> None:
        target = place(group)
        words, undefined = shifted_down(*values(group), shift)
        memory, waves = group.machine.memory, group.waves
        allowed = target.words_accessed(group, width)
        if allowed is None:
            memory.store(target.addresses, words, width, target.active, waves, undefined)
        else:
            for k, mask in enumerate(allowed):
                part = slice(k, k + 1)
                missing = None if undefined is None else undefined.at(part)
                where = target.addresses + 4 * k
                memory.store(where, words[part], min(width, 4), mask, waves, missing)
        if traffic is not None:
            traffic.count(group, target, width)

    return step


def _load_to_lds(
    instruction: Instruction,
    width: int,
    starts: Callable[[WaveGroup], Words],
    place: _Place,
    traffic: _Traffic,
) -> Step:
    """Returns the step of a load to the LDS.

    The offset is added to the addresses in memory and to those in the LDS. No conflicts are
    counted, because this is no LDS instruction.

    Args:
        starts: returns the bytes of the LDS, without the offset, to which lanes load, [n, lanes].
    """
    offsets = (instruction.integer("offset") & 0xFFFFFFFF,)

    drops = "_async_" in instruction.mnemonic

    def step(group: WaveGroup) -> None:
        target, first = place(group), starts(group)
        if drops:
            target = replace(target, active=taking_addresses(first, target.active))
        found = _fetch(group, target, width, to_lds=True)
        traffic.count(group, target, width)
        lds = group.machine.lds
        access = lds.access(group.pc, group.waves, first, offsets, width, target.active)
        words, undefined = taking_part(*found, access.active)
        # One part, as the access has.
        undefined = None if undefined is None else undefined.at((slice(None), None))
        lds.store_directly(access, words[:, None], undefined)

    return step


def _from_m0(instruction: Instruction, width: int) -> Callable[[WaveGroup], Words]:
    """Returns where lanes load to: lane i's data goes to byte M0 + offset + i * width.

    M0 and the offset count dwords: their two low bits must be 0 (CDNA3 ISA, "Memory Buffer Load to
    LDS").
    """
    lane = np.arange(instruction.lanes, dtype=np.uint32) * np.uint32(width)
    offset = np.uint32(instruction.integer("offset") & 0xFFFFFFFF)

    def starts(group: WaveGroup) -> Words:
        start = group.s(M0.index)
        if ((start + offset) & 3).any():
            raise EmulationError("a load to the LDS does not start at a multiple of 4 bytes")
        return start[:, None] + lane

    return starts


_ASYNC_LOAD = re.compile(r"load_async_to_lds_b(32|64|128)")


def _async_copy(
    instruction: Instruction,
    name: str,
    where: Callable[[Instruction, tuple[Operand, ...]], _Place],
    traffic: _Traffic,
) -> Step:
    """Returns the step of a load of gfx1250 to the bytes of the LDS that lanes name in a register.

    LLVM's `llvm.amdgcn.global.load.async.to.lds.*` says so, and that the offset counts in both.
    """
    if instruction.chip.isa is not Isa.GFX1250:
        message = f"{instruction.chip.name} has no '{instruction.spelled}'"
        raise UnknownInstructionError(instruction, message)
    found = _ASYNC_LOAD.fullmatch(name)
    if found is None:
        raise UnknownInstructionError(instruction, "no model of this copy")
    register = vector_registers(instruction.operands[0], 1)
    place = where(instruction, instruction.operands[1:])

    def starts(group: WaveGroup) -> Words:
        return group.v(group.machine.vector_index(register))

    return _load_to_lds(instruction, int(found[1]) // 8, starts, place, traffic)


def _atomic(
    instruction: Instruction,
    prefix: str,
    name: str,
    where: Callable[[Instruction, tuple[Operand, ...]], _Place],
    traffic: _Traffic | None,
) -> Step | None:
    """Returns the step of an atomic, of which modifiers may ask for the value before.

    A buffer atomic returns that value in its data register, and a global one in another register.
    """
    op = atomics.operation(atomics.IN_MEMORY.get(name, ""), instruction.chip)
    if op is None:
        return None
    returning = returns_value(instruction)
    operands = instruction.operands
    result: Register | None = operands[0].register if returning else None
    if prefix == "buffer_":
        data, place = operands[0], where(instruction, operands[1:])
    else:
        address, data, *rest = operands[1:] if returning else operands
        place = where(instruction, (address, *rest))
    words = op.width // 4
    values = _data(data, words * op.operands)

    def step(group: WaveGroup) -> None:
        target = place(group)
        allowed = target.words_accessed(group, op.width)
        active = target.active
        if allowed is not None:
            active = np.logical_and.reduce(allowed)
        ordered, undefined = atomics.compared_first(op, *values(group))
        memory, waves = group.machine.memory, group.waves
        before, found = memory.update(op, target.addresses, ordered, active, waves, undefined)
        if traffic is not None:
            traffic.count(group, target, op.width)
        if result is not None:
            group.set_block_or_undefined(group.machine.vector_index(result), before, found)

    return step


def private_atomic(instruction: Instruction, name: str) -> Step | None:
    """Returns the step of a flat atomic in lanes whose address lies in their private memory.

    There is no `scratch_*` atomic. `instruction` has the operands that it would have.
    """
    if name in atomics.IN_MEMORY and atomics.OPS[atomics.IN_MEMORY[name]].width > 4:

        def refuse(group: WaveGroup) -> None:
            # llvm/lib/Target/AMDGPU/SIISelLowering.cpp says so, and expands such atomics.
            raise EmulationError("an atomic on 8 bytes of private memory, which hardware drops")

        return refuse
    return _atomic(instruction, "scratch_", name, _private_place, None)


_PREFIXES = (*_PLACES, *scalar_memory.PREFIXES, "s_prefetch_", "s_buffer_prefetch_", "s_gl1_inv")
