# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Barriers between what lanes write and what other lanes read."""

from __future__ import annotations

import pytest

from bankwise.dialect_utils.diagnostics import Refusal
from bankwise.dialect_utils.operations import TRANSFER_READ, TRANSFER_WRITE
from bankwise.tuning.contractions.lane_exchange import check_exchange
from bankwise.tuning.contractions.lane_transfers import LaneTransfer

from .lane_functions import IN_BOUNDS, TILE, LaneFunction

ROW = "vector<1x4xf32>"
WRITTEN = f"vector.transfer_write %v, %t[%group, %c0] {IN_BOUNDS[2]} : {ROW}, {TILE}\n"
LOADED = f"%r = vector.transfer_read %t[%group, %c0], %pad {IN_BOUNDS[2]} : {TILE}, {ROW}\n"
BARRIER = "gpu.barrier\n"
GLOBAL = (WRITTEN + BARRIER + LOADED).replace("%t[", "%rows[").replace(TILE, "memref<16x64xf32>")


def looped(body: str) -> str:
    return f"scf.for %k = %c0 to %i step %c1 {{\n{body}}}"


@pytest.mark.parametrize(
    ("body", "is_apart"),
    [
        (LOADED, True),
        (WRITTEN + LOADED, False),
        (LOADED + WRITTEN, False),
        (WRITTEN + BARRIER + LOADED, True),
        (looped(WRITTEN + BARRIER + LOADED), False),
        (looped(LOADED + BARRIER + WRITTEN), False),
        (looped(BARRIER + WRITTEN + BARRIER + LOADED), True),
        (WRITTEN + looped(BARRIER + LOADED), False),
        (WRITTEN + BARRIER + looped(LOADED), True),
        # Most barriers order accesses to the LDS alone.
        (GLOBAL, False),
    ],
)
def test_what_other_lanes_access_is_behind_a_barrier(body: str, is_apart: bool) -> None:
    zeros = f"%v = arith.constant dense<0.0> : {ROW}\n%t = memref.alloc() : {TILE}\n"
    found = LaneFunction.of(zeros + body)
    (operation,) = found.all(TRANSFER_READ)
    transfer = LaneTransfer.of(operation, found.evaluator)
    if is_apart:
        check_exchange(transfer, [])
        return
    with pytest.raises(Refusal, match=r"no barrier is between vector\.transfer_read"):
        check_exchange(transfer, [])
    check_exchange(transfer, found.all(TRANSFER_WRITE))
