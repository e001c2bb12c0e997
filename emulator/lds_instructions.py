# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LDS instructions (`ds_*`): loads, stores, transposing loads, atomics and lane exchange.

The semantics are those of "AMD Instinct MI300 CDNA3 Instruction Set Architecture", chapters 11 and
12.
Loads and stores may have any alignment, because amdhsa runs waves in the unaligned access mode.
That mode does not cover atomics, which need their natural alignment. That transposing loads
(`ds_read_b64_tr_*`, gfx950) need 8 bytes is an assumption on the safe side: LLVM states no
alignment for its `llvm.amdgcn.ds.read.tr*` intrinsics, and its tests read at multiples of 8 bytes
only. A program that breaks the assumption is reported instead of emulated with a guess.

Conflict cycles are counted by the bank model, per wave: the costs of all phases beyond one cycle
each. `read2` and `write2` are two accesses, one after the other, each with its own phases. Lane
exchange touches no memory and costs none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from ..bank_model import lds_rules
from ..bank_model.conflicts import phase_costs, wavefront_floor
from ..bank_model.lds_rules import AccessKind, LdsInstruction
from . import atomics
from .byte_access import Words, words_of
from .chips import Isa
from .conflict_advice import ConflictingIssue
from .emulation_errors import EmulationError, UnknownInstructionError
from .instruction_text import AssemblyError, Instruction, Operand, Register
from .issued_access import IssuedAccess, LdsCycles
from .memory_names import in_shared_names
from .operands import Source, register_bits, vector_registers, vector_source
from .select_bits import merge_half
from .step import BuildContext, Step
from .transposed_loads import TransposedLoad, is_transposed_load, transposed_load
from .undefined import Undefined, never_written
from .wave_state import LaneMask, WaveGroup

U32 = npt.NDArray[np.uint32]


def build(context: BuildContext, instruction: Instruction) -> Step | None:
    """Returns the step of an LDS instruction; None for any other."""
    if not instruction.mnemonic.startswith("ds_"):
        return None
    return build_shared(context, in_shared_names(instruction))


def build_shared(context: BuildContext, instruction: Instruction) -> Step | None:
    """Returns what `build` does, for an instruction under the name that the emulator has it by."""
    name = instruction.mnemonic
    if instruction.modifiers.get("gds"):
        raise UnknownInstructionError(instruction, "no model of global data share")
    if name == "ds_nop":
        return lambda group: None
    if name in _LOADS:
        return _load(context, instruction, _LOADS[name])
    if name in _STORES:
        return _store(context, instruction, *_STORES[name])
    if name in _PAIRS:
        return _pair(context, instruction, *_PAIRS[name])
    if "_tr" in name and is_transposed_load(instruction):
        return _transposed_load(context, instruction, transposed_load(instruction))
    if name in _EXCHANGES:
        return _EXCHANGES[name](instruction)
    returning = "_rtn_" in name
    what = name.removeprefix("ds_").replace("_rtn_", "_")
    op = atomics.operation(what, instruction.chip)
    return None if op is None else _atomic(context, instruction, op, returning)


@dataclass(frozen=True)
class Load:
    """A load of `width` bytes per lane.

    Attributes:
        signed: whether a value of less than 4 bytes is extended by its sign.
        half: the half of the register that gets the value, 0 or 1, while the other one stays, or is
            cleared where registers have error correction; None if the whole register is written.
    """

    width: int
    signed: bool = False
    half: int | None = None


