# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Temporary files that do not outlive the process."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from bankwise.iree_plugin import temporary_files
from bankwise.iree_plugin.atomic_file import AtomicFile
from bankwise.iree_plugin.temporary_files import remove_all_temporaries, temporary_directory


@pytest.fixture(autouse=True)
def own_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps the lock for the test alone: the end of a process takes it for good."""
    monkeypatch.setattr(temporary_files, "_lock", threading.RLock())


def test_a_folder_goes_with_all_it_holds() -> None:
    with temporary_directory("bankwise-test-") as directory:
        (directory / "inner").mkdir()
        (directory / "inner" / "file").write_text("x")
    assert not directory.exists()


def test_what_is_there_at_the_end_is_removed(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    with temporary_directory("bankwise-test-") as directory, AtomicFile(str(tmp_path / "o")):
        (directory / "file").write_text("x")
        assert len(list(tmp_path.iterdir())) == 2
        remove_all_temporaries()
        assert not directory.exists()
        assert [each.name for each in tmp_path.iterdir()] == ["old"]


def test_what_is_kept_is_temporary_no_longer(tmp_path: Path) -> None:
    with AtomicFile(str(tmp_path / "o")) as file:
        file.temporary.write_text("x")
        file.keep()
    remove_all_temporaries()
    assert (tmp_path / "o").read_text() == "x"
