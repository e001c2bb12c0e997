# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels and the tiles that each is compiled with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...sweep.swept_kernels import Attention, Kernel, Matmul
from ...tuning.costs.tile_cost import AttentionTile, MatmulTile

Tiling = AttentionTile | MatmulTile


@dataclass(frozen=True)
class TiledKernel:
    """A kernel, and the tiles that are compared."""

    kernel: Kernel
    tiles: tuple[Tiling, ...]

    def by_label(self) -> dict[str, Tiling]:
        """Returns the tiles by their labels."""
        return {label(tile): tile for tile in self.tiles}


def label(tile: Tiling) -> str:
    """Returns a tile as a word that is fit for a file: its sizes, summed elements, and warps.

    `s4` says that copies rotate through 4 slots, where that is forced too, `ahead` that they are
    loaded a step ahead, and `q` that Q does not lie in the LDS.
    """
    slots = f".s{tile.slots}" * (tile.slots > 1)
    if isinstance(tile, AttentionTile):
        ways = (".ahead" * (tile.stages > 1), ".q" * (not tile.staged_queries))
        return f"{tile.rows}x{tile.columns}.k{tile.keys}.w{tile.warps}{slots}{''.join(ways)}"
    warps = f"{tile.row_warps}x{tile.column_warps}"
    return f"{tile.rows}x{tile.columns}.k{tile.summed}.w{warps}{slots}"


def _attention(
    batch: int, seq: int, head: int, *tiles: tuple[int, int, int], dtype: str = "f16"
) -> TiledKernel:
    """Returns an attention whose tiles have rows, keys a step, warps, and the whole head."""
    tilings = tuple(AttentionTile(rows, head, keys, warps) for rows, keys, warps in tiles)
    return TiledKernel(Attention(batch, seq, head, dtype), tilings)


def _matmul(kernel: Matmul, tiles: Sequence[tuple[int, int, int, int, int]]) -> TiledKernel:
    """Returns a matmul whose tiles have rows, columns, summed elements, and warps of both."""
    return TiledKernel(kernel, tuple(MatmulTile(*tile) for tile in tiles))


_MATMUL_TILES = (
    (64, 64, 64, 2, 2),
    (128, 64, 32, 2, 2),
    (128, 64, 64, 2, 2),
    (128, 128, 32, 2, 2),
    (128, 128, 64, 2, 2),
    (256, 128, 32, 4, 2),
)
_MORE_MATMUL_TILES = (
    (64, 128, 64, 2, 2),
    (128, 128, 32, 4, 2),
    (128, 128, 64, 4, 2),
    (256, 128, 64, 4, 2),
)


def timed_pairs() -> tuple[TiledKernel, ...]:
    """Returns 60 pairs of a kernel and a tile whose times are taken on NVIDIA GPUs."""
    square = Matmul(4096, 4096, 4096, "f16", transposed=True)
    return (
        _attention(16, 4096, 128, (64, 16, 4), (64, 32, 4), (64, 64, 4), (64, 128, 4), (128, 32, 4),
                   (128, 64, 4), (128, 32, 8), (128, 64, 8), (128, 128, 8), (256, 32, 8)),
        _attention(64, 2048, 64, (64, 64, 2), (64, 32, 4), (64, 64, 4), (128, 32, 4), (128, 64, 4),
                   (128, 128, 4), (128, 64, 8), (256, 64, 8)),
        _attention(4, 2048, 256, (32, 32, 2), (64, 32, 2), (64, 16, 4), (64, 32, 4), (64, 64, 4),
                   (128, 16, 8), (128, 32, 8), (128, 64, 8)),
        _attention(2, 1024, 128, (16, 64, 1), (32, 32, 2), (32, 64, 2), (64, 32, 4), (64, 64, 4),
                   (64, 128, 4)),
        _matmul(square, (*_MATMUL_TILES, *_MORE_MATMUL_TILES)),
        _matmul(Matmul(2048, 2048, 2048, "f16"), _MATMUL_TILES),
        _matmul(Matmul(2048, 2048, 2048, "f16", transposed=True), _MATMUL_TILES),
        _matmul(Matmul(8192, 1024, 4096, "f16", transposed=True), _MATMUL_TILES),
    )  # fmt: skip


def _brought(own: AttentionTile, kernel: TiledKernel) -> TiledKernel:
    """Returns an attention with IREE's own tile, and others whose Q does not lie in the LDS.

    Of these the copies are loaded a step ahead, and not; in f32 they are not.
    """
    stages_of = (1,) if kernel.kernel.dtype == "f32" else (1, 2)
    ways = [
        tile._replace(stages=stages, staged_queries=False)
        for tile in kernel.tiles
        if isinstance(tile, AttentionTile)
        for stages in stages_of
    ]
    return TiledKernel(kernel.kernel, (own, *ways))


def modelled_pairs() -> tuple[TiledKernel, ...]:
    """Returns pairs for AMD GPUs whose times the model of `emulator/timing/` predicts."""
    own = AttentionTile(64, 64, 64, 4)
    thin, short = AttentionTile(64, 16, 32, 4), AttentionTile(64, 64, 16, 4)
    square = Matmul(4096, 4096, 4096, "f16", transposed=True)
    tiles = (
        (64, 64, 64, 2, 2),
        (128, 64, 64, 2, 2),
        (128, 128, 32, 2, 2),
        (128, 128, 64, 2, 2),
        (256, 128, 32, 4, 2),
        (128, 128, 32, 4, 2),
        (256, 128, 64, 4, 2),
        (256, 256, 32, 4, 2),
    )
    return (
        _brought(own, _attention(16, 4096, 128, (128, 64, 8), (64, 32, 4), (64, 64, 4),
                                 (128, 32, 4), (128, 64, 4), (256, 32, 8),
                                 (256, 64, 8), (256, 128, 8))),
        _brought(own, _attention(64, 2048, 64, (64, 64, 4), (64, 32, 4), (128, 64, 4),
                                 (128, 128, 4), (128, 64, 8), (256, 32, 8),
                                (256, 64, 8))),
        _brought(thin, _attention(4, 2048, 256, (64, 32, 4), (64, 16, 4), (64, 64, 4),
                                  (128, 32, 8), (128, 16, 8))),
        _brought(own, _attention(2, 1024, 128, (64, 64, 4), (64, 32, 4), (128, 64, 4))),
        _brought(own, _attention(40, 1024, 64, (64, 64, 4), (64, 128, 4), (128, 32, 8))),
        _brought(own, _attention(8, 2048, 128, (64, 64, 4), (64, 32, 4), (128, 64, 8))),
        _brought(short, _attention(16, 1024, 128, (64, 16, 4), (64, 32, 4), (128, 16, 8),
                                   (128, 64, 8), dtype="f32")),
        _matmul(square, tiles),
        _matmul(Matmul(2048, 2048, 2048, "f16"), tiles),
        _matmul(Matmul(8192, 1024, 4096, "f16", transposed=True), tiles),
    )  # fmt: skip
