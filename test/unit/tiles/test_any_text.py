# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whatever text a user writes is answered, or refused by an error that names the argument."""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence
from typing import Any

import bankwise

TARGETS = ("gfx942:xnack-", "mi300x", "sm_90a", "rtx4090")
TILES = ("64x64xf16", "7x5xf24", "8x8x64xbf16", "4096xf8", "64x64xi4", "2x3x4xf8E4M3FN")
LAYOUTS = (
    "padded by 8 elements",
    "#iree_codegen.xor_shuffle<64, 8, 64, 1>",
    "xor_shuffle<64,8> of rotate_rows<64,8>, padded by 64",
    "Sw<3,4,3> o smem_ptr[16b](unset) o (_64,_64):(_64,_1)",
    "((8,8),(2,32)):((2,16),(1,128))",
    "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>",
    "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>",
    "Triton: vec = 8, perPhase = 1, maxPhase = 8",
    "CU_TENSOR_MAP_SWIZZLE_64B",
    "KPerBlock = 64, KPack = 8, MLdsLayer = 1, RowMul = 1",
    "o[3] ^= o[6], o[4] ^= o[7] ^ o[9]",
)
ACCESSES = (
    "rows:128",
    "blocked:8x8:64",
    "mfma_f32_16x16x16_f16:A",
    "ldmatrix.x2",
    "(lane%16, lane//16*4 + reg)",
    "(lane, reg) for reg in range(4) if lane < 32:64",
    "lane*2 + wave if lane>3 else 0",
    "(lane%8, i*2+j) for i in range(2) for j in range(0,8,2)",
)
PIECES = (
    *"0123456789abforx<>()[]{}:,.=^&|%*/+-_#~ \t\n\0\"'\\",
    *(" o ", " of ", " for ", "range(", "lane", "reg", " if ", "**", "//", "<<", "lambda:", "0x"),
    *("99999999999999999999", "-1", "1e5", "1_0", "((((((((((", "٣", "²", "\udc80", "\u202e"),
)
INPUTS = 2000


def changed(source: random.Random, texts: Sequence[str]) -> str:
    """Returns one of `texts` with some parts removed, doubled, or replaced."""
    text = source.choice(texts)
    for _ in range(source.choice((1, 1, 2, 3, 5))):
        start = source.randrange(len(text) + 1)
        end = min(len(text), start + source.choice((0, 1, 1, 2, 5, 20)))
        other = source.choice(texts)
        cut = source.randrange(len(other) + 1)
        middle = source.choice(
            (
                "",
                source.choice(PIECES),
                source.choice(PIECES) + text[start:end],
                other[cut : cut + source.randrange(12)],
                text[start:end] * source.choice((2, 3, 30)),
            )
        )
        text = text[:start] + middle + text[end:]
    return text


def test_every_text_is_answered_or_refused_by_name() -> None:
    source = random.Random(20)
    answered = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(INPUTS):
            given: dict[str, Any] = {"target": "sm_90", "read": "columns"}
            given["tile"] = source.choice(TILES)
            argument, texts = source.choice(
                (("target", TARGETS), ("tile", TILES), ("layout", LAYOUTS), ("read", ACCESSES))
            )
            given[argument] = changed(source, texts)
            try:
                bankwise.count(**given)
            except bankwise.TileArgumentError as error:
                # What the text says may also not fit to what accesses the tile.
                assert error.argument in (argument, "tile", "layout", "read")
                assert len(str(error)) < 700
                assert str(error).isprintable()
            else:
                answered += 1
    assert INPUTS > answered > 50
