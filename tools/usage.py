# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Flags in LLVM's style (`--flag`, `--flag=value`, `--flag value`), and what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from math import prod

from ..bank_model.families import MOST_THREADS
from ..bank_model.shown_text import did_you_mean


class UsageError(ValueError):
    """A flag that is unknown, incomplete or contradicts another; the message names it."""


def flag_of(word: str) -> str:
    """Returns a flag as it was written, without its value."""
    return word.partition("=")[0]


def value_of(word: str, following: Iterator[str]) -> str:
    """Returns what stands behind the `=` of a flag, or else the next word.

    Raises:
        UsageError: there is no value.
    """
    flag, separator, text = word.partition("=")
    value = text if separator else next(following, "")
    if not value:
        raise UsageError(f"{flag} needs a value")
    return value


def switch_of(word: str) -> bool:
    """Returns whether a flag is on: `--flag`, `--flag=true`, `--flag=0`.

    Raises:
        UsageError: its value is no truth value.
    """
    flag, separator, text = word.partition("=")
    try:
        return truth(text) if separator else True
    except ValueError:
        raise UsageError(f"{flag} expects true or false, 1 or 0, got '{text}'") from None


def truth(text: str) -> bool:
    """Returns the truth value that a text is; ValueError if it is none."""
    if text.lower() in ("true", "1"):
        return True
    if text.lower() in ("false", "0"):
        return False
    raise ValueError(text)


def check_choice(flag: str, value: str, allowed: Collection[str]) -> None:
    """Raises UsageError where `value` is not allowed."""
    if value not in allowed:
        hint = did_you_mean(value, allowed)
        raise UsageError(f"{flag}: '{value}' is not one of {', '.join(allowed)}{hint}")


def check_target(flag: str, target: str) -> None:
    """Raises UsageError where a GPU is not known."""
    from ..bank_model.lds_tables import UnknownTargetError  # Only some tools ask.
    from ..bank_model.targets import arch_named

    try:
        arch_named(target)
    except UnknownTargetError as error:
        raise UsageError(f"{flag}: {error.value} is not known; there are {error.allowed}") from None


def unknown_flag(word: str, known: Iterable[str], else_: str = "") -> UsageError:
    """Returns the error for a flag that is not known, which names the nearest one.

    Args:
        word: the flag, as it was written.
        known: the flags that there are, with or without their dashes.
        else_: how the message ends where none of them is near.
    """
    hint = _nearest(word, known)
    what = "flag" if word.startswith("-") else "argument"
    return UsageError(f"unknown {what} '{word}'{hint or else_}")


_ALIKE = 0.75
"""How much alike a flag of the compiler's and one of a tool's are if one is meant for the other."""


def refuse_mistyped(words: Iterable[str], known: Collection[str]) -> None:
    """Refuses what the compiler would take for a flag of its own, and complain of.

    It would suggest one of its flags for a mistyped one of the tool's, which it does not know.

    Args:
        words: the flags that the compiler is to read.
        known: the tool's own flags.

    Raises:
        UsageError: one of the words is a flag that the compiler does not have, and the tool has one
            that is nearly the same.
    """
    for word in words:
        name = flag_of(word).lstrip("-")
        compilers = not word.startswith("--") or name.startswith(("iree-", "mlir-", "llvm-"))
        if not compilers and _nearest(word, known, _ALIKE) and name not in _compilers_flags():
            raise unknown_flag(word, known)


def _nearest(word: str, known: Iterable[str], least: float = 0.6) -> str:
    names = (each.lstrip("-") for each in known)
    hint = did_you_mean(flag_of(word).lstrip("-"), [each for each in names if len(each) > 1], least)
    return hint.replace("'", "'--", 1).replace("or '", "or '--", 1)


def _compilers_flags() -> frozenset[str]:
    """Returns the names of all flags of the compiler, which takes it a third of a second."""
    from ..iree_plugin.early_library import wait_for_library

    wait_for_library()
    from ..iree_plugin.embedding import compiler_tool

    command = str(compiler_tool("iree-compile")), "--help-hidden"
    import subprocess  # Not part of a compile.

    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return frozenset(re.findall(r"^ +--?([\w-]+)", listed, re.MULTILINE))


_MOST_DIGITS = 9


def size_of(flag: str, text: str) -> tuple[int, ...]:
    """Returns the numbers of `X[,Y[,Z]]`.

    Raises:
        UsageError: it is something else.
    """
    words = text.split(",")
    fits = all(word.isdecimal() and len(word) <= _MOST_DIGITS and int(word) > 0 for word in words)
    if len(words) > 3 or not fits:
        raise UsageError(
            f"{flag}={text[:40]}: expects X, X,Y or X,Y,Z, numbers from 1 to {10**_MOST_DIGITS - 1}"
        )
    return tuple(map(int, words))


def block_of(text: str) -> tuple[int, ...]:
    """Returns the size of a workgroup that the value of `--block` gives.

    Raises:
        UsageError: it gives none, or more lanes than a workgroup may have.
    """
    size = size_of("--block", text)
    if prod(size) > MOST_THREADS:
        raise UsageError(
            f"--block={text[:40]}: {prod(size):,} lanes; a workgroup has at most {MOST_THREADS:,}"
        )
    return size
