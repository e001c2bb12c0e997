# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""When the waves of a workgroup issue, and for what they wait, as an SVG picture.

The whole workgroup is drawn first, a row for each wave. It has more instructions than a page has
pixels, so that each column shows what some cycles are spent on. Below it a stretch from the middle
is enlarged, in which every wait can be seen. The picture is drawn with classes; its colours for
text and paper are variables of the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from html import escape
from itertools import count, groupby

import numpy as np
import numpy.typing as npt

from ..assembly import Kernel
from ..counters import instruction_class
from .prediction import Prediction
from .reasons import LABELS, Reason
from .wave_spans import Span, wave_spans

_LEFT, _PLOT, _RIGHT = 62, 880, 18
"""The widths of what is left of the rows, of the rows, and right of them, in pixels."""
_WIDTH = _LEFT + _PLOT + _RIGHT
_COLUMN = 4
"""The width of a column of the whole workgroup."""
_ROW, _GAP, _TEXT = 22, 4, 18
_ENLARGED, _MOST_ENLARGED = 1500, 5000
"""The cycles that are enlarged: whole steps of the loop, if they are no longer than the second."""


class Doing(Enum):
    """What a wave is drawn to do: the class of its colour, and what the legend says."""

    ISSUE = "issue", "issue an instruction"
    MATRIX = "matrix", "matrix (MFMA): issue, or wait for its unit or result"
    LDS = "lds", "wait for the LDS (lgkmcnt, its queue)"
    MEMORY = "memory", "wait for vector memory (vmcnt, its path)"
    BARRIER = "barrier", "wait at a barrier for other waves"
    OTHER = "other", "wait for code, vector or scalar results"

    @property
    def style(self) -> str:
        """Returns the class of its colour."""
        return self.value[0]


_OF_REASON: Mapping[Reason, Doing] = {
    Reason.ISSUE: Doing.ISSUE,
    Reason.MATRIX_RESULT: Doing.MATRIX,
    Reason.MATRIX_UNIT: Doing.MATRIX,
    Reason.LDS_QUEUE: Doing.LDS,
    Reason.LDS_WAIT: Doing.LDS,
    Reason.MEMORY_QUEUE: Doing.MEMORY,
    Reason.MEMORY_WAIT: Doing.MEMORY,
    Reason.BARRIER: Doing.BARRIER,
}
_PLACES = {doing: place for place, doing in enumerate(Doing)}
_STYLE = """\
text { font: 12px system-ui, sans-serif; fill: var(--ink); }
.title { font-size: 15px; font-weight: 600; }
.soft { fill: var(--soft); } .end { text-anchor: end; } .middle { text-anchor: middle; }
.bed { fill: var(--head); } .tick { stroke: var(--line); }
.frame { fill: none; stroke: var(--ink); stroke-width: 1.5; }
.issue { fill: #0072b2; } .matrix { fill: #009e73; } .lds { fill: #e69f00; }
.memory { fill: #d55e00; } .barrier { fill: #cc79a7; } .other { fill: #8c959f; }
"""


