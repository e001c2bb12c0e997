# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of `auto/fast` against those of stock, over many random inputs, on the emulator.

python -m bankwise.bench.fast_errors [--seeds 100] [--target gfx942] [--dtype f16] [--jobs 2]
    [-o bench/results/fast_errors.md]

`fast` adds the same products up in another order. For one input its error may be larger or smaller
than stock's. Whether it is larger on the whole, only many inputs say. A line of the table is a
product with one kind of inputs, each drawn once for each seed. All its figures but the last are
ratios at `fast` to stock's of the root mean square of errors against float64: that of all outputs
of all seeds together; the mean of the seeds, with its standard error; the least and the greatest of
one seed; and in how many seeds `fast` has the larger error.

`normal` values are of a normal distribution. Of `outliers` one in 16 is 100 times as large. A sum
is rounded coarsely from the place on where an outlier was added, so that the order of the sum
decides on the error: `one place` has 6e4 at one place of every sum, at the next place for the next
seed. `specials` have values of 6e4, infinities and NaN. Outputs that are not finite in float64
count only for the last column: in how many seeds `fast` and stock agree on all of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from math import sqrt
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..emulator.chips import EMULATED_CHIPS
from ..runtime.dtypes import dtype_of
from ..runtime.emulated_device import EmulatedDevice
from ..runtime.emulated_module import compile_for_emulation
from ..runtime.host_program import HostProgram
from ..sweep.cases import target_flags
from ..sweep.tables import markdown_lines
from .benchmark import Benchmark, BenchRow, bench_parser
from .program_families.matmuls import Contraction

Array = npt.NDArray[np.float64]
Inputs = Callable[[np.random.Generator, tuple[int, ...]], Array]


@dataclass(frozen=True)
class Case:
    """A product of two operands, and what is in them.

    Attributes:
        mode: what is compared with stock.
        seeds: how many times inputs are drawn.
        twice: whether both operands have the same elements, as in a Gram matrix.
    """

    product: Contraction
    kind: str
    target: str
    mode: str
    seeds: int
    twice: bool = False


