# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the jumps of a kernel may go, without running it.

The target of a call is known where the address is computed right before it, as compilers do it.
Other calls may go to any function whose address code or data has. A jump through the registers in
which calls leave the address behind them is a return, and may go behind any call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

from .assembly import Kernel
from .instruction_text import Instruction, Literal, Name, Operand, Register

CALLS = frozenset({"s_swappc_b64", "s_call_b64"})
"""The instructions that leave the address of the next one behind."""
GET_PC = "s_getpc_b64"
JUMPS = frozenset({"s_setpc_b64", *CALLS})
"""The instructions that go to an address in registers, or leave one behind as they go to a label.
"""


def jump_source(instruction: Instruction) -> Operand:
    """Returns the operand that says where a jump goes."""
    return instruction.operands[1 if instruction.mnemonic in CALLS else 0]


def instructions_by_place(kernel: Kernel) -> Mapping[int, int]:
    """Returns the index of the instruction at each place to which a kernel may jump.

    These are the instructions' own places, those of labels, and those behind calls.
    """
    places, labels = kernel.places, kernel.data.labels
    found = {place: index for index, place in enumerate(places)}
    for label, index in kernel.labels.items():
        if label in labels:
            found.setdefault(labels[label], index)
    for index, instruction in enumerate(kernel.instructions[:-1]):
        if instruction.mnemonic in (*CALLS, GET_PC) and index + 1 not in kernel.functions:
            found.setdefault(places[index] + kernel.place_step, index + 1)
    return found


