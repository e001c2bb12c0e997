# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar arithmetic: one value per wave.

The semantics are those of "AMD Instinct MI300 CDNA3 Instruction Set Architecture", chapter 12.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from .assembly import EXEC, Instruction
from .lane_ops import leading_copies, leading_zeros, reverse_bits, trailing_zeros
from .machine import WaveGroup
from .operands import DTYPES, Array, Source, scalar_destination, scalar_source
from .step import BuildContext, Step


@dataclass(frozen=True)
class ScalarOp:
    """A result of type `result` from sources of types `sources`, and what SCC becomes.

    `scc` is `none` if SCC stays, `nonzero` if it says whether the result is not 0, and `second` if
    the function returns it behind the result.
    """

    result: str
    sources: tuple[str, ...]
    function: Callable[..., Any]
    scc: str = "none"


def _add_u32(a: Array, b: Array) -> tuple[Array, Array]:
    total = a + b
    return total, total < a


def _sub_u32(a: Array, b: Array) -> tuple[Array, Array]:
    return a - b, b > a


def _add_i32(a: Array, b: Array) -> tuple[Array, Array]:
    total = a + b
    return total, ((a ^ total) & (b ^ total)) < 0


def _sub_i32(a: Array, b: Array) -> tuple[Array, Array]:
    total = a - b
    return total, ((a ^ b) & (a ^ total)) < 0


def _minimum(a: Array, b: Array) -> tuple[Array, Array]:
    return np.minimum(a, b), a < b


def _maximum(a: Array, b: Array) -> tuple[Array, Array]:
    return np.maximum(a, b), a >= b


def _shift(function: Callable[..., Any], width: int) -> Callable[..., Any]:
    def shifted(a: Array, b: Array) -> Array:
        return function(a, (b & np.uint32(width - 1)).astype(a.dtype))

    return shifted


def _lshl_add(bits: int) -> Callable[..., Any]:
    def compute(a: Array, b: Array) -> tuple[Array, Array]:
        total = (a.astype(np.uint64) << np.uint64(bits)) + b.astype(np.uint64)
        return total.astype(np.uint32), total >> np.uint64(32) != 0

    return compute


def _bit_field(a: Array, b: Array) -> Array:
    """Computes s_bfe: a field of bits of `a`, which is sign-extended if `a` is signed.

    `b` holds the offset of the field in its low bits, and the width from bit 16 on.
    """
    bits = 8 * a.itemsize
    offset, width = b & np.uint32(bits - 1), b >> np.uint32(16) & np.uint32(127)
    kept = np.minimum(width, bits).astype(a.dtype)
    # Out at the top and back, which extends the sign. No shift may be by all bits: two each.
    first = a.dtype.type(bits) - kept >> a.dtype.type(1)
    second = a.dtype.type(bits) - kept - first
    return a >> offset.astype(a.dtype) << first << second >> first >> second


def _bit_mask(kind: Any) -> Callable[[Array, Array], Array]:
    """Computes s_bfm: `a` ones from bit `b` on."""
    limit = np.uint32(8 * np.dtype(kind).itemsize - 1)

    def compute(a: Array, b: Array) -> Array:
        ones = (kind(1) << (a & limit).astype(kind)) - kind(1)
        return ones << (b & limit).astype(kind)

    return compute


def _popcount(a: Array) -> Array:
    return np.bitwise_count(a).astype(np.uint32)


def _replicate_bits(a: Array) -> Array:
    """Repeats every bit: 0b101 becomes 0b110011."""
    result = a.astype(np.uint64)
    for shift, mask in (
        (16, 0x0000FFFF0000FFFF),
        (8, 0x00FF00FF00FF00FF),
        (4, 0x0F0F0F0F0F0F0F0F),
        (2, 0x3333333333333333),
        (1, 0x5555555555555555),
    ):
        result = (result | result << np.uint64(shift)) & np.uint64(mask)
    return result | result << np.uint64(1)


