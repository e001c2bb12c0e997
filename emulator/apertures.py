# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The parts of the flat address space that are no global memory.

A flat address whose upper 32 bits are those of an aperture's base lies in the LDS of its workgroup,
or in the private memory of its lane; the lower 32 bits are the address there ("User Guide for
AMDGPU Backend", Memory Spaces). The bases are those that Linux gives gfx9 chips.
"""

from __future__ import annotations

from collections.abc import Mapping

SHARED_BASE = 1 << 48
PRIVATE_BASE = 2 << 48
OFFSET_BITS = 32
_LAST = (1 << OFFSET_BITS) - 1

APERTURE_OPERANDS: Mapping[str, int] = {
    "src_shared_base": SHARED_BASE,
    "src_shared_limit": SHARED_BASE | _LAST,
    "src_private_base": PRIVATE_BASE,
    "src_private_limit": PRIVATE_BASE | _LAST,
}
"""Source operands of 64 bits that hold the first or the last address of an aperture."""
