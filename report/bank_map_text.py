# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bank maps drawn in text, for reports on kernels and for answers on single tiles."""

from __future__ import annotations

from rich.text import Text

from ..bank_model.bank_map import BankMap

_BANKS_PER_LINE = 32
"""Three columns each, so that a line fits into 100."""
_CONFLICT = "bold white on red"


def phase_caption(found: BankMap, issue: str) -> str:
    """Returns which phase it is, and what it takes; `issue` names the wave, if there are some."""
    cycles = "1 cycle" if found.cycles == 1 else f"{found.cycles} cycles"
    phases = len(found.instruction.phases)
    phase = f"phase {found.phase + 1} of {phases}" if phases > 1 else "its only phase"
    place = ", ".join(part for part in (issue, phase) if part)
    return f"{found.instruction.name}, {place}: {cycles}"


def map_text(found: BankMap) -> Text:
    """Draws the map as a grid: banks across, and down what each bank delivers cycle by cycle.

    A cell is the lane that wants the word, with `+` where several share it. The last row counts
    the words of each bank; `!` marks conflicts.
    """
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
