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
case, by `mma.sync` as well. Where nothing is asked for, ptxas 13.0 gives some attentions 128 or 168
registers, so that a multiprocessor may hold more of them, and each warp waits for what it has just
loaded (`findings/asking_for_one_workgroup_gives_more_registers.sh`). Code that differs in nothing
else, microseconds on an H200:

    | f16 attention, code for sm_80 | registers | | where two are asked for | |
    | --- | ---: | ---: | ---: | ---: |
    | 1x4096x128 at `exact` | 168 | 165.4 | 206 | 103.3 |
    | 1x1024x128 at `exact` | 168 | 44.3 | 206 | 29.2 |
    | 2x2048x64 at `exact` | 135 | 58.9 | 168 | 43.0 |
    | 8x1024x64 at `exact` | 128 | 31.1 | 168 | 24.9 |
    | 5x2048x128 at `fast` | 174 | 83.0 | 200 | 67.6 |

None of 24 attentions takes more than 1.01 times as long so.

Only loops with exponentials are looked at, because the count of values is too low for others: a
matmul of 128 x 128 with 4 warps takes 220 registers, of which 145 are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from iree.compiler import ir

from ...bank_model.lds_rules import AccessKind
from ...dialect_utils.described_tiles import has_held_workgroups, take_held_workgroups
from ...dialect_utils.element_moves import element_count, is_move
from ...dialect_utils.element_types import element_bits, scalar_type
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
from ...dialect_utils.memory.mma_operands import MMA
from ...dialect_utils.multiplications import EXPONENTIALS
from ...dialect_utils.operations import has_operation, makers_behind, operations_in
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
        """Returns whether `function` has matrix instructions.

        A note on how many are to be held is forgotten, too.
        """
        return has_held_workgroups(function) or has_operation(function, ADDRESS, MMA)

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Writes the number into the attributes of `function`, if it is more than one."""
        function = function.operation
        noted = take_held_workgroups(function)
        given = context.test_target
        features, launch = gpu_features_of(function, given), launch_of(function, given)
        if launch is None or ASKED_WORKGROUPS in function.attributes:
            return
        loops = operations_in(function, FOR)
        loops = [each for each in loops if has_operation(each, *EXPONENTIALS)]
        held, processor = 1, processor_of(features.arch)
        if features.descriptor_tiles and has_operation(function, ADDRESS):
            if processor is None or not loops:
                return
            taken = allocated_bytes(function) + processor.lds_overhead
            most = processor.lds_bytes // taken
            held = _held(loops, launch.threads, most if noted is None else min(most, noted))
        elif not any(has_operation(each, MMA) for each in loops):
            return
        asked = max(held, _held_anyway(launch.threads))
        if asked > 1:
            ask_for_workgroups(function, asked)
        if held > 1:
            text = f"a multiprocessor is to hold {held} workgroups, as its LDS does"
            context.sink.remark(function.location, text)


def _held(loops: Sequence[ir.Operation], threads: int, most: int) -> int:
    """Returns how many workgroups registers can hold, up to so many as the LDS holds."""
    count = max(LoopRegisters(loop).count() + _copied_registers(loop) for loop in loops)
    by_registers = (
        n
        for n in range(2, most + 1)
        if count + (UNCOUNTED if n > _FEW else -SAVED_REGISTERS) <= lane_registers(n * threads)
    )
    return max(by_registers, default=1)


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
            bits = element_bits(scalar_type(kind)) or 0
            copied += -(-element_count(kind) * bits // REGISTER_BITS)
            most = max(most, copied)
    return most


def _is_loaded(value: ir.Value) -> bool:
    """Returns whether a value comes from global memory without being computed with."""
    makers = makers_behind([value], lambda each: each.name == _SELECT or is_move(each))
    return any(map(reads_global_memory, makers))