def _mul_hi_u32(a: Array, b: Array) -> Array:
    return (a.astype(np.uint64) * b.astype(np.uint64) >> np.uint64(32)).astype(np.uint32)


def _mul_hi_i32(a: Array, b: Array) -> Array:
    return (a.astype(np.int64) * b.astype(np.int64) >> 32).astype(np.int32)


def _bitwise(width: int) -> dict[str, ScalarOp]:
    kind = f"b{width}"
    two = {
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
        "andn2": lambda a, b: a & ~b,
        "orn2": lambda a, b: a | ~b,
        "nand": lambda a, b: ~(a & b),
        "nor": lambda a, b: ~(a | b),
        "xnor": lambda a, b: ~(a ^ b),
    }
    ops = {
        f"s_{name}_{kind}": ScalarOp(kind, (kind, kind), function, "nonzero")
        for name, function in two.items()
    }
    ops[f"s_not_{kind}"] = ScalarOp(kind, (kind,), np.invert, "nonzero")
    ops[f"s_mov_{kind}"] = ScalarOp(kind, (kind,), lambda a: a)
    unsigned, signed = f"u{width}", f"i{width}"
    ops[f"s_lshl_{kind}"] = ScalarOp(
        unsigned, (unsigned, "u32"), _shift(np.left_shift, width), "nonzero"
    )
    ops[f"s_lshr_{kind}"] = ScalarOp(
        unsigned, (unsigned, "u32"), _shift(np.right_shift, width), "nonzero"
    )
    ops[f"s_ashr_{signed}"] = ScalarOp(
        signed, (signed, "u32"), _shift(np.right_shift, width), "nonzero"
    )
    ops[f"s_bcnt1_i32_{kind}"] = ScalarOp("u32", (kind,), _popcount, "nonzero")
    ops[f"s_bcnt0_i32_{kind}"] = ScalarOp("u32", (kind,), lambda a: _popcount(~a), "nonzero")
    ops[f"s_ff1_i32_{kind}"] = ScalarOp("i32", (kind,), trailing_zeros)
    ops[f"s_ff0_i32_{kind}"] = ScalarOp("i32", (kind,), lambda a: trailing_zeros(~a))
    ops[f"s_flbit_i32_{kind}"] = ScalarOp("i32", (kind,), leading_zeros)
    ops[f"s_brev_{kind}"] = ScalarOp(kind, (kind,), reverse_bits)
    ops[f"s_bfm_{kind}"] = ScalarOp(kind, ("u32", "u32"), _bit_mask(DTYPES[kind]))
    for field in (unsigned, signed):
        ops[f"s_bfe_{field}"] = ScalarOp(field, (field, "u32"), _bit_field, "nonzero")
    return ops


