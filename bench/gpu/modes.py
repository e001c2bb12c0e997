# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The modes in which kernels are compared, and what each must not lose."""

from __future__ import annotations

MODES = ("stock", "none", "pad", "auto/layout", "auto/exact", "auto/fast")
STOCK, NONE, PAD, LAYOUT, EXACT, FAST = MODES

INEXACT_MODES = (FAST,)
"""The modes whose outputs may differ from stock's in their rounding."""

NOT_SLOWER = {EXACT: (STOCK,), FAST: (STOCK, PAD, LAYOUT)}
"""The modes that a mode must not be slower than on any kernel."""
