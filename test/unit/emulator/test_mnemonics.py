# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names that chips have for instructions are those of LLVM's assembler."""

from __future__ import annotations

import re

import pytest

from bankwise.emulator.chips import CHIPS, Chip
from bankwise.emulator.emulation_errors import UnknownInstructionError
from bankwise.emulator.mnemonics import arithmetic_names, lacks, shared_name
from bankwise.emulator.operands import bits_of
from bankwise.emulator.packed_math import DOT_PRODUCTS, PACKED_OPS
from bankwise.emulator.scalar_alu import (
    CONDITIONAL_MOVES,
    DESTINATION,
    EXEC_OPS,
    SCALAR_OPS,
    SCC,
    SIMM16,
    UIMM16,
)
from bankwise.emulator.scalar_floats import SCALAR_ACCUMULATIONS, SCALAR_COMPARES, SCALAR_FLOATS
from bankwise.emulator.vector_alu import ALL_LANE_OPS, COMPARE_MNEMONICS

from .lane_programs import run_lanes
from .llvm_assembler import refused


def _registers(file: str, widths: list[int]) -> str:
    names = (f"{file}{2 * i}" if w <= 32 else f"{file}[{2 * i}:{2 * i + 1}]"
             for i, w in enumerate(widths))  # fmt: skip
    return ", ".join(names)


def _vector_operands(chip: Chip) -> dict[str, str]:
    mask = "vcc" if chip.wave_sizes[0] == 64 else "vcc_lo"
    found: dict[str, str] = {}
    for name, op in ALL_LANE_OPS.items():
        widths = [bits_of(kind) for kind in (op.result, *op.sources)]
        found[name] = _registers("v", widths)
        if "_fmamk_" in name:
            found[name] = "v0, v2, 0x1234, v4"
        elif "_fmaak_" in name:
            found[name] = "v0, v2, v4, 0x1234"
        elif "_accvgpr_" in name:
            files = {"v_accvgpr_read_b32": "va", "v_accvgpr_write_b32": "av"}.get(name, "aa")
            found[name] = f"{files[0]}0, {files[1]}0"
    for name in COMPARE_MNEMONICS:
        width = bits_of(name.rsplit("_", 1)[1])
        sources = _registers("v", [width, 32 if "_class_" in name else width])
        only_exec = name.startswith("v_cmpx") and chip.is_rdna
        found[name] = sources if only_exec else f"{mask}, {sources}"
    for name, op in PACKED_OPS.items():
        found[name] = _registers("v", [64 if op.result == "f32" else 32] * (len(op.sources) + 1))
    for name in DOT_PRODUCTS:
        found[name] = "v0, v2, v4" if name[6] == "c" else "v0, v2, v4, v6"
    return found


def _scalar_operands() -> dict[str, str]:
    found: dict[str, str] = {}
    for name, op in SCALAR_OPS.items():
        kinds = [kind for kind in (op.result, *op.sources) if kind not in ("", SCC, DESTINATION)]
        widths = [bits_of(kind) for kind in kinds if kind not in (SIMM16, UIMM16)]
        constant = ", 0x12" if len(widths) < len(kinds) else ""
        found[name] = "s[0:1]" if name == "s_getpc_b64" else _registers("s", widths) + constant
    for name in (*EXEC_OPS, *CONDITIONAL_MOVES):
        found[name] = _registers("s", [bits_of(name[-3:])] * 2)
    found["s_cmovk_i32"] = "s0, 0x12"
    for name, op in {**SCALAR_FLOATS, **SCALAR_ACCUMULATIONS}.items():
        count = len(op.sources) + (name not in SCALAR_ACCUMULATIONS)
        found[name] = _registers("s", [32] * count)
    found |= {"s_fmamk_f32": "s0, s2, 0x1234, s4", "s_fmaak_f32": "s0, s2, s4, 0x1234"}
    return found | dict.fromkeys(SCALAR_COMPARES, "s0, s2")


def _exists(message: str) -> bool:
    return "not supported on this GPU" not in message and "invalid instruction" not in message


@pytest.mark.parametrize("arch", ["gfx942", "gfx950", "gfx1100", "gfx1150", "gfx1201", "gfx1250"])
def test_a_chip_lacks_what_the_assembler_does_not_know_there(arch: str) -> None:
    chip = CHIPS[arch]
    operands = {**_vector_operands(chip), **_scalar_operands()}
    names = [*operands, *(own for own, name in arithmetic_names(chip).items() if name in operands)]
    lines = [f"{name} {operands.get(name) or operands[shared_name(chip, name)]}" for name in names]
    answers = refused(arch, lines, chip.wave_sizes[0])
    theirs = {name for i, name in enumerate(names) if not _exists(answers.get(i, ""))}
    ours = {name for name in names if lacks(chip, name)}
    assert ours == theirs
    assert len(names) > 600


@pytest.mark.parametrize(
    ("arch", "code", "message"),
    [
        ("gfx942", "v_add_nc_u32 v0, v1, v2", "has no 'v_add_nc_u32'; there it is 'v_add_u32'"),
        ("gfx1100", "v_addc_co_u32 v0, vcc, v1, v2, vcc", "there it is 'v_add_co_ci_u32'"),
        ("gfx1100", "s_add_co_i32 s0, s1, s2", "has no 's_add_co_i32'; there it is 's_add_i32'"),
        ("gfx1201", "v_fmac_dx9_zero_f32 v0, v1, v2", "has no 'v_fmac_dx9_zero_f32'$"),
        ("gfx1100", "v_maximum_f32 v0, v1, v2", "gfx1100 has no 'v_maximum_f32'$"),
        ("gfx942", "v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v2, v3", "has no 'v_dual_mov_b32'$"),
    ],
)
def test_names_of_other_chips_are_refused(arch: str, code: str, message: str) -> None:
    with pytest.raises(UnknownInstructionError, match=re.compile(message, re.MULTILINE)):
        run_lanes(code, arch=arch)


def test_old_names_that_the_assembler_takes_run() -> None:
    old = run_lanes("v_add_u32 v2, v0, v1", {0: 1, 1: 2}, arch="gfx1100")
    new = run_lanes("v_add_nc_u32_e32 v2, v0, v1", {0: 1, 1: 2}, arch="gfx1100")
    assert (old.vgpr[2] == 3).all() and (new.vgpr[2] == 3).all()
