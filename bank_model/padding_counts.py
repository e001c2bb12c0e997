# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conflict cycles of a tile under many paddings at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .accesses import LdsAccess, LdsTile
from .conflicts import phase_costs
from .layouts import MAX_USEFUL_ALIGNMENT, split_into_runs, useful_alignments
from .lds_rules import Lds
from .quick_dataclass import dataclass, replace

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class _Pattern:
    """An access, or those issues of it that are no shifted copies of each other."""

    access: LdsAccess
    issue_weights: npt.NDArray[np.int64]
    """How often each issue runs, its copies and the access's weight included: [issues]."""


class PaddedCounts:
    """Conflict cycles under many paddings at once.

    Issues whose rows and columns are shifted copies cost the same under every padding, as long
    as the shift keeps addresses equal modulo 16 bytes; each is counted once. A kernel reads a
    tile with one pattern of lanes at many places, so that few patterns remain.
    """

    def __init__(self, lds: Lds, tile: LdsTile, accesses: Sequence[LdsAccess]) -> None:
        """Merges issues and accesses that are shifted copies of each other."""
        self.lds = lds
        self.tile = tile
        merged: dict[tuple[object, ...], _Pattern] = {}
        for index, access in enumerate(accesses):
            active = access.taking_part
            if not active.any():
                continue
            columns = access.elements[active] % tile.row_elements
            if (columns + access.count > tile.row_elements).any():
                # A vector over the end of a row is split there, so that its column matters.
                weights = np.full(len(access.elements), access.weight, dtype=np.int64)
                merged[index,] = _Pattern(access, weights)
                continue
            copies = self.copies(access, active)
            whole = (access.kind, access.count, *copies)
            weights = np.array([len(c) for c in copies.values()], dtype=np.int64) * access.weight
            if whole in merged:
                known = merged[whole]
                heavier = replace(known.access, weight=known.access.weight + access.weight)
                merged[whole] = _Pattern(heavier, known.issue_weights + weights)
            else:
                first = [issues[0] for issues in copies.values()]
                one_each = replace(access, elements=access.elements[first], active=active[first])
                merged[whole] = _Pattern(one_each, weights)
        self.patterns = list(merged.values())

    def copies(
        self, access: LdsAccess, active: npt.NDArray[np.bool_]
    ) -> dict[tuple[object, ...], list[int]]:
        """Returns the issues of an access by what they are shifted copies of, sorted by that.

        A shift by 16 rows is one by a multiple of 16 bytes under every padding. So is one by
        columns that fill a multiple of 16 bytes.
        """
        found: dict[tuple[int, int, bytes, bytes, bytes], list[int]] = {}
        first = (np.arange(len(active)), active.argmax(axis=1))
        rows, columns = np.divmod(access.elements, self.tile.row_elements)
        row_phases = rows[first] % MAX_USEFUL_ALIGNMENT
        column_phases = columns[first] * self.tile.element_bits % (MAX_USEFUL_ALIGNMENT * 8)
        rows = np.where(active, rows - rows[first][:, None], 0)
        columns = np.where(active, columns - columns[first][:, None], 0)
        for issue in np.flatnonzero(active.any(axis=1)).tolist():
            key = (
                int(row_phases[issue]),
                int(column_phases[issue]),
                rows[issue].tobytes(),
                columns[issue].tobytes(),
                active[issue].tobytes(),
            )
            found.setdefault(key, []).append(issue)
        return {key: found[key] for key in sorted(found)}

    def count(self, paddings: Sequence[int]) -> list[tuple[int, int, int]]:
        """Returns (conflict cycles, instructions, phases run) of each padding, weighted.

        Instructions are those of one wave, before any is paired with another.
        """
        if not paddings:
            return []
        amounts = np.array(paddings, dtype=np.int64)
        totals = np.zeros((len(paddings), 3), dtype=np.int64)
        for pattern in self.patterns:
            self.count_pattern(pattern, amounts, totals)
        return [(int(a), int(b), int(c)) for a, b, c in totals]

    def count_pattern(
        self, pattern: _Pattern, amounts: npt.NDArray[np.int64], totals: npt.NDArray[np.int64]
    ) -> None:
        """Adds one pattern to `totals` [paddings, 3]."""
        access, weights = pattern.access, pattern.issue_weights
        row, bits = self.tile.row_elements, self.tile.element_bits
        starts = access.elements
        if access.active is not None:
            starts = np.where(access.active, starts, starts[access.active][0])
        for first, count in split_into_runs(row, access):
            logical = starts + first
            offsets = (logical + logical // row * amounts[:, None, None]) * bits
            if bits % 8:
                # What starts or ends inside a byte cannot be accessed: more phases than any other.
                inside_byte = (offsets % 8).any(axis=(1, 2)) | bool(count * bits % 8)
                totals[inside_byte, 2] = np.iinfo(np.int64).max // 4
                if inside_byte.all():
                    return
            addresses = offsets // 8
            alignments = useful_alignments(addresses)
            for alignment in sorted(set(alignments.tolist())):
                here = np.flatnonzero(alignments == alignment)
                pieces = self.lds.legalize(access.kind, count * bits // 8, alignment)
                for instruction, offset in pieces:
                    costs = phase_costs(
                        instruction,
                        addresses[here] + offset,
                        access.active,
                        self.lds.bank_width_bytes,
                    )
                    conflicts = np.maximum(costs - 1, 0).sum(axis=-1) @ weights
                    totals[here, 0] += conflicts
                    totals[here, 1] += access.weight
                    totals[here, 2] += (costs > 0).sum(axis=-1) @ weights
