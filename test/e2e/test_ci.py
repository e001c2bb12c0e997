# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The GitHub Action and the pre-commit hook run what the real command line takes."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
STEPS: dict[str, dict[str, Any]] = {step["name"]: step for step in ACTION["runs"]["steps"]}
COUNT, INSTALL = STEPS["Count bank conflicts"], STEPS["Install Bankwise"]
FLAGS = "--iree-hal-target-device=hip\n  --iree-rocm-target=gfx942"
NONE = "--bankwise-mitigation=none"

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Returns a project with kernels, a space in a name, and a folder `bankwise` of its own."""
    kernels = tmp_path / "project" / "kernels" / "deep"
    kernels.mkdir(parents=True)
    row_major = ROOT / "examples" / "transpose" / "row_major.mlir"
    shutil.copy(row_major, kernels / "a kernel.mlir")
    shutil.copy(ROOT / "examples" / "transpose" / "xor.mlir", tmp_path / "project" / "xor.mlir")
    (tmp_path / "project" / "bankwise").mkdir()
    (tmp_path / "project" / "bankwise" / "__init__.py").write_text("raise ImportError\n")
    return tmp_path / "project"


@pytest.fixture
def count(project: Path, tmp_path: Path) -> Run:
    """Runs the action's last step in the project, as a runner does."""
    python = tmp_path / "temp" / "bankwise" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)

    def run(files: str, flags: str = "") -> subprocess.CompletedProcess[str]:
        values = {"files": files, "flags": flags}
        environment = {
            name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda each: values[each[1]], text)
            for name, text in COUNT["env"].items()
        }
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", COUNT["run"]],
            cwd=project,
            env={**os.environ, **environment, "RUNNER_TEMP": str(tmp_path / "temp")},
            capture_output=True,
            text=True,
        )

    return run


def test_the_action_uses_the_inputs_that_it_declares_as_data_only() -> None:
    text = (ROOT / "action.yml").read_text()
    assert set(re.findall(r"inputs\.(\w+)", text)) == set(ACTION["inputs"])
    assert ACTION["runs"]["using"] == "composite"
    for step in STEPS.values():
        assert "run" not in step or step["shell"] == "bash"
        assert "${{" not in step.get("run", "")


@pytest.mark.nightly
def test_the_action_fails_where_a_file_has_conflicts(count: Run) -> None:
    files = "xor.mlir\n\nkernels/**/*.mlir\n"
    clean = count(files, FLAGS)
    assert (clean.returncode, clean.stderr) == (0, "")
    assert clean.stdout.splitlines() == [
        "xor.mlir: no bank conflicts",
        "kernels/deep/a kernel.mlir: no bank conflicts",
    ]
    plain = count(files, f"{FLAGS} {NONE}")
    assert plain.returncode == 1
    assert "conflict cycles in the code as it stands" in plain.stdout
    # The tile of xor.mlir has a hint of its own.
    assert plain.stderr == ("check_files: error: 1 of 2 files failed: kernels/deep/a kernel.mlir\n")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ("no/*.mlir", "'no/*.mlir': no such file, and no file matches it"),
        ("", "which files? none is given"),
        ("$(touch made)`touch made`;touch made", "no such file, and no file matches it"),
    ],
)
def test_an_action_that_checks_nothing_fails(
    count: Run, project: Path, files: str, message: str
) -> None:
    done = count(files, FLAGS)
    assert done.returncode == 1
    assert message in done.stderr
    assert not (project / "made").exists()


@pytest.mark.nightly
def test_the_hook_fails_where_a_file_has_conflicts(project: Path) -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        entry = shlex.split(HOOK["entry"])
        assert entry[0] == "python"
        command = [sys.executable, *entry[1:], *FLAGS.split(), *words]
        return subprocess.run(command, cwd=project, capture_output=True, text=True)

    assert run(NONE, "xor.mlir").returncode == 0
    assert run(NONE, "kernels/deep/a kernel.mlir").returncode == 1


@pytest.mark.parametrize(
    ("path", "checked"), [("a/b.mlir", True), ("a.mlirbc", False), ("mlir", False)]
)
def test_the_hook_checks_mlir_files(path: str, checked: bool) -> None:
    assert bool(re.search(HOOK["files"], path)) == checked


def test_one_report_for_several_files_is_refused(project: Path) -> None:
    command: Sequence[str] = [*shlex.split(HOOK["entry"])[1:], "xor.mlir", "-o", "x"]
    done = subprocess.run([sys.executable, *command], cwd=project, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("check_files: error: -o: ")


@pytest.mark.nightly
def test_the_action_installs_this_repository(tmp_path: Path) -> None:
    """Without dependencies, which are a matter of the registry."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("git is not installed, or this is no checkout")
    files = subprocess.run(
        ["git", "ls-files", "-zco", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in files.stdout.split("\0")[:-1]:
        copied = tmp_path / "source" / name
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copied)
    where = {"RUNNER_TEMP": str(tmp_path), "GITHUB_ACTION_PATH": str(tmp_path / "source")}
    subprocess.run(
        ["bash", "-eo", "pipefail", "-c", INSTALL["run"]],
        env={**os.environ, **where, "PIP_NO_DEPS": "1"},
        check=True,
    )
    python = tmp_path / "bankwise" / "bin" / "python"
    done = subprocess.run(
        [python, "-P", "-m", "bankwise.tools.check_files", "--help"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert "FILE" in done.stdout
