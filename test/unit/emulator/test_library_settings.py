# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Libraries that look for settings in the current folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_SEEN_OPENED = """
import os, sys
folder, opened = os.getcwd(), []
def note(event, arguments):
    if event == "open" and isinstance(arguments[0], str):
        path = os.path.abspath(arguments[0])
        if path.startswith(folder):
            opened.append(path)
sys.addaudithook(note)
"""


def opened_in(folder: Path, program: str, **variables: str) -> str:
    """Returns what a program says that runs in a folder, and the paths there that it opens."""
    end = "\nprint([os.path.relpath(each, folder) for each in opened])\n"
    command = [sys.executable, "-P", "-c", _SEEN_OPENED + program + end]
    environment = {**os.environ, **variables}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    """Returns a folder that sends libraries elsewhere; `marker` is where caches would appear."""
    folder = tmp_path / "stranger"
    folder.mkdir()
    (folder / ".numba_config.yaml").write_text("cache_dir: ../marker\nopt: 0\n")
    (folder / "matplotlibrc").write_text("lines.linewidth: 77\n")
    return folder


def test_numba_reads_nothing_of_the_folder(strange: Path, tmp_path: Path) -> None:
    """Neither when it is imported nor when it compiles or keeps code."""
    (tmp_path / "code_of_test.py").write_text("def twice(n):\n    return 2 * n\n")
    program = f"""
sys.path.append({str(tmp_path)!r})
from pathlib import Path
from bankwise.emulator.timing import kept_code
from bankwise.iree_plugin.user_cache import UserCache
from code_of_test import twice
kept_code.keep_code_in(UserCache(Path({str(tmp_path / "own")!r})))
function = kept_code.kept(twice)
print(function(4), sum(function.stats.cache_hits.values()), int(kept_code.numba.config.OPT))
"""
    elsewhere = {"NUMBA_CACHE_DIR": "other", "NUMBA_CACHE_LOCATOR_CLASSES": "other.Locator"}
    assert opened_in(strange, program, **elsewhere).splitlines() == ["8 0 3", "[]"]
    # The second process takes what the first one has kept.
    assert opened_in(strange, program, **elsewhere).splitlines() == ["8 1 3", "[]"]
    assert sorted(each.name for each in strange.iterdir()) == [".numba_config.yaml", "matplotlibrc"]
    assert not (tmp_path / "marker").exists()
    assert len([*(tmp_path / "own").iterdir()]) == 1


def test_matplotlib_reads_nothing_of_the_folder(strange: Path) -> None:
    program = """
from bankwise.sweep import plot
import matplotlib
print(matplotlib.rcParams["lines.linewidth"])
"""
    assert opened_in(strange, program).splitlines() == ["1.5", "[]"]


def test_without_our_import_they_do(strange: Path) -> None:
    """Otherwise the tests above would show nothing."""
    found = opened_in(strange, "import numba, matplotlib; matplotlib.rcParams")
    assert ".numba_config.yaml" in found and "matplotlibrc" in found
