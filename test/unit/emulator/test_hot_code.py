# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Machine code of hot instructions does what their steps do, bit for bit (`compiled/`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bankwise.bank_model.matrix_instructions import mfma_shapes
from bankwise.bench.emulator_speed import run as run_loop
from bankwise.bench.small_loops import SMALL_LOOPS
from bankwise.emulator import matrix
from bankwise.emulator.assembly import Kernel, parse_assembly
from bankwise.emulator.cross_lane import _ARGUMENTS
from bankwise.emulator.emulation_errors import EmulationError
from bankwise.emulator.executor import Program
from bankwise.emulator.global_memory import GlobalMemory
from bankwise.emulator.instruction_text import EXEC, VCC
from bankwise.emulator.lane_ops import LANE_OPS, LaneOp
from bankwise.emulator.operands import bits_of
from bankwise.emulator.packed_math import DOT_PRODUCTS, PACKED_OPS
from bankwise.emulator.rdna_lane_ops import RDNA_LANE_OPS
from bankwise.emulator.scalar_alu import DESTINATION, EXEC_OPS, SCALAR_OPS, SIMM16, UIMM16
from bankwise.emulator.scalar_alu import SCC as SCC_SOURCE
from bankwise.emulator.vector_alu import COMPARE_MNEMONICS
from bankwise.emulator.wave_state import SCC, Machine

from .small_kernels import assembly, machine_of, program_of

Words = npt.NDArray[np.uint32]

# Zeros, ends of integers, NaNs quiet and signaling, infinities, subnormal and ordinary numbers of
# f16, f32 and the high words of f64.
_SPECIAL_WORDS = np.array(
    [
        *(0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F800000, 0xFF800000, 0x7FC00001),
        *(0xFFC00002, 0x7F800001, 0xFF800003, 0x807FFFFF, 0x00800000, 0x3F800000, 0xBF800000),
        *(0x7F7FFFFF, 0x00007C00, 0xFC007E01, 0x7C013C00, 0x03FF8001, 0x40490FDB, 0xC2F64248),
        *(0x4F000000, 0xCF000000, 0x7FF00000, 0xFFF80001, 0x7FF00001, 0x3FF00000, 0x43E00000),
        *(0x000FFFFF, 0x5F000000, 0x1F, 0x20, 0x3F, 0x40),
    ],
    np.uint32,
)
_KEPT = ""
_FLUSHED = """\t\t.amdhsa_float_denorm_mode_32 0
\t\t.amdhsa_float_denorm_mode_16_64 0
\t\t.amdhsa_ieee_mode 0"""
_OVERFLOW = "\t\t.amdhsa_dx10_clamp 0\n\t\t.amdhsa_fp16_overflow 1"


def random_words(random: np.random.Generator, shape: tuple[int, ...]) -> Words:
    kind = random.integers(0, 4, shape)
    floats = random.standard_normal(shape).astype(np.float32).view(np.uint32)
    bits = random.integers(0, 1 << 32, shape, np.uint32)
    return np.where(
        kind == 0, bits, np.where(kind == 1, floats, random.choice(_SPECIAL_WORDS, shape))
    )


def wide_kernel(code: str, arch: str = "gfx942", **options: Any) -> Kernel:
    """Returns a kernel with 256 vector registers."""
    text = assembly(code, arch, **options).replace("accum_offset 64", "accum_offset 256")
    most = "512" if arch.startswith("gfx9") else "256"
    return parse_assembly(text.replace("next_free_vgpr 128", f"next_free_vgpr {most}"), "a.s")["k"]


def filled(parsed: Kernel, seed: int, active: str) -> Machine:
    """Returns a machine with random registers, of which all lanes, some or none are active."""
    random = np.random.default_rng(seed)
    machine = machine_of(parsed)
    for index in range(256):
        machine.define_vector(index, random_words(random, machine.vgpr.shape[1:]))
    for index in (*range(2, 100), VCC.index, VCC.index + 1):
        machine.define_scalar(index, random_words(random, (machine.waves,)))
    for half in range(2):
        some = random.integers(0, 1 << 32, machine.waves, np.uint32)
        every = np.full_like(some, 0xFFFFFFFF)
        words = {"all": every, "some": some, "none": np.zeros_like(some)}[active]
        machine.define_scalar(EXEC.index + half, words)
    machine.s_defined.complete[SCC] = True
    return machine


