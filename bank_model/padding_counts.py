# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conflict cycles of a tile under many paddings at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from .accesses import LdsAccess, LdsTile
from .conflicts import phase_costs
from .layouts import MAX_USEFUL_ALIGNMENT, split_into_runs
from .targets import Target


class PaddedCounts:
    """Conflict cycles under many paddings at once.

    Issues whose rows and columns are shifted copies cost the same under every padding, as long
    as the shift keeps addresses equal modulo 16 bytes; each is counted once.
    """

    def __init__(self, target: Target, tile: LdsTile, accesses: Sequence[LdsAccess]) -> None:
        """Merges issues and accesses that are shifted copies of each other."""
        self.target = target
        self.tile = tile
        row = tile.row_elements
        merged: dict[tuple[object, ...], tuple[LdsAccess, npt.NDArray[np.int64]]] = {}
        for index, access in enumerate(accesses):
            rows, columns = np.divmod(access.elements, row)
            crosses = bool((columns + access.count > row).any())
            if crosses or access.active is not None:
                weights = np.full(len(rows), access.weight, dtype=np.int64)
                merged[index,] = (access, weights)
                continue
            modulus = MAX_USEFUL_ALIGNMENT * 8
            keys: dict[tuple[object, ...], list[int]] = {}
            for issue, (r, c) in enumerate(zip(rows, columns, strict=True)):
                key = (
                    int(r[0]) % MAX_USEFUL_ALIGNMENT,
                    int(c[0]) * tile.element_bits % modulus,
                    (r - r[0]).tobytes(),
                    (c - c[0]).tobytes(),
                )
                keys.setdefault(key, []).append(issue)
            whole = (access.kind, access.count, tuple(sorted(keys, key=repr)))
            ordered = sorted(keys, key=repr)
            weights = np.array([len(keys[k]) for k in ordered], dtype=np.int64) * access.weight
            if whole in merged:
                known, counted = merged[whole]
                heavier = replace(known, weight=known.weight + access.weight)
                merged[whole] = (heavier, counted + weights)
            else:
                issues = access.elements[[keys[k][0] for k in ordered]]
                merged[whole] = (replace(access, elements=issues), weights)
        self.patterns = list(merged.values())

    def count(self, paddings: Sequence[int]) -> list[tuple[int, int, int]]:
        """(conflict cycles, instructions, phases run) of each padding, weighted."""
        if not paddings:
            return []
        amounts = np.array(paddings, dtype=np.int64)
        totals = np.zeros((len(paddings), 3), dtype=np.int64)
        for access, weights in self.patterns:
            self.count_pattern(access, weights, amounts, totals)
        return [(int(a), int(b), int(c)) for a, b, c in totals]

    def count_pattern(
        self,
        access: LdsAccess,
        weights: npt.NDArray[np.int64],
        amounts: npt.NDArray[np.int64],
        totals: npt.NDArray[np.int64],
    ) -> None:
        """Adds one access to `totals` [paddings, 3]."""
        row, bits = self.tile.row_elements, self.tile.element_bits
        starts = access.elements
        if access.active is not None:
            used = starts[access.active]
            if not used.size:
                return
            starts = np.where(access.active, starts, used[0])
        for first, count in split_into_runs(row, access):
            logical = starts + first
            offsets = (logical + logical // row * amounts[:, None, None]) * bits
            if bits % 8 and (count * bits % 8 or (offsets % 8).any()):
                # Not byte-aligned for some padding: leave those to fail as too expensive.
                bad = (offsets % 8).any(axis=(1, 2)) | bool(count * bits % 8)
                totals[bad, 2] = np.iinfo(np.int64).max // 4
            addresses = offsets // 8
            common = np.bitwise_or.reduce(addresses.reshape(len(amounts), -1), axis=1)
            common |= MAX_USEFUL_ALIGNMENT
            alignments = common & -common
            for alignment in np.unique(alignments).tolist():
                here = np.flatnonzero(alignments == alignment)
                pieces = self.target.legalize(access.kind, count * bits // 8, alignment)
                for instruction, offset in pieces:
                    costs = phase_costs(
                        instruction,
                        addresses[here] + offset,
                        access.active,
                        self.target.bank_width_bytes,
                    )
                    conflicts = np.maximum(costs - 1, 0).sum(axis=-1) @ weights
                    totals[here, 0] += conflicts
                    totals[here, 1] += access.weight
                    totals[here, 2] += (costs > 0).sum(axis=-1) @ weights
