# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A step of a codegen pipeline: a pass, where it goes, and in which modes. Each room has its table.

`passes/mode.py` says in a line what each mitigation and each level is for. A row of a table says
where a pass goes, and which of them it is part of. The edits of a mode follow from the tables, and
so does what an earlier pass has to know of later ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from iree.compiler import ir

from ..bank_model.quick_dataclass import dataclass
from ..bank_model.quick_tuple import NamedTuple
from ..dialect_utils.lowering_config import multiplies_by_mma_sync
from .base import FunctionPass
from .mode import LEVELLED, LEVELS, Mode
from .pipeline_edit import CODEGEN_PIPELINES, PassClass, PipelineEdit, PlannedPass, Position

STOCK_PAD_PASS = "iree-codegen-gpu-reduce-bank-conflicts"
ABSORB = "iree-codegen-absorb-swizzle-hint-to-alloc"
CONVOLUTION_TO_IGEMM = "iree-codegen-convolution-to-igemm"
_MAY_BE_MISSING = (STOCK_PAD_PASS, ABSORB, CONVOLUTION_TO_IGEMM)
"""A kernel may have the padding switched off, only pipelines that prefetch stow hints, and only
some convolutions become products of matrices."""

AUTO, SWIZZLE, PAD, NONE = (frozenset({name}) for name in ("auto", "swizzle", "pad", "none"))
SWIZZLING = frozenset(LEVELLED)
COUNTED = SWIZZLING | PAD
"""The mitigations whose layouts are compared with stock's."""
ALL = COUNTED | NONE
"""All mitigations of ours: what is wrong in stock is right in each of them."""


PassKind = PassClass | type[FunctionPass]
"""A pass of ours, or another one, whose class is there."""


class Place(NamedTuple):
    """Where passes go in the pipelines of some kinds.

    Attributes:
        before: a pass of another room, before whose step at the anchor they go; None lets them go
            behind all of the other room's steps.
    """

    position: Position
    anchor: str
    pipelines: frozenset[str] = CODEGEN_PIPELINES
    before: PassKind | None = None


class Setting(NamedTuple):
    """What the options of a pass depend on.

    Attributes:
        mode: the mode of the compile.
        kinds: the passes that are part of the mode.
        stock_pads: whether the pipeline pads allocations, unless something takes the place of that.
    """

    mode: Mode
    kinds: frozenset[PassKind | None]
    stock_pads: bool

    def reaches(self, level: str) -> bool:
        """Returns whether the mode does what a level does."""
        return reaches(self.mode, level)


Options = Callable[[Setting], Mapping[str, Any] | None]