def state_of(machine: Machine) -> dict[str, bytes]:
    """Returns all that can be observed of a machine."""
    counters = machine.counters
    arrays: dict[str, npt.NDArray[Any]] = {
        "vgpr": machine.vgpr, "sgpr": machine.sgpr, "scc": machine.scc, "lds": machine.lds.bytes,
        "executions": counters.executions, "cycles": counters.lds_cycles,
        "conflicts": counters.lds_conflict_cycles, "transactions": counters.global_transactions,
        "useful": counters.global_useful_bytes,
        "memory": np.concatenate([b.data for b in machine.memory._buffers] or [np.zeros(0)]),
    }  # fmt: skip
    return {name: np.ascontiguousarray(array).tobytes() for name, array in arrays.items()}


def run(parsed: Kernel, machine: Machine, threshold: int, max_steps: int = 10**7) -> Program:
    program = program_of(parsed)
    program.hot_code.threshold = threshold
    program.run(machine, max_steps)
    return program


def coded(program: Program) -> set[str]:
    """Returns the mnemonics of the instructions that have machine code."""
    instructions = program.kernel.instructions
    return {
        instructions[i].spelled
        for compiled in program.hot_code.compiled
        for block in compiled.blocks
        for i in range(block.start, block.stop)
        if i not in compiled.region.calls or i in compiled.sites
    }


def compare(
    lines: Sequence[str], directives: str, active: str, threads: int, arch: str = "gfx942"
) -> set[str]:
    """Runs instructions both ways; returns the mnemonics that have machine code."""
    parsed = wide_kernel(
        "".join(f"\t{line}\n" for line in lines), arch, threads=threads, directives=directives
    )
    machines = [filled(parsed, 7, active) for _ in range(2)]
    program = [run(parsed, machines[threshold], threshold) for threshold in range(2)][1]
    for index in range(256):
        same = machines[0].vgpr[index] == machines[1].vgpr[index]
        if not same.all():
            wave, lane = np.argwhere(~same)[0]
            values = [hex(machine.vgpr[index, wave, lane]) for machine in machines]
            writers = [line for line in lines if f" v{index}," in line or f" v[{index}:" in line]
            raise AssertionError(f"v{index}, wave {wave}, lane {lane}: {values}; {writers}")
    assert state_of(machines[0]) == state_of(machines[1])
    return coded(program)


# -- each mnemonic ---------------------------------------------------------------------------------


def _named(file: str, index: int, bits: int) -> str:
    return f"{file}{index}" if bits <= 32 else f"{file}[{index}:{index + bits // 32 - 1}]"


def _lane_lines(ops: Mapping[str, LaneOp]) -> list[str]:
    random, lines = np.random.default_rng(3), list[str]()
    for name, op in ops.items():
        for form in ("plain", "scalar", "signs", "clamp"):
            sources: list[str] = []
            for number, kind in enumerate(op.sources):
                bits, even = bits_of(kind), 2 * int(random.integers(0, 20))
                text = _named("v", even, bits)
                if form == "scalar" and number == 0:
                    text = _named("s", 8 + even, bits)
                elif form == "signs" and kind[0] == "f":
                    text = f"-|{text}|" if number else f"-{text}"
                sources.append(text)
            tail = " clamp" if form == "clamp" and (op.saturates or op.result[0] == "f") else ""
            result = _named("v", 40 + 2 * (len(lines) % 100), bits_of(op.result))
            lines.append(f"{name} {result}, {', '.join(sources)}{tail}")
    return lines


