# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can go wrong while a kernel runs."""

from __future__ import annotations

from .assembly import Instruction


class EmulationError(RuntimeError):
    """A kernel did something undefined, or something that the emulator does not know."""


class UnknownInstructionError(EmulationError):
    """An instruction, or a form of one, without semantics here; nothing is guessed."""

    def __init__(self, instruction: Instruction, detail: str = "") -> None:
        reason = detail or f"the emulator does not know '{instruction.mnemonic}'"
        super().__init__(reason)


class UndefinedReadError(EmulationError):
    """A register or LDS byte is read that was never written."""


class LdsAddressError(EmulationError):
    """An LDS access beyond the workgroup's LDS; hardware would read zeros and drop stores."""


class LdsRaceError(EmulationError):
    """Two waves of a workgroup touch one LDS byte between barriers, and one changes it.

    Attributes:
        instruction: index of the one that raced.
        other: what the other wave did before, at instruction `other_instruction`.
    """

    def __init__(self, message: str, instruction: int, other: str, other_instruction: int) -> None:
        super().__init__(message)
        self.instruction = instruction
        self.other = other
        self.other_instruction = other_instruction


class GlobalAccessError(EmulationError):
    """A global access outside of all buffers."""


class LaunchError(EmulationError):
    """A kernel that cannot start as it was asked to."""
