# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every pass of the level `layout`, one line each, and what pipelines can name beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import MappingProxyType

from ..bank_model.quick_tuple import NamedTuple
from ..bank_model.shown_text import did_you_mean
from .base import FunctionPass
from .layout_steps import (
    AbsorbSwizzleHints,
    AlignLdsAccesses,
    CountExchanges,
    CountStockLayouts,
    FlattenSwizzleHints,
    HintVectorAllocs,
    JoinLdsAccesses,
    PadUnhintedAllocs,
    ReinsertSwizzleHints,
    ResolveSwizzleHints,
    SwizzleLdsAllocs,
    VerifyLdsConflicts,
    WarnUnhintedAllocs,
)
from .pipeline_edit import PassClass, pass_classes

AllocateAttributions, AttributeAllocations = pass_classes(
    f"{__package__}.swizzles", "AllocateAttributions", "AttributeAllocations"
)

PASSES: tuple[PassClass, ...] = (
    HintVectorAllocs,
    JoinLdsAccesses,
    SwizzleLdsAllocs,
    FlattenSwizzleHints,
    CountStockLayouts,
    PadUnhintedAllocs,
    WarnUnhintedAllocs,
    AllocateAttributions,
    AttributeAllocations,
    AbsorbSwizzleHints,
    ReinsertSwizzleHints,
    ResolveSwizzleHints,
    AlignLdsAccesses,
    CountExchanges,
    VerifyLdsConflicts,
)
"""The passes in the order of a compile."""


@cache
def layout_passes() -> tuple[type[FunctionPass], ...]:
    """Returns the passes, which are loaded from then on, in the order of a compile."""
    return tuple(each.loaded() for each in PASSES)


class NamedPipeline(NamedTuple):
    """Passes, ours and the compiler's, that one name stands for; they run on every function."""

    summary: str
    steps: tuple[str, ...]


PIPELINES: Mapping[str, NamedPipeline] = MappingProxyType(
    {
        "bankwise-layouts": NamedPipeline(
            "swizzle LDS so that it has no bank conflicts: swizzle, flatten, fold, resolve",
            (
                AllocateAttributions.textual_name,
                f"{SwizzleLdsAllocs.textual_name}{{warns}}",
                FlattenSwizzleHints.textual_name,
                "iree-codegen-fold-memref-alias-ops",
                "canonicalize",
                "cse",
                ResolveSwizzleHints.textual_name,
                AttributeAllocations.textual_name,
                "canonicalize",
                "cse",
            ),
        )
    }
)
"""The pipelines by their textual names."""


class PassNameError(ValueError):
    """A contributed pass that has the name of another one."""


class UnknownPassError(ValueError):
    """A name of the `bankwise-` family that no pass has."""


_contributed: dict[str, type[FunctionPass]] = {}
"""The passes that are not ours, by name."""
_rooms: list[Callable[[], tuple[type[FunctionPass], ...]]] = [layout_passes]
"""What returns the passes of each room of ours."""


def contribute_passes(kinds: Iterable[type[FunctionPass]]) -> None:
    """Lets pipelines name passes that are not ours, too.

    Raises:
        PassNameError: another pass has the name of one of them.
    """
    for kind in kinds:
        known = registered_passes().get(kind.name)
        if known is kind:
            continue
        if known is not None or kind.name in PIPELINES:
            raise PassNameError(f"'{kind.name}' is the name of another pass")
        _contributed[kind.name] = kind


def register_room(load_passes: Callable[[], tuple[type[FunctionPass], ...]]) -> None:
    """Lets pipelines name the passes of another room of Bankwise.

    Args:
        load_passes: returns them; it is called when a pass is looked for.
    """
    _rooms.append(load_passes)


def contributed_passes() -> dict[str, type[FunctionPass]]:
    """Returns the passes that are not ours, by their textual names."""
    return dict(_contributed)


def registered_passes() -> dict[str, type[FunctionPass]]:
    """Returns the passes by their textual names: a room behind the other, then those of plugins."""
    ours = {each.name: each for load_passes in _rooms for each in load_passes()}
    return ours | _contributed


def make_pass(name: str, options: str) -> FunctionPass:
    """Makes the pass `name` with textual options.

    Raises:
        UnknownPassError: no pass has this name; the message suggests the closest ones.
        PassOptionError: an unknown option or a value of the wrong kind.
    """
    passes = registered_passes()
    if name not in passes:
        hint = did_you_mean(name, [*passes, *PIPELINES])
        raise UnknownPassError(f"'{name}' does not refer to a registered pass{hint}")
    return passes[name].from_options(options)
