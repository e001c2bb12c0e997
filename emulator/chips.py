# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The chips that can be emulated, and what they have in common."""

from __future__ import annotations

CDNA3 = "gfx942"
CDNA4 = "gfx950"
EMULATED_CHIPS = (CDNA3, CDNA4)
"""The chips whose assembly the emulator runs, as LLVM names them."""

LANES = 64
"""The lanes of a wave."""

CDNA4_ONLY = frozenset(
    {
        *("v_bitop3_b16", "v_bitop3_b32", "v_permlane16_swap_b32", "v_permlane32_swap_b32"),
        *("v_ashr_pk_i8_i32", "v_ashr_pk_u8_i32", "v_prng_b32", "buffer_atomic_pk_add_bf16"),
        *("v_cvt_f32_bf16", "v_cvt_pk_bf16_f32", "v_cvt_pk_f16_f32"),
        *("v_dot2_f32_bf16", "v_dot2c_f32_bf16"),
        *("v_maximum3_f32", "v_minimum3_f32", "v_pk_maximum3_f16", "v_pk_minimum3_f16"),
    }
)
"""Instructions without their encodings that gfx950 has and gfx942 does not, as LLVM assembles them.

What kinds of matrix and LDS instructions and of scaled conversions a chip has is said where these
are executed.
"""
