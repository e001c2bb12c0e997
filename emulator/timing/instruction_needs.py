# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel's instructions as numbers: what each needs of the hardware, for `compute_unit.py`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...bank_model.matrix_instructions import WAVE
from ..assembly import Kernel
from ..chips import CDNA4
from ..instruction_text import VCC, Instruction, Literal, Operand, Register
from ..mnemonics import base_name
from ..trace import LINE
from ..waits import Queue, is_direct_load, queues_of, waited_for
from .constants import Chip
from .matrix_passes import matrix_cycles

I32 = npt.NDArray[np.int32]


class Kind(IntEnum):
    """What part of the hardware executes an instruction."""

    VECTOR = 0
    PACKED = 1
    MATRIX = 2
    LDS = 3
    MEMORY = 4
    SCALAR_MEMORY = 5
    WAIT = 6
    BARRIER = 7
    END = 8
    LINE = 9
    BRANCH = 9
    SCALAR = 10
    NOP = 11
    PRIORITY = 12


NO_WAIT = 1 << 20
"""The count of a wait for a counter that the wait does not name."""
_FILES = {"v": 0, "a": 256, "s": 512}
REGISTERS = 512 + 128 + 1
"""The registers of a wave: 256 vector, 256 accumulation and 128 scalar ones, and SCC."""
_SCC = REGISTERS - 1


class Column(IntEnum):
    """The columns of `Code.table`.

    FIRST is: of a matrix instruction the cycles of the matrix unit; of an LDS instruction the rows
    of 64 lanes that it puts into the queue; of an access to memory 1 for a store; of a branch the
    cycles where it is not taken; of a wait the largest vmcnt; of a NOP its wait states; of
    s_setprio the priority. SECOND is: of an LDS instruction the cycles for which it occupies the
    path of its two SIMDs; of an access to memory the LDS cycles of a direct load; of a wait the
    largest lgkmcnt.

    The registers that an instruction reads are those from READS up to CHAINS of `Code.registers`,
    those that a matrix instruction adds to are from CHAINS up to WRITES, and those that it writes
    from WRITES up to END. LINE is the number of the line of code that an instruction begins in.
    """

    KIND = 0
    BUSY = 1
    LATENCY = 2
    FIRST = 3
    SECOND = 4
    READS = 5
    CHAINS = 6
    WRITES = 7
    END = 8
    LINE = 9


class Code(NamedTuple):
    """The instructions of a kernel.

    Attributes:
        table: [instructions, columns]; BUSY are the cycles for which an instruction occupies the
            port that it issues to, LATENCY those from its issue to the use of its result.
        registers: the numbers of registers, as `_numbers` makes them.
    """

    table: I32
    registers: I32

    @property
    def kind(self) -> I32:
        """Returns the kind of each instruction."""
        return self.table[:, Column.KIND]


@dataclass(frozen=True)
class _Needs:
    kind: Kind
    busy: float = 4
    latency: float = 4
    first: float = 0
    second: float = 0
    reads: tuple[int, ...] = ()
    chain: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()


def kernel_code(kernel: Kernel, chip: Chip) -> Code:
    """Returns the instructions of a kernel as `compute_unit.py` plays them.

    Raises:
        KeyError: no passes are known of a matrix instruction.
    """
    needs = [_needs(instruction, kernel.arch, chip) for instruction in kernel.instructions]
    registers: list[int] = []
    table = np.zeros((len(needs), len(Column)), np.int32)
    place = 0
    for row, need, instruction in zip(table, needs, kernel.instructions, strict=True):
        row[: Column.READS] = need.kind, need.busy, need.latency, need.first, need.second
        for column, part in enumerate((need.reads, need.chain, need.writes), Column.READS):
            row[column] = len(registers)
            registers += part
        row[Column.END] = len(registers)
        row[Column.LINE] = place // LINE
        place += code_bytes(instruction)
    return Code(table, np.array(registers or [0], np.int32))


_EIGHT_BYTES = (
    *("ds_", "buffer_", "global_", "flat_", "scratch_", "s_load", "s_buffer", "s_store"),
    *("s_atomic", "v_mfma", "v_smfmac", "v_pk_"),
)
_INLINE = (*range(-16, 65), 0.5, 1.0, 2.0, 4.0, -0.5, -1.0, -2.0, -4.0)
"""The numbers that need no bytes of their own (CDNA3 ISA, table of source operands)."""