def _compare_lines() -> list[str]:
    random, lines = np.random.default_rng(4), list[str]()
    for number, name in enumerate(sorted(COMPARE_MNEMONICS)):
        first, second = (2 * int(each) for each in random.integers(0, 20, 2))
        bits = bits_of(name.rpartition("_")[2])
        left, right = _named("v", first, bits), _named("v", second, bits)
        right = _named("v", second, 32) if "class" in name else right
        # What EXEC becomes would hide what comes behind it.
        lines.append(f"{name}_e64 {_named('s', 40 + 2 * (number % 25), 64)}, {left}, {right}")
        if "cmpx" in name:
            lines.append("s_mov_b64 exec, s[2:3]")
    return lines


def _scalar_lines() -> list[str]:
    random, lines = np.random.default_rng(5), list[str]()
    for name, op in SCALAR_OPS.items():
        operands = (
            [_named("s", 40 + 2 * (len(lines) % 25), bits_of(op.result))] if op.result else []
        )
        for kind in op.sources:
            if kind in (SIMM16, UIMM16):
                operands.append(hex(random.integers(0, 1 << 16)))
            elif kind not in (DESTINATION, SCC_SOURCE):
                operands.append(_named("s", 4 + 2 * int(random.integers(0, 16)), bits_of(kind)))
        lines.append(f"{name} {', '.join(operands)}")
        # SCC and its kind of results are kept in a register each.
        lines.append(f"s_cselect_b32 s{90 + len(lines) % 8}, s4, s{90 + len(lines) % 7}")
    for number, name in enumerate(EXEC_OPS):
        if name.endswith("64"):
            lines += [f"{name} s[{40 + 2 * number % 40}:{41 + 2 * number % 40}], s[4:5]",
                      "s_mov_b64 exec, s[2:3]"]  # fmt: skip
    return [*lines, "s_cmov_b32 s60, s5", "s_cmovk_i32 s61, 0x1234", "s_cmov_b64 s[62:63], s[6:7]"]


def _special_lines() -> list[str]:
    lines = [
        "v_cndmask_b32 v40, v1, v2, vcc",
        "v_cndmask_b32_e64 v41, v1, v2, s[6:7]",
        "v_add_co_u32 v42, vcc, v3, v4",
        "v_addc_co_u32 v43, vcc, v5, v6, vcc",
        "v_sub_co_u32 v44, vcc, v3, v4",
        "v_subb_co_u32 v45, vcc, v5, v6, vcc",
        "v_subrev_co_u32 v46, s[42:43], v3, v4",
        "v_mad_u64_u32 v[48:49], s[44:45], v1, v2, v[4:5]",
        "v_mad_i64_i32 v[50:51], s[46:47], v1, v2, v[4:5]",
        "v_fmac_f32 v52, v1, v2",
        "v_fmac_f64 v[54:55], v[2:3], v[4:5]",
        "v_fmac_f16 v56, v1, v2",
        "v_div_scale_f32 v57, vcc, v1, v2, v3",
        "v_div_fmas_f32 v58, v1, v2, v3",
        "v_div_scale_f64 v[60:61], vcc, v[2:3], v[4:5], v[2:3]",
        "v_div_fmas_f64 v[62:63], v[2:3], v[4:5], v[6:7]",
        "v_readfirstlane_b32 s50, v7",
        "v_readlane_b32 s51, v8, 17",
        "v_readlane_b32 s52, v8, s9",
        "v_writelane_b32 v64, s9, 5",
        "v_mbcnt_lo_u32_b32 v65, s4, v1",
        "v_mbcnt_hi_u32_b32 v66, s5, v65",
        "v_swap_b32 v67, v68",
        "v_add_u32_sdwa v69, v1, sext(v2) dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE "
        "src0_sel:WORD_1 src1_sel:BYTE_2",
        "v_mul_f16_sdwa v70, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_1 "
        "src1_sel:WORD_0",
        "v_add_f16_e64 v71, v1, v2",
        "v_fma_mix_f32 v72, v1, v2, v3 op_sel_hi:[1,0,1]",
        "v_fma_mixlo_f16 v73, v1, v2, v3",
        "v_pk_mov_b32 v[74:75], v[2:3], v[4:5] op_sel:[1,0]",
    ]
    for number, (name, values) in enumerate(_ARGUMENTS.items()):
        if not name.startswith(("row_share", "row_xmask", "row_newbcast")):
            for place, row in enumerate(("row_mask:0xf bank_mask:0xf bound_ctrl:1",
                                         "row_mask:0xa bank_mask:0x7")):  # fmt: skip
                target = 80 + 2 * number + place
                lines.append(f"v_add_u32_dpp v{target}, v1, v2 {name}:{values[0]} {row}")
    for number, form in enumerate(("quad_perm:[1,0,3,2]", "row_mirror", "row_half_mirror")):
        lines.append(f"v_mov_b32_dpp v{110 + number}, v1 {form} row_mask:0xf bank_mask:0xf")
    for number, name in enumerate({**PACKED_OPS, **DOT_PRODUCTS}):
        wide = "f32" in name and name.startswith("v_pk")
        result = _named("v", 120 + 2 * number, 64 if wide else 32)
        sources = [_named("v", 2 * (number + k) % 40, 64 if wide else 32) for k in range(3)]
        count = 3 if any(part in name for part in ("fma", "mad", "dot")) else 2
        lines.append(f"{name} {result}, {', '.join(sources[:count])}")
    return lines


