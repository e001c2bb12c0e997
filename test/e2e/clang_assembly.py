# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a HIP source with clang, by the command in its first lines, and compares assembly."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bankwise.emulator.assembly import Kernel, parse_kernel
from bankwise.emulator.instruction_text import AssemblyError, Instruction

COMPILER = "clang-19"
_COMMAND = re.compile(rf"^//   ({COMPILER} .*\n(?://     .*\n)*)", re.MULTILINE)
_KERNEL = re.compile(r"^\s*\.amdhsa_kernel (\S+)", re.MULTILINE)


def command(source: Path) -> list[str]:
    """Returns the words of the command in a source."""
    found = _COMMAND.search(source.read_text())
    assert found is not None, f"{source.name} names no command"
    return [word for word in found[1].split() if word not in ("\\", "//")]


def rebuilt_as_committed(
    source: Path, committed: Path, folder: Path, more_flags: Sequence[str] = ()
) -> None:
    """Asserts that the compiler still writes what was committed, kernel by kernel."""
    shutil.copy(source, folder)
    words = command(source)
    words[words.index("-o") + 1] = committed.name
    subprocess.run([*words, *more_flags], cwd=folder, check=True)
    texts = [(where / committed.name).read_text() for where in (folder, committed.parent)]
    names = [_KERNEL.findall(text) for text in texts]
    assert names[0] == names[1]
    for name in names[0]:
        written, kept = (_read(text, name) for text in texts)
        assert written == kept


def _read(text: str, name: str) -> tuple[list[str], object, object] | str:
    """Returns a kernel's instructions, metadata and lines, or why the emulator refuses it."""
    try:
        kernel: Kernel = parse_kernel(text, "", name)
    except AssemblyError as error:
        return str(error)
    code: Sequence[Instruction] = kernel.instructions
    return [each.text for each in code], kernel.metadata, kernel.locations
