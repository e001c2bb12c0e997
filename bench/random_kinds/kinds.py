# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kinds of programs that IREE 3.13 computes wrongly, and what draws programs of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from ..program_families.program import Program
from . import attentions, epilogues, parts, products, rows, searches, stablehlo_convolutions
from .bytes_products import Product
from .generic_convolutions import Convolution

Draw = Callable[[np.random.Generator, str], Program]

AMD = ("gfx942", "gfx950", "gfx1201")
CDNA = AMD[:2]
CUDA = ("sm_80",)


class Kind(NamedTuple):
    """Programs that are wrong for one reason.

    Attributes:
        draw: makes a program of random numbers, and a name.
        section: where the defect stands in `docs/for_iree.md`.
        targets: GPUs for which stock is wrong of some programs, or cannot run them.
        stock_ends: whether stock's compiles all end.
    """

    draw: Draw
    section: str
    targets: tuple[str, ...]
    stock_ends: bool = True

    def program(self, name: str, seed: int) -> Program:
        """Returns the same program each time that it is asked for the same name and seed."""
        return self.draw(np.random.default_rng([seed, *name.encode()]), f"{name}_{seed}")


def _orders(random: np.random.Generator, name: str) -> Program:
    if random.random() < 0.6:
        return Convolution.of_all_orders(random).program(name)
    return Convolution.random(random).program(name)


def _groups(random: np.random.Generator, name: str) -> Program:
    if random.random() < 0.5:
        return stablehlo_convolutions.grouped(random, name)
    return Convolution.random(random, groups="g").program(name)


_FILTERS = "orders-of-filters"
KINDS: Mapping[str, Kind] = {
    "filter_orders": Kind(_orders, _FILTERS, AMD + CUDA),
    "grouped": Kind(_groups, _FILTERS, AMD + CUDA),
    "gradients": Kind(stablehlo_convolutions.gradient, _FILTERS, AMD + CUDA),
    "dynamic_keys": Kind(
        attentions.dynamic, "attention-with-dynamic-sequences", AMD + CUDA, stock_ends=False
    ),
    "large_heads": Kind(attentions.large_head, "attention-with-a-large-head-in-f32", CDNA + CUDA),
    "packed": Kind(products.packed, "products-of-packed-matrices", AMD + CUDA),
    "unsigned": Kind(
        lambda random, name: Product.random(random).program(name),
        "unsigned-bytes-and-functions-of-factors",
        AMD,
    ),
    "unsigned_stablehlo": Kind(
        products.unsigned_stablehlo, "unsigned-factors-of-stablehlo", AMD + CUDA
    ),
    "ragged_batches": Kind(products.ragged_batch, "bounds-of-masks", CDNA),
    "several_sums": Kind(products.several_sums, "orders-of-a-products-loops", AMD + CUDA),
    "dilated_rows": Kind(products.dilated_row, "sums-over-waves", ("gfx1201",)),
    "begun_products": Kind(products.begun, "copies-of-each-lane", AMD),
    "small_products": Kind(products.small, "loads-that-widen", AMD, stock_ends=False),
    "padded_functions": Kind(epilogues.padded, "functions-of-padding", AMD),
    "extremes": Kind(rows.extremes, "neutral-elements-of-rows", AMD + CUDA),
    "integer_rows": Kind(
        rows.integer_rows, "neutral-elements-of-rows", AMD + CUDA, stock_ends=False
    ),
    "top_k": Kind(rows.top_k, "top-k", AMD + CUDA),
    "places": Kind(searches.search, "places-of-largest-elements", AMD + CUDA, stock_ends=False),
    "scans": Kind(rows.scan, "top-k", AMD + CUDA),
    "moves": Kind(
        parts.moved, "parts-of-a-tensor-that-move-within-it", AMD + CUDA, stock_ends=False
    ),
    "reflections": Kind(
        parts.reflected, "operands-that-are-read-backwards", AMD + CUDA, stock_ends=False
    ),
    "stable_sorts": Kind(rows.stable_sort, "stable-sorts", AMD + CUDA),
    "loop_orders": Kind(products.loop_order, "loops-of-matrix-instructions-on-cuda", CUDA),
    "pointwise": Kind(products.pointwise, "strided-convolutions-of-1x1-on-cuda", CUDA),
    "scaled": Kind(products.scaled, "scaled-products-of-f8", ("gfx950",)),
}
