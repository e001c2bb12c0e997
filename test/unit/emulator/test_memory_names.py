# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every memory instruction of AMD's tables for RDNA3 and RDNA4 runs, or is refused for a reason.

The names come with the tinygrad wheel, which has the tables of AMD's ISA documents as data. What is
made of a name here, LLVM 19's assembler accepts for gfx1100 and gfx1201.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

import pytest
from tinygrad.runtime.autogen.amd.rdna3 import enum as rdna3
from tinygrad.runtime.autogen.amd.rdna4 import enum as rdna4

from bankwise.emulator.emulation_errors import UnknownInstructionError
from bankwise.emulator.memory_names import shared_name

from .small_kernels import kernel, program_of

_TABLES: Mapping[str, tuple[Iterable[Enum], ...]] = {
    "gfx1100": (
        *(rdna3.DSOp, rdna3.FLATOp, rdna3.GLOBALOp),
        *(rdna3.SCRATCHOp, rdna3.MUBUFOp, rdna3.SMEMOp),
    ),
    "gfx1201": (
        *(rdna4.DSOp, rdna4.VFLATOp, rdna4.VGLOBALOp),
        *(rdna4.VSCRATCHOp, rdna4.VBUFFEROp, rdna4.SMEMOp),
    ),
}
_GRAPHICS = "it converts formats of images"
_ONCE = "compilers emit none"
_DROPPED = "LLVM has no such instruction for the chip"
REFUSED: Mapping[str, str] = {
    r"(t?buffer)_(load|store)(_d16|_d16_hi|_lds)?_format_\w+": _GRAPHICS,
    r"ds_(gws_\w+|ordered_count|\w+_gs_reg_rtn|bvh_stack_\w+)": "it serves graphics",
    r"ds_(consume|append)": _ONCE,
    r"(ds|global)_(load|store)_addtid_b32": _ONCE,
    r"ds_storexchg_2addr(_stride64)?_rtn_b(32|64)": _ONCE,
    r"(buffer|global|scratch)_load_lds_\w+": _DROPPED,
    r"(global|scratch)_(load|store)_block": "it moves blocks of registers that M0 names",
    r"global_atomic_ordered_add_b64": "it serves graphics",
    r"global_load_tr_b64": "no text says which lanes exchange",
    r"s_atc_probe(_buffer)?": "it serves debuggers",
    r"flat_atomic_csub_u32": _DROPPED,
}
"""Why the emulator does not run an instruction, by patterns of names."""


def _register(file: str, first: int, words: int) -> str:
    return f"{file}{first}" if words == 1 else f"{file}[{first}:{first + words - 1}]"


def _words(name: str) -> int:
    """Returns the words of the value that an instruction moves."""
    return max(1, int(re.findall(r"\d+", name)[-1]) // 32)


def _lds_text(name: str) -> str:
    if name == "ds_nop":
        return name
    words = _words(name)
    value, second = _register("v", 8, words), _register("v", 16, words)
    if name == "ds_swizzle_b32":
        return f"{name} v8, v4 offset:swizzle(SWAP,1)"
    if "permute" in name:
        return f"{name} v8, v4, v5"
    if "_2addr" in name:
        pair = _register("v", 8, 2 * words)
        data = f"{pair}, v4" if "load" in name else f"v4, {value}, {second}"
        return f"{name} {data} offset0:1 offset1:2"
    if "_load_" in name:
        return f"{name} {value}, v4 offset:16"
    results = [_register("v", 24, words)] if "_rtn_" in name else []
    data = [value, second] if re.search("cmpstore|mskor|wrap", name) else [value]
    return f"{name} {', '.join([*results, 'v4', *data])} offset:16"


def _memory_text(name: str, arch: str) -> str:
    words, kind = _words(name), name.partition("_")[0]
    data = 2 * words if "cmpswap" in name else words
    returns = "_csub_" in name and arch == "gfx1100"
    asked = (" glc" if arch == "gfx1100" else " th:TH_ATOMIC_RETURN") if returns else ""
    if kind == "buffer":
        place = "v4, s[4:7], null offen offset:16"
        return f"{name} {_register('v', 8, data)}, {place}{asked}"
    address = {"global": "v[4:5]", "flat": "v[4:5]", "scratch": "v4"}[kind]
    base = "" if kind == "flat" else ", off"
    value = _register("v", 8, data)
    if "_load_" in name:
        words = {"b64": 2, "b128": 4}[name.rpartition("_")[2]] if "_tr_" in name else words
        return f"{name} {_register('v', 8, words)}, {address}{base} offset:16"
    result = f"{_register('v', 24, words)}, " if returns else ""
    return f"{name} {result}{address}, {value}{base} offset:16{asked}"


def _text(name: str, arch: str) -> str:
    """Returns an instruction of this name as LLVM takes it."""
    if name.startswith("ds_"):
        return _lds_text(name)
    if name in ("s_dcache_inv", "s_gl1_inv") or name.endswith("_inv") or "_wb" in name:
        return name
    if name.startswith("s_") and "prefetch" in name:
        base = "" if name.endswith("_pc_rel") else "s[4:7], " if "buffer" in name else "s[4:5], "
        return f"{name} {base}0x10, s9, 3"
    if name.startswith("s_"):
        base = "s[4:7]" if "buffer" in name else "s[4:5]"
        return f"{name} {_register('s', 12, _words(name))}, {base}, 0x10"
    return _memory_text(name, arch)


def _names() -> Iterator[tuple[str, str]]:
    for arch, tables in _TABLES.items():
        names = {member.name.lower() for table in tables for member in table}
        for name in sorted(names):
            yield arch, name


def _refused(name: str) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in REFUSED)


