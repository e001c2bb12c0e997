# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The legend of a tile's page: what a cell, a colour, a row and a figure mean."""

from __future__ import annotations

from collections.abc import Iterator

from ..report.html_legend import MAP_TERMS, legend_with, ramp

_TERMS = (
    (
        "conflict cycles",
        "LDS cycles that bank conflicts cost, in all waves of the workgroup, each access run once.",
    ),
    (
        "plain, padded, swizzled",
        "row-major; row-major with a gap behind every row; groups of elements exchanged by an XOR.",
    ),
    *MAP_TERMS,
    (
        "the whole tile",
        "by bank: rows and columns of the tile, each cell with the bank of its elements; what a "
        "phase wants of one bank waits. By lane: lines and banks of memory, each cell with the "
        "lane that accesses it. Point at a cell to see more.",
    ),
)


def legend() -> Iterator[str]:
    """Yields the legend, with a sample of a bank map."""
    what = "the lanes of the phase, of a whole tile the banks or the phases"
    colours = f"{what}, from the first {ramp()} to the last"
    return legend_with("How to read the pictures", _TERMS, colours)
