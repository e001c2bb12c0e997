# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of `matmul_table`: an emulated row, and how much of the output was written."""

from __future__ import annotations

from dataclasses import dataclass

from .emulated_rows import EmulatedRow


@dataclass(frozen=True)
class Row(EmulatedRow):
    """One matmul or convolution on one chip. Errors are relative to the sum of the magnitudes.

    Attributes:
        dtype: of the operands.
        written: elements of the output that were written and compared.
        unwritten: elements that were not, though the whole grid ran.
    """

    dtype: str = ""
    written: int = 0
    unwritten: int = 0

    @property
    def faults(self) -> list[str]:
        """Why the row fails; empty if it does not."""
        found = super().faults
        if self.figures and not self.written:
            found.append("nothing was written")
        if self.unwritten:
            found.append(f"{self.unwritten} elements were not written")
        return found
