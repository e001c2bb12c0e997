# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The mode of a compile: how it deals with bank conflicts, and what it may change beside."""

from __future__ import annotations

from ..bank_model.quick_tuple import NamedTuple

MITIGATIONS = {
    "auto": "a swizzle where legal and useful, else padding (default)",
    "swizzle": "swizzles only",
    "pad": "the best padding only",
    "none": "neither: the baseline",
    "stock": "what iree-compile does",
}
"""How bank conflicts can be dealt with, as the tools' helps say it. What each mode splices into the
codegen pipelines stands in the rooms' tables of steps (`steps.py`)."""

LEVELS = {
    "layout": "the memory layouts of tiles only",
    "exact": "register layouts too, as far as outputs stay the same bits (default)",
    "fast": "the order of sums, exponentials and quotients too: outputs are right to rounding",
}
"""What a compile may change besides the layouts in memory, as the tools' helps say it. The levels
are those of the mitigations `auto` and `swizzle`; the others change no register layout. Each level
does what the ones before it do."""

RETILE = {
    "auto": (
        "on GPUs whose predictions were compared with measured times, and on those where they "
        "were with a more exact model if they save 10 % or more, or 6.5 % of a matmul on 2-byte "
        "elements (default); docs/chips.md says which these are"
    ),
    "on": "on all GPUs that there is a prediction for",
    "off": "nowhere",
}
"""Where the tiles of workgroups are replaced by those that are predicted to be faster, as the
tools' helps say it: at the levels `exact` and `fast`, and never those that the user has chosen."""

MODE_PARTS = {"mitigation": MITIGATIONS, "level": LEVELS, "retile": RETILE}
"""What each part of a mode can be."""

_GONE = "search"
"""A value that earlier versions had."""

ASKING = "on"
"""The value that asks for tiles where these are not replaced by default."""

LEVELLED = ("auto", "swizzle")
"""The mitigations that have levels."""


class Mode(NamedTuple):
    """How a compile deals with bank conflicts, as one word: `auto`, `auto/fast`, `auto/exact/on`.

    Attributes:
        mitigation: one of `MITIGATIONS`.
        level: one of `LEVELS`.
        retile: one of `RETILE`.
    """

    mitigation: str = "auto"
    level: str = "exact"
    retile: str = "auto"

    @staticmethod
    def parse(mode: str) -> Mode:
        """Reads a mitigation, and behind slashes a level and where tiles are replaced, if given.

        Raises:
            ValueError: one of them does not exist, or no longer, or nothing would come of it.
        """
        words = dict(zip(MODE_PARTS, mode.split("/", len(MODE_PARTS) - 1), strict=False))
        if gone := gone_value("--bankwise-retile", words.get("retile", "")):
            raise ValueError(gone)
        for name, word in words.items():
            if word not in MODE_PARTS[name]:
                known = ", ".join(f"'{each}'" for each in MODE_PARTS[name])
                raise ValueError(f"{name} is {word!r}; it can be {known}")
        ignored = without_effect(words["mitigation"], words.get("level"), words.get("retile"))
        if ignored:
            raise ValueError(f"{ignored.part} is {words[ignored.part]!r}: {ignored.reason}")
        return Mode(**words)

    def flags(self) -> list[str]:
        """Returns the flags of `bankwise-compile` that ask for the mode."""
        usual = Mode()
        flags = [f"--bankwise-mitigation={self.mitigation}"]
        if self.mitigation in LEVELLED:
            flags.append(f"--bankwise-level={self.level}")
        return flags + ([] if self.retile == usual.retile else [f"--bankwise-retile={self.retile}"])


def gone_value(flag: str, word: str) -> str:
    """Returns what is said of a value that `RETILE` had once; nothing for any other one.

    Args:
        flag: the flag, or the variable, that was given the value.
    """
    return f"{flag}={word} is gone; use on" if word == _GONE else ""


class Ignored(NamedTuple):
    """A part of a mode that nothing comes of because of another part.

    Attributes:
        part: `level` or `retile`.
        reason: why.
    """

    part: str
    reason: str


def without_effect(
    mitigation: str, level: str | None, retile: str | None, usual: str = Mode().level
) -> Ignored | None:
    """Returns the part of a mode that nothing would come of, if there is one.

    Args:
        level: the level that somebody asked for; None where nobody has.
        usual: the level where nobody has asked for one.
    """
    others = " and ".join(LEVELLED)
    if mitigation not in LEVELLED:
        if level is not None:
            return Ignored("level", f"the mitigation '{mitigation}' has no levels; {others} have")
        if retile == ASKING:
            reason = f"the mitigation '{mitigation}' replaces no tiles; {others} do"
            return Ignored("retile", reason)
    elif (level or usual) == "layout" and retile == ASKING:
        return Ignored("retile", "the level 'layout' replaces no tiles; exact and fast do")
    return None


def modes() -> tuple[str, ...]:
    """Returns every mitigation, those that have levels with each of them, as `auto/fast`, and
    `auto` with tiles that are replaced on all GPUs, as `auto/fast/on`."""
    levels = (f"{name}/{level}" for name in LEVELLED for level in LEVELS)
    return (*MITIGATIONS, *levels, "auto/exact/on", "auto/fast/on")
