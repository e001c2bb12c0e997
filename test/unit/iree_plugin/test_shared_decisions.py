# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A file of decisions that several processes add to."""

from __future__ import annotations

import errno
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bankwise.iree_plugin import shared_decisions
from bankwise.iree_plugin.atomic_file import OutputError
from bankwise.iree_plugin.shared_decisions import check_decisions_file, keep_decisions
from bankwise.passes.decisions import Action, Decision, DecisionLog


def log_of(function: str, *reasons: str) -> DecisionLog:
    return DecisionLog(
        [
            Decision("bankwise-pad-unhinted-allocs", function, "memref<4xf32>", "", Action.KEEP, r)
            for r in reasons
        ]
    )


def kept(path: Path) -> list[tuple[str, str]]:
    document = json.loads(path.read_text())
    assert document["version"] == 1
    return [(each["function"], each["reason"]) for each in document["decisions"]]


def test_one_log_is_the_file_that_bankwise_compile_writes(tmp_path: Path) -> None:
    log = log_of("f", "first", "second")
    keep_decisions(tmp_path / "d.json", log, {"f"})
    assert (tmp_path / "d.json").read_text() == log.to_json()


def test_a_function_replaces_its_own_decisions_alone(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    keep_decisions(path, log_of("dispatch_10", "late"), {"dispatch_10"})
    keep_decisions(path, log_of("dispatch_9", "old", "older"), {"dispatch_9"})
    keep_decisions(path, log_of("dispatch_9", "new"), {"dispatch_9"})
    assert kept(path) == [("dispatch_9", "new"), ("dispatch_10", "late")]
    # A function whose tiles are gone takes its decisions along.
    keep_decisions(path, DecisionLog(), {"dispatch_9"})
    assert kept(path) == [("dispatch_10", "late")]


OTHERS = {
    "notes": "Tuesday: buy milk.\n",
    "JSON of somebody": '{"my": "notes"}\n',
    "a list": "[1]",
    "no version": '{"decisions": []}',
    "another version": '{"version": 2, "decisions": []}',
    "more beside it": '{"version": 1, "decisions": [], "my": "notes"}',
    "no list": '{"version": 1, "decisions": {}}',
    "no decisions in it": '{"version": 1, "decisions": [{"function": "f"}]}',
    "bytes": "\x00\x01",
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_a_file_of_somebody_else_is_refused_and_stays(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(OutputError, match=r"notes\.txt'.* holds something else"):
        keep_decisions(path, log_of("f", "new"), {"f"})
    with pytest.raises(OutputError, match="holds something else"):
        check_decisions_file(path)
    assert path.read_text() == text
    assert list(tmp_path.iterdir()) == [path]


def test_an_empty_file_and_one_that_is_missing_are_free(tmp_path: Path) -> None:
    for name in ("missing.json", "empty.json"):
        path = tmp_path / name
        if name == "empty.json":
            path.touch()
        check_decisions_file(path)
        assert path.exists() == (name == "empty.json")
        keep_decisions(path, log_of("f", "new"), {"f"})
        assert kept(path) == [("f", "new")]


def test_a_writer_that_fails_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "d.json"
    keep_decisions(path, log_of("f", "old"), {"f"})
    before = path.read_text()

    def full(_path: str, _data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shared_decisions, "write_output", full)
    for other in (path, tmp_path / "new.json"):
        with pytest.raises(OutputError, match="No space left"):
            keep_decisions(other, log_of("g", "new"), {"g"})
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_is_lost_between_writers(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    names = [f"dispatch_{number}" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: keep_decisions(path, log_of(name, "r"), {name}), names))
    assert kept(path) == [(name, "r") for name in names]


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"cannot write '.*no/d\.json': No such file"):
        keep_decisions(tmp_path / "no" / "d.json", DecisionLog(), {"f"})
