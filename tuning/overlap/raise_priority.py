# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-raise-priority`: waves that have their first products before them issue first.

    scf.for ... {                    scf.for ... {
      ... copies of tiles              ... copies of tiles
      gpu.barrier                      gpu.barrier
                                       rocdl.s.setprio 2
      amdgpu.mfma                      amdgpu.mfma
      scf.if ... { ... }        ->     scf.if ... { ... }
                                       rocdl.s.setprio 1
      math.exp2                        math.exp2
      amdgpu.mfma                      amdgpu.mfma
                                       rocdl.s.setprio 0
    }                                }

A step of an attention multiplies Q by K, computes exponentials, and multiplies them by V. Several
waves share a SIMD, and its matrix unit is idle while all of them compute exponentials. Where two
waves can issue, the one with the higher priority does: here the one that is still at its first
products, so that the exponentials of the others run beside these. Waves that copy tiles, for which
nobody can wait yet, come last.

LLVM moves no instruction over `s_setprio`. So the priority changes where LLVM moves nothing anyway:
behind a barrier, behind the branch that `bankwise-keep-maxima` has made, and at the end of the
step. Where there is no such branch, it changes behind the first products on CDNA3 alone, in steps
of at least 8 exponentials a lane: LLVM then reads no V before these, for which products of CDNA4
are too short. Nothing that is computed changes, nor any wait or barrier.

By the model of a compute unit (`emulator/timing/`), f16 4x2048x256 would take 1.15 times as long
with priorities on gfx950 at `exact`. Products of f32 take so long that priorities gain nothing.

A function stays as it is in which somebody has set priorities already.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import PRIORITY, Builder
from ...dialect_utils.element_moves import element_count
from ...dialect_utils.gpu_target import gpu_features_of
from ...dialect_utils.loops import IF, body_of, loops_around
from ...dialect_utils.memory.lds_ops import BARRIER
from ...dialect_utils.multiplications import EXPONENTIALS, MFMA, multiplies_halves
from ...dialect_utils.operations import has_operation, operations_in, operations_of
from ...passes.base import FunctionPass, PassContext
from ..costs.processors import processor_of

_SCORES = 8
"""How many exponentials a lane must have in a step without a branch."""


@dataclass(frozen=True)
class RaisePriority(FunctionPass):
    """Lets waves that have their first products before them issue before the others of a SIMD."""

    name: ClassVar[str] = "bankwise-raise-priority"
    summary: ClassVar[str] = "let waves at the first products of attentions issue before others"

    def has_work(self, function: ir.Operation) -> bool:
        """Returns whether `function` has steps of attentions with places for priorities."""
        return bool(_steps_in(function, in_one_block=True))

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Sets the priorities of each step; never fails."""
        function = function.operation
        features = gpu_features_of(function, context.test_target)
        processor = processor_of(features.arch)
        if processor is None or not processor.wave_priorities or has_operation(function, PRIORITY):
            return
        for step in _steps_in(function, in_one_block=not features.multiplies_eight):
            for priority, follower in enumerate((step.end, step.exponentials, step.products)):
                Builder.before(follower).set_priority(priority)
            text = "waves at the first products of a step issue before others"
            context.sink.remark(step.end.parent.location, text)


class _Step(NamedTuple):
    """A step of an attention; each field is the operation before which a part begins.

    Attributes:
        products: what follows the last barrier before the first products.
        exponentials: what follows the branch between the first products and the exponentials, or
            the last of the first products.
        end: the first barrier behind the last product, or what ends the step.
    """

    products: ir.Operation
    exponentials: ir.Operation
    end: ir.Operation


def _steps_in(function: ir.Operation, *, in_one_block: bool) -> list[_Step]:
    """Returns the steps of the loops that multiply matrices and compute exponentials.

    Args:
        in_one_block: whether those without a branch are among them.
    """
    loops = loops_around(operations_in(function, MFMA))
    steps = (_step_of(loop, in_one_block) for loop in loops)
    return [step for step in steps if step is not None]


def _step_of(loop: ir.Operation, in_one_block: bool) -> _Step | None:
    """Returns the step of a loop; None where priorities are not predicted to gain."""
    body = operations_of(body_of(loop))

    def places(*names: str) -> list[int]:
        return [place for place, each in enumerate(body) if each.name in names]

    products, exponentials, barriers = places(MFMA), places(*EXPONENTIALS), places(BARRIER)
    first = [at for at in products if exponentials and at < exponentials[0]]
    before = [at for at in barriers if at < products[0]]
    if not first or not before or exponentials[0] > products[-1]:
        return None
    branches = [at for at in places(IF) if products[0] < at < exponentials[0]]
    scores = sum(element_count(body[at].results[0].type) for at in exponentials)
    is_long = scores >= _SCORES and multiplies_halves(body[first[0]])
    if not branches and not (in_one_block and is_long):
        return None
    behind = [at for at in barriers if at > products[-1]]
    end = min(behind, default=len(body) - 1)
    return _Step(body[before[-1] + 1], body[(branches or first)[-1] + 1], body[end])
