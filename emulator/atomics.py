# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Read-modify-write operations, which the LDS and global memory share.

Lanes take their turns in order, wave by wave. The semantics are those of the CDNA3 ISA, chapter 12
("DS_ADD_U32", "BUFFER_ATOMIC_..." and so on), and of the ISAs of RDNA3 and RDNA4 for what only they
have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import floats
from .byte_access import PADDING, ByteAccess, Bytes, Offsets, Words
from .chips import Chip
from .undefined import Undefined, UndefinedBytes

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class AtomicOp:
    """An operation that replaces a value in memory by `function(memory, data)`.

    Attributes:
        kind: the type of the values.
        function: takes the value in memory and one array for each data operand.
        operands: how many data operands each lane gives.
        compares: whether the value is only replaced where it is what a lane expects.
    """

    kind: type[np.generic]
    function: Callable[..., Array]
    operands: int = 1
    compares: bool = False

    @property
    def width(self) -> int:
        """Returns the bytes of memory that a lane changes; packed 16-bit values come in pairs."""
        return max(4, np.dtype(self.kind).itemsize)


def _increment(memory: Array, limit: Array) -> Array:
    return np.where(memory >= limit, memory.dtype.type(0), memory + memory.dtype.type(1))


def _decrement(memory: Array, limit: Array) -> Array:
    wrapped = (memory == 0) | (memory > limit)
    return np.where(wrapped, limit, memory - memory.dtype.type(1))


def _wrap(memory: Array, limit: Array, addend: Array) -> Array:
    return np.where(memory >= limit, memory - limit, memory + addend)


Comparison = Callable[[Array, Array], npt.NDArray[np.bool_]]


def _better(goes_before: Comparison) -> Callable[[Array, Array], Array]:
    """Returns the minimum or maximum of two floats, where a comparison with a NaN does not hold."""
    return lambda memory, data: np.where(goes_before(data, memory), data, memory)


def _better_number(goes_before: Comparison) -> Callable[[Array, Array], Array]:
    """Returns the minimum or maximum of two floats as RDNA4 has it ("DS_MIN_NUM_F32").

    A number goes before a NaN, of two NaNs the given one is made quiet, and -0 is less than 0.
    """

    def compute(memory: Array, data: Array) -> Array:
        bits = np.dtype(f"u{data.itemsize}")
        quiet_bit = bits.type(1 << {4: 22, 8: 51}[data.itemsize])
        quiet = (data.view(bits) | quiet_bit).view(data.dtype)
        zeros = (memory == 0) & (data == 0)
        keys = (np.where(zeros, -np.signbit(each).astype(np.int8), each) for each in (data, memory))
        result = np.where(goes_before(*keys) | np.isnan(memory), data, memory)
        return np.where(np.isnan(data), np.where(np.isnan(memory), quiet, memory), result)

    return compute


def _exchange_marked(memory: Array, data: Array) -> Array:
    """Returns words of which the high bit of the given one says whether it is stored, without it.

    Each half of a value is such a word.
    """
    result = np.zeros_like(memory)
    for shift in (0, 32):
        half = data >> np.uint64(shift) & np.uint64(0xFFFFFFFF)
        old = memory >> np.uint64(shift) & np.uint64(0xFFFFFFFF)
        marked = half >> np.uint64(31) != 0
        result |= np.where(marked, half & np.uint64(0x7FFFFFFF), old) << np.uint64(shift)
    return result


def _exchange_if_equal(memory: Array, compared: Array, data: Array) -> Array:
    return np.where(memory == compared, data, memory)


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
        f"cmpst_b{bits}": AtomicOp(unsigned, _exchange_if_equal, 2, compares=True),
        f"mskor_b{bits}": AtomicOp(unsigned, lambda memory, mask, data: memory & ~mask | data, 2),
    }


def _float_ops(kind: type[np.generic], bits: int) -> dict[str, AtomicOp]:
    return {
        f"add_f{bits}": AtomicOp(kind, np.add),
        f"min_f{bits}": AtomicOp(kind, _better(np.less)),
        f"max_f{bits}": AtomicOp(kind, _better(np.greater)),
        f"min_num_f{bits}": AtomicOp(kind, _better_number(np.less)),
        f"max_num_f{bits}": AtomicOp(kind, _better_number(np.greater)),
        f"cmpst_f{bits}": AtomicOp(kind, _exchange_if_equal, 2, compares=True),
    }


OPS: Mapping[str, AtomicOp] = {
    **_integer_ops(np.int32, np.uint32, 32),
    **_integer_ops(np.int64, np.uint64, 64),
    **_float_ops(np.float32, 32),
    **_float_ops(np.float64, 64),
    "sub_clamp_u32": AtomicOp(
        np.uint32, lambda memory, data: np.where(memory < data, np.uint32(0), memory - data)
    ),
    "cond_sub_u32": AtomicOp(
        np.uint32, lambda memory, data: np.where(memory >= data, memory - data, memory)
    ),
    "wrap_b32": AtomicOp(np.uint32, _wrap, 2),
    "condxchg32_b64": AtomicOp(np.uint64, _exchange_marked),
    "pk_add_f16": AtomicOp(np.float16, np.add),
    "pk_add_bf16": AtomicOp(np.uint16, _add_bf16),
}
"""Operations by the name that follows `ds_`."""


IN_MEMORY: Mapping[str, str] = {
    **{
        f"{name}{suffix}": f"{stem}{bits}"
        for suffix, bits in (("", 32), ("_x2", 64))
        for name, stem in (
            *(("swap", "wrxchg_b"), ("cmpswap", "cmpst_b"), ("add", "add_u")),
            *(("sub", "sub_u"), ("smin", "min_i"), ("umin", "min_u"), ("smax", "max_i")),
            *(("umax", "max_u"), ("and", "and_b"), ("or", "or_b"), ("xor", "xor_b")),
            *(("inc", "inc_u"), ("dec", "dec_u")),
        )
    },
    **{name: name for name in ("add_f32", "pk_add_f16", "pk_add_bf16")},
    **{name: name for name in ("add_f64", "min_f64", "max_f64", "min_f32", "max_f32")},
    "csub": "sub_clamp_u32",
    "cond_sub": "cond_sub_u32",
    "cmpswap_f32": "cmpst_f32",
}
"""For each atomic on memory its name in `OPS`, which is that of the LDS instruction."""


def operation(name: str, chip: Chip) -> AtomicOp | None:
    """Returns the operation of a name that follows `ds_`; None if there is none.

    The minimum and the maximum of floats, which RDNA4 calls `min_num`, have other rules there.
    """
    if chip.has_split_counters:
        name = _MINIMUM.sub(r"\1_num_f", name)
    return OPS.get(name)


_MINIMUM = re.compile(r"^(min|max)_f(?=32|64)")


def compared_first(
    op: AtomicOp, words: Words, undefined: Undefined | None
) -> tuple[list[Words], Undefined | None]:
    """Returns the data operands of an atomic on memory in the order in which `op` takes them.

    Compare-and-swap on memory has the new value first, the LDS form and `op` the compared one.

    Args:
        words: the words of all operands, [operands * words, ...].
        undefined: their undefined bits.
    """
    shape = (op.operands, op.width // 4, *words.shape[1:])
    if undefined is not None:
        undefined = undefined.rearranged(lambda each: each.reshape(shape)[::-1])
    return list(words.reshape(shape)[::-1]), undefined


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
