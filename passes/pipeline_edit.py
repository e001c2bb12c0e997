# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Splicing Python passes into a recorded codegen pipeline, by anchors.

An anchor is the name of a pass in the pipeline. Passes go before it, after it, or in its place:

    PipelineEdit.after("iree-codegen-gpu-vector-alloc", CountTransferReads())
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from importlib import import_module
from typing import Any

from iree.compiler import ir

from ..bank_model.quick_dataclass import dataclass
from ..bank_model.quick_tuple import NamedTuple
from .base import FunctionPass


@dataclass(frozen=True)
class NativePass:
    """A pass of the compiler, by its textual name and options."""

    name: str
    options: str = ""
    """The text between the braces, or empty."""

    @staticmethod
    def parse(text: str) -> NativePass:
        """Reads `name` or `name{options}`."""
        name, _, options = text.partition("{")
        return NativePass(name, " ".join(options.removesuffix("}").split()))

    def __str__(self) -> str:
        return f"{self.name}{{{self.options}}}" if self.options else self.name


class PassClass(NamedTuple):
    """The class of a pass of ours by where it stands: a compile imports it when it first runs.

    Attributes:
        module: its module.
        name: its name.
        textual_name: the name that pipelines have for the pass.
    """

    module: str
    name: str
    textual_name: str

    @staticmethod
    def of(kind: type[FunctionPass]) -> PassClass:
        """Returns where a class stands."""
        return PassClass(kind.__module__, kind.__name__, kind.name)

    @property
    def is_loaded(self) -> bool:
        """Returns whether its module has been imported."""
        return self.module in sys.modules

    def loaded(self) -> type[FunctionPass]:
        """Returns the class."""
        return getattr(import_module(self.module), self.name)


def pass_classes(folder: str, *names: str) -> Iterator[PassClass]:
    """Yields the classes of these names, each in a module of its own in a folder's package.

    The names of the module and of the pass are that of the class: `PadUnhintedAllocs` is
    `bankwise-pad-unhinted-allocs` and stands in `pad_unhinted_allocs`.
    """
    for name in names:
        words = re.sub("(?<=.)([A-Z])", r"-\1", name).lower()
        yield PassClass(f"{folder}.{words.replace('-', '_')}", name, f"bankwise-{words}")


class PlannedPass(NamedTuple):
    """A pass of ours that is part of a pipeline, but not loaded before it runs.

    Attributes:
        kind: its class.
        options: the fields that do not have their usual values, by their names.
    """

    kind: PassClass
    options: tuple[tuple[str, Any], ...] = ()

    @staticmethod
    def of(kind: PassClass, options: Mapping[str, Any]) -> PlannedPass:
        """Plans a pass."""
        return PlannedPass(kind, tuple(options.items()))

    @property
    def name(self) -> str:
        """Returns the name that pipelines have for it."""
        return self.kind.textual_name


PipelineStep = NativePass | FunctionPass | PlannedPass


@cache
def _made(step: PlannedPass) -> FunctionPass:
    return step.kind.loaded()(**dict(step.options))


def made(step: FunctionPass | PlannedPass) -> FunctionPass:
    """Returns a pass of ours, which is loaded from then on."""
    return _made(step) if isinstance(step, PlannedPass) else step


def is_same_pass(step: PipelineStep, other: FunctionPass) -> bool:
    """Returns whether a step is a pass that has run."""
    if isinstance(step, NativePass) or step.name != other.name:
        return False
    return made(step) == other


class Position(Enum):
    """Where the new passes go, seen from the anchor."""

    BEFORE = "before"
    AFTER = "after"
    REPLACE = "replace"


class PipelineEditError(ValueError):
    """An edit whose anchor is missing or not unique, or a plugin that yields no edits."""


CODEGEN_PIPELINES = frozenset({"VectorDistribute", "TileAndFuse"})
COPYING = "Distribute"
"""The pipeline of kernels that copy parts of buffers, which IREE calls `slow_memcpy`, and of those
in which a single lane reduces a whole tensor."""
TILING = "iree-codegen-tile-and-distribute-to-workgroups-using-forall-op"
"""The first pass of these that reads how a function is configured."""
RESOLVE_SWIZZLE_HINTS = "iree-codegen-resolve-swizzle-hints"
"""The pass behind which offsets are final, unless layouts are resolved late."""
LOWERED = "Lowered"
"""The kind of functions that come without a pipeline, lowered to memrefs and vectors already: from
Wave, or written by hand. Of these only the first part of the LLVM lowering is replayed."""


