# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What runs by day: which cases of large tables, and how many examples of a property."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from hypothesis import is_hypothesis_test, settings

from bankwise.test.tool_server import ToolServer, tool_server

SHARE_BY_DAY = 4
"""By day a property is tried on this part of its examples: on a quarter of them."""
FEWEST = 5
"""So many examples are tried in any case, if the property asks for as many."""


@pytest.fixture(scope="session")
def server() -> Iterator[ToolServer]:
    """Yields what runs the tools in forks, because half of a short run would be imports."""
    with tool_server() as started:
        yield started


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Keeps what was imported and collected out of what the garbage collector looks through."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Lets it look through all again, because MLIR's bindings tell what is left at the end."""
    gc.unfreeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Makes what takes long a matter of the night."""
    leave_cases_to_the_night(items)
    if config.option.markexpr == "not nightly":
        for item in items:
            if isinstance(item, pytest.Function) and is_hypothesis_test(item.obj):
                try_fewer_examples(item)


def try_fewer_examples(item: pytest.Function) -> None:
    """Tries few examples, and always the same ones: what is new is looked for by night.

    So a commit that passed passes again, and a failure of the day is the commit's own.
    """
    # Hypothesis's own plugin for pytest reads the settings of a test there.
    given = item.obj._hypothesis_internal_use_settings
    few = max(given.max_examples // SHARE_BY_DAY, min(given.max_examples, FEWEST))
    function = getattr(item.obj, "__func__", item.obj)
    function._hypothesis_internal_use_settings = settings(given, max_examples=few, derandomize=True)


def leave_cases_to_the_night(items: list[pytest.Item]) -> None:
    """Leaves to the nightly tests what `@pytest.mark.sampled` does not keep.

    Of a table the first of eight cases stays, or with `sampled(every=n)` the first of n. A grid
    names its parameters, as in `sampled("dtype", "arch")`, and keeps every eighth diagonal, or
    with `every=n` every n-th.
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
        if place % sampled.kwargs.get("every", 8):
            item.add_marker(pytest.mark.nightly)
