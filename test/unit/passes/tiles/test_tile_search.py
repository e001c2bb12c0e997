# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which of some compiled tiles `bankwise-retile` takes, whoever predicts their times."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from iree.compiler import ir

from bankwise.dialect_utils.diagnostics import Refusal
from bankwise.passes.base import PassOptionError
from bankwise.passes.decisions import Action
from bankwise.passes.tile_times import AnyTile, TileTime
from bankwise.passes.tiles.retile import Retile, RetileMode

from ...functions import PassRun, parse, run
from .configured_kernels import AttentionIr

AMD = AttentionIr(arch="gfx942")
SEARCH = Retile(RetileMode.SEARCH)


class Times:
    """Predicts given times, in the order in which tiles are asked for."""

    def __init__(self, *times: float | str, ratio: float = 1.1) -> None:
        self.times = times
        self.ratio = ratio
        self.asked: list[AnyTile] = []

    def __call__(
        self, function: ir.Operation, tiles: Sequence[AnyTile]
    ) -> list[TileTime | Refusal]:
        self.asked += tiles
        return [
            Refusal(each) if isinstance(each, str) else TileTime(each, self.ratio)
            for each in self.times[: len(tiles)]
        ]


def searched(
    times: Times | None, kernel: AttentionIr = AMD, configured: str = ""
) -> tuple[str, PassRun]:
    """Returns the function that a search makes of a kernel, and what was recorded."""
    parsed = parse(kernel.text())
    found = run(parsed, SEARCH, tile_times=times, configured=configured)
    return str(parsed), found


def as_auto(kernel: AttentionIr = AMD) -> str:
    parsed = parse(kernel.text())
    run(parsed, Retile())
    return str(parsed)


def test_the_first_tiles_are_those_of_auto_and_of_iree() -> None:
    times = Times(50.0, 60.0, 50.0, 50.0)
    text, found = searched(times)
    usual, iree, *others = times.asked
    assert len(times.asked) == len({*times.asked}) == 4 and others
    assert found.decision.detail == str(usual) and "64 rows x 32 columns" in str(iree)
    assert text == as_auto() != str(parse(AMD.text()))


@pytest.mark.parametrize(("time", "is_taken"), [(45.0, True), (46.0, False)])
def test_another_tile_is_taken_beyond_the_error_of_ratios(time: float, is_taken: bool) -> None:
    times = Times(50.0, 60.0, 50.0, time)
    text, found = searched(times)
    assert found.decision.action is Action.RETILE
    assert found.decision.detail == str(times.asked[3 if is_taken else 0])
    assert (text != as_auto()) == is_taken
    assert f"{times.asked[3]}" in found.decision.reason and f"{time} us" in found.messages[-1]
    assert len(found.context.tuned) == 1


def test_iree_s_tile_stays_where_it_is_the_fastest() -> None:
    text, found = searched(Times(50.0, 30.0, 50.0, "it does not compile"))
    assert text == str(parse(AMD.text()))
    assert found.decision.action is Action.KEEP and not found.context.tuned
    assert ": it does not compile" in found.decision.reason


@pytest.mark.parametrize(
    ("times", "configured", "why"),
    [
        (Times("it does not compile", 30.0, 30.0, 30.0), "", "it does not compile"),
        (Times(50.0, 30.0, 30.0, 30.0), "a flag is given", "a flag is given"),
        (None, "", "no compiled kernel for this GPU is predicted here"),
    ],
)
def test_where_nothing_is_known_the_tile_is_that_of_auto(
    times: Times | None, configured: str, why: str
) -> None:
    parsed = parse(AMD.text())
    run(parsed, Retile(), configured=configured)
    text, found = searched(times, configured=configured)
    assert text == str(parsed)
    assert found.messages[0] == f"no tiles are searched: {why}"


def test_gpus_without_an_emulator_are_not_searched() -> None:
    times, kernel = Times(), AttentionIr()
    text, found = searched(times, kernel)
    assert text == as_auto(kernel) and not times.asked
    assert found.messages[0].startswith("no tiles are searched")


def test_at_least_one_tile_is_compiled() -> None:
    with pytest.raises(PassOptionError, match="candidates"):
        Retile(candidates=0)