@dataclass(frozen=True)
class PipelineEdit:
    """Passes to splice into every pipeline of the given kinds.

    Attributes:
        anchor: name of the pass to splice at.
        position: before it, after it, or in its place.
        passes: what to insert, in order; empty with `REPLACE` removes the anchor.
        pipelines: the pipeline kinds that the edit is for.
        occurrence: which one, from 0, when the anchor occurs several times; None demands one.
        required: False skips pipelines without the anchor, True makes that an error.
        beside: skips pipelines without the pass of this name, if not empty.
        without: skips pipelines with the pass of this name, if not empty.
        only: tells for which functions, as they are before their pipeline, the edit is made; None
            makes it for all.
        optional: whether a function can do without. Where one of the passes fails, the function's
            pipeline runs again from its beginning without any optional edit.
    """

    anchor: str
    position: Position
    passes: tuple[PipelineStep, ...]
    pipelines: frozenset[str] = CODEGEN_PIPELINES
    occurrence: int | None = None
    required: bool = False
    beside: str = ""
    without: str = ""
    only: Callable[[ir.Operation], bool] | None = None
    optional: bool = False

    @staticmethod
    def before(anchor: str, *passes: PipelineStep, **options: object) -> PipelineEdit:
        """Inserts `passes` before the pass named `anchor`."""
        return PipelineEdit(anchor, Position.BEFORE, passes, **options)  # pyright: ignore[reportArgumentType]

    @staticmethod
    def after(anchor: str, *passes: PipelineStep, **options: object) -> PipelineEdit:
        """Inserts `passes` after the pass named `anchor`."""
        return PipelineEdit(anchor, Position.AFTER, passes, **options)  # pyright: ignore[reportArgumentType]

    @staticmethod
    def replace(anchor: str, *passes: PipelineStep, **options: object) -> PipelineEdit:
        """Puts `passes` in the place of the pass named `anchor`."""
        return PipelineEdit(anchor, Position.REPLACE, passes, **options)  # pyright: ignore[reportArgumentType]

    @property
    def loaded_passes(self) -> tuple[NativePass | FunctionPass, ...]:
        """Returns `passes`, of which ours are loaded from then on."""
        return tuple(each if isinstance(each, NativePass) else made(each) for each in self.passes)

    def check(self) -> None:
        """Makes sure that whoever made the edit gave it passes, and a place that there may be.

        Raises:
            PipelineEditError: one is no pass, or has no name that a pipeline can have; the anchor
                is no name; there is no such kind of pipeline.
        """
        if not (isinstance(self.anchor, str) and self.anchor):
            raise PipelineEditError(f"the anchor of a pipeline edit is {self.anchor!r}, no name")
        kinds = {self.pipelines} if isinstance(self.pipelines, str) else {*self.pipelines}
        if isinstance(self.pipelines, str) or not kinds <= _KINDS:
            unknown = ", ".join(map(repr, kinds - _KINDS)) or "a text"
            raise PipelineEditError(
                f"`pipelines` of a pipeline edit has {unknown}; give a set of some of "
                f"{', '.join(sorted(_KINDS))}"
            )
        for step in self.passes:
            if isinstance(step, FunctionPass):
                _check_names(step)
            elif isinstance(step, type):
                raise PipelineEditError(
                    f"a pipeline edit holds the class {step.__name__}; make a pass of it: "
                    f"{step.__name__}()"
                )
            elif not isinstance(step, (NativePass, PlannedPass)):
                raise PipelineEditError(
                    f"a pipeline edit holds a {type(step).__name__}, which is no pass: the class "
                    "of a pass derives from bankwise.passes.base.FunctionPass"
                )

    def fits(self, names: Sequence[Sequence[str]]) -> bool:
        """Returns whether the edit is made in a pipeline whose stages have these passes."""
        beside = not self.beside or any(self.beside in each for each in names)
        return beside and not any(self.without in each for each in names)

    def apply(self, steps: list[PipelineStep], names: list[str]) -> None:
        """Makes this edit in a pipeline.

        Args:
            names: those of the steps, in which it is made, too.

        Raises:
            PipelineEditError: the anchor is ambiguous, or missing though required.
        """
        count = names.count(self.anchor)
        if not count and not self.required:
            return
        if self.occurrence is None and count != 1:
            raise PipelineEditError(
                f"anchor '{self.anchor}' occurs {count} times in the pipeline; "
                "name a pass that occurs once, or set `occurrence`"
            )
        index = self.occurrence or 0
        if index >= count:
            raise PipelineEditError(f"anchor '{self.anchor}' occurs {count} times, not {index + 1}")
        at = names.index(self.anchor)
        for _ in range(index):
            at = names.index(self.anchor, at + 1)
        start = at + 1 if self.position is Position.AFTER else at
        stop = at + 1 if self.position is Position.REPLACE else start
        steps[start:stop] = self.passes
        names[start:stop] = [each.name for each in self.passes]


_KINDS = {*CODEGEN_PIPELINES, COPYING, LOWERED}
_NAME = re.compile(r"[A-Za-z][\w.-]*")


def _check_names(step: FunctionPass) -> None:
    """Raises PipelineEditError where a pass lacks what lists and pipelines call it."""
    for attribute in ("name", "summary"):
        if not isinstance(getattr(step, attribute, None), str):
            raise PipelineEditError(
                f"the pass {type(step).__name__} has no {attribute}: give its class a text "
                f"`{attribute}`"
            )
    if not _NAME.fullmatch(step.name):
        raise PipelineEditError(
            f"'{step.name}' is no name of a pass: it begins with a letter, and has letters, "
            "digits, '-', '_' and '.'"
        )


def splice(
    stages: Sequence[Sequence[PipelineStep]], edits: Iterable[PipelineEdit], pipeline: str
) -> list[list[PipelineStep]]:
    """Returns the codegen and lowering stages of a pipeline with the edits made in order.

    Only edits for `pipeline` count. An edit goes to the stage that holds its anchor; an anchor in
    both needs an `occurrence`, which then counts within the codegen stage.

    Raises:
        PipelineEditError: an anchor is ambiguous, or missing though required.
    """
    edited = [[*stage] for stage in stages]
    # There are some hundred of each, and to ask a step for its name takes longer than to compare.
    names = [[step.name for step in stage] for stage in edited]
    for edit in edits:
        if pipeline not in edit.pipelines or not edit.fits(names):
            continue
        holders = [number for number, each in enumerate(names) if edit.anchor in each]
        if len(holders) == 2 and edit.occurrence is None:
            raise PipelineEditError(
                f"anchor '{edit.anchor}' occurs in codegen and in the LLVM lowering; "
                "name a pass that occurs once, or set `occurrence`"
            )
        number = holders[0] if holders else 0
        edit.apply(edited[number], names[number])
    return edited
