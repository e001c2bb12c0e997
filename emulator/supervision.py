# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a run is watched from outside: how far it is, and when it is ended as endless."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from .assembly import Kernel
from .instruction_text import Instruction


class Waits(StrEnum):
    """What becomes of a register that is used before a load has written it for certain.

    An `error` refuses the kernel if there is a path to the use, and warns if that is doubtful.
    """

    OFF = "off"
    WARN = "warn"
    ERROR = "error"


MAX_STEPS = 2_000_000
"""The most steps of a portion of workgroups, where nobody says another number.

A small kernel takes less than a minute for them, and mostly a few seconds.
"""


COMPILE_AFTER = 100
"""`Supervision.compile_after` where nobody says another number."""


@dataclass(frozen=True)
class RunState:
    """How far a run is.

    Attributes:
        done: the workgroups that have ended.
        total: all workgroups that run.
        steps: the steps so far of the workgroups that are running.
        instruction: the last one that was executed.
    """

    kernel: Kernel
    done: int
    total: int
    steps: int
    instruction: Instruction


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=2)


@dataclass(frozen=True)
class Supervision:
    """How a run is watched.

    A step is an instruction that waves execute together, which are up to all waves of the
    workgroups that run at once. So a kernel takes about as many steps as its longest wave executes
    instructions, and more where branches part the waves.

    Attributes:
        max_steps: the most steps of workgroups that run at once, which bounds endless loops.
        watch: is told now and then how far the run is.
        waits: what becomes of a use without a wait.
        warn: is told what may be wrong.
        assume_xf32: whether products of xf32 are rounded as is assumed, and not refused.
        compile_after: how often a long straight run of instructions has run when it becomes machine
            code (`compiled/hot_code.py`); 0 for never, 1 for at once.
    """

    max_steps: int = MAX_STEPS
    watch: Callable[[RunState], None] | None = None
    waits: Waits = Waits.ERROR
    warn: Callable[[str], None] = _warn
    compile_after: int = COMPILE_AFTER
    assume_xf32: bool = False
