# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The modes in which kernels are compared, and what each must not lose."""

from __future__ import annotations

MODES = ("stock", "none", "pad", "auto/layout", "auto/exact", "auto/fast")
STOCK, NONE, PAD, LAYOUT, EXACT, FAST = MODES

INEXACT_MODES = (FAST,)
"""The modes whose outputs may differ from stock's in their rounding."""

NOT_SLOWER = {EXACT: (STOCK,), FAST: (STOCK, PAD, LAYOUT)}
"""The modes that a mode must not be slower than on any kernel."""

_FOR = "@"


def mode_for(mode: str, target: str) -> str:
    """Returns the name of a mode whose code is for another GPU than a record's: `auto/fast@sm_90a`.

    A record then has the times of both codes. Outputs are compared as those of the mode are.
    """
    return f"{mode}{_FOR}{target}"


HOPPER = "sm_90a"
"""What code with Hopper's matrix instructions is compiled for."""
FAST_HOPPER = mode_for(FAST, HOPPER)


def mode_and_target(series: str) -> tuple[str, str]:
    """Returns a mode, and the GPU that its name names; empty where it names none."""
    mode, _, target = series.partition(_FOR)
    return mode, target
