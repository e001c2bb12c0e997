# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the wheel holds: every package, the data that the tools read, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
OUTSIDE = {".venv", "build", "out", "test"}


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
