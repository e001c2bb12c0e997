# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The flags that belong to the program, `iree-compile` or `bankwise-compile`, and not to LLVM.

The compiler's library does not know them. A compile from Python, which has no program, can honour
some of them only.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from .compile_settings import joined_flags
from .described_target import refuse_unknown_names

VALUES = {
    "o": "output",
    "bankwise-mitigation": "mitigation",
    "bankwise-level": "level",
    "bankwise-retile": "retile",
    "bankwise-write-tuning-spec": "tuning_spec",
    "bankwise-decisions": "decisions",
    "bankwise-dump-ir": "dump_ir",
    "output-format": "output_format",
    "compile-mode": "compile_mode",
    "compile-from": "compile_from",
    "compile-to": "compile_to",
    "dump-compilation-phases-to": "dump_phases_to",
    "emit-mlir-bytecode-version": "bytecode_version",
    "remarks-filter": "remarks_filter",
    "remarks-output-file": "remarks_file",
}
"""The attribute of CompileSettings that a flag with a value sets."""

SWITCHES = {
    "bankwise-remarks": "remarks",
    "quiet": "quiet",
    "bankwise-verify": "verify_lds",
    "verify": "verify",
    "emit-mlir-bytecode": "emit_bytecode",
    "split-input-file": "split_input",
    "iree-hal-list-target-backends": "list_backends",
    "iree-list-plugins": "list_plugins",
}
"""The attribute that a flag without a value sets."""

PRINT_LISTS = {"mlir-print-ir-before": "print_before", "mlir-print-ir-after": "print_after"}
"""The attribute for our passes among those that a flag lists."""


def flags_of_attributes() -> dict[str, str]:
    """Returns the flag that sets an attribute of CompileSettings, by the attribute's name."""
    flags = {
        of: f"--{flag}" for table in (VALUES, SWITCHES, PRINT_LISTS) for flag, of in table.items()
    }
    return flags | {"output": "-o"}


def expand_response_files(words: Sequence[str]) -> Iterator[str]:
    """Yields words, with those of a file in the place of `@file`.

    Raises:
        ValueError: a file cannot be read.
    """
    for word in words:
        if word.startswith("@") and Path(word[1:]).is_file():
            try:
                inner = shlex.split(Path(word[1:]).read_text())
            except (OSError, ValueError) as error:
                raise ValueError(f"cannot read '{word}': {error}") from None
            yield from expand_response_files(inner)
        else:
            yield word


_BYTES = "the compile returns the module's bytes, which are yours to write"
_WHOLE = "the compile goes from a whole program to a vmfb; use bankwise-compile"
_MODE = "say it by the mode, such as 'auto/fast/on'"
_PRINTS = "it prints and compiles nothing"
_NOT_FROM_PYTHON = {
    "o": _BYTES,
    **dict.fromkeys(("output-format", "compile-mode", "compile-from", "compile-to"), _WHOLE),
    **dict.fromkeys(("emit-mlir-bytecode", "emit-mlir-bytecode-version"), _WHOLE),
    "split-input-file": _WHOLE,
    **dict.fromkeys(("bankwise-mitigation", "bankwise-level", "bankwise-retile"), _MODE),
    "bankwise-remarks": "nobody would see them; ask for decisions",
    "quiet": "a compile from Python prints no summary",
    **dict.fromkeys(("iree-hal-list-target-backends", "iree-list-plugins", "version"), _PRINTS),
    "print-completion": _PRINTS,
}


def check_python_flags(flags: Sequence[str]) -> None:
    """Raises ValueError where a compile from Python cannot do what a flag asks for."""
    before = ""
    for word in expand_response_files(flags):
        name = word.lstrip("-").partition("=")[0]
        if not word.startswith("-") or word == "-":
            # The value of a flag may be a word of its own.
            if not before.startswith("-") or "=" in before:
                raise ValueError(f"flags holds {word!r}, which is no flag")
        elif name in _NOT_FROM_PYTHON:
            raise ValueError(f"flags holds {word!r}: {_NOT_FROM_PYTHON[name]}")
        elif name.startswith("help"):
            raise ValueError(f"flags holds {word!r}: {_PRINTS}")
        before = word
    if wrong := wrong_value(flags):
        raise ValueError(wrong)


_READ = ("iree-codegen-tuning-spec-path", "iree-codegen-transform-dialect-library")


def wrong_value(flags: Sequence[str]) -> str:
    """Returns what is wrong with the value of a compiler's flag, of which the compiler would say
    so by a crash or by pages of IR; nothing if it takes all of them."""
    for word in joined_flags(flags):
        name, _, path = word.lstrip("-").partition("=")
        # A sequence of a library may stand behind its file: `FILE@NAME`.
        files = path, path.partition("@")[0]
        if name in _READ and path and not any(os.access(each, os.R_OK) for each in files):
            return f"--{name}: there is no file '{path}' that can be read"
    return refuse_unknown_names(flags)
