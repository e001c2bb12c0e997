# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The part of a compile before codegen, where only the compiler's library works.

Nothing here needs NumPy or MLIR's bindings: a tool can import these, and the passes, in a thread
while the library runs without the interpreter's lock.
"""

from __future__ import annotations

from iree.compiler.api import Source

from .compile_settings import PHASES
from .embedding import SteppedInvocation

PHASE_BEFORE_CODEGEN = "executable-configurations"
"""The phase after which every device function carries its codegen configuration."""


def has_codegen(start: str, end: str) -> bool:
    """Whether a compile from after phase `start` up to phase `end` includes codegen."""
    codegen = PHASES.index(PHASE_BEFORE_CODEGEN)
    return PHASES.index(start) <= codegen < PHASES.index(end)


def run_first_phases(
    first: SteppedInvocation,
    source: Source,
    *,
    start: str = "start",
    end: str = "end",
    console_diagnostics: bool = True,
) -> bool:
    """Compiles `source` from after phase `start` to codegen, or to `end` if that comes first.

    Returns:
        False after a diagnostic.
    """
    if not first.parse(source, console_diagnostics=console_diagnostics):
        return False
    if has_codegen(start, end):
        end = PHASE_BEFORE_CODEGEN
    if start == end:
        return True
    first.set_phases(start, end)
    return first.execute()