def _known(lines: Sequence[str], arch: str) -> list[str]:
    """Returns the lines that the chip has an instruction for."""
    found: list[str] = []
    for line in lines:
        try:
            program_of(wide_kernel(f"\t{line}\n", arch))
        except EmulationError:
            continue
        found.append(line)
    return found


_FAMILIES: Mapping[str, tuple[Callable[[], list[str]], str, float]] = {
    "lanes": (lambda: _lane_lines(LANE_OPS), "gfx942", 0.9),
    "lanes of RDNA": (lambda: _lane_lines(RDNA_LANE_OPS), "gfx1201", 0.8),
    "compares": (_compare_lines, "gfx942", 1),
    "scalars": (_scalar_lines, "gfx942", 1),
    "specials": (_special_lines, "gfx942", 0.7),
}
"""For each family its lines, a chip, and the share of them at least that has machine code."""


@pytest.mark.parametrize("family", _FAMILIES)
@pytest.mark.parametrize(
    ("directives", "active", "threads", "every"),
    [(_KEPT, "some", 128, 4), pytest.param(_FLUSHED, "all", 64, 1, marks=pytest.mark.nightly),
     pytest.param(_OVERFLOW, "some", 192, 1, marks=pytest.mark.nightly),
     pytest.param(_FLUSHED, "none", 128, 1, marks=pytest.mark.nightly)],
    ids=["kept", "flushed", "overflow", "none"],
)  # fmt: skip
def test_each_mnemonic_computes_the_same_bits(
    family: str, directives: str, active: str, threads: int, every: int
) -> None:
    make, arch, share = _FAMILIES[family]
    lines = _known(make()[::every], arch)
    if arch == "gfx1201":
        directives = ""
    done = 0
    for first in range(0, len(lines), 100):
        part = lines[first : first + 100]
        names = compare(part, directives, active, threads, arch)
        done += sum(line.split()[0] in names for line in part)
    assert done >= share * len(lines), (done, len(lines))


# -- whole kernels -------------------------------------------------------------------------------

_COUNT = """	s_mov_b32 s20, 0
.LOOP:
{body}
	s_add_i32 s20, s20, 1
	s_cmp_lt_i32 s20, {rounds}
	s_cbranch_scc1 .LOOP
"""
_INTEGERS = """	v_add_u32_e32 v1, v1, v0
	v_mul_lo_u32 v2, v1, v1
	v_cmp_lt_u32_e32 vcc, v1, v2
	v_cndmask_b32_e32 v1, v1, v2, vcc"""
