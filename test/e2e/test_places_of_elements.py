# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Searches for the places of elements (`iree_linalg_ext.arg_compare`), which IREE does not compile
or compiles for minutes, emulated."""

from __future__ import annotations

import numpy as np
import pytest

from bankwise.bench.program_families.program import Array
from bankwise.bench.random_kinds.searches import Search

from .program_runs import run_program


def strange(elements: Array, along: int) -> Array:
    """Returns elements of which some are NaN and zeros of both signs, and rows NaN or -inf."""
    if elements.dtype.kind != "f":
        return elements
    elements.reshape(-1)[::11], elements.reshape(-1)[5::11] = -0.0, 0.0
    elements.reshape(-1)[::7] = np.nan
    rows = np.moveaxis(elements, along, -1)
    flat = rows.reshape(-1, rows.shape[-1])
    flat[0], flat[1:2] = np.nan, -np.inf
    flat[2:3] = np.minimum(flat[2:3], 0.0)
    return np.ascontiguousarray(np.moveaxis(flat.reshape(rows.shape), -1, along))


@pytest.mark.sampled("arch", "mode", every=2)
@pytest.mark.parametrize(
    ("arch", "mode"),
    [
        *(("gfx942", f"auto/{level}") for level in ("layout", "exact", "fast")),
        ("gfx1201", "auto/exact"),
    ],
)
@pytest.mark.parametrize(
    "search",
    [
        Search((4, 1024), 1, "f16", "i32", both=False),
        Search((3, 777), 1, "f32", "i64", both=True),
        Search((2, 130, 3), 1, "f16", "i32", both=True),
        Search((2, 513), 1, "i32", "i32", both=True),
        Search((3, 2048), 1, "i8", "i32", both=False),
        Search((70, 33), 0, "f16", "i64", both=False, compares="ge"),
        Search((1000,), 0, "f16", "i32", both=True),
    ],
    ids=lambda search: "x".join(map(str, search.shape)),
)
def test_the_first_place_of_the_largest_element_is_found(
    arch: str, mode: str, search: Search
) -> None:
    program = search.program("places")
    (elements,) = program.draw_inputs()
    elements = strange(elements, search.along)
    outputs = run_program(program, arch, mode, inputs=[elements]).run.outputs
    for output, wanted in zip(outputs, search.found(elements), strict=True):
        assert output.tobytes() == wanted.astype(output.dtype).tobytes()
