# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests for bankwise.bank_model.quick_tuple: classes are as the standard library makes them."""

from __future__ import annotations

import copy
import pickle
import typing
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import pytest

from bankwise.bank_model import quick_tuple

T = TypeVar("T")


def _classes(base: Any) -> list[type[Any]]:
    class Plain(base):
        """Has two fields."""

        one: int
        other: str = "x"

        @property
        def both(self) -> str:
            return f"{self.one}{self.other}"  # type: ignore[attr-defined]

        @staticmethod
        def of(one: int) -> Any:
            return Plain(one)  # type: ignore[call-arg]

    class Several(base, Generic[T]):
        """Has three fields."""

        one: T
        other: int
        third: list[T]

    class Single(base):
        """Has one field."""

        one: int

    class Derived(Plain):
        def __repr__(self) -> str:
            return "derived"

    return [Plain, Several, Single, Derived]


def _tried(call: Callable[[], object]) -> str:
    try:
        return repr(call())
    except (AttributeError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {str(error).rpartition('.')[2]}"


def _behaviour(made: type[Any]) -> dict[str, object]:
    values = [(1,), (1, 2), (1, 2, [3]), (1, 2, 3, 4), ()]
    one = made(*range(len(made._fields)))
    return {
        "made": [_tried(lambda each=each: made(*each)) for each in values],
        "named": [_tried(lambda: made(one=1, other=2)), _tried(lambda: made(1, absent=2))],
        "fields": (made._fields, made._field_defaults, made.__match_args__, made.__doc__),
        "equal": [one == tuple(one), hash(one) == hash(tuple(one)), {one: 1}[tuple(one)]],
        "replaced": [_tried(lambda: one._replace(one=7)), _tried(lambda: one._replace(absent=7))],
        "dictionary": one._asdict(),
        "from values": [_tried(lambda: made._make(one)), _tried(lambda: made._make(()))],
        "copied": copy.copy(one) == one and type(copy.deepcopy(one)) is made,
        "elements": [getattr(one, name) for name in made._fields],
        "assigned": _tried(lambda: setattr(one, "one", 3)),
        "more": [getattr(one, "both", None), made.of(2).one if hasattr(made, "of") else None],
    }


@pytest.mark.parametrize("earlier", [0, quick_tuple.FEW * quick_tuple.IN_ORDER])
@pytest.mark.parametrize("number", range(4))
def test_a_class_behaves_as_the_librarys(number: int, earlier: int) -> None:
    ours, theirs = (_classes(each)[number] for each in (quick_tuple.NamedTuple, typing.NamedTuple))
    for _ in range(earlier):
        ours(*ours._fields)
    assert _behaviour(ours) == _behaviour(theirs)


class _Sent(quick_tuple.NamedTuple):
    value: int
    other: int = 3


def test_what_a_fork_sends_is_what_it_had() -> None:
    sent = pickle.loads(pickle.dumps(_Sent(4)))
    assert (sent, type(sent)) == ((4, 3), _Sent)
    assert typing.get_type_hints(_Sent) == {"value": int, "other": int}
