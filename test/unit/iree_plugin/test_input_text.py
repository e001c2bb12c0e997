# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Splitting an input; the tools' tests have what is said of inputs that cannot be read."""

from __future__ import annotations

import pytest

from bankwise.iree_plugin.input_text import InputText, split_text


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (b"", [b""]),
        (b"a\n", [b"a\n"]),
        (b"a\n// -----\nb\n", [b"a\n", b"\n" + b" " * 8 + b"\nb\n"]),
        (b"// -----\nb", [b" " * 8 + b"\nb"]),
        (b"a\n// -----", [b"a\n"]),
        (b"a// -----b", [b"a", b" " * 9 + b"b"]),
    ],
)
def test_split_text_keeps_places(text: bytes, parts: list[bytes]) -> None:
    assert split_text(text, b"// -----") == parts


def test_bytecode_has_one_part() -> None:
    whole = InputText(b"ML\xefR// -----", "k.mlirbc")
    assert whole.parts() == [whole]


def test_parts_keep_the_file() -> None:
    first, second = InputText(b"a\n// -----\nb", "k.mlir").parts()
    assert (first.file, second.file) == ("k.mlir", "k.mlir")
    assert InputText(b"a\n// -----\nb", "k.mlir").parts(None)[0].text == b"a\n// -----\nb"