def _normal(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return random.standard_normal(shape)


def _outliers(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return _normal(random, shape) * np.where(random.random(shape) < 1 / 16, 100, 1)


def _specials(random: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Returns values of which one in 16 is 6e4 or -6e4, and four are infinite or no number."""
    values = _normal(random, shape)
    values = np.where(random.random(shape) < 1 / 16, np.copysign(6e4, values), values)
    places = random.choice(values.size, 4, replace=False)
    values.flat[places] = (np.inf, -np.inf, np.nan, np.inf)
    return values


_ONE_PLACE = "one place"
KINDS: dict[str, Inputs] = {
    "normal": _normal,
    "outliers": _outliers,
    _ONE_PLACE: _normal,
    "specials": _specials,
}


def cases(target: str, seeds: int, dtype: str) -> list[Case]:
    """Returns the products of one tensor with itself and of two, with all kinds of values."""
    gram = Contraction("gram", dtype, {"m": 64, "k": 96, "n": 64}, right="n k")
    small = Contraction("small", dtype, {"m": 64, "k": 32, "n": 128})
    long = Contraction("long", dtype, {"m": 64, "k": 1024, "n": 64})
    return [
        Case(each, kind, target, mode, seeds, twice=each is gram)
        for each, mode in ((gram, "auto/fast/on"), (small, "auto/fast"), (long, "auto/fast"))
        for kind in KINDS
    ]


@dataclass(frozen=True)
class Sample:
    """The sums of squared errors of one seed's outputs, and whether what is not finite agrees."""

    stock: float
    fast: float
    outputs: int
    agrees: bool


def sample(case: Case, modes: dict[str, HostProgram], seed: int) -> Sample:
    """Runs stock and `fast` on the inputs of a seed."""
    random = np.random.default_rng(seed)
    dims = (case.product.left, case.product.right)
    dtype = dtype_of(case.product.dtype)
    drawn = [KINDS[case.kind](random, case.product.shape(each)).astype(dtype) for each in dims]
    if case.kind == _ONE_PLACE:
        drawn[0][:, seed % case.product.sizes["k"]] = 6e4
    inputs = [drawn[0], drawn[0] if case.twice else drawn[1]]
    with np.errstate(all="ignore"):
        wanted = case.product.reference(*(each.astype(np.float64) for each in inputs))
    assert isinstance(wanted, np.ndarray)
    finite = np.isfinite(wanted)
    outputs = {mode: program.call("matmul", inputs)[0] for mode, program in modes.items()}
    squares = {
        mode: float(np.square(output[finite] - wanted[finite]).sum())
        for mode, output in outputs.items()
    }
    stock, fast = (outputs[mode][~finite] for mode in ("stock", case.mode))
    agrees = bool(np.array_equal(stock, fast, equal_nan=True))
    return Sample(squares["stock"], squares[case.mode], int(finite.sum()), agrees)


@dataclass(frozen=True)
class Row(BenchRow):
    """The samples of a product with one kind of inputs, one for each seed."""

    samples: list[Sample] = field(default_factory=list)

    @classmethod
    def of_case(cls, case: Case) -> Row:
        """Returns the row of a product that has not run."""
        return cls(f"{case.product.name} {case.kind}", case.target, case.mode)

    def measured(self, case: Case) -> Row:
        """Runs a product on all inputs; the kernels are compiled once."""
        source, flags = case.product.program().source, target_flags(case.target)
        with ExitStack() as stack:
            modes: dict[str, HostProgram] = {}
            for mode in ("stock", case.mode):
                module = stack.enter_context(compile_for_emulation(source, flags, mode))
                modes[mode] = HostProgram(module.host, EmulatedDevice(module.kernels))
            return replace(self, samples=[sample(case, modes, seed) for seed in range(case.seeds)])

    def cells(self) -> list[str]:
        """Returns the row's line of the table."""
        samples = self.samples
        total = sqrt(sum(each.fast for each in samples) / sum(each.stock for each in samples))
        ratios = np.array([sqrt(each.fast / each.stock) for each in samples if each.stock])
        deviation = ratios.std(ddof=1) / sqrt(len(ratios))
        return [
            self.kernel,
            self.mode,
            f"{total:.3f}",
            f"{ratios.mean():.3f} ± {deviation:.3f}",
            f"{ratios.min():.2f} to {ratios.max():.2f}",
            f"{int((ratios > 1).sum())} of {len(ratios)}",
            f"{sum(each.agrees for each in samples)} of {len(samples)}",
        ]


def shown(rows: Sequence[Row]) -> str:
    """Returns the table; each line is a ratio of errors at `fast` to stock's."""
    head = ["product, inputs", "mode", "all seeds", "mean of seeds", "seeds", "larger at `fast`"]
    lines = [row.cells() for row in rows if not row.failed]
    return markdown_lines([[*head, "inf, NaN equal"], *lines], text_columns=7)


BENCHMARK = Benchmark(
    "products",
    Row,
    lambda arguments: cases(arguments.target, arguments.seeds, arguments.dtype),
    shown,
    texts={"md": lambda rows: shown(rows) + "\n"},
)


def main() -> int:
    """Prints the table."""
    parser = bench_parser(__doc__, "products")
    parser.add_argument("--seeds", type=int, default=100, help="inputs of each kind")
    parser.add_argument("--target", choices=EMULATED_CHIPS, default="gfx942")
    parser.add_argument(
        "--dtype", choices=("f16", "bf16", "f32"), default="f16", help="of operands"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.md", help="also write the table")
    arguments = parser.parse_args()
    if arguments.seeds < 2:
        parser.error("--seeds: at least 2 are needed to say how much they differ")
    return BENCHMARK.run(BENCHMARK.cases(arguments), arguments.jobs, arguments.output)


if __name__ == "__main__":
    sys.exit(main())
