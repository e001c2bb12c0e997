# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tiles by which matrix instructions may compute an attention, and the best one of them.

The sizes of the attention need not be multiples of a tile: it is enlarged then, as
`tuning/shapes/enlarged_shapes.py` says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import lcm

from iree.compiler import ir

from ...dialect_utils.diagnostics import Refusal
from ...dialect_utils.lowering_config import WarpLaunch
from ..costs.tile_cost import AttentionTile
from ..tiles.tile_choice import LEAST_GAIN
from ..tiles.tiled_operation import Circumstances, rounded_up
from .attention_tiles import (
    ContractionKinds,
    K,
    Q,
    SizedLoops,
    V,
    WarpTiledAttention,
    configured_attention,
)

_WARPS = (8, 4, 2, 1)
_ALL_WARPS = range(8, 0, -1)
_INSTRUCTIONS_HIGH = (1, 2)
_KEY_STEPS = (128, 64, 32, 16)
_FEW_KEYS = 256
"""The most keys all of which each of several warps loads from memory."""
_LOADED_BYTES, _WORD_BYTES = 16, 4
"""The bytes that a lane loads at once, and those at multiples of which it may do so instead, where
loads need no alignment."""
_EQUAL_STEPS = 8
"""The most steps for which a step is tried that is that part of the keys."""
_EQUAL_TIMES, _NEAR_TIMES, _SAVED_CYCLES = 0.01, 0.03, 0.1
"""By what part predicted times may differ that were not compared with measured ones, and count as
equal; the second where so large a part of the LDS cycles is saved. The error of the predictions is
larger than both (`bench/results/timing_tiles.md`). By the model of `emulator/timing/`, 12x197x64 in
f16 on gfx942 takes 7 % longer with 64 rows and 4 warps than with 112 and 7, where 2.2 % less are
predicted. 16x1024x75 on gfx950, for which 80 rows and 5 warps save 5 % of the LDS cycles, takes 5 %
less with 64 and 4, for which 2.5 % less are predicted."""
_WIDER_COLUMNS = (16, 32)
_DEEP = 32
"""The summed elements of the deeper of AMD's instructions with 16 rows and columns."""
_SUMMED = {"F32": 4}
"""Those of the usual one, where they are not 16."""


def matrix_attentions(
    operation: ir.Operation, sized: SizedLoops, listed: tuple[str, ...], launch: WarpLaunch
) -> list[WarpTiledAttention]:
    """Returns an attention as each pair of matrix instructions computes it, with no tile yet.

    Args:
        listed: the names that the compiler has for the matrix instructions of the GPU.

    Raises:
        Refusal: there is no instruction for its elements.
    """
    kinds = _kinds(operation, listed)
    return [configured_attention(operation, sized, each, launch) for each in kinds]


