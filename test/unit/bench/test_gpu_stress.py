# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/gpu_stress: what it launches, on the CPU in place of a GPU, and how it ends."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from bankwise import compile
from bankwise.bench.gpu import device_launches
from bankwise.bench.gpu.device_launches import DeviceLaunches
from bankwise.bench.gpu.kernels import CompiledKernels
from bankwise.bench.gpu.steps import take_step
from bankwise.bench.gpu.timed_sets import model_attention, timed_model
from bankwise.bench.gpu_stress import STEPS

CPU = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic",
)


def test_kernels_are_launched_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    model = model_attention(2, 8, 16, "bf16", mask="i1")
    kernel, source = timed_model(model, ("stock", "auto/fast")), model.program().source
    CompiledKernels("sm_80", {}, (kernel,)).write_list(tmp_path)
    on_cpu = partial(DeviceLaunches, driver="local-task")
    monkeypatch.setattr(device_launches, "DeviceLaunches", on_cpu)

    def ends_with(*flags: str) -> int:
        command = ["gpu_stress", "run", str(tmp_path), "--inputs=2", "--launches=3", *flags]
        monkeypatch.setattr(sys, "argv", command)
        return take_step("", STEPS)

    right = compile(source, CPU, "stock")
    for mode in kernel.modes:
        kernel.module(tmp_path, mode).write_bytes(right)
    assert ends_with() == 0
    assert capsys.readouterr().out == (
        "attention_2x8x16_bf16_mask_i1: 5 launches\n5 launches; 0 kernels are wrong\n"
    )
    assert ends_with("--only=matmul") == 1
    assert capsys.readouterr().out == "0 launches; 0 kernels are wrong\n"

    other = replace(kernel, scale=1.0)
    CompiledKernels("sm_80", {}, (other,)).write_list(tmp_path)
    assert ends_with() == 1
    printed = capsys.readouterr().out
    assert "attention_2x8x16_bf16_mask_i1 masked 0 stock: the rms error is" in printed
    assert printed.endswith("5 launches; 1 kernels are wrong\n")

    on_gpu = partial(DeviceLaunches, driver="no-such-driver")
    monkeypatch.setattr(device_launches, "DeviceLaunches", on_gpu)
    assert ends_with() == 1
    assert capsys.readouterr().err.startswith("error: no no-such-driver device: ")
