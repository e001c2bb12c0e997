# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of instructions: one that the emulator knows, for those that chips have for it.

An instruction that several chips have is implemented once, under the name that CDNA has for it, or
under the oldest one if CDNA lacks it. LLVM's assembler is the source of all names.
"""

from __future__ import annotations

from collections.abc import Mapping

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
    **{f"v_pk_{op}_num_f16": f"v_pk_{op}_f16" for op in ("min", "max")},
}


def _names(chip: Chip) -> dict[str, str]:
    names: dict[str, str] = {}
    if chip.is_rdna:
        names |= _SINCE_RDNA3
    if chip.isa >= Isa.RDNA4:
        names |= _SINCE_RDNA4
    return names


_NAMES: dict[Chip, dict[str, str]] = {}


def arithmetic_names(chip: Chip) -> Mapping[str, str]:
    """Returns the names without encodings that a chip has for arithmetic that others name
    otherwise, with the shared ones."""
    if chip not in _NAMES:
        _NAMES[chip] = _names(chip)
    return _NAMES[chip]


def shared_name(chip: Chip, mnemonic: str) -> str:
    """Returns the name under which the emulator knows an instruction that a chip calls `mnemonic`.

    An encoding behind the name stays there.
    """
    if not chip.is_rdna:
        return mnemonic
    base = base_name(mnemonic)
    shared = arithmetic_names(chip).get(base)
    return mnemonic if shared is None else shared + mnemonic[len(base) :]


_SINCE_CDNA4 = frozenset(
    {
        *("v_bitop3_b16", "v_bitop3_b32", "v_permlane16_swap_b32", "v_permlane32_swap_b32"),
        *("v_ashr_pk_i8_i32", "v_ashr_pk_u8_i32", "v_prng_b32", "buffer_atomic_pk_add_bf16"),
        *("v_cvt_f32_bf16", "v_cvt_pk_bf16_f32", "v_cvt_pk_f16_f32"),
        *("v_dot2_f32_bf16", "v_dot2c_f32_bf16"),
        *("v_maximum3_f32", "v_minimum3_f32", "v_pk_maximum3_f16", "v_pk_minimum3_f16"),
    }
)


def lacks(chip: Chip, spelled: str) -> str:
    """Returns a message if a chip has no instruction of this name; otherwise an empty text.

    What kinds of matrix and LDS instructions and of scaled conversions a chip has is said where
    these are executed.
    """
    base = base_name(spelled)
    if chip.is_rdna:
        new = {old: name for name, old in arithmetic_names(chip).items()}.get(base)
        if new is not None:
            return f"{chip.name} has no '{spelled}'; there it is '{new}'"
        return ""
    if chip.isa is Isa.CDNA3 and base in _SINCE_CDNA4:
        return f"{chip.name} has no '{spelled}'"
    return ""
