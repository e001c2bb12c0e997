# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bits of random programs at `exact`, and errors at `fast`, on the emulator or on a CUDA GPU.

python -m bankwise.bench.attention_errors --target gfx942|gfx950|sm_80|sm_90a [--programs 60]
    [--of attentions|products] [--first 0] [--seeds 10] [--jobs 2] [-o FILE.json]

An attention is an `iree_linalg_ext.attention`, or two products with a softmax between them, of
which `fast` then makes an attention whatever is predicted of it. Types, sizes, masks, scales from
1e-3 to 1e3 and the kind of inputs are random, and the same for the same number of a program. Q and
K are normal, 100 times as large, 100 times as small, or up to the largest number of their type; of
bf16 they then are up to 1e18, whose products f32 still has. V is normal, or up to half of the
largest number.

A product is a matmul of f16, bf16 or f32; some have one tensor for both operands. Values are
normal; one in 16 is 100 times as large (`outliers`); or 6e4 at one place of every sum, so that the
order of the sum decides on the error (`one place`); or one in 16 is 6e4 and four are infinite or no
number (`specials`).

A row fails where `exact` gives other bits than stock; where an output of `fast` is no finite number
and stock's and that of float64 are; and where the root mean square of the errors of all outputs of
all seeds is above 1.1 times stock's. It counts errors of each seed relative to the largest output,
and the outputs that are finite in all three. Rows whose errors at both are 0 have the ratio 1.

Where stock multiplies by scalar instructions it does not round the weights of V, and matrix
instructions take no others than those of its type. So an error may also be 1.1 times that of a
float64 attention whose weights and outputs are rounded; the table has the ratio to that, too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from math import inf, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from iree.compiler import ir
from iree.compiler.api import Session

from ..bank_model.families import NVIDIA, family_of
from ..dialect_utils.operations import operations_in
from ..iree_plugin.python_compile import compile
from ..passes.base import PassContext
from ..runtime.dtypes import dtype_of
from ..runtime.emulated_device import EmulatedDevice
from ..runtime.emulated_module import compile_for_emulation
from ..runtime.host_program import HostProgram
from ..runtime.runtime_device import run_on_device
from ..sweep.cases import target_flags
from ..sweep.tables import markdown_lines
from ..tuning.programs.program_attention import ATTENTION
from ..tuning.programs.raise_attention import RaiseAttention
from .benchmark import Benchmark, BenchRow, bench_parser
from .program_families.attention import Attention
from .program_families.matmuls import Contraction
from .program_families.written_out import written_out

Array = npt.NDArray[Any]
Call = Callable[[Sequence[Array]], Array]

TARGETS = ("gfx942", "gfx950", "sm_80", "sm_90a")
EXACT, FAST = "auto/exact", "auto/fast/on"
LARGEST_RATIO = 1.1
"""The largest ratio of errors that `docs/compile.md` promises."""
_LARGEST = {"f16": 65504.0, "bf16": 1e18}
"""The largest magnitudes of Q and K; larger products of bf16 leave f32."""
_LARGEST_VALUE = {"f16": 65504.0 / 2, "bf16": 1.69e38}
_FACTORS = {"normal": 1.0, "large": 100.0, "small": 0.01, "largest": inf}


class Case(NamedTuple):
    """A random attention.

    Attributes:
        number: of the program, which does not depend on the target.
        written_out: whether the program has two products and a softmax for it.
        kind: the magnitude of its inputs, a key of `_FACTORS`.
        seeds: how many times inputs are drawn.
    """

    number: int
    target: str
    attention: Attention
    written_out: bool
    kind: str
    seeds: int

    @staticmethod
    def of_number(number: int, target: str, seeds: int) -> Case:
        """Returns the attention of a number."""
        random = np.random.default_rng(number)
        one_of = partial(_one_of, random)
        sizes = {
            "b": one_of(1, 2, 3),
            "m": one_of(16, 32, 48, 64, 77),
            "n": one_of(16, 32, 64, 72),
            "k1": one_of(16, 32, 64, 80),
            "k2": one_of(64, 96, 128, 200, 256, 384),
        }
        scale = one_of(1.0, *(float(10 ** random.uniform(-3, 3)) for _ in range(5)))
        dtype, mask = one_of("f16", "bf16"), one_of("", "", "i1", "f32")
        attention = Attention("attention", dtype, sizes, mask="b m k2" if mask else "",
                              mask_dtype=mask or "f16", scale=scale)  # fmt: skip
        return Case(number, target, attention, one_of(True, False), one_of(*_FACTORS), seeds)

    @property
    def name(self) -> str:
        attention = self.attention
        shape = "x".join(map(str, attention.sizes.values()))
        mask = f" mask {attention.mask_dtype}" if attention.mask else ""
        form = "written out" if self.written_out else "attention"
        return (
            f"{self.number}: {form} {attention.dtype} {shape}{mask} "
            f"scale {attention.score_factor:.3g} {self.kind}"
        )

    def source(self, mode: str) -> str:
        """Returns what is compiled in a mode."""
        if not self.written_out:
            return self.attention.program().source
        text = written_out(self.attention)
        return raised(text) if mode == FAST else text

    def inputs(self, seed: int) -> list[Array]:
        """Draws Q, K and V, and a mask that shows each row a key."""
        random = np.random.default_rng([self.number, seed])
        attention, factor = self.attention, _FACTORS[self.kind]
        largest, largest_value = (each[attention.dtype] for each in (_LARGEST, _LARGEST_VALUE))
        drawn: list[Array] = []
        for place, (shape, dtype) in enumerate(attention.operands):
            values = random.standard_normal(shape)
            most = largest if place < 2 else largest_value
            if place == 3 and dtype == "i1":
                values = random.random(shape) < 0.7
                values[..., 0] = True
            elif place < 3 and factor == inf:
                values = np.clip(values * (most / 2), -most, most)
            elif place < 2:
                values = values * factor
            drawn.append(values.astype(dtype_of(dtype)))
        return drawn

    @property
    def computes(self) -> Attention:
        """Returns what is computed."""
        return self.attention


