# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An instruction that notes which of its operands and modifiers were looked at.

What makes the step of an instruction looks at all that changes its result. So whatever nobody has
looked at in `v_add_f32 v0, v1, v2, v3 frob:1` has no meaning for the emulator, and is an error
rather than ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, SupportsIndex

from .instruction_text import AssemblyError, Instruction, Modifier, Operand

# How caches treat an access, which an emulator without caches need not know.
_WITHOUT_EFFECT = frozenset({"glc", "slc", "dlc", "nt", "sc0", "sc1", "th", "scope", "nv"})


class _Operands(tuple[Operand, ...]):
    """Operands, and the numbers of those that were looked at."""

    seen: set[int]

    def __new__(cls, operands: tuple[Operand, ...]) -> _Operands:
        made = super().__new__(cls, operands)
        made.seen = set()
        return made

    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        found = super().__getitem__(key)
        if isinstance(key, slice):
            self.seen.update(range(*key.indices(len(self))))
        else:
            number = key.__index__()
            self.seen.add(number if number >= 0 else number + len(self))
        return found

    def __iter__(self) -> Iterator[Operand]:
        self.seen.update(range(len(self)))
        return super().__iter__()


class _Modifiers(dict[str, Modifier]):
    """Modifiers, and the names that were asked for."""

    def __init__(self, modifiers: dict[str, Modifier]) -> None:
        super().__init__(modifiers)
        self.seen: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.seen.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> Modifier:
        self.seen.add(name)
        return super().__getitem__(name)

    def get(self, key: str, default: Any = None) -> Any:
        """Returns a modifier, or `default` where the instruction has none of this name."""
        self.seen.add(key)
        return super().get(key, default)

    def __iter__(self) -> Iterator[str]:
        self.seen.update(self.keys())
        return super().__iter__()


def watched(instruction: Instruction) -> Instruction:
    """Returns an equal instruction, which `check_all_seen` takes."""
    modifiers = instruction.modifiers
    return replace(
        instruction,
        operands=_Operands(instruction.operands),
        modifiers=_Modifiers(dict(modifiers)) if modifiers else modifiers,
    )


def check_all_seen(instruction: Instruction) -> None:
    """Refuses operands and modifiers of a watched instruction that nobody has looked at.

    Raises:
        AssemblyError: there is one; the message names it.
    """
    operands, modifiers = instruction.operands, instruction.modifiers
    assert isinstance(operands, _Operands)
    if len(operands.seen) < len(operands):
        unseen = min(set(range(len(operands))) - operands.seen)
        value = tuple.__getitem__(operands, unseen).value
        raise AssemblyError(f"'{value}' is an operand too many")
    if isinstance(modifiers, _Modifiers):
        for name in modifiers.keys() - modifiers.seen - _WITHOUT_EFFECT:
            raise AssemblyError(f"'{name}' has no meaning here that the emulator knows")
