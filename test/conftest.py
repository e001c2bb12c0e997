# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which cases of large tables run by day."""

from __future__ import annotations

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves to the nightly tests what `@pytest.mark.sampled` does not keep.

    Of a table that is every second case, or with `sampled(every=3)` two of three. A grid names its
    parameters, as in `sampled("dtype", "arch")`, and keeps the squares of one colour, so that every
    value stays.
    """
    seen: dict[tuple[str, str], list[object]] = {}
    for item in items:
        sampled = item.get_closest_marker("sampled")
        if sampled is None:
            continue
        assert isinstance(item, pytest.Function)
        function, place = item.nodeid.partition("[")[0], 0
        for name in sampled.args or ("",):
            values = seen.setdefault((function, name), [])
            value = item.callspec.params[name] if name else item.name
            if value not in values:
                values.append(value)
            place += values.index(value)
        if place % sampled.kwargs.get("every", 2):
            item.add_marker(pytest.mark.nightly)