@dataclass(frozen=True)
class Step:
    """A pass, where it goes, and when.

    Attributes:
        place: where it goes; steps of the same place run in the order of the table.
        kind: the pass. None puts nothing in the place of the anchor.
        options: the fields of the pass that do not have their usual values, or a function that
            returns them; None for no pass.
        mitigations: those that it is part of.
        since: the first level that it is part of; it is part of the later ones too.
        by_mma_sync: whether it is for functions that multiply by `mma.sync`, or for all others.
            None says for all. Where no step of a mode is for the former, they count as others.
        only: tells for which functions it is, where that is another question.
        stock_pads: whether it is for pipelines that pad allocations, or for those that do not. None
            says for both.
        optional: whether a function can do without it in all modes. In the mode `auto` it can do
            without most of them; what other modes are asked for by name is done, or is an error.
        corrects: whether outputs would be wrong without it, so that no function does.
    """

    place: Place
    kind: PassKind | None
    options: Options | Mapping[str, Any] = field(default_factory=dict)
    mitigations: frozenset[str] = SWIZZLING
    since: str = "layout"
    by_mma_sync: bool | None = None
    only: Callable[[ir.Operation], bool] | None = None
    stock_pads: bool | None = None
    optional: bool = False
    corrects: bool = False

    def is_part_of(self, mode: Mode) -> bool:
        """Returns whether a mode has the step."""
        return mode.mitigation in self.mitigations and reaches(mode, self.since)

    def edits(
        self, mode: Mode, kinds: frozenset[PassKind | None], *, tells_apart: bool
    ) -> Iterator[PipelineEdit]:
        """Yields the edits that make the step.

        Args:
            kinds: the passes that are part of the mode.
            tells_apart: whether functions that multiply by `mma.sync` have steps of their own.
        """
        only = self.only
        if tells_apart and only is None:
            only = _multiplying(self.by_mma_sync)
        settings = [
            Setting(mode, kinds, pads) for pads in (True, False) if self.stock_pads in (None, pads)
        ]
        made = {each.stock_pads: self._passes(each) for each in settings}
        depends = len({*made.values()}) > 1 or len(made) == 1
        for pads, passes in made.items() if depends else [*made.items()][:1]:
            if passes is not None:
                yield PipelineEdit(
                    self.place.anchor,
                    self.place.position,
                    passes,
                    self.place.pipelines,
                    required=self.place.anchor not in _MAY_BE_MISSING,
                    beside=STOCK_PAD_PASS if depends and pads else "",
                    without=STOCK_PAD_PASS if depends and not pads else "",
                    only=only,
                    optional=not self.corrects and (self.optional or mode.mitigation == "auto"),
                )

    def _passes(self, setting: Setting) -> tuple[FunctionPass | PlannedPass, ...] | None:
        """Returns what goes to the place; None where the place stays as it is."""
        if self.kind is None:
            return ()
        options = self.options(setting) if callable(self.options) else self.options
        if options is None:
            return None
        if isinstance(self.kind, PassClass):
            return (PlannedPass.of(self.kind, options),)
        return (self.kind(**options),)


def _multiplying(by_mma_sync: bool | None) -> Callable[[ir.Operation], bool] | None:
    """Returns what tells the functions that multiply by `mma.sync`, or those that do not.

    Args:
        by_mma_sync: which of them; None for all functions, about which nothing is to be told.
    """
    return None if by_mma_sync is None else _MULTIPLYING[by_mma_sync]


def _multiplies_otherwise(function: ir.Operation) -> bool:
    return not multiplies_by_mma_sync(function)


_MULTIPLYING = {True: multiplies_by_mma_sync, False: _multiplies_otherwise}


def reaches(mode: Mode, level: str) -> bool:
    """Returns whether a mode does what a level does."""
    ranks = {name: rank for rank, name in enumerate(LEVELS)}
    return ranks[mode.level] >= ranks[level]


def joined(tables: Iterable[Sequence[Step]]) -> tuple[Step, ...]:
    """Returns the steps of several rooms in one table, those of a later room where they say."""
    steps: list[Step] = []
    for table in tables:
        others = tuple(steps)
        for step in table:
            behind = next((each for each in others if _is_behind(each, step)), None)
            steps.insert(len(steps) if behind is None else steps.index(behind), step)
    return tuple(steps)


def _is_behind(other: Step, step: Step) -> bool:
    """Returns whether a step goes before one of another room, at the anchor of both."""
    one, two = step.place, other.place
    same = (one.position, one.anchor) == (two.position, two.anchor)
    return one.before is not None and other.kind == one.before and same


def edits_of(steps: Sequence[Step], mode: Mode) -> list[PipelineEdit]:
    """Returns the edits that a table makes in a mode, in the order in which they are made."""
    steps = [each for each in steps if each.is_part_of(mode)]
    kinds = frozenset(each.kind for each in steps)
    tells_apart = any(step.by_mma_sync for step in steps)
    before, after, instead = (
        [each for each in steps if each.place.position is position]
        for position in (Position.BEFORE, Position.AFTER, Position.REPLACE)
    )
    # Each edit puts its passes next to the anchor, which has to be there still.
    made = (*before, *reversed(after), *instead)
    return [edit for step in made for edit in step.edits(mode, kinds, tells_apart=tells_apart)]
