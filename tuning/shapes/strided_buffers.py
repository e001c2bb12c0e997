# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Buffers that are indexed by other loops than their own dimensions.

A convolution is a matmul of a matrix that is nowhere in memory: the row m of this matrix is the
part of the image that the window covers at the place m of the output. Its elements are those of the
image, some of them several times. While a function is compiled, the binding of the image has the
shape of the matrix, and remembers how its indices become an element of the image:

    %image = hal.interface.binding.subspan ... {bankwise.shape = array<i64: 6272, 576>,
        bankwise.strided = {dims = [array<i64: 8, 215296, 28, 7424, 28, 128>,
                                    array<i64: 3, 3712, 192, 1>],
                            elements = 1722368 : i64, offset = 0 : i64}}
        : memref<6272x576xf16>

The index m consists of digits of the bases 8, 28 and 28. Each digit, times its stride, is a part of
the number of the element: a base and its stride stand side by side. `bankwise-restore-shapes` gives
the binding its elements back, one behind the other, and computes their numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import gcd, prod

from iree.compiler import ir

from ...bank_model.quick_tuple import NamedTuple
from ...dialect_utils.builders import Builder
from ...dialect_utils.element_types import element_bits
from ...dialect_utils.handed_attributes import STRIDED
from ...dialect_utils.memory.buffer_starts import start_alignment
from ..costs.copy_layouts import LEAST_ASYNC_BYTES
from ..costs.gathered_copies import Gather
from .shifted_rows import word_elements

_DIMS, _ELEMENTS, _OFFSET = "dims", "elements", "offset"
_SECTOR_BYTES = 32
"""What an NVIDIA GPU reads of global memory at once."""
_HALF_BYTES, _LONGEST_WORD_BITS = 2, 128
_NEAR_BYTES, _MOST_NEAR = 512, 32
"""Within how many bytes rows count as near, and of how many that is asked."""
_COMPARED = 64
"""How many neighbours are looked at to see how many sectors they lie in."""

Digit = tuple[int, int]
"""How many values a digit of an index has, and by how many elements the buffer goes on with it."""