@dataclass(frozen=True)
class _Waves:
    """The waves of a dispatch's first workgroup.

    Attributes:
        spans: those of each wave.
        step: a stretch of cycles in the middle, of whole steps of the loop where there is one.
        steps: how many steps of the loop are in it.
    """

    kernel: Kernel
    predicted: Prediction
    spans: tuple[tuple[Span, ...], ...]
    step: tuple[int, int]
    steps: int

    @staticmethod
    def of(kernel: Kernel, predicted: Prediction) -> _Waves:
        """Returns the waves of a prediction."""
        waves = range(len(predicted.instructions))
        spans = tuple(tuple(wave_spans(kernel, predicted, wave)) for wave in waves)
        return _Waves(kernel, predicted, spans, *_enlarged(predicted))

    @property
    def begin(self) -> int:
        """Returns when the first wave issues."""
        return min(spans[0].start for spans in self.spans)

    @property
    def end(self) -> int:
        """Returns when the last wave ends."""
        return max(spans[-1].stop for spans in self.spans)

    def doing(self, span: Span) -> Doing:
        """Returns what a wave does in a span."""
        instruction = self.kernel.instructions[span.index]
        if span.reason is Reason.ISSUE and instruction_class(instruction) == "MFMA":
            return Doing.MATRIX
        return _OF_REASON.get(span.reason, Doing.OTHER)

    def parts(self, wave: int, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Returns [columns, doings], the cycles between neighbouring edges spent on each."""
        spans = self.spans[wave]
        places = np.array([_PLACES[self.doing(span)] for span in spans])
        bounds = np.array([spans[0].start, *(span.stop for span in spans)], np.float64)
        found = np.zeros((len(edges) - 1, len(Doing)))
        for place in range(len(Doing)):
            spent = np.concatenate(
                [[0.0], np.cumsum(np.where(places == place, np.diff(bounds), 0))]
            )
            found[:, place] = np.diff(np.interp(edges, bounds, spent))
        return found


def _enlarged(predicted: Prediction) -> tuple[tuple[int, int], int]:
    """Returns the stretch to enlarge, and how many steps of a loop it has; 0 where none repeats.

    A loop's step begins with the instruction that the first wave executes most often.
    """
    executed = predicted.instructions[0]
    issued = predicted.issued[0, : len(executed)]
    numbers, firsts, counts = np.unique(executed, return_index=True, return_counts=True)
    most = counts == counts.max()
    number = numbers[most][firsts[most].argmin()]
    starts = issued[executed == number]
    if len(starts) < 3:
        middle = int(issued[len(issued) // 2])
        return (middle, middle + _ENLARGED), 0
    first = len(starts) // 2
    later = np.flatnonzero(starts[first:] >= starts[first] + _ENLARGED)
    start, steps = int(starts[first]), int(later[0]) if len(later) else len(starts) - 1 - first
    stop = int(starts[first + steps])
    if stop - start > _MOST_ENLARGED:
        return (start, start + _MOST_ENLARGED), 0
    return (start, stop), steps


def timeline_svg(predictions: Sequence[tuple[Kernel, Prediction]], colours: str) -> str:
    """Returns a picture of the first workgroup of each dispatch, one below the other.

    Args:
        colours: CSS that defines the variables `--ink`, `--paper`, `--line`, `--soft`, `--head`.
    """
    parts: list[str] = []
    top = 8
    for kernel, predicted in predictions:
        picture = _Picture(_Waves.of(kernel, predicted), top)
        parts += picture.drawn()
        top = picture.top + _TEXT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{top}" '
        f'viewBox="0 0 {_WIDTH} {top}"><style>{colours}{_STYLE}</style>'
        f'<rect width="100%" height="100%" fill="var(--paper)"/>{"".join(parts)}</svg>\n'
    )


class _Picture:
    """The picture of one dispatch, drawn from `top` on, which grows."""

    def __init__(self, waves: _Waves, top: int) -> None:
        self._waves, self.top = waves, top

    def drawn(self) -> Iterator[str]:
        """Yields all parts of the picture."""
        waves = self._waves
        yield from self._head()
        begin, end = waves.begin, waves.end
        start, stop = waves.step
        if end - begin <= _MOST_ENLARGED:
            yield from self._enlarged(begin, end)
            return
        yield self._line(
            f"The whole workgroup. A column of {_COLUMN} pixels is "
            f"{_COLUMN * (end - begin) / _PLOT:,.0f} cycles, shared out as they are spent; the "
            "frame is enlarged below."
        )
        rows = self.top
        yield from self._rows(begin, end, self._columns(begin, end))
        left, right = (_x(time, begin, end) for time in (start, stop))
        height = len(waves.spans) * (_ROW + _GAP)
        yield (
            f'<rect class="frame" x="{left:.1f}" y="{rows - 1}" '
            f'width="{max(right - left, 2):.1f}" height="{height}"/>'
        )
        steps = f", {waves.steps} step{'s' if waves.steps > 1 else ''} of the loop"
        yield self._line(
            f"Cycles {start:,} to {stop:,} enlarged{steps if waves.steps else ''}; point at a "
            "wait to see its instruction."
        )
        yield from self._enlarged(start, stop)

    def _head(self) -> Iterator[str]:
        """Yields the title, and the legend with the part of all waves' cycles."""
        waves = self._waves
        cycles = waves.end - waves.begin
        name, product = waves.kernel.name, waves.predicted.product
        yield self._line(f"{name}: one workgroup, predicted for {product}", "title")
        yield self._line(
            f"A row is a wave. Time goes to the right, in cycles of the compute unit: {cycles:,} "
            f"in all, which are {cycles / waves.predicted.gigahertz / 1e3:,.1f} us at "
            f"{waves.predicted.gigahertz:.2f} GHz. Nothing was measured."
        )
        resident = waves.predicted.occupancy.resident
        if resident > 1:
            yield self._line(f"{resident} workgroups run on the unit at once: this is the first.")
        edges = np.array([waves.begin, waves.end], np.float64)
        spent = sum(waves.parts(wave, edges)[0] for wave in range(len(waves.spans)))
        shares = np.asarray(spent) / np.sum(spent)
        for number, doing in enumerate(Doing):
            x, y = _LEFT + number % 2 * _PLOT // 2, self.top + number // 2 * _TEXT
            yield f'<rect class="{doing.style}" x="{x}" y="{y + 3}" width="12" height="12"/>'
            yield _text(f"{doing.value[1]}: {shares[number]:.1%}", x + 18, y + 13)
        self.top += 3 * _TEXT + 6

    def _line(self, text: str, style: str = "soft") -> str:
        """Returns a line of text, and goes below it."""
        self.top += _TEXT
        return _text(text, 8, self.top - 5, style)

    def _rows(self, begin: int, end: int, inside: Iterable[str]) -> Iterator[str]:
        """Yields the names of the rows, what is inside of them, and the axis below them."""
        height = len(self._waves.spans) * (_ROW + _GAP)
        self.top += 2
        for wave in range(len(self._waves.spans)):
            y = self._y(wave)
            yield f'<rect class="bed" x="{_LEFT}" y="{y}" width="{_PLOT}" height="{_ROW}"/>'
            yield _text(f"wave {wave}", _LEFT - 8, y + 15, "soft end")
        yield from inside
        self.top += height
        for time in _ticks(begin, end):
            x = _x(time, begin, end)
            ends = f'x1="{x:.1f}" x2="{x:.1f}" y1="{self.top - _GAP}" y2="{self.top + 1}"'
            yield f'<line class="tick" {ends}/>'
            yield _text(f"{time:,}", x, self.top + 14, "soft middle")
        yield _text("cycle", _LEFT - 8, self.top + 14, "soft end")
        self.top += _TEXT + 12

    def _y(self, wave: int) -> int:
        return self.top + wave * (_ROW + _GAP)

    def _columns(self, begin: int, end: int) -> Iterator[str]:
        """Yields for each doing the parts of all columns that it takes, as one path."""
        edges = np.linspace(begin, end, _PLOT // _COLUMN + 1)
        paths: dict[Doing, list[str]] = {doing: [] for doing in Doing}
        for wave in range(len(self._waves.spans)):
            heights = _ROW * self._waves.parts(wave, edges) / np.diff(edges)[:, None]
            tops = self._y(wave) + np.cumsum(heights, axis=1) - heights
            for doing, place in _PLACES.items():
                for column in np.flatnonzero(heights[:, place] >= 0.05).tolist():
                    top, height = tops[column, place], heights[column, place]
                    corner = f"{_LEFT + column * _COLUMN} {top:.1f}"
                    paths[doing].append(f"M{corner}h{_COLUMN}v{height:.1f}h-{_COLUMN}z")
        for doing, found in paths.items():
            yield f'<path class="{doing.style}" d="{"".join(found)}"/>'

    def _enlarged(self, begin: int, end: int) -> Iterator[str]:
        """Yields rows in which each wait can be seen."""

        def inside() -> Iterator[str]:
            for wave, spans in enumerate(self._waves.spans):
                shown = (span for span in spans if span.stop > begin and span.start < end)
                for doing, run in groupby(shown, key=self._waves.doing):
                    yield self._run(wave, doing, list(run), begin, end)

        yield from self._rows(begin, end, inside())

    def _run(self, wave: int, doing: Doing, run: Sequence[Span], begin: int, end: int) -> str:
        """Returns neighbouring spans of one colour, with what is known of the longest wait."""
        left, right = (
            _x(min(max(time, begin), end), begin, end) for time in (run[0].start, run[-1].stop)
        )
        rectangle = (
            f'<rect class="{doing.style}" x="{left:.1f}" y="{self._y(wave)}" '
            f'width="{right - left:.1f}" height="{_ROW}"'
        )
        waits = [span for span in run if span.reason is not Reason.ISSUE]
        if not waits:
            return f"{rectangle}/>"
        longest = max(waits, key=lambda span: span.stop - span.start)
        instruction = self._waves.kernel.instructions[longest.index]
        title = (
            f"wave {wave}: {LABELS[longest.reason]}, {longest.stop - longest.start} cycles, line "
            f"{instruction.line}: {' '.join(instruction.text.split())}"
        )
        return f"{rectangle}><title>{escape(title)}</title></rect>"


def _x(time: float, begin: int, end: int) -> float:
    return _LEFT + _PLOT * (time - begin) / (end - begin)


def _ticks(begin: int, end: int) -> range:
    """Returns round numbers of cycles, of which up to ten lie between two times."""
    steps = (digit * 10**zeros for zeros in count() for digit in (1, 2, 5))
    step = next(step for step in steps if (end - begin) / step <= 10)
    return range(-(-begin // step) * step, end + 1, step)


def _text(text: str, x: float, y: int, style: str = "") -> str:
    return f'<text class="{style}" x="{x:.1f}" y="{y}">{escape(text)}</text>'
