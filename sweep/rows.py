# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of a sweep, and what decides whether a row that was kept is still good."""

from __future__ import annotations

import dis
import hashlib
import math
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from types import CodeType, UnionType
from typing import Any, Self, get_args, get_origin, get_type_hints

from .. import __version__
from ..bank_model.shown_text import shown_text
from ..emulator.counters import Counted, counter_names
from .cases import Case

_FIRST = (Counted.CONFLICTS, Counted.LDS, Counted.VALU, Counted.SALU, Counted.MFMA)
_LEFT_OUT = ("SQ_INSTS_SMEM", "SQ_INSTS_BRANCH", "SQ_INSTS_VMEM_RD", "SQ_INSTS_VMEM_WR",
             "GLOBAL_USEFUL_BYTES")  # fmt: skip


def swept_counters() -> list[str]:
    """Returns the names of the counters that a row holds, in the order of a table's columns."""
    names = [name for name in counter_names() if name not in _LEFT_OUT]
    return [*_FIRST, *(name for name in names if name not in _FIRST)]


@dataclass(frozen=True)
class Versions:
    """What decides the figures of a row besides its case.

    Attributes:
        compiler: the version of `iree-base-compiler`.
        bankwise: the version of this package.
        code: a digest of the code of this package that compiles and emulates.
    """

    compiler: str
    bankwise: str
    code: str


_NOP = dis.opmap["NOP"]
_ROOMS = ("bank_model", "dialect_utils", "emulator", "iree_plugin", "passes", "runtime")


