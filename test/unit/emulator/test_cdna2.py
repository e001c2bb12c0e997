# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of what gfx90a has otherwise than gfx942."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bankwise.bank_model.matrix_instructions import mfma_shapes
from bankwise.emulator.chips import CHIPS
from bankwise.emulator.emulation_errors import EmulationError
from bankwise.emulator.initial_state import LaunchState, set_initial_state
from bankwise.emulator.instruction_text import AssemblyError

from .small_kernels import LANES, kernel, machine_of, program_of, run

PRIVATE = """\t\t.amdhsa_user_sgpr_private_segment_buffer 1
\t\t.amdhsa_user_sgpr_flat_scratch_init 1
\t\t.amdhsa_system_sgpr_private_segment_wavefront_offset 1
\t\t.amdhsa_private_segment_fixed_size 16
"""


def test_private_memory_is_reached_by_a_descriptor():
    """Its scalar offset counts the bytes of 64 lanes, and flat addresses reach the same bytes."""
    code = """\ts_add_u32 flat_scratch_lo, s6, s9
\ts_addc_u32 flat_scratch_hi, s7, 0
\ts_add_u32 s0, s0, s9
\ts_addc_u32 s1, s1, 0
\ts_movk_i32 s32, 0x200
\tv_mov_b32_e32 v1, 4
\tbuffer_store_dword v0, off, s[0:3], 0
\tbuffer_store_dword v1, v1, s[0:3], 0 offen offset:4
\tbuffer_load_dword v2, off, s[0:3], s32
\tbuffer_load_dword v3, off, s[0:3], 0
\ts_mov_b64 s[10:11], src_private_base
\tv_mov_b32_e32 v4, 8
\tv_mov_b32_e32 v5, s11
\tflat_load_dword v6, v[4:5]
\ts_waitcnt vmcnt(0) lgkmcnt(0)
"""
    text = kernel(code, arch="gfx90a", threads=128, directives=PRIVATE)
    text = replace(text, directives={**text.directives, "user_sgpr_count": 8})
    machine = machine_of(text, started=False)
    machine.private_segment = machine.memory.allocate(machine.waves * 64 * 16)
    set_initial_state(machine, LaunchState(b"", 0))
    program_of(text).run(machine)
    assert (machine.vgpr[3] == machine.vgpr[0]).all()
    assert (machine.vgpr[0].ravel() == np.arange(128)).all()
    assert (machine.vgpr[2] == 4).all()
    assert (machine.vgpr[6] == 4).all()


@pytest.mark.parametrize(
    "code",
    [
        "v_mad_f32 v4, v1, v2, -v3",
        "v_xor_b32_e32 v3, 0x80000000, v3\n\tv_mac_f32_e32 v3, v1, v2\n\tv_mov_b32_e32 v4, v3",
        "v_madmk_f32 v4, v1, 0x3f800001, v5",
        "v_madak_f32 v4, v1, v2, 0xbf800002",
        "v_mad_legacy_f32 v4, v1, v2, -v3",
    ],
)
def test_older_sums_of_products_round_twice(code: str):
    """(1 + 2 ** -23) ** 2 is 1 + 2 ** -22 + 2 ** -46, of which the product keeps two terms."""
    values = {1: 0x3F800001, 2: 0x3F800001, 3: 0x3F800002, 5: 0xBF800002}
    lines = [f"v_mov_b32_e32 v{index}, {word:#x}" for index, word in values.items()]
    machine = run("\t" + "\n\t".join([*lines, code]), "gfx90a")
    assert (machine.vgpr[4] == 0).all()


def test_older_sums_of_products_have_no_denormals():
    """In whatever mode; and a zero times infinity is zero for what is called legacy alone."""
    code = """	v_mov_b32_e32 v1, 1
	v_mov_b32_e32 v2, 0x7f800000
	v_mad_f32 v3, v1, 1.0, 0
	v_mad_f32 v4, v1, v2, 1.0
	v_mad_legacy_f32 v5, v1, v2, 1.0
"""
    machine = run(code, "gfx90a")
    assert (machine.vgpr[3] == 0).all() and (machine.vgpr[5] == 0x3F800000).all()
    assert np.isnan(machine.vgpr[4].view(np.float32)).all()
    with pytest.raises(EmulationError, match="gfx942 has no 'v_mad_f32'"):
        run("\tv_mad_f32 v3, v1, 1.0, 0", "gfx942")


