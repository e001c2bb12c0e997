# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Accesses to a tile: what the lanes do, as a named pattern, a formula or a function.

All of them say which element each lane accesses in each step. Steps whose elements are neighbours
in memory, in all lanes, become one access, as a compiler would make it: 2 registers of f32 that lie
side by side are a 64-bit access.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..bank_model.accesses import LdsAccess
from ..bank_model.lds_rules import AccessKind, Lds
from .index_formula import LANE_NAMES, REGISTER, IndexFormula
from .lanes import Lanes
from .memory_order import MemoryOrder
from .patterns import PatternRequest, named_accesses
from .tile_errors import AccessError, TileArgumentError, shortened
from .tile_text import NamedTile
from .vectors import IntArray, joined, widest

IndexFunction = Callable[..., Any]
AccessArgument = str | IndexFunction | LdsAccess | npt.NDArray[np.integer]
"""A pattern or formula, a function of `lane` and the like, an access of the bank model, or a table
of the bytes at which lanes access an element, [issues, lanes]; negative where a lane does not."""

_BITS = re.compile(r"(.*\S)\s*:\s*(\d{1,9})\s*", re.DOTALL)
_FORMULA = re.compile(r"[(\d]|.*\b(lane|wave|thread|reg|for)\b", re.DOTALL)


_TABLE = re.compile(r"addresses\s*=\s*(.+?\.npy)(?:\s*:\s*(\d{1,9}))?", re.DOTALL)
_INSTRUCTIONS = re.compile(r"stmatrix|ds_read_b64_tr|cp\.async|wgmma|random")
"""How names of `instruction_patterns.py` begin."""
_LARGEST_TABLE = 1 << 28
"""The bytes of a file that is read."""


def address_table(path: str) -> npt.NDArray[Any]:
    """Returns the table of a file of NumPy's.

    Raises:
        AccessError: it cannot be read.
    """
    try:
        if Path(path).stat().st_size > _LARGEST_TABLE:
            raise AccessError(f"the file has more than {_LARGEST_TABLE:,} bytes")
        return np.load(path, allow_pickle=False)
    except OSError as error:
        raise AccessError(error.strerror or "it cannot be read") from None
    except (ValueError, EOFError):
        raise AccessError("the file is no table of NumPy's; write it by numpy.save") from None


_LANES = re.compile(r"[#!]\w|(?:\w+\.)*\w+Layout\s*\(|Tiled|MMA|\([\d_(),\s]+\)\s*:\s*\(")


def may_name_lanes(text: str) -> bool:
    """Returns whether a text may be a layout of registers, which `lane_layouts.py` reads."""
    return _LANES.match(text) is not None


@dataclass(frozen=True, eq=False)
class TileAccesses:
    """The accesses that one argument stands for, and the argument's text."""

    kind: AccessKind
    text: str
    accesses: tuple[LdsAccess, ...]

    def __str__(self) -> str:
        return f"{self.kind.value} {self.text}"

    def __repr__(self) -> str:
        return f"<TileAccesses {self}: {len(self.accesses)} accesses>"