_LOADS: Mapping[str, Load] = {
    "ds_read_u8": Load(1),
    "ds_read_i8": Load(1, signed=True),
    "ds_read_u16": Load(2),
    "ds_read_i16": Load(2, signed=True),
    **{
        f"ds_read_{name}_{suffix}": Load(width, signed, half)
        for half, suffix in enumerate(("d16", "d16_hi"))
        for name, width, signed in (("u8", 1, False), ("i8", 1, True), ("u16", 2, False))
    },
    **{f"ds_read_b{8 * width}": Load(width) for width in (4, 8, 12, 16)},
}
# Bytes, and how far the value lies up in its register.
_STORES: Mapping[str, tuple[int, int]] = {
    **{f"ds_write_b{8 * width}": (width, 0) for width in (1, 2, 4, 8, 12, 16)},
    "ds_write_b8_d16_hi": (1, 16),
    "ds_write_b16_d16_hi": (2, 16),
}
# Kind, bytes of each half, and what the offsets count in units of.
_PAIRS: Mapping[str, tuple[AccessKind, int, int]] = {
    f"ds_{verb}2{suffix}_b{8 * width}": (kind, width, width * scale)
    for verb, kind in (("read", AccessKind.READ), ("write", AccessKind.WRITE))
    for suffix, scale in (("", 1), ("st64", 64))
    for width in (4, 8)
}

# -- addresses and cycles ------------------------------------------------------------------------


