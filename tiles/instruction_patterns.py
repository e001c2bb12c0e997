# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns of single instructions, beside `ldmatrix`, and of random places.

=====================  =========================================================================
stmatrix[.x1, .x2]     a warp writes what `ldmatrix` reads: 4 (1, 2) matrices of 8 rows of 16
                       bytes. `.trans` changes no address
ds_read_b64_tr_b16     a wave of gfx950 reads 16 rows of 16 columns of 16 bits, 8 bytes a lane: lane
                       i of each 16 reads 4 columns from 4 (i % 4) on, of row i / 4 of its 4 rows.
                       `ds_read_b64_tr_b8` reads 32 rows of 16 bytes
cp.async[.ca, .cg]     neighbouring lanes copy neighbouring vectors of a row, of 128 bits or of
[:BITS]                those that follow (`.ca`: 32, 64 or 128). Rows of global memory begin at
                       multiples of 128 bytes
wgmma:A, wgmma:B       a warpgroup reads an operand by descriptors, 16 bytes of each of 8 rows in an
                       LDS cycle; the tile has a row for each row of A or column of B. With `T`
                       behind the letter it has a row for each k
random:SEED[:BITS]     lanes access random places, as for a histogram
=====================  =========================================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from ..bank_model.accesses import LINE_BYTES, CopySources, LdsAccess
from ..bank_model.descriptor_tiles import described_operand
from ..bank_model.features import features_of
from ..bank_model.layouts import Layout
from ..bank_model.lds_rules import AccessKind
from ..bank_model.lds_tables import copy_instruction
from .patterns import WGMMA, PatternRequest, along_memory, block_origins, matrix_blocks
from .tile_errors import AccessError
from .tile_text import NamedTile
from .vectors import IntArray

_GROUP_BITS = 128
_CORE_ROWS = 8
_LARGEST_SEED = 1 << 32


def instruction_accesses(request: PatternRequest) -> tuple[LdsAccess, ...] | None:
    """Returns the accesses of a pattern of this module; None for any other name.

    Raises:
        AccessError: the tile, or the chip, is not made for it.
    """
    for pattern, found in _PATTERNS.items():
        if re.fullmatch(pattern, request.name):
            if found is _random:
                return request.in_memory(_random(request))
            return along_memory(request, found)
    return None


def _stmatrix(request: PatternRequest) -> tuple[LdsAccess, ...]:
    match = re.fullmatch(r"stmatrix(?:\.x([124]))?(?:\.trans)?", request.name)
    if match is None or request.words:
        raise AccessError("write 'stmatrix', 'stmatrix.x1', 'stmatrix.x2' or 'stmatrix.x4'")
    if request.kind is AccessKind.READ:
        raise AccessError("stmatrix writes; read by 'ldmatrix'")
    _require(request, "stmatrix", "that begins with sm_90")
    return matrix_blocks(request, "stmatrix", int(match[1] or 4))


def _require(request: PatternRequest, instruction: str, whose: str) -> None:
    if not request.lds.has(instruction):
        raise AccessError(f"{request.lds.arch} has no {instruction}; {whose}")


