# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bank maps drawn in text, for reports on kernels and for answers on single tiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..bank_model.bank_map import BankMap
from ..bank_model.lane_pattern import runs_text
from ..bank_model.map_folding import FoldedMap
from ..bank_model.shown_text import counted

if TYPE_CHECKING:
    from rich.text import Text

_BANKS_PER_LINE = 32
"""Three columns each, so that a line fits into 100."""
LEGEND = (
    "In a bank map, banks lie side by side and every row is a cycle. A cell is the lane that wants "
    "a word of the bank, with + where several lanes share the word; every row but the first costs "
    "a conflict cycle. The row = counts the words of each bank, and ! marks conflicts."
)
"""What a map shows, in a few sentences."""
_CONFLICT = "bold white on red"


def phase_caption(found: BankMap, issue: str) -> str:
    """Returns which phase it is, and what it takes; `issue` names the wave, if there are some."""
    phases = found.phases
    phase = f"phase {found.number} of {phases}" if phases > 1 else "its only phase"
    place = ", ".join(part for part in (issue, phase) if part)
    return f"{found.instruction.name}, {place}: {counted(found.cycles, 'cycle')}"


def cycles_caption(maps: Iterable[BankMap]) -> str:
    """Returns the cycles of a phase in several layouts, such as `8 → 1 cycles`."""
    cycles = " → ".join(str(each.cycles) for each in maps)
    return f"{cycles} {'cycle' if cycles == '1' else 'cycles'}"


def folding_caption(folded: FoldedMap, issue_name: str) -> str:
    """Returns which other phases the map stands for, and what the rest take; empty without others.

    Args:
        issue_name: what an issue is, "wave" or "issue".
    """
    return "; ".join(_foldings(folded, issue_name))


def _foldings(folded: FoldedMap, issue_name: str) -> Iterator[str]:
    same, others = len(folded.same), folded.phases - len(folded.same) - folded.moved
    block = folded.same_by_axis
    if block is None:
        yield f"the same in {same} of the {folded.phases} phases"
    elif same > 1:
        instructions, issues, phases = block
        parts: list[str] = []
        if len(issues) > 1:
            parts.append(_numbers(issue_name, [i for i in issues if i != folded.shown.issue]))
        if len(phases) > 1:
            parts.append(_numbers("phase", [p + 1 for p in phases if p != folded.shown.phase]))
        if len(instructions) > 1:
            parts.append(_part_of(len(instructions), folded.instructions))
        *first, last = parts
        yield f"the same for {', '.join(first)} and {last}" if first else f"the same for {last}"
    if folded.moved:
        verb = "has" if folded.moved == 1 else "have"
        yield f"{_others(folded.moved, only=not others)} {verb} it on other banks"
    if folded.other_cycles is not None:
        least, most = folded.other_cycles
        cycles = f"{least} to {most} cycles" if least < most else counted(most, "cycle")
        yield f"{_others(others, only=False)} {'takes' if others == 1 else 'take'} {cycles}"


def _others(count: int, *, only: bool) -> str:
    """Returns how many other phases; `only` says that there are no more of them."""
    if count == 1:
        return "1 other phase"
    if only:
        return "both other phases" if count == 2 else f"all {count} other phases"
    return f"{count} other phases"


def _part_of(number: int, instructions: int) -> str:
    if number < instructions:
        return f"{number} of the {instructions} instructions"
    return "both instructions" if number == 2 else f"all {number} instructions"


def _numbers(noun: str, numbers: Sequence[int]) -> str:
    """Returns numbers in ascending order, such as `waves 1-3, 5`."""
    return f"{noun}{'s' if len(numbers) > 1 else ''} {runs_text(numbers)}"


def map_text(found: BankMap) -> Text:
    """Draws the map as a grid: banks across, and down what each bank delivers cycle by cycle.

    A cell is the lane that wants the word, with `+` where several share it. The last row counts
    the words of each bank; `!` marks conflicts.
    """
    # JSON and HTML have no need of it.
    from rich.text import Text

    text = Text()
    banks = len(found.words_by_bank)
    for start in range(0, banks, _BANKS_PER_LINE):
        shown = range(start, min(start + _BANKS_PER_LINE, banks))
        text.append("bank" + "".join(f"{bank:>3}" for bank in shown) + "\n", style="dim")
        for cycle in range(found.cycles):
            text.append(f"{cycle + 1:>4}", style="dim")
            for bank in shown:
                words = found.words_by_bank[bank]
                cell = ""
                if cycle < len(words):
                    lanes = words[cycle].lanes
                    cell = f"{lanes[0]}{'+' if len(lanes) > 1 else ''}"
                crowded = len(words) > 1 and cycle < len(words)
                text.append(f"{cell if cell else '.':>3}", style=_CONFLICT if crowded else "")
            text.append("\n")
        text.append("   =", style="dim")
        for bank in shown:
            count = len(found.words_by_bank[bank])
            text.append(f"{count}!".rjust(3) if count > 1 else f"{count:>3}", style="dim")
        text.append("\n")
    return text
