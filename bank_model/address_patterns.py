# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many address registers the accesses to a tile need under a layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from . import f2
from .accesses import LdsAccess, LdsTile
from .layouts import Layout, PlainLayout, SwizzledLayout
from .linear_swizzle import LinearSwizzle
from .quick_dataclass import dataclass
from .swizzles import linear_chain

if TYPE_CHECKING:
    import numpy.typing as npt


class AddressPatterns:
    """The address registers that accesses need under one layout or another.

    Constant offsets fold away: two accesses share a register if their lanes' physical offsets
    differ by one constant. An access of several groups has one address per group.

    Accesses whose lanes' logical offsets differ by a constant form a family. Let V be the bits
    in which the lanes of a family differ. If the constants do not touch V, adding them is XOR,
    and a linear swizzle L places the access with constant c at L(o) ^ L(c). That is L(o) plus a
    constant exactly for the bits of L(c) outside of those in which the L(o) differ, so the
    family needs one register per value of L(c) in the bits where they do.
    """

    def __init__(self, tile: LdsTile, accesses: Sequence[LdsAccess]) -> None:
        """Groups the accesses into families."""
        self.tile = tile
        families: dict[tuple[int, bytes], tuple[LdsAccess, list[int]]] = {}
        for access in accesses:
            if access.elements.size:
                origin = int(access.elements[0, 0])
                key = (access.count, (access.elements - origin).tobytes())
                families.setdefault(key, (access, []))[1].append(origin)
        self.families = [_Family.of(access, origins) for access, origins in families.values()]
        self._counted: dict[Layout, int] = {}

    def count(self, layout: Layout) -> int:
        """Returns the number of registers under `layout`, which is counted once."""
        if layout not in self._counted:
            self._counted[layout] = self._count(layout)
        return self._counted[layout]

    def _count(self, layout: Layout) -> int:
        linear = isinstance(layout, PlainLayout) or (
            isinstance(layout, SwizzledLayout)
            and not layout.padding_elements
            and isinstance(linear_chain(layout.swizzles), LinearSwizzle)
        )
        group = layout.group_elements(self.tile)
        total = 0
        for family in self.families:
            starts = family.origins
            if family.count > group:
                starts = (starts[:, None] + np.arange(0, family.count, group)).ravel()
            constants = starts ^ starts[0]
            if linear and not (constants & family.vary).any():
                vary = 0
                for vector in layout.offsets(self.tile, family.basis).tolist():
                    vary |= vector
                total += len(set((layout.offsets(self.tile, constants) & vary).tolist()))
            else:
                offsets = starts[:, None] + family.relative
                # Masked lanes may point anywhere.
                offsets = layout.offsets(self.tile, offsets.clip(0, self.tile.elements - 1))
                total += len({row.tobytes() for row in offsets - offsets[:, :1]})
        return total


@dataclass(frozen=True, eq=False)
class _Family:
    """Accesses whose lanes' offsets differ by a constant."""

    count: int
    origins: npt.NDArray[np.int64]
    """The first lane's element of each access, distinct."""
    relative: npt.NDArray[np.int64]
    """The distinct offsets of the lanes from the first lane."""
    basis: npt.NDArray[np.int64]
    """A basis of the XOR differences between lanes."""
    vary: int
    """The bits in which lanes differ."""

    @staticmethod
    def of(access: LdsAccess, origins: list[int]) -> _Family:
        """Returns the family of `access`."""
        first = int(access.elements[0, 0])
        relative = np.array(sorted(set((access.elements - first).ravel().tolist()) - {0}))
        relative = np.concatenate([np.zeros(1, np.int64), relative.astype(np.int64)])
        basis = f2.reduced_basis_of_many(np.abs((relative + first) ^ first))
        vary = 0
        for vector in basis:
            vary |= vector
        return _Family(
            access.count,
            np.array(sorted(set(origins))),
            relative,
            np.array(basis, dtype=np.int64),
            vary,
        )
