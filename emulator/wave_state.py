# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The state of many waves at once, and the group of waves that executes one instruction.

Every register is an array over all waves: `vgpr[r]` is [waves, lanes], `sgpr[r]` is [waves]. Waves
that are at the same instruction form a `WaveGroup` and execute it together; where a branch parts
them, they go on as two groups (`executor.py`).

A machine knows which bits of each register are defined (`undefined.py`). A group returns a
register's words only if no lane that counts holds an undefined bit, and raises `UndefinedBits`
otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .assembly import Kernel
from .counters import Counters
from .dispatch import Dispatch
from .emulation_errors import UndefinedReadError
from .floats import flush_denormals
from .global_memory import GlobalMemory
from .instruction_text import EXEC, NULL, SCALAR_REGISTERS, Register, scalar_name
from .lds import LdsState
from .mode_register import FloatMode
from .trace import PortionRecorder
from .undefined import ALL_BITS, NEVER_WRITTEN, DefinedBits, Undefined, UndefinedBits, never_written

SCC = SCALAR_REGISTERS
"""SCC among the scalar registers of which the defined bits are known."""
U32 = npt.NDArray[np.uint32]
LaneMask = npt.NDArray[np.bool_]
_U32, _F32 = np.dtype(np.uint32), np.dtype(np.float32)
Rows = slice | npt.NDArray[np.intp]


@dataclass(eq=False)
class Machine:
    """All waves of some workgroups of one launch.

    Attributes:
        kernel: the kernel of `dispatch`.
        workgroups: [n, 3], the ids of the workgroups.
        waves: how many waves all workgroups have; wave w belongs to workgroup
            `w // waves_per_workgroup`.
        lanes: the lanes of a wave.
        sgpr: [registers, waves]; `instruction_text.py` says where `vcc`, `m0` and `exec` lie.
        vgpr: [registers, waves, lanes]; accumulation register a_i lies at `accum_offset + i`.
        scc: [waves], the scalar condition codes.
        private_segment: the address of the private memory of all work items, wave by wave.
        modes: the float modes that waves have had so far.
        mode_of: [waves], the index of each wave's mode in `modes`.
        s_defined: the defined bits of `sgpr` and of SCC.
        v_defined: the defined bits of `vgpr`.
        recorder: records what the waves execute; None if nobody asks for it.
        steps_before: the steps that the executor has taken so far are so many, and the index of the
            instruction that runs.
        clock: the last step at which a wave has asked for the time.
        compiles: whether products of matrices may become machine code.
    """

    dispatch: Dispatch
    workgroups: npt.NDArray[np.int64]
    memory: GlobalMemory
    kernel: Kernel = field(init=False)
    lanes: int = field(init=False)
    waves_per_workgroup: int = field(init=False)
    waves: int = field(init=False)
    sgpr: U32 = field(init=False)
    vgpr: U32 = field(init=False)
    scc: npt.NDArray[np.bool_] = field(init=False)
    lds: LdsState = field(init=False)
    s_defined: DefinedBits = field(init=False)
    v_defined: DefinedBits = field(init=False)
    private_segment: int = 0
    recorder: PortionRecorder | None = None
    steps_before: int = 0
    clock: int = 0
    compiles: bool = True
    modes: list[FloatMode] = field(init=False)
    mode_of: npt.NDArray[np.intp] = field(init=False)
    workgroup_counters: Counters = field(init=False)
    accum_offset: int = field(init=False)

    def __post_init__(self) -> None:
        kernel = self.kernel = self.dispatch.kernel
        self.lanes = kernel.lanes
        self.waves_per_workgroup = self.dispatch.waves_per_workgroup
        self.waves = self.waves_per_workgroup * len(self.workgroups)
        self.accum_offset = kernel.directives.get("accum_offset", kernel.chip.vectors)
        vectors = max(kernel.directives.get("next_free_vgpr", 0), _vectors_used(self)) + 1
        self.sgpr = np.zeros((SCALAR_REGISTERS, self.waves), np.uint32)
        self.vgpr = np.zeros((vectors, self.waves, self.lanes), np.uint32)
        self.scc = np.zeros(self.waves, bool)
        self.workgroup_counters = Counters.zeros(len(kernel.instructions), len(self.workgroups))
        self.lds = LdsState(
            len(self.workgroups),
            self.dispatch.lds_bytes,
            self.waves_per_workgroup,
            self.memory.origins,
            self.dispatch.equal_stores_race,
        )
        self.s_defined = DefinedBits(SCC + 1, self.waves)
        self.v_defined = DefinedBits(vectors, self.waves, self.lanes)
        self._s_complete = self.s_defined.complete
        self._s_complete[NULL.index : NULL.index + NULL.count] = [True] * NULL.count
        self._v_complete = self.v_defined.complete
        # Known to hold no denormal f32 in any lane of any wave.
        self._v_normal = [False] * vectors
        self.modes = [FloatMode.of_directives(kernel.directives, kernel.chip)]
        self.mode_of = np.zeros(self.waves, np.intp)

    @property
    def counters(self) -> Counters:
        """Returns the counts of the run so far, summed over the workgroups."""
        return self.workgroup_counters.total()

    def define_scalar(self, index: int, values: U32, bits: int = 0xFFFFFFFF) -> None:
        """Gives scalar register `index` of every wave its initial value [waves] in some bits."""
        self.sgpr[index] = values
        self.s_defined.bits[index] = bits
        self._s_complete[index] = bits == ALL_BITS

    def define_vector(self, index: int, values: U32) -> None:
        """Gives vector register `index` of every wave its initial values [waves, lanes]."""
        self.vgpr[index] = values
        self._v_complete[index] = True
        self._v_normal[index] = False

    def count_traffic(self, traffic: Any, group: WaveGroup, target: Any, width: int) -> None:
        """Lets an instruction count an access to memory."""
        traffic.counted(group, target, width)

    def forget_normal(self, registers: Iterable[int]) -> None:
        """Notes that vector registers may hold denormals."""
        for index in registers:
            self._v_normal[index] = False

    def vector_index(self, register: Register) -> int:
        """Returns where a vector or accumulation register lies in `vgpr`."""
        return register.index + (self.accum_offset if register.file == "a" else 0)


