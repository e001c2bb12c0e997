# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dispatches of kernels as a profiler has measured them, whatever profiler it was."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_DECORATIONS = (".kd", " [clone .kd]", "[clone .kd]", " (.kd)", "(.kd)")
_DIGITS = re.compile(r"[0-9]{1,20}")
_NUMBER = re.compile(r"[0-9]{1,20}(?:\.[0-9]{0,20})?(?:[eE]\+?[0-9]{1,2})?")
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,])")
_DOTTED_THOUSANDS = re.compile(r"-?\d{1,3}(?:\.\d{3})+")


class MeasuredFileError(ValueError):
    """A file of a profiler that cannot be read or compared; the message names it and says why."""


@dataclass(frozen=True)
class Dispatch:
    """One dispatch of a kernel.

    Attributes:
        kernel: the kernel's symbol.
        workgroups: how many the grid has; None where the file does not say it.
        threads: the lanes of a workgroup; None where the file does not say it.
        counters: what was counted, by the profiler's names; the texts are the file's.
    """

    kernel: str
    workgroups: int | None
    threads: int | None
    counters: Mapping[str, str]


def kernel_symbol(name: str) -> str:
    """Returns the symbol of a kernel from the name that a profiler shows for it.

    AMD's profilers append `.kd`, ` [clone .kd]` or ` (.kd)`, and all of them a list of parameters
    where the symbol could be demangled.
    """
    # One regular expression for all of it would take minutes on a name of 20,000 parentheses.
    symbol = name.strip()
    while True:
        end = next((each for each in _DECORATIONS if symbol.endswith(each)), "")
        if end:
            symbol = symbol.removesuffix(end)
        elif symbol.endswith(")") and "(" in symbol:
            symbol = symbol.partition("(")[0]
        else:
            return symbol


def share(text: str) -> float:
    """Returns a per cent or a ratio such as `87.500000`.

    Raises:
        ValueError: it is none that a profiler can have measured.
    """
    plain = text.strip().removesuffix("%").rstrip()
    if not _NUMBER.fullmatch(plain):
        raise ValueError(f"'{text[:40]}' is no number")
    return float(plain)


def whole_number(text: str) -> int:
    """Returns a count such as `3670016`, `3,670,016` or `3670016.000000`.

    Raises:
        ValueError: it is nothing that a counter can hold, or a dot may separate its thousands:
            `3.670` is no count where the dot is that of a fraction.
    """
    plain = text.strip()
    if _THOUSANDS.match(plain):
        plain = plain.replace(",", "")
    if _DOTTED_THOUSANDS.fullmatch(plain):
        raise ValueError(
            f"'{text}' may have dots between its thousands; have the profiler run with LC_ALL=C"
        )
    if _DIGITS.fullmatch(plain):
        return int(plain)
    if not _NUMBER.fullmatch(plain) or not float(plain).is_integer():
        raise ValueError(f"'{text[:40]}' is no count")
    return int(float(plain))
