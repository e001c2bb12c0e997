# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The errors of the bank model: each names the parameter at fault and what is allowed."""

from __future__ import annotations

from collections.abc import Iterator
from operator import index


class InvalidParameterError(ValueError):
    """A parameter has a value that the model cannot give a meaning to."""

    def __init__(self, parameter: str, value: object, allowed: str) -> None:
        super().__init__(f"{parameter} is {value}; allowed: {allowed}")
        self.parameter = parameter
        self.value = value
        self.allowed = allowed


class ProofError(ValueError):
    """A claim of a proof does not hold; the message names it."""


def require_integer(parameter: str, value: object, allowed: str = "integers") -> int:
    """Returns `value` as a number without limits, whatever integer it was.

    Raises:
        InvalidParameterError: it is no integer; `allowed` says what would be.
    """
    try:
        return index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        raise InvalidParameterError(parameter, value, allowed) from None


def make_integers(instance: object) -> None:
    """Makes all fields of a frozen dataclass numbers without limits, before it computes with them.

    It has no other attributes yet.

    NumPy's integers would wrap around, and fractions become places between elements.

    Raises:
        InvalidParameterError: one is no integer; the message names it.
    """
    for name, value in [*vars(instance).items()]:
        object.__setattr__(instance, name, require_integer(name, value))


def require_positive(parameter: str, value: int) -> None:
    """Raises `InvalidParameterError` unless `value` is an integer of at least 1."""
    if require_integer(parameter, value, "integers >= 1") < 1:
        raise InvalidParameterError(parameter, value, "integers >= 1")


def is_power_of_two(value: int) -> bool:
    """Returns whether `value` is 1, 2, 4, 8, ..."""
    return value > 0 and value & (value - 1) == 0


def up_to_power_of_two(value: int) -> int:
    """Returns the smallest power of two that is not below `value`, which is positive."""
    return 1 << (value - 1).bit_length()


def divisors(number: int, most: int | None = None) -> Iterator[int]:
    """Yields the divisors of a positive number, the greatest first, up to `most` if it is given."""
    first = number if most is None else min(number, most)
    return (each for each in range(first, 0, -1) if number % each == 0)


def require_power_of_two(parameter: str, value: int) -> None:
    """Raises `InvalidParameterError` unless `value` is 1, 2, 4, 8, ..."""
    if not is_power_of_two(require_integer(parameter, value, "powers of two")):
        raise InvalidParameterError(parameter, value, "powers of two")
