# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/gpu/repeating: launches that are right but for some are found, and others are not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from bankwise import compile
from bankwise.bench.gpu import repeating
from bankwise.bench.gpu.command_steps import take_step
from bankwise.bench.gpu.device_launches import DeviceLaunches
from bankwise.bench.gpu.repeating import SETS, differing, operands
from bankwise.bench.gpu.timed_kernels import CompiledKernels, TimedKernel
from bankwise.bench.gpu.timed_sets import model_attention, timed_model
from bankwise.bench.gpu_times import STEPS

LAUNCHES = 20
STOCK, EXACT, FAST = MODES = ("stock", "auto/exact@sm_90a", "auto/fast@sm_90a")
KERNEL = TimedKernel("m", "matmul", ("16x32xf16", "24x32xf16"), MODES, (FAST,))
Change = Callable[[bytes, str, int], bytes]


@dataclass
class Stand:
    """Launches a kernel in NumPy.

    Attributes:
        change: gets an output, its mode, and how many launches of that were before.
    """

    change: Change
    launches: dict[str, int] = field(default_factory=dict)

    def __call__(self, mode: str, number: int) -> bytes:
        left, right = (each.astype(np.float32) for each in operands(KERNEL, number))
        before = self.launches.get(mode, 0)
        self.launches[mode] = before + 1
        return self.change((left @ right.T).tobytes(), mode, before)


def found(change: Change) -> list[str]:
    return [f"{each.mode}: {each.what}" for each in differing(KERNEL, Stand(change), LAUNCHES)]


def test_right_launches_are_well() -> None:
    assert found(lambda output, mode, before: output) == []
    # `fast` may round otherwise, but always so.
    assert found(lambda output, mode, before: output[::-1] if mode == FAST else output) == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("launch", [SETS, SETS + LAUNCHES - 1])
def test_one_bit_of_a_later_launch_is_found(mode: str, launch: int) -> None:
    def change(output: bytes, its: str, before: int) -> bytes:
        return bytes([output[0] ^ 1]) + output[1:] if (its, before) == (mode, launch) else output

    assert found(change) == [f"{mode}: 1 of 20 launches give other outputs than the first"]


def test_exact_must_be_right_from_the_first_on() -> None:
    assert found(lambda output, mode, before: output[::-1] if mode == EXACT else output) == [
        f"{EXACT}: the outputs differ from those of stock"
    ]


def test_outputs_depend_on_inputs() -> None:
    assert found(lambda output, mode, before: b"1") == [
        f"{mode}: different inputs give the same output" for mode in MODES
    ]


CPU = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic",
)


def test_kernels_are_launched_on_a_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = model_attention(2, 8, 16, "bf16", mask="i1")
    kernel, source = timed_model(model, ("stock", "auto/exact")), model.program().source
    CompiledKernels("sm_80", {}, (kernel,)).write_list(tmp_path)

    def ends_with(*flags: str, driver: str = "local-sync") -> int:
        monkeypatch.setattr(repeating, "DeviceLaunches", partial(DeviceLaunches, driver=driver))
        command = ["gpu_times", "repeat", str(tmp_path), "--launches=3", *flags]
        monkeypatch.setattr(sys, "argv", command)
        return take_step("", STEPS)

    right = compile(source, CPU, "stock")
    for mode in kernel.modes:
        kernel.module(tmp_path, mode).write_bytes(right)
    assert ends_with() == 0
    assert capsys.readouterr().out == (
        "attention_2x8x16_bf16_mask_i1: 14 launches\n1 kernels, of which 0 are wrong\n"
    )
    assert ends_with("--only=matmul") == 1
    assert capsys.readouterr().out == "0 kernels, of which 0 are wrong\n"

    (scale,) = (line for line in source.splitlines() if "%scale = " in line)
    other = source.replace(scale, "  %scale = arith.constant 2.0 : bf16")
    kernel.module(tmp_path, "auto/exact").write_bytes(compile(other, CPU, "stock"))
    assert ends_with() == 1
    printed = capsys.readouterr().out
    assert "auto/exact: the outputs differ from those of stock" in printed
    assert printed.endswith("1 kernels, of which 1 are wrong\n")

    assert ends_with(driver="no-such-driver") == 1
    assert capsys.readouterr().err.startswith("error: no no-such-driver device: ")
