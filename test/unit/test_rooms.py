# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which rooms import which: a lower room never imports a higher one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bankwise.bench.architecture_picture import PICTURE, imported, picture, rooms

from .room_passes import our_passes

ROOT = Path(__file__).parents[2]

BELOW = {
    "bank_model": set[str](),
    "dialect_utils": {"bank_model"},
    "passes": {"bank_model", "dialect_utils"},
    "tuning": {"bank_model", "dialect_utils", "passes"},
    "iree_plugin": {"bank_model", "dialect_utils", "passes", "tuning"},
    "emulator": {"bank_model"},
    "report": {"bank_model", "dialect_utils", "passes", "iree_plugin"},
    "runtime": {"bank_model", "dialect_utils", "passes", "tuning", "iree_plugin", "emulator"},
}
"""What each room may import besides itself."""
BELOW["sweep"] = {*BELOW, "runtime"}
BELOW["tiles"] = {"bank_model", "report"}
BELOW["bench"] = {*BELOW} - {"bench"}
BELOW["tools"] = {*BELOW} - {"tools"}


def modules(room: str) -> Iterator[Path]:
    yield from sorted((ROOT / room).rglob("*.py"))


def imported_by_name(path: Path) -> Iterator[tuple[str, ...]]:
    """Yields what files that also run as scripts import: they name the package itself."""
    text = path.read_text()
    # Most files need not be parsed.
    for node in ast.walk(ast.parse(text)) if "bankwise" in text else ():
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{name.name}" for name in node.names]
        elif isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        for name in names:
            package, *parts = name.split(".")
            if package == "bankwise" and parts:
                yield tuple(parts)


@pytest.mark.parametrize("room", BELOW)
def test_a_room_imports_only_what_lies_below_it(room: str) -> None:
    found = {
        f"{path.relative_to(ROOT)} imports {'.'.join(target[:2])}"
        for path in modules(room)
        for target in (*imported(path), *imported_by_name(path))
        # The version and the Python API are at the root itself.
        if target[0] in BELOW and target[0] not in {room, *BELOW[room]}
    }
    assert not found


def test_imports_by_name_are_seen(tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(
        "import json, bankwise, bankwise.tools.run\n"
        "from os import path\n"
        "from ..report import text\n"
        "def late():\n"
        "    from bankwise import compile\n"
        "    from bankwise.sweep.swept_kernels import Matmul\n"
    )
    assert {*imported_by_name(script)} == {
        ("tools", "run"),
        ("compile",),
        ("sweep", "swept_kernels", "Matmul"),
    }


def test_a_pass_imports_no_other_pass() -> None:
    passes = {each.__module__ for each in our_passes()}
    found = {
        f"{path.name} imports {target[2]}"
        for room in ("passes", "tuning")
        for path in modules(room)
        # What stands at the top of a room stands above its passes: tables, and what asks several.
        if path.parent.name != room and path.name != "program_steps.py"
        for target in imported(path)
        if ".".join(("bankwise", *target[:3])) in passes
    }
    assert not found


def test_builders_alone_create_operations() -> None:
    paths = [
        path
        for room in ("dialect_utils", "passes", "tuning", "iree_plugin")
        for path in modules(room)
    ]
    assert [path.name for path in paths if "Operation.create(" in path.read_text()] == [
        "builders.py"
    ]


def place(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the folder of a module that lies in a folder of its room, else the module itself."""
    return (parts[0], parts[1].removesuffix(".py"))


@pytest.mark.parametrize("room", BELOW)
def test_no_folders_of_a_room_import_each_other(room: str) -> None:
    """A file at the top of a room lies below the folders that import it, or above them."""
    arrows = {
        (place(path.relative_to(ROOT).parts), place(target))
        for path in modules(room)
        for target in imported(path)
        if target[0] == room
    }
    left = {(one, other) for one, other in arrows if one != other}
    # Who imports nothing is taken away until nobody is left, or a circle.
    while lowest := {other for _, other in left} - {one for one, _ in left}:
        left = {(one, other) for one, other in left if other not in lowest}
    assert not left


def test_every_room_has_its_rules() -> None:
    assert {*rooms()} == {*BELOW}


def test_the_picture_shows_the_imports() -> None:
    command = "python -m bankwise.bench.architecture_picture"
    assert PICTURE.read_text() == picture(), f"`{command}` draws it anew"


def test_the_docs_name_files_that_exist() -> None:
    texts = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    # A path has a folder: names alone are those of the reader's files.
    named = {
        (text.name, path)
        for text in texts
        for path in re.findall(r"`([a-z]\w*/[\w/-]*(?:\.(?:py|md|json|mlir))?)`", text.read_text())
        if path.split("/")[0] in {*rooms(), "docs", "test", "examples"}
    }
    assert len(named) > 50
    assert not {(text, path) for text, path in named if not (ROOT / path).exists()}


def test_what_compiles_load_makes_no_dataclass_by_the_library() -> None:
    """`quick_dataclass` does it four times as fast."""
    loaded = ("bank_model", "dialect_utils", "passes", "tuning", "iree_plugin")
    by_library = re.compile(r"^from dataclasses import .*\bdataclass\b", re.MULTILINE)
    found = [
        str(path.relative_to(ROOT))
        for room in loaded
        for path in modules(room)
        if by_library.search(path.read_text())
    ]
    assert not found
