# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which tile of a workgroup is predicted to take the least time.

All tiles that the sizes and the matrix instruction divide into are compared by one model
(`bank_model/tile_cost.py`), and with them the tile that the function has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Generic, Protocol, TypeVar

from iree.compiler import ir

from ...bank_model.targets import Processor
from ...bank_model.tile_cost import (
    AttentionShape,
    AttentionTile,
    MatmulTile,
    TileWork,
    attention_work,
    matmul_work,
    predicted_microseconds,
    rotating_slots,
)
from .attention_tiles import AttentionTiling, WarpTiledAttention
from .matmul_tiles import MatmulTiling, WarpTiledMatmul

Tile = TypeVar("Tile", AttentionTiling, MatmulTiling)

LEAST_GAIN = 0.03
"""The part of the predicted time that another tile must save: differences below it are no more than
the model's own error."""
_WARPS = (2, 4, 8)
_REPEATED = 1.25
"""What the time of a tile counts that holds a part of the head, so that every part computes the
scores again. The model lets that hide behind the latency of a step, and times do not: of 2x1024x128
f16, 64 rows x 32 columns are predicted to take 0.022 ms and take 0.026 ms, where 32 x 128 take
0.021 ms."""
_INSTRUCTIONS_HIGH = (1, 2)
"""How many matrix instructions below each other a warp of an attention computes."""
_KEY_STEPS = (16, 32, 64, 128)
_MATMUL_SIZES = (32, 64, 128, 256)
_MATMUL_STEPS = (32, 64)
_MATMUL_WARPS = (4, 8)
_WARPS_BELOW_EACH_OTHER = (1, 2, 4, 8)


class Tiled(Protocol[Tile]):
    """A configured operation whose tile can be another."""

    @property
    def operation(self) -> ir.Operation:
        """Returns the operation."""
        ...

    @property
    def tile(self) -> Tile:
        """Returns the tile that it has."""
        ...

    def takes(self, tile: Tile) -> bool:
        """Returns whether its sizes divide into such tiles."""
        ...

    def attributes(self, tile: Tile) -> dict[str, ir.Attribute]:
        """Returns the configuration with another tile, that of its function included."""
        ...

    def configure(self, function: ir.Operation, tile: Tile) -> None:
        """Gives it another tile."""
        ...


@dataclass(frozen=True)
class TileChoice(Generic[Tile]):
    """An operation's tile, the best one, and what both are predicted to take.

    Attributes:
        best: the tile that takes the least time; the operation's own if no other saves enough.
        stock_time, best_time: in microseconds; infinite for a tile that does not fit the GPU.
        limit: what the time of `best` depends on the most.
        handicap: what the time of the operation's own tile counted.
    """

    tiled: Tiled[Tile]
    best: Tile
    stock_time: float
    best_time: float
    limit: str
    handicap: float = 1.0

    @property
    def gains(self) -> bool:
        """Returns whether another tile than the operation's is predicted to be faster."""
        return self.best != self.tiled.tile

    def configure(self, function: ir.Operation) -> None:
        """Makes the best tile that of the operation in `function`."""
        self.tiled.configure(function, self.best)

    def __str__(self) -> str:
        """Returns what was predicted, as remarks and decisions say it."""
        mine = f"{self.best_time:.1f} us, limited by {self.limit}"
        if not self.gains:
            return f"{self.best} is predicted to be the fastest: {mine}"
        stock = "does not fit" if math.isinf(self.stock_time) else f"{self.stock_time:.1f} us"
        if self.handicap > 1:
            stock += f", x {self.handicap} as each part of a head computes the scores again"
        return f"{self.best} is predicted to take {mine}; {self.tiled.tile}: {stock}"


@dataclass(frozen=True)
class Circumstances:
    """What a tile is compiled with and runs on.

    Attributes:
        lds_bytes: the LDS that a workgroup may have.
        other_keys: whether an attention may take another number of keys a step. That changes the
            order of sums, and of the rescaling by row maxima: outputs are right to rounding.
        overlap: whether copies to the LDS overlap with contractions.
        reloads: whether an attention reads Q in every step where registers do not suffice.
        exponential: the instructions of an exponential.
    """

    processor: Processor
    lds_bytes: int
    other_keys: bool = False
    overlap: bool = False
    reloads: bool = False
    exponential: float = 1.0

    def work(self, cut: Callable[[int], TileWork], copied: int) -> TileWork:
        """Returns the work of a tile with the slots that its copies rotate through.

        Args:
            cut: returns the work with so many slots.
            copied: the bytes that a step copies.
        """
        work = cut(1)
        if not self.overlap:
            return work
        others = work.lds_bytes - copied
        slots = rotating_slots(work.products, work.steps, copied, others, self.lds_bytes)
        return work if slots == 1 else cut(slots)

    def time(self, work: TileWork) -> float:
        """Returns the predicted microseconds; infinitely many where a workgroup does not fit."""
        fits = work.lds_bytes <= self.lds_bytes
        return predicted_microseconds(work, self.processor) if fits else math.inf


