# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What single instructions take on the model of a compute unit."""

from __future__ import annotations

from inspect import signature
from typing import Any

import pytest

from bankwise.bench.timing_pieces import cycles_of_stream, issued_at, played
from bankwise.emulator.timing import compute_unit
from bankwise.emulator.timing.constants import CHIPS
from bankwise.emulator.timing.reasons import Reason

MATRIX = "v_mfma_f32_16x16x16_bf16 a[{c}:{d}], v[2:3], v[4:5], a[{c}:{d}]"
INDEPENDENT = "\n".join(MATRIX.format(c=c, d=c + 3) for c in (0, 4, 8, 12))
DEFINED = {f"v{k}": 0 for k in range(1, 10)}
# Lines of code are there at once, so that streams are seen alone.
CHIP = CHIPS["gfx942"].with_values(instruction_fetch=0)


def stream(code: str, **options: Any) -> float:
    return cycles_of_stream(code, chip=CHIP, defined=DEFINED, **options)


def test_vector_instructions_follow_every_4_cycles() -> None:
    assert stream("v_add_f32_e32 v6, v7, v8") == 4


def test_transcendental_instructions_take_a_quarter_of_the_rate() -> None:
    assert stream("v_exp_f32_e32 v6, v7") == 16


def test_a_vector_instruction_waits_for_a_transcendental_one() -> None:
    assert stream("v_exp_f32_e32 v6, v7\nv_add_f32_e32 v8, v9, v9") == 20


@pytest.mark.parametrize(("count", "cycles"), [(1, 16), (2, 16), (3, 16), (4, 20)])
def test_vector_instructions_run_beside_a_matrix_instruction(count: int, cycles: int) -> None:
    group = "\n".join([MATRIX.format(c=0, d=3), *["v_add_f32_e32 v6, v7, v8"] * count])
    chip = CHIP.with_values(matrix_chain=0)
    assert cycles_of_stream(group, chip=chip, defined=DEFINED | {}) == cycles


def test_packed_instructions_do_not_run_beside_a_matrix_instruction() -> None:
    group = MATRIX.format(c=0, d=3) + "\nv_pk_add_f32 v[6:7], v[8:9], v[8:9]"
    chip = CHIP.with_values(matrix_chain=0)
    assert cycles_of_stream(group, chip=chip, defined=DEFINED) == 28


def test_a_chain_of_matrix_instructions_takes_longer_than_independent_ones() -> None:
    assert stream(INDEPENDENT) == 4 * 16
    assert stream(MATRIX.format(c=0, d=3)) == 16 + CHIP.matrix_chain.value


def test_the_result_of_a_matrix_instruction_comes_late() -> None:
    code = "v_mfma_f32_16x16x16_bf16 v[10:13], v[2:3], v[4:5], 0\nv_add_f32_e32 v6, v10, v10"
    prediction = played(code, chip=CHIP, defined=DEFINED)
    assert issued_at(prediction, -2) - issued_at(prediction, -3) == 16 + CHIP.matrix_result.value
    assert prediction.spent[Reason.MATRIX_RESULT] > 0


@pytest.mark.parametrize("reads", range(1, 6))
def test_a_wait_ends_when_the_last_read_has_come_back(reads: int) -> None:
    """Published: 72, 84, 96 and 108 cycles behind 2 to 5 reads, the wait's own 4 among them."""
    lines = [f"ds_read_b128 v[{4 * k + 20}:{4 * k + 23}], v1" for k in range(reads)]
    code = "\n".join(["v_lshlrev_b32_e32 v1, 4, v0", *lines, "s_waitcnt lgkmcnt(0)"])
    prediction = played(code + "\ns_nop 0", chip=CHIP)
    wait = issued_at(prediction, -2) - issued_at(prediction, -4) - 4
    assert wait == 60 + 12 * (reads - 1)
    assert prediction.spent[Reason.LDS_WAIT] > 0


