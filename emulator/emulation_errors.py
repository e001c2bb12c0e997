# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can go wrong while a kernel runs."""

from __future__ import annotations

from typing import Any

from .instruction_text import Instruction


class EmulationError(RuntimeError):
    """A kernel did something undefined, or something that the emulator does not know.

    The code that raises an error mostly does not know the place in the text. A caller that knows it
    adds it to the error with `locate`, and raises the same object again.

    Attributes:
        message: what is wrong.
        place: `file:line` of the instruction, empty while it is not known.
        details: lines that follow the message, such as the instruction's text.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.place = ""
        self.details: tuple[str, ...] = ()

    def locate(self, place: str, *details: str) -> None:
        """Adds the place and the lines of details; an error that has a place keeps it."""
        if not self.place:
            self.place, self.details = place, details

    def __str__(self) -> str:
        first = f"{self.place}: {self.message}" if self.place else self.message
        return "\n".join([first, *(f"  {line}" for line in self.details)])

    def __reduce__(self) -> tuple[Any, ...]:
        # By default a copy in another process is made by the constructor, from the message alone.
        return _copy, (type(self), self.args, self.__dict__)


def _copy(kind: type[EmulationError], args: tuple[Any, ...], state: Any) -> EmulationError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class UnknownInstructionError(EmulationError):
    """The emulator has no model of an instruction, or of a form of one, and guesses nothing."""

    def __init__(self, instruction: Instruction, detail: str = "") -> None:
        reason = detail or f"the emulator does not know '{instruction.mnemonic}'"
        super().__init__(reason)


class UndefinedReadError(EmulationError):
    """An undefined value is used where it matters; the message says where it comes from."""


class LdsAddressError(EmulationError):
    """An access goes beyond its workgroup's LDS, where hardware reads zeros and drops stores."""


class LdsRaceError(EmulationError):
    """Two waves of a workgroup touch one LDS byte between barriers, and one changes it.

    Attributes:
        instruction: the index of the instruction that raced.
        other: what the other wave did before, at the instruction `other_instruction`.
    """

    def __init__(self, message: str, instruction: int, other: str, other_instruction: int) -> None:
        super().__init__(message)
        self.instruction = instruction
        self.other = other
        self.other_instruction = other_instruction


class MissingWaitError(EmulationError):
    """Something is used that a memory instruction may not have brought yet."""


class GlobalAccessError(EmulationError):
    """A global access lies outside of all buffers."""


class LaunchError(EmulationError):
    """A kernel cannot start as it was asked to."""


class StepLimitError(EmulationError):
    """A run takes more steps than it may, or loops without end."""