@pytest.mark.parametrize("arch", _TABLES)
def test_instructions_of_amds_tables_run(arch: str) -> None:
    """An instruction has a step of its own name; what is refused has none."""
    failed = []
    for chip, name in _names():
        if chip != arch:
            continue
        text = "ds_nop" if _refused(name) else _text(name, arch)
        try:
            program_of(kernel(f"\t{text}", arch=arch, lds_bytes=1024))
        except Exception as error:
            failed.append((text, str(error).splitlines()[0]))
    assert failed == []


def test_whatever_is_refused_is_unknown() -> None:
    for arch, name in _names():
        if _refused(name):
            with pytest.raises(UnknownInstructionError):
                program_of(kernel(f"\t{name} v0, v[4:5], off", arch=arch))


@pytest.mark.parametrize(
    ("name", "shared"),
    [
        ("ds_load_b128", "ds_read_b128"),
        ("ds_load_2addr_b32", "ds_read2_b32"),
        ("ds_store_2addr_stride64_b64", "ds_write2st64_b64"),
        ("ds_load_u16_d16_hi", "ds_read_u16_d16_hi"),
        ("ds_storexchg_rtn_b64", "ds_wrxchg_rtn_b64"),
        ("ds_max_num_rtn_f32", "ds_max_rtn_f32"),
        ("ds_load_b64_tr_b8", "ds_load_tr8_b64"),
        ("buffer_load_d16_hi_u8", "buffer_load_ubyte_d16_hi"),
        ("buffer_store_b96", "buffer_store_dwordx3"),
        ("scratch_store_d16_hi_b16", "scratch_store_short_d16_hi"),
        ("global_atomic_min_i64", "global_atomic_smin_x2"),
        ("global_atomic_cmpswap_b32", "global_atomic_cmpswap"),
        ("global_atomic_sub_clamp_u32", "global_atomic_csub"),
        ("flat_atomic_add_f32", "flat_atomic_add_f32"),
        ("s_load_b512", "s_load_dwordx16"),
        ("s_buffer_load_b96", "s_buffer_load_dwordx3"),
        ("ds_read_b128", "ds_read_b128"),
    ],
)
def test_what_an_instruction_is_called_elsewhere(name: str, shared: str) -> None:
    assert shared_name(name) == shared


@pytest.mark.parametrize(
    ("arch", "text"),
    [
        ("gfx942", "ds_load_b32 v0, v1"),
        ("gfx942", "global_load_b32 v0, v[2:3], off"),
        ("gfx942", "s_load_b32 s4, s[0:1], 0x0"),
        ("gfx942", "global_inv scope:SCOPE_DEV"),
        ("gfx942", "ds_cond_sub_u32 v0, v1"),
        ("gfx1100", "ds_cmpst_b32 v0, v1, v2"),
        ("gfx1100", "ds_add_f64 v0, v[2:3]"),
        ("gfx1100", "ds_pk_add_f16 v0, v1"),
        ("gfx1100", "global_load_tr_b128 v[0:3], v[4:5], off"),
        ("gfx1100", "global_atomic_pk_add_f16 v0, v1, s[2:3]"),
        ("gfx1100", "s_load_u8 s4, s[0:1], 0x0"),
        ("gfx1100", "global_wb scope:SCOPE_SYS"),
        ("gfx1201", "ds_wrap_rtn_b32 v0, v1, v2, v3"),
        ("gfx1201", "ds_cmpstore_f32 v0, v1, v2"),
        ("gfx1201", "ds_read_b64_tr_b16 v[0:1], v2"),
        ("gfx1201", "buffer_gl0_inv"),
        ("gfx1201", "ds_load_tr16_b128 v[0:3], v4"),
    ],
)
def test_a_chip_has_no_instruction_of_another(arch: str, text: str) -> None:
    with pytest.raises(UnknownInstructionError, match=text.split()[0]):
        program_of(kernel(f"\t{text}", arch=arch, lds_bytes=1024))


@pytest.mark.parametrize(
    ("arch", "text", "hint"),
    [
        ("gfx942", "global_load_dword v0, v1, s[2:3] th:TH_LOAD_NT", "th"),
        ("gfx942", "global_load_dword v0, v1, s[2:3] dlc", "dlc"),
        ("gfx1100", "global_load_b32 v0, v1, s[2:3] scope:SCOPE_DEV", "scope"),
        ("gfx1100", "global_atomic_add_u32 v0, v1, v2, s[2:3] sc0", "sc0"),
        ("gfx1201", "global_atomic_add_u32 v0, v1, v2, s[2:3] glc", "glc"),
        ("gfx1201", "s_load_b32 s4, s[0:1], 0x0 glc", "glc"),
        ("gfx1201", "s_load_b32 s4, s[0:1], 0x0 nv", "nv"),
    ],
)
def test_a_chip_has_no_cache_hint_of_another(arch: str, text: str, hint: str) -> None:
    with pytest.raises(UnknownInstructionError, match=f"{arch} has no '{hint}'"):
        program_of(kernel(f"\t{text}", arch=arch))