def _vectors_used(machine: Machine) -> int:
    last = 0
    for instruction in machine.kernel.instructions:
        for operand in instruction.operands:
            value = operand.value
            if isinstance(value, Register) and value.file != "s":
                last = max(last, machine.vector_index(value) + value.count)
    return last


class WaveGroup:
    """Waves that are at the same instruction and have the same float mode.

    Attributes:
        lanes: the lanes of a wave.
        rows: the index of the group's waves in the machine's arrays; a slice means all waves.
        active: [n, lanes], the lanes that EXEC enables; None if it enables all of them.
        pc: the index of the instruction that runs, under which it is counted.
        mode: the float mode of all of its waves.
        waves_of_workgroups: [workgroups], how many waves each workgroup of the machine has in the
            group.
    """

    def __init__(self, machine: Machine, waves: npt.NDArray[np.intp]) -> None:
        self.machine = machine
        self.lanes = machine.lanes
        self.waves = waves
        self.all_waves = len(waves) == machine.waves
        self.rows: Rows = slice(None) if self.all_waves else waves
        self.count = len(waves)
        self.waves_of_workgroups = np.bincount(
            self.workgroup_index, minlength=len(machine.workgroups)
        )
        self.pc = 0
        self.mode = machine.modes[machine.mode_of[waves[0]]]
        self.active: LaneMask | None = None
        self.refresh_exec()

    @property
    def workgroup_index(self) -> npt.NDArray[np.intp]:
        """Returns the index of each wave's workgroup, [n]."""
        return self.waves // self.machine.waves_per_workgroup

    def active_lanes(self) -> LaneMask:
        """Returns the lanes [n, lanes] that take part."""
        if self.active is None:
            return np.ones((self.count, self.lanes), bool)
        return self.active

    def holds(self, condition: npt.NDArray[np.bool_]) -> bool:
        """Returns whether a condition holds in all waves, or lanes; inactive ones may count."""
        return bool(condition.all())

    def refresh_exec(self) -> None:
        """Reads EXEC again after it was written."""
        words = self.lanes // 32
        self.active = lanes_or_all(
            [self.machine.sgpr[EXEC.index + i][self.rows] for i in range(words)]
        )

    def set_modes(self, modes: Sequence[FloatMode], which: npt.NDArray[np.intp]) -> None:
        """Gives wave i of the group mode `modes[which[i]]`.

        If the waves have several modes then, the group must part before its next instruction.
        """
        machine = self.machine
        machine.modes += [mode for mode in modes if mode not in machine.modes]
        numbers = np.array([machine.modes.index(mode) for mode in modes], np.intp)
        machine.mode_of[self.rows] = numbers[which]
        self.mode = machine.modes[machine.mode_of[self.waves[0]]]

    # -- scalar registers: [n] ---------------------------------------------------------------

    def s(self, index: int) -> U32:
        """Returns scalar register `index` of each wave."""
        machine = self.machine
        if not machine._s_complete[index]:
            self._expect_defined_s(index)
        return machine.sgpr[index][self.rows]

    def _expect_defined_s(self, index: int, bits: int = 0xFFFFFFFF) -> None:
        undefined = self.machine.s_defined.undefined(index, self.rows)
        if undefined is None:
            return
        rows = np.flatnonzero(undefined.bits & np.uint32(bits))
        if len(rows):
            row = int(rows[0])
            name, origin = self.register_name("s", index), int(undefined.origins[row])
            raise UndefinedBits(int(self.waves[row]), None, name, origin)

    def s_that_decides(self, index: int, what: str, bits: int = 0xFFFFFFFF) -> U32:
        """Returns some bits of a scalar register, which must be defined even on trial.

        Args:
            what: the register's meaning, with which the message of the error begins.

        Raises:
            UndefinedReadError: one of the bits is not defined.
        """
        try:
            self._expect_defined_s(index, bits)
        except UndefinedBits as found:
            origins = self.machine.memory.origins
            raise UndefinedReadError(found.message(what, origins)) from None
        return self.machine.sgpr[index][self.rows] & np.uint32(bits)

    def set_s(self, index: int, value: npt.NDArray[np.uint32] | np.uint32 | int) -> None:
        """Writes scalar register `index`."""
        machine = self.machine
        machine.sgpr[index][self.rows] = value
        if not machine._s_complete[index]:
            machine.s_defined.bits[index][self.rows] = ALL_BITS
            machine._s_complete[index] = self.all_waves
        if EXEC.index <= index < EXEC.index + EXEC.count:
            self.refresh_exec()

    def s64(self, index: int) -> npt.NDArray[np.uint64]:
        """Returns the pair from scalar register `index` on."""
        return self.s(index).astype(np.uint64) | self.s(index + 1).astype(np.uint64) << np.uint64(
            32
        )

    def set_s64(self, index: int, value: npt.NDArray[np.uint64]) -> None:
        """Writes the pair from scalar register `index` on."""
        self.set_s(index, value.astype(np.uint32))
        self.set_s(index + 1, (value >> np.uint64(32)).astype(np.uint32))

    def scc(self) -> npt.NDArray[np.bool_]:
        """Returns the scalar condition code."""
        if not self.machine._s_complete[SCC]:
            self._expect_defined_s(SCC)
        return self.machine.scc[self.rows]

    def set_scc(self, value: npt.NDArray[np.bool_]) -> None:
        """Writes the scalar condition code."""
        machine = self.machine
        machine.scc[self.rows] = value
        if not machine._s_complete[SCC]:
            machine.s_defined.bits[SCC][self.rows] = ALL_BITS
            machine._s_complete[SCC] = self.all_waves

    def lane_mask(self, index: int) -> LaneMask:
        """Returns the lane mask from scalar register `index` on as [n, lanes].

        It has a bit for each lane, and takes a pair of registers if there are 64.
        """
        return lanes_of([self.s(index + i) for i in range(self.lanes // 32)])

    def lane_bits(self, index: int) -> npt.NDArray[Any]:
        """Returns the lane mask from scalar register `index` on as a number [n]."""
        return self.s64(index) if self.lanes == 64 else self.s(index)

    def set_lane_mask(self, index: int, mask: LaneMask) -> None:
        """Writes a lane mask [n, lanes], in which inactive lanes give 0."""
        if index == NULL.index:
            return
        if self.active is not None:
            mask = mask & self.active
        words = np.packbits(np.ascontiguousarray(mask), axis=1, bitorder="little").view(np.uint32)
        for i in range(self.lanes // 32):
            self.set_s(index + i, words[:, i])

    # -- vector registers: [n, lanes] --------------------------------------------------------

    def v(self, index: int, every_lane: bool = False) -> U32:
        """Returns vector register `index` of `Machine.vgpr`, perhaps a view: do not write into it.

        Inactive lanes may hold anything. With `every_lane` they too must be defined.
        """
        if not self.machine._v_complete[index]:
            self._expect_defined_v(index, None if every_lane else self.active)
        return self.machine.vgpr[index][self.rows]

    def _expect_defined_v(self, index: int, lanes: LaneMask | None) -> None:
        undefined = self.machine.v_defined.undefined(index, self.rows)
        if undefined is None:
            return
        missing = undefined.bits != 0
        if lanes is not None:
            missing &= lanes
        if missing.any():
            raise self._undefined_bits(index, undefined, missing)

    def _undefined_bits(self, index: int, undefined: Undefined, missing: LaneMask) -> UndefinedBits:
        row, lane = np.argwhere(missing)[0].tolist()
        name, origin = self.vector_name(index), int(undefined.origins[row, lane])
        return UndefinedBits(int(self.waves[row]), lane, name, origin)

    def v_moved(
        self, index: int, moved: Callable[[U32], U32], used: Callable[[WaveGroup], LaneMask]
    ) -> U32:
        """Returns vector register `index` after `moved` has moved words [n, lanes] between lanes.

        Those that land in the lanes `used` of this group must be defined.
        """
        undefined = self.machine.v_defined.undefined(index, self.rows)
        if undefined is not None:
            missing = used(self) & (moved(undefined.bits) != 0)
            if missing.any():
                raise self._undefined_bits(index, undefined, missing)
        return moved(self.machine.vgpr[index][self.rows])

    def v_of_lane(self, index: int, lanes: npt.NDArray[np.intp]) -> U32:
        """Returns vector register `index` of one lane per wave, active or not, [n]."""
        waves = np.arange(self.count)
        undefined = self.machine.v_defined.undefined(index, self.rows)
        if undefined is not None and undefined.bits[waves, lanes].any():
            missing = np.zeros((self.count, self.lanes), bool)
            missing[waves, lanes] = undefined.bits[waves, lanes] != 0
            raise self._undefined_bits(index, undefined, missing)
        return self.machine.vgpr[index][self.rows][waves, lanes]

    # -- undefined bits ------------------------------------------------------------------------

    def register(self, file: str, index: int) -> tuple[U32, Undefined | None]:
        """Returns the words of a register and their undefined bits.

        Both are [n] in file `s`, and [n, lanes] in file `v`. `index` is the one that the method
        `s` or `v` takes, or `SCC`.
        """
        machine = self.machine
        if file == "v":
            words, defined = machine.vgpr[index][self.rows], machine.v_defined
        else:
            defined = machine.s_defined
            words = machine.scc.astype(np.uint32) if index == SCC else machine.sgpr[index]
            words = words[self.rows]
        return words, defined.undefined(index, self.rows)

    def set_register(self, file: str, index: int, words: U32, undefined: Undefined | None) -> None:
        """Writes what `register` returns, in all lanes; the caller refreshes EXEC."""
        machine = self.machine
        if file == "v":
            machine.vgpr[index][self.rows] = words
            machine._v_normal[index] = False
            defined = machine.v_defined
        else:
            (machine.scc if index == SCC else machine.sgpr[index])[self.rows] = words
            defined = machine.s_defined
        defined.write(index, self.rows, undefined)

    def register_name(self, file: str, index: int) -> str:
        """Returns how the text spells a register."""
        if file == "v":
            return self.vector_name(index)
        return "scc" if index == SCC else scalar_name(index, self.machine.kernel.chip)

    def block_or_undefined(self, index: int, count: int) -> tuple[U32, Undefined | None]:
        """Returns what `block` returns, and its undefined bits in active lanes.

        They are [count, n, lanes].
        """
        machine = self.machine
        try:
            return self.block(index, count), None
        except UndefinedBits:
            pass
        words = machine.vgpr[index : index + count][:, self.rows]
        parts = [self._undefined_v(index + k) for k in range(count)]
        undefined = Undefined.stack(parts, (self.count, self.lanes))
        assert undefined is not None
        bits = undefined.bits if self.active is None else np.where(self.active, undefined.bits, 0)
        return words, Undefined(bits.astype(np.uint32), undefined.origins)

    def _undefined_v(self, index: int) -> Undefined | None:
        """Returns the undefined bits of a register that the instruction at `pc` reads."""
        undefined = self.machine.v_defined.undefined(index, self.rows)
        if undefined is None or (undefined.origins != NEVER_WRITTEN).all():
            return undefined
        kernel = self.machine.kernel
        text = never_written(self.vector_name(index), kernel, kernel.instructions[self.pc])
        number = np.int32(self.machine.memory.origins.number(text))
        origins = np.where(undefined.origins == NEVER_WRITTEN, number, undefined.origins)
        return Undefined(undefined.bits, origins)

    def set_s_or_undefined(self, index: int, value: U32, undefined: Undefined | None) -> None:
        """Writes words [n] with undefined bits to a scalar register other than EXEC."""
        self.set_s(index, value)
        self.machine.s_defined.write(index, self.rows, undefined)

    def set_block_or_undefined(self, index: int, words: U32, undefined: Undefined | None) -> None:
        """Writes words [count, n, lanes] with undefined bits to the active lanes of registers."""
        if undefined is None:
            self.set_block(index, words)
            return
        for k in range(len(words)):
            old = self.machine.v_defined.undefined(index + k, self.rows)
            self.set_v(index + k, words[k])
            bits, origins = undefined.bits[k], undefined.origins[k]
            if self.active is not None:
                inactive = (np.zeros_like(bits),) * 2 if old is None else (old.bits, old.origins)
                bits = np.where(self.active, bits, inactive[0])
                origins = np.where(self.active, origins, inactive[1])
            self.machine.v_defined.write(index + k, self.rows, Undefined(bits, origins))

    def block(self, index: int, count: int, every_lane: bool = False) -> U32:
        """Returns `count` vector registers from `index` on, as `v` returns each.

        They are [count, n, lanes].
        """
        machine = self.machine
        if not all(machine._v_complete[index : index + count]):
            for k in range(count):
                self.v(index + k, every_lane)
        registers = machine.vgpr[index : index + count]
        return registers if self.all_waves else registers[:, self.rows]

    def set_block(self, index: int, values: U32, lanes: LaneMask | None = None) -> None:
        """Writes `values` [count, n, lanes] to vector registers, as `set_v` does."""
        machine, count = self.machine, len(values)
        whole = self.all_waves and self.active is None and lanes is None
        if whole and all(machine._v_complete[index : index + count]):
            machine.vgpr[index : index + count] = values
            machine._v_normal[index : index + count] = [False] * count
            return
        for k in range(count):
            self.set_v(index + k, values[k], lanes)

    def set_v(
        self, index: int, value: npt.NDArray[np.uint32], lanes: LaneMask | None = None
    ) -> None:
        """Writes vector register `index` in the active lanes, or in `lanes` if given.

        `value` is broadcast to [n, lanes].
        """
        machine = self.machine
        machine._v_normal[index] = False
        mask = self.active if lanes is None else lanes
        if mask is None:
            machine.vgpr[index][self.rows] = value
        elif self.all_waves:
            np.copyto(machine.vgpr[index], value, where=mask)
        else:
            machine.vgpr[index][self.rows] = np.where(mask, value, machine.vgpr[index][self.rows])
        if not machine._v_complete[index]:
            if mask is None and self.all_waves:
                machine._v_complete[index] = True
            elif mask is None:
                machine.v_defined.bits[index][self.rows] = ALL_BITS
            else:
                machine.v_defined.bits[index][self.rows] |= np.where(mask, ALL_BITS, np.uint32(0))

    def set_half(
        self,
        index: int,
        value: npt.NDArray[np.uint32],
        shift: int,
        lanes: LaneMask | None = None,
    ) -> None:
        """Writes 16 bits of vector register `index`, from bit `shift` on, where `set_v` would.

        The other half stays as it is, defined or not.
        """
        machine, half = self.machine, np.uint32(0xFFFF << shift)
        old = machine.vgpr[index][self.rows]
        words = old & ~half | value << np.uint32(shift) & half
        if machine._v_complete[index]:
            self.set_v(index, words, lanes)
            return
        mask = self.active if lanes is None else lanes
        machine._v_normal[index] = False
        machine.vgpr[index][self.rows] = words if mask is None else np.where(mask, words, old)
        known = half if mask is None else np.where(mask, half, np.uint32(0))
        machine.v_defined.bits[index][self.rows] |= known

    def v_f32(self, index: int) -> npt.NDArray[np.float32]:
        """Returns what `v` returns, as f32.

        Denormals are zeros if the mode flushes those of f32.
        """
        machine = self.machine
        values = self.v(index).view(_F32)
        if machine._v_normal[index] or not self.mode.flush_f32:
            return values
        flushed = flush_denormals(values)
        machine._v_normal[index] = self.all_waves and flushed is values
        return flushed

    def set_f32(self, index: int, values: npt.NDArray[np.float32]) -> None:
        """Writes f32 `values`, in which denormals are zeros already if the mode flushes those."""
        self.set_v(index, values.view(_U32))
        everywhere = self.all_waves and self.active is None
        self.machine._v_normal[index] = everywhere and self.mode.flush_f32

    def vector_name(self, index: int) -> str:
        """Returns how the text spells vector register `index`."""
        offset = self.machine.accum_offset
        return f"a{index - offset}" if index >= offset else f"v{index}"


def lanes_or_all(words: Sequence[U32]) -> LaneMask | None:
    """Returns what `lanes_of` returns; None if all lanes are set."""
    all_set = words[0] if len(words) == 1 else words[0] & words[1]
    return None if bool((all_set == 0xFFFFFFFF).all()) else lanes_of(words)


def lanes_of(words: Sequence[U32]) -> LaneMask:
    """Returns lanes [n, 32] from masks [n], or [n, 64] from their two halves."""
    columns = np.stack(words, axis=1)
    return np.unpackbits(columns.view(np.uint8), axis=1, bitorder="little").view(np.bool_)
