# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outputs: whole or not at all, and known beforehand."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bankwise.iree_plugin.atomic_file import (
    AtomicFile,
    OutputError,
    check_distinct,
    check_output,
    write_output,
)


def test_a_file_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "o"
    path.write_text("old")
    path.chmod(0o640)
    check_output(str(path))
    assert path.read_text() == "old"
    write_output(str(path), b"new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)
    assert [each.name for each in tmp_path.iterdir()] == ["o"]


def test_a_new_file_has_the_mode_of_any_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nobody changes the mask of the process, which other threads make files by."""
    monkeypatch.delattr(os, "umask")
    path, other = tmp_path / "o", tmp_path / "other"
    write_output(str(path), b"new")
    other.write_text("new")
    assert path.stat().st_mode == other.stat().st_mode


def test_what_is_not_kept_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "o"
    path.write_text("old")
    with AtomicFile(str(path)) as file:
        file.temporary.write_text("half")
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["o"]


def test_what_cannot_be_written_is_known_beforehand(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name, reason in (
        ("", "Is a directory"),
        ("no/o", f"there is no directory '{tmp_path}/no'"),
        ("file/o", f"there is no directory '{tmp_path}/file'"),
        ("loop", "Too many levels of symbolic links"),
    ):
        path = str(tmp_path / name)
        for attempt in (check_output, lambda path: write_output(path, b"x")):
            with pytest.raises(OutputError) as caught:
                attempt(path)
            assert str(caught.value) == f"cannot write '{path}': {reason}"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "loop"]


_WRITING = """
import sys
from bankwise.iree_plugin.atomic_file import OutputError, check_output, write_output
for attempt in (check_output, lambda path: write_output(path, b"new")):
    try:
        attempt(sys.argv[1])
    except OutputError as error:
        print(error)
"""
_DROP_FROM_BOUNDING_SET, _WRITE_DESPITE_MODES = 24, 1


def test_a_write_protected_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "o"
    path.write_text("old")
    path.chmod(0o444)
    # The superuser may write despite modes, but not where the process is started without that.
    drop = ctypes.CDLL(None).prctl
    done = subprocess.run(
        [sys.executable, "-c", _WRITING, str(path)],
        preexec_fn=lambda: drop(_DROP_FROM_BOUNDING_SET, _WRITE_DESPITE_MODES, 0, 0, 0),
        capture_output=True,
        text=True,
        check=False,
    )
    refusal = f"cannot write '{path}': Permission denied\n"
    assert (done.stdout, done.stderr, path.read_text()) == (refusal * 2, "", "old")
    assert [each.name for each in tmp_path.iterdir()] == ["o"]


def test_a_pipe_is_written_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    check_output(str(pipe))
    write_output(str(pipe), b"data")
    reader.join()
    assert read == [b"data"]
    assert pipe.is_fifo()


def test_dash_is_stdout(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    check_output("-")
    write_output("-", b"\xff\n")
    assert capfdbinary.readouterr().out == b"\xff\n"


def test_an_output_is_no_input_and_no_other_output(tmp_path: Path) -> None:
    path, link = str(tmp_path / "a"), tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(OutputError, match="link': -o names an input; name another file"):
        check_distinct([path], {"-o": str(link)})
    with pytest.raises(OutputError, match="a': -d names the file of -o, too; name another"):
        check_distinct([], {"-o": path, "-d": path})
    # The standard input is not the standard output, and a device takes any number of outputs.
    check_distinct(["-", "/dev/null"], {"-o": "-", "-d": "/dev/null", "-t": "/dev/null"})


def test_in_a_folder_that_is_gone_an_output_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(OutputError, match="cannot write 'o': No such file or directory"):
        check_distinct(["/dev/null"], {"-o": "o"})


def test_a_full_device_is_named() -> None:
    with pytest.raises(OutputError, match="cannot write '/dev/full': No space left on device"):
        write_output("/dev/full", b"x")
