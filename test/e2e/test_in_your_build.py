# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What docs/in_your_build.md and the README show of bankwise-executable runs as it is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bankwise.sweep.swept_kernels import Attention

from .conftest import BIN
from .documented_blocks import blocks

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "in_your_build.md"
GFX942 = ("--iree-hal-target-device=hip", "--iree-rocm-target=gfx942")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "attention.mlir").write_text(Attention(1, 256, 64, "f16").source())
    return tmp_path


def block(language: str) -> str:
    """Returns the page's only block of code in a language."""
    (found,) = (each.text for each in blocks(PAGE) if each.language == language)
    return found


def run(*command: str | Path, at: Path, on_path: bool = True) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("BANKWISE_")}
    if on_path:
        environment["PATH"] = f"{BIN}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        list(map(str, command)), cwd=at, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "bankwise-executable: warning" not in done.stdout + done.stderr
    return done


def by_bankwise_compile(source: str | Path, *flags: str, at: Path) -> bytes:
    run(BIN / "bankwise-compile", source, *GFX942, *flags, "-o", "expected.vmfb", at=at)
    return (at / "expected.vmfb").read_bytes()


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_the_cmake_project_builds_what_bankwise_compile_builds(project: Path) -> None:
    (project / "CMakeLists.txt").write_text(block("cmake"))
    run("cmake", "-S", ".", "-B", "build", at=project)
    # The tools are found when the project is configured; a build may have another PATH.
    run("cmake", "--build", "build", at=project, on_path=False)
    built = (project / "build" / "attention.vmfb").read_bytes()
    assert built == by_bankwise_compile(project / "attention.mlir", at=project)


@pytest.mark.nightly
def test_the_python_code_compiles_what_bankwise_compile_compiles(project: Path) -> None:
    (project / "build.py").write_text(block("python"))
    run(sys.executable, "build.py", at=project, on_path=False)
    built = (project / "attention.vmfb").read_bytes()
    assert built == by_bankwise_compile("attention.mlir", at=project)


@pytest.mark.nightly
def test_the_command_of_the_readme_compiles_what_bankwise_compile_compiles(tmp_path: Path) -> None:
    runnable = [each for each in blocks(ROOT / "README.md") if each.is_session]
    commands = [command.text for each in runnable for command in each.commands()]
    (found,) = (text for text in commands if text.startswith("BANKWISE_LEVEL=exact iree-compile "))
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    run("sh", "-c", found, at=tmp_path)
    source = "examples/attention_f16.mlir"
    expected = by_bankwise_compile(source, "--bankwise-level=exact", at=tmp_path)
    assert (tmp_path / "attention.vmfb").read_bytes() == expected


def test_the_warning_on_the_page_is_what_the_tool_prints(project: Path) -> None:
    (quoted,) = re.findall(r"^bankwise-executable: warning: .*\n", PAGE.read_text(), re.MULTILINE)
    hook = "--iree-hal-preprocess-executables-with=bankwise-executable"
    done = subprocess.run(
        [str(BIN / "iree-compile"), "attention.mlir", *GFX942, hook, "-o", os.devnull],
        cwd=project,
        env={
            **os.environ,
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "BANKWISE_LEVEL": "most",
        },
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, quoted)
