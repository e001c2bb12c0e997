# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled kernels on the emulated chips: their results, and what the hardware would count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from bankwise.bank_model.targets import target
from bankwise.bench.runs import compile_kernel
from bankwise.emulator.assembly import parse_assembly
from bankwise.emulator.counters import totals
from bankwise.emulator.dispatch import Dispatch
from bankwise.emulator.global_memory import GlobalMemory
from bankwise.emulator.kernel_launch import launch
from bankwise.sweep.kernels import Attention, Kernel, Matmul

Bits = npt.NDArray[np.generic]
F64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """What a kernel stored, as values, and what was counted."""

    output: F64
    counters: Mapping[str, int]
    lds_bytes: int


def encode(values: F64, dtype: str) -> Bits:
    if dtype == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype({"f16": np.float16, "f32": np.float32}[dtype])


def decode(stored: Bits, dtype: str) -> F64:
    if dtype == "bf16":
        return (stored.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return stored.view({"f16": np.float16, "f32": np.float32}[dtype]).astype(np.float64)


def inputs_of(kernel: Kernel) -> list[Bits]:
    random = np.random.default_rng(0)
    if isinstance(kernel, Matmul):
        shapes = [(kernel.m, kernel.k), (kernel.k, kernel.n)]
    else:
        shapes = [(kernel.batch, kernel.seq, kernel.head_dim)] * 3
    return [encode(random.standard_normal(shape), kernel.dtype) for shape in shapes]


def emulate(kernel: Kernel, arch: str, mitigation: str | None, workgroups: int) -> Run:
    """Compiles and runs a kernel of `workgroups` in x; without a mitigation, by `iree-compile`."""
    ((name, text),) = compile_kernel(kernel, arch, mitigation).assembly.items()
    (compiled,) = parse_assembly(text.decode(), name).values()
    memory = GlobalMemory()
    inputs = inputs_of(kernel)
    if isinstance(kernel, Matmul):
        shape, result_type = (kernel.m, kernel.n), "f32"
    else:
        shape, result_type = inputs[0].shape, kernel.dtype
    size = int(np.prod(shape)) * (4 if result_type == "f32" else 2)
    addresses = [*map(memory.allocate, inputs), memory.allocate(size)]
    arguments = np.array(addresses, np.uint64).tobytes()
    counters = launch(Dispatch.of(compiled, (workgroups, 1, 1)), target(arch), arguments, memory)
    memory.check_defined(addresses[-1], size, "The output")
    stored = memory.read(addresses[-1], size)
    output = decode(stored, result_type).reshape(shape)
    return Run(output, totals(compiled, counters), compiled.lds_bytes)


def reference(kernel: Kernel) -> F64:
    """Returns the result in float64."""
    values = [decode(x, kernel.dtype) for x in inputs_of(kernel)]
    if isinstance(kernel, Matmul):
        return values[0] @ values[1]
    query, key, value = values
    scores = query @ key.swapaxes(1, 2) * kernel.head_dim**-0.5
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights @ value / weights.sum(axis=-1, keepdims=True)


TOLERANCE = {"f32": 1e-6, "f16": 2e-3, "bf16": 1e-2}


def test_f32_attention_counts_what_hardware_counted():
    """Published counters of an MI300X: 298K LDS instructions and 532K conflict cycles."""
    kernel = Attention(1, 1024, 128, "f32")
    stock = emulate(kernel, "gfx942", "stock", 32)
    assert stock.counters["SQ_INSTS_LDS"] == 298_496
    assert stock.counters["SQ_LDS_BANK_CONFLICT"] == 532_480
    assert np.abs(stock.output - reference(kernel)).max() < TOLERANCE["f32"]
    ours = emulate(kernel, "gfx942", "auto", 32)
    assert ours.counters["SQ_LDS_BANK_CONFLICT"] == 0
    assert ours.counters["SQ_INSTS_LDS"] <= stock.counters["SQ_INSTS_LDS"]
    assert ours.lds_bytes < stock.lds_bytes
    assert (ours.output == stock.output).all()


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_attention_is_right_under_every_mitigation(arch: str, dtype: str):
    kernel = Attention(1, 128, 64, dtype)
    expected = reference(kernel)
    plain = emulate(kernel, arch, "none", 2)
    assert np.abs(plain.output - expected).max() < TOLERANCE[dtype]
    for mitigation in ("stock", "auto"):
        other = emulate(kernel, arch, mitigation, 2)
        assert (other.output == plain.output).all()
        assert other.counters["SQ_LDS_BANK_CONFLICT"] < plain.counters["SQ_LDS_BANK_CONFLICT"]
    assert other.counters["SQ_LDS_BANK_CONFLICT"] == 0


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_matmul_with_ragged_edges(arch: str):
    """Rows and columns beyond 100 x 130 x 70 are left to the descriptors' range checks."""
    kernel = Matmul(100, 130, 70, "bf16")
    result = emulate(kernel, arch, None, 4)
    assert np.abs(result.output - reference(kernel)).max() < 1e-4
