# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-opt --list-passes` says of every option what it means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from bankwise.passes.base import FunctionPass
from bankwise.tools.opt import pass_list
from bankwise.tools.pass_options import option_descriptions

from ..room_passes import our_passes


@dataclass(frozen=True)
class Base:
    """A class of options.

    Attributes:
        first, second: what both
            of them mean.
        third: another one.
    """

    first: int = 0
    second: int = 0
    third: int = 0


@dataclass(frozen=True)
class Derived(Base):
    """Has one more."""

    name: ClassVar[str] = "derived"
    """No option."""
    fourth: bool = False
    """Stands behind
    the field."""
    fifth: bool = False


def test_descriptions_are_read_from_docstrings_and_behind_fields() -> None:
    found = option_descriptions(Derived)
    assert {name: found.get(name) for name in ("first", "second", "third", "fourth", "fifth")} == {
        "first": "what both of them mean.",
        "second": "what both of them mean.",
        "third": "another one.",
        "fourth": "Stands behind the field.",
        "fifth": None,
    }


@pytest.mark.parametrize("kind", our_passes())
def test_every_option_is_described(kind: type[FunctionPass]) -> None:
    assert {field.name for field in kind.option_fields()} <= option_descriptions(kind).keys()


def test_the_list_has_them() -> None:
    assert "--max-cycles=<int>" in pass_list()
    assert "- the most conflict cycles that one wave may have in one execution" in pass_list()
