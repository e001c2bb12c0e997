# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""IREE's TileAndFuse matmuls on the emulated chips: results, conflicts, LDS and instructions."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bankwise.dialect_utils.element_types import dtype_of
from bankwise.emulator.counters import totals
from bankwise.iree_plugin import embedding
from bankwise.iree_plugin.emulated_device import EmulatedDevice
from bankwise.iree_plugin.emulated_module import compile_for_emulation
from bankwise.iree_plugin.host_program import HostProgram
from bankwise.passes.decisions import Action, DecisionLog

Tool = Callable[..., "subprocess.CompletedProcess[str]"]
Array = npt.NDArray[Any]

CONFLICTS, INSTRUCTIONS = "SQ_LDS_BANK_CONFLICT", "SQ_INSTS_LDS"


@dataclass(frozen=True)
class Case:
    """[m, k] x [k, n], or x [n, k] transposed."""

    arch: str
    dtype: str
    shape: tuple[int, int, int]
    transposed: bool = False

    def __str__(self) -> str:
        shape = "x".join(map(str, self.shape))
        return f"{self.arch}-{self.dtype}-{shape}{'-transposed' if self.transposed else ''}"

    @property
    def flags(self) -> list[str]:
        return ["--iree-hal-target-device=hip", f"--iree-rocm-target={self.arch}"]

    @property
    def operands(self) -> tuple[tuple[int, int], tuple[int, int]]:
        m, n, k = self.shape
        return (m, k), (n, k) if self.transposed else (k, n)

    def source(self) -> str:
        (m, n, _), kind = self.shape, self.dtype
        accumulator, zero = ("i32", "0") if kind == "i8" else ("f32", "0.0")
        a, b = (f"tensor<{rows}x{columns}x{kind}>" for rows, columns in self.operands)
        c = f"tensor<{m}x{n}x{accumulator}>"
        maps = ["(m, n, k) -> (m, k)", "(m, n, k) -> (n, k)", "(m, n, k) -> (m, n)"]
        shown = ", ".join(f"affine_map<{each}>" for each in maps)
        given = f" indexing_maps = [{shown}]" if self.transposed else ""
        return f"""func.func @matmul(%a: {a}, %b: {b}) -> {c} {{
  %zero = arith.constant {zero} : {accumulator}
  %empty = tensor.empty() : {c}
  %init = linalg.fill ins(%zero : {accumulator}) outs(%empty : {c}) -> {c}
  %out = linalg.matmul{given} ins(%a, %b : {a}, {b}) outs(%init : {c}) -> {c}
  return %out : {c}
}}
"""

    def inputs(self) -> list[Array]:
        random = np.random.default_rng(3)
        if self.dtype == "i8":
            return [random.integers(-128, 128, s, dtype=np.int8) for s in self.operands]
        values = [random.standard_normal(shape) for shape in self.operands]
        return [each.astype(np.float32).astype(dtype_of(self.dtype)) for each in values]


@dataclass(frozen=True)
class Run:
    """What a case gives under one mitigation."""

    output: Array
    counters: dict[str, int]
    lds_bytes: int
    splits: bool
    """Whether a store was split for its swizzle."""
    direct: bool
    """Whether stock loads direct to LDS: such allocations stay as stock has them."""


def emulate(case: Case, mitigation: str) -> Run:
    log = DecisionLog()
    with compile_for_emulation(case.source(), case.flags, mitigation, decisions=log) as module:
        device = EmulatedDevice(module.kernels)
        (output,) = HostProgram(module.host, device).call("matmul", case.inputs())
    counted: dict[str, int] = {}
    for record in device.records:
        for name, value in totals(record.kernel, record.counters).items():
            counted[name] = counted.get(name, 0) + value
    assert not [d for d in log if d.action is Action.DROP]
    lds = max(record.kernel.lds_bytes for record in device.records)
    splits = any("split" in d.reason for d in log if d.detail)
    direct = any("gather_to_lds" in d.reason or "another origin" in d.reason for d in log)
    return Run(output, counted, lds, splits, direct)