def _transposing(request: PatternRequest) -> tuple[LdsAccess, ...]:
    bits = int(request.name.rpartition("b")[2])
    tile, size = request.named.tile, request.lanes.wave_size
    _require(request, request.name, "that is gfx950's")
    if request.words:
        raise AccessError(f"nothing stands behind '{request.name}'")
    if request.kind is AccessKind.WRITE:
        raise AccessError(f"{request.name} reads; write by 'rows:128' or a formula")
    if tile.element_bits != bits:
        raise AccessError(
            f"it takes elements of {bits} bits, and those of the tile {request.named.text} have "
            f"{tile.element_bits}"
        )
    count = 64 // bits
    across = 16 // count
    lane = np.arange(size, dtype=np.int64)
    inside = lane // across * tile.row_elements + lane % across * count
    origins = block_origins(request.named, size // across, 16, request.name)
    return request.lanes.deal_blocks(
        request.kind, origins, inside[None], count, instruction=request.name, alignment=count
    )


def _copies(request: PatternRequest) -> tuple[LdsAccess, ...]:
    if not features_of(request.lds.arch).async_copies:
        raise AccessError(f"{request.lds.arch} has no cp.async; that begins with sm_80")
    if request.kind is AccessKind.READ:
        raise AccessError("cp.async writes; read by 'ldmatrix' or 'rows:128'")
    tile = request.named.tile
    words = request.words or ("128",)
    count = request.vector(words)
    width = count * tile.element_bits // 8
    suffix = request.name.rpartition(".")[2]
    if width not in ((16,) if suffix == "cg" else (4, 8, 16)):
        raise AccessError(f"{request.name} copies no {8 * width} bits; 128, and .ca 32 and 64, too")
    name = copy_instruction(width, suffix != "ca")
    pitch = -(-tile.row_elements * tile.element_bits // 8 // LINE_BYTES) * LINE_BYTES
    firsts = np.arange(0, tile.elements, count, dtype=np.int64)
    found: list[LdsAccess] = []
    for access in request.lanes.deal_vectors(request.kind, firsts, count):
        row, column = np.divmod(access.elements, tile.row_elements)
        reading = np.ones(row.shape, bool) if access.active is None else access.active
        sources = CopySources(row * pitch + column * tile.element_bits // 8, reading)
        found.append(replace(access, instruction=name, alignment=count, copied=sources))
    return tuple(found)


def _described(request: PatternRequest) -> tuple[LdsAccess, ...]:
    letters = request.words[0].upper() if len(request.words) == 1 else ""
    if letters not in ("A", "B", "AT", "BT"):
        raise AccessError("write which operand the tile is: 'wgmma:A', 'wgmma:B', or AT, BT")
    _require(request, WGMMA, "that is sm_90a's")
    if request.kind is AccessKind.WRITE:
        raise AccessError("wgmma reads; write by TMA, 'rows:128' or a formula")
    tile = request.named.tile
    if letters.endswith("T") and tile.element_bits != 16:
        raise AccessError("operands with a row for each k have elements of 16 bits")
    return matrix_blocks(request, WGMMA, 4)


def why_not_described(named: NamedTile, layout: Layout) -> str | None:
    """Returns why no descriptor gives an operand in this layout to `wgmma`; None where one does."""
    tile = named.tile
    count = _GROUP_BITS // tile.element_bits
    places = layout.offsets(tile, np.arange(tile.elements)).reshape(named.rows, tile.row_elements)
    for turned in (places, places.T):
        groups = turned.reshape(turned.shape[0], -1, count)
        if (np.diff(groups) == 1).all():
            starts = groups[..., 0] * tile.element_bits // 8
            if any(described_operand(parts, mn) is not None for parts, mn in _operands(starts)):
                return None
    return (
        "no descriptor of wgmma gives this layout; they know the swizzles 128B, 64B and 32B of "
        "rows of as many bytes, such as Triton's nvmma_shared"
    )


def _operands(starts: IntArray) -> Iterator[tuple[IntArray, bool]]:
    """Yields the groups of 16 bytes as descriptors take them, with a row for each k and without.

    Args:
        starts: [rows, groups], the byte at which each group lies.
    """
    rows, groups = starts.shape
    if not groups % 2:
        parts = starts.reshape(rows // _CORE_ROWS, _CORE_ROWS, groups // 2, 2)
        yield parts.transpose(2, 0, 1, 3).reshape(groups // 2, -1, 2 * _CORE_ROWS), False
    if not rows % (2 * _CORE_ROWS):
        yield starts.reshape(-1, 2 * _CORE_ROWS, groups).swapaxes(1, 2), True


def _random(request: PatternRequest) -> tuple[LdsAccess, ...]:
    seed, *bits = request.words or ("",)
    if not re.fullmatch(r"\d{1,10}", seed) or int(seed) >= _LARGEST_SEED:
        raise AccessError(
            f"write a seed behind it, below {_LARGEST_SEED}, as in 'random:1', and bits, as in "
            "'random:1:64'"
        )
    count = request.vector(bits)
    vectors = request.named.tile.elements // count
    # The numbers of this generator are the same in all versions of NumPy.
    firsts = np.random.RandomState(int(seed)).randint(0, vectors, vectors, dtype=np.int64)
    return request.lanes.deal_vectors(request.kind, firsts * count, count)


_PATTERNS: Mapping[str, Callable[[PatternRequest], tuple[LdsAccess, ...]]] = MappingProxyType(
    {
        r"stmatrix.*": _stmatrix,
        r"ds_read_b64_tr_b(?:16|8)": _transposing,
        r"cp\.async(?:\.c[ag])?": _copies,
        r"wgmma": _described,
        r"random": _random,
    }
)
