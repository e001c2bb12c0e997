# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler's own kernels for RDNA3, RDNA4 and gfx1250: results, and what their LDS does."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from bankwise.emulator.waits import check_waits
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags
from bankwise.sweep.swept_kernels import Attention, Matmul

BUFFERS = "--iree-rocdl-enable-buffer-instructions="


class Counted(NamedTuple):
    """What the LDS does in a workgroup, as tinygrad's emulator counts it on the same kernels.

    That emulator is another one, in tinygrad's repository; it knows no buffer instructions of RDNA.
    Cycles and conflicts are those of the accesses that it has recorded, by this bank model.

    Attributes:
        narrow: the instructions that load 16 bits.
    """

    instructions: int
    narrow: int
    cycles: int
    conflicts: int


MATMUL, ATTENTION = Matmul(64, 64, 64, "f16"), Attention(1, 256, 128, "f16")
COUNTED = {
    (MATMUL, "gfx1100"): Counted(416, 256, 896, 0),
    (MATMUL, "gfx1201"): Counted(224, 128, 512, 0),
    (ATTENTION, "gfx1100"): Counted(6048, 4096, 11520, 1152),
    (ATTENTION, "gfx1201"): Counted(2816, 2048, 5760, 640),
}


def expected(source: Matmul | Attention, inputs: list[np.ndarray]) -> np.ndarray:
    wide = [each.astype(np.float64) for each in inputs]
    if isinstance(source, Matmul):
        return wide[0] @ wide[1]
    query, key, value = wide
    scores = query @ key.transpose(0, 2, 1) * source.head_dim**-0.5
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ value


@pytest.mark.parametrize(
    ("source", "arch", "buffers"),
    [
        (MATMUL, "gfx1201", True),
        *(
            pytest.param(source, arch, buffers, marks=pytest.mark.nightly)
            for source, arch in COUNTED
            for buffers in (False, True)
            if (source, arch, buffers) != (MATMUL, "gfx1201", True)
        ),
    ],
    ids=lambda x: getattr(x, "name", str(x)),
)
def test_a_kernel_is_right_and_counts_as_elsewhere(
    source: Matmul | Attention, arch: str, buffers: bool
) -> None:
    """With buffer instructions the LDS does the same as without."""
    random = np.random.default_rng(0)
    inputs = [(random.standard_normal(s) / 4).astype(np.float16) for s in source.operands]
    flags = (*target_flags(arch), f"{BUFFERS}{str(buffers).lower()}")
    run = run_emulated(source.source(), flags, "stock", inputs)
    (output,), (record,) = run.outputs, run.records
    tolerance = 1e-5 if isinstance(source, Matmul) else 2e-3
    assert np.abs(output.astype(np.float64) - expected(source, inputs)).max() < tolerance
    kernel, counts = record.kernel, record.counters
    assert not check_waits(kernel).missing and not check_waits(kernel).unfinished
    names = [instruction.spelled for instruction in kernel.instructions]
    of = dict.fromkeys(("ds_", "ds_load_u16"), 0)
    for prefix in of:
        of[prefix] = sum(
            count
            for name, count in zip(names, counts.executions.tolist(), strict=True)
            if name.startswith(prefix)
        )
    assert any(name.startswith("buffer_") for name in names) == buffers
    workgroups = int(np.prod(record.workgroups))
    found = [*of.values(), int(counts.lds_cycles.sum()), int(counts.lds_conflict_cycles.sum())]
    assert found == [workgroups * each for each in COUNTED[source, arch]]


@pytest.mark.nightly
def test_a_kernel_of_gfx1250_may_have_more_than_256_registers() -> None:
    """LLVM names them in comments, and the emulator refuses those that it reads otherwise."""
    source = Matmul(256, 256, 2048, "f16")
    random = np.random.default_rng(0)
    inputs = [(random.standard_normal(s) / 4).astype(np.float16) for s in source.operands]
    runs = [
        run_emulated(source.source(), target_flags("gfx1250"), mode, inputs)
        for mode in ("stock", "auto")
    ]
    stock = runs[0].records[0].kernel
    assert any(each.mnemonic == "s_set_vgpr_msb" for each in stock.instructions)
    assert stock.directives["next_free_vgpr"] > 256
    output, ours = (run.outputs[0] for run in runs)
    assert np.abs(output.astype(np.float64) - expected(source, inputs)).max() < 1e-5
    assert output.tobytes() == ours.tobytes()
