# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compile says once which attentions the level `fast` would compute much faster."""

from __future__ import annotations

import json
import os
import re
import subprocess
import warnings
from pathlib import Path

import pytest

from bankwise.bench.benchmark import RESULTS
from bankwise.bench.gpu.modes import EXACT, FAST, STOCK
from bankwise.bench.gpu.record import Record
from bankwise.bench.gpu.timed_sets import attentions_of_models
from bankwise.bench.program_families.rows import RowProgram
from bankwise.iree_plugin.python_compile import compile
from bankwise.passes.decisions import Action, DecisionLog
from bankwise.sweep.cases import target_flags

from .conftest import BIN, Tool
from .test_odd_attentions import source

F16 = source(2048, 2048, 96, 96, "f16", False, 24).replace("@attention(", "@f(")
F32 = source(2048, 2048, 64, 64, "f32", False, 16).replace("@attention(", "@g(")
NOTE = re.compile(r"^note: (\d+) attentions? keeps? .* run (\d+)x faster .* with (.*) \(out", re.M)


FEW = 16
"""Rows for which `fast` may split keys, which is not predicted here."""
ATTENTIONS = {each.name: each for each in attentions_of_models()}
MEASURED = {
    case: row.figures
    for case, row in Record.read(RESULTS / "gpu_attentions.json").by_case().items()
    if row.figures is not None
}
SCALAR = [
    name
    for name in ATTENTIONS
    if (name, STOCK) in MEASURED and (name, EXACT) not in MEASURED and int(name.split("x")[1]) > FEW
]
"""The attentions without matrix instructions in stock, whose times an H200 was measured for."""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "two.mlir"
    path.write_text(F16 + F32)
    return path


def test_a_compile_says_it_in_one_line(tool: Tool, program: Path, tmp_path: Path) -> None:
    decisions = tmp_path / "decisions.json"
    files = (str(program), "-o", str(tmp_path / "out.vmfb"), f"--bankwise-decisions={decisions}")
    result = tool("bankwise-compile", *files, *target_flags("sm_80"))
    assert result.returncode == 0, result.stderr
    (_, line) = result.stderr.splitlines()
    found = NOTE.match(line)
    assert found is not None, line
    # Measured on an H200: 18.93 + 28.1 ms, and 0.164 ms + what the f32 kernel of today takes.
    assert found[1] == "2"
    assert found[3] == "--bankwise-level=fast"
    assert 25 < int(found[2]) < 115
    assert "f_dispatch_0" in line
    assert "g_dispatch_0" in line
    kept = json.loads(decisions.read_text())["decisions"]
    said = [each for each in kept if each["allocation"] == "iree_linalg_ext.online_attention"]
    assert [each["pass_name"] for each in said] == [
        "bankwise-use-matrix-instructions",
        "bankwise-tile-by-lanes",
    ]
    assert all(each["action"] == "keep" and not each["stands"] for each in said)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(each, marks=() if number % 13 == 0 else pytest.mark.nightly)
        for number, each in enumerate(SCALAR)
    ],
)
def test_the_factor_is_about_what_was_measured(name: str) -> None:
    stock, fast = (MEASURED[name, mode].milliseconds for mode in (STOCK, FAST))
    with pytest.warns(UserWarning, match="scalar instructions") as warned:
        compile(ATTENTIONS[name].program().source, target_flags("sm_80"), "auto/exact")
    found = re.search(r"run ([\d.]+)x faster \(predicted\).*: attention_", str(warned[0].message))
    assert found is not None
    # What `bankwise-pad-heads` saves, which changes the program, is not in the prediction.
    copied = ATTENTIONS[name].sizes["k1"] % 2 != 0
    assert copied or float(found[1]) / (stock / fast) > 1 / 2
    assert float(found[1]) / (stock / fast) < 2


def test_every_attention_that_was_measured_has_a_factor() -> None:
    assert len(SCALAR) >= 26


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    ("mitigation", "flags"),
    [
        ("pad", []),
        ("none", []),
        ("auto/fast", []),
        # Configurations may be the user's own.
        ("auto/exact", ["--iree-codegen-enable-default-tuning-specs=true"]),
    ],
)
def test_there_is_nothing_to_say(mitigation: str, flags: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile(F16, [*target_flags("sm_80"), *flags], mitigation)


@pytest.mark.sampled
@pytest.mark.parametrize("arch", ["sm_80", "gfx942"])
def test_python_is_warned(arch: str) -> None:
    log = DecisionLog()
    with pytest.warns(UserWarning, match=r"1 attention keeps .* the mitigation 'auto/fast'"):
        compile(F16, target_flags(arch), "auto/layout", decisions=log)
    assert [each.pass_name for each in log if each.action is Action.KEEP][:1] == [
        "bankwise-use-matrix-instructions"
    ]


@pytest.mark.nightly
def test_an_unmodified_compiler_says_it_of_each_executable(program: Path, tmp_path: Path) -> None:
    hook = "--iree-hal-preprocess-executables-with=bankwise-executable"
    command = [BIN / "iree-compile", program, "-o", tmp_path / "out.vmfb", hook]
    environment = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"}
    result = subprocess.run(
        [*command, *target_flags("sm_80")], capture_output=True, text=True, env=environment
    )
    assert result.returncode == 0, result.stderr
    assert sorted(found[2] for found in NOTE.findall(result.stderr)) == ["BANKWISE_LEVEL=fast"] * 2


@pytest.mark.parametrize(
    ("shape", "is_said"), [((64, 77), True), ((64, 1024), False), ((1000,), True)]
)
def test_rows_that_single_lanes_sum_are_counted(
    tool: Tool, tmp_path: Path, shape: tuple[int, ...], is_said: bool
) -> None:
    source = tmp_path / "rows.mlir"
    source.write_text(RowProgram("sum", "f32", shape).program().source)
    result = tool("bankwise-compile", str(source), "-o", os.devnull, *target_flags("sm_80"))
    assert result.returncode == 0, result.stderr
    said = "note: 1 reduction keeps IREE's scalar instructions, and would run faster with"
    assert (said in result.stderr) == is_said
