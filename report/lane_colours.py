# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The colours of lanes in pictures: neighbours look alike, and text on every colour can be read."""

from __future__ import annotations

from dataclasses import dataclass

_RAMP = ("#6a5acd", "#4f86d9", "#2fa8b5", "#4dbf7d", "#a9cf4a", "#f6e05e")
"""From lane 0 to the last lane of the wave; it gets lighter, for those who see few colours."""
_BLACK, _WHITE = "#000000", "#ffffff"


@dataclass(frozen=True)
class LaneColour:
    """The fill of a lane's cells as `#rrggbb`, and whether text on it must be white, not black."""

    fill: str
    is_dark: bool


def lane_colour(lane: int, wave_size: int) -> LaneColour:
    """Returns the colour of lane `lane` of a wave."""
    place = lane / max(wave_size - 1, 1) * (len(_RAMP) - 1)
    first = min(int(place), len(_RAMP) - 2)
    start, end = _channels(_RAMP[first]), _channels(_RAMP[first + 1])
    mixed = (round(a + (b - a) * (place - first)) for a, b in zip(start, end, strict=True))
    fill = "#" + "".join(f"{channel:02x}" for channel in mixed)
    return LaneColour(fill, contrast(_WHITE, fill) > contrast(_BLACK, fill))


def ramp_stops() -> tuple[str, ...]:
    """Returns the colours that the lanes run through, the first lane's first."""
    return _RAMP


def contrast(one: str, other: str) -> float:
    """Returns the contrast ratio of two colours, from 1 to 21, as WCAG 2 defines it."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _channels(colour: str) -> tuple[int, int, int]:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue


def _luminance(colour: str) -> float:
    parts = [channel / 255 for channel in _channels(colour)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
