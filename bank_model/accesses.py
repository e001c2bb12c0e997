# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the bank model needs to know of a kernel: LDS tiles and the accesses to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import InvalidParameterError, require_integer, require_positive
from .lds_rules import AccessKind
from .quick_dataclass import dataclass, replace

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True)
class LdsTile:
    """An LDS allocation: its logical shape (row-major) and its element type's size in bits."""

    shape: tuple[int, ...]
    element_bits: int

    def __post_init__(self) -> None:
        require_positive("element_bits", self.element_bits)
        if not self.shape:
            raise InvalidParameterError("shape", self.shape, "at least one dimension")
        for size in self.shape:
            require_positive("shape", size)
        # The product of NumPy's integers would wrap around.
        object.__setattr__(self, "shape", tuple(map(int, self.shape)))
        object.__setattr__(self, "element_bits", int(self.element_bits))

    @property
    def elements(self) -> int:
        """Returns elements of the tile."""
        return prod(self.shape)

    @property
    def row_elements(self) -> int:
        """Returns elements of one row, the innermost dimension."""
        return self.shape[-1]


LINE_BYTES = 128
"""The bytes of a cache line of global memory on NVIDIA GPUs, and those that all banks hold."""


def from_lines(
    addresses: npt.NDArray[np.integer], used: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int64]:
    """Returns addresses [..., wave_size], each wave's counted from the first line that it uses; 0
    for a lane that uses nothing."""
    first = np.where(used, addresses, np.iinfo(np.int64).max).min(axis=-1, keepdims=True)
    return np.where(used, addresses - first // LINE_BYTES * LINE_BYTES, 0).astype(np.int64)


def bytes_of_rows(arrays: Sequence[npt.NDArray[Any]]) -> list[bytes]:
    """Returns for each row the bytes of all arrays' elements in it."""
    parts = [np.ascontiguousarray(each).view(np.uint8) for each in arrays]
    rows = np.concatenate(parts, axis=1)
    return rows.view(np.dtype((np.void, rows.shape[1])))[:, 0].tolist()


@dataclass(frozen=True, eq=False)
class CopySources:
    """Where in global memory the lanes of a `cp.async` read, each time that it is issued.

    Attributes:
        addresses: the first byte of each lane [issues, wave_size], counted from some line.
        reading: the lanes that read anything; the others write zeros.
        shifts: the bytes that may have to be added to all addresses of an issue, modulo a line.
            There are several where the address of a workgroup's part is not known.
        may_read_nothing: whether the program decides, when it runs, which lanes read.
    """

    addresses: npt.NDArray[np.int64]
    reading: npt.NDArray[np.bool_]
    shifts: tuple[int, ...] = (0,)
    may_read_nothing: bool = False

    @property
    def key(self) -> tuple[bytes, bytes, tuple[int, ...], bool]:
        """Returns what two sources have in common that are alike."""
        places = self.addresses.tobytes(), self.reading.tobytes()
        return (*places, self.shifts, self.may_read_nothing)

    def of_issues(self, issues: Any) -> CopySources:
        """Returns the sources of some of the issues."""
        return replace(self, addresses=self.addresses[issues], reading=self.reading[issues])

    def read_conflicts(self, width_bytes: int) -> npt.NDArray[np.int64]:
        """Returns how often lanes of each issue are in each other's way where they read.

        Of the lanes that copy 128 bytes together, that with the most others in its way counts.

        Args:
            width_bytes: what each lane copies.
        """
        issues, lanes = self.addresses.shape
        nowhere = -1 - np.arange(lanes)
        places = np.where(self.reading, self.addresses % LINE_BYTES, nowhere)
        # Narrow numbers are compared several times as fast.
        narrow = places.astype(np.int16)
        phases = narrow.reshape(issues, -1, min(lanes, LINE_BYTES // width_bytes))
        found = np.zeros(issues, np.int64)
        for phase in phases.swapaxes(0, 1):
            alike = (phase[:, :, None] == phase[:, None, :]).sum(axis=2, dtype=np.int16)
            found += alike.max(axis=1) - 1
        return found

    def from_lines(self) -> CopySources:
        """Returns the same with the addresses of each issue counted from its first line.

        Those of lanes that read nothing, which make no difference, are 0.
        """
        return replace(self, addresses=from_lines(self.addresses, self.reading))


@dataclass(frozen=True, eq=False)
class LdsAccess:
    """One load or store op, or one instruction of a distributed transfer, in all waves.

    `elements` [issues, wave_size]: the row-major element index in the logical, unpadded tile of
    the first element of each lane; one row per wave (or per execution) of the op. Every lane
    accesses `count` logically consecutive elements. `weight` says how often the op runs.
    `active` [issues, wave_size] masks lanes off; all take part by default.

    All issues are the same op of the program: they are split into machine accesses alike.

    `instruction` names the instruction of an access that only one can do, such as a transposing
    read: it cannot be split. `alignment` is the number of elements of which every lane's offset
    must be a multiple in every layout, because the instruction needs it or the backend was promised
    it. The backend may pair accesses of one `segment`; one of segment -1 pairs with no other.
    `copied` is where a `cp.async` reads what it writes, one row per issue.
    """

    kind: AccessKind
    elements: npt.NDArray[np.int64]
    count: int
    weight: int = 1
    active: npt.NDArray[np.bool_] | None = None
    location: str = ""
    instruction: str = ""
    alignment: int = 1
    segment: int = -1
    copied: CopySources | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """Returns what two accesses have in common that cost the same under every layout."""
        return (self.segment, *self.alone_key)

    @property
    def alone_key(self) -> tuple[object, ...]:
        """Returns what two have in common that cost the same where nothing is paired."""
        active = None if self.active is None else self.active.tobytes()
        copied = None if self.copied is None else self.copied.key
        form = self.kind, self.count, self.weight, self.instruction, self.alignment
        return (*form, self.elements.shape, self.elements.tobytes(), active, copied)

    @property
    def taking_part(self) -> npt.NDArray[np.bool_]:
        """Returns which lanes take part [issues, wave_size]."""
        return np.ones(self.elements.shape, bool) if self.active is None else self.active

    @property
    def starts(self) -> npt.NDArray[np.int64]:
        """Returns the elements of the lanes that take part; masked lanes may point anywhere."""
        return self.elements if self.active is None else self.elements[self.active]

    def moved(self, elements: int) -> LdsAccess:
        """Returns the same access, as many elements behind this one in all lanes.

        A transfer has hundreds of such accesses: nothing of them is checked again.
        """
        return self._with(elements=self.elements + elements)

    def in_segment(self, segment: int) -> LdsAccess:
        """Returns the same access in another segment; nothing of it is checked again."""
        return self._with(segment=segment)

    def _with(self, **changed: object) -> LdsAccess:
        other = object.__new__(LdsAccess)
        other.__dict__.update(self.__dict__, **changed)
        return other

    def __post_init__(self) -> None:
        require_positive("count", self.count)
        require_positive("alignment", self.alignment)
        # Counts are multiplied by it.
        object.__setattr__(self, "weight", require_integer("weight", self.weight, "integers >= 0"))
        if self.weight < 0:
            raise InvalidParameterError("weight", self.weight, "integers >= 0")
        given = np.asarray(self.elements)
        if given.size and given.dtype.kind not in "iu":
            raise InvalidParameterError("elements", given.dtype, "whole numbers of at most 64 bits")
        elements = given.astype(np.int64, copy=False)
        if elements.ndim == 1:
            elements = elements[None]
        if elements.ndim != 2:
            raise InvalidParameterError("elements.shape", elements.shape, "[issues, wave_size]")
        object.__setattr__(self, "elements", elements)
        if self.active is not None:
            active = np.broadcast_to(np.asarray(self.active, dtype=bool), elements.shape)
            object.__setattr__(self, "active", None if active.all() else active)


def alike(accesses: Iterable[LdsAccess]) -> Iterable[list[LdsAccess]]:
    """Returns accesses in groups of one kind, count, mask and number of issues, whose elements can
    be stacked."""
    found: dict[tuple[object, ...], list[LdsAccess]] = {}
    for each in accesses:
        key = each.kind, each.count, each.instruction, id(each.active), each.elements.shape
        found.setdefault(key, []).append(each)
    return found.values()
