# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The fewest LDS cycles that one access takes in any layout.

A layout moves elements, and by that it decides how the access of a lane is split into instructions
and on which banks these meet. It cannot change which bytes the lanes of a phase want. So an
instruction takes at least as many cycles in a phase as the different bytes need to pass through
all banks (`wavefront_floor`). The least is that of the cheapest way to split the access.

Worked example: every lane of a wave reads 8 bytes of its own on 32 banks, which deliver 128 bytes
in a cycle. These are 512 bytes, and the least is 4 cycles, as one `ds_read_b64` or as two
`ds_read_b32`. Where all lanes read the same 8 bytes, `ds_read_b64` takes a cycle in each of its
phases, and so many cycles are the least although a single one could deliver the bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .accesses import LdsAccess, LdsTile
from .async_copies import least_copy_cycles
from .conflicts import wavefront_floor
from .layouts import MAX_USEFUL_ALIGNMENT
from .lds_rules import AccessKind, Lds, LdsInstruction

if TYPE_CHECKING:
    import numpy.typing as npt


def least_cycles(lds: Lds, tile: LdsTile, access: LdsAccess) -> int:
    """Returns the fewest LDS cycles of `access` in any layout, all issues together, unweighted.

    A layout that is best for one access may be a bad one for another, so that a tile may have no
    layout in which all of its accesses take their least.
    """
    rows, active, times = _different_rows(access)
    if not len(rows):
        return 0
    bytes_of_lanes = rows * tile.element_bits // 8
    size = max(access.count * tile.element_bits // 8, 1)

    def floor(instruction: LdsInstruction, start: int) -> int:
        """Returns the cycles of an instruction that moves bytes from `start` on."""
        addresses = bytes_of_lanes + start
        cycles = wavefront_floor(instruction, addresses, active, lds.bank_width_bytes)
        return int(cycles.sum(axis=-1) @ times)

    if access.instruction:
        (whole, *others) = lds.legalize(access.kind, size, MAX_USEFUL_ALIGNMENT, access.instruction)
        if not others and access.copied is not None:
            return least_copy_cycles(whole[0], access.elements, access.copied, access.active)
        if not others:
            return floor(whole[0], 0)
    return int(least_split(lds, tile, access.kind, size, floor))


Counted = TypeVar("Counted", int, "npt.NDArray[np.int64]")


def least_split(
    lds: Lds,
    tile: LdsTile,
    kind: AccessKind,
    size: int,
    cost: Callable[[LdsInstruction, int], Counted],
) -> Counted:
    """Returns the least that the instructions cost together by which a lane moves `size` bytes.

    Args:
        cost: returns what an instruction costs that moves bytes of these from a place on.
    """
    # No layout splits a word, and none an element that is narrower than one.
    step = min(max(tile.element_bits // 8, 1), lds.bank_width_bytes)
    instructions = [lds.instruction(kind, each) for each in lds.widths(kind) if each % step == 0]
    least: dict[int, Any] = {0: 0}
    for end in range(step, size + 1, step):
        begins = ((each, end - each.width_bytes) for each in instructions)
        ways = [least[begin] + cost(each, begin) for each, begin in begins if begin >= 0]
        least[end] = reduce(np.minimum, ways)
    return least[size]


def _different_rows(
    access: LdsAccess,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_] | None, npt.NDArray[np.int64]]:
    """Returns the issues that want different bytes, relative to each other, as often as they come.

    The result is the elements and the active lanes of the issues that differ, [issues, wave_size],
    and how many issues are like each of them. Issues without active lanes are left out.
    """
    found: dict[tuple[bytes, bytes], list[int]] = {}
    for number, (row, on) in enumerate(zip(access.elements, access.taking_part, strict=True)):
        if on.any():
            relative = np.where(on, row - row[on].min(), 0)
            found.setdefault((relative.tobytes(), on.tobytes()), []).append(number)
    first = [numbers[0] for numbers in found.values()]
    times = np.array([len(numbers) for numbers in found.values()], dtype=np.int64)
    active = None if access.active is None else access.active[first]
    return access.elements[first], active, times
