# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of the whole tile: each element with its bank, or with the lane that accesses it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ..report.formats import PICTURES
from ..report.html_page import COLOURS
from ..report.stripes import Drawing, standalone_file
from ..report.tile_grid import TileGrid, WholeTile
from ..report.tile_grid_picture import tile_grid_drawing
from ..report.tile_grid_text import tile_grid_text
from .counts import CountedLayout
from .html_images import picture_html
from .tile_errors import TileArgumentError, shortened


@dataclass(frozen=True, eq=False)
class WholePicture:
    """The tile in one layout.

    Attributes:
        title: the layout, and the accesses whose lanes are shown.
        grid: what is shown.
    """

    title: str
    grid: TileGrid

    @property
    def caption(self) -> str:
        """Returns what the picture is of, in a line."""
        return f"{self.title}. {self.grid.caption}"

    @property
    def drawing(self) -> Drawing:
        """Returns the picture."""
        return tile_grid_drawing(self.grid)

    @property
    def svg(self) -> str:
        """Returns the picture as an SVG file."""
        return standalone_file(self.drawing, COLOURS)


@dataclass(frozen=True, eq=False)
class WholePictures:
    """Pictures of a tile in several layouts, the one before first.

    `str()` is their text, a notebook shows them, and `svgs` are files.
    """

    pictures: tuple[WholePicture, ...]

    @property
    def svgs(self) -> tuple[str, ...]:
        """Returns each picture as an SVG file."""
        return tuple(picture.svg for picture in self.pictures)

    def __str__(self) -> str:
        return "\n".join(
            f"{picture.caption}\n{tile_grid_text(picture.grid).plain}" for picture in self.pictures
        )

    def __repr__(self) -> str:
        return f"<WholePictures: {'; '.join(picture.title for picture in self.pictures)}>"

    def _repr_html_(self) -> str:
        return "\n".join(_html(self.pictures))


def whole_pictures(counts: Mapping[str, CountedLayout], kind: str) -> WholePictures:
    """Returns the tile in each of the layouts `counts`, which have names.

    Args:
        kind: one of `PICTURES`. By lane there is a picture for each argument of the question.

    Raises:
        TileArgumentError: another kind.
    """
    if kind not in PICTURES:
        raise TileArgumentError("picture", f"{shortened(repr(kind))} is neither banks nor lanes")
    return WholePictures(tuple(_pictures(counts, kind)))


def _pictures(counts: Mapping[str, CountedLayout], kind: str) -> Iterator[WholePicture]:
    question = next(iter(counts.values())).question
    layouts = [count.layout for count in counts.values()]
    banks = max(
        machine.instruction.banks
        for access in next(iter(counts.values())).accesses
        for machine in access.machine_accesses()
    )
    whole = WholeTile.of(question.lds, question.named.tile, layouts, question.flat, banks=banks)
    if kind == "banks":
        for name, count in counts.items():
            yield WholePicture(_title(name, count), whole.by_bank(count.layout))
        return
    for number, each in enumerate(question.accesses):
        for name, count in counts.items():
            machine, *_ = count.accesses[number].machine_accesses()
            lies = question.tile, question.counted(count.layout)
            grid = whole.by_lane(count.layout, each.accesses, machine.served(0), lies=lies)
            yield WholePicture(f"{each}, {_title(name, count)}", grid)


def _title(name: str, count: CountedLayout) -> str:
    layout = str(count.layout)
    return name if layout.startswith(name) else f"{name}: {layout}"


def _html(pictures: tuple[WholePicture, ...]) -> Iterator[str]:
    yield "<div>"
    for picture in pictures:
        yield from picture_html(picture.drawing, picture.caption, page=False)
    yield "</div>"