def check(case: Case) -> None:
    plain, stock, ours = (emulate(case, m) for m in ("none", "stock", "auto"))
    assert ours.output.tobytes() == plain.output.tobytes() == stock.output.tobytes()
    assert np.any(plain.output != 0)
    assert ours.counters[CONFLICTS] == (stock.counters[CONFLICTS] if ours.direct else 0)
    assert ours.lds_bytes <= stock.lds_bytes
    assert ours.counters[INSTRUCTIONS] <= stock.counters[INSTRUCTIONS] or ours.splits


@pytest.mark.parametrize(
    "case",
    [
        Case("gfx942", "f16", (256, 256, 256)),
        Case("gfx942", "bf16", (100, 130, 70), transposed=True),
        Case("gfx942", "i8", (128, 128, 256), transposed=True),
        Case("gfx942", "f8E4M3FNUZ", (128, 128, 256)),
        Case("gfx950", "f16", (256, 256, 256)),
        Case("gfx950", "f32", (100, 130, 70)),
        Case("gfx950", "f16", (16, 1024, 512)),
        Case("gfx950", "f8E4M3FN", (128, 256, 256)),
    ],
    ids=str,
)
def test_matmuls_are_free_of_conflicts_and_keep_their_results(case: Case) -> None:
    check(case)


_TYPES = {
    "gfx942": ("f16", "bf16", "f32", "i8", "f8E4M3FNUZ"),
    "gfx950": ("f16", "bf16", "f32", "i8", "f8E4M3FN"),
}
_SHAPES = [(512, 512, 512), (256, 384, 1024), (100, 130, 70), (16, 1024, 512)]


@pytest.mark.nightly
@pytest.mark.parametrize(
    "case",
    [
        Case(arch, dtype, shape, transposed)
        for arch, types in _TYPES.items()
        for dtype, shape, transposed in product(types, _SHAPES, (False, True))
    ],
    ids=str,
)
def test_matmuls_are_free_of_conflicts_everywhere(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(("arch", "stages"), [("gfx942", 0), ("gfx942", 3), ("gfx950", 0)])
def test_prefetching_keeps_hints(arch: str, stages: int) -> None:
    # The flag exists only for a whole process.
    command = [sys.executable, __file__, arch, str(stages)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert "dropped" not in run.stderr
    conflicts = json.loads(run.stdout)
    # Without prefetching gfx950 loads direct to LDS, in a swizzle of stock's own.
    direct = arch == "gfx950"
    assert conflicts["auto"] == (conflicts["stock"] if direct else 0)


def test_verification_agrees_with_the_counters(tool: Tool, tmp_path: Path) -> None:
    case = Case("gfx942", "f16", (256, 256, 256))
    (tmp_path / "matmul.mlir").write_text(case.source())

    def verify(mitigation: str) -> subprocess.CompletedProcess[str]:
        flags = ("--bankwise-verify", f"--bankwise-mitigation={mitigation}", *case.flags)
        return tool("bankwise-compile", "matmul.mlir", *flags, "-o", f"{mitigation}.vmfb")

    for mitigation in ("auto", "stock", "none"):
        run = verify(mitigation)
        conflicts = emulate(case, mitigation).counters[CONFLICTS]
        assert (run.returncode == 0) == (conflicts == 0)
        assert (tmp_path / f"{mitigation}.vmfb").exists() == (conflicts == 0)
        assert ("conflict cycles: ds_" in run.stderr) == (conflicts > 0)


def main(arch: str, stages: str) -> None:
    """Prints the conflicts of a matmul under each mitigation; fails if the outputs differ."""
    embedding.set_process_flags("test", [f"--iree-llvmgpu-prefetch-num-stages={stages}"])
    case = Case(arch, "f16", (128, 128, 256))
    runs = {mitigation: emulate(case, mitigation) for mitigation in ("none", "stock", "auto")}
    assert len({run.output.tobytes() for run in runs.values()}) == 1
    print(json.dumps({name: run.counters[CONFLICTS] for name, run in runs.items()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
