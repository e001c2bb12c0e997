# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exact counts of global-memory transactions, from the byte addresses of all lanes.

A wave's load or store fetches every transaction-sized, aligned block that any lane touches, once:
requests of 64 bytes to the L2 of AMD's CDNA; 32-byte sectors on NVIDIA, which are looked up as
128-byte lines of the L1. What counts is how many of the fetched bytes some lane asked for.

Worked example: 32 lanes load 4 bytes each at a stride of 8 bytes. On NVIDIA they touch 256 bytes:
8 sectors in 2 lines, 128 of 256 bytes useful, efficiency 0.5.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from .accesses import LdsAccess, alike
from .errors import InvalidParameterError, require_positive
from .lds_rules import Lds
from .quick_dataclass import dataclass

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt

IntArray: TypeAlias = "npt.NDArray[np.integer]"

WIDEST_BYTES = 16
"""What a lane moves at once at most."""


@dataclass(frozen=True, eq=False)
class Coalescing:
    """Counts per issue of a global access; all arrays have the issues' shape [...]."""

    transactions: npt.NDArray[np.int64]
    """Blocks of `Lds.transaction_bytes` moved: NVIDIA's sectors."""
    useful_bytes: npt.NDArray[np.int64]
    """Distinct bytes that lanes asked for."""


def coalescing(
    lds: Lds,
    addresses: IntArray,
    width_bytes: int,
    active: npt.NDArray[np.bool_] | None = None,
) -> Coalescing:
    """Counts the transactions of global accesses of `width_bytes` contiguous bytes per lane.

    Args:
      addresses: byte addresses [..., wave_size]; one issue each.
      active: which lanes take part, broadcastable to `addresses`; all by default.

    Raises InvalidParameterError for another wave size than the target's or negative addresses.
    """
    addresses, on = _checked(lds, addresses, width_bytes, active)
    return Coalescing(
        transactions=_blocks_touched(addresses, width_bytes, on, lds.transaction_bytes),
        useful_bytes=_blocks_touched(addresses, width_bytes, on, 1),
    )


def _checked(
    lds: Lds, addresses: IntArray, width_bytes: int, active: npt.NDArray[np.bool_] | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_] | None]:
    """Returns the addresses and the lanes that take part; raises what `coalescing` raises."""
    require_positive("width_bytes", width_bytes)
    addresses = np.asarray(addresses, dtype=np.int64)
    if addresses.ndim == 0 or addresses.shape[-1] != lds.wave_size:
        raise InvalidParameterError(
            "addresses.shape", addresses.shape, f"[..., {lds.wave_size}] on {lds.arch}"
        )
    on = None if active is None else np.broadcast_to(active, addresses.shape)
    used = addresses if on is None else addresses[on]
    if used.size and used.min() < 0:
        raise InvalidParameterError("addresses", int(used.min()), "byte addresses >= 0")
    return addresses, on


def transactions_of_runs(
    lds: Lds,
    addresses: IntArray,
    run_bytes: int,
    active: npt.NDArray[np.bool_] | None = None,
) -> int:
    """Returns the transactions of lanes that each access `run_bytes`, at most 16 at once.

    Args:
      addresses, active: as `coalescing` has them.
    """
    count = 0
    for start in range(0, run_bytes, WIDEST_BYTES):
        piece = min(WIDEST_BYTES, run_bytes - start)
        checked, on = _checked(lds, addresses + start, piece, active)
        count += int(_blocks_touched(checked, piece, on, lds.transaction_bytes).sum())
    return count


def transactions_of(lds: Lds, accesses: Iterable[LdsAccess], element_bytes: int) -> int:
    """Returns the transactions of accesses whose elements lie in global memory."""
    count = 0
    for group in alike(accesses):
        addresses = np.stack([each.elements for each in group]) * element_bytes
        run = group[0].count * element_bytes
        count += transactions_of_runs(lds, addresses, run, group[0].active)
    return count


def _blocks_touched(
    addresses: npt.NDArray[np.int64],
    width_bytes: int,
    active: npt.NDArray[np.bool_] | None,
    block: int,
) -> npt.NDArray[np.int64]:
    """Returns distinct aligned blocks that the lanes of each issue touch, by merging intervals.

    A lane touches the blocks first .. last. With lanes sorted by `first`, a lane adds the blocks
    beyond the furthest `last` before it.
    """
    first = addresses // block
    last = (addresses + (width_bytes - 1)) // block
    if active is not None:
        # An empty interval before everything adds nothing.
        first, last = np.where(active, first, 0), np.where(active, last, -1)
    order = np.argsort(first, axis=-1, kind="stable")
    first = np.take_along_axis(first, order, axis=-1)
    last = np.take_along_axis(last, order, axis=-1)
    reached = np.maximum.accumulate(last, axis=-1)
    before = np.concatenate([np.full_like(reached[..., :1], -1), reached[..., :-1]], axis=-1)
    return np.maximum(last - np.maximum(first - 1, before), 0).sum(axis=-1)
