# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/gpu/stress: launches that are right but for some are found, and others are not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from bankwise.bench.gpu.elements import Elements, rounded, values
from bankwise.bench.gpu.errors import exact_attention
from bankwise.bench.gpu.kernels import TimedKernel
from bankwise.bench.gpu.stress import Inputs, stress, stress_inputs
from bankwise.bench.gpu.stress_kernels import sources

SETS, LAUNCHES = 5, 20
MATMUL = TimedKernel("m", "matmul", ("16x32xf16", "24x32xf16"), ("stock", "auto/exact@sm_90a"))


def attention(dtype: str = "f16", mask: str = "") -> TimedKernel:
    operands = (f"2x48x16x{dtype}",) * 3 + (f"2x48x48x{mask}",) * bool(mask)
    modes = ("stock", "auto/fast@sm_90a")
    return TimedKernel("a", "attention", operands, modes, modes[1:], scale=0.25)


@dataclass
class Stand:
    """Launches a kernel in NumPy.

    Attributes:
        change: gets an output, its mode, and how many launches of that were before.
    """

    kernel: TimedKernel
    inputs: Sequence[Inputs]
    change: Callable[[Elements, str, int], None]
    launches: dict[str, int] = field(default_factory=dict)

    def __call__(self, mode: str, number: int) -> Elements:
        operands = self.inputs[number].operands
        if self.kernel.function == "matmul":
            left, right = map(values, operands)
            output = (left @ right.T).astype(np.float32)
        else:
            output = rounded(exact_attention(self.kernel, operands), self.kernel.dtype)
        before = self.launches.get(mode, 0)
        self.launches[mode] = before + 1
        self.change(output, mode, before)
        return output


def found(kernel: TimedKernel, change: Callable[[Elements, str, int], None]) -> list[str]:
    inputs = stress_inputs(kernel, SETS)
    stressed = stress(kernel, inputs, Stand(kernel, inputs, change), LAUNCHES)
    assert stressed.launches == SETS + LAUNCHES
    return [f"{each.kernel} {each.mode}: {each.what}" for each in stressed.findings]


def nothing(output: Elements, mode: str, before: int) -> None:
    """Leaves an output as it is."""


KERNELS = [MATMUL, *(attention(*each) for each in (("f16",), ("bf16", "bf16"), ("f16", "i1")))]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.operands[-1])
def test_right_launches_are_well(kernel: TimedKernel):
    assert found(kernel, nothing) == []


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.operands[-1])
@pytest.mark.parametrize("launch", [SETS, SETS + LAUNCHES - 1])
def test_one_bit_of_a_later_launch_is_found(kernel: TimedKernel, launch: int):
    def change(output: Elements, mode: str, before: int) -> None:
        if mode != "stock" and before == launch:
            words = output.view(f"u{output.dtype.itemsize}")
            words[..., -1, -1] ^= 1

    (text,) = found(kernel, change)
    assert text.startswith(f"{kernel.name} {kernel.modes[1]}: 1 of 20 launches give other outputs")


def test_a_first_launch_must_be_right():
    def change(output: Elements, mode: str, before: int) -> None:
        if mode != "stock" and before % SETS == 1:
            output[..., 0, :] = 0

    assert found(MATMUL, change) == [
        "m normal 1 auto/exact@sm_90a: 24 elements differ from stock",
    ]
    assert any(
        "large 0 auto/fast@sm_90a: the rms error is" in each for each in found(KERNELS[1], change)
    )


def test_outputs_depend_on_inputs():
    def change(output: Elements, mode: str, before: int) -> None:
        output[...] = 1

    assert found(MATMUL, change) == [
        "m auto/exact@sm_90a: different inputs give the same output",
    ]


@pytest.mark.parametrize("kernel", [*KERNELS, replace(KERNELS[1], operands=("1x3x5xf16",) * 3)])
def test_inputs_differ(kernel: TimedKernel):
    inputs = stress_inputs(kernel, 9)
    assert len({each.name for each in inputs}) == 9
    for each in inputs:
        assert tuple(operand.shape for operand in each.operands) == kernel.shapes
    first = [each.operands[0].tobytes() for each in inputs]
    assert len({*first}) == 9


def test_kernels_are_compiled_for_one_gpu():
    for kernel in sources("sm_90a"):
        assert kernel.modes[0] == "stock" and len(kernel.modes) > 1
        assert all(mode.endswith("@sm_90a") for mode in kernel.modes[1:])
        assert {*kernel.inexact} >= {mode for mode in kernel.modes if "fast" in mode}
