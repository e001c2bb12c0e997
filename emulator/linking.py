# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts a kernel's data into memory and makes numbers of the addresses in its code.

The compiler addresses a constant, a variable or a function relative to the program counter, in two
halves:

    s_getpc_b64 s[0:1]
    s_add_u32 s0, s0, .L__constant_8xf32@rel32@lo+4
    s_addc_u32 s1, s1, .L__constant_8xf32@rel32@hi+12

`s_getpc_b64` gives the address P of the next instruction. A linker puts S + A - Q into a `rel32`
operand, where S is the symbol's address, A the addend in the text and Q the address of the operand
itself ("User Guide for AMDGPU Backend", Relocation Records). An instruction has 4 bytes and its
literal another 4, so that Q is P + 4 here in the first half and P + 12 in the second: both compute
the 64 bits of S - P, and the sum is S. `gotpcrel32` has in place of S the address of an entry of
the global offset table, which holds S; `abs32` is S + A. gfx1250
has literals of 64 bits, and does it at once:

    s_get_pc_i64 s[0:1]
    s_add_nc_u64 s[0:1], s[0:1], .L__constant_8xf32@rel64+4

The emulator does not know the size of every instruction, and does not need it: between the
`s_getpc_b64` and its uses the compiler puts scalar arithmetic alone. Instructions have addresses
of their own, from which they can be told (`data_sections`): a call leaves such an address behind,
and a jump comes back to it.
"""

from __future__ import annotations

from dataclasses import replace

from .assembly import Kernel
from .call_graph import CALLS, GET_PC
from .global_memory import GlobalMemory
from .instruction_text import AssemblyError, Instruction, Literal, Operand, Relocation


def link(kernel: Kernel, memory: GlobalMemory) -> Kernel:
    """Puts the data of a kernel's file into `memory`, and addresses into its operands.

    Raises:
        AssemblyError: an address is relative to a program counter that is not known here; the
            message starts with the file and the line.
    """
    indices = [i for i, each in enumerate(kernel.instructions) if _needs_link(each)]
    if not indices:
        return kernel
    placed = replace(kernel, base=memory.place(kernel.data))
    linked = list(kernel.instructions)
    for index in indices:
        try:
            linked[index] = _linked(placed, index)
        except AssemblyError as error:
            line = kernel.instructions[index].line
            raise AssemblyError(f"{kernel.source}:{line}: {error}") from None
    return replace(placed, instructions=tuple(linked))


def address_behind(kernel: Kernel, index: int) -> int:
    """Returns the address that a linked kernel's instruction is followed by.

    The instruction is one that is encoded in 4 bytes, as all are that ask for it.
    """
    return kernel.base + kernel.places[index] + kernel.place_step


def _needs_link(instruction: Instruction) -> bool:
    return (
        instruction.mnemonic == GET_PC
        or instruction.mnemonic in CALLS
        or any(isinstance(operand.value, Relocation) for operand in instruction.operands)
    )


def _linked(kernel: Kernel, index: int) -> Instruction:
    instruction = kernel.instructions[index]
    if instruction.mnemonic == GET_PC or instruction.mnemonic in CALLS:
        address = Operand(Literal(address_behind(kernel, index)))
        return replace(instruction, operands=(*instruction.operands, address))

    def number(operand: Operand) -> Operand:
        if not isinstance(operand.value, Relocation):
            return operand
        return replace(operand, value=Literal(_resolved(operand.value, kernel, index)))

    return replace(instruction, operands=tuple(map(number, instruction.operands)))


def _resolved(relocation: Relocation, kernel: Kernel, index: int) -> int:
    data = kernel.data
    places = data.table if relocation.kind == "gotpcrel32" else data.symbols
    value = kernel.base + places[relocation.symbol] + relocation.addend
    if not relocation.kind.startswith("abs"):
        value -= _operand_address(kernel, index)
    if relocation.is_whole:
        return value & 0xFFFFFFFFFFFFFFFF
    return value >> 32 & 0xFFFFFFFF if relocation.high else value & 0xFFFFFFFF


def _operand_address(kernel: Kernel, index: int) -> int:
    """Returns the address of an instruction's literal, counted from the last `s_getpc_b64`.

    The instruction is number `index` of the code.
    """
    code, distance = kernel.instructions, 4
    for before in range(index - 1, -1, -1):
        instruction = code[before]
        if instruction.mnemonic == GET_PC:
            return address_behind(kernel, before) + distance
        size = _scalar_size(instruction)
        if size is None:
            break
        distance += size
    raise AssemblyError(
        f"'{code[index].text}' is relative to a program counter, but no {GET_PC} stands before it "
        "with nothing but scalar arithmetic between the two"
    )


def _scalar_size(instruction: Instruction) -> int | None:
    """Returns the bytes of a scalar arithmetic instruction; None for any other.

    It has 4, and 4 or 8 more for a literal.
    """
    name = instruction.mnemonic
    if not name.startswith("s_") or name.startswith(_NO_ARITHMETIC):
        return None
    if name.startswith(("s_nop", "s_movk", "s_addk", "s_mulk")):
        return 4
    return 4 + max((_literal_bytes(operand) for operand in instruction.operands[1:]), default=0)


_NO_ARITHMETIC = (
    *("s_load", "s_store", "s_buffer", "s_scratch", "s_atomic", "s_dcache", "s_memtime"),
    *("s_branch", "s_cbranch", "s_setpc", "s_swappc", "s_call", "s_endpgm", "s_setreg"),
)
_INLINE_FLOATS = frozenset({0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0, 0.15915494})


def _literal_bytes(operand: Operand) -> int:
    """Returns how many bytes of its own the operand takes behind the instruction."""
    value = operand.value
    if isinstance(value, Relocation):
        return 8 if value.is_whole else 4
    if not isinstance(value, Literal):
        return 0
    if isinstance(value.value, float):
        return 0 if value.value in _INLINE_FLOATS else 4
    if -16 <= value.value <= 64:
        return 0
    return 4 if -(1 << 31) <= value.value < 1 << 32 else 8