@dataclass(frozen=True)
class AccessReader:
    """Turns arguments into accesses to one tile.

    Attributes:
        named: the tile.
        order: how it lies in memory; None where it lies there as its rows do.
    """

    lds: Lds
    named: NamedTile
    lanes: Lanes
    order: MemoryOrder | None = None

    def read(
        self, kind: AccessKind, given: AccessArgument | Sequence[AccessArgument] | None
    ) -> tuple[TileAccesses, ...]:
        """Returns the accesses of one or more arguments.

        Raises:
            TileArgumentError: one that cannot be read, or that leaves the tile.
        """
        if given is None:
            return ()
        each = given if isinstance(given, list | tuple) else [given]
        return tuple(self._one(kind, argument) for argument in each)

    def _one(self, kind: AccessKind, given: Any) -> TileAccesses:
        if isinstance(given, LdsAccess):
            return self._given_access(kind, given)
        if isinstance(given, np.ndarray):
            return self._of_addresses(kind, given, "addresses", None)
        if callable(given):
            text = getattr(given, "__name__", "") or type(given).__name__
            try:
                return TileAccesses(kind, text, self._of_function(kind, given))
            except AccessError as error:
                raise self._wrong(kind, text, str(error)) from None
        if not isinstance(given, str):
            raise TileArgumentError(
                kind.value,
                f"{shortened(repr(given))} is neither text, such as 'rows:128', nor a function of "
                "lane and reg, nor an LdsAccess",
            )
        text = " ".join(given.split())
        try:
            if table := _TABLE.fullmatch(text):
                bits = int(table[2]) if table[2] else None
                return self._of_addresses(kind, address_table(table[1]), text, bits)
            if may_name_lanes(text):
                return TileAccesses(kind, shortened(text), self._of_lane_layout(kind, text))
            if _FORMULA.match(text):
                return TileAccesses(kind, text, self._of_formula(kind, text))
            return TileAccesses(kind, text, self._of_pattern(kind, text))
        except AccessError as error:
            raise self._wrong(kind, text, str(error)) from None

    def _given_access(self, kind: AccessKind, access: LdsAccess) -> TileAccesses:
        text = access.location or f"{access.count} elements a lane"
        if access.kind is not kind:
            raise self._wrong(kind, text, f"it is a {access.kind.value}")
        if access.elements.shape[1] != self.lds.wave_size:
            raise self._wrong(
                kind,
                text,
                f"it has {access.elements.shape[1]} lanes, and waves of {self.lds.arch} have "
                f"{self.lds.wave_size}",
            )
        used = access.elements if access.active is None else access.elements[access.active]
        size = self.named.tile.elements
        if used.size and (used.min() < 0 or int(used.max()) + access.count > size):
            raise self._wrong(kind, text, f"it leaves the tile's elements 0 to {size - 1}")
        if self.order is None:
            return TileAccesses(kind, text, (access,))
        if access.instruction and not self.order.keep_whole([access]):
            raise self._wrong(
                kind, text, f"the layout parts what one {access.instruction} takes at once"
            )
        return TileAccesses(kind, text, self.order.accesses([access]))

    @staticmethod
    def _wrong(kind: AccessKind, text: str, reason: str) -> TileArgumentError:
        return TileArgumentError(kind.value, f"'{shortened(text)}': {reason}")

    def _of_pattern(self, kind: AccessKind, text: str) -> tuple[LdsAccess, ...]:
        request = PatternRequest.of(text, kind, self.lds, self.named, self.lanes, self.order)
        if _INSTRUCTIONS.match(request.name):
            # Most questions do not need it.
            from .instruction_patterns import instruction_accesses

            found = instruction_accesses(request)
            if found is not None:
                return found
        return named_accesses(request)

    def _of_addresses(
        self, kind: AccessKind, table: npt.NDArray[Any], text: str, bits: int | None
    ) -> TileAccesses:
        """Returns one access a row of a table of bytes, [issues, lanes], negative for no lane.

        Args:
            bits: what each lane moves; by default an element.
        """
        try:
            if table.dtype.kind not in "iu" or table.ndim not in (1, 2) or not table.size:
                raise AccessError("it is no table of whole numbers, [issues, lanes]")
            addresses = table.astype(np.int64).reshape(-1, table.shape[-1])
            element = self.named.tile.element_bits
            count = 1 if bits is None else self.named.vector_elements(bits)
            active = addresses >= 0
            if not active.any():
                raise AccessError("no lane takes part")
            elements, rest = np.divmod(np.where(active, addresses, 0) * 8, element)
            if rest.any():
                raise AccessError(
                    f"its byte {int(addresses[rest != 0][0])} is inside an element of {element} "
                    "bits"
                )
        except AccessError as error:
            raise self._wrong(kind, text, str(error)) from None
        access = LdsAccess(kind, elements, count, active=active, location=text)
        return self._given_access(kind, access)

    def _of_lane_layout(self, kind: AccessKind, text: str) -> tuple[LdsAccess, ...]:
        """Returns the accesses of a layout of registers."""
        # Most questions do not need it.
        from .lane_layouts import lane_layout

        layout, lanes = lane_layout(text, self.named.tile), self.lanes
        found = layout.elements.shape[1]
        if layout.wave_size not in (0, lanes.wave_size):
            raise AccessError(
                f"its warps have {layout.wave_size} lanes, and waves of {self.lds.arch} have "
                f"{lanes.wave_size}"
            )
        if found != lanes.threads:
            raise AccessError(f"it is of {found} threads, and there are {lanes.threads}")
        elements = layout.elements.reshape(-1, lanes.waves, lanes.wave_size)
        return self._vectors(kind, elements, np.ones(elements.shape, dtype=bool), None)

    # -- formulas and functions --------------------------------------------------------------

    def _of_formula(self, kind: AccessKind, text: str) -> tuple[LdsAccess, ...]:
        match = _BITS.fullmatch(text)
        formula = IndexFormula.parse(match[1] if match else text)
        registers = self._registers() if formula.counts_registers else 1
        lanes = self.lanes
        indices, active = formula.values(lanes.waves, lanes.wave_size, registers)
        bits = int(match[2]) if match else None
        return self._vectors(kind, self._elements(indices, active), active, bits)

    def _of_function(self, kind: AccessKind, function: IndexFunction) -> tuple[LdsAccess, ...]:
        try:
            names = list(inspect.signature(function).parameters)
        except (TypeError, ValueError):
            raise AccessError("its parameters cannot be read; write a lambda") from None
        for name in names:
            if name not in (*LANE_NAMES, REGISTER):
                raise AccessError(
                    f"its parameter `{name}` is none of {', '.join((*LANE_NAMES, REGISTER))}"
                )
        steps = self._registers() if REGISTER in names else 1
        waves, size = self.lanes.waves, self.lanes.wave_size
        reg, wave, lane = np.meshgrid(
            np.arange(steps), np.arange(waves), np.arange(size), indexing="ij"
        )
        values = {"lane": lane, "wave": wave, "thread": wave * size + lane, REGISTER: reg}
        found = function(**{name: values[name] for name in names})
        parts = found if isinstance(found, tuple) else (found,)
        if any(np.asarray(part).dtype.kind not in "iub" for part in parts):
            raise AccessError("it returns what is no whole number; divide by `//`")
        try:
            indices = tuple(np.broadcast_to(part, reg.shape).astype(np.int64) for part in parts)
        except ValueError:
            raise AccessError("it returns arrays of another shape than those that it got") from None
        active = np.ones(reg.shape, dtype=bool)
        return self._vectors(kind, self._elements(indices, active), active, None)

    def _registers(self) -> int:
        """Returns the elements of the tile that are one lane's share."""
        elements, threads = self.named.tile.elements, self.lanes.threads
        if elements % threads:
            raise AccessError(
                f"{elements} elements are not shared evenly by {threads} threads; the text of a "
                "formula says how far reg counts, as in `... for reg in range(4)`"
            )
        return elements // threads

    def _elements(self, indices: Sequence[IntArray], active: npt.NDArray[np.bool_]) -> IntArray:
        """Returns row-major elements, 0 for lanes that take no part."""
        tile = self.named.tile
        sizes = tile.shape if len(indices) > 1 else (tile.elements,)
        if len(indices) != len(sizes):
            raise AccessError(
                f"it has {len(indices)} indices, and the tile {self.named.text} takes {len(sizes)}"
            )
        if not active.any():
            raise AccessError("no lane takes part")
        total = np.zeros(active.shape, dtype=np.int64)
        for index, size in zip(indices, sizes, strict=True):
            outside = active & ((index < 0) | (index >= size))
            if outside.any():
                raise AccessError(self._outside(indices, outside))
            total = total * size + index
        return np.where(active, total, 0)

    def _outside(self, indices: Sequence[IntArray], outside: npt.NDArray[np.bool_]) -> str:
        step, wave, lane = (int(each[0]) for each in np.nonzero(outside))
        place = ", ".join(str(int(index[step, wave, lane])) for index in indices)
        place = f"({place})" if len(indices) > 1 else place
        return (
            f"lane {lane} of wave {wave} is at {place} in step {step}, outside the tile "
            f"{self.named.text}; the text of a formula says how far reg counts, as in `... for reg "
            f"in range({step or 1})` with `if lane < 32` behind it where not all lanes take part"
        )

    def _vectors(
        self,
        kind: AccessKind,
        elements: IntArray,
        active: npt.NDArray[np.bool_],
        bits: int | None,
    ) -> tuple[LdsAccess, ...]:
        """Returns accesses of row-major elements [steps, waves, lanes], steps joined to vectors.

        Args:
            bits: the bits of a lane's vector; by default as many as can be joined.
        """
        numbers = elements if self.order is None else self.order.numbers[elements]
        if bits is None:
            found = widest(numbers, active, self.named.tile.element_bits)
        else:
            count = self.named.vector_elements(bits)
            found = joined(numbers, active, count)
            if found is None:
                raise AccessError(
                    f"{count} elements, {bits} bits, are not side by side in the {len(elements)} "
                    "steps of every lane"
                )
        return tuple(
            LdsAccess(kind, first, found.count, active=mask)
            for first, mask in zip(found.firsts, found.active, strict=True)
        )
