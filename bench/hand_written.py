# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the hand-written kernels of `examples/` count on the emulator, as written and swizzled.

python -m bankwise.bench.hand_written

`none` compiles an example as it is written, `auto` swizzles its LDS allocations. Both must give the
right result, and the same bits. The five layouts of the ladder have a benchmark of their own,
`transpose_ladder`; those for NVIDIA GPUs are measured on one by `gpu_examples`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..emulator.counters import Counted
from ..runtime.emulated_run import EmulatedRun, run_emulated
from ..sweep.cases import target_flags
from ..sweep.tables import markdown_lines

Array = npt.NDArray[Any]
EXAMPLES_DIR = Path(str(resources.files("bankwise") / "examples"))


@dataclass(frozen=True)
class Example:
    """A module in `examples/` and what its function computes.

    Attributes:
        expected: the result in float64, or the exact one.
        tolerance: the largest absolute error; 0 for a kernel that only moves data.
    """

    path: str
    arch: str
    inputs: Callable[[np.random.Generator], Sequence[Array]]
    expected: Callable[..., Array]
    tolerance: float = 0.0


def _matrices(random: np.random.Generator) -> Sequence[Array]:
    return [random.standard_normal((128, 512)).astype(np.float16) for _ in range(2)]


EXAMPLES = (
    Example(
        "gemm/direct_b.mlir",
        "gfx950",
        _matrices,
        lambda a, b: a.astype(np.float64) @ b.astype(np.float64).T,
        tolerance=1e-4,
    ),
    Example(
        "transpose/wave_f32.mlir",
        "gfx942",
        lambda random: [random.standard_normal((16, 32)).astype(np.float32)],
        lambda a: a.T,
    ),
)


def measure(example: Example, mitigation: str) -> EmulatedRun:
    """Runs the whole grid on random inputs.

    Raises:
        RuntimeError: the result is wrong.
    """
    inputs = example.inputs(np.random.default_rng(0))
    run = run_emulated(EXAMPLES_DIR / example.path, target_flags(example.arch), mitigation, inputs)
    (output,) = run.outputs
    error = np.abs(output - example.expected(*inputs)).max()
    if not error <= example.tolerance:
        raise RuntimeError(f"{example.path} with {mitigation} is wrong by {error}")
    return run


_SHOWN = (Counted.LDS, Counted.CONFLICTS, Counted.VALU, Counted.TRANSACTIONS)


def main() -> int:
    """Prints a table."""
    lines = [["example", "emulated", "compiled with", *_SHOWN, "LDS bytes"]]
    for example in EXAMPLES:
        runs = {mitigation: measure(example, mitigation) for mitigation in ("none", "auto")}
        if runs["none"].outputs[0].tobytes() != runs["auto"].outputs[0].tobytes():
            raise RuntimeError(f"{example.path}: the swizzle changes the result")
        for mitigation, run in runs.items():
            shown = [f"{run.counters[name]:,}" for name in _SHOWN]
            lines.append([example.path, example.arch, mitigation, *shown, f"{run.lds_bytes:,}"])
    print(markdown_lines(lines, text_columns=3))
    return 0


if __name__ == "__main__":
    sys.exit(main())
