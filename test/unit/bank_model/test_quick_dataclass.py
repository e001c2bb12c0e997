# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests for bankwise.bank_model.quick_dataclass: classes are as the standard library makes them."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import InitVar, field
from typing import Any, ClassVar

import pytest

from bankwise.bank_model import quick_dataclass

Decorator = Callable[..., Any]


def _classes(dataclass: Decorator) -> list[type]:
    """Returns classes that the decorator has made, each with two fields that have a default."""

    @dataclass
    class Plain:
        one: int = 1
        other: list[int] = field(default_factory=list[int])

    @dataclass(frozen=True)
    class Frozen:
        one: int = 1
        other: tuple[int, ...] = ()

    @dataclass(frozen=True)
    class Derived(Frozen):
        third: str = "x"

    @dataclass(frozen=True, eq=False)
    class Identical:
        one: int = 1
        other: int = 2

    @dataclass(frozen=True)
    class PartlyCompared:
        one: int = 1
        other: int = field(default=2, compare=False, repr=False)

    @dataclass(frozen=True)
    class ComparedByItself:
        one: int = 1
        other: int = 2

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self)) and other.one == self.one

        def __repr__(self) -> str:
            return "itself"

    @dataclass(frozen=True)
    class HashedByItself:
        one: int = 1
        other: int = 2

        def __hash__(self) -> int:
            return 7

    @dataclass(frozen=True)
    class Empty:
        pass

    @dataclass
    class Varied(Plain):
        third: int = field(default=3, init=False)
        fourth: list[int] = field(default_factory=list[int], init=False)
        named: tuple[int, ...] = field(default=(), kw_only=True)
        one: int = 7
        shared: ClassVar[list[int]] = []

        def __post_init__(self) -> None:
            self.fourth.append(self.one)

    @dataclass
    class Initialized:
        one: int = 1
        other: InitVar[int] = 2

        def __post_init__(self, other: int) -> None:
            self.one += other

    class Undecorated(Varied):
        pass

    @dataclass(frozen=True)
    class OwnInit:
        one: int = 1
        other: int = 2

        def __init__(self, one: int = 4, other: int = 5) -> None:
            object.__setattr__(self, "one", other)
            object.__setattr__(self, "other", one)

    return [
        *(Plain, Frozen, Derived, Identical, PartlyCompared, ComparedByItself, HashedByItself),
        *(Empty, Varied, Initialized, Undecorated, OwnInit),
    ]


def _behaviour(made: type[Any]) -> dict[str, object]:
    instances = [made()]
    # What the library adds is there before the fields are asked for, and behind that.
    attributes = [sorted(vars(made())), [name for name in ("one", "other") if hasattr(made, name)]]
    names = [each.name for each in dataclasses.fields(made)]
    instances += [made(*values) for values in ((2,), (1, 9))[: len(names)]]
    hashes = [hash(each) if made.__hash__ else None for each in instances]
    return {
        "attributes": attributes,
        "fields": names,
        "values": [sorted(vars(each).items()) for each in instances],
        "refused": [_refused(made, (1, 2, 3, 4)), _refused(made, (), absent=1)],
        "equal": [one == other for one in instances for other in (*instances, made(), 1)],
        "hashes": hashes if made.__hash__ is not object.__hash__ else "by identity",
        "shown": [repr(each).rpartition(".")[2] for each in instances],
        "replaced": [_replaced(each) for each in instances if "one" in names],
        "matched": made.__match_args__,
    }


def _replaced(instance: Any) -> list[object]:
    found: list[object] = []
    for replace in (quick_dataclass.replace, dataclasses.replace):
        try:
            found.append(sorted(vars(replace(instance, one=5)).items()))
        except ValueError as error:  # A field that only `__init__` takes has to be given.
            found.append(str(error))
    return found


def _refused(made: type[Any], values: tuple[int, ...], **named: int) -> str:
    with pytest.raises(TypeError) as error:
        made(*values, **named)
    return str(error.value)


@pytest.mark.parametrize("earlier", [0, quick_dataclass.FEW])
@pytest.mark.parametrize("number", range(12))
def test_a_class_behaves_as_the_librarys(number: int, earlier: int) -> None:
    ours, theirs = (
        _classes(each)[number] for each in (quick_dataclass.dataclass, dataclasses.dataclass)
    )
    for _ in range(earlier):
        ours()
    assert _behaviour(ours) == _behaviour(theirs)


@pytest.mark.parametrize(
    "order", [(True, False), (True, False, True), (False, True), (False, True, False, True)]
)
def test_frozen_classes_derive_from_each_other_whoever_makes_them(order: tuple[bool, ...]) -> None:
    made: type[Any] = object
    for number, ours in enumerate(order):
        dataclass: Decorator = quick_dataclass.dataclass if ours else dataclasses.dataclass
        body = {"__annotations__": {f"field{number}": int}, f"field{number}": number}
        made = dataclass(frozen=True)(type(f"Class{number}", (made,), body))
    instance = made(7)
    assert instance == made(7) and instance != made() and hash(instance) == hash(made(7))
    assert dataclasses.astuple(instance) == (7, *range(1, len(order)))
    with pytest.raises(TypeError, match="non-frozen dataclass from a frozen one"):
        dataclasses.dataclass(type("Changed", (made,), {}))


def test_an_instance_that_holds_itself_is_shown() -> None:
    made = _classes(quick_dataclass.dataclass)[0]()
    made.other = [made]
    assert repr(made).endswith("Plain(one=1, other=[...])")


@quick_dataclass.dataclass(frozen=True)
class _Sent:
    value: int


def test_what_a_fork_sends_is_equal_to_what_it_had() -> None:
    assert pickle.loads(pickle.dumps(_Sent(3))) == _Sent(3)


_CALLS: list[tuple[tuple[int, ...], dict[str, int]]] = [
    ((), {}),
    ((1,), {}),
    ((1, 2, 3), {}),
    ((1, 2), {"third": 3}),
    ((), {"first": 1, "third": 3}),
    ((1,), {"first": 1}),
    ((1,), {"other": 1}),
    ((1,), {"made": 1}),
    ((1,), {"named": 4}),
    ((1, 2, 3, 4), {}),
    ((1,), {"third": 3, "second": 2}),
]


@pytest.mark.parametrize("earlier", [0, quick_dataclass.FEW])
def test_the_first_instances_are_made_as_the_later_ones(earlier: int) -> None:
    def answers(dataclass: Decorator) -> list[str]:
        @dataclass
        class Sized:
            first: int
            second: int = 5
            third: list[int] = field(default_factory=list[int])
            made: list[int] = field(default_factory=lambda: [7], init=False)
            named: int = field(default=6, kw_only=True)

            def __post_init__(self) -> None:
                self.made.append(self.first)

        @dataclass
        class Assigned:
            first: int
            second: int
            third: int = 7

            def __post_init__(self) -> None:
                self.third += self.first

        found: list[str] = []
        for made in (Sized, Assigned):
            for number in range(earlier):
                made(number, number)
            for arguments, named in _CALLS:
                try:
                    found.append(repr(made(*arguments, **named)).rpartition(".")[2])
                except TypeError as error:
                    found.append(type(error).__name__)
        return found

    assert answers(quick_dataclass.dataclass) == answers(dataclasses.dataclass)