SCALAR_OPS: Mapping[str, ScalarOp] = MappingProxyType(
    {
        **_bitwise(32),
        **_bitwise(64),
        # `linking` has put the program counter behind the destination.
        "s_getpc_b64": ScalarOp("b64", ("b64",), lambda a: a),
        "s_add_u32": ScalarOp("u32", ("u32", "u32"), _add_u32, "second"),
        "s_sub_u32": ScalarOp("u32", ("u32", "u32"), _sub_u32, "second"),
        "s_add_i32": ScalarOp("i32", ("i32", "i32"), _add_i32, "second"),
        "s_sub_i32": ScalarOp("i32", ("i32", "i32"), _sub_i32, "second"),
        "s_mul_i32": ScalarOp("u32", ("u32", "u32"), np.multiply),
        "s_mul_hi_u32": ScalarOp("u32", ("u32", "u32"), _mul_hi_u32),
        "s_mul_hi_i32": ScalarOp("i32", ("i32", "i32"), _mul_hi_i32),
        "s_min_u32": ScalarOp("u32", ("u32", "u32"), _minimum, "second"),
        "s_max_u32": ScalarOp("u32", ("u32", "u32"), _maximum, "second"),
        "s_min_i32": ScalarOp("i32", ("i32", "i32"), _minimum, "second"),
        "s_max_i32": ScalarOp("i32", ("i32", "i32"), _maximum, "second"),
        "s_abs_i32": ScalarOp("i32", ("i32",), np.abs, "nonzero"),
        "s_lshl1_add_u32": ScalarOp("u32", ("u32", "u32"), _lshl_add(1), "second"),
        "s_lshl2_add_u32": ScalarOp("u32", ("u32", "u32"), _lshl_add(2), "second"),
        "s_lshl3_add_u32": ScalarOp("u32", ("u32", "u32"), _lshl_add(3), "second"),
        "s_lshl4_add_u32": ScalarOp("u32", ("u32", "u32"), _lshl_add(4), "second"),
        "s_flbit_i32": ScalarOp("i32", ("u32",), leading_copies),
        "s_flbit_i32_i64": ScalarOp("i32", ("u64",), leading_copies),
        "s_absdiff_i32": ScalarOp("i32", ("i32", "i32"), lambda a, b: np.abs(a - b), "nonzero"),
        "s_bitreplicate_b64_b32": ScalarOp("u64", ("u32",), _replicate_bits),
        "s_sext_i32_i8": ScalarOp("i32", ("u32",), lambda a: a.astype(np.int8).astype(np.int32)),
        "s_sext_i32_i16": ScalarOp("i32", ("u32",), lambda a: a.astype(np.int16).astype(np.int32)),
        "s_pack_ll_b32_b16": ScalarOp(
            "u32", ("u32", "u32"), lambda a, b: a & np.uint32(0xFFFF) | b << np.uint32(16)
        ),
        "s_pack_lh_b32_b16": ScalarOp(
            "u32", ("u32", "u32"), lambda a, b: a & np.uint32(0xFFFF) | b & np.uint32(0xFFFF0000)
        ),
        "s_pack_hh_b32_b16": ScalarOp(
            "u32", ("u32", "u32"), lambda a, b: a >> np.uint32(16) | b & np.uint32(0xFFFF0000)
        ),
    }
)  # fmt: skip
"""Operations whose sources and results are scalar registers, by mnemonic."""

_COMPARISONS = {
    "eq": np.equal,
    "lg": np.not_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt": np.less,
    "le": np.less_equal,
}

_COMPARED = ("i32", "u32")

SAVE_EXEC: Mapping[str, Callable[[Array, Array], Array]] = MappingProxyType(
    {
        "s_and_saveexec_b64": lambda source, old: source & old,
        "s_or_saveexec_b64": lambda source, old: source | old,
        "s_xor_saveexec_b64": lambda source, old: source ^ old,
        "s_andn2_saveexec_b64": lambda source, old: source & ~old,
        "s_orn2_saveexec_b64": lambda source, old: source | ~old,
        "s_andn1_saveexec_b64": lambda source, old: ~source & old,
        "s_orn1_saveexec_b64": lambda source, old: ~source | old,
        "s_nand_saveexec_b64": lambda source, old: ~(source & old),
        "s_nor_saveexec_b64": lambda source, old: ~(source | old),
        "s_xnor_saveexec_b64": lambda source, old: ~(source ^ old),
    }
)

SCALAR_COMPARISONS = frozenset(
    {
        *(f"s_{form}_{r}_{k}" for form in ("cmp", "cmpk") for r in _COMPARISONS for k in _COMPARED),
        *("s_cmp_eq_u64", "s_cmp_lg_u64"),
        *(f"s_bitcmp{value}_b{width}" for value in (0, 1) for width in (32, 64)),
    }
)
"""Instructions whose only result is SCC."""


def build(context: BuildContext, instruction: Instruction) -> Step | None:
    """Returns the step of a scalar instruction, or None if it is no scalar arithmetic."""
    name = instruction.mnemonic
    if name in SCALAR_OPS:
        return _scalar(instruction, SCALAR_OPS[name])
    if name in SAVE_EXEC:
        return _save_exec(instruction, SAVE_EXEC[name])
    if name in SCALAR_COMPARISONS:
        compare = _bit_compare if name.startswith("s_bitcmp") else _compare
        return compare(instruction)
    special = _SPECIAL.get(name)
    return special(instruction) if special else None