def code_bytes(instruction: Instruction) -> int:
    """Returns the bytes of an instruction, as far as its text tells.

    What LLVM prints without an encoding is one of 8 bytes, if it has three sources, or is not a
    vector instruction. A scaled matrix instruction is two of these (LLVM, `mai-gfx950.s`).
    """
    name = instruction.mnemonic
    if name.startswith("v_mfma_scale_"):
        return 16
    if name.startswith(_EIGHT_BYTES) or name.endswith(("_e64", "_dpp", "_sdwa")):
        return 8
    if name.startswith("v_") and not name.endswith("_e32"):
        return 8
    literals = (operand.value for operand in instruction.operands)
    wide = any(isinstance(each, Literal) and each.value not in _INLINE for each in literals)
    return 8 if wide and not name.startswith(("s_nop", "s_waitcnt", "s_setprio")) else 4


def _needs(instruction: Instruction, arch: str, chip: Chip) -> _Needs:
    name = instruction.mnemonic
    queues = queues_of(instruction)
    if name.startswith(("v_mfma_", "v_smfmac_")):
        return _matrix(instruction, arch)
    if name.startswith("v_"):
        return _vector(instruction, chip)
    if name.startswith("ds_") and queues:
        return _lds(instruction, arch)
    if Queue.SCALAR in queues:
        return _Needs(
            Kind.SCALAR_MEMORY, reads=_sources(instruction, 0 if _GIVES_DATA.search(name) else 1)
        )
    if queues:
        return _memory(instruction)
    return _control(instruction, chip)


_GIVES_DATA = re.compile("_(store|atomic)_")


def _control(instruction: Instruction, chip: Chip) -> _Needs:
    """Returns the needs of an instruction that computes no vectors and accesses no memory."""
    name = instruction.mnemonic
    if name == "s_waitcnt":
        counts = waited_for(instruction)
        vm, lgkm = (counts.get(queue, NO_WAIT) for queue in (Queue.VECTOR, Queue.LDS))
        return _Needs(Kind.WAIT, 4, 0, vm, lgkm)
    if name in ("s_nop", "s_setprio"):
        kind = Kind.NOP if name == "s_nop" else Kind.PRIORITY
        return _Needs(kind, first=_literal(instruction) + (kind is Kind.NOP))
    if name == "s_barrier":
        return _Needs(Kind.BARRIER)
    if name == "s_endpgm":
        return _Needs(Kind.END)
    if name.startswith(("s_branch", "s_cbranch")):
        taken, not_taken = int(chip.branch_taken.value), int(chip.branch_not_taken.value)
        return _Needs(Kind.BRANCH, taken, first=not_taken, reads=_condition(name))
    if name.startswith("s_cmp"):
        reads, writes = _sources(instruction, 0), (_SCC,)
    else:
        reads, writes = _sources(instruction, 1), _results(instruction, 1)
    return _Needs(Kind.SCALAR, 4, chip.scalar_latency.value, reads=reads, writes=writes)


def _condition(name: str) -> tuple[int, ...]:
    if "vcc" in name:
        return _numbers([Operand(VCC)])
    return (_SCC,) if "scc" in name else ()


def _literal(instruction: Instruction) -> int:
    value = instruction.operands[0].value if instruction.operands else None
    return int(value.value) if isinstance(value, Literal) else 0


# -- registers -----------------------------------------------------------------------------------


def _numbers(operands: Iterable[Operand]) -> tuple[int, ...]:
    """Returns the numbers of the registers that operands name."""
    values = (operand.value for operand in operands)
    return tuple(
        _FILES[value.file] + value.index + k
        for value in values
        if isinstance(value, Register)
        for k in range(value.count)
    )


def _sources(instruction: Instruction, results: int) -> tuple[int, ...]:
    return _numbers(instruction.operands[results:])


def _results(instruction: Instruction, results: int) -> tuple[int, ...]:
    return _numbers(instruction.operands[:results])


# -- vector and matrix instructions --------------------------------------------------------------