_LEAVING = """	v_mov_b32_e32 v3, 0
.LOOP:
	v_add_u32_e32 v3, 1, v3
	v_cmp_lt_u32_e32 vcc, v3, v0
	s_and_b64 exec, exec, vcc
	s_cbranch_execnz .LOOP
	s_mov_b64 exec, -1"""
_WAVES_PART = """	v_readfirstlane_b32 s9, v0
	s_lshr_b32 s9, s9, 4
	s_mov_b32 s20, 0
.LOOP:
	s_add_i32 s20, s20, 1
	v_add_u32_e32 v1, s20, v0
	s_cmp_lt_u32 s20, s9
	s_cbranch_scc1 .LOOP
	v_mov_b32_e32 v2, s20"""
_SHARED = """	v_lshlrev_b32_e32 v4, 2, v0
	v_xor_b32_e32 v5, 4, v4
	ds_write_b32 v4, v1
	s_waitcnt lgkmcnt(0)
	s_barrier
	ds_read2_b32 v[6:7], v5 offset1:1
	ds_read_u16 v8, v4 offset:2
	s_waitcnt lgkmcnt(0)
	v_add3_u32 v1, v6, v7, v8
	s_barrier"""
_MEMORY = """	v_lshlrev_b32_e32 v4, 2, v0
	s_load_dwordx2 s[10:11], s[2:3], 0x10
	global_load_dword v5, v4, s[2:3]
	global_load_ushort v6, v4, s[2:3] offset:4
	s_waitcnt vmcnt(0) lgkmcnt(0)
	v_add3_u32 v5, v5, v6, s10
	global_store_dword v4, v5, s[2:3]
	global_store_byte v4, v5, s[2:3] offset:1026
	v_lshlrev_b32_e32 v7, 4, v0
	global_load_dwordx3 v[8:10], v7, s[2:3]
	global_atomic_add_u32 v4, v5, s[2:3]
	s_waitcnt vmcnt(0)
	global_store_dwordx2 v7, v[9:10], s[2:3]
	s_waitcnt vmcnt(0)"""
_MEMORY = _MEMORY.replace("atomic_add_u32", "atomic_add")
_DESCRIPTOR = """	s_mov_b32 s4, s2
	s_and_b32 s5, s3, 0xffff
	s_lshl_b32 s21, s20, 4
	s_sub_i32 s6, 0x500, s21
	s_mov_b32 s7, 0x30020000
	s_lshl_b32 s8, s20, 2
	v_lshlrev_b32_e32 v4, 2, v0
"""
_BUFFERS = f"""{_DESCRIPTOR}	s_mov_b32 s12, s2
	s_or_b32 s13, s5, 0x100000
	s_mov_b32 s14, 100
	s_mov_b32 s15, 0
	buffer_load_dword v5, v4, s[4:7], s8 offen offset:8
	buffer_load_ushort v6, v4, s[4:7], 0 offen
	buffer_load_dwordx3 v[8:10], v4, s[4:7], 0 offen
	buffer_load_dword v11, v0, s[12:15], 0 idxen offset:4
	buffer_load_dword v13, off, s[4:7], s8
	s_waitcnt vmcnt(0)
	v_add3_u32 v5, v5, v6, v11
	v_add3_u32 v5, v5, v9, v13
	buffer_store_dword v5, v4, s[4:7], 0 offen
	buffer_store_dwordx2 v[9:10], v4, s[4:7], s8 offen offset:2048
	s_waitcnt vmcnt(0)"""
_SWIZZLED = f"""{_DESCRIPTOR}	s_cmp_eq_u32 s20, 30
	s_cselect_b32 s21, 0x80000000, 0
	s_or_b32 s5, s5, s21
	buffer_load_dword v5, v4, s[4:7], 0 offen
	s_waitcnt vmcnt(0)"""
