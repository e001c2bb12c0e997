# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What compiles for RDNA3, RDNA4 and gfx1250 get, by their assembly: nothing here runs it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import bankwise
from bankwise.bench.runs import assembly_in
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.sweep.cases import target_flags

EXAMPLES = Path(__file__).parents[2] / "examples"
LOADS = re.compile(r"^\s+(ds_load\w+)", re.MULTILINE)
MOST_LOADS = {
    ("attention_f16", "gfx1100"): 120,
    ("attention_f16", "gfx1201"): 60,
    ("attention_f16", "gfx1250"): 120,
    ("matmul_f16", "gfx1100"): 64,
    ("matmul_f16", "gfx1201"): 64,
    ("matmul_f16", "gfx1250"): 40,
}


def loads_of(name: str, arch: str, mode: str, directory: Path, log: DecisionLog) -> list[str]:
    """Returns the LDS loads of the kernel of an example."""
    flags = [*target_flags(arch), f"--iree-hal-dump-executable-files-to={directory}"]
    bankwise.compile((EXAMPLES / f"{name}.mlir").read_text(), flags, mode, decisions=log)
    (assembly,) = assembly_in(directory).values()
    return LOADS.findall(assembly.decode())


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize(("name", "arch"), MOST_LOADS)
def test_operands_are_read_wide_and_without_conflicts(name: str, arch: str, tmp_path: Path) -> None:
    log = DecisionLog()
    stock = loads_of(name, arch, "stock", tmp_path / "stock", DecisionLog())
    ours = loads_of(name, arch, "auto/exact", tmp_path / "ours", log)
    assert any(each.startswith("ds_load_u16") for each in stock)
    assert not any(each.startswith("ds_load_u") for each in ours)
    assert len(ours) <= MOST_LOADS[name, arch] < len(stock)
    hinted = [each for each in log if each.action is Action.HINT]
    assert hinted and all(each.conflict_cycles_after == 0 for each in hinted)
