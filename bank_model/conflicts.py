# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exact bank-conflict counts of LDS instructions, from the byte addresses of all lanes.

The rule: memory is a sequence of 4-byte words, word w lies on bank w mod banks. The lanes of one
phase are serviced together; a bank delivers one word per cycle, and lanes that want the same word
share it, on reads and writes alike. So a phase costs as many cycles as the busiest bank has
distinct words, and all but the first are conflict cycles. `lds_tables.py` has the banks and phases
of each instruction, with their sources.

Worked example: 32 banks, lanes 0 and 1 of one phase read words 0 and 32. Both lie on bank 0:
cost 2, one conflict cycle. Had both read word 0 (or the two halves of it): cost 1, none.

**Phases that merge.** A wide load of an NVIDIA GPU serves two phases that follow each other as one,
at the cost of the busiest bank of both together, if neighbours want the same: if, in the whole
warp, every active lane i whose neighbour i XOR 1 is active has that lane's address, or every active
lane i whose neighbour i XOR 2 is active has that one's. 1,114 of 1,114 launches of random, strided,
grouped and masked addresses agree on an H200 (`test/unit/bank_model/h200_wavefronts.json.xz`), and
NVIDIA states the same for capabilities 7.0 to 7.5. A layout moves different elements to different
places. So it neither makes lanes merge nor keeps them from it, unless it splits their loads.

**Atomic operations** that give lanes what was there before serve a lane of a bank in a cycle, even
where lanes want the same word; comparisons with swaps take two cycles a lane.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .errors import InvalidParameterError
from .lds_rules import LdsInstruction, Sharing

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt


IntArray: TypeAlias = "npt.NDArray[np.integer]"
BoolArray: TypeAlias = "npt.NDArray[np.bool_]"


def merged_issues(
    instruction: LdsInstruction, addresses: IntArray, active: BoolArray | None
) -> BoolArray | None:
    """Returns in which issues two phases of an instruction that follow each other are one.

    Args:
        addresses, active: as for `phase_costs`.

    Returns:
        [...], or None where the instruction has no such rule.
    """
    if instruction.merging is None:
        return None
    lanes = np.arange(addresses.shape[-1])
    on = None if active is None else np.broadcast_to(active, addresses.shape)
    found = np.zeros(addresses.shape[:-1], dtype=bool)
    for distance in (1, 2):
        alike = addresses == addresses[..., lanes ^ distance]
        if on is not None:
            alike = alike | ~on | ~on[..., lanes ^ distance]
        found |= alike.all(axis=-1)
    return found


def served_lanes(
    instruction: LdsInstruction, addresses: IntArray, active: BoolArray | None
) -> tuple[tuple[int, ...], ...]:
    """Returns the lanes that one issue of an instruction serves together, phase by phase.

    Of two phases that are one, the first has the lanes of both, and the second has none.

    Args:
        addresses: [wave_size].
        active: [wave_size]; None for all.
    """
    merged = merged_issues(instruction, addresses, active)
    if merged is None or not merged:
        return instruction.phases
    return tuple(lanes for pair in instruction.merged_phases for lanes in (pair, ()))


def _phase_words(
    phases: IntArray,
    width_bytes: int,
    addresses: IntArray,
    active: BoolArray | None,
    bank_width_bytes: int,
) -> npt.NDArray[np.int64]:
    """Returns the words of each phase: [issues, phases, lanes * words], -1 where none.

    Args:
        phases: the lanes of each, [phases, lanes].
        addresses: [issues, wave_size].
        active: likewise.
    """
    lanes = addresses[:, phases].astype(np.int64, copy=False)
    on = None
    if active is not None:
        on = active[:, phases]
        if not on.all():
            lanes = np.where(on, lanes, 0)
        else:
            on = None
    if lanes.size and lanes.min() < 0:
        raise InvalidParameterError("addresses", int(lanes.min()), "byte addresses >= 0")
    first = lanes // bank_width_bytes
    last = (lanes + (width_bytes - 1)) // bank_width_bytes
    # An unaligned access touches one word more than an aligned one.
    span = int((last - first).max()) + 1 if lanes.size else 1
    words = first[..., None] + np.arange(span)
    if span > 1:
        words = np.where(words <= last[..., None], words, first[..., None])
    if on is not None:
        words = np.where(on[..., None], words, -1)
    return words.reshape(*lanes.shape[:2], lanes.shape[2] * span)


