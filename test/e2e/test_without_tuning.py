# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The level `layout` compiles where the package `bankwise.tuning` cannot be imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "attention_f16.mlir"
HIDDEN = "sys.modules['bankwise.tuning'] = None\n"
TOOL = "import sys\n{hidden}from bankwise.tools.commands import {tool}_command\n{tool}_command()\n"


def run(tool: str, *arguments: str, hidden: bool = True) -> subprocess.CompletedProcess[str]:
    program = TOOL.format(hidden=HIDDEN if hidden else "", tool=tool)
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.sampled
@pytest.mark.parametrize("target", ["gfx942", "sm_80"])
def test_the_same_layouts_and_code_without_tuning(tmp_path: Path, target: str) -> None:
    said, compiled = dict[bool, str](), dict[bool, bytes]()
    for hidden in (False, True):
        output, decisions = tmp_path / f"{hidden}.vmfb", tmp_path / f"{hidden}.json"
        backend = ["--iree-hal-target-device=hip", "--iree-rocm-target=gfx942"]
        if target == "sm_80":
            backend = ["--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80"]
        flags = ["--bankwise-level=layout", f"--bankwise-decisions={decisions}", "-o", str(output)]
        found = run("compile", str(EXAMPLE), *backend, *flags, hidden=hidden)
        assert found.returncode == 0, found.stderr
        warned = "warning: bankwise.tuning is not installed: what stock computes wrong stays wrong"
        assert (warned in found.stderr) == hidden
        said[hidden], compiled[hidden] = decisions.read_text(), output.read_bytes()
    assert '"action"' in said[False]
    assert said[False] == said[True]
    assert compiled[False] == compiled[True]


@pytest.mark.parametrize("level", ["exact", "fast"])
def test_other_levels_end_in_one_line(tmp_path: Path, level: str) -> None:
    output = tmp_path / "a.vmfb"
    target = ["--iree-hal-target-device=hip", "--iree-rocm-target=gfx942"]
    found = run("compile", str(EXAMPLE), *target, f"--bankwise-level={level}", "-o", str(output))
    assert found.returncode == 1
    assert found.stderr.splitlines() == [
        f"bankwise-compile: error: --bankwise-level={level} needs the package bankwise.tuning, "
        "which is not installed; --bankwise-level=layout does without it"
    ]
    assert not output.exists()


@pytest.mark.nightly
def test_passes_are_listed_by_room() -> None:
    whole, layout = (run("opt", "--list-passes", hidden=each).stdout for each in (False, True))
    assert "Passes of passes/, for the level layout:" in layout
    assert "Passes of tuning/, for the levels exact and fast:" in whole
    assert "tuning/" not in layout and "--bankwise-retile" not in layout
    assert {*layout.splitlines()} <= {*whole.splitlines()}
