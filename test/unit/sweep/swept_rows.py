# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases and rows of sweeps that nobody ran."""

from __future__ import annotations

from dataclasses import replace

from bankwise.sweep.cases import Case, SweptKernel
from bankwise.sweep.rows import Row, empty_row, installed_versions, swept_counters


def case(name: str = "k", mode: str = "none", dtype: str = "f16", work: int = 1) -> Case:
    return Case(SweptKernel(name, dtype, "module {}\n", "", (), work), "gfx942", mode, 2)


def row(
    of: Case, conflicts: int = 0, valu: int = 100, lds_bytes: int = 1024, expected: float = 0
) -> Row:
    """Returns 4 workgroups, of which 2 ran and agree, with an expected time if there is one."""
    one = dict.fromkeys(swept_counters(), 10)
    one |= {"SQ_LDS_BANK_CONFLICT": conflicts, "SQ_INSTS_VALU": valu}
    return replace(
        empty_row(of, installed_versions()),
        dispatches=1,
        workgroups=4,
        emulated=2,
        agree=True,
        lds_bytes=lds_bytes,
        workgroup=one,
        grid={name: 4 * value for name, value in one.items()},
        predicted_microseconds=_times(expected) if expected else None,
        seconds=0.5,
    )


def _times(expected: float) -> dict[str, float]:
    return {"low": expected / 2, "expected": expected, "high": expected * 2}


def differing_row(of: Case) -> Row:
    """Returns workgroups that differ, in a grid too large to be emulated whole."""
    return replace(row(of), agree=False, workgroup=None, grid=None, measured={"SQ_INSTS_LDS": 7})


def failed_row(of: Case, error: str = "error: no | such op\nsecond line") -> Row:
    return empty_row(of, installed_versions(), error)
