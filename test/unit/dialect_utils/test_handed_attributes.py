# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The attributes that passes hand each other stand in one module, and on one page."""

from __future__ import annotations

import re
from pathlib import Path

from bankwise.dialect_utils import handed_attributes
from bankwise.dialect_utils.handed_attributes import HANDED, HandedAttribute
from bankwise.iree_plugin.plugins import PLUGIN_GROUP

from ..room_passes import our_passes

ROOT = Path(__file__).parents[3]
ROOMS = ("dialect_utils", "passes", "tuning", "iree_plugin", "report", "runtime", "tools")
_HEAD = (
    "| attribute | on | what it says | written by | read by |",
    "| --- | --- | --- | --- | --- |",
)


def test_no_other_module_spells_an_attribute() -> None:
    found = {
        (path.name, name)
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        for name in re.findall(r"""["'](bankwise\.\w+)["']""", path.read_text())
    }
    assert found == {("plugins.py", PLUGIN_GROUP)}


def test_every_attribute_is_used() -> None:
    own = Path(handed_attributes.__file__)
    texts = [p.read_text() for room in ROOMS for p in (ROOT / room).rglob("*.py") if p != own]
    used = {word for text in texts for word in re.findall(r"\b[A-Z_]+\b", text)}
    constants = {
        value: name
        for name, value in vars(handed_attributes).items()
        if isinstance(value, str) and value.startswith("bankwise.") and not name.startswith("__")
    }
    assert {*constants} == {f"bankwise.{each.name}" for each in HANDED}
    assert {*constants.values()} <= used


def test_the_passes_that_write_and_read_them_exist() -> None:
    named = {who for each in HANDED for who in (*each.written, *each.read)}
    passes = {who for who in named if re.fullmatch(r"bankwise-[\w-]+", who)}
    assert len(passes) > 20
    assert passes <= {each.name for each in our_passes()}


def test_the_page_lists_them() -> None:
    table = "\n".join([*_HEAD, *map(row, HANDED)])
    assert table in (ROOT / "docs/passes.md").read_text(), f"the page has to list them:\n{table}"


def row(attribute: HandedAttribute) -> str:
    """Returns the line of the page's table for an attribute."""
    written, read = (
        ", ".join(f"`{who}`" if who.startswith("bankwise-") else who for who in each)
        for each in (attribute.written, attribute.read)
    )
    cells = (f"`bankwise.{attribute.name}`", attribute.place, attribute.value, written, read)
    return f"| {' | '.join(cells)} |"
