# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scaled matmuls (mxfp4, mxfp8) on the emulated gfx950.

python -m bankwise.bench.scaled_matmuls [--only REGEX] [-o bench/results]

Every kernel is compiled with `stock` and at each level; its whole grid runs. The error is the
largest of all elements against float64, relative to the sum of the products' magnitudes. `uniform`
kernels have one scale for all of a row, so that no lane can take another one's.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ..emulator.counters import Counted
from ..sweep.cases import target_flags
from ..sweep.tables import markdown_lines
from .benchmark import RESULTS, Benchmark, BenchRow, pattern
from .emulated_runs import run_modes
from .gpu.modes import EXACT, FAST, LAYOUT, STOCK

F64 = npt.NDArray[np.float64]
CHIP = "gfx950"
BLOCK = 32
"""How many consecutive k have one scale."""
DTYPES = {
    "f4E2M1FN": (ml_dtypes.float4_e2m1fn, 4),
    "f8E4M3FN": (ml_dtypes.float8_e4m3fn, 8),
    "f8E5M2": (ml_dtypes.float8_e5m2, 8),
}
SHAPES = ((256, 256, 512), (1024, 1024, 4096), (100, 130, 224))
MODES = (STOCK, LAYOUT, EXACT, FAST)
RIGHT = 2.0**-20
"""The largest error of sums in f32."""


