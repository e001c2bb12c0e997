# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The directives of assembly files that the emulator knows.

All others are errors, wherever they stand: a directive that nobody has looked at may change the
code, the data or the section. What the directives mean is said in "Using as", chapter "Assembler
Directives", and those of AMD GPUs in "User Guide for AMDGPU Backend", chapter "Assembler".

Between the instructions of a kernel only those may stand that put nothing there, or nothing but
`s_nop`, with which LLVM pads code:

    .p2alignl 6, 0xbf800000
    .fill 63, 4, 0xbf800000
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from .chips import Chip, Isa
from .expressions import DataError, directive_arguments

WIDTHS: Mapping[str, int] = {
    **dict.fromkeys((".byte", ".1byte"), 1),
    **dict.fromkeys((".short", ".hword", ".value", ".2byte"), 2),
    **dict.fromkeys((".long", ".int", ".word", ".4byte"), 4),
    **dict.fromkeys((".quad", ".8byte", ".xword"), 8),
    ".octa": 16,
}
"""The bytes of each number that a directive of data puts there."""
STRINGS = frozenset({".ascii", ".asciz", ".string"})
REPEATS = frozenset({".zero", ".space", ".skip", ".fill"})
ALIGNMENTS: Mapping[str, int] = {
    **dict.fromkeys((".p2align", ".balign", ".align"), 1),
    **dict.fromkeys((".p2alignw", ".balignw"), 2),
    **dict.fromkeys((".p2alignl", ".balignl"), 4),
}
"""The bytes of the value that a directive of alignment fills with."""
SECTIONS = frozenset({".text", ".data", ".bss", ".rodata", ".data.rel.ro", ".tdata", ".tbss"})
"""The directives that are short for `.section` with their own name."""
ASSIGNMENTS = frozenset({".set", ".equ", ".equiv"})
COMMONS = frozenset({".comm", ".lcomm"})
"""The directives that define a variable of zeros."""

_SYMBOLS = frozenset(
    {
        *(".type", ".size", ".globl", ".global", ".local", ".weak", ".hidden", ".protected"),
        *(".internal", ".addrsig", ".addrsig_sym", ".amdgpu_hsa_kernel"),
        # For the linker, which keeps or drops a symbol by it.
        *(".no_dead_strip", ".lto_discard"),
    }
)
_DEBUG_INFORMATION = re.compile(r"\.(file|loc|ident|version|cfi_[a-z_]+)")
# Data that only sections of debug information have.
_DEBUG_DATA = frozenset({".uleb128", ".sleb128", ".float", ".single", ".double"})
_TARGET = frozenset({".amdgcn_target", ".amdhsa_code_object_version"})
_KERNEL_BLOCK = frozenset({".amdhsa_kernel", ".end_amdhsa_kernel"})
_KNOWN = frozenset(
    {
        *(".section", *SECTIONS, *ASSIGNMENTS, *COMMONS, *_SYMBOLS, *_TARGET, *_KERNEL_BLOCK),
        *(*WIDTHS, *STRINGS, *REPEATS, *ALIGNMENTS, *_DEBUG_DATA),
    }
)
_UNEXPANDED = re.compile(
    r"\.(macro|endm|altmacro|rept|endr|irpc?|if\w*|else\w*|endif|include|incbin)", re.IGNORECASE
)

_FILES = re.compile(r"^\s*\.(include|incbin)\b", re.MULTILINE | re.IGNORECASE)
_REGISTER_OF_SYMBOLS = re.compile(r"\b[sva]\[[^\]\n]*[A-Za-z_]")
_ASSIGNED = re.compile(r"^\s*\.(?:set|equ|equiv)\s+([\w.$]+)", re.MULTILINE)


def needs_assembler(text: str) -> bool:
    """Returns whether only an assembler makes plain code of a text.

    It holds macros, registers that symbols number, or symbols that change their values. Files that
    it includes are nobody's to read.
    """
    if _FILES.search(text):
        return False
    names = _ASSIGNED.findall(text)
    unexpanded = any(_UNEXPANDED.match(line.strip()) for line in text.split("\n") if "." in line)
    return unexpanded or len(set(names)) < len(names) or bool(_REGISTER_OF_SYMBOLS.search(text))


