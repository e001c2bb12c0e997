# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The state of many waves at once, and the group of waves that executes one instruction.

Every register is an array over all waves: `vgpr[r]` is [waves, 64], `sgpr[r]` is [waves]. Waves
that are at the same instruction form a `WaveGroup` and execute it together; where a branch parts
them, they go on as two groups (`executor.py`).

Whatever has not been written is known as such: reading it is an error, not a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .assembly import EXEC, SCALAR_REGISTERS, Kernel, Register
from .counters import Counters, WorkgroupCounters
from .errors import UndefinedReadError
from .float_mode import FloatMode
from .floats import flush_denormals
from .global_memory import GlobalMemory
from .lds import LdsState

LANES = 64
U32 = npt.NDArray[np.uint32]
LaneMask = npt.NDArray[np.bool_]
_U32, _F32 = np.dtype(np.uint32), np.dtype(np.float32)
Rows = slice | npt.NDArray[np.intp]


@dataclass(eq=False)
class Machine:
    """All waves of some workgroups of one kernel.

    Attributes:
        workgroups: [n, 3], the ids of the workgroups.
        waves: waves of all workgroups; wave w belongs to workgroup `w // waves_per_workgroup`.
        sgpr: [128, waves]; `vcc`, `m0` and `exec` lie where the ISA encodes them.
        vgpr: [registers, waves, 64]; accumulation register a_i lies at `accum_offset + i`.
        scc: [waves].
        private_segment: address of the private memory of all work items, wave by wave.
        modes: the float modes that waves have had so far.
        mode_of: [waves], which of `modes` each wave has.
    """

    kernel: Kernel
    workgroups: npt.NDArray[np.int64]
    memory: GlobalMemory
    waves_per_workgroup: int = field(init=False)
    waves: int = field(init=False)
    sgpr: U32 = field(init=False)
    vgpr: U32 = field(init=False)
    scc: npt.NDArray[np.bool_] = field(init=False)
    lds: LdsState = field(init=False)
    private_segment: int = 0
    modes: list[FloatMode] = field(init=False)
    mode_of: npt.NDArray[np.intp] = field(init=False)
    workgroup_counters: WorkgroupCounters = field(init=False)
    accum_offset: int = field(init=False)

    def __post_init__(self) -> None:
        kernel = self.kernel
        threads = int(np.prod(kernel.workgroup_size))
        self.waves_per_workgroup = -(-threads // LANES)
        self.waves = self.waves_per_workgroup * len(self.workgroups)
        self.accum_offset = kernel.directives.get("accum_offset", 256)
        vectors = max(kernel.directives.get("next_free_vgpr", 0), _vectors_used(self)) + 1
        self.sgpr = np.zeros((SCALAR_REGISTERS, self.waves), np.uint32)
        self.vgpr = np.zeros((vectors, self.waves, LANES), np.uint32)
        self.scc = np.zeros(self.waves, bool)
        self.workgroup_counters = WorkgroupCounters(len(kernel.instructions), len(self.workgroups))
        self.lds = LdsState(len(self.workgroups), kernel.lds_bytes, self.waves_per_workgroup)
        self._s_defined = np.zeros((SCALAR_REGISTERS, self.waves), bool)
        self._s_complete = [False] * SCALAR_REGISTERS
        self._v_defined = np.zeros((vectors, self.waves, LANES), bool)
        self._v_complete = [False] * vectors
        # Known to hold no denormal f32 in any lane of any wave.
        self._v_normal = [False] * vectors
        self.modes = [FloatMode.of_directives(kernel.directives)]
        self.mode_of = np.zeros(self.waves, np.intp)

    @property
    def counters(self) -> Counters:
        """What was counted so far, summed over the workgroups."""
        return self.workgroup_counters.total()

    def define_scalar(self, index: int, values: U32) -> None:
        """Gives scalar register `index` of every wave its initial value [waves]."""
        self.sgpr[index] = values
        self._s_defined[index] = self._s_complete[index] = True

    def define_vector(self, index: int, values: U32) -> None:
        """Gives vector register `index` of every wave its initial values [waves, 64]."""
        self.vgpr[index] = values
        self._v_defined[index] = self._v_complete[index] = True
        self._v_normal[index] = False

    def vector_index(self, register: Register) -> int:
        """Where a vector or accumulation register lies in `vgpr`."""
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
        rows: which waves: indexes the wave dimension of the machine's arrays. A slice means all.
        active: [n, 64] lanes that EXEC enables, or None where it enables all of them.
        pc: index of the instruction that runs, for the counters.
        mode: the float mode of all of its waves.
        waves_of_workgroups: [workgroups of the machine], how many waves are of each.
    """

    def __init__(self, machine: Machine, waves: npt.NDArray[np.intp]) -> None:
        self.machine = machine
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
        """[n], for each wave the index of its workgroup."""
        return self.waves // self.machine.waves_per_workgroup

    def active_lanes(self) -> LaneMask:
        """[n, 64], which lanes take part."""
        if self.active is None:
            return np.ones((self.count, LANES), bool)
        return self.active

    def refresh_exec(self) -> None:
        """Reads EXEC again after it was written."""
        low, high = (self.machine.sgpr[EXEC.index + i][self.rows] for i in (0, 1))
        if bool((low & high == 0xFFFFFFFF).all()):
            self.active = None
        else:
            self.active = lanes_of(low, high)

    def set_modes(self, modes: Sequence[FloatMode], which: npt.NDArray[np.intp]) -> None:
        """Gives wave i of the group mode `modes[which[i]]`.

        If these are several, the group must part before its next instruction.
        """
        machine = self.machine
        machine.modes += [mode for mode in modes if mode not in machine.modes]
        numbers = np.array([machine.modes.index(mode) for mode in modes], np.intp)
        machine.mode_of[self.rows] = numbers[which]
        self.mode = machine.modes[machine.mode_of[self.waves[0]]]

    # -- scalar registers: [n] ---------------------------------------------------------------

    def s(self, index: int) -> U32:
        """Scalar register `index` of each wave."""
        machine = self.machine
        if not machine._s_complete[index]:
            defined = machine._s_defined[index]
            if not defined[self.rows].all():
                raise UndefinedReadError(f"{_scalar_name(index)} is read but was never written")
            machine._s_complete[index] = bool(defined.all())
        return machine.sgpr[index][self.rows]

    def set_s(self, index: int, value: npt.NDArray[np.uint32] | np.uint32 | int) -> None:
        """Writes scalar register `index`."""
        machine = self.machine
        machine.sgpr[index][self.rows] = value
        if not machine._s_complete[index]:
            machine._s_defined[index][self.rows] = True
            machine._s_complete[index] = self.all_waves
        if EXEC.index <= index < EXEC.index + EXEC.count:
            self.refresh_exec()

    def s64(self, index: int) -> npt.NDArray[np.uint64]:
        """The pair from scalar register `index` on."""
        return self.s(index).astype(np.uint64) | self.s(index + 1).astype(np.uint64) << np.uint64(
            32
        )

    def set_s64(self, index: int, value: npt.NDArray[np.uint64]) -> None:
        """Writes the pair from scalar register `index` on."""
        self.set_s(index, value.astype(np.uint32))
        self.set_s(index + 1, (value >> np.uint64(32)).astype(np.uint32))

    def scc(self) -> npt.NDArray[np.bool_]:
        """The scalar condition code."""
        return self.machine.scc[self.rows]

    def set_scc(self, value: npt.NDArray[np.bool_]) -> None:
        """Writes the scalar condition code."""
        self.machine.scc[self.rows] = value

    def lane_mask(self, index: int) -> LaneMask:
        """The scalar pair from `index` on as [n, 64] lanes."""
        return lanes_of(self.s(index), self.s(index + 1))

    def set_lane_mask(self, index: int, mask: LaneMask) -> None:
        """Writes a scalar pair, one bit per lane; inactive lanes give 0."""
        if self.active is not None:
            mask = mask & self.active
        words = np.packbits(np.ascontiguousarray(mask), axis=1, bitorder="little").view(np.uint32)
        self.set_s(index, words[:, 0])
        self.set_s(index + 1, words[:, 1])

    # -- vector registers: [n, 64] -----------------------------------------------------------

    def v(self, index: int, every_lane: bool = False) -> U32:
        """Vector register `index` of `Machine.vgpr`; may be a view, do not write into it.

        Inactive lanes may hold anything. With `every_lane` they too must have been written.
        """
        machine = self.machine
        if not machine._v_complete[index]:
            defined = machine._v_defined[index][self.rows]
            if self.active is not None and not every_lane:
                defined = defined | ~self.active
            if not defined.all():
                wave, lane = np.argwhere(~defined)[0].tolist()
                raise UndefinedReadError(
                    f"{self.vector_name(index)} is read but was never written "
                    f"(wave {int(self.waves[wave])}, lane {lane})"
                )
            machine._v_complete[index] = bool(machine._v_defined[index].all())
        return machine.vgpr[index][self.rows]

    def v_moved(
        self, index: int, moved: Callable[[U32], U32], used: Callable[[WaveGroup], LaneMask]
    ) -> U32:
        """Vector register `index` after `moved` has moved words [n, 64] between lanes.

        Those that land in the lanes `used` of this group must have been written.
        """
        machine = self.machine
        if not machine._v_complete[index]:
            defined = machine._v_defined[index][self.rows].astype(np.uint32)
            missing = used(self) & (moved(defined) == 0)
            if missing.any():
                wave, lane = np.argwhere(missing)[0].tolist()
                raise UndefinedReadError(
                    f"{self.vector_name(index)} is read from another lane, where it was never "
                    f"written (wave {int(self.waves[wave])}, for lane {lane})"
                )
        return moved(machine.vgpr[index][self.rows])

    def v_of_lane(
        self, index: int, lanes: npt.NDArray[np.intp]
    ) -> tuple[U32, npt.NDArray[np.bool_]]:
        """Vector register `index` of one lane per wave, active or not, and which are defined: [n].

        Spilled registers come back by this; an undefined one is none of the spill's business.
        """
        waves = np.arange(self.count)
        defined = self.defined_v(index)[waves, lanes]
        return self.machine.vgpr[index][self.rows][waves, lanes], defined

    # -- what has not been written -------------------------------------------------------------

    def defined_v(self, index: int) -> LaneMask:
        """[n, 64], where vector register `index` has been written."""
        if self.machine._v_complete[index]:
            return np.ones((self.count, LANES), bool)
        return self.machine._v_defined[index][self.rows]

    def forget_v(self, index: int, lanes: LaneMask) -> None:
        """Makes vector register `index` undefined in `lanes` [n, 64]."""
        machine = self.machine
        if not lanes.any():
            return
        if machine._v_complete[index]:
            machine._v_defined[index] = True
            machine._v_complete[index] = False
        machine._v_defined[index][self.rows] &= ~lanes

    def s_or_undefined(self, index: int) -> tuple[U32, npt.NDArray[np.bool_]]:
        """Scalar register `index` of each wave, and where it has been written: [n] each."""
        machine = self.machine
        return machine.sgpr[index][self.rows], machine._s_defined[index][self.rows]

    def forget_s(self, index: int, waves: npt.NDArray[np.bool_]) -> None:
        """Makes scalar register `index` undefined in `waves` [n]."""
        if not waves.any():
            return
        self.machine._s_complete[index] = False
        self.machine._s_defined[index][self.rows] &= ~waves

    def block(self, index: int, count: int, every_lane: bool = False) -> U32:
        """`count` vector registers from `index` on, [count, n, 64]; as `v` in all else."""
        machine = self.machine
        if not all(machine._v_complete[index : index + count]):
            for k in range(count):
                self.v(index + k, every_lane)
        registers = machine.vgpr[index : index + count]
        return registers if self.all_waves else registers[:, self.rows]

    def set_block(self, index: int, values: U32, lanes: LaneMask | None = None) -> None:
        """Writes vector registers from `index` on with `values` [count, n, 64], as `set_v`."""
        machine, count = self.machine, len(values)
        whole = self.all_waves and self.active is None and lanes is None
        if whole and all(machine._v_complete[index : index + count]):
            machine.vgpr[index : index + count] = values
            machine._v_normal[index : index + count] = [False] * count
            return
        for k in range(count):
            self.set_v(index + k, values[k], lanes)

    def v_or_undefined(self, index: int) -> U32:
        """As `v`, without the check: for registers of which a part is kept, never used."""
        return self.machine.vgpr[index][self.rows]

    def set_v(
        self, index: int, value: npt.NDArray[np.uint32], lanes: LaneMask | None = None
    ) -> None:
        """Writes vector register `index` in the active lanes, or in `lanes` if given.

        `value` is broadcast to [n, 64].
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
                machine._v_defined[index][self.rows] = True
            else:
                machine._v_defined[index][self.rows] |= mask

    def v_f32(self, index: int) -> npt.NDArray[np.float32]:
        """As `v`, as f32; denormals are zeros where the mode flushes those of f32."""
        machine = self.machine
        values = self.v(index).view(_F32)
        if machine._v_normal[index] or not self.mode.flush_f32:
            return values
        flushed = flush_denormals(values)
        machine._v_normal[index] = self.all_waves and flushed is values
        return flushed

    def set_f32(self, index: int, values: npt.NDArray[np.float32]) -> None:
        """As `set_v`, f32 `values` in which denormals are zeros if the mode flushes those."""
        self.set_v(index, values.view(_U32))
        everywhere = self.all_waves and self.active is None
        self.machine._v_normal[index] = everywhere and self.mode.flush_f32

    def vector_name(self, index: int) -> str:
        """How the text spells vector register `index`."""
        offset = self.machine.accum_offset
        return f"a{index - offset}" if index >= offset else f"v{index}"


def lanes_of(low: U32, high: U32) -> LaneMask:
    """[n, 64] lanes from the two halves [n] of 64-bit masks."""
    words = np.stack([low, high], axis=1)
    return np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").view(np.bool_)


def _scalar_name(index: int) -> str:
    names = {106: "vcc_lo", 107: "vcc_hi", 124: "m0", 126: "exec_lo", 127: "exec_hi"}
    return names.get(index, f"s{index}")
