# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules that others import before they need a name in them.

There are two ways. `imported_later` is for those who import a module for a while: they get a
stand-in, and whoever comes behind them loads the module, as C code has to that looks into it. What
`defer` puts in its place is the module itself, for all and for good; its body has yet to run.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from threading import Lock, RLock
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


_making_room = Lock()


def _make_room(later: _Later) -> None:
    """Lets the next import load the module itself, which another thread may do at once."""
    with _making_room:
        if sys.modules.get(later.__name__) is later:
            del sys.modules[later.__name__]


class Deferred(ModuleType):
    """A module whose body runs when a name is asked for that it does not have yet."""

    def __getattr__(self, name: str) -> object:
        spec = self.__spec__
        assert spec is not None and spec.loader is not None
        with spec.loader_state:
            if isinstance(self, Deferred):  # No other thread has run it meanwhile.
                self.__class__ = _Running  # pyright: ignore[reportAttributeAccessIssue]
                try:
                    spec.loader.exec_module(self)
                finally:
                    self.__class__ = ModuleType  # pyright: ignore[reportAttributeAccessIssue]
        return getattr(self, name)


class _Running(ModuleType):
    """A module whose body runs: the other threads wait for the names that it does not have yet."""

    def __getattr__(self, name: str) -> object:
        assert self.__spec__ is not None
        with self.__spec__.loader_state:
            return ModuleType.__getattribute__(self, name)


class DeferredPackage(Deferred):
    """A package whose body runs when a name is asked for that is no module in it."""

    def __getattr__(self, name: str) -> object:
        if importlib.util.find_spec(f"{self.__name__}.{name}"):
            raise AttributeError(name)
        return super().__getattr__(name)


def defer(name: str, kind: type[Deferred] = Deferred) -> None:
    """Puts a module of a package in its place without running it, unless it is there or does not
    exist; `kind` says for which names it runs, where not for all."""
    spec = None if name in sys.modules else importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        return
    spec.loader_state = RLock()
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    module.__class__ = kind
    package, _, own = name.rpartition(".")
    setattr(sys.modules[package], own, module)