def _scalar(instruction: Instruction, op: ScalarOp) -> Step:
    destination = scalar_destination(instruction.operands[0], op.result)
    sources = [
        scalar_source(operand, kind)
        for operand, kind in zip(instruction.operands[1:], op.sources, strict=True)
    ]

    def step(group: WaveGroup) -> None:
        with np.errstate(over="ignore"):
            result = op.function(*(source(group) for source in sources))
        if op.scc == "second":
            result, condition = result
            destination(group, result)
            group.set_scc(condition)
        else:
            destination(group, result)
            if op.scc == "nonzero":
                group.set_scc(result != 0)

    return step


def _save_exec(instruction: Instruction, function: Callable[[Array, Array], Array]) -> Step:
    destination = scalar_destination(instruction.operands[0], "b64")
    source = scalar_source(instruction.operands[1], "b64")

    def step(group: WaveGroup) -> None:
        old = group.s64(EXEC.index)
        new = function(source(group), old)
        destination(group, old)
        group.set_s64(EXEC.index, new)
        group.set_scc(new != 0)

    return step


def _compare(instruction: Instruction) -> Step:
    """Returns the step of s_cmp, and of s_cmpk with its 16-bit constant."""
    compact, relation, kind = instruction.mnemonic[2:].split("_")
    function = _COMPARISONS[relation]
    left = scalar_source(instruction.operands[0], kind)
    if compact == "cmpk":
        number = _immediate16(instruction)
        constant = np.int32(number) if kind == "i32" else np.uint32(number & 0xFFFF)
        right: Source = lambda group: np.full(group.count, constant)  # noqa: E731
    else:
        right = scalar_source(instruction.operands[1], kind)

    def step(group: WaveGroup) -> None:
        group.set_scc(function(left(group), right(group)))

    return step


def _bit_compare(instruction: Instruction) -> Step:
    """Returns the step of s_bitcmp0_b32 and its kind: SCC says whether a bit is 0, or 1."""
    name = instruction.mnemonic
    kind, wanted = name[-3:], int(name[8])
    value = scalar_source(instruction.operands[0], kind)
    number = scalar_source(instruction.operands[1], "u32")

    def step(group: WaveGroup) -> None:
        word = value(group)
        bit = (number(group) & np.uint32(word.dtype.itemsize * 8 - 1)).astype(word.dtype)
        group.set_scc((word >> bit & word.dtype.type(1)) == wanted)

    return step


def _conditional_move(instruction: Instruction) -> Step:
    """Returns the step of s_cmov_b32 and its kind, which move if SCC is set."""
    kind = instruction.mnemonic[-3:]
    destination = scalar_destination(instruction.operands[0], kind)
    if instruction.mnemonic == "s_cmovk_i32":
        number = np.int32(_immediate16(instruction))
        source: Source = lambda group: np.full(group.count, number)  # noqa: E731
    else:
        source = scalar_source(instruction.operands[1], kind)
    old = scalar_source(instruction.operands[0], kind)

    def step(group: WaveGroup) -> None:
        scc = group.scc()
        if scc.any():
            value = source(group)
            destination(group, value if scc.all() else np.where(scc, value, old(group)))

    return step


def _bit_set(value: int) -> Callable[[Instruction], Step]:
    """Makes the step of s_bitset: one bit of the destination becomes `value`."""

    def make(instruction: Instruction) -> Step:
        kind = instruction.mnemonic[-3:]
        destination = scalar_destination(instruction.operands[0], kind)
        old = scalar_source(instruction.operands[0], kind)
        number = scalar_source(instruction.operands[1], "u32")

        def step(group: WaveGroup) -> None:
            word = old(group)
            one = word.dtype.type(1)
            bit = one << (number(group) & np.uint32(8 * word.itemsize - 1)).astype(word.dtype)
            destination(group, word | bit if value else word & ~bit)

        return step

    return make


