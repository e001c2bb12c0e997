# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which of an operation's best tiles is the fastest one, by predictions of compiled kernels.

The model by which tiles are chosen (`bank_model/tile_cost.py`) knows the sizes of an operation, and
not the code that the compiler makes of it. A more exact model runs that code, which takes seconds:
so only the tiles of the least predicted times are compiled, with the tile that IREE has chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from iree.compiler import ir

from ...dialect_utils.diagnostics import Refusal
from ..tile_times import AnyTile, TileTime, TileTimes
from .tile_choice import TileChoice, best_tiles
from .tiled_operation import Circumstances


class SearchedTiles(NamedTuple):
    """What compiled tiles of an operation are predicted to take.

    Attributes:
        usual: the tile that the operation gets without a search.
        times: the predicted time of each tile, or why there is none; that of `usual` is known.
    """

    usual: AnyTile
    times: Mapping[AnyTile, TileTime | Refusal]

    @staticmethod
    def of(
        function: ir.Operation,
        choice: TileChoice[Any],
        usual: AnyTile,
        count: int,
        circumstances: Circumstances,
        times: TileTimes,
    ) -> SearchedTiles:
        """Compiles the usual tile, that of the operation, and the best ones; `count` in all.

        Raises:
            Refusal: nothing is predicted for the usual tile.
        """
        best = best_tiles(choice.tiled, circumstances, count)
        tiles = [*dict.fromkeys((usual, choice.tiled.tile, choice.best, *best))][:count]
        found = dict(zip(tiles, times(function, tiles), strict=True))
        time = found[usual]
        if isinstance(time, Refusal):
            raise time
        return SearchedTiles(usual, found)

    @property
    def _known(self) -> dict[AnyTile, TileTime]:
        return {tile: each for tile, each in self.times.items() if isinstance(each, TileTime)}

    @property
    def best(self) -> AnyTile:
        """Returns the fastest tile; the usual one where no other saves more than predictions of
        one kernel may be off."""
        known = self._known
        fastest = min(known, key=lambda tile: known[tile].microseconds)
        time, usual = known[fastest], known[self.usual]
        saves = time.microseconds * max(time.ratio, usual.ratio) < usual.microseconds
        return fastest if saves else self.usual

    def __str__(self) -> str:
        """Returns what was predicted, as remarks and decisions say it."""
        known, best = self._known, self.best
        others = "; ".join(
            f"{tile}: {each.reason if isinstance(each, Refusal) else _shown(each)}"
            for tile, each in self.times.items()
            if tile != best
        )
        saves = "no other saves" if best == self.usual else "that saves more than"
        return (
            f"{best} is predicted to take {_shown(known[best])} as compiled; {saves} the "
            f"{1 - 1 / known[best].ratio:.0%} by which such predictions may be off"
            + (f"; {others}" if others else "")
        )


def _shown(time: TileTime) -> str:
    return f"{time.microseconds:.1f} us"
