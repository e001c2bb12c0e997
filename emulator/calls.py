# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Jumps to addresses in registers: calls of functions, their returns, and long branches.

    s_getpc_b64 s[16:17]
    s_add_u32 s16, s16, g@rel32@lo+4
    s_addc_u32 s17, s17, g@rel32@hi+12
    s_swappc_b64 s[30:31], s[16:17]         goes to g, and leaves the address of the next line
    ...
g:
    s_setpc_b64 s[30:31]                    goes back there

A jump means the instruction whose address it is given, and no other address (`linking`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .assembly import Kernel
from .call_graph import CALLS, instructions_by_place, jump_source
from .emulation_errors import EmulationError
from .instruction_text import Instruction, Literal, Name, Register
from .operands import scalar_destination
from .step import Step
from .wave_state import WaveGroup


def build_jump(instruction: Instruction) -> Step:
    """Returns the step of a jump, which leaves the address behind it where the jump is a call.

    Raises:
        AssemblyError: its operands are no scalar registers.
    """
    if instruction.mnemonic not in CALLS:
        (source,) = instruction.operands
        source.scalars(2)
        return lambda group: None
    # `linking` has put the address of the next instruction behind the operands.
    target, source, behind = instruction.operands
    if instruction.mnemonic == "s_swappc_b64":
        source.scalars(2)
    destination = scalar_destination(target, "b64")
    assert isinstance(behind.value, Literal)
    address = np.uint64(behind.value.value)
    return lambda group: destination(group, np.full(group.count, address))


class Jumps:
    """The jumps of a linked kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._indices = instructions_by_place(kernel)

    def targets(self, group: WaveGroup, pc: int) -> npt.NDArray[np.intp]:
        """Returns for each wave [n] the index of the instruction that the jump at `pc` goes to.

        Raises:
            EmulationError: the address is undefined, or none of an instruction that the kernel
                reaches.
        """
        source = jump_source(self.kernel.instructions[pc]).value
        if isinstance(source, Name):
            return np.full(group.count, self.kernel.labels[source.text])
        assert isinstance(source, Register)
        low, high = (
            group.s_that_decides(source.index + half, "The address of this jump").astype(np.int64)
            for half in range(2)
        )
        addresses, numbers = np.unique(low | high << 32, return_inverse=True)
        found = [self._index(address) for address in addresses.tolist()]
        return np.array(found, np.intp)[numbers]

    def _index(self, address: int) -> int:
        """Returns the index of the instruction at an address."""
        index = self._indices.get(address - self.kernel.base)
        if index is None:
            raise EmulationError(
                f"it goes to {address:#x}, which is no address of an instruction that the kernel "
                "reaches by a label, a call, or a table that it names"
            )
        return index
