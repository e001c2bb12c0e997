# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar arithmetic: one value per wave.

The semantics are those of "AMD Instinct MI300 CDNA3 Instruction Set Architecture", chapter 12.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .instruction_text import EXEC, AssemblyError, Instruction, Operand
from .lane_ops import (
    difference_and_borrow,
    leading_copies,
    leading_zeros,
    mul_hi_i32,
    mul_hi_u32,
    reverse_bits,
    sum_and_carry,
    trailing_zeros,
)
from .operands import DTYPES, Array, Source, bits_of, scalar_destination, scalar_source
from .step import BuildContext, Step
from .wave_state import WaveGroup

DESTINATION, SCC, SIMM16, UIMM16 = "destination", "scc", "simm16", "uimm16"
"""Sources that are no register operands: what the destination holds, SCC, and the 16-bit constant
in the text, extended to 32 bits by its sign or by zeros."""


@dataclass(frozen=True)
class ScalarOp:
    """A result of type `result` from sources of types `sources`, and what SCC becomes.

    `result` is empty if SCC is the only result. `scc` is `none` if SCC stays, `nonzero` if it says
    whether the result is not 0, and `second` if the function returns it behind the result.
    """

    result: str
    sources: tuple[str, ...]
    function: Callable[..., Any]
    scc: str = "none"


def _add_i32(a: Array, b: Array) -> tuple[Array, Array]:
    total = a + b
    return total, ((a ^ total) & (b ^ total)) < 0


def _sub_i32(a: Array, b: Array) -> tuple[Array, Array]:
    total = a - b
    return total, ((a ^ b) & (a ^ total)) < 0


def _add_with_carry(a: Array, b: Array, carry: Array) -> tuple[Array, Array]:
    total = a.astype(np.int64) + b + carry
    return total.astype(np.uint32), total > 0xFFFFFFFF


def _subtract_with_borrow(a: Array, b: Array, borrow: Array) -> tuple[Array, Array]:
    total = a.astype(np.int64) - b - borrow
    return total.astype(np.uint32), total < 0


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


def _set_bit(value: int) -> Callable[[Array, Array], Array]:
    """Computes s_bitset0 or s_bitset1: one bit of a word becomes `value`."""

    def compute(word: Array, number: Array) -> Array:
        bit = word.dtype.type(1) << _bit_number(word, number)
        return word | bit if value else word & ~bit

    return compute


def _bit_is(value: int) -> Callable[[Array, Array], Array]:
    """Computes s_bitcmp0 or s_bitcmp1: whether one bit of a word is `value`."""
    return lambda word, number: word >> _bit_number(word, number) & word.dtype.type(1) == value


def _bit_number(word: Array, number: Array) -> Array:
    return (number & np.uint32(8 * word.itemsize - 1)).astype(word.dtype)


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


def _some_of_four(a: Array) -> Array:
    """Returns words in which the lowest of each four bits says whether one of them is set."""
    pairs = a | a >> a.dtype.type(1)
    mask = a.dtype.type(0x1111111111111111 & (1 << 8 * a.itemsize) - 1)
    return (pairs | pairs >> a.dtype.type(2)) & mask


def _quads(a: Array) -> Array:
    """Computes s_quadmask: bit i of the result says whether one of bits 4 i to 4 i + 3 is set."""
    some = _some_of_four(a)
    result = np.zeros_like(a)
    for quad in range(2 * a.itemsize):
        result |= (some >> a.dtype.type(4 * quad) & a.dtype.type(1)) << a.dtype.type(quad)
    return result


def _whole_quads(a: Array) -> Array:
    """Computes s_wqm: all four bits of a quad are set where one is."""
    return _some_of_four(a) * a.dtype.type(15)