_QUARTER_RATE = re.compile(
    r"v_(exp|log|rcp|rcp_iflag|rsq|sqrt|sin|cos)_(legacy_)?f(16|32|64)$"
    r"|v_mul_(lo|hi)_[ui]32$|v_mad_[ui]64_[ui]32$"
)
_TWO_RESULTS = (
    *("v_add_co_", "v_sub_co_", "v_subrev_co_", "v_addc_co_", "v_subb_co_", "v_subbrev_co_"),
    *("v_div_scale_", "v_mad_u64_", "v_mad_i64_", "v_swap_", "v_permlane16_swap_"),
    "v_permlane32_swap_",
)
_ACCUMULATING = ("v_fmac_", "v_mac_", "v_dot2c_", "v_pk_fmac_", "v_swap_", "v_permlane")


def _vector(instruction: Instruction, chip: Chip) -> _Needs:
    name = base_name(instruction.mnemonic)
    results = 2 if name.startswith(_TWO_RESULTS) else 1
    reads, writes = _sources(instruction, results), _results(instruction, results)
    if name.startswith(_ACCUMULATING):
        reads += writes
    slow = bool(_QUARTER_RATE.match(name))
    busy = chip.transcendental.value if slow else 4
    latency = busy - 4 + chip.vector_latency.value
    # Packed f32 instructions do not run beside the matrix unit.
    packed = name.startswith("v_pk_") and name.endswith("_f32")
    kind = Kind.PACKED if packed else Kind.VECTOR
    return _Needs(kind, busy, latency, reads=reads, writes=writes)


def _matrix(instruction: Instruction, arch: str) -> _Needs:
    result, a, b, *rest = instruction.operands
    cycles = matrix_cycles(instruction, arch)
    if instruction.mnemonic.startswith("v_smfmac_"):
        # The result is the addend, and the last operand has the indices.
        chain, reads = _numbers([result]), _numbers([a, b, *rest])
    else:
        chain, reads = _numbers(rest[:1]), _numbers([a, b, *rest[1:]])
    writes = _numbers([result])
    return _Needs(Kind.MATRIX, 4, first=cycles, reads=reads, chain=chain, writes=writes)


# -- memory --------------------------------------------------------------------------------------

_LDS_ACCESS = re.compile(r"ds_(?P<verb>[a-z]+)(?P<two>2(?:st64)?)?_.*?(?P<bits>\d+)(?:_|$)")
_SLOW_WIDTHS = (12, 16)


def _lds(instruction: Instruction, arch: str) -> _Needs:
    """Returns the needs of an LDS instruction.

    Two SIMDs share a path of 16 lanes a cycle, of which each moves 4 bytes; on gfx950 reads of 8
    and 16 bytes are twice as fast (rocRoller's LDSModel, `getThreadsPerClock`). An instruction that
    writes sends its data over the same path before: 4 cycles for addresses, and 4 for each dword.
    """
    found = _LDS_ACCESS.match(instruction.mnemonic.replace("_rtn", ""))
    verb, width = (found["verb"], int(found["bits"]) // 8) if found else ("", 4)
    parts = 2 if found and found["two"] else 1
    writes = verb not in ("read", "swizzle")
    path = _path_cycles(width, not writes, arch) * parts
    dwords = -(-width // 4) * parts if writes else 0
    reads_data = writes or verb == ""
    registers = _sources(instruction, 0 if reads_data and not _returns(instruction) else 1)
    return _Needs(Kind.LDS, 4 + 4 * dwords, first=1 + dwords, second=path, reads=registers)


def _returns(instruction: Instruction) -> bool:
    return "_rtn_" in instruction.mnemonic or "permute" in instruction.mnemonic


def _path_cycles(width: int, reads: bool, arch: str) -> int:
    """Returns the cycles for which an access of `width` bytes a lane occupies the path."""
    if width <= 4:
        lanes = 16
    elif arch == CDNA4 and reads and width != 12:
        lanes = 128 // width
    else:
        lanes = 4 if width in _SLOW_WIDTHS else 8
    return WAVE // lanes


def _memory(instruction: Instruction) -> _Needs:
    name = instruction.mnemonic
    store = "_store" in name
    loads = not store and not is_direct_load(instruction)
    reads = _sources(instruction, 1 if loads and "_atomic_" not in name else 0)
    direct = 0
    if is_direct_load(instruction):
        found = re.search(r"dwordx(\d)", name)
        direct = 2 * (int(found[1]) if found else 1)
    return _Needs(Kind.MEMORY, 4, first=int(store), second=direct, reads=reads)
