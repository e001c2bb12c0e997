# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Multiplies matrices by every form of `wgmma` on a GPU, and counts which products are right.

    python3 -m bench.wgmma_products [--only REGEX] [--jobs N]     # where the GPU is

A form is a type of elements, how many columns there are (8 to 256 in eights), how the 64 rows of A
and the columns of B lie (K-major, or MN-major for elements of 16 bits), the swizzle of the tiles,
and whether A comes from registers or from the LDS. For each a kernel in PTX multiplies 128 bytes of
the summed dimension, in four steps. Its descriptors are those of `bank_model/descriptor_tiles.py`;
where the prover there (`described_operand`) knows a tile, it must find the same descriptor. Tiles
without a swizzle are tried beside: `wgmma` reads them, and no pass makes them.

The elements are small integers, whose sums every type has exactly, and of the types of integers all
values. A product is right where all elements of the result are. The command needs NumPy and CUDA's
driver, and exits with 1 where a product is wrong.
"""

from __future__ import annotations

import ctypes
import re
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import groupby, product
from multiprocessing import get_context

import numpy as np
import numpy.typing as npt

from ..bank_model.descriptor_tiles import (
    BLOCK_ROWS,
    DESCRIPTOR_MODES,
    GROUP_BYTES,
    STEP_BYTES,
    DescribedOperand,
    DescriptorMode,
    described_operand,
)
from .gpu.cuda_driver import Bytes, CudaDriver

Numbers = npt.NDArray[np.int64]

_ROWS, _THREADS, _STEPS = 64, 128, 4
_SUMMED_BYTES = _STEPS * STEP_BYTES
_PLAIN = DescriptorMode(GROUP_BYTES, 0)
"""Tiles without a swizzle: blocks of 16 bytes of each row."""
_MODES = (_PLAIN, *reversed(DESCRIPTOR_MODES))
_COLUMNS = tuple(range(8, 257, 8))
_INTEGER_COLUMNS = (8, 16, 24, 32, *range(48, 257, 16))


@dataclass(frozen=True)
class Element:
    """A type of elements, as PTX writes it.

    Attributes:
        bytes: the bytes of an element.
        sums: the type of the sums.
    """

    name: str
    bytes: int
    sums: str = "f32"

    @property
    def is_integer(self) -> bool:
        """Returns whether the elements are integers."""
        return self.sums == "s32"

    def draw(self, shape: tuple[int, int], random: np.random.Generator) -> Numbers:
        """Returns numbers that the type has."""
        if self.is_integer:
            first = -128 if self.name == "s8" else 0
            return random.integers(first, first + 256, shape)
        return random.integers(-3, 4, shape)

    def encode(self, numbers: Numbers) -> npt.NDArray[np.unsignedinteger]:
        """Returns the bits of numbers."""
        if self.is_integer:
            return numbers.astype(np.int64).astype(np.uint8)
        if self.name == "f16":
            return numbers.astype(np.float16).view(np.uint16)
        if self.name == "bf16":
            return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        # The upper byte of an f16 is an e5m2; e4m3 has a bit less of exponent, whose bias is 7.
        half = numbers.astype(np.float16).view(np.uint16)
        if self.name == "e5m2":
            return (half >> 8).astype(np.uint8)
        magnitude = ((half & 0x7FFF).astype(np.int64) >> 7) - ((15 - 7) << 3)
        signs = (half >> 8) & 0x80
        return (np.where(numbers == 0, 0, magnitude) | signs).astype(np.uint8)


_ELEMENTS = (
    *(Element(name, 2) for name in ("f16", "bf16")),
    *(Element(name, 1) for name in ("e4m3", "e5m2")),
    *(Element(name, 1, "s32") for name in ("s8", "u8")),
)


@dataclass(frozen=True)
class Form:
    """A form of `wgmma`.

    Attributes:
        b_mn_major: whether rows of the tile of B have elements of one summed index.
        a: where A comes from: "registers", "K-major" or "MN-major".
    """

    element: Element
    mode: DescriptorMode
    b_mn_major: bool
    a: str
    columns: int

    @property
    def name(self) -> str:
        """Returns what its kernel is called."""
        swizzle = self.mode.row_bytes if self.mode.code else "none"
        majors = f"{self.a.replace('-', '_')}_{'MN' if self.b_mn_major else 'K'}_major"
        return f"wgmma_{self.element.name}_{swizzle}_{majors}_n{self.columns}"

    @property
    def kind(self) -> str:
        """Returns what is counted together: all but how many columns there are."""
        swizzle = str(self.mode) if self.mode.code else "no swizzle"
        major = "MN-major" if self.b_mn_major else "K-major"
        return f"{self.element.name}, {swizzle}, A {self.a}, B {major}"


def forms() -> Iterator[Form]:
    """Yields all forms, those of one kind side by side."""
    for element, mode in product(_ELEMENTS, _MODES):
        wide = element.bytes == 2
        majors = ("K-major", "MN-major")[: 1 + wide]
        columns = _INTEGER_COLUMNS if element.is_integer else _COLUMNS
        for a, b in product(("registers", *majors), majors):
            yield from (Form(element, mode, b == "MN-major", a, each) for each in columns)


# Tiles.


@dataclass(frozen=True)
class Tile:
    """An operand in the LDS: rows and columns of elements in blocks, as a mode has them.

    Attributes:
        lines: how many of its rows or columns A or B has.
        mn_major: whether a row has elements of one summed index.
    """

    element: Element
    mode: DescriptorMode
    mn_major: bool
    lines: int

    @property
    def shape(self) -> tuple[int, int]:
        """Returns its rows and columns, which fill whole blocks."""
        summed = _SUMMED_BYTES // self.element.bytes
        width = self.mode.row_bytes // self.element.bytes
        return (summed, -(-self.lines // width) * width) if self.mn_major else (self.lines, summed)

    @property
    def bytes(self) -> int:
        """Returns the bytes that it takes."""
        rows, columns = self.shape
        return rows * columns * self.element.bytes

    def place(self, first: Numbers) -> Numbers:
        """Returns at which bytes elements lie that are at such bytes of the rows, side by side."""
        rows, columns = self.shape
        width = columns * self.element.bytes
        row, byte = first // width, first % width
        row_bytes = self.mode.row_bytes
        plain = (byte // row_bytes * rows + row) * row_bytes + byte % row_bytes
        return self.mode.swizzle(1).apply(plain) if self.mode.code else plain

    def image(self, encoded: npt.NDArray[np.unsignedinteger]) -> Bytes:
        """Returns the LDS with a matrix [lines, summed elements]."""
        rows, columns = self.shape
        whole = np.zeros((rows, columns), encoded.dtype)
        lying = encoded.T if self.mn_major else encoded
        whole[: lying.shape[0], : lying.shape[1]] = lying
        result = np.zeros(self.bytes, np.uint8)
        result[self.place(np.arange(self.bytes))] = whole.reshape(-1).view(np.uint8)
        return result

    def descriptor(self, step: int) -> tuple[int, DescribedOperand]:
        """Returns the byte at which a step's operand starts, and how a descriptor gives it.

        Raises:
            ValueError: the prover finds another one.
        """
        rows, row_bytes = self.shape[0], self.mode.row_bytes
        next_block, eight = rows * row_bytes, BLOCK_ROWS * row_bytes
        if self.mn_major:
            start = step * STEP_BYTES // self.element.bytes * row_bytes
        else:
            byte = step * STEP_BYTES
            start = byte // row_bytes * next_block + byte % row_bytes
        if self.mode.code:
            several = self.mn_major and self.lines * self.element.bytes > row_bytes
            lead, stride = next_block if several else 0, eight
        else:
            # Without a swizzle the distances of MN-major tiles change places.
            lead, stride = (eight, next_block) if self.mn_major else (next_block, eight)
        operand = DescribedOperand(self.mode, self.mn_major, lead, stride)
        found = described_operand(self._groups(step), self.mn_major) if self.mode.code else None
        if found is not None and not self._is_same((start, operand), found):
            raise ValueError(f"{self}: the prover finds {found} in place of {start}, {operand}")
        return start, operand

    def _groups(self, step: int) -> Numbers:
        """Returns [lines / 8, 16], the bytes at which the groups of a step start."""
        width = self.shape[1] * self.element.bytes
        tiles = np.arange(self.lines // BLOCK_ROWS)
        if self.mn_major:
            k = step * STEP_BYTES // self.element.bytes + np.arange(2 * BLOCK_ROWS)
            return self.place(np.add.outer(tiles * GROUP_BYTES, k * width))
        halves = step * STEP_BYTES + np.arange(2) * GROUP_BYTES
        column = np.add.outer(np.arange(BLOCK_ROWS) * width, halves).ravel()
        return self.place(np.add.outer(tiles * BLOCK_ROWS * width, column))

    def _is_same(
        self, mine: tuple[int, DescribedOperand], found: tuple[DescribedOperand, Numbers]
    ) -> bool:
        """Returns whether the prover has found this operand; of one block any mode may do."""
        start, operand = mine
        one_block = self.lines == BLOCK_ROWS and found[0].mode != self.mode
        return one_block or (int(found[1]) == start and found[0].high_bits == operand.high_bits)


# Kernels.


def _tiles(form: Form) -> tuple[Tile | None, Tile]:
    """Returns the tiles of A, if it comes from the LDS, and of B, which lies behind it."""
    b = Tile(form.element, form.mode, form.b_mn_major, form.columns)
    if form.a == "registers":
        return None, b
    return Tile(form.element, form.mode, form.a == "MN-major", _ROWS), b


def kernel(form: Form) -> str:
    """Returns the kernel of a form: it copies the LDS's contents, multiplies, and stores the sums.

    Its arguments are the contents, the registers of A, and the sums, thread by thread.
    """
    a, b = _tiles(form)
    first = 0 if a is None else a.bytes
    total, sums = first + b.bytes, form.columns // 2
    accumulators = ", ".join(f"%d{n}" for n in range(sums))
    kind = "f32" if form.element.sums == "f32" else "b32"
    lines = [
        f".visible .entry {form.name}(.param .u64 tile, .param .u64 factor, .param .u64 sums)",
        f"{{ .shared .align 1024 .b8 lds_{form.name}[{total}];",
        f".reg .b32 %a<{4 * _STEPS}>, %r<8>; .reg .{kind} %d<{sums}>; .reg .b64 %rd<12>;",
        ".reg .pred %p;",
        *_preparation(form, total),
        *(f"mov.b32 %d{n}, 0{'f00000000' if kind == 'f32' else ''};" for n in range(sums)),
        "wgmma.fence.sync.aligned;",
    ]
    for step in range(_STEPS):
        if a is None:
            factor = "{" + ", ".join(f"%a{4 * step + n}" for n in range(4)) + "}"
        else:
            factor = "%rd8"
            lines += _descriptor(factor, *a.descriptor(step), 0)
        lines += _descriptor("%rd9", *b.descriptor(step), first)
        lines.append(f"{_instruction(form)} {{{accumulators}}}, {factor}, %rd9, {_scales(form)};")
    lines += ["wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"]
    lines += [f"st.global.{kind} [%rd7+{4 * n}], %d{n};" for n in range(sums)]
    return "\n".join([*lines, "ret; }", ""])


def _preparation(form: Form, total: int) -> list[str]:
    """Returns what copies the contents of the LDS and loads the registers of A."""
    loads = "ld.param.u64 %rd{0}, [{1}]; cvta.to.global.u64 %rd{0}, %rd{0};"
    lines = [loads.format(n, name) for n, name in ((1, "tile"), (2, "factor"), (3, "sums"))]
    lines += [
        f"mov.u32 %r1, %tid.x; mov.u32 %r2, lds_{form.name}; cvt.u64.u32 %rd4, %r2;",
        "shl.b32 %r3, %r1, 4;",
        f"copy: setp.ge.u32 %p, %r3, {total}; @%p bra copied;",
        "cvt.u64.u32 %rd5, %r3; add.u64 %rd6, %rd1, %rd5; add.u32 %r4, %r2, %r3;",
        "{ .reg .b32 %v<4>; ld.global.v4.b32 {%v0, %v1, %v2, %v3}, [%rd6];",
        "st.shared.v4.b32 [%r4], {%v0, %v1, %v2, %v3}; }",
        f"add.u32 %r3, %r3, {16 * _THREADS}; bra copy; copied:",
        f"mul.wide.u32 %rd6, %r1, {16 * _STEPS}; add.u64 %rd6, %rd2, %rd6;",
        *(f"ld.global.b32 %a{n}, [%rd6+{4 * n}];" for n in range(4 * _STEPS)),
        f"mul.wide.u32 %rd7, %r1, {2 * form.columns}; add.u64 %rd7, %rd3, %rd7;",
        "fence.proxy.async.shared::cta; bar.sync 0;",
    ]
    return lines


def _descriptor(register: str, start: int, operand: DescribedOperand, first: int) -> list[str]:
    """Returns what computes the descriptor of an operand in a tile that starts at a byte."""
    return [
        f"add.u64 {register}, %rd4, {first + start}; and.b64 {register}, {register}, 0x3FFFF;",
        f"shr.u64 {register}, {register}, 4;",
        f"or.b64 {register}, {register}, {operand.high_bits:#x};",
    ]


def _instruction(form: Form) -> str:
    name, summed = form.element.name, STEP_BYTES // form.element.bytes
    shape = f"m{_ROWS}n{form.columns}k{summed}"
    return f"wgmma.mma_async.sync.aligned.{shape}.{form.element.sums}.{name}.{name}"


def _scales(form: Form) -> str:
    """Returns the operands of an instruction behind its matrices: sums are added to."""
    if form.element.is_integer:
        return "1"
    majors = [form.a == "MN-major"] * (form.a != "registers") + [form.b_mn_major]
    is_wide = form.element.bytes == 2
    return ", ".join(["1", "1", "1", *(str(int(each)) for each in majors if is_wide)])


# Running.


@cache
def _driver() -> CudaDriver:
    return CudaDriver.start()


def wrong_products(kind: Sequence[Form]) -> list[Form]:
    """Returns the forms of one kind whose products are wrong."""
    driver = _driver()
    header = ".version 8.0\n.target sm_90a\n.address_size 64\n"
    module = driver.load(header + "".join(map(kernel, kind)))
    return [form for form in kind if not _is_right(form, driver, module)]


def _is_right(form: Form, driver: CudaDriver, module: ctypes.c_void_p) -> bool:
    random = np.random.default_rng(form.columns)
    summed = _SUMMED_BYTES // form.element.bytes
    a, b = (form.element.draw((lines, summed), random) for lines in (_ROWS, form.columns))
    tiles = zip(_tiles(form), (a, b), strict=True)
    images = [tile.image(form.element.encode(part)) for tile, part in tiles if tile is not None]
    registers = _fragments(form.element.encode(a))
    size = _THREADS * form.columns * 2
    inputs = [np.concatenate(images), registers]
    result = driver.run(module, form.name, _THREADS, inputs, size)
    kind = np.int32 if form.element.is_integer else np.float32
    sums = result.view(kind).reshape(_THREADS, -1)
    return bool((sums == (a @ b.T)[_places(form.columns)]).all())


def _fragments(encoded: npt.NDArray[np.unsignedinteger]) -> Bytes:
    """Returns the registers of A of all threads, step by step."""
    whole = encoded.reshape(_ROWS, -1).view(np.uint8).reshape(_ROWS, -1)
    thread, step, register, byte = np.ogrid[:_THREADS, :_STEPS, :4, :4]
    row = thread // 32 * 16 + thread % 32 // 4 + register % 2 * 8
    place = step * STEP_BYTES + register // 2 * GROUP_BYTES + thread % 4 * 4 + byte
    return whole[row, place].reshape(-1)


def _places(columns: int) -> tuple[Numbers, Numbers]:
    """Returns the rows and columns of the sums that threads have, [threads, sums of each]."""
    thread, number = np.ogrid[:_THREADS, : columns // 2]
    rows = thread // 32 * 16 + thread % 32 // 4 + number // 2 % 2 * 8
    return rows, number // 4 * 8 + thread % 4 * 2 + number % 2


def main() -> int:
    """Multiplies by all forms that are wanted; returns the exit code."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="REGEX", help="the kinds that are tried")
    parser.add_argument("--jobs", type=int, default=8, help="processes at a time")
    arguments = parser.parse_args()
    wanted = (each for each in forms() if re.search(arguments.only, each.kind))
    kinds = [list(each) for _, each in groupby(wanted, key=lambda form: form.kind)]
    counts: Counter[str] = Counter()
    with ProcessPoolExecutor(arguments.jobs, get_context("spawn")) as pool:
        for kind, wrong in zip(kinds, pool.map(wrong_products, kinds), strict=True):
            counts["all"] += len(kind)
            counts["wrong"] += len(wrong)
            named = ", ".join(f"n{each.columns}" for each in wrong)
            print(f"{kind[0].kind}: {len(kind)} products, {len(wrong)} wrong {named}".rstrip())
    print(f"{counts['all']} products, {counts['wrong']} wrong")
    return int(counts["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
