# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which rooms import which: a lower room never imports a higher one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from bankwise.passes.registry import PASSES

ROOT = Path(__file__).parents[2]

BELOW = {
    "bank_model": set[str](),
    "dialect_utils": {"bank_model"},
    "passes": {"bank_model", "dialect_utils"},
    "iree_plugin": {"bank_model", "dialect_utils", "passes"},
    "emulator": {"bank_model"},
    "report": {"bank_model", "dialect_utils", "passes", "iree_plugin"},
    "runtime": {"bank_model", "dialect_utils", "passes", "iree_plugin", "emulator"},
}
"""What each room may import besides itself."""
BELOW["sweep"] = {*BELOW, "runtime"}
BELOW["bench"] = {*BELOW} - {"bench"}
BELOW["tools"] = {*BELOW} - {"tools"}


def modules(room: str) -> Iterator[Path]:
    yield from sorted((ROOT / room).rglob("*.py"))


def imported(path: Path) -> Iterator[tuple[str, ...]]:
    """The modules of this package that a file imports, as paths from its root."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            module = (*base, *(node.module.split(".") if node.module else ()))
            # `from . import x` names modules, or what a package itself has.
            yield from ((*module, name.name) for name in node.names)


@pytest.mark.parametrize("room", BELOW)
def test_a_room_imports_only_what_lies_below_it(room: str) -> None:
    found = {
        f"{path.relative_to(ROOT)} imports {'.'.join(target[:2])}"
        for path in modules(room)
        for target in imported(path)
        # The version and the Python API are at the root itself.
        if target[0] in BELOW and target[0] not in {room, *BELOW[room]}
    }
    assert not found


def test_a_pass_imports_no_other_pass() -> None:
    passes = {each.__module__ for each in PASSES}
    found = {
        f"{path.name} imports {target[1]}"
        for path in modules("passes")
        # The registry is the list of all passes.
        if path.name != "registry.py"
        for target in imported(path)
        if ".".join(("bankwise", *target[:2])) in passes
    }
    assert not found


def test_every_room_has_its_rules() -> None:
    assert {each.parent.name for each in ROOT.glob("*/__init__.py")} == {*BELOW}
