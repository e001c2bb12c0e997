# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a kernel has the registers that its code names.

A kernel states how many it needs (`.amdhsa_next_free_vgpr`, `.amdhsa_next_free_sgpr`,
`.amdhsa_accum_offset`), and the hardware gives it that many, rounded up to what it allocates at
once. What lies beyond belongs to another wave. The roundings are those of LLVM's AMDGPUBaseInfo
(getVGPREncodingGranule, getSGPRAllocGranule, getNumExtraSGPRs). RDNA gives each wave all scalar
registers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .chips import Chip, Isa
from .instruction_text import Instruction, Register


class MissingRegister(NamedTuple):
    """A register that a kernel names and does not have.

    Attributes:
        line: of the instruction.
        directive: the one that says how many of its kind there are, without `.amdhsa_`.
        held: how many of its kind the kernel has.
    """

    register: Register
    line: int
    directive: str
    held: int

    @property
    def message(self) -> str:
        """Returns what is wrong, in one sentence."""
        kind = {"s": "scalar", "v": "vector", "a": "accumulation"}[self.register.file]
        return (
            f"the kernel has no {self.register}: its .amdhsa_{self.directive} gives it "
            f"{self.held} {kind} registers"
        )


# VCC, FLAT_SCRATCH and XNACK_MASK of CDNA3 and CDNA4.
_EXTRA_SCALARS = 6
_SCALARS_AT_ONCE = 16


def _vectors_at_once(chip: Chip, lanes: int) -> int:
    if chip.isa is Isa.GFX1250:
        return 16
    return 4 if chip.is_rdna and lanes == 64 else 8


def _rounded(count: int, at_once: int) -> int:
    return -(-max(count, 1) // at_once) * at_once


def missing_registers(
    instructions: Sequence[Instruction], directives: Mapping[str, int], chip: Chip, lanes: int
) -> MissingRegister | None:
    """Returns the first register that the code names and the kernel has not; None if it has all."""
    vectors = scalars = None
    if "next_free_vgpr" in directives:
        vectors = _rounded(directives["next_free_vgpr"], _vectors_at_once(chip, lanes))
    if "next_free_sgpr" in directives and not chip.is_rdna:
        scalars = _rounded(directives["next_free_sgpr"] + _EXTRA_SCALARS, _SCALARS_AT_ONCE)
    accumulators = directives.get("accum_offset")
    limits = {
        "v": ("next_free_vgpr", vectors),
        "s": ("next_free_sgpr", scalars),
        "a": ("next_free_vgpr", None),
    }
    if accumulators is not None and chip.accumulators:
        if vectors is None or accumulators < vectors:
            limits["v"] = "accum_offset", accumulators
        if vectors is not None:
            limits["a"] = "next_free_vgpr", vectors - accumulators
    for instruction in instructions:
        for operand in instruction.operands:
            register = operand.value
            if not isinstance(register, Register):
                continue
            directive, most = limits[register.file]
            last = register.index + register.count
            # Those with names, as FLAT_SCRATCH, lie behind those with numbers.
            named = register.file == "s" and last > chip.scalars
            if most is None or last <= most or named:
                continue
            return MissingRegister(register, instruction.line, directive, max(most, 0))
    return None
