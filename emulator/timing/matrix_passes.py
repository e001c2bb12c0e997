# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long matrix instructions occupy the matrix unit of a SIMD, in passes of 4 cycles.

The table is that of LLVM's `SISchedule.td` (SIDPGFX942FullSpeedModel and SIDPGFX950FullSpeedModel).
The full rates follow from it: v_mfma_f32_32x32x8_f16 has 16384 operations and 8 passes on gfx942,
which is 512 operations a cycle of a SIMD, or 1307 TFLOP/s of an MI300X at 2.1 GHz.
"""

from __future__ import annotations

import re

from ..chips import CDNA4
from ..instruction_text import Instruction

CYCLES_OF_PASS = 4

_TABLE: tuple[tuple[str, int, int], ...] = (
    # A pattern of mnemonics, then the passes on gfx942 and on gfx950.
    (r"v_mfma_f64_4x4x", 4, 4),
    (r"v_mfma_f64_16x16x", 8, 16),
    (r"v_mfma_.32_4x4x", 2, 2),
    (r"v_mfma_.32_16x16x8_xf32", 4, 4),
    (r"v_mfma_(scale_)?.32_16x16x128_f8f6f4", 8, 8),
    (r"v_mfma_(scale_)?.32_32x32x64_f8f6f4", 16, 16),
    (r"v_mfma_.32_16x16x(16|32|64)_", 4, 4),
    (r"v_mfma_.32_16x16x[14]_", 8, 8),
    (r"v_mfma_.32_32x32x4_xf32", 8, 8),
    (r"v_mfma_.32_32x32x(8|16|32)_", 8, 8),
    (r"v_mfma_.32_32x32x[124]_", 16, 16),
    (r"v_smfmac_.32_16x16x", 4, 4),
    (r"v_smfmac_.32_32x32x", 8, 8),
)
_NARROW = (2, 3, 4)
"""The codes of the 6-bit and 4-bit types of f8f6f4, which take half of the passes."""


def matrix_cycles(instruction: Instruction, arch: str) -> int:
    """Returns the cycles that a matrix instruction occupies the matrix unit.

    Raises:
        KeyError: the table does not have the instruction.
    """
    for pattern, passes_942, passes_950 in _TABLE:
        if re.match(pattern, instruction.mnemonic):
            passes = passes_950 if arch == CDNA4 else passes_942
            if "f8f6f4" in pattern and _is_narrow(instruction):
                passes //= 2
            return CYCLES_OF_PASS * passes
    raise KeyError(instruction.mnemonic)


def _is_narrow(instruction: Instruction) -> bool:
    """Returns whether both operands of an f8f6f4 instruction have 4 or 6 bits."""
    return all(instruction.modifiers.get(name, 0) in _NARROW for name in ("cbsz", "blgp"))
