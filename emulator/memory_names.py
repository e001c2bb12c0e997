# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names of memory instructions: which chip has which, and what they are called elsewhere.

RDNA3 gave most memory instructions new names. `ds_load_b128` does what `ds_read_b128` does on CDNA,
and `buffer_load_d16_hi_u8` what `buffer_load_ubyte_d16_hi` does. The emulator has one
implementation of each, under the older name; `in_shared_names` leads from the newer one to it.
LLVM's assembler takes most of the older names for the newer chips too, and so does the emulator.

The names, and which chip has which instruction, are those of LLVM's assembler.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from .chips import Chip, Isa
from .emulation_errors import UnknownInstructionError
from .instruction_text import Instruction

BEFORE_RDNA4 = frozenset({Isa.RDNA3, Isa.RDNA3_5})
SINCE_RDNA4 = frozenset({Isa.RDNA4, Isa.GFX1250})

_WORDS: Mapping[str, str] = {"32": "", "64": "x2", "96": "x3", "128": "x4", "256": "x8"} | {
    "512": "x16"
}
_NARROW: Mapping[str, str] = {
    "load_u8": "load_ubyte",
    "load_i8": "load_sbyte",
    "load_u16": "load_ushort",
    "load_i16": "load_sshort",
    **{
        f"load_d16{half}_{new}": f"load_{old}_d16{half}"
        for half in ("", "_hi")
        for new, old in (("u8", "ubyte"), ("i8", "sbyte"), ("b16", "short"))
    },
    "store_b8": "store_byte",
    "store_b16": "store_short",
    "store_d16_hi_b8": "store_byte_d16_hi",
    "store_d16_hi_b16": "store_short_d16_hi",
}
_SIGNED: Mapping[tuple[str, str], str] = {
    (name, kind): f"{sign}{name}"
    for name in ("min", "max")
    for kind, sign in (("i", "s"), ("u", "u"))
}
_LDS_PARTS = (
    (re.compile(r"^ds_load_(?!tr|b\d+_tr)"), "ds_read_"),
    (re.compile(r"^ds_load_(tr_b64|b64_tr_b8)$"), "ds_load_tr8_b64"),
    (re.compile(r"^ds_load_(tr_b128|b128_tr_b16)$"), "ds_load_tr16_b128"),
    (re.compile(r"^ds_store_"), "ds_write_"),
    (re.compile(r"^ds_storexchg_"), "ds_wrxchg_"),
    (re.compile(r"^(ds_(?:read|write|wrxchg))_2addr_stride64_"), r"\1_2st64_"),
    (re.compile(r"^(ds_(?:read|write|wrxchg))_2addr_"), r"\1_2_"),
    (re.compile(r"^(ds_(?:read|write|wrxchg))_2"), r"\g<1>2"),
    (re.compile(r"^ds_(min|max)_num_"), r"ds_\1_"),
)
_MEMORY = re.compile(r"^(buffer|global|flat|scratch)_(.*)$")
_VECTOR_WORDS = re.compile(r"^(load|store)_b(32|64|96|128)$")
_SCALAR_WORDS = re.compile(r"^(s_(?:buffer_)?load)_b(32|64|96|128|256|512)$")
_INTEGER_ATOMIC = re.compile(r"^atomic_(\w+)_([biu])(32|64)$")


@cache
def shared_name(mnemonic: str) -> str:
    """Returns the name under which the emulator has an instruction that RDNA3 gave a new name.

    An instruction that was not renamed keeps its name.
    """
    if mnemonic.startswith("ds_"):
        for pattern, older in _LDS_PARTS:
            mnemonic = pattern.sub(older, mnemonic)
        return mnemonic
    if scalar := _SCALAR_WORDS.match(mnemonic):
        return f"{scalar[1]}_dword{_WORDS[scalar[2]]}"
    found = _MEMORY.match(mnemonic)
    return f"{found[1]}_{_vector_name(found[2])}" if found else mnemonic


def _vector_name(name: str) -> str:
    """Returns the older name of an instruction without the kind of memory that it accesses."""
    if words := _VECTOR_WORDS.match(name):
        return f"{words[1]}_dword{_WORDS[words[2]]}"
    if name in _NARROW:
        return _NARROW[name]
    if atomic := _INTEGER_ATOMIC.match(name):
        what, kind, bits = atomic.groups()
        what = "csub" if what == "sub_clamp" else _SIGNED.get((what, kind), what)
        return f"atomic_{what}{'_x2' if bits == '64' else ''}"
    return re.sub(r"^atomic_(min|max)_num_", r"atomic_\1_", name)


