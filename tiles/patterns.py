# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Access patterns with names: what kernels do again and again.

A pattern covers the whole tile once. What it covers it with, vectors or blocks, is dealt to the
workgroup in turn: a workgroup of one wave needs more accesses than one of four. Vectors have the
bits that stand behind the name (`rows:128`), by default those of one element.

=====================  =========================================================================
rows[:BITS]            neighbouring lanes access neighbouring vectors of a row
columns[:BITS]         neighbouring lanes access the same columns of neighbouring rows
blocked:RxC[:BITS]     a wave accesses R rows of C vectors; the lanes go along the rows first, and
                       so do the waves
rows.T, columns.T,     the same of the transposed tile: `rows.T:128` has neighbouring vectors of a
blocked.T              column
INSTRUCTION:OPERAND    a wave accesses an operand of a matrix instruction, block after block along
                       the rows: `mfma_f32_16x16x16_f16:A`, `mma.m16n8k16:B`. The tile is the
                       matrix A (M x K), B (K x N) or C (M x N), or with `T` behind the letter its
                       transposed: `BT` is a tile of N rows of K. Elements of a lane that lie side
                       by side are one access
ldmatrix[.x1, .x2]     a warp reads 4 (1, 2) matrices of 8 rows of 16 bytes: 16 rows of 32 bytes
                       (8 of 16, 8 of 32). Which of them goes to which register, and `.trans`,
                       changes no address. The 16 bytes lie side by side in memory: in a
                       column-major tile, "rows" are its columns
others                 `stmatrix`, `cp.async`, `random:SEED` and others: `instruction_patterns.py`
=====================  =========================================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from ..bank_model.accesses import LdsAccess
from ..bank_model.errors import InvalidParameterError
from ..bank_model.lds_rules import AccessKind, Lds
from ..bank_model.matrix_operands import OPERANDS, MatrixInstruction, matrix_instructions
from ..bank_model.shown_text import did_you_mean
from .lanes import Lanes
from .memory_order import MemoryOrder
from .tile_errors import AccessError, shortened
from .tile_text import NamedTile
from .vectors import IntArray, joined, widest

_LISTED = 6
"""How many matrix instructions an error names."""
_TRANSPOSED = ".t"
_BITS = re.compile(r"\d{1,99}", re.ASCII)


@dataclass(frozen=True)
class PatternRequest:
    """A pattern that was asked for.

    Attributes:
        name: in lower case.
        words: what stands behind the name, between colons.
        order: how the tile lies in memory; None where it lies there as its rows do.
    """

    name: str
    words: tuple[str, ...]
    kind: AccessKind
    lds: Lds
    named: NamedTile
    lanes: Lanes
    order: MemoryOrder | None = None

    @staticmethod
    def of(
        text: str,
        kind: AccessKind,
        lds: Lds,
        named: NamedTile,
        lanes: Lanes,
        order: MemoryOrder | None = None,
    ) -> PatternRequest:
        """Returns what a pattern's text, such as `rows:128`, asks for."""
        name, *words = (word.strip() for word in text.split(":"))
        return PatternRequest(name.lower(), tuple(words), kind, lds, named, lanes, order)

    def in_memory(
        self, accesses: tuple[LdsAccess, ...], registers: int = 1
    ) -> tuple[LdsAccess, ...]:
        """Returns accesses as memory takes them: see `MemoryOrder.accesses`."""
        return self.order.accesses(accesses, registers) if self.order else accesses

    def vector(self, words: Sequence[str]) -> int:
        """Returns the elements of a vector, of the bits that `words` names, if any.

        Rows of the tile must be made of such vectors.
        """
        tile = self.named.tile
        if not words:
            return 1
        if len(words) > 1 or not _BITS.fullmatch(words[0]):
            raise AccessError(
                f"'{shortened(':'.join(words))}' is no number of bits; write as in "
                f"'{self.name}:128'"
            )
        count = self.named.vector_elements(int(words[0]))
        if tile.row_elements % count:
            raise AccessError(
                f"rows of {tile.row_elements} elements are not made of vectors of {count}; give "
                "fewer bits"
            )
        return count


def pattern_names(lds: Lds) -> tuple[str, ...]:
    """Returns how the patterns are written that a chip has, matrix instructions among them."""
    names = ["rows", "columns", "blocked:RxC", "random:SEED"]
    if lds.has(_LDMATRIX):
        names += [_LDMATRIX, *(f"{_LDMATRIX}.x{number}" for number in (1, 2, 4))]
    for instruction, text in _INSTRUCTIONS.items():
        if lds.has(instruction):
            names.append(text)
    return (*names, *(f"{name}:{{A,B,C}}" for name in matrix_instructions(lds.arch)))