# Behind round 20 the descriptor has no check.
_BUFFERS_OF_RDNA = f"""{_DESCRIPTOR}	s_cmp_gt_u32 s20, 20
	s_cselect_b32 s21, 0x10000000, 0
	s_xor_b32 s7, s7, s21
	buffer_load_b32 v5, v4, s[4:7], s8 offen offset:8
	buffer_load_u16 v6, v4, s[4:7], null offen
	s_wait_loadcnt 0x0
	v_add3_u32 v5, v5, v6, s8
	buffer_store_b32 v5, v4, s[4:7], null offen
	s_wait_storecnt 0x0"""
_UNDEFINED = """	v_and_b32_e32 v9, 0xff, v30
	v_add_u32_e32 v1, v1, v9
	v_mov_b32_e32 v31, v1"""
_EXCHANGE = """	v_lshlrev_b32_e32 v4, 2, v0
	ds_bpermute_b32 v5, v4, v1
	ds_swizzle_b32 v6, v1 offset:swizzle(SWAP,1)
	s_waitcnt lgkmcnt(0)
	v_add_u32_dpp v1, v5, v6 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1
	v_add_u32_dpp v1, v1, v1 row_bcast:15 row_mask:0xa bank_mask:0xf"""
_OUTSIDE = "\tv_lshlrev_b32_e32 v4, s20, v0\n\tds_write_b32 v4, v0"
_RACE = """	v_and_b32_e32 v4, 60, v0
	s_cmp_eq_u32 s20, 40
	s_cselect_b32 s21, 0, 256
	v_mad_u32_u24 v4, v12, s21, v4
	ds_write_b32 v4, v0
	s_waitcnt lgkmcnt(0)
	s_barrier"""
_KERNELS: Mapping[str, str] = {
    "integers": _COUNT.format(body=_INTEGERS, rounds=300),
    "lanes that leave": _LEAVING,
    "waves that part": _WAVES_PART,
    "LDS": _COUNT.format(body=_SHARED, rounds=70),
    "memory": _COUNT.format(body=_MEMORY, rounds=40),
    "buffers": _COUNT.format(body=_BUFFERS, rounds=60),
    "a buffer that swizzles": _COUNT.format(body=_SWIZZLED, rounds=60),
    "undefined bits": _COUNT.format(body=_UNDEFINED, rounds=30),
    "exchanges": _COUNT.format(body=_EXCHANGE, rounds=30),
    "too many steps": _COUNT.format(body=_INTEGERS, rounds=400_000),
    "no end": ".LOOP:\n" + _INTEGERS + "\n\ts_branch .LOOP",
    "outside the LDS": _COUNT.format(body=_OUTSIDE, rounds=30),
    "a race": _COUNT.format(body=_RACE, rounds=60),
}


_KERNELS_OF_RDNA = {"buffers of RDNA": _COUNT.format(body=_BUFFERS_OF_RDNA, rounds=60)}
_SITES: Mapping[str, int] = {"LDS": 3, "memory": 7, "buffers": 7, "buffers of RDNA": 3}
"""How many accesses at least have machine code."""


def _outcome(name: str, threshold: int, threads: int, workgroups: int) -> tuple[object, ...]:
    """Runs a kernel; returns its error's text and what it leaves behind."""
    text, arch = _KERNELS.get(name), "gfx942"
    if text is None:
        text, arch = _KERNELS_OF_RDNA[name], "gfx1201"
    parsed = wide_kernel(text, arch, threads=threads, lds_bytes=4096)
    memory = GlobalMemory()
    address = memory.allocate(np.arange(4096, dtype=np.uint32) * 0x9E3779B9)
    machine = machine_of(parsed, workgroups, memory)
    for index, word in ((2, address & 0xFFFFFFFF), (3, address >> 32)):
        machine.define_scalar(index, np.full(machine.waves, word, np.uint32))
    machine.define_vector(1, machine.vgpr[0] * np.uint32(3))
    machine.define_vector(
        12, np.arange(machine.waves, dtype=np.uint32)[:, None] + np.zeros_like(machine.vgpr[0])
    )
    error = ""
    program = program_of(parsed)
    program.hot_code.threshold = threshold
    try:
        program.run(machine, 20_000)
    except EmulationError as found:
        error = str(found)
    if threshold and not error:
        assert program.hot_code.compiled
        sites = [site for each in program.hot_code.compiled for site in each.region.sites]
        assert len(sites) >= _SITES.get(name, 0)
    defined = [array.tobytes() for file in (machine.v_defined, machine.s_defined)
               for index in range(len(file.complete))
               for array in [np.zeros(0) if file.undefined(index, slice(None)) is None
                             else file.bits[index]]]  # fmt: skip
    return error, state_of(machine) if not error else {}, defined if not error else []


