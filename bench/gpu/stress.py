# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launching kernels over and over, with changing inputs: what differs. This needs NumPy.

A kernel whose waits or barriers are wrong may be right almost always.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .elements import Elements, rounded
from .error_inputs import kinds_of, made_inputs
from .errors import measure_operands
from .kernels import ATTENTION, TimedKernel
from .modes import STOCK
from .ratios import Finding

Launch = Callable[[str, int], Elements]
"""Returns the output of a kernel in a mode, for the inputs with a number."""


@dataclass(frozen=True)
class Inputs:
    """Operands of a kernel.

    Attributes:
        name: what they are called, such as `large 1`.
    """

    name: str
    operands: list[Elements]


@dataclass(frozen=True)
class Stressed:
    """What became of a kernel.

    Attributes:
        launches: how often it was launched, in all its modes but stock's.
        findings: what is not as it must be.
    """

    launches: int
    findings: list[Finding]


def stress_inputs(kernel: TimedKernel, sets: int) -> list[Inputs]:
    """Returns so many different inputs of an attention or a matmul."""
    if kernel.function == ATTENTION:
        kinds = kinds_of(kernel)
        named = [(kinds[each % len(kinds)], each // len(kinds)) for each in range(sets)]
        return [Inputs(f"{kind} {n}", made_inputs(kernel, kind, n)) for kind, n in named]
    return [Inputs(f"normal {n}", _normal(kernel, n)) for n in range(sets)]


def _normal(kernel: TimedKernel, number: int) -> list[Elements]:
    """Returns operands that are standard normal numbers."""
    random = np.random.default_rng([*kernel.shapes[0], number])
    typed = zip(kernel.shapes, kernel.types, strict=True)
    return [rounded(random.standard_normal(shape, np.float32), dtype) for shape, dtype in typed]


def stress(
    kernel: TimedKernel, inputs: Sequence[Inputs], launch: Launch, launches: int
) -> Stressed:
    """Launches a kernel many times, the inputs in turn.

    The outputs of the first launches are compared with stock's, bit by bit, or of modes whose
    outputs may differ in their rounding with float64, as `errors` does it. All later outputs must
    have the same bits.

    Args:
        launches: how often the kernel is launched in each mode but stock's, after the first time.
    """
    numbers = range(len(inputs))
    first = {mode: [launch(mode, number) for number in numbers] for mode in kernel.modes}
    findings = [
        finding
        for number in numbers
        for finding in _first_findings(
            kernel, inputs[number], {mode: outputs[number] for mode, outputs in first.items()}
        )
    ]
    modes = [mode for mode in kernel.modes if mode != STOCK]
    for mode in modes:
        if len({output.tobytes() for output in first[mode]}) < len(inputs):
            what = "different inputs give the same output"
            findings.append(Finding(kernel.name, mode, what))
        differing = [
            differences
            for turn in range(launches)
            if (differences := _differences(launch(mode, turn % len(inputs)), first[mode], turn))
        ]
        if differing:
            what = f"{len(differing):,} of {launches:,} launches give other outputs"
            what += f" than the first, in up to {max(differing):,} elements"
            findings.append(Finding(kernel.name, mode, what))
    return Stressed(len(modes) * (len(inputs) + launches), findings)


def _differences(output: Elements, first: Sequence[Elements], turn: int) -> int:
    """Returns how many elements have other bits than in the first output for the same inputs."""
    return _other_bits(output, first[turn % len(first)])


def _other_bits(one: Elements, other: Elements) -> int:
    """Returns how many elements of two arrays of one type have different bits."""
    words = f"u{one.dtype.itemsize}"
    return int(np.count_nonzero(one.view(words) != other.view(words)))


def _first_findings(
    kernel: TimedKernel, inputs: Inputs, outputs: dict[str, Elements]
) -> list[Finding]:
    """Returns what is wrong with outputs that each mode gave for the same inputs."""
    if kernel.function == ATTENTION:
        row = measure_operands(
            kernel, inputs.name, inputs.operands, lambda _kernel, mode, _operands: outputs[mode]
        )
        return row.findings()
    return [
        Finding(f"{kernel.name} {inputs.name}", mode, f"{count:,} elements differ from {STOCK}")
        for mode, output in outputs.items()
        if (count := _other_bits(output, outputs[STOCK]))
    ]
