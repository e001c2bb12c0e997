# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every error of the emulator may be given its place, and may cross to another process."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from bankwise.emulator.emulation_errors import EmulationError, UnknownInstructionError
from bankwise.emulator.executor import Program
from bankwise.emulator.instruction_text import Instruction, parse_instruction

from .small_kernels import run


def _classes(kind: type[EmulationError] = EmulationError) -> Iterator[type[EmulationError]]:
    yield kind
    for inner in kind.__subclasses__():
        yield from _classes(inner)


_CLASSES = list(_classes())
_ARGUMENTS: dict[str, Any] = {
    "str": "something",
    "int": 3,
    "Instruction": parse_instruction("s_nop 0", 7),
}


def _example(kind: type[EmulationError]) -> EmulationError:
    """Returns an error of a class, with an argument for each parameter by its type."""
    parameters = list(inspect.signature(kind).parameters.values())
    return kind(*(_ARGUMENTS[str(parameter.annotation)] for parameter in parameters))


@pytest.mark.parametrize("kind", _CLASSES)
def test_every_error_may_be_located_and_copied(kind: type[EmulationError]) -> None:
    error = _example(kind)
    message = str(error)
    error.locate("k.s:7", "in kernel 'k': s_nop 0")
    error.locate("k.s:9", "in kernel 'k': s_nop 1")
    assert str(error) == f"k.s:7: {message}\n  in kernel 'k': s_nop 0"
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


@pytest.mark.parametrize("kind", _CLASSES)
def test_what_an_instruction_raises_is_located(
    kind: type[EmulationError], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(group: object) -> None:
        raise _example(kind)

    def steps(program: Program, context: Any) -> None:
        original(program, context)
        program.steps[1] = fail

    original = Program.__init__
    monkeypatch.setattr(Program, "__init__", steps)
    with pytest.raises(kind) as error:
        run("\ts_nop 0\n\ts_nop 1")
    lines = str(error.value).splitlines()
    assert lines[0].startswith("small.s:4: ")
    assert lines[1] == "  in kernel 'k': s_nop 1"


def test_an_unknown_instruction_names_itself() -> None:
    instruction: Instruction = parse_instruction("v_made_up v0", 1)
    assert str(UnknownInstructionError(instruction)) == "the emulator does not know 'v_made_up'"
