# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The shapes of swept kernels as the axis of a plot: their order, and labels in levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

_SIZES: Mapping[str, Sequence[str]] = {
    "attention": ("batch", "sequence (k: 1024)", "head size"),
    "matmul": ("M", "N", "K"),
}
"""What the sizes in the names of each family's kernels are."""
_GROUPED_BY: Mapping[str, Sequence[str]] = {
    "attention": ("sequence (k: 1024)", "batch", "head size"),
}
"""The levels of a family's axis, from the innermost one on."""
_LONGEST = 28
"""The most letters of a kernel's name that are shown."""


@dataclass(frozen=True)
class Span:
    """Neighbouring places of the axis that share a label, from `first` to `last`."""

    label: str
    first: int
    last: int


@dataclass(frozen=True)
class Level:
    """A line of labels under the axis; `name` says what they are."""

    name: str
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class ShapeAxis:
    """An axis with a place for each kernel.

    Attributes:
        family: `attention` or `matmul`; empty where kernels are of several families or of none.
        kernels: the kernels' names, in their places.
        levels: the labels, the innermost level first, which has one for each kernel.
    """

    family: str
    kernels: tuple[str, ...]
    levels: tuple[Level, ...]

    @staticmethod
    def of(kernels: Mapping[str, int]) -> ShapeAxis:
        """Returns the axis of some kernels, of which their work in operations is known.

        Families with levels are in the order of these, others in the order of their work.
        """
        families = {_parts(kernel)[0] for kernel in kernels}
        family = families.pop() if len(families) == 1 else ""
        if family not in _GROUPED_BY:
            ordered = tuple(sorted(kernels, key=lambda kernel: kernels[kernel]))
            sizes = " x ".join(_SIZES[family]) if family else "kernel"
            labels = [_shortened(kernel.removeprefix(f"{family}_")) for kernel in ordered]
            return ShapeAxis(family, ordered, (_level(f"{sizes}, by work", labels),))
        names = _GROUPED_BY[family]
        sizes_of = {k: dict(zip(_SIZES[family], _parts(k)[1], strict=True)) for k in kernels}
        outer_first = [*reversed(names)]
        places = sorted(kernels, key=lambda k: [sizes_of[k][name] for name in outer_first])
        levels = [
            # Spans of a level end where those of the levels around it end.
            _level(name, [tuple(sizes_of[k][n] for n in names[depth:]) for k in places], size_text)
            for depth, name in enumerate(names)
        ]
        return ShapeAxis(family, tuple(places), tuple(levels))


def size_text(sizes: Sequence[int]) -> str:
    """Returns the first of some sizes, in multiples of 1024 (`k`) where it is one."""
    size = sizes[0]
    return f"{size // 1024}k" if size % 1024 == 0 else str(size)


def _level(name: str, keys: Sequence[Any], text: Callable[[Any], str] = str) -> Level:
    spans: list[Span] = []
    for key, run in groupby(enumerate(keys), key=lambda place: place[1]):
        places = [place for place, _ in run]
        spans.append(Span(text(key), places[0], places[-1]))
    return Level(name, tuple(spans))


def _parts(kernel: str) -> tuple[str, tuple[int, ...]]:
    """Returns the family of a kernel, and its sizes; nothing where it is none of `_SIZES`."""
    family, _, text = kernel.partition("_")
    sizes = text.split("x")
    if len(sizes) == len(_SIZES.get(family, ())) and all(map(str.isdecimal, sizes)):
        return family, tuple(map(int, sizes))
    return "", ()


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST else f"...{name[3 - _LONGEST :]}"
