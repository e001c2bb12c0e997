# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of unsigned bytes, which stock multiplies as signed ones, against NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bankwise.emulator.counters import Counted
from bankwise.iree_plugin.python_compile import compile
from bankwise.iree_plugin.stepped_compile import CompileError
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags

DOCUMENTED = Path(__file__).parents[2] / "docs/for_iree"
MODES = ("auto/layout", "auto/exact", "auto/fast", "swizzle", "pad", "none")
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
        a, b, c = (
            f"tensor<{'x'.join(map(str, self.shape(number)))}x{element}>"
            for number, element in enumerate(("i8", "i8", "i32"))
        )
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

    def inputs(self, random: np.random.Generator) -> list[npt.NDArray[np.int8]]:
        """Returns bytes of the whole range."""
        return [random.integers(-128, 128, self.shape(n), dtype=np.int8) for n in range(2)]

    def right(self, inputs: Sequence[npt.NDArray[np.int8]]) -> npt.NDArray[Any]:
        """Returns the output, by NumPy."""
        a, b = (
            (each.view(np.uint8) if unsigned else each).astype(np.int64)
            for each, unsigned in zip(inputs, self.unsigned, strict=True)
        )
        first, *rest = self.operands
        if "h" in self.loops:
            windows = (self.loops["p"], self.loops["q"])
            axes = (first.index("y"), first.index("x"))
            a = np.lib.stride_tricks.sliding_window_view(a, windows, axes)  # pyright: ignore
            first = first.replace("y", "h").replace("x", "w") + "pq"
        return np.einsum(f"{first},{rest[0]}->{rest[1]}", a, b).astype(np.int32)


def wrong(product: Product, arch: str, mode: str, seed: int) -> tuple[int, int]:
    """Returns how many elements of the output are wrong, and the number of matrix instructions."""
    inputs = product.inputs(np.random.default_rng(seed))
    run = run_emulated(product.source(), target_flags(arch), mode, inputs)
    return int((run.outputs[0] != product.right(inputs)).sum()), run.counters[Counted.MFMA]


@pytest.mark.sampled("arch", "mode", every=3)
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("mode", MODES)
def test_matrix_instructions_multiply_unsigned_bytes(arch: str, mode: str) -> None:
    product = Product({"m": 33, "n": 48, "k": 70}, ("mk", "nk", "mn"))
    elements, matrix = wrong(product, arch, mode, 1)
    assert elements == 0
    assert matrix > 0


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("unsigned", [(True, False), (False, True)], ids=str)
@pytest.mark.parametrize("operands", [CONVOLUTIONS[0], CONVOLUTIONS[2]], ids="_".join)
def test_a_convolution_tells_the_image_from_the_filter(
    operands: tuple[str, str, str], unsigned: tuple[bool, bool]
) -> None:
    """IREE puts the filter first in the product of matrices where channels come first."""
    loops = {"h": 8, "w": 8, "p": 3, "q": 3, "c": 16, "f": 32}
    elements, matrix = wrong(Product(loops, operands, unsigned), "gfx942", "auto/exact", 2)
    assert elements == 0
    assert matrix > 0


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100))
def test_random_products_are_right(seed: int) -> None:
    random = np.random.default_rng(seed)
    product = Product.random(random)
    arch = ("gfx942", "gfx950")[seed % 2]
    assert wrong(product, arch, MODES[seed // 2 % len(MODES)], seed)[0] == 0


@pytest.mark.parametrize("arch", ["gfx942", "sm_80"])
def test_what_instructions_would_drop_is_refused(arch: str) -> None:
    source = (DOCUMENTED / "exponential_factor.mlir").read_text()
    with pytest.raises(CompileError, match=r"error: a matrix instruction would drop math\.exp"):
        compile(source, target_flags(arch), "auto/layout")
