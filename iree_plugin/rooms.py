# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rooms whose passes a compile runs: the layouts of tiles, and tuning where it is there.

The package `bankwise.tuning` can be left out. Then the level `layout` compiles, and the other
levels are refused. It is no plugin of the entry points' group `bankwise.plugins`: to ask for those
is slow (`plugins.py`), and a checkout that is not installed has none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..bank_model.quick_tuple import NamedTuple
from ..passes.mode import LEVELLED, LEVELS, Mode

if TYPE_CHECKING:
    from iree.compiler import ir

    from ..passes.base import FunctionPass, PassContext
    from ..passes.steps import Step
    from ..tuning.advice import Advice

TUNING = __name__.replace(".iree_plugin.rooms", ".tuning")


class Room(NamedTuple):
    """A room with passes.

    Attributes:
        name: its folder.
        levels: the levels that its passes are for.
        load_passes: imports its passes, and returns them in the order of a compile.
        steps: where they go.
        advise: says what a configured function would gain from another level.
        may_advise: whether it may have something to say, by a short look at the function.
    """

    name: str
    levels: tuple[str, ...]
    load_passes: Callable[[], tuple[type[FunctionPass], ...]]
    steps: tuple[Step, ...]
    advise: Callable[[ir.Operation, str, Mode, PassContext], Advice | None] = lambda *_: None
    may_advise: Callable[[ir.Operation, Mode], bool] = lambda *_: False

    @property
    def passes(self) -> tuple[type[FunctionPass], ...]:
        """Returns its passes. A compile loads only those that it runs."""
        return self.load_passes()


@cache
def has_tuning() -> bool:
    """Returns whether the package `bankwise.tuning` can be imported."""
    return find_spec(TUNING) is not None


@cache
def rooms_of() -> tuple[Room, ...]:
    """Returns the rooms that are there. Pipelines can name their passes from then on."""
    from ..passes.layout_steps import STEPS
    from ..passes.registry import layout_passes, register_room

    layout, *others = LEVELS
    rooms = [Room("passes", (layout,), layout_passes, STEPS)]
    if has_tuning():
        from ..tuning.tuning_steps import STEPS as TUNING_STEPS

        register_room(_tuning_passes)
        rooms.append(
            Room("tuning", tuple(others), _tuning_passes, TUNING_STEPS, _advise, _may_advise)
        )
    return tuple(rooms)


def _tuning_passes() -> tuple[type[FunctionPass], ...]:
    from ..tuning.tuning_passes import PASSES

    return PASSES


def _may_advise(function: ir.Operation, mode: Mode) -> bool:
    if mode.mitigation not in LEVELLED or mode.level == [*LEVELS][-1]:
        return False  # Nothing is above the last level.
    from ..tuning.may_gain import may_gain

    return may_gain(function)


def _advise(function: ir.Operation, name: str, mode: Mode, context: PassContext) -> Advice | None:
    from ..tuning.advice import advise

    return advise(function, name, mode, context)


def missing_room(mode: Mode) -> str:
    """Returns why a mode cannot be compiled by the rooms that are there; empty if it can be."""
    if mode.mitigation not in LEVELLED or mode.level == next(iter(LEVELS)) or has_tuning():
        return ""
    return (
        f"--bankwise-level={mode.level} needs the package {TUNING}, which is not installed; "
        f"--bankwise-level={next(iter(LEVELS))} does without it"
    )
