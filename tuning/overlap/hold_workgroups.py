# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-hold-workgroups`: ptxas gives lanes few enough registers for several workgroups.

    func.func @attention(...)      ->      func.func @attention(...) attributes {
                                               nvvm.minctasm = 2 : i32}

Where operands are read by descriptors, few registers hold operands, and one workgroup's matrix
instructions run while another one waits or computes exponentials. How many a multiprocessor holds
may then hang on a few registers, which ptxas takes although it can do without them. Of f16
attention 16x4096x128, 128 rows, 64 keys, 8 warps on an H200, one workgroup fits with 153 registers;
with 128 two fit, and the kernel takes 0.85 times as long, with none spilled.

As many workgroups are asked for as the LDS holds, but no more than the choice of the tile has
counted with, since the kernel may not have as many: f16 16x1024x72 has 128 workgroups for 132
multiprocessors, and would spill 104 bytes to make room for a second one. The values of the loop,
and what lanes copy to the LDS through registers, all of which ptxas loads before it stores any,
have to fit the registers that are left to a lane then; for two workgroups, a few may be missing.
Where more are missing, ptxas spills what `wgmma` adds to, and lets each `wgmma` wait: 64x2048x64
with 128 keys a step takes 1.7 times as long with the request.

Two workgroups of 128 threads leave a lane all registers that it can have, and are asked for in any
case. Where nothing is asked for, ptxas 13.0 gives some attentions at `exact` 128 registers, and 167
where two are. A step of 64 rows and keys, a head of 128 and 4 warps then takes 0.74 times as long
on an H100, by code that differs in nothing else.

Only loops with exponentials are looked at, because the count of values is too low for others: a
matmul of 128 x 128 with 4 warps takes 220 registers, of which 145 are counted.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...bank_model.lds_rules import AccessKind
from ...dialect_utils.described_tiles import has_held_workgroups, take_held_workgroups
from ...dialect_utils.element_moves import element_count, is_move
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.gpu_target import (
    ASKED_WORKGROUPS,
    ask_for_workgroups,
    gpu_features_of,
    launch_of,
)
from ...dialect_utils.loops import FOR
from ...dialect_utils.memory.flow import allocated_bytes
from ...dialect_utils.memory.lds_ops import (
    ADDRESS,
    BARRIER,
    access_row,
    reads_global_memory,
    touches_global_memory,
)
from ...dialect_utils.multiplications import EXPONENTIALS
from ...dialect_utils.operations import defining_operation, has_operation, operations_in
from ...passes.base import FunctionPass, PassContext
from ..costs.processors import processor_of
from ..costs.tile_cost import SAVED_REGISTERS
from ..fragments.live_registers import REGISTER_BITS, UNCOUNTED, LoopRegisters, lane_registers

_SELECT = "arith.select"
_FEW = 2
"""The workgroups for which ptxas is asked to do without some registers. More gain less, and each
has fewer to spare: f16 16x77x64, of which 6 were held with 80 registers, spilled 100 bytes and let
each `wgmma` wait; it takes 95."""


class HoldWorkgroups(FunctionPass):
    """Asks for as many workgroups on a multiprocessor as its LDS and registers can hold."""

    name: ClassVar[str] = "bankwise-hold-workgroups"
    summary: ClassVar[str] = "let registers hold as many workgroups as the LDS does"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether operands of `function` are read by descriptors.

        A note on how many are to be held is forgotten, too.
        """
        return has_held_workgroups(function) or has_operation(function, ADDRESS)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Writes the number into the attributes of `function`, if it is more than one."""
        function = function.operation
        noted = take_held_workgroups(function)
        given = context.test_target
        features, launch = gpu_features_of(function, given), launch_of(function, given)
        if not features.descriptor_tiles or launch is None:
            return
        processor = processor_of(features.arch)
        if processor is None:
            return
        if ASKED_WORKGROUPS in function.attributes or not self.has_work(function):
            return
        loops = operations_in(function, FOR)
        loops = [each for each in loops if has_operation(each, *EXPONENTIALS)]
        counts = [LoopRegisters(loop).count() + _copied_registers(loop) for loop in loops]
        if not counts:
            return
        total = allocated_bytes(function)
        most = processor.lds_bytes // (total + processor.lds_overhead)
        most = most if noted is None else min(most, noted)
        by_registers = (
            n
            for n in range(2, most + 1)
            if max(counts) + (UNCOUNTED if n > _FEW else -SAVED_REGISTERS)
            <= lane_registers(n * launch.threads)
        )
        held = max(by_registers, default=1)
        asked = max(held, _held_anyway(launch.threads))
        if asked > 1:
            ask_for_workgroups(function, asked)
        if held > 1:
            text = f"a multiprocessor is to hold {held} workgroups, as its LDS does"
            context.sink.remark(function.location, text)


def _held_anyway(threads: int) -> int:
    """Returns how many workgroups leave a lane as many registers as it can have, up to a few."""
    most = lane_registers(threads)
    return max(n for n in range(1, _FEW + 1) if lane_registers(n * threads) == most)


def _copied_registers(loop: ir.Operation) -> int:
    """Returns the registers of what lanes copy from global memory to the LDS between barriers."""
    most = copied = 0
    for each in operations_in(loop):
        if each.name == BARRIER:
            copied = 0
        row = access_row(each)
        if row is None or row.kind is not AccessKind.WRITE:
            continue
        value = each.operands[0]
        if not touches_global_memory(each) and _is_loaded(value):
            kind = value.type
            element = kind.element_type if isinstance(kind, ir.VectorType) else kind
            copied += -(-element_count(kind) * (element_bits(element) or 0) // REGISTER_BITS)
            most = max(most, copied)
    return most


def _is_loaded(value: ir.Value) -> bool:
    """Returns whether a value comes from global memory without being computed with."""
    pending = [value]
    while pending:
        definition = defining_operation(pending.pop())
        if definition is None:
            continue
        if definition.name == _SELECT or is_move(definition):
            pending += definition.operands
            continue
        if reads_global_memory(definition):
            return True
    return False
