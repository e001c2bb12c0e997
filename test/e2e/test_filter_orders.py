# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions as `linalg.generic`, with the dimensions of their operands in any order."""

from __future__ import annotations

from itertools import permutations

import pytest

from bankwise.bench.random_kinds.generic_convolutions import Convolution

from .program_runs import run_program

MODES = ("auto/layout", "auto/exact", "auto/fast", "pad", "none", "swizzle")


SIZES = {"h": 4, "w": 4, "p": 3, "q": 2, "c": 16, "f": 16}


@pytest.mark.sampled(every=12)
@pytest.mark.parametrize("image", ["yxc", "cyx"])
@pytest.mark.parametrize("window", [*map("".join, permutations("pqcf"))])
def test_filters_of_all_orders(window: str, image: str) -> None:
    output = "hwf" if image == "yxc" else "fhw"
    convolution = Convolution(SIZES, image, window, output, output + "pqc")
    run_program(convolution.program(), mode="none").assert_exact(by_matrix=True)


GROUPED = Convolution(SIZES | {"g": 3, "c": 8}, "yxgc", "pqgcf", "hwgf", "hwgfpqc")
SQUARE = Convolution(SIZES | {"q": 3}, "yxc", "qpcf", "hwf", "hwfpqc")
CHANNELS = Convolution(SIZES | {"c": 4, "e": 8}, "yxec", "pqecf", "hwf", "hwfpqce")
FILTER_FIRST = Convolution(SIZES, "cyx", "pqfc", "fhw", "fhwpqc", "i8")


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("convolution", [GROUPED, SQUARE, CHANNELS, FILTER_FIRST])
@pytest.mark.parametrize("mode", MODES[:4])
def test_all_levels_read_images_in_the_order_of_filters(
    convolution: Convolution, mode: str
) -> None:
    run_program(convolution.program(), mode=mode).assert_exact(by_matrix=False)
