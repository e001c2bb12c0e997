# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The errors of the bank model: each names the parameter at fault and what is allowed."""

from __future__ import annotations


class InvalidParameterError(ValueError):
    """A parameter has a value that the model cannot give a meaning to."""

    def __init__(self, parameter: str, value: object, allowed: str) -> None:
        super().__init__(f"{parameter} is {value}; allowed: {allowed}")
        self.parameter = parameter
        self.value = value
        self.allowed = allowed


class ProofError(ValueError):
    """A claim of a proof does not hold; the message names it."""


def require_positive(parameter: str, value: int) -> None:
    """Raises `InvalidParameterError` unless `value` is an integer of at least 1."""
    if value < 1:
        raise InvalidParameterError(parameter, value, "integers >= 1")


def is_power_of_two(value: int) -> bool:
    """Returns whether `value` is 1, 2, 4, 8, ..."""
    return value > 0 and value & (value - 1) == 0


def require_power_of_two(parameter: str, value: int) -> None:
    """Raises `InvalidParameterError` unless `value` is 1, 2, 4, 8, ..."""
    if not is_power_of_two(value):
        raise InvalidParameterError(parameter, value, "powers of two")
