# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random reductions of rows of integers, and sorted elements with their places."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...runtime.dtypes import dtype_of
from ..program_families.program import TOLERANCE, Array, Program, integers, tensor

_FOLDS: dict[str, tuple[Callable[[int], int], np.ufunc]] = {
    "addi": (lambda bits: 0, np.add),
    "muli": (lambda bits: 1, np.multiply),
    "andi": (lambda bits: -1, np.bitwise_and),
    "ori": (lambda bits: 0, np.bitwise_or),
    "xori": (lambda bits: 0, np.bitwise_xor),
    "maxsi": (lambda bits: -(1 << bits - 1), np.maximum),
    "minsi": (lambda bits: (1 << bits - 1) - 1, np.minimum),
}
"""What a reduction of integers begins with, by their bits, and how NumPy does it."""


def extremes(random: np.random.Generator, name: str) -> Program:
    """Returns the minima or maxima of integers along the last dimensions."""
    # LLVM aborts on stock code for some rows of i8 on AMD GPUs.
    kind = ("i16", "i32", "i32", "i64")[random.integers(4)]
    is_least = random.random() < 0.5
    outer, inner = _shape(random)
    top = (1 << int(kind[1:]) - 1) - 1
    # Numbers of one sign alone show a begin that has the other one.
    low, high = (1, min(top, 100)) if is_least else (-min(top, 100), -1)
    if random.random() < 0.3:
        low, high = -min(top, 100), min(top, 100)
    return _reduced(name, kind, "minsi" if is_least else "maxsi", outer, inner, (low, high))


def integer_rows(random: np.random.Generator, name: str) -> Program:
    """Returns integers, bytes among them, reduced along the last dimensions by any operation."""
    kind = ("i8", "i8", "i8", "i16", "i32", "i64")[random.integers(6)]
    operation = [*_FOLDS][random.integers(len(_FOLDS))]
    outer, inner = _shape(random)
    bounds = ((-32, -17), (-100, 100), (1, 3))[random.integers(3)]
    if operation == "andi":
        # Other numbers have no bit in common.
        bounds = (-32, -17)
    return _reduced(name, kind, operation, outer, inner, bounds)


