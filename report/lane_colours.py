# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The colours of cells in pictures: neighbours look alike, and black text can be read on each."""

from __future__ import annotations

_RAMP = ("#b9a7ff", "#8fbcff", "#6fd3e3", "#7fdc94", "#c6e35f", "#ffe45e")
"""From the first to the last; it gets lighter, for those who see few colours."""


def ramp_colour(place: int, places: int) -> str:
    """Returns the colour of one of `places` places as `#rrggbb`; `place` counts from 0."""
    at = place / max(places - 1, 1) * (len(_RAMP) - 1)
    first = min(int(at), len(_RAMP) - 2)
    start, end = _channels(_RAMP[first]), _channels(_RAMP[first + 1])
    mixed = (round(a + (b - a) * (at - first)) for a, b in zip(start, end, strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def ramp_stops() -> tuple[str, ...]:
    """Returns the colours that the places run through, the first one's first."""
    return _RAMP


def _channels(colour: str) -> tuple[int, int, int]:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue
