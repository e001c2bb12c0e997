# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scaled matmuls (mxfp4, mxfp8) on the emulated gfx950, and conflicts that others have published.

python -m bankwise.bench.scaled_matmuls [--kernels REGEX] [--published] [-o bench/results]

Every kernel is compiled with `stock` and at each level; its whole grid runs. The error is the
largest of all elements against float64, relative to the sum of the products' magnitudes. `uniform`
kernels have one scale for all of a row, so that no lane can take another one's.

With --published, matmuls that IREE's threads give conflicts of are compiled as they were there, and
one workgroup of each runs. Written are DIR/scaled_matmuls.md and .json.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ..emulator.counters import Counted, totals
from ..sweep.cases import target_flags
from ..sweep.tables import markdown_lines
from .benchmark import RESULTS
from .emulated_runs import run_mitigations
from .timing_points import (
    DIRECT_LOADS,
    DIRECT_MATMULS_SOURCE,
    direct_matmuls,
    run_workgroups,
)

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
MODES = ("stock", "auto/layout", "auto/exact", "auto/fast")
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


@dataclass(frozen=True)
class Row:
    """What a kernel counts in each mode.

    Attributes:
        conflicts: `SQ_LDS_BANK_CONFLICT` of the whole grid, by mode.
        instructions: `SQ_INSTS_LDS` likewise.
        error: the largest error of stock's output and of that of `auto/exact`.
        equal: whether all modes but `auto/fast` give the same bits.
        failures: why a mode did not run.
    """

    kernel: str
    conflicts: dict[str, int]
    instructions: dict[str, int]
    error: dict[str, float]
    equal: bool
    failures: dict[str, str]

    @classmethod
    def measure(cls, kernel: ScaledMatmul) -> Row:
        """Compiles and runs a kernel in all modes."""
        inputs, (a, b) = kernel.operands()
        found = run_mitigations(kernel.source(), target_flags(CHIP), inputs, MODES)
        expected, magnitude = a @ b.T, np.abs(a) @ np.abs(b).T
        errors = {
            mode: float((np.abs(run.outputs[0] - expected) / magnitude).max())
            for mode, run in found.runs.items()
        }
        conflicts, instructions = (
            {mode: run.counters[name] for mode, run in found.runs.items()}
            for name in (Counted.CONFLICTS, Counted.LDS)
        )
        failures = dict(found.errors)
        return cls(kernel.name, conflicts, instructions, errors, found.equal, failures)


@dataclass(frozen=True)
class Published:
    """A figure of a kernel of somebody else's, and what is counted here."""

    thread: str
    kernel: str
    what: str
    published: float
    counted: float


def counters_of(launched: tuple[str, str, None, int, Sequence[int]], *flags: str) -> dict[str, int]:
    """Returns the counters of the first workgroup of a kernel, as `run_workgroups` has it."""
    record = run_workgroups(*launched, (0,), *flags)
    return totals(record.kernel, record.counters)


def conflicts_per_access(counters: dict[str, int]) -> float:
    """Returns the conflict cycles for each cycle that an access takes without conflicts.

    That is "LDS Bank Conflicts/Access" of ROCm Compute Profiler.
    """
    conflicts = counters[Counted.CONFLICTS]
    return conflicts / (counters[Counted.LDS_CYCLES] - conflicts)


def published() -> Iterator[Published]:
    """Yields the matmuls in bf16 whose operands are loaded into the LDS directly."""
    for each in direct_matmuls():
        counted = conflicts_per_access(counters_of(each.launched, DIRECT_LOADS))
        what = "conflicts per access"
        yield Published(DIRECT_MATMULS_SOURCE, each.name, what, each.conflicts, counted)


def kernels(only: str = "") -> list[ScaledMatmul]:
    """Returns the kernels whose name a regular expression finds."""
    every = [ScaledMatmul(*shape, dtype) for dtype in DTYPES for shape in SHAPES]
    every += [ScaledMatmul(*SHAPES[0], dtype, uniform=True) for dtype in DTYPES]
    return [kernel for kernel in every if re.search(only, kernel.name)]


def document(rows: Sequence[Row], others: Sequence[Published]) -> str:
    """Returns the tables in Markdown."""
    lines = [
        "# Scaled matmuls on the emulated gfx950",
        "",
        f"`python -m bankwise.bench.scaled_matmuls --published`: {' / '.join(MODES)}, in this "
        f"order in each cell. Up to {RIGHT:.1e} an error is right.",
        "",
    ]
    head = ("kernel", "conflict cycles", "LDS instructions", "largest error", "same bits in all")
    cells = [
        [
            row.kernel,
            *(_cell(each) for each in (row.conflicts, row.instructions)),
            " / ".join(f"{row.error[mode]:.1e}" if mode in row.error else "-" for mode in MODES),
            "yes" if row.equal else "no",
        ]
        for row in rows
    ]
    lines += [markdown_lines([head, *cells], 1), ""]
    if others:
        head = ("kernel", "what", "published", "counted here", "source")
        cells = [
            [each.kernel, each.what, *map(_number, (each.published, each.counted)), each.thread]
            for each in others
        ]
        lines += ["## Published conflicts", "", markdown_lines([head, *cells], 2), ""]
    return "\n".join(lines)


def _cell(counts: dict[str, int]) -> str:
    return " / ".join(f"{counts[mode]:,}" if mode in counts else "-" for mode in MODES)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"


def main(argv: Sequence[str] | None = None) -> int:
    """Measures, prints and writes the tables."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--kernels", default="", metavar="REGEX")
    parser.add_argument("--published", action="store_true")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    rows = [Row.measure(kernel) for kernel in kernels(arguments.kernels)]
    others = [*published()] if arguments.published else []
    text = document(rows, others)
    print(text)
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "scaled_matmuls.md").write_text(text)
    data: dict[str, Any] = {
        "rows": [asdict(row) for row in rows],
        "published": [asdict(each) for each in others],
    }
    path = arguments.output / "scaled_matmuls.json"
    path.write_text(json.dumps(data, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
