# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Property tests with few examples by day, and more by night."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings

Check = Callable[..., None]


def examples(
    few: int, many: int, given: Callable[[Check], Check], **options: Any
) -> Callable[[Check], Check]:
    """Returns what makes a test of a check of examples.

    Args:
        few, many: how many examples are tried by day and by night.
        given: says what examples are, as Hypothesis's `given` returns it.
        options: those of Hypothesis's settings.
    """

    def made(check: Check) -> Check:
        @pytest.mark.parametrize("number", [few, pytest.param(many, marks=pytest.mark.nightly)])
        def test(number: int) -> None:
            settings(max_examples=number, deadline=None, **options)(given(check))()

        test.__doc__ = check.__doc__
        return test

    return made
