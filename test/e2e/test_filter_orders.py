# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions as `linalg.generic`, with the dimensions of their operands in any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bankwise.emulator.counters import Counted
from bankwise.runtime.dtypes import dtype_of
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags

MODES = ("auto/layout", "auto/exact", "auto/fast", "pad", "none", "swizzle")
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
    def random(random: np.random.Generator) -> Convolution:
        """Returns a convolution of one to three dimensions with random sizes and orders."""
        spatial = "yxz"[: random.choice([1, 2, 2, 2, 3])]
        outputs, windows = ("".join(SPATIAL[each][n] for each in spatial) for n in range(2))
        batches = ("", "n", "n", "nm")[random.integers(4)]
        groups, channels = (
            ("", "", "g")[random.integers(3)],
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
        a, b, c = (
            f"tensor<{'x'.join(map(str, self.shape(dims)))}x{kind}>"
            for dims, kind in zip(operands, (element, element, total), strict=True)
        )
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

    def inputs(self, random: np.random.Generator) -> list[npt.NDArray[Any]]:
        """Returns small integers, whose sums are exact in all types."""
        shapes = (self.shape(self.image), self.shape(self.window))
        return [random.integers(-4, 5, shape).astype(dtype_of(self.dtype)) for shape in shapes]

    def right(self, inputs: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Returns the output, by NumPy."""
        image, window = (each.astype(np.float64) for each in inputs)
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


def wrong(convolution: Convolution, mode: str, seed: int, arch: str = "gfx942") -> tuple[int, int]:
    """Returns how many elements of the output are wrong, and the number of matrix instructions."""
    inputs = convolution.inputs(np.random.default_rng(seed))
    run = run_emulated(convolution.source(), target_flags(arch), mode, inputs)
    elements = int((run.outputs[0] != convolution.right(inputs)).sum())
    return elements, run.counters[Counted.MFMA]


SIZES = {"h": 4, "w": 4, "p": 3, "q": 2, "c": 16, "f": 16}


@pytest.mark.sampled(every=12)
@pytest.mark.parametrize("image", ["yxc", "cyx"])
@pytest.mark.parametrize("window", [*map("".join, permutations("pqcf"))])
def test_filters_of_all_orders(window: str, image: str) -> None:
    output = "hwf" if image == "yxc" else "fhw"
    elements, matrix = wrong(Convolution(SIZES, image, window, output, output + "pqc"), "none", 1)
    assert elements == 0
    assert matrix > 0


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
    assert wrong(convolution, mode, 2)[0] == 0


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(300))
def test_random_convolutions_are_right(seed: int) -> None:
    convolution = Convolution.random(np.random.default_rng(seed))
    arch = ("gfx942", "gfx950")[seed % 2]
    assert wrong(convolution, MODES[seed // 2 % len(MODES)], seed, arch)[0] == 0