_KINDS = ("normal", "outliers", "one place", "specials")


class Product(NamedTuple):
    """A random matmul.

    Attributes:
        number: of the program, which does not depend on the target.
        kind: what is in its inputs, one of `_KINDS`.
        seeds: how many times inputs are drawn.
        twice: whether both operands are one tensor, as in a Gram matrix.
    """

    number: int
    target: str
    computes: Contraction
    kind: str
    seeds: int
    twice: bool

    @staticmethod
    def of_number(number: int, target: str, seeds: int) -> Product:
        """Returns the matmul of a number."""
        random = np.random.default_rng(number)
        one_of = partial(_one_of, random)
        m, n, k = one_of(16, 64, 100), one_of(32, 64, 128), one_of(32, 96, 500, 1024)
        twice, dtype, right = one_of(False, False, True), one_of("f16", "bf16", "f32"), "n k"
        if twice:
            n = m
        else:
            right = one_of("n k", "k n")
        product = Contraction("random", dtype, {"m": m, "k": k, "n": n}, right=right)
        return Product(number, target, product, one_of(*_KINDS), seeds, twice)

    @property
    def name(self) -> str:
        return f"{self.number}: {self.computes.name}{' twice' * self.twice} {self.kind}"

    def source(self, mode: str) -> str:
        """Returns what is compiled in every mode."""
        return self.computes.program().source

    def inputs(self, seed: int) -> list[Array]:
        """Draws both operands."""
        random = np.random.default_rng([self.number, seed])
        dims = (self.computes.left, self.computes.right)
        left, right = (self._drawn(random, self.computes.shape(each)) for each in dims)
        if self.kind == "one place":
            left[:, seed % self.computes.sizes["k"]] = 6e4
        both = (left, left if self.twice else right)
        return [each.astype(dtype_of(self.computes.dtype)) for each in both]

    def _drawn(self, random: np.random.Generator, shape: tuple[int, ...]) -> Array:
        values, chosen = random.standard_normal(shape), random.random(shape) < 1 / 16
        if self.kind == "outliers":
            values = np.where(chosen, 100 * values, values)
        elif self.kind == "specials":
            values = np.where(chosen, np.copysign(6e4, values), values)
            places = random.choice(values.size, 4, replace=False)
            values.flat[places] = (inf, -inf, np.nan, inf)
        return values


def _one_of(random: np.random.Generator, *values: Any) -> Any:
    return values[random.integers(len(values))]


def raised(source: str) -> str:
    """Returns a program whose softmaxes between products are attentions, whatever is predicted."""
    module = ir.Module.parse(source, Session().context)
    for function in operations_in(module.operation, "func.func"):
        RaiseAttention(always=True).run(function, PassContext())
    assert operations_in(module.operation, ATTENTION)
    return str(module)


@contextmanager
def compiled(case: Case | Product, mode: str) -> Iterator[Call]:
    """Compiles a case for as long as the context is open; yields what calls it."""
    source, flags = case.source(mode), target_flags(case.target)
    if family_of(case.target) == NVIDIA:
        vmfb = compile(source, flags, mode)
        yield lambda inputs: run_on_device(vmfb, NVIDIA.device, "", inputs)[1][0]
        return
    with compile_for_emulation(source, flags, mode) as module:
        program = HostProgram(module.host, EmulatedDevice(module.kernels))
        function = "attention" if isinstance(case, Case) else "matmul"
        yield lambda inputs: program.call(function, inputs)[0]


