# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/results: what the committed records of kernel times must keep saying."""

from __future__ import annotations

from bankwise.bench.gpu.modes import EXACT, STOCK
from bankwise.bench.gpu.ratios import NOISE
from bankwise.bench.gpu.timed_kernels import CONVOLUTION
from bankwise.bench.pages.records import Records


def test_no_convolution_is_slower_than_stock() -> None:
    ratios = Records().gpu_products
    found = {
        kernel.name: ratios.ratio(kernel, EXACT, STOCK) for kernel in ratios.family(CONVOLUTION)
    }
    assert found
    slower = {name: ratio for name, ratio in found.items() if ratio is None or ratio > NOISE}
    assert slower == {}
