# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM's tools, where they are installed.

A tool is looked for in the absolute folders of PATH, where Debian has `llvm-objdump-19`, in those
of Debian's and of ROCm's LLVM, and, for the linker, in IREE's wheel; the newest one is taken. It
runs in an empty folder, so that nothing is read because of the current one.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_FOLDERS = ("/opt/rocm/llvm/bin", "/opt/rocm/lib/llvm/bin")
_FOLDER_PATTERNS = (("/opt", "rocm-*/llvm/bin"), ("/usr/lib", "llvm-*/bin"))
_VERSION = re.compile(r"LLVM version (\d+)|\bversion (\d+)")
_SECONDS = 300
_WHERE = "(Debian: llvm-19; ROCm brings it), and have it on PATH"


class LlvmToolError(ValueError):
    """A tool of LLVM that is not there, or that cannot do what it is asked to."""


def run_tool(name: str, arguments: Sequence[str], contents: bytes = b"") -> bytes:
    """Runs a tool on stdin and returns its stdout.

    Raises:
        LlvmToolError: the tool is not there or fails; the message is its first error.
    """
    path = find_tool(name)
    if path is None:
        raise LlvmToolError(f"{name} is not installed: install LLVM {_WHERE}")
    return _run(path, arguments, contents)


def _run(path: str, arguments: Sequence[str], contents: bytes = b"") -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [path, *arguments], cwd=folder, input=contents, capture_output=True,
                timeout=_SECONDS, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise LlvmToolError(f"{path} cannot be run: {error}") from None
    said = done.stderr.decode(errors="replace").strip()
    unknown = "is not a recognized processor" in said
    if done.returncode or unknown:
        lines = [line for line in said.splitlines() if "error" in line or unknown] or [said]
        advice = f"; install a newer LLVM {_WHERE}" if unknown else ""
        raise LlvmToolError(f"{path}: {lines[0]}{advice}")
    return done.stdout


def expanded(text: str, chip: str) -> str:
    """Returns an assembly text with macros, symbols and conditions replaced.

    Raises:
        LlvmToolError: there is no llvm-mc, or it refuses the text.
    """
    return run_tool("llvm-mc", _assembles(chip), text.encode()).decode(errors="replace")


def assembled(text: str, chip: str) -> bytes:
    """Returns the code object that an assembly text is; raises LlvmToolError."""
    return linked(run_tool("llvm-mc", [*_assembles(chip), "--filetype=obj"], text.encode()))


def linked(contents: bytes) -> bytes:
    """Returns the code object that an object file becomes by linking; raises LlvmToolError."""
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder, "object.o"), Path(folder, "object.co")
        path.write_bytes(contents)
        # No other code object takes the place of a symbol.
        arguments = ["-shared", "-Bsymbolic", str(path), "-o", str(out)]
        ours = _iree_linker()
        if ours is None:
            run_tool("ld.lld", arguments)
        else:
            _run(ours, ["-flavor", "gnu", *arguments])
        return out.read_bytes()


def _iree_linker() -> str | None:
    """Returns the path of the linker in IREE's wheel, which takes a flavor; None without it."""
    try:
        found = find_spec("iree.compiler")
    except ModuleNotFoundError:
        return None
    folders = (found.submodule_search_locations if found else None) or ()
    paths = (Path(folder, "_mlir_libs", "iree-lld") for folder in folders)
    return next((str(path) for path in paths if path.is_file()), None)


def _assembles(chip: str) -> list[str]:
    return ["--triple=amdgcn-amd-amdhsa", f"--mcpu={chip}"]


@cache
def find_tool(name: str) -> str | None:
    """Returns the path of the newest tool of a name; None where there is none."""
    # Which flavor LLVM's linker is depends on the name by which it is called.
    found = {path.absolute() for path in _candidates(name)}
    return str(max(found, key=_version)) if found else None


def _candidates(name: str) -> Iterator[Path]:
    folders = [*os.get_exec_path(), *_FOLDERS]
    for root, pattern in _FOLDER_PATTERNS:
        folders += map(str, Path(root).glob(pattern))
    for folder in dict.fromkeys(folders):
        # A relative folder of PATH means another one wherever somebody is.
        if not Path(folder).is_absolute():
            continue
        for path in (Path(folder, name), *Path(folder).glob(f"{name}-[0-9]*")):
            if path.is_file() and os.access(path, os.X_OK):
                yield path


def _version(path: Path) -> int:
    """Returns the version of LLVM that a tool is of; 0 where it does not say."""
    try:
        done = subprocess.run(
            [path, "--version"], cwd="/", capture_output=True, text=True, timeout=_SECONDS,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = _VERSION.search(done.stdout)
    return int(found[1] or found[2]) if found else 0
