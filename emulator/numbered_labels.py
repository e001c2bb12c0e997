# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Labels that are numbers, which may be there again and again.

    1:  s_sub_u32 s8, s8, 1
        s_cbranch_scc0 1f           goes to the next label 1 behind it,
        s_branch 1b                 and this to the last one before it
    1:  s_endpgm

Each gets a name of its own, by its line ("Using as", Symbol Names, Local Labels).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

_LABEL = re.compile(r"^(\s*)(\d+):")
_USE = re.compile(r"(?<![\w.$@])(\d+)([bf])(?![\w.$])")


def with_names(lines: Sequence[str]) -> list[str]:
    """Returns the lines of a text with names for its labels that are numbers.

    A use of a label that is not there stays as it is.
    """
    places: dict[str, list[int]] = {}
    for index, line in enumerate(lines):
        if found := _LABEL.match(line):
            places.setdefault(found[2], []).append(index)
    if not places:
        return list(lines)
    return [_named(line, index, places) for index, line in enumerate(lines)]


def _named(line: str, index: int, places: dict[str, list[int]]) -> str:
    def label(found: re.Match[str]) -> str:
        return f"{found[1]}{_name(found[2], index)}:"

    def use(found: re.Match[str]) -> str:
        at = places.get(found[1], [])
        # A label before an instruction of its own line is before it.
        backward = found[2] == "b"
        number = bisect_right(at, index) - 1 if backward else bisect_left(at, index + 1)
        return _name(found[1], at[number]) if 0 <= number < len(at) else found[0]

    code, quote, text = line.partition('"')
    return _USE.sub(use, _LABEL.sub(label, code)) + quote + text


def _name(number: str, index: int) -> str:
    return f".L{number}.line{index + 1}"