@pytest.mark.sampled("name", "threads", every=4)
@pytest.mark.parametrize("name", [*_KERNELS, *_KERNELS_OF_RDNA])
@pytest.mark.parametrize(("threads", "workgroups"), [(64, 1), (256, 3)])
def test_kernels_end_alike(name: str, threads: int, workgroups: int) -> None:
    before, *rest_before = _outcome(name, 0, threads, workgroups)
    after, *rest_after = _outcome(name, 1, threads, workgroups)
    assert after == before
    assert rest_after == rest_before
    failing = ("too many steps", "no end", "outside the LDS", "a buffer that swizzles")
    fails = name in failing or (name == "a race" and threads > 64)
    assert bool(before) is fails


_NARROW = """\tv_mov_b32 v3, 0
\ts_mov_b32 s9, exec_lo
.LOOP:
\tv_add_nc_u32 v3, 1, v3
\tv_cmp_lt_u32 vcc_lo, v3, v0
\tv_cndmask_b32 v4, v3, v0, vcc_lo
\ts_and_b32 exec_lo, exec_lo, vcc_lo
\ts_cbranch_execnz .LOOP
\ts_mov_b32 exec_lo, s9"""


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201"])
def test_waves_of_32_lanes_have_code(arch: str) -> None:
    parsed = wide_kernel(_NARROW, arch, threads=64)
    machines = [machine_of(parsed) for _ in range(2)]
    programs = [run(parsed, machine, threshold) for threshold, machine in enumerate(machines)]
    assert programs[1].hot_code.compiled
    assert state_of(machines[0]) == state_of(machines[1])


@pytest.mark.parametrize("name", SMALL_LOOPS)
def test_timed_loops_leave_the_same(name: str) -> None:
    loop = SMALL_LOOPS[name]
    (parsed,) = parse_assembly(loop.text(40), "loop.s").values()
    before, after = (run_loop(parsed, (loop.workgroups, 1, 1), [4096], each)[1:] for each in (0, 1))
    assert after == before


_PRODUCTS = [
    name
    for name, shape in mfma_shapes("gfx942").items()
    if shape.source in ("f32", "f16", "bf16") and shape.result == "f32" and shape.n >= 16
]


@pytest.mark.parametrize("name", _PRODUCTS)
@pytest.mark.parametrize("special", [False, True])
def test_products_have_the_same_bits(
    name: str, special: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums that are no number are formed by NumPy."""
    monkeypatch.setattr(matrix, "_WAVES_BEFORE_CODE", 0)
    shape = mfma_shapes("gfx942")[name]
    wide = 2 if shape.source == "f32" else 1
    count = shape.m * shape.n * shape.blocks // 64
    a, b = (
        _named("v", first, 16 * wide * side * shape.k * shape.blocks // 64)
        for first, side in ((0, shape.m), (8, shape.n))
    )
    result = _named("v", 32, 32 * count)
    parsed = wide_kernel(f"\t{name} {result}, {a}, {b}, {result}\n", threads=192)
    found: list[Words] = []
    for compiles in (False, True):
        machine = filled(parsed, 11, "some")
        if not special:
            # Numbers of any size, but for infinities and NaNs of 16 and of 32 bits.
            machine.vgpr &= np.uint32(0xBFFFBFFF)
        machine.compiles = compiles
        program_of(parsed).run(machine)
        found.append(machine.vgpr.copy())
    assert (found[0] == found[1]).all()
    assert matrix._matrix_code(shape) is not None
