# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions for gfx950 whose K and V go to the LDS without registers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from bankwise.emulator.emulation_errors import LdsRaceError, MissingWaitError
from bankwise.emulator.waits import check_waits, is_direct_load
from bankwise.runtime.dtypes import dtype_of
from bankwise.runtime.emulated_module import compile_for_emulation
from bankwise.runtime.emulated_run import EmulatedRun, run_emulated
from bankwise.runtime.host_program import HostProgram
from bankwise.sweep.cases import target_flags
from bankwise.sweep.swept_kernels import Attention
from bankwise.tuning.copies.form_direct_loads import FormDirectLoads
from bankwise.tuning.costs.tile_cost import AttentionTile
from bankwise.tuning.forced_tile import ForceTile

from .test_waits import MarkingDevice, without_each_wait

GFX950 = target_flags("gfx950")


def forced(head: int, rows: int, keys: int, warps: int) -> ForceTile:
    """Returns what forces a tile whose copies rotate through two slots."""
    tile = AttentionTile(rows, head, keys, warps, slots=2, stages=2, staged_queries=False)
    assert tile.is_direct
    return ForceTile(tile)


def drawn(attention: Attention) -> list[np.ndarray]:
    random = np.random.default_rng(7)
    kind = dtype_of(attention.dtype)
    return [random.standard_normal(s, np.float32).astype(kind) for s in attention.operands]


def run(attention: Attention, tile: ForceTile) -> EmulatedRun:
    """Runs an attention with a tile, which it must have got."""
    ran = run_emulated(attention.source(), GFX950, "auto/fast", drawn(attention), forced=tile)
    assert not tile.refusals
    return ran


def loads_directly(ran: EmulatedRun) -> bool:
    return any(is_direct_load(each) for r in ran.records for each in r.kernel.instructions)


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize(
    ("attention", "tile"),
    [
        (Attention(1, 128, 64, "f16"), forced(64, 64, 64, 4)),
        (Attention(2, 192, 64, "bf16"), forced(64, 64, 32, 4)),
        (Attention(1, 256, 128, "f16"), forced(128, 128, 64, 4)),
        (Attention(1, 256, 128, "bf16"), forced(128, 256, 64, 8)),
        (Attention(1, 128, 256, "f16"), forced(256, 64, 32, 4)),
        (Attention(3, 384, 32, "f16"), forced(32, 64, 128, 4)),
        # Half of the waves take part in the last copy of a tile.
        (Attention(1, 512, 80, "f16"), forced(80, 64, 64, 4)),
        (Attention(1, 512, 48, "f16"), forced(48, 64, 64, 4)),
        (Attention(1, 512, 96, "bf16"), forced(96, 64, 64, 4)),
        (Attention(1, 448, 112, "f16"), forced(112, 64, 32, 4)),
        (Attention(1, 512, 160, "bf16"), forced(160, 128, 64, 8)),
        (Attention(1, 512, 192, "f16"), forced(192, 128, 64, 8)),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_bits_are_those_of_copies_through_registers(
    attention: Attention, tile: ForceTile, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_same_bits(lambda: run(attention, tile), monkeypatch)


@pytest.mark.nightly
@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    "attention",
    [
        Attention(2, 330, 72, "f16"),
        Attention(1, 500, 128, "bf16"),
        Attention(2, 512, 40, "f16"),
        Attention(1, 333, 120, "bf16"),
    ],
    ids=lambda each: each.name,
)
def test_keys_and_columns_that_are_not_there_are_zeros(
    attention: Attention, monkeypatch: pytest.MonkeyPatch
) -> None:
    operands = drawn(attention)
    for each in operands[1:]:
        each[1:] = np.nan

    def ran() -> EmulatedRun:
        return run_emulated(attention.source(), GFX950, "auto/fast", operands)

    (output,) = assert_same_bits(ran, monkeypatch).outputs
    assert not np.isnan(output[0]).any()


def assert_same_bits(ran: Callable[[], EmulatedRun], patch: pytest.MonkeyPatch) -> EmulatedRun:
    """Checks that outputs have the bits that copies through registers give; returns a run."""
    direct = ran()
    assert loads_directly(direct)
    assert not direct.counters["SQ_LDS_BANK_CONFLICT"]
    assert all(not check_waits(record.kernel).missing for record in direct.records)
    patch.setattr(FormDirectLoads, "run", lambda *_: None)
    through_registers = ran()
    assert not loads_directly(through_registers)
    (found,), (expected,) = direct.outputs, through_registers.outputs
    assert found.tobytes() == expected.tobytes()
    return direct


@pytest.mark.sampled
@pytest.mark.parametrize(("keys", "head"), [(128, 64), (512, 80)])
def test_every_wait_is_needed(keys: int, head: int) -> None:
    attention = Attention(1, keys, head, "f16")
    source, tile = attention.source(), forced(head, 64, 64, 4)
    with compile_for_emulation(source, GFX950, "auto/fast", forced=tile) as module:
        ((name, kernel),) = module.kernels.items()
        ran = 0
        for wait, mutant in without_each_wait(kernel):
            if "vmcnt" not in wait.text or check_waits(mutant).missing:
                continue
            ran += 1
            program = HostProgram(module.host, MarkingDevice({name: mutant}, whole_grid=0))
            with pytest.raises((MissingWaitError, LdsRaceError)):
                program.call("attention", drawn(attention))
                pytest.fail(f"nothing is wrong without line {wait.line}: {wait.text}")
        assert ran >= 1
