# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Searches for the places of elements (`iree_linalg_ext.arg_compare`), which IREE does not compile
or compiles for minutes, emulated."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bankwise.bench.program_families.program import Program

from .program_runs import run_program

_KINDS: dict[str, tuple[type[np.generic], str, str]] = {
    "f16": (np.float16, "0xFC00", "cmpf ogt"),
    "f32": (np.float32, "0xFF800000", "cmpf ogt"),
    "i32": (np.int32, "-2147483648", "cmpi sgt"),
    "i8": (np.int8, "-128", "cmpi sgt"),
}
Array = npt.NDArray[Any]


def source(shape: tuple[int, ...], along: int, kind: str, places: str, *, both: bool) -> str:
    """Returns a program that finds places, or elements and places."""
    _, least, compares = _KINDS[kind]
    rows = [str(size) for dimension, size in enumerate(shape) if dimension != along]
    whole, values, found = (
        f"tensor<{'x'.join([*map(str, sizes), each])}>"
        for sizes, each in ((shape, kind), (rows, kind), (rows, places))
    )
    kinds, names = (f"({values}, {found})", "%0#0, %0#1") if both else (found, "%0#1")
    returned = f"{values}, {found}" if both else found
    return f"""
func.func @main(%x: {whole}) -> {kinds} {{
  %least = arith.constant {least} : {kind}
  %zero = arith.constant 0 : {places}
  %v = tensor.empty() : {values}
  %values = linalg.fill ins(%least : {kind}) outs(%v : {values}) -> {values}
  %p = tensor.empty() : {found}
  %places = linalg.fill ins(%zero : {places}) outs(%p : {found}) -> {found}
  %0:2 = iree_linalg_ext.arg_compare dimension({along}) ins(%x : {whole})
      outs(%values, %places : {values}, {found}) {{
  ^bb0(%in: {kind}, %best: {kind}):
    %better = arith.{compares}, %in, %best : {kind}
    iree_linalg_ext.yield %better : i1
  }} -> {values}, {found}
  return {names} : {returned}
}}
"""


def searched(elements: Array, along: int, places: str) -> list[Array]:
    """Returns what a search finds that asks one element after the other."""
    rows = np.moveaxis(elements, along, 0)
    least = -np.inf if elements.dtype.kind == "f" else np.iinfo(elements.dtype).min
    best = np.full(rows.shape[1:], least, elements.dtype)
    place = np.zeros(rows.shape[1:], places.replace("i", "int"))
    for number, row in enumerate(rows):
        better = row > best
        best, place = np.where(better, row, best), np.where(better, number, place)
    return [best, place.astype(places.replace("i", "int"))]


def drawn(shape: tuple[int, ...], along: int, kind: str) -> Array:
    """Returns few different numbers; some are NaN, and some rows NaN or minus infinity."""
    dtype = _KINDS[kind][0]
    elements = np.random.default_rng(7).integers(-5, 6, shape).astype(dtype)
    if elements.dtype.kind == "f":
        elements.reshape(-1)[::11] = -0.0
        elements.reshape(-1)[::7] = np.nan
        rows = np.moveaxis(elements, along, -1).reshape(-1, shape[along]).copy()
        rows[0], rows[1:2] = np.nan, -np.inf
        outer = [size for dimension, size in enumerate(shape) if dimension != along]
        elements = np.moveaxis(rows.reshape(*outer, shape[along]), -1, along)
    return np.ascontiguousarray(elements)


@pytest.mark.sampled("arch", "mode", every=2)
@pytest.mark.parametrize(
    ("arch", "mode"),
    [
        *(("gfx942", f"auto/{level}") for level in ("layout", "exact", "fast")),
        ("gfx1201", "auto/exact"),
    ],
)
@pytest.mark.parametrize(
    ("shape", "along", "kind", "places", "both"),
    [
        ((4, 1024), 1, "f16", "i32", False),
        ((3, 777), 1, "f32", "i64", True),
        ((2, 130, 3), 1, "f16", "i32", True),
        ((2, 513), 1, "i32", "i32", True),
        ((3, 2048), 1, "i8", "i32", False),
        ((70, 33), 0, "f16", "i64", False),
        ((1000,), 0, "f16", "i32", True),
    ],
)
def test_the_first_place_of_the_largest_element_is_found(
    arch: str, mode: str, shape: tuple[int, ...], along: int, kind: str, places: str, *, both: bool
) -> None:
    elements = drawn(shape, along, kind)
    text = source(shape, along, kind, places, both=both)
    program = Program("places", text, (), lambda *_: (), 0.0)
    outputs = run_program(program, arch, mode, inputs=[elements]).run.outputs
    expected = searched(elements, along, places)[0 if both else 1 :]
    for output, wanted in zip(outputs, expected, strict=True):
        assert output.tobytes() == wanted.tobytes()
