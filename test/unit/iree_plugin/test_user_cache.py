# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts that are kept from one compile to the next."""

from __future__ import annotations

from pathlib import Path

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
