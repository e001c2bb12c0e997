# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The form in which instructions run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..bank_model.lds_rules import Lds
from .assembly import Kernel
from .supervision import Waits
from .wave_state import WaveGroup

Step = Callable[[WaveGroup], None]
"""One instruction, executed by all waves of a group."""


@dataclass(frozen=True)
class BuildContext:
    """What an instruction's step may depend on, besides the instruction.

    Attributes:
        waits: what becomes of a use without a wait.
        assume_xf32: whether products of xf32 are rounded as is assumed, and not refused.
    """

    kernel: Kernel
    lds_model: Lds
    waits: Waits = Waits.ERROR
    assume_xf32: bool = False

    @property
    def lds_of_waves(self) -> Lds:
        """Returns the LDS as waves of the kernel's size access it."""
        found = self.lds_model.of_waves(self.kernel.lanes)
        assert found is not None, "a chip has waves of a size whose LDS is not known"
        return found

    @property
    def arch(self) -> str:
        """Returns the chip that the kernel is for."""
        return self.lds_model.arch
