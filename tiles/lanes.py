# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lanes that access a tile, and how work is dealt to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..bank_model.accesses import LdsAccess
from ..bank_model.families import MOST_THREADS
from ..bank_model.lds_rules import AccessKind, Lds
from .tile_errors import TileArgumentError, whole_number

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Lanes:
    """The threads of a workgroup in waves (warps) of `wave_size` lanes."""

    threads: int
    wave_size: int

    @staticmethod
    def of(threads: int | None, lds: Lds) -> Lanes:
        """Returns `threads` threads, by default those of one wave.

        Raises:
            TileArgumentError: they are no whole waves, or too many.
        """
        size = lds.wave_size
        threads = size if threads is None else whole_number("threads", threads)
        if threads < 1 or threads % size or threads > MOST_THREADS:
            raise TileArgumentError(
                "threads",
                f"{threads} threads; {lds.arch} has waves of {size} lanes, so give {size}, "
                f"{2 * size}, ... up to {MOST_THREADS}",
            )
        return Lanes(threads, size)

    @property
    def waves(self) -> int:
        """Returns the number of waves."""
        return self.threads // self.wave_size

    def deal_vectors(self, kind: AccessKind, firsts: IntArray, count: int) -> tuple[LdsAccess, ...]:
        """Returns the accesses of vectors that are dealt to the threads in turn.

        Args:
            firsts: the first element of each vector, in the order in which they are dealt.
            count: elements of a vector.
        """
        accesses: list[LdsAccess] = []
        shape = (self.waves, self.wave_size)
        for start in range(0, len(firsts), self.threads):
            dealt = firsts[start : start + self.threads]
            elements = np.full(self.threads, dealt[0])
            elements[: len(dealt)] = dealt
            active = (np.arange(self.threads) < len(dealt)).reshape(shape)
            accesses.append(LdsAccess(kind, elements.reshape(shape), count, active=active))
        return tuple(accesses)

    def deal_blocks(
        self,
        kind: AccessKind,
        origins: IntArray,
        inside: IntArray,
        count: int,
        *,
        active: npt.NDArray[np.bool_] | None = None,
        instruction: str = "",
        alignment: int = 1,
    ) -> tuple[LdsAccess, ...]:
        """Returns the accesses of blocks that are dealt to the waves in turn.

        Args:
            origins: the first element of each block, in the order in which they are dealt.
            inside: [accesses, lanes], where in its block each lane's vector begins.
            count: elements of a vector.
            active: [lanes], the lanes that take part; all by default.
        """
        accesses: list[LdsAccess] = []
        every = np.ones(self.wave_size, dtype=bool) if active is None else active
        for start in range(0, len(origins), self.waves):
            dealt = origins[start : start + self.waves]
            has_block = np.arange(self.waves) < len(dealt)
            firsts = np.concatenate([dealt, np.full(self.waves - len(dealt), dealt[0])])
            mask = has_block[:, None] & every
            for offsets in inside:
                elements = firsts[:, None] + np.where(every, offsets, offsets[every][0])
                accesses.append(
                    LdsAccess(
                        kind,
                        elements,
                        count,
                        active=mask,
                        instruction=instruction,
                        alignment=alignment,
                    )
                )
        return tuple(accesses)