@dataclass(frozen=True)
class Row(BenchRow):
    """The errors of a program.

    Attributes:
        outputs: how many outputs all seeds have.
        differing: how many inputs give other bits at `exact` than in stock.
        new: how many of them are finite but at `fast`.
        missing: how many are finite in float64 but not in stock.
        stock, fast: the sums of squared errors of what is finite everywhere.
        rounded: that of weights and outputs which are rounded and otherwise exact.
    """

    outputs: int = 0
    differing: int = 0
    new: int = 0
    missing: int = 0
    stock: float = 0.0
    fast: float = 0.0
    rounded: float = 0.0

    @classmethod
    def of_case(cls, case: Case | Product) -> Row:
        """Returns the row of a program that has not run."""
        return cls(case.name, case.target, FAST)

    def measured(self, case: Case | Product) -> Row:
        """Runs a program on all inputs."""
        row = self
        with ExitStack() as stack:
            modes = ("stock", EXACT, FAST)
            calls = [stack.enter_context(compiled(case, mode)) for mode in modes]
            for seed in range(case.seeds):
                row = row._with_inputs(case, case.inputs(seed), *calls)
        return row

    def _with_inputs(
        self, case: Case | Product, inputs: list[Array], stock: Call, exact: Call, fast: Call
    ) -> Row:
        wide = [each if each.dtype == bool else each.astype(np.float64) for each in inputs]
        with np.errstate(all="ignore"):
            wanted = np.asarray(case.computes.reference(*wide))
            found, kept = stock(inputs), exact(inputs)
            outputs = [each.astype(np.float64) for each in (found, fast(inputs))]
            is_product = isinstance(case, Product)
            # No weights are rounded where there are none.
            outputs.append(wanted if is_product else case.computes.rounded_reference(*wide))
        finite = [np.isfinite(each) for each in (wanted, *outputs)]
        known = finite[0] & finite[1]
        counted = known & finite[2] & finite[3]
        largest = float(np.abs(wanted[counted]).max(initial=0.0)) or 1.0
        errors = [
            float(np.square((each[counted] - wanted[counted]) / largest).sum()) for each in outputs
        ]
        return replace(
            self,
            outputs=self.outputs + wanted.size,
            differing=self.differing + (found.tobytes() != kept.tobytes()),
            new=self.new + int((known & ~finite[2]).sum()),
            missing=self.missing + int((finite[0] & ~finite[1]).sum()),
            stock=self.stock + errors[0],
            fast=self.fast + errors[1],
            rounded=self.rounded + errors[2],
        )

    @property
    def ratio(self) -> float:
        """Returns the error of `fast` over that of stock."""
        return self._over(self.stock)

    @property
    def ratio_to_rounded(self) -> float:
        """Returns the error of `fast` over that of rounded weights and outputs."""
        return self._over(self.rounded)

    def _over(self, other: float) -> float:
        if not other:
            return inf if self.fast else 1.0
        return sqrt(self.fast / other)

    @property
    def faults(self) -> list[str]:
        """Returns why the row fails; empty if it does not."""
        found = super().faults
        if self.differing:
            found.append(f"{self.differing} inputs give other bits at exact than in stock")
        if self.new:
            found.append(f"{self.new} of {self.outputs} outputs are finite but at fast")
        if min(self.ratio, self.ratio_to_rounded) > LARGEST_RATIO:
            to_rounded = f"{self.ratio_to_rounded:.3f} times that of rounded weights"
            found.append(f"the error of fast is {self.ratio:.3f} times stock's, and {to_rounded}")
        return found


def shown(rows: Sequence[Row]) -> str:
    """Returns the table and a line about all of it."""
    rows = [row for row in rows if not row.failed]
    head = ["program", "target", "error over stock's", "finite but at `fast`", "but in stock"]
    lines = [
        [row.kernel, row.target, f"{row.ratio:.3f}", f"{row.new}", f"{row.missing}"] for row in rows
    ]
    largest = max((row.ratio for row in rows), default=1.0)
    new = sum(row.new for row in rows)
    total = f"{len(rows)} programs, largest ratio {largest:.3f}, {new} outputs finite but at fast"
    return f"{markdown_lines([head, *lines], text_columns=2)}\n{total}"


OF = {"attentions": Case, "products": Product}
BENCHMARK = Benchmark(
    "programs",
    Row,
    lambda arguments: [
        OF[arguments.of].of_number(arguments.first + number, arguments.target, arguments.seeds)
        for number in range(arguments.programs)
    ],
    shown,
)


def main() -> int:
    """Prints the table; returns 1 where a row fails."""
    parser = bench_parser(__doc__, "programs")
    parser.add_argument("--of", choices=OF, default="attentions", help="what programs compute")
    parser.add_argument("--target", choices=TARGETS, required=True)
    parser.add_argument("--programs", type=int, default=60, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the number of the first one")
    parser.add_argument("--seeds", type=int, default=10, help="inputs of each")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.json", help="also keep rows")
    arguments = parser.parse_args()
    return BENCHMARK.run(BENCHMARK.cases(arguments), arguments.jobs, arguments.output)


if __name__ == "__main__":
    sys.exit(main())
