# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every pass of the level `layout`, one line each, and what pipelines can name beside them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from .accesses.align_lds_accesses import AlignLdsAccesses
from .accesses.join_lds_accesses import JoinLdsAccesses
from .accesses.verify_lds_conflicts import VerifyLdsConflicts
from .base import FunctionPass
from .padding.count_stock_layouts import CountStockLayouts
from .padding.pad_unhinted_allocs import PadUnhintedAllocs
from .padding.warn_unhinted_allocs import WarnUnhintedAllocs
from .swizzles.absorb_swizzle_hints import AbsorbSwizzleHints
from .swizzles.allocate_attributions import AllocateAttributions
from .swizzles.attribute_allocations import AttributeAllocations
from .swizzles.flatten_swizzle_hints import FlattenSwizzleHints
from .swizzles.hint_vector_allocs import HintVectorAllocs
from .swizzles.reinsert_swizzle_hints import ReinsertSwizzleHints
from .swizzles.resolve_swizzle_hints import ResolveSwizzleHints
from .swizzles.swizzle_lds_allocs import SwizzleLdsAllocs

PASSES: tuple[type[FunctionPass], ...] = (
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
    VerifyLdsConflicts,
)
"""The passes in the order of a compile."""


class NamedPipeline(NamedTuple):
    """Passes, ours and the compiler's, that one name stands for; they run on every function."""

    summary: str
    steps: tuple[str, ...]


PIPELINES: Mapping[str, NamedPipeline] = MappingProxyType(
    {
        "bankwise-layouts": NamedPipeline(
            "swizzle LDS so that it has no bank conflicts: swizzle, flatten, fold, resolve",
            (
                AllocateAttributions.name,
                f"{SwizzleLdsAllocs.name}{{warns}}",
                FlattenSwizzleHints.name,
                "iree-codegen-fold-memref-alias-ops",
                "canonicalize",
                "cse",
                ResolveSwizzleHints.name,
                AttributeAllocations.name,
                "canonicalize",
                "cse",
            ),
        )
    }
)
"""The pipelines by their textual names."""


_NEARLY = 0.05
"""How much less alike than the closest name another one may be that is suggested beside it."""


class PassNameError(ValueError):
    """A contributed pass that has the name of another one, or one that no pipeline can have."""


class UnknownPassError(ValueError):
    """A name of the `bankwise-` family that no pass has."""


_others: dict[str, tuple[type[FunctionPass], bool]] = {}
"""The passes beside those of this room, by name, and whether somebody else has contributed one."""
_NAME = re.compile(r"[A-Za-z][\w.-]*")


def contribute_passes(kinds: Iterable[type[FunctionPass]]) -> None:
    """Lets pipelines name passes that are not ours, too.

    Raises:
        PassNameError: another pass has the name of one of them, or it is no name.
    """
    for kind in kinds:
        known = registered_passes().get(kind.name)
        if known is kind:
            continue
        if known is not None or kind.name in PIPELINES:
            raise PassNameError(f"'{kind.name}' is the name of another pass")
        if not _NAME.fullmatch(kind.name):
            raise PassNameError(f"'{kind.name}' is no name of a pass")
        _others[kind.name] = kind, True


def register_passes(kinds: Iterable[type[FunctionPass]]) -> None:
    """Lets pipelines name the passes of another room of Bankwise."""
    _others.update({each.name: (each, False) for each in kinds})


def contributed_passes() -> dict[str, type[FunctionPass]]:
    """Returns the passes that are not ours, by their textual names."""
    return {name: kind for name, (kind, contributed) in _others.items() if contributed}


def registered_passes() -> dict[str, type[FunctionPass]]:
    """Returns the passes by their textual names: a room behind the other, then those of plugins."""
    rooms = (*PASSES, *(kind for kind, contributed in _others.values() if not contributed))
    return {each.name: each for each in rooms} | contributed_passes()


def make_pass(name: str, options: str) -> FunctionPass:
    """Makes the pass `name` with textual options.

    Raises:
        UnknownPassError: no pass has this name; the message suggests the closest ones.
        PassOptionError: an unknown option or a value of the wrong kind.
    """
    passes = registered_passes()
    if name not in passes:
        close = " or ".join(f"'{each}'" for each in _closest(name, [*passes, *PIPELINES]))
        hint = f"; did you mean {close}?" if close else ""
        raise UnknownPassError(f"'{name}' does not refer to a registered pass{hint}")
    return passes[name].from_options(options)


def _closest(name: str, passes: Iterable[str]) -> list[str]:
    """Returns the closest name of a pass, and the next one if it is nearly as close."""
    close = difflib.get_close_matches(name, passes, n=2)
    ratios = [difflib.SequenceMatcher(None, each, name).ratio() for each in close]
    return [each for each, ratio in zip(close, ratios, strict=True) if ratio > ratios[0] - _NEARLY]
