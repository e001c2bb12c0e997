# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where a compile changes a program before IREE forms its dispatches (`tuning/programs/`).

All other passes work on one kernel at a time. Into how many kernels an attention is cut is decided
before. Behind IREE's phase `global-optimization` every exported attention is an
`iree_linalg_ext.attention` of tensors, and V is transposed where the kernel that makes V can do so.
Copies that all workgroups read are kernels of their own.
A batch of matmuls by copies of one matrix reads these copies from memory behind that phase, and so
do attentions with copies of a mask. IREE has made a softmax of what is one.
IREE makes kernels for ranges of sizes of what is annotated with them.
Every convolution is a `linalg.generic` there, and IREE has sliced what it slices.

What StableHLO says of signs is known only before the first phase. Unsigned factors are kept there,
at all levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..dialect_utils.program_operations import ARG_COMPARE, BARRIER, UPDATES
from ..passes.mode import LEVELLED, LEVELS, Mode
from .compile_settings import PHASES, CompileSettings
from .early_import import NUMPY, loading_paused
from .invocations import may_multiply_unsigned
from .later_import import imported_later
from .rooms import has_tuning

if TYPE_CHECKING:
    from iree.compiler import ir

    from ..passes.base import FunctionPass
    from ..passes.pipeline_edit import PlannedPass
    from .embedding import SteppedInvocation
    from .replay import PassRunner

BEFORE_DISPATCHES = "global-optimization"
"""The phase behind which the passes run."""
LEVEL_THAT_CHANGES_PROGRAMS = list(LEVELS)[-1]


def reaches_programs(settings: CompileSettings) -> bool:
    """Returns whether a compile that generates code may have passes that change programs."""
    return (
        settings.generates_code
        and PHASES.index(settings.compile_from) <= PHASES.index(BEFORE_DISPATCHES)
        and settings.mode.mitigation in LEVELLED
    )


def changes_programs(settings: CompileSettings) -> bool:
    """Returns whether a compile has passes that make programs faster, and loads what they need.

    All others have those that repair programs.
    """
    mode = settings.mode
    faster = mode.level == LEVEL_THAT_CHANGES_PROGRAMS and mode.retile != "off"
    return faster and reaches_programs(settings)


def may_be_wrong(invocation: SteppedInvocation) -> bool:
    """Returns whether a program may have what IREE computes wrongly, or not at all, if it is left
    as it is."""
    return invocation.holds(*UPDATES, ARG_COMPARE, BARRIER, nested=True) and has_tuning()


def keeps_unsigned(settings: CompileSettings) -> bool:
    """Returns whether a compile of ours reads what may be StableHLO with unsigned factors."""
    return (
        settings.mode.mitigation != "stock"
        and settings.compile_mode == "std"
        and settings.compile_from == PHASES[0]
        and has_tuning()
        and may_multiply_unsigned(settings.input)
    )


def keep_unsigned(module: ir.Operation, runner: PassRunner) -> None:
    """Lets the products of a program in StableHLO widen unsigned factors as such.

    Raises:
        ReplayError: the pass failed.
    """
    from ..tuning.workarounds.keep_unsigned import KeepUnsigned

    _run(module, (KeepUnsigned(),), runner)


def repair_program(module: ir.Operation, runner: PassRunner) -> None:
    """Runs the passes without which IREE computes a program wrongly.

    Raises:
        ReplayError: a pass failed.
    """
    from ..tuning.programs.program_steps import REPAIRS

    _run(module, REPAIRS, runner)


def change_program(module: ir.Operation, mode: Mode, runner: PassRunner) -> None:
    """Runs the passes of a mode that makes programs faster, and those that repair them.

    Raises:
        ReplayError: a pass failed.
    """
    from ..tuning.programs.program_steps import program_passes

    _run(module, program_passes(mode), runner)


def _run(
    module: ir.Operation, steps: Sequence[FunctionPass | PlannedPass], runner: PassRunner
) -> None:
    """Runs passes on each function of a program."""
    from ..dialect_utils.operations import children
    from ..passes.pipeline_edit import NativePass, made
    from ..tuning.programs.program_steps import may_have_work

    with loading_paused(), imported_later(NUMPY):
        for function in [each for each in children(module) if "function_type" in each.attributes]:
            for step in steps:
                if may_have_work(step, function) and (each := made(step)).has_work(function):
                    if native := [NativePass(name) for name in each.native]:
                        runner.run_native_passes(function, native)
                    runner.run_python_pass(function, each)
