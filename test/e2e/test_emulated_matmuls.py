# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""IREE's TileAndFuse matmuls on the emulated chips: results, conflicts, LDS and instructions."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache, partial
from itertools import product
from pathlib import Path

import pytest

from bankwise.bench.emulated_runs import MarkingDevice, at_given_tiles, written
from bankwise.bench.matmul_table import DTYPES, TOLERANCE, largest_error
from bankwise.emulator.counters import Counted
from bankwise.iree_plugin import embedding
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.runtime.emulated_run import EmulatedRun, run_emulated
from bankwise.sweep.cases import target_flags
from bankwise.sweep.swept_kernels import Matmul, random_operands

Tool = Callable[..., "subprocess.CompletedProcess[str]"]


Case = tuple[str, Matmul]
"""The chip, and what it computes."""


def name_of(case: Case) -> str:
    chip, matmul = case
    return f"{chip}-{matmul.name}"


@cache
def emulate(case: Case, mitigation: str) -> tuple[EmulatedRun, DecisionLog]:
    """Returns a run, and what was decided; several tests ask for the same."""
    decisions = DecisionLog()
    chip, matmul = case
    run = run_emulated(
        matmul.source(),
        target_flags(chip),
        at_given_tiles(mitigation),
        random_operands(matmul),
        decisions=decisions,
        device=partial(MarkingDevice, whole_grid=64),
    )
    return run, decisions


def check(case: Case) -> None:
    (plain, _), (stock, _), (ours, decisions) = (
        emulate(case, m) for m in ("none", "stock", "auto")
    )
    (output,) = ours.outputs
    assert output.tobytes() == plain.outputs[0].tobytes() == stock.outputs[0].tobytes()
    assert written(output).all()
    operands = random_operands(case[1])
    assert largest_error(case[1], operands, output) <= TOLERANCE[case[1].accumulator]
    assert not any(d.action is Action.DROP for d in decisions)
    assert ours.counters[Counted.CONFLICTS] == 0
    assert ours.lds_bytes <= stock.lds_bytes
    splits = any("split" in d.reason for d in decisions if d.detail)
    assert ours.counters[Counted.LDS] <= stock.counters[Counted.LDS] or splits


@pytest.mark.sampled(every=9)
@pytest.mark.parametrize(
    "case",
    [
        ("gfx942", Matmul(256, 256, 256, "f16")),
        ("gfx942", Matmul(100, 130, 70, "bf16", transposed=True)),
        ("gfx942", Matmul(128, 128, 256, "f8E4M3FNUZ")),
        ("gfx942", Matmul(128, 128, 256, "i8", transposed=True)),
        ("gfx950", Matmul(256, 256, 256, "f16")),
        ("gfx950", Matmul(100, 130, 70, "f32")),
        ("gfx950", Matmul(16, 1024, 512, "f16")),
        ("gfx950", Matmul(64, 16, 128, "f16", transposed=True)),
        ("gfx950", Matmul(128, 256, 256, "f8E4M3FN")),
    ],
    ids=name_of,
)
def test_matmuls_are_free_of_conflicts_and_keep_their_results(case: Case) -> None:
    check(case)


_SHAPES = [(512, 512, 512), (256, 384, 1024), (100, 130, 70), (16, 1024, 512)]


@pytest.mark.nightly
@pytest.mark.parametrize(
    "case",
    [
        (arch, Matmul(*shape, dtype, transposed))
        for arch, types in DTYPES.items()
        for dtype, shape, transposed in product(types, _SHAPES, (False, True))
    ],
    ids=name_of,
)
def test_matmuls_are_free_of_conflicts_everywhere(case: Case) -> None:
    check(case)


@pytest.mark.nightly
@pytest.mark.parametrize(("arch", "stages"), [("gfx942", 3), ("gfx950", 0), ("gfx942", 0)])
def test_prefetching_keeps_hints(arch: str, stages: int) -> None:
    # The flag exists only for a whole process.
    command = [sys.executable, __file__, arch, str(stages)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert "dropped" not in run.stderr
    conflicts = json.loads(run.stdout)
    # Without prefetching gfx950 loads direct to LDS, one operand in a swizzle of stock's own.
    assert conflicts["auto"] == 0 < conflicts["stock"]


@pytest.mark.nightly
def test_verification_agrees_with_the_counters(tool: Tool, tmp_path: Path) -> None:
    case = ("gfx942", Matmul(256, 256, 256, "f16"))
    (tmp_path / "matmul.mlir").write_text(case[1].source())

    def verify(mitigation: str) -> subprocess.CompletedProcess[str]:
        flags = (
            "--bankwise-verify",
            f"--bankwise-mitigation={mitigation}",
            *target_flags("gfx942"),
        )
        return tool("bankwise-compile", "matmul.mlir", *flags, "-o", f"{mitigation}.vmfb")

    for mitigation in ("auto", "stock", "none"):
        run = verify(mitigation)
        conflicts = emulate(case, mitigation)[0].counters[Counted.CONFLICTS]
        assert (run.returncode == 0) == (conflicts == 0)
        assert (tmp_path / f"{mitigation}.vmfb").exists() == (conflicts == 0)
        assert ("conflict cycles: ds_" in run.stderr) == (conflicts > 0)


def main(arch: str, stages: str) -> None:
    """Prints the conflicts of a matmul under each mitigation; fails if the outputs differ."""
    embedding.set_process_flags("test", [f"--iree-llvmgpu-prefetch-num-stages={stages}"])
    case = (arch, Matmul(128, 128, 256, "f16"))
    runs = {mitigation: emulate(case, mitigation)[0] for mitigation in ("none", "stock", "auto")}
    assert len({run.outputs[0].tobytes() for run in runs.values()}) == 1
    print(json.dumps({name: run.counters[Counted.CONFLICTS] for name, run in runs.items()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
