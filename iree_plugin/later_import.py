# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules that others import before they need a name in them."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from types import ModuleType


@contextlib.contextmanager
def imported_later(name: str, **known: object) -> Iterator[None]:
    """Lets modules that are imported meanwhile have a stand-in for another one.

    It loads the other one when somebody asks for a name in it. A module that is there already is
    imported as always, and so is one that others import behind the body.

    Args:
        known: what names in it stand for until then. Of a package, Python asks for `__path__` when
            a name is imported from it.
    """
    if name in sys.modules:
        yield
        return
    sys.modules[name] = later = _Later(name)
    later.__dict__.update(known)
    try:
        yield
    finally:
        _make_room(later)


class _Later(ModuleType):
    """What stands for a module until a name in it is asked for, and has all its names then."""

    def __getattr__(self, name: str) -> object:
        _make_room(self)
        self.__dict__.update(importlib.import_module(self.__name__).__dict__)
        self.__class__ = ModuleType  # pyright: ignore[reportAttributeAccessIssue]
        return getattr(self, name)


def _make_room(later: _Later) -> None:
    """Lets the next import load the module itself."""
    if sys.modules.get(later.__name__) is later:
        del sys.modules[later.__name__]
