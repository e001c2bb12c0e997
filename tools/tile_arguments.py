# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line of `bankwise-tile`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..bank_model.families import DEFAULT_TARGET
from ..bank_model.lds_tables import known_targets
from ..report.formats import FORMATS, PICTURES
from .argument_parser import ArgumentParser
from .usage import UsageError


@dataclass(frozen=True)
class TileSettings:
    """What `bankwise-tile` was asked for.

    Attributes:
        layout: the layout to count, or None where the best ones are asked for.
        rules: whether the table of the target's rules is asked for instead.
        list_patterns: whether the patterns of the target are asked for instead.
    """

    target: str
    tile: str
    write: tuple[str, ...]
    read: tuple[str, ...]
    threads: int | None
    max_lds_bytes: int | None
    layout: str | None
    format: str
    bank_maps: bool
    picture: str
    list_patterns: bool
    rules: bool


def parse_arguments(argv: Sequence[str]) -> TileSettings:
    """Returns the settings that `argv` asks for.

    Raises:
        UsageError: a flag that cannot be used; the message names it.
    """
    known = make_parser().parse_all(argv)
    if known.rules and known.format != "text":
        raise UsageError(f"--rules: the table is text; leave --format={known.format} away")
    if not (known.list_patterns or known.rules or known.tile):
        raise UsageError("--tile is missing; write its sizes and its type, as --tile=64x64xf16")
    if known.layout and known.max_lds_bytes is not None:
        raise UsageError("--max-lds-bytes: a --layout of one's own is counted, whatever it takes")
    if known.picture and known.format == "json":
        raise UsageError("--picture: JSON has no pictures; ask for text, markdown or html")
    return TileSettings(
        target=known.target,
        tile=known.tile,
        write=tuple(known.write),
        read=tuple(known.read),
        threads=known.threads,
        max_lds_bytes=known.max_lds_bytes,
        layout=known.layout,
        format=known.format,
        bank_maps=not known.no_bank_maps,
        picture=known.picture,
        list_patterns=known.list_patterns,
        rules=known.rules,
    )


_EPILOG = """\
patterns of --write and --read:
  rows:128                         neighbouring lanes access 128-bit vectors along the rows
  columns, columns:64              neighbouring lanes access neighbouring rows
  blocked:8x8:64                   a wave accesses 8 rows of 8 vectors
  mfma_f32_16x16x16_f16:A          an operand of a matrix instruction, A, B or C; AT, BT, CT where
  mma.m16n8k16:BT                  the tile is the transposed matrix
  ldmatrix, ldmatrix.x2            8 x 16-byte matrices; likewise stmatrix, cp.async, wgmma:B,
                                   ds_read_b64_tr_b16
  '#ttg.dot_op<...>'               registers as Triton, Gluon or CuTe print them
  random:1, addresses=FILE.npy     random places, or a table of bytes [issues, lanes]
  '(lane%16, lane//16*4 + reg)'    a formula of lane, wave, thread and reg for each index; may end
                                   in loops, as 'for reg in range(4)', with 'if lane < 32', and in
                                   ':64', the bits of an access

examples:
  bankwise-tile --target=gfx942 --tile=64x64xf16 --write=rows:128 --read=columns
  bankwise-tile --target=sm_90 --tile=64x64xf16 --write=rows:128 --read=ldmatrix
  bankwise-tile --tile=64x64xf16 --read=columns:128 --layout='Swizzle<3, 3, 3>'
"""


def make_parser() -> ArgumentParser:
    """Returns the parser of the command line."""
    parser = ArgumentParser(
        "bankwise-tile",
        description="Counts the bank conflicts of a tile in LDS (shared memory), whoever's kernel "
        "it is in, and\nfinds its best padding and its best swizzle, with code to paste.",
        epilog=_EPILOG,
    )
    add = parser.add_argument
    add("--target", default=DEFAULT_TARGET, metavar="GPU",
        help=f"of {', '.join(known_targets())} (default: {DEFAULT_TARGET}), or a product such as "
        "mi300x, a100, h100")  # fmt: skip
    add("--tile", default="", metavar="SHAPExTYPE", help="sizes, row-major, and element type")
    add("--write", action="append", default=[], metavar="PATTERN", help="what the lanes write")
    add("--read", action="append", default=[], metavar="PATTERN",
        help="what they read; both may be repeated")  # fmt: skip
    add("--threads", type=int, metavar="N", help="threads of the workgroup (default: one wave)")
    add("--max-lds-bytes", type=int, metavar="N",
        help="the most bytes of the tile, padding included")  # fmt: skip
    add("--layout", metavar="LAYOUT",
        help="count this layout only: plain, padded:8, 'xor_shuffle<64, 8>', CuTe's "
        "'Swizzle<3, 3, 3>' or '(64,64):(1,64)', or as Triton, Wave, CK Tile or TMA "
        "write it")  # fmt: skip
    add("--format", default="text", choices=FORMATS, help="text (default), json, markdown or html")
    add("--no-bank-maps", action="store_true", help="draw no bank maps")
    add("--picture", default="", choices=PICTURES,
        help="draw the whole tile, too, each element with its bank (banks) or, as it lies in "
        "memory, with its lane (lanes); in text and Markdown (HTML always has both)")  # fmt: skip
    add("--list-patterns", action="store_true", help="list the patterns of --target, and end")
    add("--rules", action="store_true",
        help="print the banks and phases of --target's instructions, with their sources, and "
        "end")  # fmt: skip
    return parser