def phase_costs(
    instruction: LdsInstruction,
    addresses: IntArray,
    active: BoolArray | None = None,
    bank_width_bytes: int = 4,
) -> npt.NDArray[np.int64]:
    """Returns the cycles (wavefronts) that each phase of the instruction takes.

    Args:
      addresses: byte addresses [..., wave_size]; any leading dimensions, one issue each.
      active: which lanes take part, broadcastable to `addresses`; all by default.

    Returns [..., phases]; 0 for a phase without active lanes, and for the second of two phases that
    are one.
    Raises InvalidParameterError for a wrong wave size or a negative address.
    """

    def busiest(phases: IntArray, rows: IntArray, on: BoolArray | None) -> npt.NDArray[np.int64]:
        words = _phase_words(phases, instruction.width_bytes, rows, on, bank_width_bytes)
        return _busiest_banks(instruction, words)

    return _by_phase(instruction, addresses, active, busiest)


def _by_phase(
    instruction: LdsInstruction,
    addresses: IntArray,
    active: BoolArray | None,
    costs: Callable[[IntArray, IntArray, BoolArray | None], npt.NDArray[np.int64]],
) -> npt.NDArray[np.int64]:
    """Returns what phases cost, [..., phases], where some issues may have merged ones.

    Args:
        costs: gets the lanes of phases, [phases, lanes], and the addresses and active lanes of
            issues that have these phases, [issues, wave_size], and returns [issues, phases].
    """
    addresses = np.asarray(addresses)
    phases = np.asarray(instruction.phases)
    wave_size = phases.size
    if addresses.ndim == 0 or addresses.shape[-1] != wave_size:
        raise InvalidParameterError(
            "addresses.shape", addresses.shape, f"[..., {wave_size}] for {instruction.name}"
        )
    rows = addresses.reshape(-1, wave_size)
    on = None
    if active is not None:
        on = np.broadcast_to(active, addresses.shape).reshape(-1, wave_size)
    merged = merged_issues(instruction, rows, on)
    if merged is None or not merged.any():
        found = costs(phases, rows, on)
    else:
        found = np.zeros((len(rows), len(phases)), dtype=np.int64)
        for those, theirs, places in (
            (~merged, phases, slice(None)),
            (merged, np.asarray(instruction.merged_phases), slice(None, None, 2)),
        ):
            found[those, places] = costs(theirs, rows[those], None if on is None else on[those])
    return found.reshape(*addresses.shape[:-1], len(phases))


def _busiest_banks(
    instruction: LdsInstruction, words: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Returns the cycles that phases take for words [issues, phases, words], -1 for none."""
    issues, phases, per_phase = words.shape
    rows = np.sort(words.reshape(issues * phases, per_phase), axis=1)
    counted = rows >= 0
    if instruction.sharing is Sharing.WORD:
        # Sorted, the -1 of inactive lanes come first and are distinct from nothing before them.
        counted[:, 1:] &= rows[:, 1:] != rows[:, :-1]
    bins = np.arange(len(rows))[:, None] * instruction.banks + rows % instruction.banks
    counts = np.bincount(bins[counted], minlength=len(rows) * instruction.banks)
    costs = counts.reshape(-1, instruction.banks).max(axis=1) if len(rows) else counts
    if instruction.sharing is Sharing.LANE_TWICE:
        costs = 2 * costs
    return costs.reshape(issues, phases)


def conflict_cycles(
    instruction: LdsInstruction,
    addresses: IntArray,
    active: BoolArray | None = None,
    bank_width_bytes: int = 4,
) -> npt.NDArray[np.int64]:
    """Returns the cycles lost to bank conflicts: what all phases cost beyond their first cycle.

    The arguments are those of `phase_costs`; the result is [...].
    """
    costs = phase_costs(instruction, addresses, active, bank_width_bytes)
    return np.maximum(costs - 1, 0).sum(axis=-1)


def wavefront_floor(
    instruction: LdsInstruction,
    addresses: IntArray,
    active: BoolArray | None = None,
    bank_width_bytes: int = 4,
) -> npt.NDArray[np.int64]:
    """Returns the fewest cycles of each phase under any layout: data volume / bytes per cycle.

    A layout only moves bytes, so the distinct bytes of a phase, which it cannot change, must
    pass through `banks * bank_width_bytes` per cycle. The arguments are those of `phase_costs`, and
    the result is [..., phases], 0 for a phase without active lanes, and for the second of two
    phases that are one.
    """

    def least(phases: IntArray, rows: IntArray, on: BoolArray | None) -> npt.NDArray[np.int64]:
        bytes_of_lane = rows[..., None] + np.arange(instruction.width_bytes)
        touched = bytes_of_lane[..., phases, :]
        touched = touched.reshape(*touched.shape[:2], phases.shape[1] * instruction.width_bytes)
        if on is not None:
            lanes = np.repeat(on[..., phases], instruction.width_bytes, axis=-1)
            touched = np.where(lanes, touched, -1)
        touched = np.sort(touched, axis=-1)
        distinct = (touched[..., :1] >= 0).sum(axis=-1)
        distinct = distinct + (touched[..., 1:] != touched[..., :-1]).sum(axis=-1)
        return -(-distinct // (instruction.banks * bank_width_bytes))

    return _by_phase(instruction, addresses, active, least)