def _shape(random: np.random.Generator) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the sizes that a reduction keeps, and those that it reduces."""
    length = int(random.choice([64, 128, 256, 512, 1024, 2048, int(random.integers(2, 1500))]))
    outer = tuple(int(each) for each in random.integers(1, 5, random.integers(1, 3)))
    return outer, (length,) if random.random() < 0.7 else (2, length // 2)


def _reduced(
    name: str,
    kind: str,
    operation: str,
    outer: tuple[int, ...],
    inner: tuple[int, ...],
    bounds: tuple[int, int],
) -> Program:
    """Returns rows of integers between two bounds, reduced by an operation of `_FOLDS`."""
    begin, fold = _FOLDS[operation]
    start = begin(int(kind[1:]))
    rows, out = tensor(kind, *outer, *inner), tensor(kind, *outer)
    dims = [f"d{each}" for each in range(len(outer) + len(inner))]
    space, kept = ", ".join(dims), ", ".join(dims[: len(outer)])
    kinds = ", ".join(['"parallel"'] * len(outer) + ['"reduction"'] * len(inner))
    source = f"""func.func @main(%rows: {rows}) -> {out} {{
  %start = arith.constant {start} : {kind}
  %empty = tensor.empty() : {out}
  %begin = linalg.fill ins(%start : {kind}) outs(%empty : {out}) -> {out}
  %out = linalg.generic {{
      indexing_maps = [affine_map<({space}) -> ({space})>, affine_map<({space}) -> ({kept})>],
      iterator_types = [{kinds}]}} ins(%rows : {rows}) outs(%begin : {out}) {{
    ^bb0(%x: {kind}, %value: {kind}):
      %next = arith.{operation} %x, %value : {kind}
      linalg.yield %next : {kind}
  }} -> {out}
  return %out : {out}
}}
"""
    axes, dtype = tuple(range(len(outer), len(dims))), dtype_of(kind)
    draw = integers(kind, *outer, *inner, low=bounds[0], high=bounds[1] + 1)

    def reference(x: Array) -> Array:
        # Sums and products wrap in the type itself.
        return fold.reduce(x.astype(dtype), axis=axes, dtype=dtype)

    return Program(name, source, (draw,), reference, TOLERANCE["exact"])


def top_k(random: np.random.Generator, name: str) -> Program:
    """Returns the largest or the smallest elements of rows, with their places."""
    kind = ("f32", "f32", "f16")[random.integers(3)]
    rows, length = int(random.choice([1, 2, 5, 8, 17, 130])), int(random.integers(2, 100))
    number = int(random.integers(1, min(length, 8) + 1))
    last = random.random() < 0.8
    is_largest = random.random() < 0.7
    shape, found = ((rows, length), (rows, number)) if last else ((length, rows), (number, rows))
    infinity = {"f32": "0xFF800000", "f16": "0xFC00"} if is_largest else {
        "f32": "0x7F800000", "f16": "0x7C00"
    }  # fmt: skip
    x, values, places = tensor(kind, *shape), tensor(kind, *found), tensor("i32", *found)
    source = f"""func.func @main(%rows: {x}) -> ({values}, {places}) {{
  %least = arith.constant {infinity[kind]} : {kind}
  %zero = arith.constant 0 : i32
  %values = tensor.empty() : {values}
  %places = tensor.empty() : {places}
  %low = linalg.fill ins(%least : {kind}) outs(%values : {values}) -> {values}
  %none = linalg.fill ins(%zero : i32) outs(%places : {places}) -> {places}
  %largest:2 = iree_linalg_ext.topk dimension({int(last)}) ins(%rows : {x})
      outs(%low, %none : {values}, {places}) {{
    ^bb0(%one: {kind}, %other: {kind}):
      %before = arith.cmpf {"ogt" if is_largest else "olt"}, %one, %other : {kind}
      iree_linalg_ext.yield %before : i1
  }} -> {values}, {places}
  return %largest#0, %largest#1 : {values}, {places}
}}
"""
    axis = int(last)

    def draw(random: np.random.Generator) -> Array:
        # All elements of a row are different, so that their places are known.
        drawn = random.permuted(np.tile(np.arange(length) - 40, (rows, 1)), axis=1)
        return (drawn if last else drawn.T).astype(dtype_of(kind))

    def reference(x: Array) -> Sequence[Array]:
        order = np.argsort(-x if is_largest else x, axis=axis)
        chosen = np.take(order, range(number), axis=axis)
        return [np.take_along_axis(x, chosen, axis), chosen]

    return Program(name, source, (draw,), reference, TOLERANCE["exact"])


def scan(random: np.random.Generator, name: str) -> Program:
    """Returns the sums of rows up to each element, or up to those before it."""
    kind = ("f32", "i32", "f16")[random.integers(3)]
    shape = [int(random.choice([1, 3, 8, 33, 130])) for _ in range(random.integers(1, 4))]
    axis = int(random.integers(len(shape)))
    shape[axis] = int(random.integers(2, 40))
    is_inclusive = random.random() < 0.5
    x, kept = tensor(kind, *shape), tensor(kind, *shape[:axis], *shape[axis + 1 :])
    zero, add = ("0", "addi") if kind == "i32" else ("0.0", "addf")
    source = f"""func.func @main(%x: {x}) -> {x} {{
  %zero = arith.constant {zero} : {kind}
  %empty = tensor.empty() : {x}
  %sums = tensor.empty() : {kept}
  %none = linalg.fill ins(%zero : {kind}) outs(%sums : {kept}) -> {kept}
  %out:2 = iree_linalg_ext.scan dimension({axis}) inclusive({str(is_inclusive).lower()})
      ins(%x : {x}) outs(%empty, %none : {x}, {kept}) {{
    ^bb0(%one: {kind}, %other: {kind}):
      %sum = arith.{add} %one, %other : {kind}
      iree_linalg_ext.yield %sum : {kind}
  }} -> {x}, {kept}
  return %out#0 : {x}
}}
"""

    def reference(x: Array) -> Array:
        return np.cumsum(x, axis) - (0 if is_inclusive else x)

    draw = integers(kind, *shape, low=-6, high=7)
    return Program(name, source, (draw,), reference, TOLERANCE["exact"])


def stable_sort(random: np.random.Generator, name: str) -> Program:
    """Returns a stable sort of elements of which many are equal, with their places."""
    kind = ("f32", "f16", "i32", "i8")[random.integers(4)]
    shape = [int(random.choice([1, 2, 5, 9])) for _ in range(random.integers(1, 4))]
    axis = int(random.integers(len(shape)))
    shape[axis] = int(random.choice([2, 3, 7, 16, 33, 50]))
    is_descending = random.random() < 0.4
    sign, direction = "SIGNED" if kind[0] == "i" else "FLOAT", "GT" if is_descending else "LT"
    compared = f"{direction}, %a, %b, {sign}"
    x, places, one = tensor(kind, *shape), tensor("i32", *shape), tensor(kind)
    source = f"""func.func @main(%x: {x}) -> ({x}, {places}) {{
  %places = stablehlo.iota dim = {axis} : {places}
  %sorted:2 = "stablehlo.sort"(%x, %places) ({{
  ^bb0(%a: {one}, %b: {one}, %p: tensor<i32>, %q: tensor<i32>):
    %before = stablehlo.compare {compared} : ({one}, {one}) -> tensor<i1>
    stablehlo.return %before : tensor<i1>
  }}) {{dimension = {axis} : i64, is_stable = true}} : ({x}, {places}) -> ({x}, {places})
  return %sorted#0, %sorted#1 : {x}, {places}
}}
"""

    def reference(x: Array) -> Sequence[Array]:
        order = np.argsort(-x if is_descending else x, axis=axis, kind="stable")
        return [np.take_along_axis(x, order, axis), order]

    draw = integers(kind, *shape, low=-6, high=7)
    return Program(name, source, (draw,), reference, TOLERANCE["exact"])