_EXCEPTIONS = (
    *("fp_ieee_invalid_op", "fp_denorm_src", "fp_ieee_div_zero", "fp_ieee_overflow"),
    *("fp_ieee_underflow", "fp_ieee_inexact", "int_div_zero"),
)
_SWITCHES = (
    *("enable_private_segment", "uses_dynamic_stack", "tg_split", "reserve_vcc"),
    *("reserve_flat_scratch", "reserve_xnack_mask", "dx10_clamp", "ieee_mode", "fp16_overflow"),
    *("user_sgpr_private_segment_buffer", "user_sgpr_dispatch_ptr", "user_sgpr_queue_ptr"),
    *("user_sgpr_kernarg_segment_ptr", "user_sgpr_dispatch_id", "user_sgpr_flat_scratch_init"),
    *("user_sgpr_private_segment_size", "system_sgpr_private_segment_wavefront_offset"),
    *("system_sgpr_workgroup_id_x", "system_sgpr_workgroup_id_y", "system_sgpr_workgroup_id_z"),
    *("system_sgpr_workgroup_info", *(f"exception_{name}" for name in _EXCEPTIONS)),
)
_LARGEST_VALUES: Mapping[str, int] = {
    **dict.fromkeys(_SWITCHES, 1),
    **dict.fromkeys(("float_round_mode_32", "float_round_mode_16_64"), 3),
    **dict.fromkeys(("float_denorm_mode_32", "float_denorm_mode_16_64"), 3),
    "system_vgpr_workitem_id": 2,
    "user_sgpr_count": 16,
    "user_sgpr_kernarg_preload_length": 16,
    "user_sgpr_kernarg_preload_offset": (1 << 9) - 1,
    "accum_offset": 256,
    "next_free_vgpr": 512,
    "next_free_sgpr": 106,
    "group_segment_fixed_size": (1 << 32) - 1,
    "kernarg_size": (1 << 32) - 1,
}
_RDNA_LARGEST_VALUES: Mapping[str, int] = {
    **dict.fromkeys(("wavefront_size32", "workgroup_processor_mode", "memory_ordered"), 1),
    **dict.fromkeys(("forward_progress", "round_robin_scheduling"), 1),
    "named_barrier_count": 16,
    "shared_vgpr_count": 15,
    "inst_pref_size": 255,
    "next_free_vgpr": 1024,
    "user_sgpr_count": 32,
}
_WITHOUT_ACCUMULATORS = frozenset({"accum_offset", "tg_split"})


def largest_values(chip: Chip) -> Mapping[str, int]:
    """Returns the largest value of each `.amdhsa_*` directive of a chip, without this prefix."""
    found = dict(_LARGEST_VALUES)
    if chip.is_rdna:
        found |= _RDNA_LARGEST_VALUES
        found = {name: most for name, most in found.items() if name not in _WITHOUT_ACCUMULATORS}
    # A wave has at most 2^n - 1 blocks of 1024 bytes (WAVESIZE of COMPUTE_TMPRING_SIZE; LLVM,
    # GCNSubtarget::getMaxWaveScratchSize).
    blocks = 18 if chip.isa >= Isa.RDNA4 else 15 if chip.is_rdna else 13
    found["private_segment_fixed_size"] = ((1 << blocks) - 1) * 1024 // chip.wave_sizes[0]
    return found


_NOP = 0xBF800000
# More than any compiler puts behind a kernel for the prefetcher, and no file of gigabytes.
_MOST_PADDING = 1 << 20
_INSTRUCTION_BYTES = 4


def split_directive(code: str) -> tuple[str, str]:
    """Returns a directive's name, and what stands behind it; `code` has no comment."""
    name, *rest = code.split(None, 1)
    return name, rest[0] if rest else ""


def says_nothing_of_bytes(name: str) -> bool:
    """Returns whether a directive may stand between data and adds none."""
    return name in _SYMBOLS or _DEBUG_INFORMATION.fullmatch(name) is not None


def check_known(name: str) -> None:
    """Raises DataError where the emulator does not know a directive."""
    if found := _UNEXPANDED.fullmatch(name):
        raise DataError(
            f"the emulator expands no .{found[1]}: let `llvm-mc --triple=amdgcn-amd-amdhsa "
            "--mcpu=CHIP FILE` print the text without"
        )
    known = name in _KNOWN or _DEBUG_INFORMATION.fullmatch(name) is not None
    if not known and not name.startswith(".amdhsa_"):
        raise DataError(f"the emulator does not know the directive '{name}'")


def check_between_instructions(code: str, number: Callable[[str], int]) -> None:
    """Refuses a directive that puts anything but `s_nop` between instructions.

    Args:
        code: the directive, which `check_known` has passed.
        number: returns what an expression is, or raises DataError.

    Raises:
        DataError: the directive puts data there, or something that nobody can read.
    """
    name, rest = split_directive(code)
    if says_nothing_of_bytes(name) or name in ASSIGNMENTS:
        return
    words: list[int | None] = []
    if name == ".fill" or name in ALIGNMENTS:
        words = [number(text) if text else None for text in directive_arguments(rest)]
    if name == ".fill" and _pads(words[1:], _INSTRUCTION_BYTES):
        if not 0 <= (words[0] or 0) <= _MOST_PADDING:
            raise DataError(f"'{' '.join(code.split())}': code has at most {_MOST_PADDING} s_nop")
        return
    # LLVM itself fills with s_nop where a directive does not say with what.
    if name in ALIGNMENTS and len(words) <= 3:
        boundary, fill, _ = [*words, None, None, None][:3]
        if fill is None or _aligns_nothing(name, boundary):
            return
        if _pads([ALIGNMENTS[name], fill], _INSTRUCTION_BYTES):
            return
    raise DataError(
        f"'{' '.join(code.split())}' puts data between instructions, which the emulator does not "
        "decode: write the instruction"
    )


def _pads(words: list[int | None], size: int) -> bool:
    """Returns whether `size, value` is the encoding of `s_nop`."""
    return words[:1] == [size] and len(words) == 2 and words[1] == _NOP


def _aligns_nothing(name: str, boundary: int | None) -> bool:
    """Returns whether every instruction is aligned so already."""
    if boundary is None:
        return False
    most = 2 if name.startswith(".p2") else _INSTRUCTION_BYTES
    return 0 <= boundary <= most