def ranked_tilings(
    found: list[WarpTiledAttention],
    circumstances: Circumstances | None,
    limit: int,
    sizes: Sequence[int] = (),
) -> tuple[WarpTiledAttention, list[WarpTiledAttention]]:
    """Returns the best of some attentions, as it is and with all tiles that fit, the best first.

    Args:
        found: the same attention with other instructions.
        circumstances: what tiles are judged by; None for a GPU without a model.
        limit: the LDS that a workgroup may have, in bytes.
        sizes: what the program may compute where it computes sizes, of which tiles are to be good
            for all; none stands for the lengths that the loops have.

    Raises:
        Refusal: no tile fits.
    """
    attention, tiled = possible_tilings(found, circumstances, limit)
    # Warps that only have rows beyond the end are no use.
    busy_warps = -(-attention.rows // attention.high)
    return attention, _ranked(tiled, circumstances, busy_warps, sizes)


def possible_tilings(
    found: list[WarpTiledAttention], circumstances: Circumstances | None, limit: int
) -> tuple[WarpTiledAttention, list[WarpTiledAttention]]:
    """Returns the best of some attentions, as it is and with all tiles that fit.

    Args:
        found, circumstances, limit: as for `ranked_tilings`.

    Raises:
        Refusal: no tile fits.
    """
    # The deepest instructions are the best, unless more of the head is computed in vain.
    for attention in sorted(found, key=lambda each: each.of_whole_instructions().head):
        # Tiles divide rows, keys and columns: what is copied of a head is the same for all.
        whole = attention.of_whole_instructions()
        fitting = [
            attention.enlarged(tile)
            for tile in _tiles(attention, circumstances)
            if whole.staged_bytes(tile) <= limit and whole.is_copied_evenly(tile)
        ]
        tiled = fitting if circumstances is None else list(map(circumstances.in_slots, fitting))
        if circumstances is not None and circumstances.direct_loads:
            tiled += _copied_directly(tiled)
        if tiled:
            return attention, tiled
    raise Refusal("no tile of matrix instructions fits in the LDS and is copied evenly")


def _copied_directly(tiled: Sequence[WarpTiledAttention]) -> list[WarpTiledAttention]:
    """Returns the tiles whose K and V can go to the LDS without registers, as tiles that do."""
    return [
        replace(each, tile=each.tile._replace(stages=2, slots=2))
        for each in tiled
        if each.tile.staged_keys and each.tile.staged_values and each.is_copied_directly(each.tile)
    ]


def _tiles(
    attention: WarpTiledAttention, circumstances: Circumstances | None
) -> Iterator[AttentionTile]:
    """Yields the tiles that an attention may have, of whole heads.

    More columns than the head has are zeros that more lanes of a row can copy side by side.
    """
    high = max(attention.scores[0], attention.outputs[0])
    deep = lcm(attention.scores[1], attention.outputs[2])
    least = attention.of_whole_instructions().columns
    wider = _WIDER_COLUMNS if len(attention.loops.columns) == 1 else ()
    columns = sorted({least, *(-(-least // each) * each for each in wider)})
    steps, all_warps = [*_KEY_STEPS], [*_WARPS]
    computed = attention.loops.keys in attention.computed
    if circumstances is not None and not computed:
        # Equal steps reach least beyond the end.
        counts = range(1, _EQUAL_STEPS + 1)
        steps += [-(-attention.keys // (count * deep)) * deep for count in counts]
    if circumstances is not None and not circumstances.ldmatrix and not computed:
        # So do other warps than powers of two. Their kernels ran on the emulator, which has AMD's
        # chips alone.
        all_warps = [*_ALL_WARPS]
    known = (keys for keys in dict.fromkeys(steps) if keys <= max(_KEY_STEPS))
    staged = {single: _staged(attention, circumstances, single=single) for single in (False, True)}
    for warps, count, keys, width in product(all_warps, _INSTRUCTIONS_HIGH, known, columns):
        if keys % deep == 0:
            tile = AttentionTile(warps * count * high, width, keys, warps)
            yield tile._replace(**staged[warps == 1])


def _staged(
    attention: WarpTiledAttention, circumstances: Circumstances | None, *, single: bool
) -> dict[str, bool]:
    """Returns which operands tiles stage in the LDS, as fields of these; lanes load the others from
    memory.

    Args:
        single: whether the tiles are those of single warps.

    Where lanes load their elements of an operand side by side, they can do so from memory, too. Q
    is loaded once. With one warp, K and V are loaded once as well, and what they would take of the
    LDS is saved. With more warps each of them loads all of K, for which the path to memory is too
    narrow unless there are few keys, whose steps mostly wait for memory. By the model of
    `emulator/timing/`, in f16 on gfx942, past the LDS 4 rows of 128 and 4096 keys take 0.73 times
    as long, 64 rows of 64 and 197 keys 0.97 times, and 64 rows of 72 and 1024 keys 1.23 times. With
    one warp rows may begin at any word: 4 rows of 100 and 4096 keys take 0.88 times as long, but
    with more warps, 64 rows of 100 and 197 keys, 1.06 times. Of rows that begin at single elements,
    each of many loads has its last part shifted: 4 rows of 75 and 1024 keys take 1.54 times as
    long. Of f32 K and V stay in the LDS.
    """
    if circumstances is None or circumstances.ldmatrix:
        return {}
    if attention.scores_lie_in_lds:
        return {"staged_queries": False}
    few_keys = attention.keys <= _FEW_KEYS and attention.loops.keys not in attention.computed
    least = _WORD_BYTES if circumstances.unaligned_loads else _LOADED_BYTES
    alignment = least if single else _LOADED_BYTES
    return {
        "staged_queries": False,
        "staged_keys": not ((single or few_keys) and attention.has_whole_rows(K, alignment)),
        "staged_values": not (single and attention.has_whole_rows(V, alignment)),
    }


def predicted_logarithm(
    attention: WarpTiledAttention, circumstances: Circumstances, size: int
) -> float:
    """Returns the logarithm of the time that an attention's tile takes at one run-time size.

    Where that size leaves the lengths of loops open, the result is the mean over likely lengths.
    """
    likely = [rounded_up(each, attention.multiples) for each in attention.likely(size)]
    works = [
        circumstances.work(replace(attention, extents=extents), attention.tile)
        for extents in likely
    ]
    return sum(math.log(circumstances.time(each)) for each in works) / len(works)


def _ranked(
    tiled: list[WarpTiledAttention],
    circumstances: Circumstances | None,
    busy_warps: int,
    sizes: Sequence[int],
) -> list[WarpTiledAttention]:
    """Returns an attention with all tiles, the best first.

    It is that of the least predicted time. Where the predictions were not compared with measured
    times, those of nearly the least time are equal, and the best has the fewest LDS cycles.

    Args:
        busy_warps: how many warps of a single workgroup would have rows.
        sizes: as for `ranked_tilings`.
    """
    costs = {id(each): _cost(each, circumstances, busy_warps, sizes) for each in tiled}
    found = sorted(tiled, key=lambda each: costs[id(each)])
    if circumstances is None or circumstances.processor.measured:
        return found
    most = costs[id(found[0])][0] * (1 + _NEAR_TIMES)
    first = [each for each in found if costs[id(each)][0] <= most]
    times = [costs[id(each)][0] for each in first]
    near = nearly_fastest(times, [_lds_cycles(each, circumstances) for each in first])
    rest = (each for place, each in enumerate(found) if place not in near)
    return [*(found[place] for place in near), *rest]


def nearly_fastest(times: Sequence[float], cycles: Sequence[float]) -> list[int]:
    """Returns the places of tiles that count as equally fast, those of the fewest LDS cycles first.

    Args:
        times: what they are predicted to take, the least time first.
        cycles: their LDS cycles.
    """
    few = cycles[0] * (1 - _SAVED_CYCLES)
    parts = (_NEAR_TIMES if each <= few else _EQUAL_TIMES for each in cycles)
    near = [
        place
        for place, (time, part) in enumerate(zip(times, parts, strict=True))
        if time <= times[0] * (1 + part)
    ]
    return sorted(near, key=lambda place: cycles[place])


def _lds_cycles(attention: WarpTiledAttention, circumstances: Circumstances) -> float:
    """Returns the LDS cycles of all workgroups."""
    work = circumstances.work(attention, attention.tile)
    return work.workgroups * work.steps * work.lds_cycles


def _cost(
    attention: WarpTiledAttention,
    circumstances: Circumstances | None,
    busy_warps: int,
    sizes: Sequence[int],
) -> tuple[float, ...]:
    """Returns what is least of the best tile: the predicted time, and what is computed in vain."""
    tile = attention.tile
    time = 0.0
    if circumstances is not None:
        work = circumstances.work(attention, tile)
        time = circumstances.time(work)
        if sizes:
            logarithms = [predicted_logarithm(attention, circumstances, each) for each in sizes]
            time = math.exp(sum(logarithms) / len(sizes))
        if circumstances.processor.described_cycles and not work.described:
            # That `mma.sync` is faster has to be more than the model's error, as for other tiles.
            time /= 1 - LEAST_GAIN
        if tile.warps < min(circumstances.processor.least_warps, busy_warps):
            time = math.inf
    return time, attention.rows * attention.keys * tile.columns, -tile.warps, -tile.keys


def _kinds(operation: ir.Operation, listed: tuple[str, ...]) -> Iterator[ContractionKinds]:
    """Yields the instructions of both contractions that a GPU has, the best ones first.

    They are those that IREE takes for heads that it has a configuration for: the outputs' has the
    scores in registers as the scores' leaves them there.
    """
    kinds = {ir.ShapedType(operation.operands[each].type).element_type for each in (Q, K, V)}
    if len(kinds) != 1:
        raise Refusal("the elements of Q, K and V differ")
    name = str(kinds.pop()).upper()
    sync, deep = f"NV_MMA_SYNC_F32_16x8x16_{name}", f"MFMA_F32_16x16x{_DEEP}_{name}"
    usual = f"MFMA_F32_16x16x{_SUMMED.get(name, 16)}_{name}"
    if sync in listed:
        yield ContractionKinds.of(f"mma_layout<{sync}>", f"mma_layout<{sync}>", operation)
    elif usual in listed:
        plain = f"mma_layout<{usual}, col_major = true>"
        if deep in listed:
            yield ContractionKinds.of(f"mma_layout<{deep}, col_major = true>", plain, operation)
        elif name == "F16":
            wide = f"virtual_mma_layout<V{deep}, col_major = true>"
            yield ContractionKinds.of(wide, plain, operation)
        yield ContractionKinds.of(plain, plain, operation)
    else:
        raise Refusal(f"there is no matrix instruction for {name.lower()}")
