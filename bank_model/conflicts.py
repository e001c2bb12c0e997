# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exact bank-conflict counts of LDS instructions, from the byte addresses of all lanes.

The rule (facts/lds_hardware.json): memory is a sequence of 4-byte words, word w lies on bank
w mod banks. The lanes of one phase are serviced together; a bank delivers one word per cycle,
and lanes that want the same word share it, on reads and writes alike. So a phase costs as many
cycles as the busiest bank has distinct words, and all but the first are conflict cycles.

Worked example: 32 banks, lanes 0 and 1 of one phase read words 0 and 32. Both lie on bank 0:
cost 2, one conflict cycle. Had both read word 0 (or the two halves of it): cost 1, none.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .errors import InvalidParameterError
from .targets import LdsInstruction

IntArray = npt.NDArray[np.integer]
BoolArray = npt.NDArray[np.bool_]


def _phase_words(
    instruction: LdsInstruction,
    addresses: IntArray,
    active: BoolArray | None,
    bank_width_bytes: int,
) -> npt.NDArray[np.int64]:
    """Returns the words of each phase: [accesses, phases, lanes * words], -1 where none."""
    phases = np.asarray(instruction.phases)
    wave_size = phases.size
    if addresses.ndim == 0 or addresses.shape[-1] != wave_size:
        raise InvalidParameterError(
            "addresses.shape", addresses.shape, f"[..., {wave_size}] for {instruction.name}"
        )
    lanes = addresses.reshape(-1, wave_size)[:, phases].astype(np.int64, copy=False)
    on = None
    if active is not None:
        on = np.broadcast_to(active, addresses.shape).reshape(-1, wave_size)[:, phases]
        if not on.all():
            lanes = np.where(on, lanes, 0)
        else:
            on = None
    if lanes.size and lanes.min() < 0:
        raise InvalidParameterError("addresses", int(lanes.min()), "byte addresses >= 0")
    first = lanes // bank_width_bytes
    last = (lanes + (instruction.width_bytes - 1)) // bank_width_bytes
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

    Returns [..., phases]; 0 for a phase without active lanes.
    Raises InvalidParameterError for a wrong wave size or a negative address.
    """
    words = _phase_words(instruction, np.asarray(addresses), active, bank_width_bytes)
    issues, phases, per_phase = words.shape
    rows = np.sort(words.reshape(issues * phases, per_phase), axis=1)
    distinct = np.empty(rows.shape, dtype=bool)
    distinct[:, :1] = rows[:, :1] >= 0
    np.not_equal(rows[:, 1:], rows[:, :-1], out=distinct[:, 1:])
    # Sorted, the -1 of inactive lanes come first and are distinct from nothing before them.
    bins = np.arange(len(rows))[:, None] * instruction.banks + rows % instruction.banks
    counts = np.bincount(bins[distinct], minlength=len(rows) * instruction.banks)
    costs = counts.reshape(-1, instruction.banks).max(axis=1) if len(rows) else counts
    return costs.reshape(*np.shape(addresses)[:-1], phases)


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
    the result is [..., phases], 0 for a phase without active lanes.
    """
    addresses = np.asarray(addresses)
    bytes_of_lane = addresses[..., None] + np.arange(instruction.width_bytes)
    phases = np.asarray(instruction.phases)
    touched = bytes_of_lane[..., phases, :].reshape(*addresses.shape[:-1], len(phases), -1)
    if active is not None:
        on = np.broadcast_to(active, addresses.shape)[..., phases]
        on = np.repeat(on, instruction.width_bytes, axis=-1)
        touched = np.where(on, touched, -1)
    touched = np.sort(touched, axis=-1)
    distinct = (touched[..., :1] >= 0).sum(axis=-1)
    distinct = distinct + (touched[..., 1:] != touched[..., :-1]).sum(axis=-1)
    return -(-distinct // (instruction.banks * bank_width_bytes))
