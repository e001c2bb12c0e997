# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The chips that can be emulated, and what they have in common."""

from __future__ import annotations

CDNA3 = "gfx942"
CDNA4 = "gfx950"
EMULATED_CHIPS = (CDNA3, CDNA4)
"""The chips whose assembly the emulator runs, as LLVM names them."""

LANES = 64
"""The lanes of a wave."""
