# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels and tiles by which every form of `wgmma` is tried on a GPU."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from bankwise.bank_model.descriptor_tiles import DESCRIPTOR_MODES, DescribedOperand, DescriptorMode
from bankwise.bench.wgmma_products import Element, Form, Tile, forms, kernel

MODES = (DescriptorMode(16, 0), *DESCRIPTOR_MODES)
WIDE, NARROW = Element("f16", 2), Element("s8", 1, "s32")


def test_forms_are_all_that_the_instruction_has() -> None:
    found = list(forms())
    assert Counter(each.element.name for each in found) == {
        # Widths, modes, orders of B, and orders of A or registers.
        **dict.fromkeys(("f16", "bf16"), 32 * 4 * 2 * 3),
        **dict.fromkeys(("e4m3", "e5m2"), 32 * 4 * 1 * 2),
        **dict.fromkeys(("s8", "u8"), 18 * 4 * 1 * 2),
    }
    assert len({each.name for each in found}) == len(found)


def read(image: np.ndarray, start: int, operand: DescribedOperand, line: int, k: int) -> int:
    """Returns the byte that a descriptor gives, by the PTX ISA's canonical layouts of 2 bytes.

    Args:
        k: the byte of the summed dimension, K-major, and its index else.
    """
    row_bytes = operand.mode.row_bytes
    lead, stride = operand.lead_bytes, operand.stride_bytes
    if not operand.mode.code:
        if operand.mn_major:
            at = line // 8 * stride + k // 8 * lead + k % 8 * 16 + line % 8 * 2
        else:
            at = line // 8 * stride + k // 16 * lead + line % 8 * 16 + k % 16
        return image[start + at]
    if operand.mn_major:
        at = line * 2 // row_bytes * lead + k // 8 * stride + k % 8 * row_bytes
        at += line * 2 % row_bytes
    else:
        at = line // 8 * stride + line % 8 * row_bytes + k
    address = start + at
    return image[address ^ (address >> 7) % (row_bytes // 16) << 4]


@pytest.mark.parametrize(("mode", "mn_major"), [*product(MODES, (False, True))])
def test_descriptors_give_what_was_placed(mode: DescriptorMode, mn_major: bool) -> None:
    tile = Tile(WIDE, mode, mn_major, 72)
    # The low bytes of the elements are numbers of lines and of summed elements, mixed.
    line, k = np.ogrid[:72, :64]
    encoded = ((line * 3 + k * 7) % 251).astype(np.uint16)
    image = tile.image(encoded)
    for step in range(4):
        start, operand = tile.descriptor(step)
        for line, k in product(range(72), range(16)):
            found = read(image, start, operand, line, k if mn_major else 2 * k)
            assert found == encoded[line, 16 * step + k]


def test_kernel_multiplies_in_four_steps() -> None:
    text = kernel(Form(WIDE, DESCRIPTOR_MODES[0], True, "K-major", 24))
    assert text.count("wgmma.mma_async.sync.aligned.m64n24k16.f32.f16.f16 {%d0,") == 4
    assert text.count("%rd8, %rd9, 1, 1, 1, 0, 1;") == 4
    text = kernel(Form(NARROW, DESCRIPTOR_MODES[1], False, "registers", 8))
    assert "m64n8k32.s32.s8.s8 {%d0, %d1, %d2, %d3}, {%a12, %a13, %a14, %a15}, %rd9, 1;" in text


def test_elements_of_a_byte_are_encoded() -> None:
    numbers = np.arange(-3, 4)
    assert Element("e4m3", 1).encode(numbers).tobytes().hex() == "c4c0b800384044"
    assert Element("e5m2", 1).encode(numbers).tobytes().hex() == "c2c0bc003c4042"
    assert NARROW.encode(numbers).tobytes().hex() == "fdfeff00010203"