class CallGraph:
    """The jumps of a linked kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.indices = instructions_by_place(kernel)

    def followers(self, index: int) -> list[int]:
        """Returns the instructions to which the jump at an index may go."""
        instruction = self.kernel.instructions[index]
        source = jump_source(instruction).value
        if isinstance(source, Name):
            return [self.kernel.labels[source.text]] if source.text in self.kernel.labels else []
        if not isinstance(source, Register):
            return []
        address = self._constants(index).pair(source.index)
        if address is not None:
            known = self.indices.get(address - self.kernel.base)
            return [] if known is None else [known]
        if instruction.mnemonic not in CALLS and source.index in self._return_registers:
            return self._returns
        return self._named_code

    @cached_property
    def _calls(self) -> list[int]:
        instructions = enumerate(self.kernel.instructions)
        return [index for index, each in instructions if each.mnemonic in CALLS]

    @cached_property
    def _return_registers(self) -> set[int]:
        operands = (self.kernel.instructions[index].operands[0] for index in self._calls)
        return {each.value.index for each in operands if isinstance(each.value, Register)}

    @cached_property
    def _returns(self) -> list[int]:
        behind = (index + 1 for index in self._calls)
        return [index for index in behind if index not in self.kernel.functions]

    @cached_property
    def _named_code(self) -> list[int]:
        """Returns the instructions whose addresses the kernel or its data has."""
        data = self.kernel.data
        places = {*data.symbols.values(), *(each.target for each in data.relocations)}
        named = {self.indices[place] for place in places if place in self.indices}
        return sorted(named - self._ends_of_long_branches)

    @cached_property
    def _ends_of_long_branches(self) -> set[int]:
        """Returns the instructions whose addresses serve jumps to there alone.

        The address is computed right before such a jump, which reaches farther than a branch.
        """
        ends: set[int] = set()
        others = {self.indices.get(each.target) for each in self.kernel.data.relocations}
        for index, instruction in enumerate(self.kernel.instructions):
            if instruction.mnemonic == GET_PC:
                last = index + 1
                while last not in self._targets and self._goes_on(last):
                    last += 1
                found = {
                    self.indices.get(pair - self.kernel.base)
                    for pair in self._constants(last).pairs()
                }
                jumps = self.kernel.instructions[last].mnemonic == "s_setpc_b64"
                (ends if jumps else others).update(each for each in found if each is not None)
        return ends - others

    def _constants(self, index: int) -> ScalarConstants:
        """Returns the scalar registers that the straight run before an instruction decides."""
        start = index
        while start and start not in self._targets and self._goes_on(start - 1):
            start -= 1
        constants = ScalarConstants(self._pointer)
        for each in self.kernel.instructions[start:index]:
            constants.execute(each)
        return constants

    @cached_property
    def _targets(self) -> frozenset[int]:
        return frozenset({*self.kernel.labels.values(), *self.kernel.functions})

    def _goes_on(self, index: int) -> bool:
        name = self.kernel.instructions[index].mnemonic
        return name not in JUMPS and not name.startswith(("s_branch", "s_endpgm"))

    def _pointer(self, address: int) -> int | None:
        return self._pointers.get(address - self.kernel.base)

    @cached_property
    def _pointers(self) -> Mapping[int, int]:
        """Returns the addresses that read-only data has, by their places."""
        read_only = [region for region in self.kernel.data.regions if not region.writable]
        return {
            each.offset: self.kernel.base + each.target
            for each in self.kernel.data.relocations
            if any(region.start <= each.offset < region.end for region in read_only)
        }


class ScalarConstants:
    """The scalar registers whose values a straight run of instructions decides.

    Args:
        pointer: returns the address that the data has at an address, where it has one.
    """

    def __init__(self, pointer: Callable[[int], int | None]) -> None:
        self._pointer = pointer
        self._words: dict[int, int] = {}
        self._carry: int | None = None

    def pair(self, index: int) -> int | None:
        """Returns the 64 bits of two registers; None if they are not known."""
        low, high = self._words.get(index), self._words.get(index + 1)
        return None if low is None or high is None else low | high << 32

    def pairs(self) -> list[int]:
        """Returns what all pairs of registers hold that are known."""
        found = (self.pair(index) for index in self._words)
        return [pair for pair in found if pair is not None]

    def execute(self, instruction: Instruction) -> None:
        """Executes the next instruction, whose program counter stands behind its operands."""
        name, operands = instruction.mnemonic, instruction.operands
        target = operands[0].value if operands else None
        if not isinstance(target, Register) or target.file != "s":
            if name.startswith("s_") and not name.startswith(("s_nop", "s_wait", "s_delay")):
                self._carry = None
            return
        words = [self._word(operand) for operand in operands[1:]]
        pair = self._address(instruction)
        for number in range(target.index, target.index + target.count):
            self._words.pop(number, None)
        if pair is not None:
            self._words[target.index], self._words[target.index + 1] = pair & _WORD, pair >> 32
            return
        carry, self._carry = self._carry, None
        known = [word for word in words if word is not None]
        if len(known) < len(words):
            return
        if name in ("s_add_u32", "s_add_i32") or (name == "s_addc_u32" and carry is not None):
            total = sum(known) + (carry or 0 if name == "s_addc_u32" else 0)
            self._words[target.index], self._carry = total & _WORD, total >> 32
        elif name == "s_mov_b32":
            self._words[target.index], self._carry = known[0], carry
        elif name == "s_sext_i32_i16":
            self._words[target.index] = ((known[0] & 0xFFFF) ^ 0x8000) - 0x8000 & _WORD

    def _address(self, instruction: Instruction) -> int | None:
        """Returns the 64 bits that an instruction leaves, if they are a known address."""
        values = [operand.value for operand in instruction.operands]
        if instruction.mnemonic == GET_PC and len(values) == 2:
            return int(values[1].value) if isinstance(values[1], Literal) else None
        if instruction.mnemonic == "s_add_nc_u64" and len(values) == 3:
            first, second = map(self._number, values[1:])
            return None if first is None or second is None else first + second & _DOUBLE_WORD
        if instruction.mnemonic in ("s_load_dwordx2", "s_load_b64") and len(values) == 3:
            start, offset = values[1:]
            if isinstance(start, Register) and isinstance(offset, Literal):
                address = self.pair(start.index)
                return None if address is None else self._pointer(address + int(offset.value))
        return None

    def _number(self, value: object) -> int | None:
        """Returns the 64 bits that an operand is; None if they are not known."""
        if isinstance(value, Literal) and isinstance(value.value, int):
            return value.value & _DOUBLE_WORD
        if isinstance(value, Register) and value.file == "s" and value.count == 2:
            return self.pair(value.index)
        return None

    def _word(self, operand: Operand) -> int | None:
        value = operand.value
        if isinstance(value, Literal) and isinstance(value.value, int):
            return value.value & _WORD
        if isinstance(value, Register) and value.file == "s" and value.count == 1:
            return self._words.get(value.index)
        return None


_WORD = 0xFFFFFFFF
_DOUBLE_WORD = 0xFFFFFFFFFFFFFFFF
