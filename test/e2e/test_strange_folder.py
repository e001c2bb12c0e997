# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tools that are started in a strange folder: nothing there is read or run unless it is named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
MODULES = ("argparse", "bankwise", "iree", "joblib", "json", "multiprocessing", "numpy", "typing")
"""What processes import that the tools start."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Returns a folder with modules that leave a mark where they are imported."""
    found = tmp_path / "stranger"
    found.mkdir()
    for name in MODULES:
        (found / f"{name}.py").write_text(
            f"from pathlib import Path\nPath({str(tmp_path / 'imported')!r}).touch()\n"
        )
    return found


@pytest.mark.nightly
def test_workers_of_a_sweep_import_nothing_there(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "kernel.mlir").write_text("no kernel\n")
    (tmp_path / "kernels.json").write_text('[{"mlir": "kernel.mlir"}]')
    words = ("--kernels=../kernels.json", "--mitigations=stock,none", "--jobs=2", "-o", "../out")
    done = subprocess.run(
        [BIN / "bankwise-sweep", *words], cwd=folder, capture_output=True, text=True
    )
    assert "2 of 2 rows failed" in done.stderr
    assert not (tmp_path / "imported").exists()
    assert sorted(each.name for each in folder.iterdir()) == sorted(f"{n}.py" for n in MODULES)


def test_help_that_completion_asks_for_imports_nothing_there(folder: Path, tmp_path: Path) -> None:
    command = [BIN / "bankwise-compile", "--print-completion=bash"]
    assert subprocess.run(command, cwd=folder, capture_output=True).returncode == 0
    assert not (tmp_path / "imported").exists()
