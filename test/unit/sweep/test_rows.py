# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The file of finished rows: what survives a kill, and what is left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bankwise.sweep.cases import Case
from bankwise.sweep.rows import Row, installed_versions, key_of, without_prose
from bankwise.sweep.rows_file import RowsFile, RowsFileError

from .swept_rows import case, differing_row, failed_row, row

A, B = case("a"), case("b")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.jsonl"


def latest(file: RowsFile[Row], of: list[Case]) -> list[Row]:
    return file.latest(key_of(each, installed_versions()) for each in of)


def write(path: Path, *rows: object) -> None:
    with RowsFile(path, Row) as file:
        for one in rows:
            file.append(one)  # type: ignore[arg-type]


def test_finished_rows_are_found_again(path: Path):
    write(path, row(A, 5), row(B))
    with RowsFile(path, Row) as file:
        assert file.find(key_of(A, installed_versions())) == row(A, 5)
        assert file.find(key_of(case("a", "auto"), installed_versions())) is None
        assert latest(file, [B, A]) == [row(B), row(A, 5)]


@pytest.mark.parametrize("cut", [1, 2, 40])
def test_a_half_written_line_is_cut_off(path: Path, cut: int):
    write(path, row(A), row(B))
    contents = path.read_bytes()
    path.write_bytes(contents[:-cut])
    with RowsFile(path, Row) as file:
        assert file.find(key_of(A, installed_versions()))
        assert file.find(key_of(B, installed_versions())) is None
        assert file.unreadable == 0
        file.append(row(B))
    assert path.read_bytes() == contents


def test_a_row_without_the_predicted_time_is_none_of_a_sweep_that_wants_it(path: Path):
    write(path, row(A))
    with RowsFile(path, Row) as file:
        assert file.find(key_of(replace(A, timing=True), installed_versions())) is None


def test_rows_of_other_versions_stay_but_do_not_count(path: Path):
    for field in ("compiler", "bankwise", "code"):
        write(path, replace(row(A), **{field: "other"}))
    with RowsFile(path, Row) as file:
        assert file.find(key_of(A, installed_versions())) is None
        assert latest(file, [A]) == []
        assert sum(row.versions != installed_versions() for row in file.rows()) == 3
        assert file.find(key_of(A, replace(installed_versions(), compiler="other")))
        file.append(row(A))
        assert file.find(key_of(A, installed_versions()))


def test_another_sample_or_source_is_another_row(path: Path):
    write(path, row(A))
    changed = replace(A.kernel, source="module { }\n")
    with RowsFile(path, Row) as file:
        assert file.find(key_of(replace(A, sample=3), installed_versions())) is None
        assert file.find(key_of(replace(A, kernel=changed), installed_versions())) is None


def test_a_failed_row_is_open_and_its_successor_counts(path: Path):
    write(path, failed_row(A))
    with RowsFile(path, Row) as file:
        assert file.find(key_of(A, installed_versions())) is None
        assert latest(file, [A]) == [failed_row(A)]
        file.append(row(A, 7))
    with RowsFile(path, Row) as file:
        assert latest(file, [A]) == [row(A, 7)]


def test_lines_that_are_no_rows_are_counted(path: Path):
    write(path, row(A))
    path.write_text('{"kernel": "x"}\nnot json\n[1]\n' + path.read_text())
    with RowsFile(path, Row) as file:
        assert file.unreadable == 3
        assert file.find(key_of(A, installed_versions()))


def test_two_sweeps_cannot_write_at_once(path: Path):
    with RowsFile(path, Row), pytest.raises(RowsFileError, match="another sweep is writing"):
        RowsFile(path, Row).__enter__()


def test_a_sweep_without_a_row_leaves_no_file(path: Path):
    with RowsFile(path, Row):
        assert path.exists()
    assert not path.exists()


def test_a_place_that_cannot_be_written(tmp_path: Path):
    with pytest.raises(RowsFileError, match=r"cannot use '.*': Is a directory"):
        RowsFile(tmp_path, Row).__enter__()


def test_the_extent_is_said_in_words():
    assert row(A).extent == "2 of 4, equal"
    assert replace(row(A), emulated=4).extent == "all 4"
    assert differing_row(A).extent == "2 of 4, differ: not extrapolated"
    assert failed_row(A).extent == "failed"


MODULE = '''
"""A module."""

WORD = 4
"""Bytes."""


class Shape:
    """A shape."""

    size: int = WORD

    def area(self) -> int:
        """The area."""

        def squared(n: int) -> int:
            """Nested."""
            return n * n

        return squared(self.size)  # in elements


def nothing() -> None:
    """Does nothing."""
'''


def test_prose_is_not_code() -> None:
    """Rows are kept while only docstrings and comments change."""
    reworded = MODULE.replace("A module.", "One\n\nmodule.").replace("Bytes.", "Its bytes.")
    reworded = (
        reworded.replace("Nested.", "Deep.")
        .replace("# in elements", "")
        .replace('    """Does nothing."""', '    # Nothing.\n    """It."""')
    )
    assert reworded != MODULE
    assert without_prose(reworded) == without_prose(MODULE)
    assert without_prose(MODULE.replace('"""Bytes."""\n', "")) == without_prose(MODULE)
    for old, new in (("WORD = 4", "WORD = 8"), ("n * n", "n + n"), ("size: int", "size: float")):
        assert without_prose(MODULE.replace(old, new)) != without_prose(MODULE)


def test_code_is_the_same_in_every_process() -> None:
    """Sets list their elements in another order wherever texts have other hashes."""
    words = [f"'{number}'" for number in range(60)]
    forward, backward = (f"x in {{{', '.join(each)}}}" for each in (words, words[::-1]))
    assert without_prose(forward) == without_prose(backward)
