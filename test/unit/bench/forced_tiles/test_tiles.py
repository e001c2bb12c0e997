# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/forced_tiles: the pairs, forcing their tiles, compiling and reporting them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from bankwise.bench.forced_tiles import compiled_tiles, tile_comparisons
from bankwise.bench.forced_tiles.compiled_tiles import MODE, compile_pairs, listed
from bankwise.bench.forced_tiles.forcing import TileError, compile_tiled, predicted_microseconds
from bankwise.bench.forced_tiles.pairs import TiledKernel, label, timed_pairs
from bankwise.bench.gpu.record import Conditions, Figures, Record, Row, wrong_rows
from bankwise.bench.gpu.timed_kernels import CompiledKernels
from bankwise.runtime.emulated_run import EmulatedRun, run_emulated
from bankwise.sweep.cases import target_flags
from bankwise.sweep.swept_kernels import Attention, Matmul, random_operands
from bankwise.tuning.costs.tile_cost import AttentionTile, MatmulTile
from bankwise.tuning.forced_tile import ForceTile

SMALL = TiledKernel(
    Attention(2, 128, 64, "f16"), (AttentionTile(32, 64, 64, 2), AttentionTile(64, 64, 32, 4))
)
PRODUCT = TiledKernel(
    Matmul(256, 256, 64, "f16", transposed=True),
    (MatmulTile(64, 64, 32, 2, 2), MatmulTile(128, 64, 32, 2, 2)),
)


def test_there_are_60_pairs():
    names = Counter(each.kernel.name for each in timed_pairs())
    assert max(names.values()) == 1
    assert sum(len(each.by_label()) for each in timed_pairs()) == 60
    for each in timed_pairs():
        assert len(each.by_label()) == len(each.tiles)


def test_labels_say_what_a_tile_is():
    assert label(AttentionTile(64, 128, 32, 4)) == "64x128.k32.w4"
    assert label(MatmulTile(128, 64, 32, 4, 2)) == "128x64.k32.w4x2"


def emulated(kernel: TiledKernel) -> list[EmulatedRun]:
    """Runs a kernel as stock compiles it, and with each of its tiles, on the emulated gfx942."""
    source, flags = kernel.kernel.source(), target_flags("gfx942")
    operands = random_operands(kernel.kernel)
    forced = [ForceTile(tile) for tile in kernel.tiles]
    runs = [run_emulated(source, flags, "auto/exact", operands, forced=each) for each in forced]
    assert [each.refusals for each in forced] == [[]] * len(forced)
    return [run_emulated(source, flags, "stock", operands), *runs]


@pytest.mark.nightly
def test_a_forced_tile_is_that_of_the_kernel():
    stock, *others = emulated(SMALL)
    # Q, and a step of K and V, without padding.
    assert [each.lds_bytes for each in others] == [32 * 128 + 64 * 256, 64 * 128 + 32 * 256]
    # Each workgroup has all columns, so that no product is computed twice: 16x16x16 elements each.
    products = 2 * 2 * 128 * 128 * 64 // 16**3
    assert [each.counters["SQ_INSTS_MFMA"] for each in others] == [products] * 2
    assert [each.counters["SQ_LDS_BANK_CONFLICT"] for each in others] == [0, 0]
    # Another number of keys a step sums in another order; the other tile keeps every bit.
    assert others[0].outputs[0].tobytes() == stock.outputs[0].tobytes()


@pytest.mark.nightly
def test_tiles_of_products_are_forced_and_keep_the_bits():
    stock, *others = emulated(PRODUCT)
    assert [each.lds_bytes for each in others] == [128 * 64, 192 * 64]
    assert all(each.outputs[0].tobytes() == stock.outputs[0].tobytes() for each in others)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("kernel", "tile"),
    [
        (SMALL, AttentionTile(48, 64, 64, 1)),
        (PRODUCT, MatmulTile(96, 64, 32, 2, 2)),
    ],
)
def test_a_tile_that_does_not_divide_the_sizes_is_refused(kernel: TiledKernel, tile):
    with pytest.raises(TileError, match="do not divide"):
        compile_tiled(kernel, tile, "sm_80", MODE)


