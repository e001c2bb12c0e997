# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`dataclass`, as the standard library has it, for classes that every compile makes anew.

The library writes the text of six methods of each frozen class, and compiles each: 0.6 ms. Here
that is done for `__init__` alone; to compare, to hash and to show instances, all classes have the
same functions. That nobody assigns to the fields of a frozen class is left to the type checker, for
which this is the library's own `dataclass`. A class of a plugin may be made by the library and
derive from one of these: the library takes that for frozen which is.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, eq=True, frozen=False):
        """Makes a class a dataclass; `eq` and `frozen` say which methods it has, as usual."""
        if cls is None:
            return partial(dataclass, eq=eq, frozen=frozen)
        own = cls.__dict__
        bases = [each.__dict__ for each in cls.__mro__[1:] if _PARAMETERS in each.__dict__]
        # Of those that the library has made frozen, fields cannot be assigned.
        by_library = any(each[_PARAMETERS].frozen and "__setattr__" in each for each in bases)
        frozen_bases = [each[_PARAMETERS] for each in bases if each[_PARAMETERS].frozen]
        try:
            for each in frozen_bases:
                each.frozen = by_library
            dataclasses.dataclass(eq=False, repr=False, frozen=by_library)(cls)
        finally:
            for each in frozen_bases:
                each.frozen = True
        own[_PARAMETERS].frozen = frozen
        if "__repr__" not in own:
            cls.__repr__ = _shown
        if eq:
            compared = _values(cls)
            if "__eq__" not in own:
                cls.__eq__ = _equal(compared)
            # Python has put None there if the class has an `__eq__` alone.
            if own.get("__hash__") is None:
                cls.__hash__ = (lambda self: hash(compared(self))) if frozen else None
        return cls


_PARAMETERS = "__dataclass_params__"


def _values(cls: type) -> Callable[[Any], tuple[Any, ...]]:
    """Returns what returns the values of an instance that count when it is compared."""
    names = [each.name for each in dataclasses.fields(cls) if each.compare]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda instance: tuple(getattr(instance, name) for name in names)


def _equal(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, Any], bool]:
    def equal(self: Any, other: Any) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    return equal


@recursive_repr()
def _shown(self: Any) -> str:
    shown = (
        f"{each.name}={getattr(self, each.name)!r}"
        for each in dataclasses.fields(self)
        if each.repr
    )
    return f"{type(self).__qualname__}({', '.join(shown)})"
