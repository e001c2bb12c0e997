# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bank maps as pictures: banks across, cycles down, a coloured cell per word."""

from __future__ import annotations

from collections.abc import Iterator

from ..bank_model.bank_map import BankMap, BankWord
from ..bank_model.lane_pattern import runs_text
from ..bank_model.shown_text import counted
from .stripes import TOP, Cell, Drawing, Frame, Label

_ROW = 18


def bank_map_drawing(found: BankMap) -> Drawing:
    """Returns the picture of a map; banks that deliver several words are framed."""
    cycles = found.cycles
    height = TOP + (cycles + 1) * _ROW + 1
    frames = [
        Frame(bank, TOP, len(found.words_by_bank[bank]) * _ROW) for bank in found.conflicting_banks
    ]
    return Drawing(
        banks=len(found.words_by_bank),
        height=height,
        places=len(found.lanes),
        beds=((TOP, cycles * _ROW),),
        cells=tuple(_cells(found)),
        frames=tuple(frames),
        labels=tuple(_labels(found)),
    )


def _cells(found: BankMap) -> Iterator[Cell]:
    places = lane_places(found)
    for bank, words in enumerate(found.words_by_bank):
        for cycle, word in enumerate(words):
            first, *sharing = word.lanes
            shown = f"{first}+" if sharing else str(first)
            title = f"bank {bank}, word {word.word}: {lanes_text(word)}"
            yield Cell(bank, TOP + cycle * _ROW, _ROW, places[first], (shown,), title)


def lane_places(found: BankMap) -> dict[int, int]:
    """Returns the place of each lane of the phase among these, which share out the colours."""
    return {lane: place for place, lane in enumerate(sorted(found.lanes))}


def _labels(found: BankMap) -> Iterator[Label]:
    for cycle in range(found.cycles):
        yield Label(str(cycle + 1), TOP + cycle * _ROW + _ROW // 2)
    middle = TOP + found.cycles * _ROW + _ROW // 2
    yield Label("=", middle)
    for bank, words in enumerate(found.words_by_bank):
        many = len(words) > 1
        text, style = (f"{len(words)}!", "many") if many else (str(len(words)), "soft")
        yield Label(text, middle, bank, style)


def lanes_text(word: BankWord) -> str:
    """Returns the lanes that want a word, such as `lanes 0, 4-7`."""
    return f"lane{'s' if len(word.lanes) > 1 else ''} {runs_text(sorted(word.lanes))}"


def map_in_words(found: BankMap) -> str:
    """Returns for those who cannot see the picture how many words the banks deliver."""
    banks: dict[int, list[int]] = {}
    for bank, words in enumerate(found.words_by_bank):
        banks.setdefault(len(words), []).append(bank)
    parts: list[str] = []
    for count in sorted(banks, reverse=True):
        several = "on each of the banks" if count else "on the banks"
        on = several if len(banks[count]) > 1 else "on bank"
        words = counted(count, "word") if count else "no word"
        parts.append(f"{words} {on} {runs_text(banks[count], ' to ')}")
    return "; ".join(parts)
