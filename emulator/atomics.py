# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read-modify-write operations, of the LDS and of global memory alike.

Lanes take their turns in order, wave by wave. Semantics follow the CDNA3 ISA, chapter 12
("DS_ADD_U32", "BUFFER_ATOMIC_..." and so on).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from . import floats
from .byte_access import ByteAccess, Bytes, Offsets, Words

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class AtomicOp:
    """`function(memory, data)` on `kind`, of `width` bytes; `operands` data values per lane."""

    kind: type[np.generic]
    function: Callable[..., Array]
    operands: int = 1

    @property
    def width(self) -> int:
        """Bytes in memory: packed 16-bit values come in pairs."""
        return max(4, np.dtype(self.kind).itemsize)


def _increment(memory: Array, limit: Array) -> Array:
    return np.where(memory >= limit, memory.dtype.type(0), memory + memory.dtype.type(1))


def _decrement(memory: Array, limit: Array) -> Array:
    wrapped = (memory == 0) | (memory > limit)
    return np.where(wrapped, limit, memory - memory.dtype.type(1))


def _add_bf16(memory: Array, data: Array) -> Array:
    def wide(bits: Array) -> Array:
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)

    return floats.round_to_bf16(wide(memory) + wide(data))


def _integer_ops(
    signed: type[np.generic], unsigned: type[np.generic], bits: int
) -> dict[str, AtomicOp]:
    return {
        f"add_u{bits}": AtomicOp(unsigned, np.add),
        f"sub_u{bits}": AtomicOp(unsigned, np.subtract),
        f"rsub_u{bits}": AtomicOp(unsigned, lambda memory, data: data - memory),
        f"inc_u{bits}": AtomicOp(unsigned, _increment),
        f"dec_u{bits}": AtomicOp(unsigned, _decrement),
        f"min_u{bits}": AtomicOp(unsigned, np.minimum),
        f"max_u{bits}": AtomicOp(unsigned, np.maximum),
        f"min_i{bits}": AtomicOp(signed, np.minimum),
        f"max_i{bits}": AtomicOp(signed, np.maximum),
        f"and_b{bits}": AtomicOp(unsigned, np.bitwise_and),
        f"or_b{bits}": AtomicOp(unsigned, np.bitwise_or),
        f"xor_b{bits}": AtomicOp(unsigned, np.bitwise_xor),
        f"wrxchg_b{bits}": AtomicOp(unsigned, lambda memory, data: data),
        f"cmpst_b{bits}": AtomicOp(
            unsigned, lambda memory, compare, data: np.where(memory == compare, data, memory), 2
        ),
    }


OPS: Mapping[str, AtomicOp] = MappingProxyType(
    {
        **_integer_ops(np.int32, np.uint32, 32),
        **_integer_ops(np.int64, np.uint64, 64),
        "add_f32": AtomicOp(np.float32, np.add),
        "min_f32": AtomicOp(np.float32, np.fmin),
        "max_f32": AtomicOp(np.float32, np.fmax),
        "add_f64": AtomicOp(np.float64, np.add),
        "min_f64": AtomicOp(np.float64, np.fmin),
        "max_f64": AtomicOp(np.float64, np.fmax),
        "pk_add_f16": AtomicOp(np.float16, np.add),
        "pk_add_bf16": AtomicOp(np.uint16, _add_bf16),
    }
)
"""Operations by the name that follows `ds_`."""


def update(op: AtomicOp, memory: Bytes, offsets: Offsets, data: list[Words]) -> Words:
    """Applies `op` at `offsets` [m], in order; returns what was there before, [words, m].

    Args:
        offsets: multiples of the operation's width.
        data: per data operand, [words, m].
    """
    words = op.width // 4
    before = np.zeros((words, len(offsets)), np.uint32)
    left = np.arange(len(offsets))
    while len(left):
        # One turn each of all lanes whose address no earlier lane still waits for.
        _, first = np.unique(offsets[left], return_index=True)
        turn = left[first]
        access = ByteAccess(offsets[turn], op.width)
        old = access.gather(memory)
        with np.errstate(all="ignore"):
            new = op.function(
                _typed(old, op), *(_typed(values[:, turn], op) for values in data)
            ).astype(op.kind)
        new_words = np.ascontiguousarray(new).view(np.uint32).reshape(len(turn), words).T
        access.scatter(memory, new_words)
        before[:, turn] = old
        left = np.delete(left, first)
    return before


def _typed(words: Words, op: AtomicOp) -> Array:
    """[words, m] as values [m, values of a lane]."""
    return np.ascontiguousarray(words.T).view(op.kind)