@dataclass(frozen=True)
class ScaledMatmul:
    """A product of two matrices whose rows have a scale for each 32 elements.

    Attributes:
        uniform: whether a row has one scale only.
    """

    m: int
    n: int
    k: int
    dtype: str
    uniform: bool = False

    @property
    def name(self) -> str:
        """Returns a name fit for a file."""
        scales = "_uniform" if self.uniform else ""
        return f"scaled_matmul_{self.m}x{self.n}x{self.k}_{self.dtype}{scales}"

    def source(self) -> str:
        """Returns the kernel as MLIR, whose inputs are bytes, as IREE has no inputs of f4."""
        blocks, octets = self.k // BLOCK, BLOCK * DTYPES[self.dtype][1] // 8
        values = [f"tensor<{rows}x{blocks}x{BLOCK}x{self.dtype}>" for rows in (self.m, self.n)]
        scales = [f"tensor<{rows}x{blocks}xf8E8M0FNU>" for rows in (self.m, self.n)]
        given = [f"tensor<{rows}x{blocks}x{octets}xi8>" for rows in (self.m, self.n)]
        given += [each.replace("f8E8M0FNU", "i8") for each in scales]
        types = [*values, *scales]
        names = ("a", "b", "sa", "sb")
        arguments = ", ".join(
            f"%{name}_bytes: {kind}" for name, kind in zip(names, given, strict=True)
        )
        casts = "\n".join(
            f"  %{name} = flow.tensor.bitcast %{name}_bytes : {before} -> {after}"
            for name, before, after in zip(names, given, types, strict=True)
        )
        maps = ("m, k, b", "n, k, b", "m, k", "n, k", "m, n")
        order = ", ".join(f"affine_map<(m, n, k, b) -> ({each})>" for each in maps)
        kinds = '["parallel", "parallel", "reduction", "reduction"]'
        c, operand = f"tensor<{self.m}x{self.n}xf32>", f"{self.dtype}, f8E8M0FNU to f32"
        return f"""func.func @scaled_matmul({arguments}) -> {c} {{
{casts}
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {c}
  %init = linalg.fill ins(%zero : f32) outs(%empty : {c}) -> {c}
  %sums = linalg.generic {{indexing_maps = [{order}], iterator_types = {kinds}}}
      ins(%a, %b, %sa, %sb : {", ".join(types)}) outs(%init : {c}) {{
    ^bb0(%x: {self.dtype}, %y: {self.dtype}, %sx: f8E8M0FNU, %sy: f8E8M0FNU, %sum: f32):
      %wide_x = arith.scaling_extf %x, %sx : {operand}
      %wide_y = arith.scaling_extf %y, %sy : {operand}
      %product = arith.mulf %wide_x, %wide_y : f32
      %next = arith.addf %sum, %product : f32
      linalg.yield %next : f32
  }} -> {c}
  return %sums : {c}
}}
"""

    def operands(self, seed: int = 3) -> tuple[list[npt.NDArray[np.int8]], list[F64]]:
        """Returns the inputs as bytes, and the two matrices [rows, k] that they stand for."""
        random = np.random.default_rng(seed)
        dtype, bits = DTYPES[self.dtype]
        codes: list[npt.NDArray[np.int8]] = []
        scales: list[npt.NDArray[np.int8]] = []
        wide: list[F64] = []
        for rows in (self.m, self.n):
            values = (2 * random.standard_normal((rows, self.k))).astype(dtype)
            octets = values.view(np.uint8)
            if bits == 4:
                octets = octets[:, 0::2] | octets[:, 1::2] << 4
            codes.append(octets.reshape(rows, self.k // BLOCK, -1).view(np.int8))
            exponents = random.integers(120, 135, (rows, self.k // BLOCK))
            if self.uniform:
                exponents[:] = exponents[:, :1]
            scales.append(exponents.astype(np.uint8).view(np.int8))
            powers = np.exp2(exponents - 127.0).repeat(BLOCK, axis=1)
            wide.append(values.astype(np.float64) * powers)
        return [*codes, *scales], wide


Case = tuple[ScaledMatmul, str]


@dataclass(frozen=True)
class Row(BenchRow):
    """What a kernel counts in each mode.

    Attributes:
        conflicts: `SQ_LDS_BANK_CONFLICT` of the whole grid, by mode.
        instructions: `SQ_INSTS_LDS` likewise.
        error: the largest error of the output, by mode.
        equal: whether all modes but `auto/fast` give the same bits.
    """

    conflicts: dict[str, int] = field(default_factory=dict)
    instructions: dict[str, int] = field(default_factory=dict)
    error: dict[str, float] = field(default_factory=dict)
    equal: bool = False

    def measured(self, case: Case) -> Row:
        """Compiles and runs a kernel in all modes."""
        kernel, chip = case
        inputs, (a, b) = kernel.operands()
        found = run_modes(kernel.source(), target_flags(chip), inputs, MODES)
        expected, magnitude = a @ b.T, np.abs(a) @ np.abs(b).T
        errors = {
            mode: float((np.abs(run.outputs[0] - expected) / magnitude).max())
            for mode, run in found.runs.items()
        }
        conflicts, instructions = (
            {mode: run.counters[name] for mode, run in found.runs.items()}
            for name in (Counted.CONFLICTS, Counted.LDS)
        )
        return replace(
            self,
            conflicts=conflicts,
            instructions=instructions,
            error=errors,
            equal=found.equal,
            errors=dict(found.errors),
        )

    @property
    def faults(self) -> list[str]:
        """Returns why the row fails; stock's outputs may be wrong."""
        wrong = (mode for mode, error in self.error.items() if mode != STOCK and not error <= RIGHT)
        return super().faults + [f"{mode} is wrong by {self.error[mode]:.1e}" for mode in wrong]


def cases(only: str | re.Pattern[str] = "") -> list[Case]:
    """Returns the kernels whose name a regular expression finds."""
    every = [ScaledMatmul(*shape, dtype) for dtype in DTYPES for shape in SHAPES]
    every += [ScaledMatmul(*SHAPES[0], dtype, uniform=True) for dtype in DTYPES]
    return [(kernel, CHIP) for kernel in every if re.search(only, kernel.name)]


def markdown(rows: Sequence[Row]) -> str:
    """Returns the figures of all rows."""
    head = ("kernel", "conflict cycles", "LDS instructions", "largest error", "same bits in all")
    lines = [
        [
            row.kernel,
            *(_cell(each, ",") for each in (row.conflicts, row.instructions)),
            _cell(row.error, ".1e"),
            "yes" if row.equal else "no",
        ]
        for row in rows
    ]
    return f"""# Scaled matmuls on the emulated gfx950

`python -m bankwise.bench.scaled_matmuls`: {" / ".join(MODES)}, in this order in each cell. \
Up to {RIGHT:.1e} an error is right.

{markdown_lines([head, *lines], 1)}
"""


def _cell(figures: Mapping[str, float], form: str) -> str:
    return " / ".join(f"{figures[mode]:{form}}" if mode in figures else "-" for mode in MODES)


BENCHMARK = Benchmark(
    "scaled matmuls",
    Row,
    lambda arguments: cases(arguments.only),
    markdown,
    texts={"md": markdown},
    measures="kernels",
    jobs=1,
    output=RESULTS / "scaled_matmuls.json",
    arguments=lambda parser: parser.add_argument("--only", type=pattern, default=""),
)


if __name__ == "__main__":
    sys.exit(BENCHMARK.main(__doc__))
