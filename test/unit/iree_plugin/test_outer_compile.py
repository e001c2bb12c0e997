# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finding the compile that has started a tool, and what it was asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bankwise.iree_plugin.outer_compile import OuterCompile, passed_on

FIND = (
    "from bankwise.iree_plugin.outer_compile import OuterCompile as O; o = O.find(); "
    "print(*([o.program, *o.arguments] if o else ['none']), sep='|')"
)


@pytest.fixture
def compiler(tmp_path: Path) -> Path:
    """Returns a shell that has the compiler's name."""
    path = tmp_path / "iree-compile"
    path.write_bytes(Path("/bin/sh").read_bytes())
    path.chmod(0o755)
    return path


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_command_line_is_that_of_the_compile(compiler: Path) -> None:
    script = f"'{sys.executable}' -c \"{FIND}\"; :"
    found = output(str(compiler), "-c", script, "--flag=a b", "")
    assert found == f"{compiler}|-c|{script}|--flag=a b|"


def test_a_shell_may_stand_between(compiler: Path) -> None:
    script = f"'{sys.executable}' -c \"{FIND}\"; :"
    found = output(str(compiler), "-c", 'sh -c "$0"; :', script)
    assert found.startswith(f"{compiler}|-c|sh -c")


def test_another_program_is_no_compile() -> None:
    assert output(sys.executable, "-c", FIND) == "none"
    assert OuterCompile.find() is None


def test_what_the_outer_compile_prints_and_writes_stays_there() -> None:
    kept = ("--iree-hal-target-device=hip", "--iree-opt-level=O3", "--iree-llvmgpu-x=1", "-y=z")
    outer = (
        "--iree-hal-preprocess-executables-with=bankwise-executable",
        "--iree-hal-dump-executable-files-to=dumps",
        "--iree-hal-substitute-executable-object=a=b",
        "--mlir-print-ir-after-all",
        "--mlir-timing",
        "-mlir-disable-threading",
    )
    assert passed_on([*kept[:2], *outer, *kept[2:]]) == kept


def test_a_value_goes_with_its_flag() -> None:
    flags = ["--iree-hal-dump-executable-files-to", "dumps", "--iree-llvmgpu-x", "1"]
    assert passed_on(flags) == ("--iree-llvmgpu-x=1",)
