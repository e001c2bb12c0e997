# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The clock while matrix units multiply, against what AMD has measured on an MI300X."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.bench.timing_pieces import piece
from bankwise.emulator.timing.clock import clock_loss, matrix_loss, part_of_clock
from bankwise.emulator.timing.constants import CHIPS, Chip
from bankwise.emulator.timing.instruction_needs import kernel_code
from bankwise.emulator.trace import WaveTrace, WorkgroupTrace

GFX942 = CHIPS["gfx942"]
F16, F32 = "v_mfma_f32_16x16x16_f16", "v_mfma_f32_16x16x4_f32"
BF16, FP8 = "v_mfma_f32_16x16x16_bf16", "v_mfma_f32_16x16x32_fp8_fp8"


def gigahertz(mnemonic: str, busy: float, part: float = 1.0) -> float:
    loss = part * matrix_loss(mnemonic, GFX942)
    return GFX942.gigahertz.value * part_of_clock(loss, busy, 1.0)


@pytest.mark.parametrize(
    ("mnemonic", "teraflops", "operations", "published"),
    [(F16, 654, 2048, 1.115), (BF16, 708, 2048, 1.207), (FP8, 1273, 4096, 1.230)],
)
def test_clocks_of_large_products(
    mnemonic: str, teraflops: float, operations: int, published: float
) -> None:
    """The TFLOP/s, and the median clock in GHz, are those of ROCm's blog on achievable FLOPs."""
    busy = teraflops / (GFX942.units.value * operations * published / 1e3)
    assert gigahertz(mnemonic, busy) == pytest.approx(published, rel=0.01)


def test_products_of_f32_reach_what_cards_must_reach() -> None:
    """ROCmValidationSuite fails a card below 100 TFLOP/s of sgemm; 256 operations a cycle."""
    assert 304 * 256 * gigahertz(F32, 0.942) * 0.942 / 1e3 == pytest.approx(100, rel=0.02)


def test_zeros_take_less_power() -> None:
    """The clock is 1.792 GHz in fp8 with zeros where it is 1.188 with normally distributed data."""
    busy = (1 - 1.188 / 2.1) / matrix_loss(FP8, GFX942)
    zeros = gigahertz(FP8, busy, GFX942.clock_on_zeros.value)
    assert zeros == pytest.approx(1.792, rel=0.01)


@pytest.mark.parametrize(
    ("mnemonic", "constant"),
    [
        (F16, "clock_per_half"),
        ("v_mfma_f32_16x16x16f16", "clock_per_half"),
        ("v_smfmac_f32_16x16x32_f16", "clock_per_half"),
        (F32, "clock_per_single"),
        ("v_mfma_f32_32x32x1_2b_f32", "clock_per_single"),
        (BF16, "clock_per_matrix"),
        ("v_mfma_f32_16x16x16_bf16_1k", "clock_per_matrix"),
        ("v_mfma_f32_16x16x8_xf32", "clock_per_matrix"),
        ("v_mfma_i32_16x16x32_i8", "clock_per_matrix"),
        (FP8, "clock_per_byte"),
        ("v_mfma_f32_32x32x16_bf8_fp8", "clock_per_byte"),
        ("v_mfma_scale_f32_16x16x128_f8f6f4", "clock_per_byte"),
    ],
)
@pytest.mark.parametrize("chip", CHIPS.values(), ids=list(CHIPS))
def test_the_type_that_an_instruction_multiplies(mnemonic: str, constant: str, chip: Chip) -> None:
    assert matrix_loss(mnemonic, chip) == getattr(chip, constant).value


def test_instructions_count_by_their_cycles() -> None:
    """An f32 instruction takes twice the cycles of an f16 one, and runs once."""
    kernel = piece(f"{F16} a[0:3], v[2:3], v[4:5], a[0:3]\n{F32} a[0:3], v2, v4, a[0:3]")
    code = kernel_code(kernel, GFX942)
    half, single = (
        next(n for n, each in enumerate(kernel.instructions) if each.mnemonic == name)
        for name in (F16, F32)
    )
    loss = (2 * matrix_loss(F16, GFX942) + 2 * matrix_loss(F32, GFX942)) / 4
    assert clock_loss(kernel, code, traces_of([half, half, single]), GFX942) == pytest.approx(loss)
    assert clock_loss(kernel, code, traces_of([len(code.table) - 1]), GFX942) == 0


def traces_of(executed: list[int]) -> list[WorkgroupTrace]:
    wave = WaveTrace(np.array(executed, np.int32), {}, {})
    return [WorkgroupTrace(0, (wave,))]