def _write_exec(function: Callable[[Array, Array], Array]) -> Callable[[Instruction], Step]:
    """Makes the step of s_andn1_wrexec_b64 and its kind: the new EXEC goes to a scalar pair too."""

    def make(instruction: Instruction) -> Step:
        destination = scalar_destination(instruction.operands[0], "b64")
        source = scalar_source(instruction.operands[1], "b64")

        def step(group: WaveGroup) -> None:
            new = function(source(group), group.s64(EXEC.index))
            group.set_s64(EXEC.index, new)
            destination(group, new)
            group.set_scc(new != 0)

        return step

    return make


def _cselect(instruction: Instruction) -> Step:
    kind = instruction.mnemonic[-3:]
    destination = scalar_destination(instruction.operands[0], kind)
    yes, no = (scalar_source(operand, kind) for operand in instruction.operands[1:])

    def step(group: WaveGroup) -> None:
        destination(group, np.where(group.scc(), yes(group), no(group)))

    return step


def _with_carry(instruction: Instruction) -> Step:
    """Returns the step of s_addc_u32 and s_subb_u32: SCC is the carry in and out."""
    destination = scalar_destination(instruction.operands[0], "u32")
    left, right = (scalar_source(operand, "u32") for operand in instruction.operands[1:])
    subtract = instruction.mnemonic == "s_subb_u32"

    def step(group: WaveGroup) -> None:
        a, b = left(group).astype(np.int64), right(group).astype(np.int64)
        carry = group.scc().astype(np.int64)
        total = a - b - carry if subtract else a + b + carry
        destination(group, (total & 0xFFFFFFFF).astype(np.uint32))
        group.set_scc((total < 0) | (total > 0xFFFFFFFF))

    return step


def _immediate16(instruction: Instruction) -> int:
    """Returns the SIMM16 operand, sign-extended."""
    value = instruction.operands[1].value
    number = int(str(value), 0) & 0xFFFF
    return number - 0x10000 if number & 0x8000 else number


def _movk(instruction: Instruction) -> Step:
    destination = scalar_destination(instruction.operands[0], "i32")
    number = np.int32(_immediate16(instruction))
    return lambda group: destination(group, np.full(group.count, number))


def _addk(instruction: Instruction) -> Step:
    source = scalar_source(instruction.operands[0], "i32")
    destination = scalar_destination(instruction.operands[0], "i32")
    number = np.int32(_immediate16(instruction))

    def step(group: WaveGroup) -> None:
        with np.errstate(over="ignore"):
            total, overflow = _add_i32(source(group), np.full(group.count, number))
        destination(group, total)
        group.set_scc(overflow)

    return step


def _mulk(instruction: Instruction) -> Step:
    source = scalar_source(instruction.operands[0], "i32")
    destination = scalar_destination(instruction.operands[0], "i32")
    number = np.int32(_immediate16(instruction))
    return lambda group: destination(group, source(group) * number)


_SPECIAL: Mapping[str, Callable[[Instruction], Step]] = MappingProxyType(
    {
        "s_cmov_b32": _conditional_move,
        "s_cmov_b64": _conditional_move,
        "s_cmovk_i32": _conditional_move,
        "s_bitset0_b32": _bit_set(0),
        "s_bitset1_b32": _bit_set(1),
        "s_bitset0_b64": _bit_set(0),
        "s_bitset1_b64": _bit_set(1),
        "s_andn1_wrexec_b64": _write_exec(lambda source, old: ~source & old),
        "s_andn2_wrexec_b64": _write_exec(lambda source, old: source & ~old),
        "s_cselect_b32": _cselect,
        "s_cselect_b64": _cselect,
        "s_addc_u32": _with_carry,
        "s_subb_u32": _with_carry,
        "s_movk_i32": _movk,
        "s_addk_i32": _addk,
        "s_mulk_i32": _mulk,
    }
)
