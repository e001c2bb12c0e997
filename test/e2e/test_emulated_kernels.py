# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled kernels on the emulated chips: their results, and what the hardware would count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from iree.compiler import ir

from bankwise.emulator.emulation_errors import EmulationError
from bankwise.passes.base import FunctionPass, PassContext
from bankwise.passes.pipeline_edit import PipelineEdit
from bankwise.runtime.emulated_run import EmulatedRun, run_emulated
from bankwise.sweep.cases import target_flags
from bankwise.sweep.swept_kernels import Attention, Matmul

from .exact_results import Kernel, exact_result, inputs_of

TOLERANCE = {"f32": 2e-6, "f16": 2e-3, "bf16": 2e-2}
CONFLICTS = "SQ_LDS_BANK_CONFLICT"


def emulate(
    kernel: Kernel, arch: str, mitigation: str, edits: Sequence[PipelineEdit] = ()
) -> EmulatedRun:
    inputs = inputs_of(kernel)
    return run_emulated(kernel.source(), target_flags(arch), mitigation, inputs, edits=edits)


def error(kernel: Kernel, run: EmulatedRun) -> float:
    return float(np.abs(run.outputs[0].astype(np.float64) - exact_result(kernel)).max())


@pytest.mark.nightly
def test_f32_attention_counts_what_hardware_counted():
    """Published counters of an MI300X: 298K LDS instructions and 532K conflict cycles."""
    kernel = Attention(1, 1024, 128, "f32")
    stock = emulate(kernel, "gfx942", "stock")
    assert stock.counters["SQ_INSTS_LDS"] == 298_496
    assert stock.counters[CONFLICTS] == 532_480
    assert error(kernel, stock) < 1e-6
    ours = emulate(kernel, "gfx942", "auto")
    assert ours.counters[CONFLICTS] == 0
    assert ours.counters["SQ_INSTS_LDS"] <= stock.counters["SQ_INSTS_LDS"]
    assert ours.lds_bytes < stock.lds_bytes
    assert ours.outputs[0].tobytes() == stock.outputs[0].tobytes()


@pytest.mark.sampled("kind", "dtype", "arch", every=8)
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("kind", ["attention", "matmul"])
def test_outputs_are_right_and_equal_under_all_mitigations(kind: str, dtype: str, arch: str):
    kernel = Attention(1, 128, 64, dtype) if kind == "attention" else Matmul(128, 128, 64, dtype)
    plain = emulate(kernel, arch, "none")
    before = plain.counters[CONFLICTS]
    assert error(kernel, plain) < TOLERANCE[dtype] * (1 if kind == "attention" else 16)
    for mitigation in ("stock", "pad", "auto"):
        other = emulate(kernel, arch, mitigation)
        assert other.outputs[0].tobytes() == plain.outputs[0].tobytes()
        after = other.counters[CONFLICTS]
        assert after < before if kind == "attention" else after <= before
        assert mitigation != "auto" or after == 0


@pytest.mark.sampled
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_matmul_with_ragged_edges(arch: str):
    """Rows and columns beyond 100 x 130 x 70 are left to the descriptors' range checks."""
    kernel = Matmul(100, 130, 70, "bf16")
    assert error(kernel, emulate(kernel, arch, "stock")) < 1e-4


@dataclass(frozen=True)
class BreakOneAccess(FunctionPass):
    """Takes the swizzle out of access number `skip` of a kind: its offset loses one XOR."""

    name: ClassVar[str] = "break-one-access"
    summary: ClassVar[str] = "break a swizzle on one side"
    access: str = "vector.load"
    skip: int = 0

    def run(self, function: ir.Operation, context: PassContext) -> None:
        found: list[tuple[ir.Operation, int, ir.Operation]] = []

        def visit(op: ir.Operation) -> ir.WalkResult:
            op = op.operation
            if op.name == self.access:
                for number, operand in enumerate(op.operands):
                    owner = operand.owner
                    # A block argument's owner is a block, not an operation.
                    if not isinstance(owner, ir.Block) and owner.name == "arith.xori":
                        found.append((op, number, owner))
            return ir.WalkResult.ADVANCE

        function.walk(visit)
        assert len(found) > self.skip, f"{len(found)} {self.access} ops with a swizzled offset"
        op, number, xor = found[self.skip]
        op.operands[number] = xor.operands[0]


@pytest.mark.nightly
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("access", ["vector.load", "vector.store"])
def test_a_swizzle_broken_on_one_side_is_noticed(access: str, arch: str):
    kernel = Attention(1, 128, 64, "f16")
    plain = emulate(kernel, arch, "none")
    edit = PipelineEdit.after("bankwise-resolve-swizzle-hints", BreakOneAccess(access=access))
    try:
        broken = emulate(kernel, arch, "auto", [edit])
    except EmulationError:
        return  # The output came from nothing, or two waves met in one word.
    assert broken.outputs[0].tobytes() != plain.outputs[0].tobytes()