def attention_choice(
    attention: WarpTiledAttention, circumstances: Circumstances
) -> TileChoice[AttentionTiling]:
    """Returns the choice for an attention: whole heads, and any rows, warps, and keys a step.

    Raises:
        Refusal: the elements have no size that is known.
    """
    keys = {attention.tile.keys, *(_KEY_STEPS if circumstances.other_keys else ())}
    high = max(attention.scores[0], attention.outputs[0])
    tiles = (
        AttentionTiling(warps * high * count, attention.columns, step, warps)
        for warps, count, step in product(_WARPS, _INSTRUCTIONS_HIGH, sorted(keys))
        if warps >= circumstances.processor.least_warps
    )
    work = _attention_work(attention, circumstances)
    handicap = 1.0 if attention.tile.columns == attention.columns else _REPEATED
    return _choice(attention, filter(attention.takes, tiles), work, circumstances, handicap)


def matmul_choice(
    matmul: WarpTiledMatmul, circumstances: Circumstances
) -> TileChoice[MatmulTiling]:
    """Returns the choice for a contraction.

    Its outputs are the same bits in every tile: an element is the sum over k in the order in which
    matrix instructions take it, whatever a step holds of it.

    Raises:
        Refusal: the elements have no size that is known.
    """
    work = _matmul_work(matmul, circumstances)
    tiles = _matmul_tiles({matmul.tile.summed, *_MATMUL_STEPS})
    return _choice(matmul, filter(matmul.takes, tiles), work, circumstances)


def tile_time(
    tiled: WarpTiledAttention | WarpTiledMatmul,
    tile: AttentionTiling | MatmulTiling,
    circumstances: Circumstances,
) -> float:
    """Returns the predicted microseconds of one tile, which the sizes must divide into.

    Raises:
        Refusal: the elements have no size that is known.
        TypeError: the tile is that of another operation.
    """
    if isinstance(tiled, WarpTiledAttention) and isinstance(tile, AttentionTiling):
        return circumstances.time(_attention_work(tiled, circumstances)(tile))
    if isinstance(tiled, WarpTiledMatmul) and isinstance(tile, MatmulTiling):
        return circumstances.time(_matmul_work(tiled, circumstances)(tile))
    raise TypeError(f"{tile} is no tile of {tiled.operation.name}")


def _attention_work(
    attention: WarpTiledAttention, circumstances: Circumstances
) -> Callable[[AttentionTiling], TileWork]:
    """Returns what says how much work a tile is."""
    shape = AttentionShape(
        attention.batch,
        attention.rows,
        attention.keys,
        attention.head,
        attention.columns,
        element_bytes=attention.element_bits // 8,
        exponential=circumstances.exponential,
        reloads=circumstances.reloads,
    )

    def work(tile: AttentionTiling) -> TileWork:
        def cut(slots: int) -> TileWork:
            sizes = (tile.rows, tile.columns, tile.keys, tile.warps, slots)
            return attention_work(
                shape, AttentionTile(*sizes), circumstances.processor, attention.outputs
            )

        copied = tile.keys * (shape.head + tile.columns) * shape.element_bytes
        return circumstances.work(cut, copied)

    return work


def _matmul_work(
    matmul: WarpTiledMatmul, circumstances: Circumstances
) -> Callable[[MatmulTiling], TileWork]:
    """Returns what says how much work a tile is."""
    shape = (matmul.rows, matmul.columns, matmul.summed)
    size = matmul.element_bits // 8

    def work(tile: MatmulTiling) -> TileWork:
        part = (tile.rows // tile.row_warps, tile.columns // tile.column_warps)

        def cut(slots: int) -> TileWork:
            sizes = MatmulTile(tile.rows, tile.columns, tile.summed, *part, slots)
            return matmul_work(
                shape, sizes, circumstances.processor, size, matmul.instruction, matmul.batch
            )

        return circumstances.work(cut, (tile.rows + tile.columns) * tile.summed * size)

    return work


def _matmul_tiles(steps: Iterable[int]) -> Iterator[MatmulTiling]:
    shares = [
        (down, warps // down)
        for warps in _MATMUL_WARPS
        for down in _WARPS_BELOW_EACH_OTHER
        if down <= warps
    ]
    for rows, columns, summed, (down, across) in product(
        _MATMUL_SIZES, _MATMUL_SIZES, sorted(steps), shares
    ):
        yield MatmulTiling(rows, columns, summed, down, across)


def _choice(
    tiled: Tiled[Tile],
    tiles: Iterable[Tile],
    work: Callable[[Tile], TileWork],
    circumstances: Circumstances,
    handicap: float = 1.0,
) -> TileChoice[Tile]:
    """Returns the choice among `tiles` and the tile that there is.

    Args:
        handicap: what the time of the tile that there is counts.
    """
    stock_time = circumstances.time(work(tiled.tile))
    best, best_time = tiled.tile, stock_time
    least = stock_time * handicap * (1 - LEAST_GAIN)
    for tile in tiles:
        time = circumstances.time(work(tile))
        if time <= least:
            best, best_time, least = tile, time, time
    limit = _limit(work(best), circumstances)
    return TileChoice(tiled, best, stock_time, best_time, limit, handicap)


_PARTS = {
    "products": "matrix instructions",
    "lds_cycles": "LDS cycles",
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
        name: circumstances.time(replace(work, **{part: getattr(work, part) * _LESS}))
        for part, name in _PARTS.items()
    }
    shortest = min(times, key=lambda name: times[name])
    return shortest if times[shortest] < whole * (1 - (1 - _LESS) * _SHARE) else "latency"
