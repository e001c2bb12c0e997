# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read-modify-write operations, which the LDS and global memory share.

Lanes take their turns in order, wave by wave. The semantics are those of the CDNA3 ISA, chapter 12
("DS_ADD_U32", "BUFFER_ATOMIC_..." and so on).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import floats
from .byte_access import PADDING, ByteAccess, Bytes, Offsets, Words
from .undefined import Undefined, UndefinedBytes

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class AtomicOp:
    """An operation that replaces a value in memory by `function(memory, data)`.

    Attributes:
        kind: the type of the values.
        function: takes the value in memory and one array for each data operand.
        operands: how many data operands each lane gives.
    """

    kind: type[np.generic]
    function: Callable[..., Array]
    operands: int = 1

    @property
    def width(self) -> int:
        """Returns the bytes of memory that a lane changes; packed 16-bit values come in pairs."""
        return max(4, np.dtype(self.kind).itemsize)


def _increment(memory: Array, limit: Array) -> Array:
    return np.where(memory >= limit, memory.dtype.type(0), memory + memory.dtype.type(1))


def _decrement(memory: Array, limit: Array) -> Array:
    wrapped = (memory == 0) | (memory > limit)
    return np.where(wrapped, limit, memory - memory.dtype.type(1))


def _add_bf16(memory: Array, data: Array) -> Array:
    return floats.round_to_bf16(floats.widen_bf16(memory) + floats.widen_bf16(data))


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


OPS: Mapping[str, AtomicOp] = {
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
"""Operations by the name that follows `ds_`."""


def update(op: AtomicOp, memory: Bytes, offsets: Offsets, data: list[Words]) -> Words:
    """Applies `op` at each of `offsets`, in order, and returns the words that were there before.

    Args:
        offsets: [m], multiples of the operation's width.
        data: the words of each data operand, [words, m].

    Returns:
        [words, m], for each offset what the operation found there.
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


_TRIALS = 6


def update_undefined(
    op: AtomicOp,
    memory: Bytes,
    shadow: UndefinedBytes,
    offsets: Offsets,
    data: list[Words],
    undefined: list[Undefined | None],
) -> tuple[Words, Undefined | None]:
    """Does what `update` does where memory or data have undefined bits.

    The rule is that of `spread.py`: the bits that differ from one filling of the undefined bits to
    another become undefined. Only the bytes that are touched are filled in. They lie side by side
    in the trials, in one place for each distinct offset. `shadow` has the undefined bits of
    `memory`, and `undefined` those of each data operand.

    Returns the words that were there before, and their undefined bits.
    """
    width = op.width
    places, which = np.unique(offsets, return_inverse=True)
    octets = places[:, None] + np.arange(width)
    random = np.random.default_rng(0)
    after: list[Bytes] = []
    before: list[Words] = []
    for trial in range(_TRIALS):

        def fill(values: Array, bits: Array, trial: int = trial) -> Array:
            ones = np.iinfo(values.dtype).max
            words = random.integers(0, ones, values.shape, values.dtype, endpoint=True)
            chosen = values.dtype.type(ones if trial == 1 else 0) if trial < 2 else words
            return values ^ (values ^ chosen) & bits

        compact = np.zeros(-(-octets.size // PADDING) * PADDING, np.uint8)
        compact[: octets.size] = fill(memory[octets], shadow.bits[octets]).ravel()
        filled = [
            words if found is None else fill(words, found.bits)
            for words, found in zip(data, undefined, strict=True)
        ]
        before.append(update(op, compact, which.ravel() * width, filled))
        after.append(compact[: octets.size].reshape(octets.shape))
    origin = max(
        int(shadow.origins[octets].max()),
        *(int(found.origins.max()) for found in undefined if found is not None),
        0,
    )
    memory[octets] = after[0]
    shadow.bits[octets] = _differing(after)
    shadow.origins[octets] = origin
    bits = _differing(before)
    return before[0], Undefined(bits, np.full(bits.shape, origin, np.int32))


def _differing(trials: list[Array]) -> Array:
    """Returns the bits in which some trial differs from the first one."""
    return np.bitwise_or.reduce([values ^ trials[0] for values in trials[1:]])


def _typed(words: Words, op: AtomicOp) -> Array:
    """Returns words [words, m] as values of the operation's type, [m, values of a lane]."""
    return np.ascontiguousarray(words.T).view(op.kind)
