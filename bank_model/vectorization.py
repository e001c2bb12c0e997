# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether writers and readers of a tile can both use wide accesses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import f2
from .accesses import LdsAccess, LdsTile
from .lds_rules import AccessKind
from .quick_tuple import NamedTuple


class Vectorization(NamedTuple):
    """How the vector widths of writers and readers fit together.

    `shared_register_bits` is a basis of the element offsets that are register (in-lane) offsets
    for writers and readers alike: XOR differences within one lane's accesses. Without any, one
    side cannot be wider than a scalar, whatever the layout.
    """

    shared_register_bits: tuple[int, ...]
    limited_by_layouts: bool
    """One side is narrower than the other, and too few shared register bits are why."""
    split_accesses: int
    """Accesses that the chosen layout splits into more machine instructions than the plain one."""

    @property
    def shown_split(self) -> str:
        """Returns what the layout splits, in words; empty when it splits nothing."""
        if not self.split_accesses:
            return ""
        subject = (
            "1 access is" if self.split_accesses == 1 else f"{self.split_accesses} accesses are"
        )
        return f"{subject} split to avoid conflicts"

    def __str__(self) -> str:
        parts: list[str] = []
        if self.limited_by_layouts:
            shared = " or ".join(map(str, self.shared_register_bits))
            together = (
                f"only elements whose offsets differ by {shared} are in one lane for both"
                if shared
                else "no two elements are in one lane for both"
            )
            parts.append(f"writers and readers cannot both use wide accesses: {together}")
        if self.split_accesses:
            parts.append(self.shown_split)
        return "; ".join(parts) or "no access is split"


def vectorization(tile: LdsTile, accesses: Sequence[LdsAccess]) -> Vectorization:
    """Returns how the registers of writers and readers fit together, whatever the layout."""
    spans: list[tuple[int, ...]] = []
    for kind in AccessKind:
        by_pattern: dict[tuple[bytes, bytes], list[int]] = {}
        for access in accesses:
            if access.kind is not kind:
                continue
            starts, active = access.starts, access.active
            if not starts.size:
                continue
            origin = int(starts.flat[0])
            moved = access.elements - origin
            moved = moved if active is None else np.where(active, moved, 0)
            mask = b"" if active is None else active.tobytes()
            vectors = by_pattern.setdefault((moved.tobytes(), mask), [origin])
            vectors.append(origin ^ vectors[0])
            # Within a vector: the offsets below its largest power of two.
            vectors += [1 << b for b in range(access.count.bit_length() - 1)]
        for vectors in by_pattern.values():
            spans.append(f2.reduced_basis(vectors[1:]))
    shared = spans[0] if spans else ()
    for other in spans[1:]:
        shared = f2.intersection(shared, other)
    writers = [a.count for a in accesses if a.kind is AccessKind.WRITE]
    readers = [a.count for a in accesses if a.kind is AccessKind.READ]
    limited = False
    if writers and readers and (max(writers) != min(readers) or max(readers) != min(writers)):
        contiguous = 0
        while f2.contains(shared, 1 << contiguous):
            contiguous += 1
        limited = 1 << contiguous < max(*writers, *readers)
    return Vectorization(shared, limited, 0)
