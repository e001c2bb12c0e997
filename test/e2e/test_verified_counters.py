# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the verification counts on the IR is what the emulator counts on the assembly."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from bankwise.emulator.assembly import Kernel
from bankwise.emulator.counters import Counters
from bankwise.runtime.emulated_device import EmulatedDevice
from bankwise.runtime.emulated_module import compile_for_emulation
from bankwise.runtime.host_program import HostProgram
from bankwise.runtime.values import parse_values
from bankwise.sweep.swept_kernels import Attention, Matmul

from .counted_accesses import CountAccesses, Key, counting_edits

EXAMPLES = Path(__file__).parents[2] / "examples"


def emulated(kernel: Kernel, counters: Counters, workgroups: int) -> Counter[Key]:
    """Returns the conflict cycles of a workgroup, by what each LDS instruction accesses."""
    found: Counter[Key] = Counter()
    for instruction, cycles in zip(
        kernel.instructions, counters.lds_conflict_cycles.tolist(), strict=True
    ):
        named = re.match(r"ds_(read|write)2?(?:st64)?_[bu](\d+)", instruction.mnemonic)
        if named:
            found[named[1], int(named[2]) // 8] += cycles
    return Counter({key: cycles // workgroups for key, cycles in found.items()})


MATMUL = Matmul(256, 256, 256, "f16")
ATTENTION = Attention(1, 256, 64, "f32")
CASES = {
    "matmul": (MATMUL.source(), "matmul", ["256x256xf16=0.5", "256x256xf16=0.25"]),
    "attention": (ATTENTION.source(), "attention", ["1x256x64xf32=0.5"] * 3),
    "row_major": (
        (EXAMPLES / "transpose/row_major.mlir").read_text(),
        "transpose",
        ["1024x256xf16=1"],
    ),
    "direct_b": (
        (EXAMPLES / "gemm/direct_b.mlir").read_text(),
        "gemm",
        ["128x512xf16=1", "128x512xf16=1"],
    ),
}


@pytest.mark.sampled("case", "mitigation", every=3)
@pytest.mark.parametrize("mitigation", ["none", "auto/layout"])
@pytest.mark.parametrize(
    ("case", "arch"),
    [
        ("matmul", "gfx942"),
        ("attention", "gfx942"),
        ("row_major", "gfx942"),
        ("direct_b", "gfx950"),
    ],
)
def test_model_and_counters_agree_by_kind_of_instruction(
    case: str, arch: str, mitigation: str
) -> None:
    source, function, inputs = CASES[case]
    values = [value for text in inputs for value in parse_values(text)]
    count = CountAccesses()
    flags = ["--iree-hal-target-device=hip", f"--iree-rocm-target={arch}"]
    edits = counting_edits(count, mitigation)
    with compile_for_emulation(source, flags, "stock", edits=edits) as module:
        device = EmulatedDevice(module.kernels)
        HostProgram(module.host, device).call(function, values)
    (record,) = device.records
    counted = emulated(record.kernel, record.counters, record.emulated)
    (found,) = count.found.values()
    assert not count.unknown
    assert +found == +counted
    assert bool(+counted) == (mitigation == "none")