class StridedBuffer(NamedTuple):
    """How the elements of a buffer are found.

    Attributes:
        dims: the digits of each index, the most significant one first.
        elements: how many the buffer has.
        offset: the number of the element whose indices are all zero.
    """

    dims: tuple[tuple[Digit, ...], ...]
    elements: int
    offset: int = 0

    @staticmethod
    def of(binding: ir.Operation) -> StridedBuffer | None:
        """Returns what a binding remembers, if it is indexed by other loops than its dimensions."""
        if STRIDED not in binding.attributes:
            return None
        entries = ir.DictAttr(binding.attributes[STRIDED])
        numbers = [list(ir.DenseI64ArrayAttr(each)) for each in ir.ArrayAttr(entries[_DIMS])]
        dims = [tuple(zip(each[::2], each[1::2], strict=True)) for each in numbers]
        elements, offset = (ir.IntegerAttr(entries[name]).value for name in (_ELEMENTS, _OFFSET))
        return StridedBuffer(tuple(dims), elements, offset)

    def note(self, binding: ir.Operation) -> None:
        """Lets a binding remember how its elements are found."""
        context = binding.context
        number = ir.IntegerType.get_signless(64, context)
        dims = [
            ir.DenseI64ArrayAttr.get([each for digit in dim for each in digit], context)
            for dim in self.dims
        ]
        entries: dict[str, ir.Attribute] = {
            _DIMS: ir.ArrayAttr.get(dims, context),
            _ELEMENTS: ir.IntegerAttr.get(number, self.elements),
            _OFFSET: ir.IntegerAttr.get(number, self.offset),
        }
        binding.attributes[STRIDED] = ir.DictAttr.get(entries, context)

    @staticmethod
    def forget(binding: ir.Operation) -> None:
        """Lets a binding forget it."""
        del binding.attributes[STRIDED]

    @property
    def shape(self) -> tuple[int, ...]:
        """Returns how many values each index has."""
        return tuple(prod(base for base, _ in dim) for dim in self.dims)

    @property
    def run(self) -> int:
        """Returns how many elements lie side by side from each multiple of the last index on."""
        base, stride = self.dims[-1][-1]
        return base if stride == 1 else 1

    @property
    def step(self) -> int:
        """Returns by how many elements the buffer goes on with the last index."""
        return self.dims[-1][-1][1]

    @property
    def aligned_run(self) -> int:
        """Returns how many elements lie side by side from each multiple of that number on."""
        return gcd(self.run, self._multiple)

    @property
    def _multiple(self) -> int:
        """Returns what divides the numbers of the elements that runs begin with."""
        strides = [stride for dim in self.dims for _, stride in dim]
        return gcd(self.offset, *strides[:-1])

    def gather(self, buffer: ir.Value) -> Gather | None:
        """Returns how elements are copied to the LDS by which the last index counts.

        None stands for elements that lie side by side from places on from which words are copied,
        and for those that are no half words.

        Args:
            buffer: the binding that is indexed so, or a view of all of it.
        """
        element = ir.ShapedType(buffer.type).element_type
        is_aligned = self.step == 1 and not self.aligned_run * _HALF_BYTES % LEAST_ASYNC_BYTES
        if element_bits(element) != 8 * _HALF_BYTES or is_aligned:
            return None
        # Parts of the buffer begin anywhere, as rows of an odd length do.
        start = start_alignment(buffer)
        word = word_elements((self.elements,), 1, element, start, _LONGEST_WORD_BITS)
        *others, (run, step) = self.dims[-1]
        pitch = others[-1][1] if others else 0
        rows = range(min(_MOST_NEAR, self.shape[-2])) if len(self.dims) > 1 else range(1)
        near = sum(self._place(-2, each) * _HALF_BYTES < _NEAR_BYTES for each in rows if each) + 1
        return Gather(step, run, word, self._multiple, near, pitch)

    def sectors(self, dim: int, element_bytes: int) -> int:
        """Returns in how many sectors of memory neighbours along an index lie."""
        numbers = range(min(_COMPARED, self.shape[dim]))
        touched = {self._place(dim, each) * element_bytes // _SECTOR_BYTES for each in numbers}
        return len(touched) * _COMPARED // len(numbers)

    def _place(self, dim: int, index: int) -> int:
        place = 0
        for base, stride in reversed(self.dims[dim]):
            index, digit = divmod(index, base)
            place += digit * stride
        return place

    def element(self, at: Builder, indices: Sequence[ir.Value]) -> ir.Value:
        """Emits the number of the element with these indices."""
        # What belongs to an index is summed by itself: other indices may differ in a loop.
        parts = [_part(at, *each) for each in zip(indices, self.dims, strict=True)]
        parts += [at.index(self.offset)] if self.offset else []
        return reduce(at.addi, parts)


def _part(at: Builder, index: ir.Value, dim: Sequence[Digit]) -> ir.Value:
    """Emits by how many elements the buffer goes on with an index.

    With digits of the bases 64, 3 and 3, and the strides 3364, 58 and 1, that is

        i % 3 + i / 3 % 3 * 58 + i / 9 * 3364   =   i + i / 3 * (58 - 3) + i / 9 * (3364 - 174)

    since a remainder is what is left less the base times the quotient. Strides that get negative so
    stay as they are.
    """
    lowest, *others = reversed(dim)
    pairs = zip((lowest, *others), others, strict=False)
    further = [stride - low_base * low for (low_base, low), (_, stride) in pairs]
    whole = min(further, default=0) >= 0
    parts: list[ir.Value] = []
    for place, (base, stride) in enumerate((lowest, *others)):
        last = place == len(others)
        digit = index if whole or last else at.remui(index, at.index(base))
        by = further[place - 1] if whole and place else stride
        if by:
            parts.append(digit if by == 1 else at.muli(digit, at.index(by)))
        index = index if last else at.divui(index, at.index(base))
    return reduce(at.addi, parts) if parts else at.index(0)


def joined_digits(digits: Sequence[Digit]) -> tuple[Digit, ...]:
    """Returns the digits with those made one that go on as one digit would.

    Digits of one value are left out; one digit is left in any case.
    """
    joined: list[Digit] = []
    for base, stride in digits:
        if joined and joined[-1][1] == base * stride:
            joined[-1] = (joined[-1][0] * base, stride)
        elif base != 1:
            joined.append((base, stride))
    return tuple(joined) or ((1, 1),)
