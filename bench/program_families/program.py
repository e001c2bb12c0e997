# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a real-life program is: its MLIR, inputs drawn from a seed, and NumPy's result."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import numpy.typing as npt

from ...emulator.timing.constants import TIMED_CHIPS
from ...runtime.dtypes import dtype_of

Array = npt.NDArray[Any]
Input = Callable[[np.random.Generator], Array]
Reference = Callable[..., "Array | Sequence[Array]"]

SOURCES = Path(__file__).parent / "sources"
_SEED = 11

TOLERANCE = {
    "f64": 2.0**-45,
    "f32": 2.0**-18,
    "f16": 2.0**-7,
    "f16 sums": 2.0**-5,
    "bf16": 2.0**-4,
    "f8": 2.0**-2,
    "exact": 0.0,
}
"""The largest error by the least precise type that a float result passes through: a few of its
last bits, of f16 and bf16 eight. `f16 sums` is for long sums that are themselves in f16; `f8` for
attentions that round their weights to 3 bits of mantissa before they multiply V; `exact` for
integers, and for programs that only move or compare values.

The last bit of bf16 is 2^-7. IREE rounds the factor of an attention's scores to bf16, and Q times
it. In 128 rows of 32x1000x128 on gfx942 the errors of IREE's own kernel are up to 3.8 last bits,
and those of `fast` up to 4.0; the root mean square of both is 0.67."""


@dataclass(frozen=True)
class Program:
    """One program, with everything that is needed to run it and to judge its outputs.

    Attributes:
        source: the module as MLIR.
        inputs: each makes one input of the function from a random generator.
        reference: computes the outputs from the inputs, which it gets as float64 or int64 arrays.
        tolerance: the largest `largest_error` that an output may have.
        flags: of the compiler, beside those that name the target.
        needs_process: whether one of the flags exists only on a compiler's command line. Such a
            program is compiled in a process of its own, and its decisions are not known.
        targets: the chips that the program is for. One that is for all of which times are known is
            for all other chips, too.
        race: what goes wrong in the kernel that stock IREE makes of the program, where its lanes
            race: then the emulator must say so in every mode, and there is no result.
    """

    name: str
    source: str
    inputs: tuple[Input, ...]
    reference: Reference
    tolerance: float
    flags: tuple[str, ...] = ()
    needs_process: bool = False
    targets: tuple[str, ...] = TIMED_CHIPS
    race: str = ""

    def is_for(self, target: str) -> bool:
        """Returns whether the program is for a chip."""
        return is_for(self.targets, target)

    def draw_inputs(self) -> list[Array]:
        """Returns the same inputs each time."""
        random = np.random.default_rng(_SEED)
        return [draw(random) for draw in self.inputs]

    def expected(self, inputs: Sequence[Array]) -> list[Array]:
        """Returns what the outputs must be, in float64 or as integers."""
        outputs = self.reference(*map(_widened, inputs))
        return [outputs] if isinstance(outputs, np.ndarray | np.generic) else list(outputs)


def is_for(targets: Sequence[str], target: str) -> bool:
    """Returns whether a program for some chips is for a chip, too: `Program.targets` says when."""
    for_all = target not in TIMED_CHIPS and {*targets} >= {*TIMED_CHIPS}
    return for_all or target in targets


def _widened(array: Array) -> Array:
    """Returns the values in a type in which NumPy computes without loss."""
    if array.dtype.kind == "b":
        return array
    return array.astype(np.int64 if array.dtype.kind in "iu" else np.float64)


def largest_error(output: Array, expected: Array) -> float:
    """Returns the largest difference of an element, relative to the larger of two magnitudes.

    These are the element's own magnitude and the root mean square of all elements: a sum that
    happens to be small has the rounding errors of its large terms. The error is infinite where
    the shapes differ or an element is not finite.
    """
    if output.shape != expected.shape:
        return math.inf
    if np.array_equal(output, expected):
        return 0.0
    wanted = expected.astype(np.float64)
    difference = np.abs(output.astype(np.float64) - wanted)
    typical = math.sqrt(float(np.mean(wanted**2))) or 1.0
    relative = difference / np.maximum(np.abs(wanted), typical)
    return float(relative.max()) if np.isfinite(relative).all() else math.inf


def normal(element_type: str, *shape: int, scale: float = 1.0) -> Input:
    """Makes values of a normal distribution with the standard deviation `scale`."""
    return lambda random: (scale * random.standard_normal(shape)).astype(dtype_of(element_type))


def integers(element_type: str, *shape: int, low: int, high: int) -> Input:
    """Makes integers from `low` up to, and without, `high`."""
    return lambda random: random.integers(low, high, shape).astype(dtype_of(element_type))


def file_source(name: str, **values: object) -> str:
    """Returns the text of one of the `.mlir` files that come with this package.

    Args:
        values: what stands in place of `${...}` in the file.
    """
    return Template((SOURCES / f"{name}.mlir").read_text()).substitute(values)


def tensor(element_type: str, *shape: int) -> str:
    """Returns a tensor type as MLIR spells it, such as `tensor<4x8xf16>`; -1 is a dynamic size."""
    sizes = ("?" if size < 0 else str(size) for size in shape)
    return f"tensor<{'x'.join([*sizes, element_type])}>"


def shaped(element_type: str, sizes: Mapping[str, int], dims: str, dynamic: str) -> str:
    """Returns the type of an operand whose dimensions are words, some of them dynamic ones."""
    known = {**sizes, **dict.fromkeys(dynamic.split(), -1)}
    return tensor(element_type, *(known[dim] for dim in dims.split()))


def empty_tensor(
    kind: str, output: str, dynamic: str, operands: Mapping[str, tuple[str, str]]
) -> str:
    """Returns MLIR that makes `%empty`, whose dynamic sizes are asked of operands.

    Args:
        kind: the type.
        output: the dimensions.
        dynamic: those whose sizes only the program knows.
        operands: the dimensions and the type of each operand, by its name.
    """
    lines: list[str] = []
    sizes = [dim for dim in output.split() if dim in dynamic.split()]
    for dim in sizes:
        name, (dims, its_kind) = next(it for it in operands.items() if dim in it[1][0].split())
        place = dims.split().index(dim)
        lines.append(f"  %{dim}_place = arith.constant {place} : index\n")
        lines.append(f"  %{dim} = tensor.dim {name}, %{dim}_place : {its_kind}\n")
    given = ", ".join(f"%{dim}" for dim in sizes)
    return "".join(lines) + f"  %empty = tensor.empty({given}) : {kind}\n"


def indexing_map(space: Iterable[str], dims: str) -> str:
    """Returns the affine map from an iteration space to the dimensions of an operand.

    The dimensions are words, such as "m k".
    """
    return f"affine_map<({', '.join(space)}) -> ({', '.join(dims.split())})>"


def sum_of_products(output: str, *operands: tuple[Array, str]) -> Array:
    """Returns the products of operands, summed over the dimensions that `output` lacks.

    Each operand comes with its dimensions: `sum_of_products("m n", (a, "m k"), (b, "k n"))` is a
    matmul.
    """
    named = dict.fromkeys(dim for _, dims in operands for dim in dims.split())
    letters = {dim: chr(ord("a") + i) for i, dim in enumerate(named)}

    def indices(dims: str) -> str:
        return "".join(letters[dim] for dim in dims.split())

    spec = f"{','.join(indices(dims) for _, dims in operands)}->{indices(output)}"
    return np.einsum(spec, *(array for array, _ in operands), optimize=True)
