# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random damage to assembly files, as text that nobody has written on purpose."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

_TOKEN = re.compile(r"[\w.$@]+|\S")
_NUMBER = re.compile(r"(?<![\w.])(?:0x[0-9a-fA-F]+|\d+)")
_REGISTER = re.compile(r"\b[sva](?:\d+|\[\d+:\d+\])")
_JUNK_WORDS = """
é " ' ( ) [ ] { } | - -- , ,, : ; # @ \\ // /* */ = .. ... %s {0} nan inf 1e9
off vcc exec m0 scc null lds offen clamp gds off:1 x:[ x:[]
offset:70000 offset:-1 offset:[1] op_sel:[0,1,2] mul:9 quad_perm:[9,9,9,9]
row_shl:99 dst_sel:X hwreg(99) gpr_idx(SRC9) vmcnt( vmcnt(99) abs( neg()
s[0:1] s[1:0] s[100:103] v[0:3] v[254:257] a[0:3] a0 v255 v256 s101
flat_scratch src_shared_base 0x1p3 symbol@rel32@lo+4 symbol@abs32@hi
"""
_JUNK = (
    *("\0", "\x0c", "\u2028", *_JUNK_WORDS.split()),
    *("- {", "&a *a", "!!python/object:x", "2001-99-99", "? [", "<<: 3"),
    *(".long", ".set a, a", ".p2align 99", ".Lx:"),
)
_NUMBER_WORDS = """
-1 0 1 2 3 7 15 63 64 65 255 256 4096 65535 65536 2147483648 4294967295 4294967296
18446744073709551616 0x 1.5 1e400 -0 99999999999999999999999999 0b1 1_0 08
"""
_NUMBERS = tuple(_NUMBER_WORDS.split())


def mutated(text: str, random: Random, changes: int) -> str:
    """Returns a text of several lines in which so many places are damaged."""
    lines = text.split("\n")
    for _ in range(changes):
        change = random.choice(_CHANGES)
        at = random.randrange(len(lines) or 1)
        lines[at : at + 1] = change(lines[at], lines, random) if lines else [""]
    return "\n".join(lines)


Change = Callable[[str, list[str], Random], list[str]]


def _place(line: str, random: Random) -> tuple[int, int]:
    """Returns where a random token of a line starts and ends."""
    tokens = [match.span() for match in _TOKEN.finditer(line)]
    return random.choice(tokens) if tokens else (len(line), len(line))


def _without_token(line: str, lines: list[str], random: Random) -> list[str]:
    start, end = _place(line, random)
    return [line[:start] + line[end:]]


def _without_operand(line: str, lines: list[str], random: Random) -> list[str]:
    mnemonic, *operands = re.split(r"[\s,]+", line.strip())
    if operands:
        operands.pop(random.randrange(len(operands)))
    return ["\t" + mnemonic + " " + ", ".join(operands)]


def _bare(line: str, lines: list[str], random: Random) -> list[str]:
    return ["\t" + (line.split() or [""])[0]]


def _junk_token(line: str, lines: list[str], random: Random) -> list[str]:
    start, end = _place(line, random)
    return [line[:start] + random.choice(_JUNK) + line[end:]]


def _more(line: str, lines: list[str], random: Random) -> list[str]:
    start, _ = _place(line, random)
    at = random.choice((start, len(line)))
    return [line[:at] + random.choice((" ", ", ", "")) + random.choice(_JUNK) + line[at:]]


def _other_number(line: str, lines: list[str], random: Random) -> list[str]:
    places = [match.span() for match in _NUMBER.finditer(line)]
    if not places:
        return [line]
    start, end = random.choice(places)
    return [line[:start] + random.choice(_NUMBERS) + line[end:]]


def _other_register(line: str, lines: list[str], random: Random) -> list[str]:
    places = [match.span() for match in _REGISTER.finditer(line)]
    others = _REGISTER.findall(random.choice(lines)) or ["s4"]
    if not places:
        return [line]
    start, end = random.choice(places)
    return [line[:start] + random.choice(others) + line[end:]]


def _other_mnemonic(line: str, lines: list[str], random: Random) -> list[str]:
    other = random.choice(lines).split() or [""]
    return [line.replace(line.split()[0], other[0], 1)] if line.split() else [line]


def _swapped(line: str, lines: list[str], random: Random) -> list[str]:
    (a, b), (c, d) = sorted((_place(line, random), _place(line, random)))
    if b > c:
        return [line]
    return [line[:a] + line[c:d] + line[b:c] + line[a:b] + line[d:]]


def _cut(line: str, lines: list[str], random: Random) -> list[str]:
    return [line[: random.randrange(len(line) + 1)]]


def _gone(line: str, lines: list[str], random: Random) -> list[str]:
    return []


def _twice(line: str, lines: list[str], random: Random) -> list[str]:
    return [line, line]


def _from_elsewhere(line: str, lines: list[str], random: Random) -> list[str]:
    return [line, random.choice(lines)]


def _truncated(line: str, lines: list[str], random: Random) -> list[str]:
    """Ends the file after this line, now and then."""
    if random.random() < 0.1:
        del lines[lines.index(line) + 1 :]
    return [line]


_CHANGES: tuple[Change, ...] = (
    *(_without_token, _without_operand, _bare, _junk_token, _more, _other_number, _other_register),
    *(_other_mnemonic, _swapped, _cut, _gone, _twice, _from_elsewhere, _truncated),
)
