# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Flags in LLVM's style (`--flag`, `--flag=value`, `--flag value`), and what is wrong with them."""

from __future__ import annotations

from collections.abc import Collection, Iterator


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
        raise UsageError(f"{flag} expects true or false, got '{text}'") from None


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
        raise UsageError(f"{flag}: '{value}' is not one of {', '.join(allowed)}")


_MOST_DIGITS = 9


def size_of(flag: str, text: str) -> tuple[int, ...]:
    """Returns the numbers of `X[,Y[,Z]]`.

    Raises:
        UsageError: it is something else.
    """
    words = text.split(",")
    fits = all(word.isdecimal() and len(word) <= _MOST_DIGITS and int(word) > 0 for word in words)
    if len(words) > 3 or not fits:
        raise UsageError(f"{flag}={text[:40]}: expects X, X,Y or X,Y,Z, numbers from 1")
    return tuple(map(int, words))
