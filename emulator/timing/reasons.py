# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the cycles of a wave are spent on."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType


class Reason(IntEnum):
    """Why a wave does not issue its next instruction, or that it does."""

    ISSUE = 0
    FETCH = 1
    DEPENDENCE = 2
    MATRIX_RESULT = 3
    MATRIX_UNIT = 4
    VECTOR_UNIT = 5
    SCALAR_UNIT = 6
    LDS_QUEUE = 7
    MEMORY_QUEUE = 8
    LDS_WAIT = 9
    MEMORY_WAIT = 10
    BARRIER = 11


LABELS: Mapping[Reason, str] = MappingProxyType(
    {
        Reason.ISSUE: "issue instructions",
        Reason.FETCH: "wait for code",
        Reason.DEPENDENCE: "wait for vector or scalar results",
        Reason.MATRIX_RESULT: "wait for matrix results",
        Reason.MATRIX_UNIT: "wait for the matrix unit",
        Reason.VECTOR_UNIT: "wait for the vector ALU",
        Reason.SCALAR_UNIT: "wait for the scalar ALU",
        Reason.LDS_QUEUE: "wait for a place in the LDS queue",
        Reason.MEMORY_QUEUE: "wait for the path to memory",
        Reason.LDS_WAIT: "wait at lgkmcnt",
        Reason.MEMORY_WAIT: "wait at vmcnt",
        Reason.BARRIER: "wait at barriers",
    }
)
"""What waves do meanwhile, as users read it."""
IN_WAITS = (Reason.FETCH, Reason.LDS_WAIT, Reason.MEMORY_WAIT, Reason.BARRIER)
"""The reasons that the hardware counts in SQ_WAIT_ANY; SQ_WAIT_INST_ANY has the other waits."""