@dataclass(frozen=True)
class _Accessor:
    """Finds the bytes that an instruction accesses, and what the accesses cost.

    Attributes:
        address: the byte address of each lane.
        offsets: what is added to it, for each part that the instruction accesses.
        width: the bytes of a part.
        hardware: the instruction in the bank model.
        loads: whether it only loads.
        drops: whether lanes that name `NO_ADDRESS` take no part.
        costs: the cycles of rows of addresses that were counted before.
    """

    address: Source
    offsets: tuple[int, ...]
    width: int
    hardware: LdsInstruction
    loads: bool
    drops: bool
    costs: dict[bytes, LdsCycles[int]]

    def access(self, group: WaveGroup) -> IssuedAccess:
        """Resolves the addresses of `group`, and counts the cycles of this issue."""
        machine, pc = group.machine, group.pc
        base, active = self.address(group), group.active
        if self.drops:
            active = taking_addresses(base, active)
        found = machine.lds.access(
            *(pc, group.waves, base, self.offsets, self.width, active), loads=self.loads
        )
        if found.cycles is None:
            found.cycles = self.cycles(found, group)
        if machine.recorder is not None and found.wave_cycles is not None:
            machine.recorder.accessed_lds(pc, group.waves, found.wave_cycles)
        counters = machine.workgroup_counters
        counters.lds_conflict_cycles[pc] += found.cycles.conflicts
        counters.lds_cycles[pc] += found.cycles.all
        counters.lds_floor_cycles[pc] += found.cycles.floor
        return found

    def cycles(self, access: IssuedAccess, group: WaveGroup) -> LdsCycles[npt.NDArray[np.int64]]:
        """Returns the cycles of one issue, summed over the waves of each workgroup.

        The access keeps those of each wave. Workgroups mostly repeat each other, so rows of equal
        addresses are counted once.
        """
        rows, waves = access.addresses, group.count
        if access.active is not None:
            rows = np.where(access.active, rows, -1)
        if access.workgroups > 1:
            # Each workgroup costs what the first one does.
            waves = group.machine.waves_per_workgroup
            rows = rows[:, :waves]
        result = LdsCycles(*np.zeros((3, len(group.machine.workgroups)), np.int64))
        wave_cycles = np.zeros(waves, np.int64)
        owners = np.tile(group.workgroup_index[:waves], len(rows)).tolist()
        for place, (owner, row) in enumerate(
            zip(owners, rows.reshape(-1, group.lanes), strict=True)
        ):
            key = row.tobytes()
            cost = self.costs.get(key)
            if cost is None:
                if len(self.costs) >= _REMEMBERED_ROWS:
                    self.costs.clear()
                cost = self.costs[key] = self.row_cycles(row)
                if cost.conflicts:
                    issue = ConflictingIssue(self.hardware, row, cost.conflicts)
                    group.machine.workgroup_counters.note_conflicts(group.pc, issue)
            for total, cycles in zip(result, cost, strict=True):
                total[owner] += cycles
            wave_cycles[place % waves] += cost.all
        if access.workgroups > 1:
            first = int(group.workgroup_index[0])
            for total in result:
                total[first : first + access.workgroups] = total[first]
        access.wave_cycles = np.tile(wave_cycles, group.count // waves)
        return result

    def row_cycles(self, row: npt.NDArray[np.int64]) -> LdsCycles[int]:
        """Returns the cycles of one wave with addresses `row` [lanes].

        Lanes that take no part have the address -1.
        """
        active = row >= 0
        used = np.where(active, row, 0)
        costs = phase_costs(self.hardware, used, active)
        floor = wavefront_floor(self.hardware, used, active)
        conflicts = int(np.maximum(costs - 1, 0).sum())
        return LdsCycles(conflicts, int(costs.sum()), int(floor.sum()))


_REMEMBERED_ROWS = 4096
NO_ADDRESS = 0x7FFFFFFF
"""The address of the LDS that a lane names on gfx1250 whose store or copy shall do nothing, as it
lies in no LDS. Triton's kernels mask lanes so."""


def taking_addresses(base: U32, active: LaneMask | None) -> LaneMask | None:
    """Returns which of the active lanes name an address; None if all do."""
    named = base != np.uint32(NO_ADDRESS)
    if bool(named.all()):
        return active
    return named if active is None else active & named


FLAT_OFFSET = "flat offset"
"""The modifier with the offset of a flat instruction whose lanes access the LDS, of either sign."""


def _accessor(
    context: BuildContext,
    instruction: Instruction,
    address: Operand,
    kind: AccessKind,
    width: int,
    offsets: tuple[int, ...] | None = None,
) -> _Accessor:
    lds_model = context.lds_of_waves
    try:
        hardware = lds_model.instruction_named(instruction.mnemonic)
    except lds_rules.UnknownInstructionError:
        hardware = lds_model.instruction(kind, width)
    if offsets is None:
        flat = instruction.modifiers.get(FLAT_OFFSET)
        offset = instruction.offset(0, 0xFFFF) if flat is None else instruction.integer(FLAT_OFFSET)
        offsets = (offset & 0xFFFFFFFF,)
    stores = instruction.mnemonic.startswith("ds_write")
    drops = stores and instruction.chip.isa is Isa.GFX1250
    return _Accessor(
        _lane_address(address), offsets, width, hardware, kind is AccessKind.READ, drops, {}
    )


def _lane_address(operand: Operand) -> Source:
    """Reads the register in which each lane has its address."""
    register = vector_registers(operand, 1)
    if register.file != "v":
        raise AssemblyError(f"{register} where a vector register with addresses is expected")
    return vector_source(operand, "u32")


# -- loads and stores ----------------------------------------------------------------------------


def _in_lanes(
    group: WaveGroup, access: IssuedAccess, words: Words, undefined: Undefined | None
) -> tuple[Words, Undefined | None]:
    """Gives words of the lanes that take part, [count, m], the shape [count, n, lanes].

    Words of all lanes have that shape already.
    """
    if access.active is None:
        return words, undefined

    def place(values: U32) -> U32:
        full = np.zeros((len(values), group.count, group.lanes), np.uint32)
        full[:, access.active] = values
        return full

    return place(words), None if undefined is None else undefined.rearranged(place)


def _load(context: BuildContext, instruction: Instruction, load: Load) -> Step:
    destination, address = instruction.operands
    accessor = _accessor(context, instruction, address, AccessKind.READ, load.width)
    register = vector_registers(destination, words_of(load.width))
    origin = partial(never_written, kernel=context.kernel, instruction=instruction)

    def step(group: WaveGroup) -> None:
        access = accessor.access(group)
        words, undefined = group.machine.lds.load(access, origin)
        undefined = None if undefined is None else undefined.at((slice(None), 0))
        index = group.machine.vector_index(register)
        deliver(group, index, load, *_in_lanes(group, access, words[:, 0], undefined))

    return step


def deliver(
    group: WaveGroup, index: int, load: Load, words: U32, undefined: Undefined | None
) -> None:
    """Puts what a load has read, [words, n, lanes], into vector registers from `index` on."""
    if load.width < 4:
        words = extend(words, load)
        if undefined is not None:
            undefined = Undefined(extend(undefined.bits, load), undefined.origins)
        half = load.half
        if half is not None:
            old, old_undefined = np.zeros_like(words), None
            if not group.machine.kernel.sram_ecc:
                old, old_undefined = group.block_or_undefined(index, 1)
            words = merge_half(old, words, half)
            if undefined is not None or old_undefined is not None:
                undefined = _merge_undefined(old_undefined, undefined, half, old.shape)
    group.set_block_or_undefined(index, words, undefined)


def _merge_undefined(
    old: Undefined | None, new: Undefined | None, half: int, shape: tuple[int, ...]
) -> Undefined:
    nothing = Undefined(np.zeros(shape, np.uint32), np.zeros(shape, np.int32))
    old, new = old or nothing, new or nothing
    origins = np.where(new.bits != 0, new.origins, old.origins)
    return Undefined(merge_half(old.bits, new.bits, half), origins)


def extend(values: U32, load: Load) -> U32:
    """Extends a loaded byte or 16-bit value to 32 bits by zeros or by its sign."""
    if not load.signed:
        return values
    return values.astype(np.int8 if load.width == 1 else np.int16).astype(np.int32).view(np.uint32)


def _expect_alignment(access: IssuedAccess, needed: int, what: str) -> None:
    if access.place.alignment % needed:
        raise EmulationError(f"{what} is not aligned to {needed} bytes")


def _data(
    operand: Operand, width: int
) -> Callable[[WaveGroup, IssuedAccess], tuple[Words, Undefined | None]]:
    """Reads the data of the lanes that take part.

    They are [words, n, lanes], or [words, m] if not all do.
    """
    register = vector_registers(operand, words_of(width))

    def read(group: WaveGroup, access: IssuedAccess) -> tuple[Words, Undefined | None]:
        index = group.machine.vector_index(register)
        return taking_part(*group.block_or_undefined(index, register.count), access.active)

    return read


def taking_part(
    words: Words, undefined: Undefined | None, active: LaneMask | None
) -> tuple[Words, Undefined | None]:
    """Picks the words of the lanes that take part.

    They are [count, n, lanes], or [count, m] if not all do.
    """
    if active is None:
        return words, undefined
    return words[:, active], None if undefined is None else undefined.at((slice(None), active))


def _store(context: BuildContext, instruction: Instruction, width: int, shift: int) -> Step:
    address, data = instruction.operands
    accessor = _accessor(context, instruction, address, AccessKind.WRITE, width)
    values = _data(data, width)

    def step(group: WaveGroup) -> None:
        access = accessor.access(group)
        group.machine.lds.store(access, *shifted_down(*values(group, access), shift))

    return step


def shifted_down(
    words: Words, undefined: Undefined | None, shift: int
) -> tuple[Words, Undefined | None]:
    """Moves the high bits of words, which are to be stored, down by `shift` bits."""
    if not shift:
        return words, undefined
    amount = np.uint32(shift)
    if undefined is not None:
        undefined = Undefined(undefined.bits >> amount, undefined.origins)
    return words >> amount, undefined


def _pair(
    context: BuildContext, instruction: Instruction, kind: AccessKind, width: int, scale: int
) -> Step:
    """Returns the step of read2 and write2, which make two accesses.

    Their places are `offset0` and `offset1` in units of `scale` bytes.
    """
    offsets = tuple(instruction.offset(0, 0xFF, f"offset{part}") * scale for part in (0, 1))
    address = instruction.operands[1 if kind is AccessKind.READ else 0]
    accessor = _accessor(context, instruction, address, kind, width, offsets)
    if kind is AccessKind.WRITE:
        _, first, second = instruction.operands
        sources = [_data(operand, width) for operand in (first, second)]

        def write(group: WaveGroup) -> None:
            access = accessor.access(group)
            parts = [source(group, access) for source in sources]
            words = np.stack([words for words, _ in parts], axis=1)
            undefined = Undefined.stack([part for _, part in parts], parts[0][0].shape, axis=1)
            group.machine.lds.store(access, words, undefined)

        return write
    register = vector_registers(instruction.operands[0], words_of(2 * width))
    origin = partial(never_written, kernel=context.kernel, instruction=instruction)

    def in_order(words: U32) -> U32:
        return words.swapaxes(0, 1).reshape(register.count, *words.shape[2:])

    def read(group: WaveGroup) -> None:
        access = accessor.access(group)
        words, undefined = group.machine.lds.load(access, origin)
        undefined = None if undefined is None else undefined.rearranged(in_order)
        index = group.machine.vector_index(register)
        lanes = _in_lanes(group, access, in_order(words), undefined)
        group.set_block_or_undefined(index, *lanes)

    return read


def _transposed_load(context: BuildContext, instruction: Instruction, load: TransposedLoad) -> Step:
    """Returns the step of a load after which lanes exchange what they have read."""
    destination, address = instruction.operands
    width = load.width
    accessor = _accessor(context, instruction, address, AccessKind.READ, width)
    register = vector_registers(destination, words_of(width))
    origin = partial(never_written, kernel=context.kernel, instruction=instruction)

    def step(group: WaveGroup) -> None:
        expect_all_lanes(group)
        access = accessor.access(group)
        _expect_alignment(access, width, f"a transposing load of {width} bytes")
        words, undefined = group.machine.lds.load(access, origin)
        undefined = None if undefined is None else undefined.at((slice(None), 0))
        index = group.machine.vector_index(register)
        group.set_block_or_undefined(index, *exchanged(load, words[:, 0], undefined))

    return step


def expect_all_lanes(group: WaveGroup) -> None:
    """Refuses a transposing load that not all lanes execute."""
    if group.active is not None and not group.active.all():
        raise EmulationError("a transposing load with inactive lanes")


def exchanged(
    load: TransposedLoad, words: Words, undefined: Undefined | None
) -> tuple[Words, Undefined | None]:
    """Returns what lanes get in a transposing load for words [words, n, lanes] that they read."""
    if undefined is not None:
        origins = np.full(words.shape, undefined.origins.max(), np.int32)
        undefined = Undefined(load.exchange(undefined.bits), origins)
    return load.exchange(words), undefined


# -- atomics -------------------------------------------------------------------------------------


def _atomic(
    context: BuildContext, instruction: Instruction, op: atomics.AtomicOp, returning: bool
) -> Step:
    """Returns the step of an atomic, which costs what a store of its width costs.

    The bank model has no measurement of atomics.
    """
    operands = instruction.operands[1:] if returning else instruction.operands
    width = op.width
    result = vector_registers(instruction.operands[0], words_of(width)) if returning else None
    accessor = _accessor(context, instruction, operands[0], AccessKind.WRITE, width)
    data = [_data(operand, width) for operand in operands[1:]]
    if len(data) != op.operands:
        raise AssemblyError(f"{len(data)} data operands where {op.operands} are expected")
    origin = partial(never_written, kernel=context.kernel, instruction=instruction)

    def step(group: WaveGroup) -> None:
        access = accessor.access(group)
        _expect_alignment(access, width, f"an LDS atomic on {width} bytes")
        parts = [values(group, access) for values in data]
        words = [part.reshape(width // 4, -1) for part, _ in parts]
        flat = [
            None if undefined is None else undefined.rearranged(lambda w: w.reshape(width // 4, -1))
            for _, undefined in parts
        ]
        before, undefined = group.machine.lds.update(op, access, words, flat, origin)
        if result is not None:
            shape = (-1, *access.offsets.shape[1:])
            if undefined is not None:
                undefined = undefined.rearranged(lambda w: w.reshape(shape))
            index = group.machine.vector_index(result)
            lanes = _in_lanes(group, access, before.reshape(shape), undefined)
            group.set_block_or_undefined(index, *lanes)

    return step


# -- lane exchange -------------------------------------------------------------------------------


def _addressed_lanes(instruction: Instruction, address: Operand) -> Source:
    """Returns the lane that each lane names by 4 times its number, as a byte address.

    On RDNA3 the two halves of a wave of 64 lanes exchange among themselves: a number counts in the
    half of the lane that names it. LLVM does not use the instruction there for whole waves
    (`supportsWaveWideBPermute`).
    """
    where, offset = _lane_address(address), np.uint32(instruction.offset(0, 0xFFFF))
    chip, count = instruction.chip, instruction.lanes
    among = min(count, 32) if chip.is_rdna and not chip.has_split_counters else count

    def lanes(group: WaveGroup) -> npt.NDArray[np.intp]:
        number = where(group) + offset >> np.uint32(2) & np.uint32(among - 1)
        return number.astype(np.intp) + np.arange(count) // among * among

    return lanes


def _bpermute(instruction: Instruction) -> Step:
    """Returns the step of ds_bpermute, in which each lane reads the lane that it names.

    An inactive lane gives 0, except where the name ends in `_fi_b32` ("fetch inactive").
    """
    destination, address, data = instruction.operands
    lanes = _addressed_lanes(instruction, address)
    values = register_bits(vector_registers(data, 1), 32)
    register = vector_registers(destination, 1)
    fetches_inactive = instruction.mnemonic.endswith("_fi_b32")
    source = vector_registers(data, 1)

    def step(group: WaveGroup) -> None:
        if not fetches_inactive:
            _write_exchange(group, register, values(group), lanes(group))
            return
        words = group.v(group.machine.vector_index(source), every_lane=True)
        found = np.take_along_axis(words, lanes(group), axis=1)
        group.set_v(group.machine.vector_index(register), found)

    return step


def _write_exchange(
    group: WaveGroup, register: Register, values: U32, lanes: npt.NDArray[np.intp]
) -> None:
    """Gives each lane the value of lane `lanes` [n, lanes], or 0 if that one is inactive."""
    lanes = np.broadcast_to(lanes, (group.count, group.lanes))
    found = np.take_along_axis(values, lanes, axis=1)
    if group.active is not None:
        found = np.where(np.take_along_axis(group.active, lanes, axis=1), found, np.uint32(0))
    group.set_v(group.machine.vector_index(register), found)


def _permute(instruction: Instruction) -> Step:
    """Returns the step of ds_permute, in which each active lane sends to the lane that it names.

    Of several senders the highest lane wins.
    """
    destination, address, data = instruction.operands
    lanes = _addressed_lanes(instruction, address)
    values = register_bits(vector_registers(data, 1), 32)
    register = vector_registers(destination, 1)

    def step(group: WaveGroup) -> None:
        received = np.zeros((group.count, group.lanes), np.uint32)
        rows, senders = np.nonzero(group.active_lanes())
        received[rows, lanes(group)[rows, senders]] = values(group)[rows, senders]
        group.set_v(group.machine.vector_index(register), received)

    return step


def _swizzle(instruction: Instruction) -> Step:
    """Returns the step of ds_swizzle, in which lanes read each other in a fixed pattern.

    Inactive lanes give 0.
    """
    destination, data = instruction.operands
    values = register_bits(vector_registers(data, 1), 32)
    register = vector_registers(destination, 1)
    lanes = swizzle_lanes(_swizzle_code(instruction), instruction.lanes)[None]

    def step(group: WaveGroup) -> None:
        _write_exchange(group, register, values(group), lanes)

    return step


def swizzle_lanes(code: int, lanes: int = 64) -> npt.NDArray[np.intp]:
    """Returns the lane [lanes] that each lane reads under the `offset` of `ds_swizzle_b32`.

    `code` is that offset, of 16 bits. If bit 15 is set and bit 14 is not, each lane of a quad has 2
    bits that name the lane that it reads. Otherwise lanes of each 32 read each other:

    * below 0x8000, lane i reads lane ((i & and) | or) ^ xor, with the masks in bits 4:0, 9:5 and
      14:10. Worked example: 0x041F has and = 31, or = 0 and xor = 1, so that neighbours change
      places;
    * from 0xC000 on, lane i reads lane i + n, or i - n with bit 10. n is in bits 9:5, and bits of
      the lane that bits 4:0 name stay as they are;
    * from 0xE000 on, as an FFT needs it: the bits of the lane that bits 4:0 name stay as they are,
      and the others are those of the lane in reverse.
    """
    lane = np.arange(lanes)
    within, mask = lane & 31, code & 31
    if code >= 0xE000:
        reverse = np.array([int(f"{i:05b}"[::-1], 2) for i in range(32)])[within]
        return lane & ~31 | reverse >> mask.bit_count() | within & mask
    if code >= 0xC000:
        distance = code >> 5 & 31
        moved = within - distance if code >> 10 & 1 else within + distance
        return lane & ~31 | within & mask | moved & ~mask & 31
    if code >= 0x8000:
        return lane & ~3 | code >> 2 * (lane & 3) & 3
    keep, force, flip = code & 31, code >> 5 & 31, code >> 10 & 31
    return lane & ~31 | ((within & keep | force) ^ flip)


_SWIZZLE = re.compile(r"^swizzle\((\w+)\s*,\s*(.*)\)$")


def _swizzle_code(instruction: Instruction) -> int:
    """Returns the 16-bit pattern that a number, or LLVM's `swizzle(MODE, ...)`, stands for."""
    value = instruction.modifiers.get("offset", 0)
    if isinstance(value, int):
        return instruction.offset(0, 0xFFFF)
    match = _SWIZZLE.match(value) if isinstance(value, str) else None
    if match is None:
        raise AssemblyError(f"'{value}' is no swizzle pattern")
    mode, rest = match.groups()
    if mode == "BITMASK_PERM":
        return _bit_mask_code(rest.strip('"'))
    numbers = [int(word, 0) for word in rest.split(",")]
    if mode == "QUAD_PERM" and len(numbers) == 4:
        return 0x8000 | sum(lane << 2 * i for i, lane in enumerate(numbers))
    if mode == "FFT" and len(numbers) == 1:
        return 0xE000 | numbers[0]
    if mode == "ROTATE" and len(numbers) == 2:
        backwards, distance = numbers
        return 0xC000 | backwards << 10 | distance << 5
    if mode == "SWAP" and len(numbers) == 1:
        return numbers[0] << 10 | 31
    if mode == "REVERSE" and len(numbers) == 1:
        return numbers[0] - 1 << 10 | 31
    if mode == "BROADCAST" and len(numbers) == 2:
        size, lane = numbers
        return lane << 5 | 32 - size
    raise AssemblyError(f"no model of swizzle mode {mode}")


def _bit_mask_code(mask: str) -> int:
    """Returns the pattern of a mask such as "00pi1", with a letter for each bit of a lane.

    The bits are those of the lane's number. `0` and `1` force the bit, `p` preserves it, and `i`
    inverts it.
    """
    if len(mask) != 5 or set(mask) - set("01pi"):
        raise AssemblyError(f"'{mask}' is no swizzle mask")
    keep, force, flip = (
        int("".join("01"[char in chosen] for char in mask), 2) for chosen in ("pi", "1", "i")
    )
    return flip << 10 | force << 5 | keep


_EXCHANGES: Mapping[str, Callable[[Instruction], Step]] = {
    "ds_bpermute_b32": _bpermute,
    "ds_bpermute_fi_b32": _bpermute,
    "ds_permute_b32": _permute,
    "ds_swizzle_b32": _swizzle,
}
EXCHANGE_MNEMONICS = frozenset(_EXCHANGES)
"""LDS instructions that touch no memory."""
