# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of bytes, of which one or both are unsigned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..program_families.program import TOLERANCE, Array, Program, integers, tensor

CONVOLUTIONS = (("yxc", "pqcf", "hwf"), ("yxc", "fpqc", "hwf"), ("cyx", "fcpq", "fhw"))
"""The orders of image, filter and output. In others stock is wrong of signed bytes, too."""


@dataclass(frozen=True)
class Product:
    """A sum of products of bytes.

    Attributes:
        loops: the loops by name, with their sizes.
        operands: what indexes the dimensions of the two operands and of the output: loops, and `y`
            and `x` for the sums of `h` and `p`, and of `w` and `q`.
        unsigned: which operands are.
    """

    loops: dict[str, int]
    operands: tuple[str, str, str]
    unsigned: tuple[bool, bool] = (True, True)

    @staticmethod
    def random(random: np.random.Generator) -> Product:
        """Returns a product of random sizes, orders and signs."""
        unsigned = ((True, True), (True, False), (False, True))[random.integers(3)]
        if random.random() < 0.3:
            sizes = (*random.integers(1, 10, 2), *random.integers(1, 4, 2))
            loops = dict(zip("hwpq", map(int, sizes), strict=True))
            loops |= {"c": int(random.choice([3, 8, 16])), "f": int(random.choice([8, 16, 20]))}
            return Product(loops, CONVOLUTIONS[random.integers(3)], unsigned)
        loops = {each: int(random.integers(1, 70)) for each in "mnk"}
        batch = "b" if random.random() < 0.3 else ""
        loops |= dict.fromkeys(batch, 2)
        orders = [each[:: int(random.choice([1, -1]))] for each in ("mk", "kn", "mn")]
        return Product(loops, (batch + orders[0], batch + orders[1], batch + orders[2]), unsigned)

    def shape(self, number: int) -> tuple[int, ...]:
        """Returns the shape of an operand, or of the output."""
        sizes = self.loops | {
            each: self.loops[a] + self.loops[b] - 1
            for each, (a, b) in {"y": "hp", "x": "wq"}.items()
            if a in self.loops
        }
        return tuple(sizes[each] for each in self.operands[number])

    def source(self) -> str:
        """Returns the program."""
        sums = {"y": "h + p", "x": "w + q"}
        loops = [*(each for each in self.loops if each in self.operands[2])]
        summed = [each for each in self.loops if each not in loops]
        maps = ", ".join(
            f"affine_map<({', '.join(loops + summed)}) -> "
            f"({', '.join(sums.get(each, each) for each in indices)})>"
            for indices in self.operands
        )
        kinds = ", ".join(['"parallel"'] * len(loops) + ['"reduction"'] * len(summed))
        a, b, c = (tensor(kind, *self.shape(n)) for n, kind in enumerate(("i8", "i8", "i32")))
        widen = ["extui" if each else "extsi" for each in self.unsigned]
        return f"""
func.func @main(%a: {a}, %b: {b}) -> {c} {{
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : {c}
  %f = linalg.fill ins(%zero : i32) outs(%e : {c}) -> {c}
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
      ins(%a, %b : {a}, {b}) outs(%f : {c}) {{
  ^bb0(%x: i8, %y: i8, %s: i32):
    %0 = arith.{widen[0]} %x : i8 to i32
    %1 = arith.{widen[1]} %y : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %s, %2 : i32
    linalg.yield %3 : i32
  }} -> {c}
  return %r : {c}
}}
"""

    def program(self, name: str = "bytes") -> Program:
        """Returns the product of bytes of the whole range."""
        inputs = tuple(integers("i8", *self.shape(n), low=-128, high=128) for n in range(2))
        return Program(name, self.source(), inputs, self._multiplied, TOLERANCE["exact"])

    def _multiplied(self, *inputs: Array) -> Array:
        """Returns the output, by NumPy."""
        a, b = (
            each & 0xFF if unsigned else each
            for each, unsigned in zip(inputs, self.unsigned, strict=True)
        )
        first, *rest = self.operands
        if "h" in self.loops:
            windows = (self.loops["p"], self.loops["q"])
            axes = (first.index("y"), first.index("x"))
            a = np.lib.stride_tricks.sliding_window_view(a, windows, axes)  # pyright: ignore
            first = first.replace("y", "h").replace("x", "w") + "pq"
        return np.einsum(f"{first},{rest[0]}->{rest[1]}", a, b)