def test_registers_with_names_are_not_counted():
    """A kernel of few registers has FLAT_SCRATCH too."""
    few = "\t\t.amdhsa_next_free_sgpr 8"
    kernel("\ts_mov_b64 flat_scratch, 0", arch="gfx90a", directives=few)
    with pytest.raises(AssemblyError, match="the kernel has no s20"):
        kernel("\ts_mov_b32 s20, 0", arch="gfx90a", directives=few)


def test_private_memory_ends():
    code = "\tbuffer_load_dword v2, off, s[0:3], 0 offset:16\n\ts_waitcnt vmcnt(0)"
    scalars = dict(enumerate((0, 1 << 31, 0xFFFFFFFF, 0x00E00000)))
    with pytest.raises(
        EmulationError, match="private memory at bytes 16 to 16: each work item has"
    ):
        run(code, "gfx90a", private_bytes=16, scalars=scalars)


@pytest.mark.parametrize(
    ("arch", "old", "new"),
    [
        *(
            ("gfx90a", f"v_mfma_f32_{o}", f"v_mfma_f32_{n}")
            for o, n in (
                ("32x32x1f32", "32x32x1_2b_f32"),
                ("16x16x16f16", "16x16x16_f16"),
                ("4x4x4f16", "4x4x4_16b_f16"),
                ("32x32x4bf16_1k", "32x32x4_2b_bf16"),
                ("32x32x4bf16", "32x32x4_bf16"),
                ("16x16x8bf16", "16x16x8_bf16"),
            )
        ),
        ("gfx90a", "v_mfma_i32_32x32x8i8", "v_mfma_i32_32x32x8_i8"),
        ("gfx90a", "v_mfma_f64_4x4x4f64", "v_mfma_f64_4x4x4_4b_f64"),
        ("gfx942", "v_mfma_f32_32x32x4bf16", "v_mfma_f32_32x32x4_2b_bf16"),
        ("gfx942", "v_mfma_i32_16x16x32i8", "v_mfma_i32_16x16x32_i8"),
    ],
)
def test_matrix_instructions_have_older_names(arch: str, old: str, new: str):
    """As llvm-mc encodes both in the same way where a chip has both."""
    shape = mfma_shapes(arch)[new]
    each = shape.m * shape.k * shape.blocks // 64
    bits = {"f32": 32, "f64": 64, "i8": 8}.get(shape.source, 16)
    words = max(1, each * bits // 32)
    count = shape.m * shape.n * shape.blocks // 64 * (2 if shape.result == "f64" else 1)
    a, b = (f"v[{i}:{i + words - 1}]" if words > 1 else f"v{i}" for i in (2, 4))
    results = []
    for name in (old, new):
        code = f"{name} v[8:{7 + count}], {a}, {b}, 0"
        random = np.random.default_rng(0)
        vectors = {i: random.integers(0, 1 << 30, 64) & 0x3FFF3FFF for i in range(2, 6)}
        results.append(run(code, arch, vectors=vectors).vgpr[8 : 8 + count, 0].copy())
    assert (results[0] == results[1]).all()
    assert results[0].any()


def test_an_atomic_returns_the_value_before_with_glc():
    code = "\tds_add_rtn_u32 v2, v1, v3\n\ts_waitcnt lgkmcnt(0)\n"
    machine = run(
        "\tds_write_b32 v1, v3\n" + code, "gfx90a", lds_bytes=256, vectors={1: 4 * LANES, 3: 7}
    )
    assert (machine.vgpr[2] == 7).all()


@pytest.mark.parametrize(
    "name",
    ["v_mov_b64", "v_lshl_add_u64", "v_cvt_pk_fp8_f32", "v_permlane32_swap_b32", "ds_pk_add_f16"],
)
def test_what_came_later_is_refused(name: str):
    operands = "v[2:3], v[4:5]" if name == "v_mov_b64" else "v2, v3, v4"
    with pytest.raises(EmulationError, match=f"gfx90a has no '{name}'"):
        run(f"\t{name} {operands}", "gfx90a", lds_bytes=64)


def test_fused_halves_are_there_on_all_of_cdna():
    for arch in (name for name, chip in CHIPS.items() if not chip.is_rdna):
        machine = run(
            "v_fma_mix_f32 v2, v1, 2.0, v3",
            arch,
            vectors={1: np.float32(3).view(np.uint32), 3: np.float32(1).view(np.uint32)},
        )
        assert machine.vgpr[2, 0, 0].view(np.float32) == 7
