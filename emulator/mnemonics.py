# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of instructions: one that the emulator knows, for those that chips have for it.

An instruction that several chips have is implemented once, under the name that CDNA has for it, or
under the oldest one if CDNA lacks it. LLVM's assembler is the source of all names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from .chips import Chip, Isa

ENCODINGS = ("_e64_dpp", "_e32", "_e64", "_sdwa", "_dpp")
"""What LLVM puts behind a mnemonic to name the encoding of a vector instruction."""


def base_name(mnemonic: str) -> str:
    """Returns the mnemonic without its encoding."""
    for suffix in ENCODINGS:
        if mnemonic.endswith(suffix):
            return mnemonic.removesuffix(suffix)
    return mnemonic


_SINCE_RDNA3: Mapping[str, str] = {
    # Sums without a carry got "nc", so that "add_co_ci" takes one in and gives one out.
    **{
        f"v_{op}_nc_{kind}": f"v_{op}_{kind}"
        for op, kinds in (
            ("add", ("u32", "i32", "u16", "i16")),
            ("sub", ("u32", "i32", "u16", "i16")),
            ("subrev", ("u32",)),
        )
        for kind in kinds
    },
    "v_add_co_ci_u32": "v_addc_co_u32",
    "v_sub_co_ci_u32": "v_subb_co_u32",
    "v_subrev_co_ci_u32": "v_subbrev_co_u32",
    "v_ctz_i32_b32": "v_ffbl_b32",
    "v_clz_i32_u32": "v_ffbh_u32",
    "v_cls_i32": "v_ffbh_i32",
    "v_cvt_floor_i32_f32": "v_cvt_flr_i32_f32",
    "v_cvt_nearest_i32_f32": "v_cvt_rpi_i32_f32",
    "v_cvt_pk_rtz_f16_f32": "v_cvt_pkrtz_f16_f32",
    "v_mul_dx9_zero_f32": "v_mul_legacy_f32",
    **{
        f"v_{form}_t_{kind}": f"v_{form}_tru_{kind}"
        for form in ("cmp", "cmpx")
        for kind in ("f16", "f32", "f64")
    },
    "v_dot2acc_f32_f16": "v_dot2c_f32_f16",
    "v_dot2acc_f32_bf16": "v_dot2c_f32_bf16",
    **{f"s_{op}_not1_b{bits}": f"s_{op}n2_b{bits}" for op in ("and", "or") for bits in (32, 64)},
    **{
        f"s_{op}_not{number}_saveexec_b{bits}": f"s_{op}n{2 if number else 1}_saveexec_b{bits}"
        for op in ("and", "or")
        for number in (0, 1)
        for bits in (32, 64)
    },
    **{
        f"s_and_not{number}_wrexec_b{bits}": f"s_andn{2 if number else 1}_wrexec_b{bits}"
        for number in (0, 1)
        for bits in (32, 64)
    },
    **{f"s_ctz_i32_b{bits}": f"s_ff1_i32_b{bits}" for bits in (32, 64)},
    **{f"s_clz_i32_u{bits}": f"s_flbit_i32_b{bits}" for bits in (32, 64)},
    "s_cls_i32": "s_flbit_i32",
    "s_cls_i32_i64": "s_flbit_i32_i64",
}
_SINCE_RDNA4: Mapping[str, str] = {
    **{f"s_{op}_co_{kind}": f"s_{op}_{kind}" for op in ("add", "sub") for kind in ("u32", "i32")},
    "s_add_co_ci_u32": "s_addc_u32",
    "s_sub_co_ci_u32": "s_subb_u32",
    "s_addk_co_i32": "s_addk_i32",
    **{
        f"v_{op}_num_{kind}": f"v_{op}_{kind}"
        for op in ("min", "max", "min3", "max3", "med3", "minmax", "maxmin")
        for kind in ("f16", "f32", "f64")
        if kind != "f64" or op in ("min", "max")
    },
    **{f"s_{op}_num_{kind}": f"s_{op}_{kind}" for op in ("min", "max") for kind in ("f16", "f32")},
    "v_mad_co_u64_u32": "v_mad_u64_u32",
    "v_mad_co_i64_i32": "v_mad_i64_i32",
    **{f"v_pk_{op}_num_f16": f"v_pk_{op}_f16" for op in ("min", "max")},
}