@cache
def installed_versions() -> Versions:
    """Returns the versions that this process measures with."""
    from iree.compiler.version import VERSION

    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(p for room in _ROOMS for p in (root / room).rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(without_prose(path.read_bytes()).encode())
    return Versions(VERSION, __version__, digest.hexdigest()[:12])


def without_prose(source: str | bytes) -> str:
    """Returns what a module executes as text: its byte code, without lines, docstrings and asserts.

    The compiler of Python takes a quarter of the time that walking the syntax tree in Python does.
    An assert decides no figure, and a row that failed by one is measured again anyway.
    """
    return _executed(compile(source, "", "exec", dont_inherit=True, optimize=2))


def _executed(code: CodeType) -> str:
    """Returns the byte code of a module or function with its names and constants, as text."""
    steps = code.co_code
    # A string that stands alone leaves an instruction that does nothing.
    kept = (steps[i : i + 2] for i in range(0, len(steps), 2) if steps[i] != _NOP)
    constants = list(map(_constant, code.co_consts))
    names = (code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    return repr((b"".join(kept), constants, names, counts, code.co_exceptiontable))


def _constant(value: object) -> str:
    """Returns a constant as text, which for a set is the same in every process."""
    if isinstance(value, CodeType):
        return _executed(value)
    return repr(sorted(map(repr, value)) if isinstance(value, frozenset) else value)


class RowError(ValueError):
    """What is no row of a sweep; the message says what is wrong with it."""


@dataclass(frozen=True)
class Row:
    """One measured case. Where several dispatches run, all figures but `lds_bytes` are sums.

    Attributes:
        source: a digest of the module and its call.
        sample: how many workgroups of each dispatch were asked for.
        timing: whether times were to be predicted.
        work: the floating-point operations; 0 where they are not known.
        workgroups: the number of workgroups of the whole grids.
        emulated: how many of them ran.
        agree: whether the emulated workgroups, the first and the last of the grid among them, have
            equal counters for each instruction; None where all grids have a single workgroup.
        lds_bytes: the LDS bytes of a workgroup, of the kernel that takes the most.
        workgroup: the counters of one workgroup per dispatch, if all that ran agree.
        grid: the counters of the whole grids, measured or those of one workgroup times their
            number; None if workgroups differ and not all ran.
        measured: the counters summed over the emulated workgroups, if `grid` is not known.
        predicted_microseconds: the predicted time of the whole grids, its bounds `low` and `high`
            and what is `expected`; None where nobody asked for it.
        seconds: the time to compile and emulate.
        error: why there are no figures; empty if there are.
    """

    kernel: str
    dtype: str
    target: str
    mode: str
    source: str
    sample: int
    compiler: str
    bankwise: str
    code: str
    timing: bool = False
    work: int = 0
    dispatches: int = 0
    workgroups: int = 0
    emulated: int = 0
    agree: bool | None = None
    lds_bytes: int = 0
    workgroup: dict[str, int] | None = None
    grid: dict[str, int] | None = None
    measured: dict[str, int] | None = None
    predicted_microseconds: dict[str, float] | None = None
    seconds: float = 0.0
    error: str = ""

    @classmethod
    def of_document(cls, **document: Any) -> Self:
        """Returns the row that JSON holds. Version 1 of the tables calls a mode a mitigation.

        Raises:
            RowError: a field is missing or unknown, or holds what no sweep writes there.
        """
        if "mitigation" in document:
            document["mode"] = document.pop("mitigation")
        types = _types()
        for name in document:
            if name not in types:
                raise RowError(f"it has an unknown field {name!r}")
        for field in fields(cls)[: _KEY_FIELDS - 1]:
            if field.name not in document:
                raise RowError(f"it has no field '{field.name}'")
        for name, value in document.items():
            if not _fits(value, types[name]):
                raise RowError(f"its '{name}' is none that a sweep writes")
        row = cls(**document)
        for name in swept_counters():
            if row.grid is not None and name not in row.grid:
                raise RowError(f"the row of {row.kernel} has no {name}")
        times = row.predicted_microseconds
        if times is not None and ({*times} != {*TIMES} or not all(times.values())):
            raise RowError(f"its 'predicted_microseconds' are not {', '.join(TIMES)}")
        return row

    @property
    def shown(self) -> Self:
        """Returns the row with texts that leave a terminal as it is, whoever has written them."""
        names = ("kernel", "dtype", "target", "mode")
        error = next(iter(self.error.splitlines()), "")
        return replace(
            self,
            error=shown_text(error),
            **{each: shown_text(getattr(self, each)) for each in names},
        )

    @property
    def key(self) -> tuple[object, ...]:
        """Returns a key that rows of the same measurement share."""
        return tuple(getattr(self, field.name) for field in fields(self)[:_KEY_FIELDS])

    @property
    def failed(self) -> bool:
        """Returns whether there are no figures."""
        return bool(self.error)

    @property
    def versions(self) -> Versions:
        """Returns the versions that the row was measured with."""
        return Versions(self.compiler, self.bankwise, self.code)

    @property
    def made_with(self) -> str:
        """Says which versions have measured the row."""
        return f"iree-base-compiler {self.compiler} and bankwise {self.bankwise} (code {self.code})"

    @property
    def extent(self) -> str:
        """Says which workgroups the counters stand for."""
        if self.error:
            return "failed"
        if self.emulated == self.workgroups:
            return f"all {self.workgroups}"
        if self.agree:
            return f"{self.emulated} of {self.workgroups}, equal"
        return f"{self.emulated} of {self.workgroups}, differ: not extrapolated"


_KEY_FIELDS = 10
TIMES = ("low", "expected", "high")
"""What is predicted of a time, in the order of a table's columns."""
_MOST = 2**63
"""More than anything that is counted."""


@cache
def _types() -> dict[str, Any]:
    return get_type_hints(Row)


def _fits(value: object, kind: Any) -> bool:
    """Returns whether a value from JSON is of a type; numbers are those of a count or a time."""
    if get_origin(kind) is UnionType:
        return any(_fits(value, each) for each in get_args(kind))
    if get_origin(kind) is dict:
        _, its = get_args(kind)
        return isinstance(value, dict) and all(_fits(each, its) for each in value.values())
    if kind is str:
        return isinstance(value, str) and _is_text(value)
    if kind is float:
        kind = (int, float)
    if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
        return False
    return not isinstance(value, int | float) or (math.isfinite(value) and 0 <= value < _MOST)


def _is_text(value: str) -> bool:
    """Returns whether a file can hold a text: half of a character, which JSON can name, is none."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def empty_row(case: Case, versions: Versions, error: str = "") -> Row:
    """Returns the row of a case with no figures."""
    kernel = case.kernel
    identity = (kernel.name, kernel.dtype, case.target, case.mode)
    return Row(
        *identity,
        case.source_digest,
        case.sample,
        *asdict(versions).values(),
        timing=case.timing,
        work=kernel.work,
        error=error,
    )


def key_of(case: Case, versions: Versions) -> tuple[object, ...]:
    """Returns the key of the row that measures a case with some versions."""
    return empty_row(case, versions).key
