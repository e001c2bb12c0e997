# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the jumps of a kernel may go, without running it.

The target of a call is known where the address is computed right before it, as compilers do it.
Other calls may go to any function whose address code or data has. A jump through the registers in
which calls leave the address behind them is a return, and may go behind any call.
"""

from __future__ import annotations

from collections.abc import Mapping
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
        address = self._constants(index).get(source.index)
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
        return sorted({self.indices[place] for place in places if place in self.indices})

    def _constants(self, index: int) -> dict[int, int]:
        """Returns the 64-bit addresses in pairs of scalar registers, as far as they are known.

        They are computed by the straight run of scalar instructions before an instruction.
        """
        start = index
        while start and start not in self._targets and self._goes_on(start - 1):
            start -= 1
        words: dict[int, int] = {}
        carry: int | None = None
        for each in self.kernel.instructions[start:index]:
            carry = self._execute(each, words, carry)
        return {low: word | words[low + 1] << 32 for low, word in words.items() if low + 1 in words}

    @cached_property
    def _targets(self) -> frozenset[int]:
        return frozenset({*self.kernel.labels.values(), *self.kernel.functions})

    def _goes_on(self, index: int) -> bool:
        name = self.kernel.instructions[index].mnemonic
        return name not in JUMPS and not name.startswith(("s_branch", "s_endpgm"))

    def _execute(self, instruction: Instruction, words: dict[int, int], carry: int | None):
        """Executes a scalar instruction on the known words; returns the carry if it is known."""
        name, operands = instruction.mnemonic, instruction.operands
        target = operands[0].value if operands else None
        if not isinstance(target, Register) or target.file != "s":
            return carry if name.startswith(("v_", "global_", "s_nop", "s_wait")) else None
        sources = [_word(operand, words) for operand in operands[1:]]
        pair = self._pair(instruction, words)
        for number in range(target.index, target.index + target.count):
            words.pop(number, None)
        if pair is not None:
            words[target.index], words[target.index + 1] = pair & 0xFFFFFFFF, pair >> 32
            return carry
        if name in ("s_add_u32", "s_add_i32", "s_addc_u32") and None not in sources:
            carried = 0 if name != "s_addc_u32" else carry
            if carried is None:
                return None
            total = sum(word or 0 for word in sources) + carried
            words[target.index] = total & 0xFFFFFFFF
            return total >> 32
        if name == "s_sext_i32_i16" and sources[0] is not None:
            words[target.index] = ((sources[0] & 0xFFFF) ^ 0x8000) - 0x8000 & 0xFFFFFFFF
        return None

    def _pair(self, instruction: Instruction, words: Mapping[int, int]) -> int | None:
        """Returns the 64 bits that an instruction leaves, if they are a known address."""
        if instruction.mnemonic == GET_PC and len(instruction.operands) == 2:
            value = instruction.operands[1].value
            return int(value.value) if isinstance(value, Literal) else None
        if instruction.mnemonic not in ("s_load_dwordx2", "s_load_b64"):
            return None
        start, offset = (operand.value for operand in instruction.operands[1:3])
        if not isinstance(start, Register) or not isinstance(offset, Literal):
            return None
        low, high = words.get(start.index), words.get(start.index + 1)
        if low is None or high is None:
            return None
        place = (low | high << 32) + int(offset.value) - self.kernel.base
        return self._pointers.get(place)

    @cached_property
    def _pointers(self) -> Mapping[int, int]:
        """Returns the addresses that read-only data has, by their places."""
        read_only = [region for region in self.kernel.data.regions if not region.writable]
        return {
            each.offset: self.kernel.base + each.target
            for each in self.kernel.data.relocations
            if any(region.start <= each.offset < region.end for region in read_only)
        }


def _word(operand: Operand, words: Mapping[int, int]) -> int | None:
    value = operand.value
    if isinstance(value, Literal) and isinstance(value.value, int):
        return value.value & 0xFFFFFFFF
    if isinstance(value, Register) and value.file == "s" and value.count == 1:
        return words.get(value.index)
    return None