_SINCE_GFX1250: Mapping[str, str] = {
    "s_get_pc_i64": "s_getpc_b64",
    "s_set_pc_i64": "s_setpc_b64",
    "s_swap_pc_i64": "s_swappc_b64",
    "s_call_i64": "s_call_b64",
}


@cache
def arithmetic_names(chip: Chip) -> Mapping[str, str]:
    """Returns the names without encodings that a chip has for arithmetic that others name
    otherwise, with the shared ones."""
    # The low half of a product is that of either sign, and has two names with one encoding.
    names: dict[str, str] = {"v_mul_lo_i32": "v_mul_lo_u32"}
    if chip.is_rdna:
        names = dict(_SINCE_RDNA3)
    if chip.isa >= Isa.RDNA4:
        names |= _SINCE_RDNA4
    if chip.isa >= Isa.GFX1250:
        names |= _SINCE_GFX1250
    return names


def shared_name(chip: Chip, mnemonic: str) -> str:
    """Returns the name under which the emulator knows an instruction that a chip calls `mnemonic`.

    An encoding behind the name stays there.
    """
    base = base_name(mnemonic)
    shared = arithmetic_names(chip).get(base)
    return mnemonic if shared is None else shared + mnemonic[len(base) :]


_CDNA = (Isa.CDNA2, Isa.CDNA3, Isa.CDNA4)
_RDNA3 = (Isa.RDNA3, Isa.RDNA3_5)
_RDNA4 = (Isa.RDNA4, Isa.GFX1250)
_LACKED: tuple[tuple[tuple[Isa, ...], str], ...] = (
    (
        (*_CDNA, Isa.RDNA3),
        r"s_(add|sub|mul|min|max|fmac|ceil|floor|trunc|rndne)_f(16|32)|s_cmp_\w+_f(16|32)"
        r"|s_cvt_\w+|s_fma[am]k_f32",
    ),
    (
        _CDNA,
        r"s_\w+_(saveexec|wrexec)_b32|s_pack_hl_b32_b16|v_(and|or|xor|not|mov|swap|cndmask)_b16"
        r"|v_cvt_(i32_i16|u32_u16)|v_cvt_pk_(norm_)?[iu]16_f(16|32)|v_fma_dx9_zero_f32"
        r"|v_fma(ak|mk|c)_f16|v_(maxmin|minmax)_\w+|v_mullit_f32|v_xor3_b32"
        r"|v_permlanex?16_b32|v_permlane64_b32|v_movrel\w+|s_(denorm|round)_mode|s_delay_alu"
        r"|s_clause|s_waitcnt_depctr|s_set_inst_prefetch_distance|v_dot2_f16_f16|v_dot2_bf16_bf16"
        r"|v_dot[48]_i32_iu\d|v_wmma_\w+|v_swmmac_\w+|v_dual_\w+",
    ),
    (
        (*_CDNA, *_RDNA3),
        r"s_(add|sub)_nc_u64|s_mul_u64|s_(minimum|maximum)_f(16|32)|v_(minimum|maximum)_\w+"
        r"|v_(minimum|maximum)3_f16|v_maximumminimum_\w+|v_minimummaximum_\w+|v_s_\w+"
        r"|v_permlanex?16_var_b32|v_pk_(minimum|maximum)_f16|v_dot4_f32_\w+|s_wait_alu",
    ),
    (
        (Isa.CDNA2, *_RDNA3),
        r"v_cvt_(pk_)?f32_[fb]\w8|v_cvt_pk_[fb]\w8_f32|v_cvt_sr_[fb]\w8_f32",
    ),
    ((Isa.CDNA2,), r"v_lshl_add_u64|v_mov_b64|v_smfmac_\w+"),
    (
        (Isa.CDNA2, Isa.CDNA3, *_RDNA3),
        r"v_(minimum|maximum)3_f32",
    ),
    (
        _RDNA4,
        r"s_cmpk_\w+|v_cmpx?_(f|t|tru)_\w+|v_dot2(c|acc)_f32_f16|s_barrier"
        r"|s_set_inst_prefetch_distance",
    ),
    ((*_CDNA, *_RDNA4), r"v_fmac_dx9_zero_f32"),
    ((*_CDNA, *_RDNA3, Isa.RDNA4), r"v_fma[am]k_f64"),
    ((Isa.CDNA3, Isa.CDNA4, *_RDNA3, *_RDNA4), r"v_ma[cd]_f32|v_mad_legacy_f32|v_mad[am]k_f32"),
    (
        (*_RDNA3, *_RDNA4),
        r"s_ff0_i32_b(32|64)|v_accvgpr_\w+|v_(add|sub)_[iu]16|v_subrev_u16"
        r"|v_(addc|subb|subbrev)_co_u32|v_cmpx?_[ft]_[iu]16|v_dot2_(i32_i16|u32_u16)"
        r"|v_dot2acc_f32_bf16|v_dot2c_i32_i16|v_dot[48]c_\w+|v_mad_legacy_[iu]16|v_pk_mov_b32"
        r"|v_s?mfmac?_\w+|s_dcache_wb|s_set_gpr_idx_\w+",
    ),
    (
        (Isa.CDNA2, Isa.CDNA3, *_RDNA3, Isa.RDNA4),
        r"v_ashr_pk_[iu]8_i32|v_bitop3_b(16|32)|v_cvt_f32_bf16|v_cvt_pk_b?f16_f32"
        r"|v_permlane16_swap_b32|v_pk_(minimum|maximum)3_f16|v_prng_b32",
    ),
    ((*_RDNA3, Isa.RDNA4), r"v_fmac_f64|v_lshl_add_u64|v_mov_b64|v_pk_(add|mul|fma)_f32"),
    ((Isa.CDNA2, Isa.CDNA3, *_RDNA3, *_RDNA4), r"v_dot2c_f32_bf16|v_permlane32_swap_b32"),
    ((Isa.CDNA2, Isa.CDNA3, Isa.GFX1250), r"v_dot2_f32_bf16"),
    # clang 19 has and emits `v_fma_mix_*` for gfx942, which later versions do not.
    ((Isa.CDNA3, Isa.CDNA4), r"v_cube\w+"),
    # It is there as one of a pair alone.
    ((*_CDNA, *_RDNA3, *_RDNA4), r"v_bitop2_b32"),
    ((*_CDNA, *_RDNA3, Isa.RDNA4), r"s_set_vgpr_msb|v_mad_u32|v_mad_nc_[iu]64_\w+"),
    (
        (*_CDNA, *_RDNA3, Isa.RDNA4),
        r"v_tanh_\w+|v_(add|sub)_nc_u64|v_(mul|max|min)_u64|v_(max|min)_i64|v_pk_\w+_bf16|v_pk_m(in|ax)3_\w+|v_fma_mix\w*_bf16",
    ),
    ((Isa.GFX1250,), r"v_dot2_(f32|f16)_f16|v_dot2_bf16_bf16|v_dot4_f32_\w+"),
)
"""Instructions that the emulator knows and some instruction sets lack, as LLVM assembles them.

The expressions are of names that LLVM does not take there. It takes old names for new ones where
nothing else has that name: `s_andn2_b32` on RDNA.
"""


@cache
def _lacked(isa: Isa) -> re.Pattern[str]:
    return re.compile("|".join(names for isas, names in _LACKED if isa in isas))


@cache
def lacks(chip: Chip, spelled: str) -> str:
    """Returns a message if a chip has no instruction of this name; otherwise an empty text.

    What kinds of matrix and LDS instructions and of scaled conversions a chip has is said where
    these are executed.
    """
    base = base_name(spelled)
    names = arithmetic_names(chip)
    newer = (_SINCE_GFX1250, _SINCE_RDNA4, _SINCE_RDNA3)
    others = (each for other in newer for each in other)
    foreign = base not in names and base in others
    if not foreign and not _lacked(chip.isa).fullmatch(base):
        return ""
    shared = base
    for other in newer:
        shared = other.get(shared, shared) if foreign else shared
    here = {old: new for new, old in names.items()}.get(shared, shared)
    hint = (
        f"; there it is '{here}'" if here != base and not _lacked(chip.isa).fullmatch(here) else ""
    )
    return f"{chip.name} has no '{spelled}'{hint}"
