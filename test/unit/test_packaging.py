# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the wheel holds: every package, the data that the tools read, and nothing else."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import bankwise

ROOT = Path(__file__).parents[2]
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
OUTSIDE = {".venv", "bench", "build", "out", "test"}


def test_every_package_is_listed() -> None:
    found = {
        ".".join(("bankwise", *each.parent.relative_to(ROOT).parts))
        for each in ROOT.rglob("__init__.py")
        if not OUTSIDE & set(each.relative_to(ROOT).parts)
    }
    assert found == set(SETUPTOOLS["packages"])


def test_of_the_root_only_the_package_itself_is_shipped(tmp_path: Path) -> None:
    # The root is the package: whatever module lies there would be shipped.
    command = [sys.executable, "setup.py", "-q", "build_py", "--build-lib", str(tmp_path)]
    command += ["egg_info", "--egg-base", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    assert [each.name for each in (tmp_path / "bankwise").glob("*.py")] == ["__init__.py"]
    assert not (tmp_path / "bankwise" / "bench").exists()
    # The version stands in one place, and is read without importing what is built.
    (metadata,) = tmp_path.glob("*.egg-info/PKG-INFO")
    assert f"\nVersion: {bankwise.__version__}\n" in metadata.read_text()
    assert (tmp_path / "bankwise" / "__init__.py").read_text() == Path(
        bankwise.__file__
    ).read_text()


@pytest.mark.parametrize(
    ("goal", "extras"),
    [("demo", "'.'"), ("test", "'.[test]'"), ("bench", "'.[test]'")],
)
def test_a_goal_installs_what_it_needs(goal: str, extras: str, tmp_path: Path) -> None:
    command = ["make", "--dry-run", goal, f"VENV={tmp_path}"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    lines = (line for line in done.stdout.splitlines() if " pip install " in line)
    assert [line.split()[-1] for line in lines] == [extras]


@pytest.mark.parametrize(
    ("package", "file"),
    [
        ("bankwise", "py.typed"),
        ("bankwise", "examples/attention_f16.mlir"),
        ("bankwise", "examples/transpose/row_major.mlir"),
        ("bankwise", "examples/assembly/transpose.s"),
        ("bankwise", "docs/schemas/report.schema.json"),
        ("bankwise.sweep", "attention_shapes.json"),
    ],
)
def test_what_the_tools_read_is_shipped(package: str, file: str) -> None:
    home = ROOT.joinpath(*package.split(".")[1:])
    assert (home / file).is_file()
    shipped = {path for glob in SETUPTOOLS["package-data"][package] for path in home.glob(glob)}
    assert home / file in shipped


def test_an_old_python_makes_no_environment(tmp_path: Path) -> None:
    old = tmp_path / "python3.10"
    code = "import sys; sys.version_info = (3, 10); exec(sys.argv[1])"
    old.write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -c '{code}' \"$2\"\n")
    old.chmod(0o755)
    command = ["make", "demo", f"PYTHON={old}", f"VENV={tmp_path / 'venv'}"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode
    line = f"make: {old} is older than Python 3.11; name another: make demo PYTHON=python3.12"
    assert done.stderr.splitlines()[0] == line
    assert not (tmp_path / "venv").exists()
