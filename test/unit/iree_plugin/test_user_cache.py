# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts that are kept from one compile to the next."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import platformdirs
import pytest

from bankwise.iree_plugin.atomic_file import AtomicFile
from bankwise.iree_plugin.user_cache import UserCache


def test_a_text_is_found_by_all_that_it_depends_on(tmp_path: Path) -> None:
    cache = UserCache(tmp_path / "new")
    assert cache.read("tile", "a key") is None
    cache.keep("tile", "a key", "a text")
    assert UserCache(tmp_path / "new").read("tile", "a key") == "a text"
    assert cache.read("tile", "another key") is None


def test_a_file_that_was_cut_counts_as_none(tmp_path: Path) -> None:
    cache = UserCache(tmp_path)
    cache.keep("tile", "a key", "a text")
    (file,) = tmp_path.iterdir()
    file.write_text(file.read_text()[:-1])
    assert cache.read("tile", "a key") is None


def test_bytes_that_are_no_text_count_as_none(tmp_path: Path) -> None:
    cache = UserCache(tmp_path)
    cache.keep("tile", "a key", "a text")
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"\xff\xfe" + file.read_bytes())
    assert cache.read("tile", "a key") is None
    cache.keep("tile", "a key", "a text")
    assert cache.read("tile", "a key") == "a text"


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = UserCache(tmp_path / "file" / "cache")
    cache.keep("tile", "a key", "a text")
    assert cache.read("tile", "a key") is None
    assert [*tmp_path.iterdir()] == [tmp_path / "file"]


def test_processes_keep_the_same_text_at_once(tmp_path: Path) -> None:
    program = f"""
from pathlib import Path
from bankwise.iree_plugin.user_cache import UserCache
cache = UserCache(Path({str(tmp_path)!r}))
for _ in range(100):
    cache.keep("tile", "a key", "a text" * 1000)
    assert cache.read("tile", "a key") == "a text" * 1000
"""
    running = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(3)]
    assert [each.wait(120) for each in running] == [0, 0, 0]
    assert len([*tmp_path.iterdir()]) == 1


def test_an_interrupted_write_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = UserCache(tmp_path)
    cache.keep("tile", "a key", "a text")

    def interrupt(file: AtomicFile) -> None:
        assert file.temporary.exists()
        raise KeyboardInterrupt

    monkeypatch.setattr(AtomicFile, "keep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cache.keep("tile", "a key", "another text")
    assert len([*tmp_path.iterdir()]) == 1
    assert cache.read("tile", "a key") == "a text"


def test_a_folder_that_others_can_write_to_is_no_cache(tmp_path: Path) -> None:
    cache = UserCache(tmp_path / "cache")
    cache.keep("tile", "a key", "a text")
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700
    (tmp_path / "cache").chmod(0o770)
    assert cache.read("tile", "a key") is None
    cache.keep("tile", "another key", "a text")
    assert len([*(tmp_path / "cache").iterdir()]) == 1


def test_a_folder_of_somebody_else_is_no_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = UserCache(tmp_path)
    cache.keep("tile", "a key", "a text")
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    assert cache.read("tile", "a key") is None
    cache.keep("tile", "another key", "a text")
    assert len([*tmp_path.iterdir()]) == 1


def test_a_folder_that_others_can_read_becomes_private(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0o755)
    cache = UserCache(tmp_path / "cache")
    cache.keep("tile", "a key", "a text")
    assert cache.read("tile", "a key") == "a text"
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700


def test_nothing_is_kept_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # As older versions do where XDG_CACHE_HOME or HOME is no absolute path.
    monkeypatch.setattr(platformdirs, "user_cache_path", Path)
    cache = UserCache()
    cache.keep("tile", "a key", "a text")
    assert cache.read("tile", "a key") is None
    assert not [*tmp_path.iterdir()]


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    cache = UserCache(tmp_path)
    cache.keep("tile", "a key", "a text")
    (file,) = tmp_path.iterdir()
    file.unlink()
    os.mkfifo(file)
    assert cache.read("tile", "a key") is None
    cache.keep("tile", "a key", "a text")  # Must not wait for a reader either.
