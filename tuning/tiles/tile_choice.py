# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which tile of a workgroup is predicted to take the least time.

All tiles that the sizes and the matrix instruction divide into are compared by one model
(`tuning/costs/tile_cost.py`), and with them the tile that the function has.
"""

from __future__ import annotations

import math
from typing import Any, Generic

from iree.compiler import ir

from ...bank_model.quick_dataclass import dataclass
from ..costs.least_cost import least_cost
from ..costs.tile_cost import AnyTile, TileWork, concurrent_workgroups
from .tiled_operation import Circumstances, Tile, TiledOperation

LEAST_GAIN = 0.03
"""The part of the predicted time that another tile must save: differences below it are no more than
the model's own error."""


@dataclass(frozen=True)
class TileChoice(Generic[Tile]):
    """An operation's tile, the best one, and what both are predicted to take.

    Attributes:
        best: the tile that takes the least time; the operation's own if no other saves enough.
        stock_time, best_time: in microseconds; infinite for a tile that does not fit the GPU.
        limit: what the time of `best` depends on the most.
        described: whether descriptors give the operands of `best` to the matrix units.
        held: how many workgroups of `best` a multiprocessor holds, as far as there are so many.
    """

    tiled: TiledOperation[Tile]
    best: Tile
    stock_time: float
    best_time: float
    limit: str
    described: bool = False
    held: int = 1

    @property
    def gains(self) -> bool:
        """Returns whether another tile than the operation's is predicted to be faster."""
        return self.best._replace(slots=self.tiled.tile.slots) != self.tiled.tile

    def configure(self, function: ir.Operation) -> None:
        """Makes the best tile that of the operation in `function`."""
        self.tiled.configure(function, self.best)

    def __str__(self) -> str:
        """Returns what was predicted, as remarks and decisions say it."""
        mine = f"{self.best_time:.1f} us, limited by {self.limit}"
        if not self.gains:
            return f"{self.best} is predicted to be the fastest: {mine}"
        stock = "does not fit" if math.isinf(self.stock_time) else f"{self.stock_time:.1f} us"
        if self.tiled.handicap > 1:
            stock += f", x {self.tiled.handicap} as {self.tiled.handicapped_by}"
        return f"{self.best} is predicted to take {mine}; {self.tiled.tile}: {stock}"


def tile_choice(tiled: TiledOperation[Tile], circumstances: Circumstances) -> TileChoice[Tile]:
    """Returns the choice among the tiles that an operation takes, and the one that it has.

    Raises:
        Refusal: the elements have no size that is known.
    """
    stock_work = circumstances.work(tiled, tiled.tile)
    stock_time = circumstances.time(stock_work)
    least = circumstances.counted(tiled, stock_work) * tiled.handicap * (1 - LEAST_GAIN)
    others = [
        each
        for each in filter(tiled.takes, tiled.candidates(circumstances))
        if each != tiled.tile._replace(slots=each.slots)
    ]
    # Of tiles that take as long as another, and as the one that it has, the last one is taken.
    others.reverse()

    def timed(number: int) -> tuple[float, Tile]:
        tile = circumstances.slotted(tiled, others[number])
        return circumstances.counted(tiled, circumstances.work(tiled, tile)), tile

    bounds = [circumstances.least(tiled.work(each, circumstances)) for each in others]
    found = least_cost(bounds, timed, least)
    best = tiled.tile if found is None else found[1]
    work = circumstances.work(tiled, best)
    best_time = circumstances.time(work)
    limit = _limit(work, circumstances)
    held = concurrent_workgroups(work, circumstances.processor)
    if not tiled.computed:
        held = min(held, -(-work.workgroups // circumstances.processor.multiprocessors))
    return TileChoice(tiled, best, stock_time, best_time, limit, work.described, held)


def tile_time(
    tiled: TiledOperation[Any],
    tile: AnyTile,
    circumstances: Circumstances,
) -> float:
    """Returns the predicted microseconds of one tile, which the sizes must divide into.

    Raises:
        Refusal: the elements have no size that is known.
        TypeError: the tile is that of another operation.
    """
    if type(tile) is not type(tiled.tile):
        raise TypeError(f"{tile} is no tile of {tiled.operation.name}")
    return circumstances.time(circumstances.work(tiled, tile))


_PARTS = {
    "matrix_instructions": "matrix instructions",
    "lds_cycles": "LDS cycles",
    "multiply_adds": "multiply-adds",
    "instructions": "other instructions",
}
_LESS = 0.9
_SHARE = 1 / 3


def _limit(work: TileWork, circumstances: Circumstances) -> str:
    """Returns which part of the work shortens the predicted time the most if there is less of it.

    Where none shortens it by a third as much, it is what nothing hides: the latency of the steps.
    """
    whole = circumstances.time(work)
    times = {
        name: circumstances.time(work._replace(**{part: getattr(work, part) * _LESS}))
        for part, name in _PARTS.items()
    }
    shortest = min(times, key=lambda name: times[name])
    return shortest if times[shortest] < whole * (1 - (1 - _LESS) * _SHARE) else "latency"
