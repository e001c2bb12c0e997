# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Searches of rows for an element and its place (`iree_linalg_ext.arg_compare`), also random."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...runtime.dtypes import dtype_of
from ..program_families.program import TOLERANCE, Array, Program, integers, tensor

_LEAST = {
    "f16": "0xFC00",
    "bf16": "0xFF80",
    "f32": "0xFF800000",
    "i8": "-128",
    "i16": "-32768",
    "i32": "-2147483648",
}
"""What a search for the largest element begins with."""
_COMPARES: dict[str, Callable[[Array, Array], Array]] = {"gt": np.greater, "ge": np.greater_equal}
"""The first of the largest elements is found, and the last one."""


class Search(NamedTuple):
    """A search for the largest element of each row.

    Attributes:
        along: the dimension of the rows.
        places: the type of the places.
        both: whether the elements are returned, too.
        compares: `gt`, or `ge` for the last one of several.
    """

    shape: tuple[int, ...]
    along: int
    kind: str
    places: str
    both: bool
    compares: str = "gt"

    @staticmethod
    def random(random: np.random.Generator) -> Search:
        """Returns a search of random sizes."""
        sizes = (2, 7, 64, 100, 333, 512, 777, 1000, 1024)
        shape = [int(random.choice([1, 2, 3, 5, 40])) for _ in range(random.integers(3))]
        along = int(random.integers(len(shape) + 1))
        shape.insert(along, int(random.choice(sizes)))
        kind = str(random.choice([*_LEAST]))
        places = str(random.choice(["i32", "i64"]))
        compares = "gt" if random.random() < 0.8 else "ge"
        return Search(tuple(shape), along, kind, places, random.random() < 0.5, compares)

    def program(self, name: str) -> Program:
        """Returns the program."""
        drawn = integers(self.kind, *self.shape, low=-30, high=31)
        return Program(name, self.source(), (drawn,), self.found, TOLERANCE["exact"])

    def found(self, elements: Array) -> Sequence[Array]:
        """Returns what is found by asking one element after the other."""
        rows = np.moveaxis(elements, self.along, 0)
        least = -np.inf if elements.dtype.kind == "f" else np.iinfo(dtype_of(self.kind)).min
        best = np.full(rows.shape[1:], least, elements.dtype)
        place = np.zeros(rows.shape[1:], np.int64)
        for number, row in enumerate(rows):
            better = _COMPARES[self.compares](row, best)
            best, place = np.where(better, row, best), np.where(better, number, place)
        return [best, place] if self.both else [place]

    def source(self) -> str:
        """Returns the module as MLIR."""
        is_float = "f" in self.kind
        compares = f"cmpf o{self.compares}" if is_float else f"cmpi s{self.compares}"
        rows = [size for dimension, size in enumerate(self.shape) if dimension != self.along]
        whole, found = tensor(self.kind, *self.shape), tensor(self.places, *rows)
        values = tensor(self.kind, *rows)
        kinds = f"({values}, {found})" if self.both else found
        return f"""func.func @main(%x: {whole}) -> {kinds} {{
  %least = arith.constant {_LEAST[self.kind]} : {self.kind}
  %zero = arith.constant 0 : {self.places}
  %no_values = tensor.empty() : {values}
  %values = linalg.fill ins(%least : {self.kind}) outs(%no_values : {values}) -> {values}
  %no_places = tensor.empty() : {found}
  %places = linalg.fill ins(%zero : {self.places}) outs(%no_places : {found}) -> {found}
  %0:2 = iree_linalg_ext.arg_compare dimension({self.along}) ins(%x : {whole})
      outs(%values, %places : {values}, {found}) {{
  ^bb0(%element: {self.kind}, %best: {self.kind}):
    %is_better = arith.{compares}, %element, %best : {self.kind}
    iree_linalg_ext.yield %is_better : i1
  }} -> {values}, {found}
  return {"%0#0, %0#1" if self.both else "%0#1"} : {kinds.strip("()")}
}}
"""


def search(random: np.random.Generator, name: str) -> Program:
    """Returns a search of random sizes."""
    return Search.random(random).program(name)
