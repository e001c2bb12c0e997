# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a compile says of its gain is what the emulator counts in stock's code and in ours."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags
from bankwise.sweep.swept_kernels import Attention, Matmul

from .conftest import Tool
from .exact_results import Kernel, inputs_of

LINE = re.compile(
    r"(\d+) kernels?: ([\d,]+) -> ([\d,]+) conflict cycles, ([\d,]+) -> ([\d,]+) LDS instructions"
)
KERNELS = (
    Attention(1, 256, 64, "f16"),
    Attention(2, 128, 64, "f32"),
    Matmul(128, 128, 64, "f32"),
    Attention(1, 256, 128, "bf16"),
    Matmul(256, 128, 128, "f16"),
)


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda each: each.name)
def test_conflict_cycles_are_those_of_both_codes(kernel: Kernel, tool: Tool, tmp_path: Path):
    # IREE's tiles: the line compares the layouts of the tiles that a compile has chosen.
    flags = (*target_flags("gfx942"), "--bankwise-retile=off", "-o", "out.vmfb")
    (tmp_path / "in.mlir").write_text(kernel.source())
    result = tool("bankwise-compile", "in.mlir", *flags)
    (line,) = result.stderr.splitlines()
    found = LINE.fullmatch(line)
    assert found is not None, line
    before, after = (
        run_emulated(kernel.source(), target_flags("gfx942"), mode, inputs_of(kernel)).counters
        for mode in ("stock", "auto/exact/off")
    )
    said = [int(each.replace(",", "")) for each in found.groups()]
    conflicts = "SQ_LDS_BANK_CONFLICT"
    assert said[:3] == [1, before[conflicts], after[conflicts]]
    # Not all pairs are those that LLVM makes.
    assert said[3] <= before["SQ_INSTS_LDS"]


TRANSPOSED = """
func.func @f(%a: tensor<64x32xf16>) -> tensor<32x64xf16> {
  %e = tensor.empty() : tensor<32x64xf16>
  %t = linalg.transpose ins(%a : tensor<64x32xf16>) outs(%e : tensor<32x64xf16>)
    permutation = [1, 0]
  return %t : tensor<32x64xf16>
}"""
SOFTMAX = """
func.func @f(%a: tensor<4x640xf16>) -> tensor<4x640xf16> {
  %e = tensor.empty() : tensor<4x640xf16>
  %s = linalg.softmax dimension(1)
    ins(%a : tensor<4x640xf16>) outs(%e : tensor<4x640xf16>) -> tensor<4x640xf16>
  return %s : tensor<4x640xf16>
}"""
COLUMNS = Matmul(128, 128, 128, "bf16")
COUNTED = {
    # Of IREE's two tiles LLVM leaves out one, which nobody reads.
    "a tile that nobody reads": (TRANSPOSED, "gfx942", [np.ones((64, 32), np.float16)]),
    # Some lanes are masked off where five waves read their partial results.
    "masked lanes": (SOFTMAX, "gfx942", [np.ones((4, 640), np.float16)]),
    # Stock reads columns by an instruction that has no form with two addresses.
    "reads that transpose": (COLUMNS.source(), "gfx950", inputs_of(COLUMNS)),
}


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(("source", "target", "inputs"), COUNTED.values(), ids=COUNTED)
def test_both_counters_are_those_of_both_codes(
    source: str, target: str, inputs: list[Any], tool: Tool, tmp_path: Path
):
    flags = (*target_flags(target), "--bankwise-level=layout", "-o", "out.vmfb")
    (tmp_path / "in.mlir").write_text(source)
    (line,) = tool("bankwise-compile", "in.mlir", *flags).stderr.splitlines()
    found = LINE.fullmatch(line)
    assert found is not None, line
    counted = [
        run_emulated(source, target_flags(target), mode, inputs).counters
        for mode in ("stock", "auto/layout")
    ]
    names = ("SQ_LDS_BANK_CONFLICT", "SQ_INSTS_LDS")
    expected = [each[name] for name in names for each in counted]
    assert [int(each.replace(",", "")) for each in found.groups()] == [1, *expected]


def test_quiet_and_failed_compiles_say_nothing(tool: Tool, tmp_path: Path):
    (tmp_path / "in.mlir").write_text(Attention(1, 128, 64, "f16").source())
    flags = (*target_flags("gfx942"), "--compile-to=executable-targets")
    assert tool("bankwise-compile", "in.mlir", *flags, "-o", "o", "--quiet").stderr == ""
    refused = tool("bankwise-compile", "in.mlir", *flags, "-o", "no/such/folder")
    assert refused.returncode == 1 and "conflict cycles" not in refused.stderr


def test_a_gpu_without_rules_is_a_warning(tool: Tool, tmp_path: Path):
    (tmp_path / "in.mlir").write_text(Attention(1, 128, 64, "f16").source())
    gpu = ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx908")
    flags = (*gpu, "--compile-to=executable-targets", "-o", "out.mlir")
    warning, line = tool("bankwise-compile", "in.mlir", *flags).stderr.splitlines()
    assert "warning: nothing is known of the LDS banks of gfx908, so that its kernels" in warning
    assert "gfx1201" in warning and "sm_80" not in warning
    assert line == "1 kernel: conflict cycles not known"


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201", "gfx1250"])
def test_chips_with_wmma_say_what_they_gain(tool: Tool, tmp_path: Path, arch: str):
    (tmp_path / "in.mlir").write_text(Matmul(128, 128, 128, "f16").source())
    flags = (*target_flags(arch), "--compile-to=executable-targets", "-o", "out.mlir")
    asked = tool("bankwise-compile", "in.mlir", *flags, "--bankwise-retile=on").stderr
    warning, line = asked.splitlines()
    assert re.fullmatch(r"1 kernel: [\d,]+ -> 0 conflict cycles, [\d,]+ -> [\d,]+ LDS .*", line)
    assert warning.startswith("in.mlir:")
    assert (
        f"warning: --bankwise-retile=on: the time of kernels on {arch} is not modelled" in warning
    )
    assert "so that tiles stay (modelled: gfx942, gfx950, sm_80" in warning
