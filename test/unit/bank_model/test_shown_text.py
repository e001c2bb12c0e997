# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of the user's stays in one line and gives the terminal no orders."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bankwise.bank_model.shown_text import counted, counted_are, shown_command, shown_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("kernel.mlir", "kernel.mlir"),
        ("Gruß 文件 a b\\c.mlir", "Gruß 文件 a b\\c.mlir"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("a\nb\rc\td\x00", "a\\nb\\rc\\td\\x00"),
        ("line\u2028break\x85", "line\\u2028break\\x85"),
        ("ltr\u202ertl", "ltr\\u202ertl"),
        (os.fsdecode(b"no\xfftext"), "no\\xfftext"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_does_not_print_is_escaped(text: str, shown: str):
    assert shown_text(text) == shown


def test_every_character_prints_in_one_line_and_can_be_encoded():
    shown = shown_text("".join(map(chr, range(sys.maxunicode + 1))))
    assert shown.isprintable()
    assert len(shown.splitlines()) == 1
    assert shown.encode()


def test_a_shell_reads_a_shown_command_back():
    words = ["plain", "a b", "it's", "\x1b[2J", "it's\n\\n", os.fsdecode(b"\xff")]
    shown = shown_command(["printf", "%s\\0", *words])
    assert shown.isprintable()
    printed = subprocess.run(["bash", "-c", shown], capture_output=True, check=True).stdout
    assert printed.split(b"\0")[:-1] == [os.fsencode(word) for word in words]


def test_numbers_of_things_are_words():
    assert [counted(n, "lane") for n in (0, 1, 2)] == ["0 lanes", "1 lane", "2 lanes"]
    assert [counted(n, "lane", separator=",") for n in (1, 2345)] == ["1 lane", "2,345 lanes"]
    assert [counted_are(n, "lane") for n in (0, 1)] == ["0 lanes are", "1 lane is"]
