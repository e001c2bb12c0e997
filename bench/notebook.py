# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes `docs/notebook.ipynb` from `docs/notebook.md`.

    python -m bankwise.bench.notebook

The page has the text and, as a dialogue, the code with what it prints; doctest runs it. Here the
text becomes cells of Markdown and the dialogue cells of code: each ends where something is printed
or shown. A comment `<!-- in the notebook: CODE -->` is a cell that shows a picture, which the page
cannot.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from doctest import DocTestParser
from pathlib import Path
from typing import Any

from ..iree_plugin.atomic_file import write_output

ROOT = Path(__file__).parents[1]
PAGE, NOTEBOOK = ROOT / "docs" / "notebook.md", ROOT / "docs" / "notebook.ipynb"

Cell = dict[str, Any]

_CODE = re.compile(
    r"^```python\n(?P<dialogue>.*?)^```\n|^<!-- in the notebook: (?P<shown>.*?) -->\n",
    re.DOTALL | re.MULTILINE,
)
_HOME = """\
# The examples are files of the package; the paths below begin there.
import os
from importlib.resources import files

os.chdir(str(files("bankwise")))"""


def notebook(page: str) -> str:
    """Returns the notebook of a page, as JSON; the same page gives the same text."""
    document = {
        "cells": [{"id": f"cell-{number}", **cell} for number, cell in enumerate(_cells(page))],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _cells(page: str) -> Iterator[Cell]:
    at, is_first = 0, True
    for found in _CODE.finditer(page):
        if text := page[at : found.start()].strip():
            yield {"cell_type": "markdown", "metadata": {}, "source": _lines(text)}
        if is_first:
            yield _code(_HOME, "")
            is_first = False
        if found["shown"]:
            yield _code(found["shown"], "")
        else:
            yield from _dialogue(found["dialogue"])
        at = found.end()
    if text := page[at:].strip():
        yield {"cell_type": "markdown", "metadata": {}, "source": _lines(text)}


def _dialogue(text: str) -> Iterator[Cell]:
    """Yields the cells of a dialogue, each with all code up to the next output."""
    code: list[str] = []
    for example in DocTestParser().get_examples(text):
        code.append(example.source.rstrip("\n"))
        if example.want:
            yield _code("\n".join(code), example.want)
            code = []
    if code:
        yield _code("\n".join(code), "")


def _code(source: str, printed: str) -> Cell:
    outputs: list[Cell] = []
    if printed and is_shown(source):
        data = {"text/plain": _lines(printed.rstrip("\n"))}
        outputs = [
            {"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data}
        ]
    elif printed:
        outputs = [{"output_type": "stream", "name": "stdout", "text": _lines(printed)}]
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": outputs,
        "source": _lines(source),
    }


def is_shown(source: str) -> bool:
    """Returns whether a cell ends with an expression whose value is shown, not printed."""
    last = ast.parse(source).body[-1]
    if not isinstance(last, ast.Expr):
        return False
    call = last.value
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
        return call.func.id != "print"
    return True


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> int:
    """Writes the notebook."""
    write_output(str(NOTEBOOK), notebook(PAGE.read_text()).encode())
    print(f"wrote {NOTEBOOK.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
