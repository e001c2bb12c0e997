# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions as `linalg.generic`, with the dimensions of their operands in any order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..program_families.program import TOLERANCE, Array, Program, integers, tensor

SUMS = {"f16": "f32", "bf16": "f32", "f32": "f32", "i8": "i32"}
SPATIAL = {"y": ("h", "p"), "x": ("w", "q"), "z": ("d", "r")}
"""The dimensions of an image that are indexed by the sum of a loop of the output and one of the
window."""


@dataclass(frozen=True)
class Convolution:
    """A convolution without margins.

    Attributes:
        sizes: of the loops: n and m of batches, g of groups, c and e of channels, f and l of
            outputs, h, w and d of the output's places, p, q and r of the window's.
        image, window, output: what indexes their dimensions: loops, or `SPATIAL`.
        loops: their order.
        strides, dilations: by loops of the output and of the window, where they are not 1.
    """

    sizes: Mapping[str, int]
    image: str
    window: str
    output: str
    loops: str
    dtype: str = "f16"
    strides: Mapping[str, int] = field(default_factory=dict)
    dilations: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def of_all_orders(random: np.random.Generator) -> Convolution:
        """Returns one of two dimensions with a filter in any order, channels first or last."""
        image, output = (("cyx", "fhw"), ("yxc", "hwf"))[random.integers(2)]
        choices = {"h": (2, 4, 7), "w": (3, 4, 5), "p": (1, 2, 3), "q": (1, 2, 3)}
        choices |= {"c": (3, 8, 16, 20), "f": (5, 8, 16, 32)}
        sizes = {each: int(random.choice(choice)) for each, choice in choices.items()}
        batch = ("", "n")[random.integers(2)]
        sizes |= dict.fromkeys(batch, 2)
        return Convolution(
            *(sizes, batch + image, shuffled(random, "pqcf"), batch + output),
            batch + output + "pqc",
            ("f16", "bf16", "f32", "i8")[random.integers(4)],
            {each: 2 for each in "hw" if random.random() < 0.2},
        )

    @staticmethod
    def random(random: np.random.Generator, groups: str = "") -> Convolution:
        """Returns a convolution of one to three dimensions with random sizes and orders.

        Args:
            groups: the loop over groups, if there must be one.
        """
        spatial = "yxz"[: random.choice([1, 2, 2, 2, 3])]
        outputs, windows = ("".join(SPATIAL[each][n] for each in spatial) for n in range(2))
        batches = ("", "n", "n", "nm")[random.integers(4)]
        groups, channels = (
            groups or ("", "", "g")[random.integers(3)],
            ("c", "c", "c", "ce")[random.integers(4)],
        )
        filters = ("f", "f", "f", "fl")[random.integers(4)]
        choices = {**dict.fromkeys("hwd", (1, 2, 3, 4, 5)), **dict.fromkeys("pqr", (1, 2, 3, 3))}
        choices |= dict.fromkeys("nmg", (1, 2, 3)) | {"c": (1, 2, 3, 4, 8, 16), "e": (2, 4, 8)}
        choices |= {"f": (1, 3, 8, 16, 17), "l": (1, 2, 4)}
        kept = batches + groups + filters + outputs
        sizes = {each: int(random.choice(choices[each])) for each in kept + channels + windows}
        inner = [channels + spatial, spatial + channels][random.integers(2)]
        image, output = batches + groups + inner, batches + groups + filters + outputs
        if inner.startswith(spatial):
            output = batches + groups + outputs + filters
        if random.random() < 0.5:
            image, output = shuffled(random, image), shuffled(random, output)
        window = shuffled(random, groups + channels + filters + windows)
        summed = [windows + channels, shuffled(random, windows + channels)][random.integers(2)]
        return Convolution(
            sizes, image, window, output, output + summed,
            ("f16", "f16", "bf16", "f32", "i8")[random.integers(5)],
            {each: 2 for each in outputs if random.random() < 0.2},
            {each: 2 for each in windows if random.random() < 0.2},
        )  # fmt: skip

    def _step(self, loop: str) -> int:
        return self.strides.get(loop, self.dilations.get(loop, 1))

    def _extent(self, dim: str) -> int:
        if dim not in SPATIAL:
            return self.sizes[dim]
        return 1 + sum((self.sizes[loop] - 1) * self._step(loop) for loop in SPATIAL[dim])

    def shape(self, dims: str) -> tuple[int, ...]:
        """Returns the shape of an operand."""
        return tuple(self._extent(dim) for dim in dims)

    def source(self) -> str:
        """Returns the program."""
        indices = {
            dim: " + ".join(f"{loop} * {self._step(loop)}" for loop in loops)
            for dim, loops in SPATIAL.items()
        }
        operands = (self.image, self.window, self.output)
        maps = ", ".join(
            f"affine_map<({', '.join(self.loops)}) -> "
            f"({', '.join(indices.get(dim, dim) for dim in dims)})>"
            for dims in operands
        )
        kinds = ", ".join(
            '"parallel"' if loop in self.output else '"reduction"' for loop in self.loops
        )
        element, total = self.dtype, SUMS[self.dtype]
        types = zip(operands, (element, element, total), strict=True)
        a, b, c = (tensor(kind, *self.shape(dims)) for dims, kind in types)
        letter, widen, zero = ("i", "extsi", "0") if total == "i32" else ("f", "extf", "0.0")
        wide, x, y = "", "%x", "%y"
        if element != total:
            wide, x, y = "", "%0", "%1"
            for name, value in ((x, "%x"), (y, "%y")):
                wide += f"    {name} = arith.{widen} {value} : {element} to {total}\n"
        return f"""
func.func @main(%a: {a}, %b: {b}) -> {c} {{
  %zero = arith.constant {zero} : {total}
  %e = tensor.empty() : {c}
  %f = linalg.fill ins(%zero : {total}) outs(%e : {c}) -> {c}
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
      ins(%a, %b : {a}, {b}) outs(%f : {c}) {{
  ^bb0(%x: {element}, %y: {element}, %s: {total}):
{wide}    %2 = arith.mul{letter} {x}, {y} : {total}
    %3 = arith.add{letter} %s, %2 : {total}
    linalg.yield %3 : {total}
  }} -> {c}
  return %r : {c}
}}
"""

    def program(self, name: str = "convolution") -> Program:
        """Returns the convolution of small integers, whose sums are exact in all types."""
        shapes = map(self.shape, (self.image, self.window))
        inputs = tuple(integers(self.dtype, *shape, low=-4, high=5) for shape in shapes)
        return Program(name, self.source(), inputs, self._convolved, TOLERANCE["exact"])

    def _convolved(self, image: Array, window: Array) -> Array:
        """Returns the output, by NumPy."""
        names = [SPATIAL.get(dim, (dim,)) for dim in self.image]
        strides = [
            image.strides[place] * self._step(loop)
            for place, loops in enumerate(names)
            for loop in loops
        ]
        loops = "".join(loop for each in names for loop in each)
        shape = [self.sizes[loop] for loop in loops]
        windows = np.lib.stride_tricks.as_strided(image, shape, strides)
        return np.einsum(f"{loops},{self.window}->{self.output}", windows, window)


def shuffled(random: np.random.Generator, dims: str) -> str:
    """Returns dimensions in a random order."""
    return "".join(random.permutation(list(dims)))
