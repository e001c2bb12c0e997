# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Temporary files that do not outlive the process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from bankwise.iree_plugin.atomic_file import AtomicFile
from bankwise.iree_plugin.temporary_files import (
    one_temporary_folder,
    temporary_directory,
    temporary_neighbour,
)


def test_a_folder_goes_with_all_it_holds() -> None:
    with temporary_directory("bankwise-test-") as directory:
        (directory / "inner").mkdir()
        (directory / "inner" / "file").write_text("x")
    assert not directory.exists()


def test_what_is_there_at_the_end_is_removed(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    before = tempfile.tempdir, os.environ.get("TMPDIR")
    with one_temporary_folder():
        directory = Path(tempfile.mkdtemp())
        (directory / "file").write_text("x")
        # Makes it where LLVM would.
        made = subprocess.run(["mktemp"], capture_output=True, text=True, check=True).stdout.strip()
        neighbour = temporary_neighbour(tmp_path / "o")
        assert len(list(tmp_path.iterdir())) == 2
    assert not any(each.exists() for each in (directory, neighbour, Path(made)))
    assert [each.name for each in tmp_path.iterdir()] == ["old"]
    assert (tempfile.tempdir, os.environ.get("TMPDIR")) == before


@pytest.mark.parametrize("loaded", [True, False])
def test_the_folder_is_where_python_makes_its_files(
    loaded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder that cannot be used neither makes any."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setenv("TMP", str(tmp_path))
    for folder in (tmp_path, tmp_path / "missing"):
        monkeypatch.setenv("TEMP", str(folder))
        tempfile.tempdir = None
        place = Path(tempfile.gettempdir())
        tempfile.tempdir = None
        assert place == tmp_path
        if not loaded:
            monkeypatch.delitem(sys.modules, "tempfile")
        with one_temporary_folder():
            (common,) = tmp_path.iterdir()
            monkeypatch.setitem(sys.modules, "tempfile", tempfile)
            assert Path(tempfile.mkdtemp()).parent == common
        assert not common.exists()
        assert Path(tempfile.gettempdir()) == tmp_path


def test_what_is_kept_is_temporary_no_longer(tmp_path: Path) -> None:
    with one_temporary_folder(), AtomicFile(str(tmp_path / "o")) as file:
        file.temporary.write_text("x")
        file.keep()
    assert (tmp_path / "o").read_text() == "x"


def test_without_a_place_for_the_folder_files_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*place: object, **named: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "mkdir", full)
    monkeypatch.setattr(tempfile, "mkdtemp", full)
    with one_temporary_folder():
        temporary_neighbour(tmp_path / "o").unlink()
    assert list(tmp_path.iterdir()) == []
