# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The notebook is its page's, and its cells print what it shows.

The cells run one after the other in one namespace, and the value of a last expression is shown, as
a kernel of Jupyter does it. A kernel itself would bring a dozen packages and ports to this test.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bankwise.bench.notebook import NOTEBOOK, PAGE, notebook

RUNNER = """
import ast, contextlib, io, json, sys
namespace, ran = {}, []
for source in json.load(sys.stdin):
    body = ast.parse(source).body
    shown = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "cell", "exec"), namespace)
        value = eval(compile(shown, "cell", "eval"), namespace) if shown else None
    picture = hasattr(value, "_repr_html_") and "conflict cycles" in value._repr_html_()
    text = "a picture" if picture else "" if value is None else repr(value)
    ran.append([printed.getvalue(), text])
json.dump(ran, sys.stdout)
"""


def text_of(lines: list[str]) -> str:
    return "".join(lines)


def stored(cell: dict[str, Any]) -> list[str]:
    """Returns what a cell prints and what it shows, as the notebook has it."""
    printed = shown = ""
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            printed += text_of(output["text"])
        else:
            shown += text_of(output["data"]["text/plain"])
    return [printed, shown]


def test_the_notebook_is_made_of_its_page() -> None:
    made = notebook(PAGE.read_text())
    assert NOTEBOOK.read_text() == made, "`python -m bankwise.bench.notebook` writes it anew"


@pytest.mark.nightly
def test_the_cells_of_the_notebook_print_what_it_shows(tmp_path: Path) -> None:
    document = json.loads(NOTEBOOK.read_text())
    cells = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    done = subprocess.run(
        [sys.executable, "-P", "-c", RUNNER],
        input=json.dumps([text_of(cell["source"]) for cell in cells]),
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    ran = json.loads(done.stdout)
    assert ["", "a picture"] in ran
    found = [["", ""] if each == ["", "a picture"] else each for each in ran]
    assert found == [stored(cell) for cell in cells]


def test_every_kind_of_cell_is_made() -> None:
    made = json.loads(
        notebook(
            "# A\n\n```python\n>>> a = 1\n>>> a\n1\n>>> print(a)\n1\n>>> b = 2\n```\n"
            "<!-- in the notebook: a -->\n\nEnd\n"
        )
    )
    kinds = [(cell["cell_type"], text_of(cell["source"])) for cell in made["cells"]]
    assert kinds[0] == ("markdown", "# A")
    assert kinds[2:] == [
        ("code", "a = 1\na"),
        ("code", "print(a)"),
        ("code", "b = 2"),
        ("code", "a"),
        ("markdown", "End"),
    ]
    assert [stored(cell) for cell in made["cells"][2:6]] == [
        ["", "1"],
        ["1\n", ""],
        ["", ""],
        ["", ""],
    ]
    assert len({cell["id"] for cell in made["cells"]}) == len(made["cells"])