def in_shared_names(instruction: Instruction) -> Instruction:
    """Returns a memory instruction under the name that the emulator has it by.

    Raises:
        UnknownInstructionError: the chip has no such instruction.
    """
    chip, name = instruction.chip, instruction.mnemonic
    if chip.is_rdna:
        if _REORDERED.match(name):
            # The older form has the compared value first, and this one the new value.
            *rest, new, compared = instruction.operands
            name = name.replace("cmpstore", "cmpst")
            instruction = replace(instruction, operands=(*rest, compared, new))
        elif name.startswith("ds_cmpst_"):
            raise UnknownInstructionError(instruction, f"{chip.name} has no '{name}'")
        name = shared_name(name)
    for hint, chips in _HINTS.items():
        if hint in instruction.modifiers and chip.isa not in chips:
            raise UnknownInstructionError(instruction, f"{chip.name} has no '{hint}'")
    if not _has(chip, name):
        raise UnknownInstructionError(instruction, f"{chip.name} has no '{instruction.mnemonic}'")
    return instruction if name == instruction.mnemonic else replace(instruction, mnemonic=name)


_REORDERED = re.compile(r"^ds_cmpstore_")
_CDNA3 = frozenset({Isa.CDNA3, Isa.CDNA4})
_CDNA = _CDNA3 | {Isa.CDNA2}
_RDNA3 = BEFORE_RDNA4
_LATER = SINCE_RDNA4
_ONLY: tuple[tuple[re.Pattern[str], frozenset[Isa]], ...] = tuple(
    (re.compile(pattern), chips)
    for pattern, chips in (
        (r"ds_add_(rtn_)?f64|\w+_atomic_(add|min|max)_f64", _CDNA | {Isa.GFX1250}),
        (r"ds_pk_add_\w+|flat_atomic_pk_add_\w+|global_atomic_pk_add_bf16", _CDNA3 | _LATER),
        (r"(buffer|global)_atomic_pk_add_f16", _CDNA | _LATER),
        (r"flat_atomic_add_f32", _CDNA3 | _RDNA3 | _LATER),
        (r"buffer_atomic_pk_add_bf16", frozenset({Isa.CDNA4}) | _LATER),
        (r"\w+_atomic_(min|max)_f32", _RDNA3 | _LATER),
        (r"\w+_atomic_cmpswap_f32", _RDNA3),
        (r"ds_cmpst_(rtn_)?f(32|64)", _CDNA | _RDNA3),
        (r"ds_wrap_rtn_b32", _CDNA | _RDNA3),
        (r"(buffer|global)_atomic_csub", _RDNA3 | _LATER),
        (r"flat_atomic_csub", _LATER),
        (r"ds_(cond_sub|sub_clamp)_(rtn_)?u32|\w+_atomic_cond_sub", _LATER),
        (r"ds_bpermute_fi_b32", _LATER),
        (r"ds_read_b(64|96)_tr_\w+", frozenset({Isa.CDNA4})),
        (r"ds_load_tr\d+_b\d+|global_load_tr\d+_b\d+", frozenset({Isa.GFX1250})),
        (r"global_load_tr_b\d+", SINCE_RDNA4),
        (r"s_(buffer_)?load_(dwordx3|[ui](8|16))", _LATER),
        (r"s_(buffer_)?(store|atomic)_\w+", _CDNA),
        (r"(buffer|global)_load_lds_\w+", _CDNA3),
        (r"\w+_load_block|\w+_store_block", _LATER),
    )
)
"""Instructions that not every chip has, under the names that the emulator has them by."""
_HINTS: Mapping[str, frozenset[Isa]] = {
    **dict.fromkeys(("glc", "slc"), _CDNA | _RDNA3),
    "dlc": _RDNA3,
    **dict.fromkeys(("th", "scope"), SINCE_RDNA4),
    "nv": frozenset({Isa.GFX1250}),
    **dict.fromkeys(("sc0", "sc1", "nt"), _CDNA),
}
"""Hints to caches that not every chip has. Some ask an atomic for the value before."""


@cache
def _has(chip: Chip, name: str) -> bool:
    return all(chip.isa in chips for pattern, chips in _ONLY if pattern.fullmatch(name))


def returns_value(instruction: Instruction) -> bool:
    """Returns whether an atomic on memory returns the value before.

    That is asked for by `glc`, from CDNA3 on by `sc0`, and from RDNA4 on by a temporal hint, as in
    `th:TH_ATOMIC_NT_RETURN`.
    """
    modifiers = instruction.modifiers
    hint = modifiers.get("th")
    asked = isinstance(hint, str) and hint.endswith("_RETURN")
    return asked or bool(modifiers.get("sc0") or modifiers.get("glc"))


_BYTES = re.compile(r"_(?:b|u|i|f)(8|16|32|64|96|128)$")


def offset_scale(instruction: Instruction) -> int:
    """Returns what the offset to a scalar base counts: bytes, or what the access moves.

    gfx1250's `scale_offset` asks for the latter.
    """
    if not instruction.modifiers.get("scale_offset"):
        return 1
    found = _BYTES.search(instruction.spelled)
    if instruction.chip.isa is not Isa.GFX1250 or found is None:
        raise UnknownInstructionError(instruction, "no model of 'scale_offset' here")
    return int(found[1]) // 8