def test_bank_conflicts_take_the_cycles_that_the_emulator_counts() -> None:
    assert reads(2, "ds_read_b32 v6, v1") == 4
    assert reads(5, "ds_read_b32 v6, v1") == 16
    assert reads(7, "ds_read_b32 v6, v1") == 64


def test_two_simds_share_a_path_to_the_lds() -> None:
    assert reads(4, "ds_read_b128 v[4:7], v1", waves=1) == 16
    assert reads(4, "ds_read_b128 v[4:7], v1", waves=2) == 32
    # The LDS has 128 bytes a cycle for both paths.
    assert reads(4, "ds_read_b128 v[4:7], v1", waves=4) == 32


def reads(shift: int, instruction: str, waves: int = 1) -> float:
    """Returns the cycles of a read in a stream that all waves have, with lanes 2 ** shift apart."""
    address = f"v_and_b32_e32 v1, 63, v0\nv_lshlrev_b32_e32 v1, {shift}, v1\n"
    counts = (40, 80)
    cycles = [
        played(address + f"{instruction}\n" * n, waves=waves, chip=CHIP).cycles for n in counts
    ]
    return (cycles[1] - cycles[0]) / (counts[1] - counts[0])


def test_waves_wait_for_each_other_at_a_barrier() -> None:
    code = "v_cmp_gt_u32_e32 vcc, 64, v0\ns_cbranch_vccz .Lend\n"
    code += "v_exp_f32_e32 v6, v7\n" * 20 + ".Lend:\ns_barrier\ns_nop 0"
    prediction = played(code, waves=2, chip=CHIP, defined=DEFINED)
    assert issued_at(prediction, -2, wave=0) == issued_at(prediction, -2, wave=1)
    assert prediction.spent[Reason.BARRIER] > 0.2


def test_what_has_a_higher_priority_goes_first() -> None:
    """Waves 0 and 4 are on SIMD 0, which the older one takes for itself otherwise."""
    code = "v_cmp_gt_u32_e32 vcc, 64, v0\ns_cbranch_vccnz .Lgo\n{}\n.Lgo:\n"
    code += "v_exp_f32_e32 v6, v7\n" * 40 + "s_nop 0"
    ends = [
        [issued_at(played(code.format(text), waves=5, chip=CHIP), -2, wave) for wave in (0, 4)]
        for text in ("s_nop 0", "s_setprio 3")
    ]
    assert ends[0][0] < ends[0][1]
    assert ends[1][0] > ends[1][1]


def test_a_load_that_misses_waits_for_what_is_behind_the_caches() -> None:
    code = """s_load_dwordx2 s[2:3], s[0:1], 0x0
v_lshlrev_b32_e32 v1, 2, v0
s_waitcnt lgkmcnt(0)
global_load_dword v2, v1, s[2:3]
s_waitcnt vmcnt(0)
global_load_dword v2, v1, s[2:3]
s_waitcnt vmcnt(0)
s_nop 0"""
    prediction = played(code, chip=CHIP, bytes_of_buffer=4096)
    first = issued_at(prediction, -4) - issued_at(prediction, -6)
    second = issued_at(prediction, -2) - issued_at(prediction, -4)
    assert first > 450
    assert 120 <= second < 140
    assert prediction.l1_hits == 0.5


def test_the_first_wave_waits_for_code() -> None:
    chip = CHIP.with_values(instruction_fetch=300)
    code = "v_add_f32_e32 v6, v7, v8\n" * 64
    slow, fast = (played(code, chip=each, defined=DEFINED) for each in (chip, CHIP))
    lines = -(-(64 + len(DEFINED) + 1) * 4 // 128)
    assert slow.cycles - fast.cycles == 300 * lines


def test_all_compiled_functions_take_the_unit_whose_type_names_what_is_compiled_in() -> None:
    """Kept code would otherwise be used after another file has changed."""
    compiled = [each for each in vars(compute_unit).values() if hasattr(each, "py_func")]
    assert len(compiled) > 15
    for each in compiled:
        assert "unit" in signature(each.py_func).parameters, each.py_func.__name__
    assert any(name.startswith("compiled_in_") for name in compute_unit.UNIT.names or ())
