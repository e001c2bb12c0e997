# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the verification counts on the IR is what the emulator counts on the assembly."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from iree.compiler import ir

from bankwise.bank_model.conflicts import phase_costs
from bankwise.bank_model.errors import InvalidParameterError
from bankwise.dialect_utils.gpu_target import lds_model
from bankwise.dialect_utils.memory.lds_reading import read_allocations
from bankwise.emulator.assembly import Kernel
from bankwise.emulator.counters import Counters
from bankwise.iree_plugin.compile_settings import Mode
from bankwise.iree_plugin.mitigation import mitigation_edits, verifying_edits
from bankwise.iree_plugin.pipeline_edit import PipelineEdit
from bankwise.passes.base import FunctionPass, PassContext
from bankwise.passes.verify_lds_conflicts import standing_accesses
from bankwise.runtime.emulated_device import EmulatedDevice
from bankwise.runtime.emulated_module import compile_for_emulation
from bankwise.runtime.host_program import HostProgram
from bankwise.runtime.values import parse_values
from bankwise.sweep.kernels import Attention, Matmul

Key = tuple[str, int]
"""("read" or "write", bytes of a lane in one access)."""

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class CountAccesses(FunctionPass):
    """Sums the conflict cycles of a workgroup where `bankwise-verify-lds-conflicts` looks."""

    name: ClassVar[str] = "test-count-accesses"
    summary: ClassVar[str] = "count the conflicts that a verification sees"

    found: Counter[Key] = field(default_factory=Counter, compare=False)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        chip, launch = lds_model(function, None)
        for allocation in read_allocations(function.operation, launch):
            assert not allocation.unknown
            for access, machines in standing_accesses(allocation, chip):
                assert not isinstance(machines, InvalidParameterError)
                for machine in machines:
                    costs = phase_costs(machine.instruction, machine.addresses, machine.active)
                    lost = int(np.maximum(costs - 1, 0).sum()) * access.weight
                    key = (machine.instruction.kind.value, machine.instruction.width_bytes)
                    self.found[key] += lost


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


@pytest.mark.parametrize("mitigation", ["none", "auto"])
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
    (place,) = verifying_edits()
    edit = PipelineEdit(place.anchor, place.position, (count,), place.pipelines, required=True)
    flags = ["--iree-hal-target-device=hip", f"--iree-rocm-target={arch}"]
    # Before the mitigation's own edits, which put another pass in the anchor's place.
    edits = [edit, *mitigation_edits(Mode(mitigation, "layout"))]
    with compile_for_emulation(source, flags, "stock", edits=edits) as module:
        device = EmulatedDevice(module.kernels)
        HostProgram(module.host, device).call(function, values)
    (record,) = device.records
    counted = emulated(record.kernel, record.counters, record.emulated)
    # Whatever reads one of the buffers that take turns is counted for each of them.
    buffers = 2 if case == "direct_b" else 1
    assert +count.found == Counter({key: cycles * buffers for key, cycles in (+counted).items()})
    assert bool(+counted) == (mitigation == "none")
