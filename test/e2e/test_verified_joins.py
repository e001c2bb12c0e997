# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where LLVM joins accesses, decisions say the numbers of the compiled code, and
`--bankwise-verify` fails for what it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bankwise.emulator.counters import Counted, totals
from bankwise.iree_plugin.python_compile import compile
from bankwise.iree_plugin.stepped_compile import CompileError
from bankwise.passes.decisions import DecisionLog
from bankwise.runtime.emulated_run import run_emulated
from bankwise.runtime.values import dtype_of
from bankwise.sweep.cases import target_flags
from bankwise.sweep.swept_kernels import Matmul, random_operands

from .dispatches import dispatch_module

DATA_TILING = "--iree-dispatch-creation-data-tiling"


def rewritten_rows(element: str, columns: int) -> str:
    """Returns a kernel of 64 threads, each of which reads and writes a row in a loop."""
    memory, lds = f"memref<64x{columns}x{element}>", f"memref<64x{columns}x{element}, #lds>"
    body = f"""
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %columns = arith.constant {columns} : index
      %in = stream.binding.subspan %in0[%c0] : !stream.binding -> {memory}
      %out = stream.binding.subspan %out0[%c0] : !stream.binding -> {memory}
      %t = gpu.thread_id x upper_bound 64
      %s = memref.alloc() : {lds}
      scf.for %c = %c0 to %columns step %c1 {{
        %v = memref.load %in[%t, %c] : {memory}
        memref.store %v, %s[%t, %c] : {lds}
      }}
      gpu.barrier
      scf.for %c = %c0 to %columns step %c1 {{
        %v = memref.load %s[%t, %c] : {lds}
        %w = arith.addf %v, %v : {element}
        memref.store %w, %s[%t, %c] : {lds}
      }}
      gpu.barrier
      scf.for %c = %c0 to %columns step %c1 {{
        %v = memref.load %s[%t, %c] : {lds}
        memref.store %v, %out[%t, %c] : {memory}
      }}"""
    kind = f"64x{columns}x{element}"
    return dispatch_module(body, [kind], [kind])


def check(
    source: str, flags: Sequence[str], mode: str, inputs: list[npt.NDArray[Any]]
) -> tuple[bool, int]:
    """Returns whether the verification passes, and the conflict cycles of the compiled code.

    These, and its LDS instructions, are what decisions leave.
    """
    try:
        compile(source, [*flags, "--bankwise-verify"], mode)
    except CompileError as error:
        assert "conflict cycle" in str(error)
        passes = False
    else:
        passes = True
    log = DecisionLog()
    run = run_emulated(source, flags, mode, inputs, decisions=log)
    for record in run.records if mode != "none" else ():
        name, found = record.kernel.name, dict(totals(record.kernel, record.counters))
        left = log.conflict_cycles_left(name), log.lds_instructions_left(name)
        assert left == tuple(
            found[each] / record.total for each in (Counted.CONFLICTS, Counted.LDS)
        )
    return passes, run.counters[Counted.CONFLICTS]


@pytest.mark.sampled("arch", "columns", "element", "mode", every=6)
@pytest.mark.parametrize("mode", ["auto/layout", "none"])
@pytest.mark.parametrize("element", ["f32", "f16"])
@pytest.mark.parametrize("columns", [16, 32, 64])
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_joined_rows(arch: str, columns: int, element: str, mode: str) -> None:
    source = rewritten_rows(element, columns)
    inputs = [np.ones((64, columns), dtype_of(element))]
    passes, cycles = check(source, target_flags(arch), mode, inputs)
    assert passes == (cycles == 0)


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("arch", ["sm_80", "gfx942"])
def test_joined_rows_of_a_line_pass(arch: str) -> None:
    """Element by element the rows of 16 bytes have conflicts, and joined they have none."""
    source = rewritten_rows("f32", 4)
    if arch.startswith("sm_"):
        source = source.replace("subgroup_size = 64", "subgroup_size = 32")
    compile(source, [*target_flags(arch), "--bankwise-verify"], "none")


@pytest.mark.sampled("arch", "mode", "matmul", every=4)
@pytest.mark.parametrize("mode", ["auto/exact", "none"])
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize(
    "matmul",
    [Matmul(64, 48, 256, dtype, transposed=True) for dtype in ("bf16", "f16", "f32", "i8")]
    + [Matmul(128, 128, 64, "f16"), Matmul(50, 30, 100, "bf16")],
    ids=lambda each: each.name,
)
def test_tiles_of_data_tiled_matmuls(matmul: Matmul, arch: str, mode: str) -> None:
    flags = [*target_flags(arch), DATA_TILING]
    passes, cycles = check(matmul.source(), flags, mode, random_operands(matmul))
    assert passes == (cycles == 0)
