# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page on the mnemonics of CDNA in LLVM's tables that the emulator does not execute, and why.

`test/unit/emulator/test_not_executed.py` looks in LLVM's tables whether all others are executed.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

_ATOMICS = ("add", "and", "cmpswap", "dec", "inc", "or", "smax", "smin", "sub", "swap", "umax",
            "umin", "xor")  # fmt: skip
_CHANNELS = ("x", "xy", "xyz", "xyzw")
_WIDTHS = ("dword", "dwordx2", "dwordx4")

_NARROW_TO_LDS = tuple(
    f"{memory}_load_lds_{width}"
    for memory in ("global", "scratch")
    for width in ("ubyte", "sbyte", "ushort", "sshort")
)

ON_ALL: Mapping[str, tuple[str, ...]] = {
    "formats of texels, which no compiler of compute kernels emits": (
        "buffer_load_format_d16_hi_x",
        "buffer_store_format_d16_hi_x",
        *(
            f"{buffer}_{verb}_format_{d16}{channels}"
            for buffer, verb, d16, channels in itertools.product(
                ("buffer", "tbuffer"), ("load", "store"), ("", "d16_"), _CHANNELS
            )
        ),
    ),
    "global wave sync, by which a driver orders workgroups": tuple(
        f"ds_gws_{name}"
        for name in ("barrier", "init", "sema_br", "sema_p", "sema_release_all", "sema_v")
    ),
    "private memory of scalars, and control of caches, which no compiler emits": (
        *(f"s_scratch_{verb}_{width}" for verb in ("load", "store") for width in _WIDTHS),
        *("s_atc_probe", "s_atc_probe_buffer", "s_dcache_discard", "s_dcache_discard_x2"),
    ),
    "debuggers, trap handlers and graphics": (
        *("s_cbranch_cdbgsys", "s_cbranch_cdbgsys_and_user", "s_cbranch_cdbgsys_or_user"),
        *("s_cbranch_cdbguser", "s_rfe_b64", "s_rfe_restore_b64", "s_endpgm_saved", "s_setkill"),
        *("s_endpgm_ordered_ps_done", "s_sendmsghalt", "s_setvskip", "v_clrexcp"),
        "v_screen_partition_4se_b32",
    ),
    "forks of paths, which no compiler emits": (
        *("s_cbranch_g_fork", "s_cbranch_i_fork", "s_cbranch_join"),
    ),
    "counters and addresses by lane in the LDS, which no compiler emits": (
        *("ds_append", "ds_consume", "ds_read_addtid_b32", "ds_write_addtid_b32"),
        *("ds_wrxchg2_rtn_b32", "ds_wrxchg2_rtn_b64", "buffer_store_lds_dword"),
        *("ds_wrxchg2st64_rtn_b32", "ds_wrxchg2st64_rtn_b64"),
    ),
    "differences of pixels, and numbers packed for pixels": (
        *("v_mqsad_pk_u16_u8", "v_mqsad_u32_u8", "v_qsad_pk_u16_u8", "v_cvt_pk_u8_f32"),
        *("v_cvt_pkaccum_u8_f32", "v_cvt_pknorm_i16_f16", "v_cvt_pknorm_i16_f32"),
        *("v_cvt_pknorm_u16_f16", "v_cvt_pknorm_u16_f32"),
    ),
    "roundings and denormals of older chips, which are not documented exactly": (
        *("v_div_fixup_legacy_f16", "v_exp_legacy_f32", "v_fma_legacy_f16", "v_log_legacy_f32"),
        *("v_mac_f16", "v_mad_f16", "v_mad_legacy_f16", "v_madak_f16", "v_madmk_f16"),
    ),
}
ON_ONE: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "gfx90a": {
        "images": (
            *("image_load", "image_sample", "image_store", "image_get_resinfo"),
            *("image_load_mip", "image_load_mip_pck", "image_load_mip_pck_sgn", "image_load_pck"),
            *("image_load_pck_sgn", "image_store_mip", "image_store_mip_pck", "image_store_pck"),
            *(f"image_atomic_{name}" for name in _ATOMICS),
        ),
    },
    "gfx942": {
        "the rounding of xf32 is not documented (`--assume-xf32`)": (
            *("v_mfma_f32_16x16x8xf32", "v_mfma_f32_32x32x4xf32"),
            *("v_mfma_f32_16x16x8_xf32", "v_mfma_f32_32x32x4_xf32"),
        ),
        "bytes and halves straight to the LDS, which no compiler emits": _NARROW_TO_LDS,
        "cube maps, which later versions of LLVM have no longer": (
            *("v_cubeid_f32", "v_cubema_f32", "v_cubesc_f32", "v_cubetc_f32"),
        ),
        "private memory straight to the LDS": ("scratch_load_lds_dword",),
    },
    "gfx950": {
        "bytes and halves straight to the LDS, which no compiler emits": _NARROW_TO_LDS,
        "private memory straight to the LDS": ("scratch_load_lds_dword",),
        "no document says which lanes exchange what": ("ds_read_b96_tr_b6",),
        "the scales of the matrix instruction behind it, which LLVM prints as one with it": (
            "v_mfma_ld_scale_b32",
        ),
        "the random rounding and blocks of 32 in scaled conversions": (
            *(
                f"v_cvt_scalef32_pk32_{wide}_{narrow}"
                for wide in ("f32", "f16", "bf16")
                for narrow in ("fp6", "bf6")
            ),
            *(
                f"v_cvt_scalef32_{sr}pk32_{narrow}_{wide}"
                for sr in ("", "sr_")
                for wide in ("f16", "bf16", "f32")
                for narrow in ("fp6", "bf6")
                if (sr, wide) != ("", "f32")
            ),
            *("v_cvt_sr_f16_f32", "v_cvt_sr_bf16_f32"),
            *("v_cvt_scalef32_2xpk16_fp6_f32", "v_cvt_scalef32_2xpk16_bf6_f32"),
            *(
                f"v_cvt_scalef32_sr_{narrow}_{wide}"
                for wide in ("f32", "f16", "bf16")
                for narrow in ("fp8", "bf8", "pk_fp4")
            ),
        ),
    },
}


def not_executed(arch: str) -> dict[str, str]:
    """Returns the mnemonics that are not executed on a chip, each with the reason."""
    return {
        name: why
        for group in (ON_ALL, ON_ONE[arch])
        for why, names in group.items()
        for name in names
    }


def sections() -> dict[str, str]:
    """Returns the parts of the page by their names."""
    parts = {"all": ON_ALL, **ON_ONE}
    return {name: _table(groups) for name, groups in parts.items()}


def _table(groups: Mapping[str, tuple[str, ...]]) -> str:
    rows = [
        f"| {why} | {len(names)} | {', '.join(f'`{name}`' for name in sorted(names))} |"
        for why, names in groups.items()
    ]
    return "\n".join(["| reason | number | mnemonics |", "| --- | ---: | --- |", *rows]) + "\n"