def named_accesses(request: PatternRequest) -> tuple[LdsAccess, ...]:
    """Returns the accesses of a pattern, such as `rows:128`, in memory numbers.

    Raises:
        AccessError: there is no such pattern, or the tile is not made for it.
    """
    name, lds = request.name, request.lds
    if name.removesuffix(_TRANSPOSED) in _PATTERNS:
        return _vectors(request)
    if name.partition(".")[0] == _LDMATRIX:
        return along_memory(request, _ldmatrix)
    instruction = matrix_instructions(lds.arch).get(name.removeprefix("v_"))
    if instruction is not None:
        return _operand(request, instruction)
    if name.removeprefix("v_").startswith(("mma", "mfma")):
        raise AccessError(_other_instructions(lds, name.removeprefix("v_")))
    hint = did_you_mean(name, (re.split(r"[:[]", each)[0] for each in pattern_names(lds)))
    raise AccessError(
        f"there is no pattern '{shortened(name)}'; there are {', '.join(_PATTERNS)}, {_LDMATRIX}, "
        "stmatrix, cp.async, wgmma, random:SEED, addresses=FILE.npy, layouts of Triton and CuTe, "
        "matrix operands, such as 'mfma_f32_16x16x16_f16:A', and formulas, such as "
        f"'(lane%16, lane//16*4 + reg)'{hint}"
    )


def _vectors(request: PatternRequest) -> tuple[LdsAccess, ...]:
    """Returns the accesses of a pattern of the tile, or of the transposed tile."""
    name = request.name.removesuffix(_TRANSPOSED)
    if name == request.name:
        return request.in_memory(_PATTERNS[name](request))
    tile = request.named.tile
    order = (request.order or MemoryOrder.of_rows(tile)).transposed(tile)
    return order.accesses(_PATTERNS[name](replace(request, named=request.named.transposed)))


def along_memory(
    request: PatternRequest, pattern: Callable[[PatternRequest], tuple[LdsAccess, ...]]
) -> tuple[LdsAccess, ...]:
    """Returns the accesses of one instruction, whose vectors lie side by side in memory.

    They go along the rows of the tile, or along its columns where these are what lies there.
    """
    order = request.order
    if order is None:
        return pattern(request)
    turned = replace(request, named=request.named.transposed)
    orders = (request, order), (turned, order.transposed(request.named.tile))
    reasons: list[AccessError] = []
    for asked, lies in orders:
        try:
            found = pattern(asked)
        except AccessError as error:
            reasons.append(error)
            continue
        if lies.keep_whole(found):
            return lies.accesses(found)
        reasons.append(
            AccessError(
                f"in this layout what {request.name} takes at once lies side by side neither in "
                "rows nor in columns"
            )
        )
    raise reasons[0]


def _other_instructions(lds: Lds, name: str) -> str:
    names = list(matrix_instructions(lds.arch))
    known = ", ".join(names[:_LISTED])
    if len(names) > _LISTED:
        known += f" and {len(names) - _LISTED} more, which --list-patterns lists"
    known += did_you_mean(name, names)
    return f"{lds.arch} has no such matrix instruction of one block; it has {known}"


def _rows(request: PatternRequest) -> tuple[LdsAccess, ...]:
    count = request.vector(request.words)
    firsts = np.arange(0, request.named.tile.elements, count, dtype=np.int64)
    return request.lanes.deal_vectors(request.kind, firsts, count)


def _columns(request: PatternRequest) -> tuple[LdsAccess, ...]:
    count = request.vector(request.words)
    pitch, rows = request.named.tile.row_elements, request.named.rows
    starts = np.arange(0, pitch, count, dtype=np.int64)
    firsts = starts[:, None] + np.arange(rows, dtype=np.int64) * pitch
    return request.lanes.deal_vectors(request.kind, firsts.ravel(), count)


_BLOCK = re.compile(r"(\d{1,9})x(\d{1,9})", re.ASCII)


def _blocked(request: PatternRequest) -> tuple[LdsAccess, ...]:
    size = request.lanes.wave_size
    match = _BLOCK.fullmatch(request.words[0]) if request.words else None
    rows, columns = (int(match[1]), int(match[2])) if match else (0, 0)
    if rows * columns != size:
        raise AccessError(
            f"a wave of {request.lds.arch} has {size} lanes; write how they lie, as in "
            f"'blocked:{size // 8}x8'"
        )
    count = request.vector(request.words[1:])
    pitch = request.named.tile.row_elements
    width = columns * count
    if request.named.rows % rows or pitch % width:
        raise AccessError(
            f"the tile {request.named.text} is not made of blocks of {rows} x {width} elements"
        )
    first_rows = np.arange(0, request.named.rows, rows, dtype=np.int64)
    origins = first_rows[:, None] * pitch + np.arange(0, pitch, width, dtype=np.int64)
    lane = np.arange(size, dtype=np.int64)
    inside = lane // columns * pitch + lane % columns * count
    return request.lanes.deal_blocks(request.kind, origins.ravel(), inside[None], count)