@pytest.mark.nightly
def test_different_tiles_are_different_code_on_nvidia():
    modules = [compile_tiled(SMALL, tile, "sm_80", MODE) for tile in SMALL.tiles]
    assert modules[0] != modules[1]
    assert compile_tiled(SMALL, SMALL.tiles[0], "sm_80", MODE) == modules[0]


def test_predictions_are_those_of_the_chip_and_the_tile():
    large = TiledKernel(Attention(16, 4096, 128, "f16"), (AttentionTile(128, 128, 64, 8),))
    tiles = (*large.tiles, AttentionTile(16, 128, 16, 1), AttentionTile(128, 128, 512, 8))
    times = predicted_microseconds(large, tiles, "sm_80", MODE)
    # 0.55 ms were measured; a workgroup of one warp reads K and V for 16 rows alone.
    assert 400 < times[0] < 700 < times[1]
    assert times[2] == float("inf")


def test_what_does_not_compile_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first = timed_pairs()[0]

    def tiled(kernel: TiledKernel, tile: AttentionTile, target: str, mode: str) -> bytes:
        assert (target, mode) == ("sm_80", "auto/fast")
        if tile == first.tiles[1]:
            raise TileError("too large")
        return label(tile).encode()

    monkeypatch.setattr(compiled_tiles, "compile_tiled", tiled)
    monkeypatch.setattr(compiled_tiles, "compile", lambda source, flags, mode: mode.encode())
    said: list[str] = []
    compile_pairs(tmp_path, "16x4096x128", say=said.append)
    assert said == ["attention_16x4096x128_f16.64x128.k32.w4: too large"]
    (known,) = CompiledKernels.of_directory(tmp_path).kernels
    tiles = [each for each in first.by_label() if each != "64x128.k32.w4"]
    assert known.modes == ("stock", MODE, *tiles) and known.inexact == (MODE, *tiles)
    for mode in known.modes:
        assert known.module(tmp_path, mode).read_text() == mode


def test_matmuls_must_keep_their_bits_in_every_tile():
    by_function = {listed(each).function: listed(each) for each in timed_pairs()}
    assert by_function["matmul"].inexact == ()
    kernel = by_function["matmul"]
    rows = [row(kernel.name, mode, 1.0, f"bits of {mode[-1]}") for mode in kernel.modes[:3]]
    assert wrong_rows([kernel], rows) == rows[1:]


def row(kernel: str, mode: str, milliseconds: float, output: str = "same") -> Row:
    figures = Figures(milliseconds, 1, 1, 1, 0, 0, 128, 50.0, 100)
    return Row(kernel, mode, "module", output, figures)


def test_the_report_compares_predictions_with_times(monkeypatch: pytest.MonkeyPatch):
    attention, matmul = timed_pairs()[0], timed_pairs()[4]
    name, other = attention.kernel.name, matmul.kernel.name
    one, two, *_ = attention.by_label()
    rows = [row(name, "stock", 4.0), row(name, MODE, 1.5), row(name, one, 1.0), row(name, two, 2.0)]
    rows += [row(other, each, 1.0 + i) for i, each in enumerate(matmul.by_label())]
    record = Record(Conditions("GPU", "sm_80", "normal", "base"), "2026-11-22", {}, (), tuple(rows))
    asked: list[tuple[str, int, str, str]] = []

    def predicted(kernel: TiledKernel, tiles: list, target: str, mode: str) -> list[float]:
        asked.append((kernel.kernel.name, len(tiles), target, mode))
        return [2000.0, 1000.0] if kernel == attention else [500.0 + i for i in range(len(tiles))]

    monkeypatch.setattr(tile_comparisons, "predicted_microseconds", predicted)
    text = tile_comparisons.markdown(record)
    assert asked == [(name, 2, "sm_80", MODE), (other, 10, "sm_80", MODE)]
    lines = text.splitlines()
    assert f"| {name} | 2 | -1.000 | {one} | {two} | 2.000x | 1.500x |" in lines
    assert any(line.startswith(f"| {other} | 10 | 1.000 |") for line in lines)
    assert "12 pairs of a kernel and a tile" in text and "at most 2.000x" in text
    assert f"| {name} | {two} | 2000.0 | 1000.0 | 0.50x | 128 | 0.500x |" in lines
    with pytest.raises(RuntimeError, match="no tile"):
        tile_comparisons.markdown(replace(record, rows=()))
