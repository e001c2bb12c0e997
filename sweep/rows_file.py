# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The file that keeps the finished rows of a measurement, which goes on where it was stopped."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Hashable, Iterable
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from ..bank_model.json_text import read_json


class RowsFileError(RuntimeError):
    """The rows cannot be kept; the message names the file."""


class KeptRow(Protocol):
    """A dataclass that JSON can hold."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def key(self) -> Hashable:
        """Returns a key that rows of the same measurement share."""
        ...

    @property
    def made_with(self) -> str:
        """Says which code has measured the row."""
        ...

    @property
    def failed(self) -> bool:
        """Returns whether the measurement failed, so that it is to be made again."""
        ...


RowT = TypeVar("RowT", bound=KeptRow)


class Rows(Generic[RowT]):
    """Rows by their keys; of rows with the same key the last one counts."""

    def __init__(self) -> None:
        self._rows: dict[Hashable, RowT] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self) -> Iterable[RowT]:
        """Returns all rows, in the order in which they were finished."""
        return self._rows.values()

    def find(self, key: Hashable) -> RowT | None:
        """Returns the row of a key; None too where its measurement failed."""
        row = self._rows.get(key)
        return None if row is None or row.failed else row

    def latest(self, keys: Iterable[Hashable]) -> list[RowT]:
        """Returns the rows that are there of some keys, failed ones included."""
        return [self._rows[key] for key in keys if key in self._rows]

    def append(self, row: RowT) -> None:
        """Keeps a row."""
        self._rows[row.key] = row


class RowsFile(Rows[RowT]):
    """A file with a row per line, as JSON in the order they were finished; for a `with` statement.

    A line is written by one call and synchronized, so that a killed process loses at most the line
    it was writing. The next process cuts such a half line off.
    """

    def __init__(self, path: Path, row_type: Callable[..., RowT]) -> None:
        super().__init__()
        self.path = path
        self.unreadable = 0
        self._row_type = row_type
        self._handle = -1

    def __enter__(self) -> RowsFile[RowT]:
        """Locks and reads the file.

        Raises:
            RowsFileError: it cannot be opened, or another process writes to it.
        """
        try:
            self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            contents = self.path.read_bytes()
            complete = contents.rfind(b"\n") + 1
            os.ftruncate(self._handle, complete)
        except BlockingIOError:
            raise RowsFileError(f"another sweep is writing to '{self.path}'") from None
        except OSError as error:
            raise RowsFileError(f"cannot use '{self.path}': {error.strerror}") from None
        for line in contents[:complete].splitlines():
            row = self._parsed(line)
            if row is None:
                self.unreadable += 1
            else:
                self._rows[row.key] = row
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Closes the file, and leaves none behind where nothing was written."""
        if os.fstat(self._handle).st_size == 0:
            self.path.unlink(missing_ok=True)
        os.close(self._handle)

    def append(self, row: RowT) -> None:
        """Keeps a row.

        Raises:
            RowsFileError: the disk does not take it.
        """
        line = json.dumps(asdict(row)).encode() + b"\n"
        try:
            written = os.write(self._handle, line)
            os.fsync(self._handle)
        except OSError as error:
            raise RowsFileError(f"cannot write '{self.path}': {error.strerror}") from None
        if written != len(line):
            raise RowsFileError(f"cannot write '{self.path}': no space left")
        super().append(row)

    def _parsed(self, line: bytes) -> RowT | None:
        try:
            row = self._row_type(**read_json(line))
            hash(row.key)
        except (ValueError, TypeError):
            return None
        return row