_PATTERNS: Mapping[str, Callable[[PatternRequest], tuple[LdsAccess, ...]]] = MappingProxyType(
    {"rows": _rows, "columns": _columns, "blocked": _blocked}
)


# Matrices.


def block_origins(named: NamedTile, rows: int, columns: int, what: str) -> IntArray:
    """Returns where the blocks of a tile begin, along the rows first."""
    pitch = named.tile.row_elements
    if named.rows % rows or pitch % columns:
        raise AccessError(
            f"the tile {named.text} is not made of the {rows} x {columns} elements of {what}"
        )
    first_rows = np.arange(0, named.rows, rows, dtype=np.int64)
    return (first_rows[:, None] * pitch + np.arange(0, pitch, columns, dtype=np.int64)).ravel()


def _operand(request: PatternRequest, instruction: MatrixInstruction) -> tuple[LdsAccess, ...]:
    letters = request.words[0].upper() if len(request.words) == 1 else ""
    letter, transposed = letters[:1], letters[1:]
    if letter not in OPERANDS or not letter or transposed not in ("", "T"):
        raise AccessError(
            f"write which operand the tile is: '{instruction.name}:A', B or C, or with a T behind "
            "it where the tile is the transposed matrix"
        )
    tile = request.named.tile
    try:
        operand = instruction.operand(letter, tile.element_bits)
    except InvalidParameterError as error:
        raise AccessError(
            f"elements of its {letter} have {error.allowed} bits, and those of the tile "
            f"{request.named.text} have {tile.element_bits}"
        ) from None
    operand = operand.transposed if transposed else operand
    inside = operand.rows * tile.row_elements + operand.columns
    origins = block_origins(request.named, *operand.shape, f"{instruction.name}'s {letters}")
    # Blocks begin at multiples of their rows' vectors; the first one tells for all.
    steps = inside[:, None]
    every = np.ones(steps.shape, dtype=bool)
    count = widest(steps, every, tile.element_bits).count
    while (origins % count).any():
        count //= 2
    vectors = joined(steps, every, count)
    assert vectors is not None, "a part of what is side by side is so, too"
    found = request.lanes.deal_blocks(request.kind, origins, vectors.firsts[:, 0], count)
    return request.in_memory(found, len(vectors.firsts))


_LDMATRIX = "ldmatrix"
WGMMA = "wgmma"
_INSTRUCTIONS = {
    "stmatrix": "stmatrix",
    "cp.async.ca.4": "cp.async[:BITS]",
    "wgmma": "wgmma:{A,B}",
    "ds_read_b64_tr_b16": "ds_read_b64_tr_b16",
    "ds_read_b64_tr_b8": "ds_read_b64_tr_b8",
}
"""How patterns of `instruction_patterns.py` are written, by an instruction that they need."""
_LDMATRIX_NAME = re.compile(r"ldmatrix(?:\.x([124]))?(?:\.trans)?")
_MATRIX_ROWS, _MATRIX_ROW_BITS = 8, 128


def _ldmatrix(request: PatternRequest) -> tuple[LdsAccess, ...]:
    match = _LDMATRIX_NAME.fullmatch(request.name)
    lds = request.lds
    if match is None or request.words:
        raise AccessError("write 'ldmatrix', 'ldmatrix.x1', 'ldmatrix.x2' or 'ldmatrix.x4'")
    if not lds.has(_LDMATRIX):
        raise AccessError(f"{lds.arch} has no ldmatrix; that is NVIDIA's")
    if request.kind is AccessKind.WRITE:
        raise AccessError("ldmatrix reads; write by 'rows:128' or a formula")
    return matrix_blocks(request, _LDMATRIX, int(match[1] or 4))


def matrix_blocks(
    request: PatternRequest, instruction: str, matrices: int
) -> tuple[LdsAccess, ...]:
    """Returns the accesses of matrices of 8 rows of 16 bytes, `matrices` of them at a time.

    Raises:
        AccessError: the tile is not made of them.
    """
    tile = request.named.tile
    if _MATRIX_ROW_BITS % tile.element_bits:
        raise AccessError(f"16 bytes are no whole elements of {tile.element_bits} bits")
    count = _MATRIX_ROW_BITS // tile.element_bits
    down, across = {1: (1, 1), 2: (1, 2), 4: (2, 2)}[matrices]
    lane = np.arange(request.lanes.wave_size, dtype=np.int64)
    matrix = lane // _MATRIX_ROWS % matrices
    row = lane % _MATRIX_ROWS + _MATRIX_ROWS * (matrix % down)
    inside = row * tile.row_elements + matrix // down * count
    origins = block_origins(request.named, _MATRIX_ROWS * down, count * across, request.name)
    return request.lanes.deal_blocks(
        request.kind,
        origins,
        inside[None],
        count,
        active=lane < _MATRIX_ROWS * matrices,
        instruction=instruction,
        alignment=count,
    )
