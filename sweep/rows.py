# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of a sweep, and the file that keeps those that are finished."""

from __future__ import annotations

import ast
import fcntl
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

from .. import __version__
from ..emulator.counters import (
    BANK_CONFLICTS,
    LDS_INSTRUCTIONS,
    MFMA_INSTRUCTIONS,
    SALU_INSTRUCTIONS,
    VALU_INSTRUCTIONS,
    counter_names,
)
from .cases import Case

_FIRST = (
    BANK_CONFLICTS,
    LDS_INSTRUCTIONS,
    VALU_INSTRUCTIONS,
    SALU_INSTRUCTIONS,
    MFMA_INSTRUCTIONS,
)
_LEFT_OUT = (
    "SQ_INSTS_SMEM",
    "SQ_INSTS_BRANCH",
    "SQ_INSTS_VMEM_RD",
    "SQ_INSTS_VMEM_WR",
    "GLOBAL_USEFUL_BYTES",
)


def swept_counters() -> list[str]:
    """The names of the counters that a row holds, in the order of a table's columns."""
    names = [name for name in counter_names() if name not in _LEFT_OUT]
    return [*_FIRST, *(name for name in names if name not in _FIRST)]


class RowsFileError(RuntimeError):
    """The rows cannot be kept; the message names the file."""


@dataclass(frozen=True)
class Versions:
    """What decides a row besides its case.

    Attributes:
        compiler: of `iree-base-compiler`.
        bankwise: of this package.
        code: digest of the code of this package that compiles and emulates.
    """

    compiler: str
    bankwise: str
    code: str


_ROOMS = ("bank_model", "dialect_utils", "emulator", "iree_plugin", "passes", "runtime")


@cache
def installed_versions() -> Versions:
    """The versions that this process measures with."""
    from iree.compiler.version import VERSION

    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(p for room in _ROOMS for p in (root / room).rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(without_prose(path.read_text()).encode())
    return Versions(VERSION, __version__, digest.hexdigest()[:12])


def without_prose(source: str) -> str:
    """What Python reads in a module, as text in which comments and docstrings play no part.

    A string that stands alone as a statement does nothing, whether it documents a module, a class,
    a function or an attribute.
    """

    def executes(statement: ast.stmt) -> bool:
        value = statement.value if isinstance(statement, ast.Expr) else None
        return not (isinstance(value, ast.Constant) and isinstance(value.value, str))

    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = list(filter(executes, node.body))
    return ast.dump(tree)


@dataclass(frozen=True)
class Row:
    """One measured case. Where several dispatches run, all figures but `lds_bytes` are sums.

    Attributes:
        source: digest of the module and its call.
        sample: workgroups of each dispatch that were asked for.
        work: floating-point operations; 0 where unknown.
        workgroups: of the whole grids.
        emulated: how many of them ran.
        agree: whether the emulated workgroups, the first and the last of the grid among them, have
            equal counters, instruction by instruction; None where single workgroups are all there
            is.
        lds_bytes: of a workgroup, the largest over the kernels.
        workgroup: counters of one workgroup per dispatch, where all that ran agree.
        grid: counters of the whole grids: measured, or those of one workgroup times their number;
            None where workgroups differ and not all ran.
        measured: counters summed over the emulated workgroups, where `grid` is not known.
        seconds: compile and emulation.
        error: why there are no figures.
    """

    kernel: str
    dtype: str
    target: str
    mitigation: str
    source: str
    sample: int
    compiler: str
    bankwise: str
    code: str
    work: int = 0
    dispatches: int = 0
    workgroups: int = 0
    emulated: int = 0
    agree: bool | None = None
    lds_bytes: int = 0
    workgroup: dict[str, int] | None = None
    grid: dict[str, int] | None = None
    measured: dict[str, int] | None = None
    seconds: float = 0.0
    error: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two rows the same measurement."""
        return tuple(getattr(self, field.name) for field in fields(self)[:_KEY_FIELDS])

    @property
    def versions(self) -> Versions:
        """What it was measured with."""
        return Versions(self.compiler, self.bankwise, self.code)

    @property
    def extent(self) -> str:
        """In words, what the counters stand for."""
        if self.error:
            return "failed"
        if self.emulated == self.workgroups:
            return f"all {self.workgroups}"
        if self.agree:
            return f"{self.emulated} of {self.workgroups}, equal"
        return f"{self.emulated} of {self.workgroups}, differ: not extrapolated"


_KEY_FIELDS = 9


def empty_row(case: Case, versions: Versions, error: str = "") -> Row:
    """The row of a case with no figures."""
    kernel = case.kernel
    identity = (kernel.name, kernel.dtype, case.target, case.mitigation)
    return Row(
        *identity,
        case.source_digest,
        case.sample,
        *asdict(versions).values(),
        work=kernel.work,
        error=error,
    )


class RowsFile:
    """One JSON object per line, in the order they were finished; to be used in a `with`.

    A line is written by one call and synchronized, so that a killed sweep loses at most the line
    it was writing; such a half line is cut off by the next sweep. Rows of other versions stay in
    the file, unused. Of rows with the same key the last one counts.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unreadable = 0
        self._handle = -1
        self._rows: dict[tuple[object, ...], Row] = {}

    def __enter__(self) -> RowsFile:
        """Locks and reads the file.

        Raises:
            RowsFileError: it cannot be opened, or another sweep writes to it.
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
            row = _parsed(line)
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

    def __len__(self) -> int:
        return len(self._rows)

    def find(self, case: Case, versions: Versions) -> Row | None:
        """The case's row, if it was measured with `versions`; None too where it failed."""
        row = self._rows.get(empty_row(case, versions).key)
        return None if row is None or row.error else row

    def latest(self, cases: Sequence[Case]) -> list[Row]:
        """The rows of this process's versions that are there, failed ones included."""
        versions = installed_versions()
        found = (self._rows.get(empty_row(case, versions).key) for case in cases)
        return [row for row in found if row is not None]

    def others(self, versions: Versions) -> int:
        """How many rows are of other versions."""
        return sum(row.versions != versions for row in self._rows.values())

    def append(self, row: Row) -> None:
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
        self._rows[row.key] = row


def _parsed(line: bytes) -> Row | None:
    try:
        document: Any = json.loads(line)
        row = Row(**document)
        hash(row.key)
    except (ValueError, TypeError):
        return None
    return row