def _bitwise(width: int) -> dict[str, ScalarOp]:
    kind = f"b{width}"
    two: dict[str, Callable[..., Any]] = {
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
    ops[f"s_cselect_{kind}"] = ScalarOp(kind, (kind, kind, SCC), lambda a, b, c: np.where(c, a, b))
    unsigned, signed = f"u{width}", f"i{width}"
    left, right = _shift(np.left_shift, width), _shift(np.right_shift, width)
    ops[f"s_lshl_{kind}"] = ScalarOp(unsigned, (unsigned, "u32"), left, "nonzero")
    ops[f"s_lshr_{kind}"] = ScalarOp(unsigned, (unsigned, "u32"), right, "nonzero")
    ops[f"s_ashr_{signed}"] = ScalarOp(signed, (signed, "u32"), right, "nonzero")
    ops[f"s_bcnt1_i32_{kind}"] = ScalarOp("u32", (kind,), _popcount, "nonzero")
    ops[f"s_bcnt0_i32_{kind}"] = ScalarOp("u32", (kind,), lambda a: _popcount(~a), "nonzero")
    ops[f"s_ff1_i32_{kind}"] = ScalarOp("i32", (kind,), trailing_zeros)
    ops[f"s_ff0_i32_{kind}"] = ScalarOp("i32", (kind,), lambda a: trailing_zeros(~a))
    ops[f"s_flbit_i32_{kind}"] = ScalarOp("i32", (kind,), leading_zeros)
    ops[f"s_brev_{kind}"] = ScalarOp(kind, (kind,), reverse_bits)
    ops[f"s_bfm_{kind}"] = ScalarOp(kind, ("u32", "u32"), _bit_mask(DTYPES[kind]))
    for value in (0, 1):
        ops[f"s_bitset{value}_{kind}"] = ScalarOp(kind, (DESTINATION, "u32"), _set_bit(value))
        ops[f"s_bitcmp{value}_{kind}"] = ScalarOp("", (kind, "u32"), _bit_is(value), "nonzero")
    ops[f"s_quadmask_{kind}"] = ScalarOp(kind, (kind,), _quads, "nonzero")
    ops[f"s_wqm_{kind}"] = ScalarOp(kind, (kind,), _whole_quads, "nonzero")
    for field in (unsigned, signed):
        ops[f"s_bfe_{field}"] = ScalarOp(field, (field, "u32"), _bit_field, "nonzero")
    return ops


def _comparisons(kind: str, constant: str = "") -> dict[str, ScalarOp]:
    """Returns s_cmp of a type, and s_cmpk if `constant` is what it compares with."""
    relations = {
        "eq": np.equal,
        "lg": np.not_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
        "lt": np.less,
        "le": np.less_equal,
    }
    forms = {"cmp": kind, "cmpk": constant} if constant else {"cmp": kind}
    return {
        f"s_{form}_{name}_{kind}": ScalarOp("", (kind, second), function, "nonzero")
        for form, second in forms.items()
        for name, function in relations.items()
    }


SCALAR_OPS: Mapping[str, ScalarOp] = {
        **_bitwise(32),
        **_bitwise(64),
        **_comparisons("i32", SIMM16),
        **_comparisons("u32", UIMM16),
        "s_cmp_eq_u64": ScalarOp("", ("u64", "u64"), np.equal, "nonzero"),
        "s_cmp_lg_u64": ScalarOp("", ("u64", "u64"), np.not_equal, "nonzero"),
        "s_movk_i32": ScalarOp("i32", (SIMM16,), lambda a: a),
        "s_addk_i32": ScalarOp("i32", (DESTINATION, SIMM16), _add_i32, "second"),
        "s_mulk_i32": ScalarOp("i32", (DESTINATION, SIMM16), np.multiply),
        "s_addc_u32": ScalarOp("u32", ("u32", "u32", SCC), _add_with_carry, "second"),
        "s_subb_u32": ScalarOp("u32", ("u32", "u32", SCC), _subtract_with_borrow, "second"),
        # `linking` has put the program counter behind the destination.
        "s_getpc_b64": ScalarOp("b64", ("b64",), lambda a: a),
        "s_add_u32": ScalarOp("u32", ("u32", "u32"), sum_and_carry, "second"),
        "s_sub_u32": ScalarOp("u32", ("u32", "u32"), difference_and_borrow, "second"),
        "s_add_i32": ScalarOp("i32", ("i32", "i32"), _add_i32, "second"),
        "s_sub_i32": ScalarOp("i32", ("i32", "i32"), _sub_i32, "second"),
        "s_mul_i32": ScalarOp("u32", ("u32", "u32"), np.multiply),
        "s_mul_hi_u32": ScalarOp("u32", ("u32", "u32"), mul_hi_u32),
        "s_mul_hi_i32": ScalarOp("i32", ("i32", "i32"), mul_hi_i32),
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
        "s_pack_hl_b32_b16": ScalarOp(
            "u32", ("u32", "u32"), lambda a, b: a >> np.uint32(16) | b << np.uint32(16)
        ),
        "s_add_nc_u64": ScalarOp("u64", ("u64", "u64"), np.add),
        "s_sub_nc_u64": ScalarOp("u64", ("u64", "u64"), np.subtract),
        "s_mul_u64": ScalarOp("u64", ("u64", "u64"), np.multiply),
        "s_pack_hh_b32_b16": ScalarOp(
            "u32", ("u32", "u32"), lambda a, b: a >> np.uint32(16) | b & np.uint32(0xFFFF0000)
        ),
    }  # fmt: skip
"""Operations whose sources and results are scalar registers, by mnemonic."""

_EXEC_FUNCTIONS: Mapping[str, Callable[[Array, Array], Array]] = {
    "s_and_saveexec": lambda source, old: source & old,
    "s_or_saveexec": lambda source, old: source | old,
    "s_xor_saveexec": lambda source, old: source ^ old,
    "s_andn2_saveexec": lambda source, old: source & ~old,
    "s_orn2_saveexec": lambda source, old: source | ~old,
    "s_andn1_saveexec": lambda source, old: ~source & old,
    "s_orn1_saveexec": lambda source, old: ~source | old,
    "s_nand_saveexec": lambda source, old: ~(source & old),
    "s_nor_saveexec": lambda source, old: ~(source | old),
    "s_xnor_saveexec": lambda source, old: ~(source ^ old),
    "s_andn1_wrexec": lambda source, old: ~source & old,
    "s_andn2_wrexec": lambda source, old: source & ~old,
}
EXEC_OPS: Mapping[str, Callable[[Array, Array], Array]] = {
    f"{name}_b{bits}": function for name, function in _EXEC_FUNCTIONS.items() for bits in (32, 64)
}
"""What EXEC becomes, or its low half by those of 32 bits.

Scalar registers get the old EXEC, or with `wrexec` the new one.
"""

CONDITIONAL_MOVES = frozenset({"s_cmov_b32", "s_cmov_b64", "s_cmovk_i32"})


def build(context: BuildContext, instruction: Instruction) -> Step | None:
    """Returns the step of a scalar instruction, or None if it is no scalar arithmetic."""
    name = instruction.mnemonic
    if name in SCALAR_OPS:
        return _scalar(instruction, SCALAR_OPS[name])
    if name in EXEC_OPS:
        return _change_exec(instruction, EXEC_OPS[name])
    return _conditional_move(instruction) if name in CONDITIONAL_MOVES else None


def _scalar(instruction: Instruction, op: ScalarOp) -> Step:
    """Returns the step of an instruction that has a row in `SCALAR_OPS`.

    Raises:
        AssemblyError: the instruction has other operands than its row says.
    """
    destination = scalar_destination(instruction.operands[0], op.result) if op.result else None
    given = instruction.operands[1 if op.result else 0 :]
    named = [kind for kind in op.sources if kind not in (DESTINATION, SCC)]
    if len(given) != len(named):
        raise AssemblyError(f"{len(given)} sources where {len(named)} are expected")
    operands = iter(given)
    sources: list[Source] = []
    for kind in op.sources:
        if kind == SCC:
            sources.append(lambda group: group.scc())
        elif kind == DESTINATION:
            sources.append(scalar_source(instruction.operands[0], op.result))
        else:
            sources.append(_source(next(operands), kind))

    def step(group: WaveGroup) -> None:
        with np.errstate(over="ignore"):
            result = op.function(*(source(group) for source in sources))
        condition = None
        if op.scc == "second":
            result, condition = result
        elif op.scc == "nonzero":
            condition = result != 0
        if destination is not None:
            destination(group, result)
        if condition is not None:
            group.set_scc(condition)

    return step


def _source(operand: Operand, kind: str) -> Source:
    """Reads an operand behind the destination, which may be a 16-bit constant."""
    if kind not in (SIMM16, UIMM16):
        return scalar_source(operand, kind)
    number = int(str(operand.value), 0) & 0xFFFF
    constant = np.int16(np.uint16(number)).astype(np.int32) if kind == SIMM16 else np.uint32(number)
    return lambda group: np.full(group.count, constant)


def _change_exec(instruction: Instruction, function: Callable[[Array, Array], Array]) -> Step:
    kind = instruction.mnemonic[-3:]
    exec_ = Operand(replace(EXEC, count=bits_of(kind) // 32))
    destination = scalar_destination(instruction.operands[0], kind)
    source = scalar_source(instruction.operands[1], kind)
    read, write = scalar_source(exec_, kind), scalar_destination(exec_, kind)
    gives_new = "wrexec" in instruction.mnemonic

    def step(group: WaveGroup) -> None:
        # The old EXEC may be a view of the registers.
        old = read(group).copy()
        new = function(source(group), old)
        destination(group, new if gives_new else old)
        write(group, new)
        group.set_scc(new != 0)

    return step


def _conditional_move(instruction: Instruction) -> Step:
    """Returns the step of s_cmov_b32 and its kind, which move if SCC is set."""
    kind = instruction.mnemonic[-3:]
    destination = scalar_destination(instruction.operands[0], kind)
    source = _source(instruction.operands[1], SIMM16 if "cmovk" in instruction.mnemonic else kind)
    old = scalar_source(instruction.operands[0], kind)

    def step(group: WaveGroup) -> None:
        scc = group.scc()
        if scc.any():
            value = source(group)
            destination(group, value if scc.all() else np.where(scc, value, old(group)))

    return step
