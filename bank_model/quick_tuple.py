# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`NamedTuple`, as the standard library has it, for classes that every compile makes anew.

The library compiles the text of `__new__` and those of the fields' types, and makes six methods:
0.12 ms for three fields. Here `__new__` is compiled when some instances have been made, and all
classes have the same methods. For the type checker it is the library's own `NamedTuple`.

With the library's, the 272 modules that a compile at `exact` imports take 135 ms of CPU in place of
96 (the least of 13 runs in turn). Of that the functions that are compiled later take 4.
"""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import NamedTuple as NamedTuple

_one: Any = namedtuple("_one", "field")
_getter = type(_one.field)
"""What gets an element of a tuple by its number: a property in C."""


class _Named(tuple[Any, ...]):
    """The methods of all tuples with names."""

    __slots__ = ()
    _fields = tuple[str, ...]()

    @classmethod
    def _make(cls, values: Iterable[Any]) -> Any:
        made = tuple.__new__(cls, values)
        if len(made) != len(cls._fields):
            raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
        return made

    def _replace(self, /, **values: Any) -> Any:
        made = self._make(map(values.pop, self._fields, self))
        if values:
            raise ValueError(f"Got unexpected field names: {list(values)!r}")
        return made

    __replace__ = _replace

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"{type(self).__name__}({', '.join(shown)})"


FEW = 8
"""Of a class with no more instances than that it takes longer to compile a function for its own
fields than to make all instances by one for any fields."""
IN_ORDER = 20
"""How many instances count as one there that are made of the values of all fields in their order:
that takes hardly longer by the function for any fields."""


def _first_new(made: Any) -> Callable[..., Any]:
    """Returns what stands for the `__new__` of a class while it has few instances."""
    left = FEW * IN_ORDER

    def __new__(cls: Any, *values: Any, **named: Any) -> Any:
        nonlocal left
        in_order = len(values) == len(made._fields) and not named
        left -= 1 if in_order else IN_ORDER
        if left >= 0:
            given = values if in_order else _given(made, values, named)
            if len(given) == len(made._fields) and (in_order or given):
                return tuple.__new__(cls, given)
        # Another thread may do the same meanwhile.
        made.__new__ = new = _new_of(made)
        return new(cls, *values, **named)

    return __new__


def _given(made: Any, values: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """Returns the values of all fields; none where some are missing, or there are others."""
    defaults, rest = made._field_defaults, made._fields[len(values) :]
    if not named.keys() <= {*rest} or not {*rest} <= named.keys() | defaults.keys():
        return ()
    return (*values, *(named[each] if each in named else defaults[each] for each in rest))


def _new_of(made: Any) -> Callable[..., Any]:
    code = _code_of(len(made._fields)).replace(co_varnames=("_cls", *made._fields))
    new = FunctionType(code, {"_new": tuple.__new__}, "__new__")
    new.__qualname__ = f"{made.__name__}.__new__"
    new.__defaults__ = tuple(made._field_defaults.values())
    return new


@cache
def _code_of(count: int) -> CodeType:
    """Returns the code of `__new__` of all classes of so many fields, whose names are put in: they
    are compiled once."""
    names = "".join(f"_{number}, " for number in range(count))
    return eval(f"lambda _cls, {names}: _new(_cls, ({names}))").__code__


class _Naming(type):
    """Makes a tuple with names of the body of a class that derives from `NamedTuple`."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        if not bases:
            return super().__new__(cls, name, bases, body)
        others = (each for each in bases if not isinstance(each, _Naming))
        made: Any = type(name, (_Named, *others), {"__slots__": (), **body})
        fields = tuple(made.__annotations__)
        made._fields = made.__match_args__ = fields
        made._field_defaults = {each: body[each] for each in fields if each in body}
        for number, field in enumerate(fields):
            setattr(made, field, _getter(number, field))
        made.__new__ = _first_new(made)
        return made


if not TYPE_CHECKING:

    class NamedTuple(metaclass=_Naming):
        """What tuples with names derive from, in whose place they have the methods above."""
