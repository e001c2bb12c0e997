# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The known-bits analysis against evaluating random index arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from iree.compiler import ir

from bankwise.dialect_utils.gpu_target import Launch
from bankwise.dialect_utils.index.index_bits import Bits, IndexBits, low_bit
from bankwise.dialect_utils.index.lane_values import LaneEvaluator
from bankwise.dialect_utils.operations import operations_of

from ...functions import Parsed, launched, parse
from ...index_evaluator import UndefinedError, evaluate, signed, width_of
from ...index_programs import index_programs


def _body(parsed: Parsed) -> list[ir.Operation]:
    return operations_of(parsed.function.regions[0].blocks[0])


def _parse(body: str) -> Parsed:
    arguments = "%p: index, %q: index, %b: i1"
    launch = launched("64, 3, 1")
    return parse(f"func.func @f({arguments}) attributes {{{launch}}} {{\n{body}\n  return\n}}")


def _last(body: str) -> Bits:
    parsed = _parse(body)
    return IndexBits(parsed.function).of(_body(parsed)[-2].results[0])


_THREADS = "%x = gpu.thread_id x\n%y = gpu.thread_id y\n%z = gpu.thread_id z upper_bound 1\n"


def test_thread_ids_are_bounded_by_the_workgroup_and_by_their_attribute():
    assert _last("%x = gpu.thread_id x").upper == 63
    assert _last("%y = gpu.thread_id y").upper == 2
    assert _last("%y = gpu.thread_id y upper_bound 2").upper == 1
    assert _last("%z = gpu.thread_id z") == Bits(0, 0, 0, 0)
    assert _last("%l = gpu.lane_id").upper == 63
    assert _last("%w = gpu.subgroup_id : index").upper == 2


def test_a_linearized_offset_has_the_bits_of_its_digits():
    body = _THREADS + (
        "%d:2 = affine.delinearize_index %x into (4, 16) : index, index\n"
        "%o = affine.linearize_index [%d#1, %y, %d#0] by (16, 64, 8) : index"
    )
    bits = _last(body)
    assert bits.may == 15 << 9 | 3 << 3 | 3
    assert bits.upper == 15 * 512 + 2 * 8 + 3


@pytest.mark.parametrize("promise", ["", "disjoint "])
def test_unknown_digits_stay_unknown_whatever_is_promised_of_them(promise: str):
    body = f"%o = affine.linearize_index {promise}[%p, %q] by (16, 64) : index"
    assert not _last(body).bounded


# What is left of t / 4 without its highest digit: below 8, which subtracting does not show.
_REST = (
    "%x = gpu.thread_id x\n%h = affine.apply affine_map<()[s0] -> (s0 floordiv 32)>()[%x]\n"
    "%q4 = affine.apply affine_map<()[s0] -> (s0 floordiv 4)>()[%x]\n"
    "%c8 = arith.constant 8 : index\n%c{less} = arith.constant {less} : index\n"
    "%h8 = arith.muli %h, %c8 : index\n%r0 = arith.subi %q4, %h8 : index\n"
    "%r = arith.subi %r0, %c{less} : index\n"
    "%o = affine.linearize_index disjoint [%h, %r] by (2, 8) : index"
)


@pytest.mark.parametrize(("less", "bounded"), [(0, True), (1, False)])
def test_digits_are_bounded_by_what_all_lanes_have(less: int, bounded: bool):
    parsed = _parse(_REST.format(less=less))
    value = _body(parsed)[-2].results[0]
    assert not IndexBits(parsed.function).of(value).bounded
    lanes = LaneEvaluator(Launch((64, 3, 1), 64))
    found = IndexBits(parsed.function, lanes).of(value)
    # Less than 0 in some lane is no digit, whatever is promised.
    assert found.bounded == bounded
    assert not bounded or found.upper == 15


def test_a_constant_stride_of_an_unknown_value_clears_low_bits():
    bits = _last("%c = arith.constant 96 : index\n%o = arith.muli %p, %c : index")
    assert low_bit(bits.may) == 32
    assert not bits.bounded
    # Wrapping arithmetic keeps the power of two only; without wrapping, 3 divides it, too.
    assert bits.multiple == 32
    body = "%c = arith.constant 96 : index\n%o = arith.muli %p, %c overflow<nsw> : index"
    assert _last(body).multiple == 96


def test_loop_induction_variable():
    body = (
        "%c3 = arith.constant 3 : index\n%c8 = arith.constant 8 : index\n"
        "%c40 = arith.constant 40 : index\n"
        "scf.for %i = %c3 to %c40 step %c8 {\n"
        "  %o = arith.addi %i, %c8 : index\n}"
    )
    parsed = _parse(body)
    (loop,) = parsed.operations("scf.for")
    bits = IndexBits(parsed.function).of(loop.regions[0].blocks[0].arguments[0])
    assert bits.upper == 35  # 3, 11, 19, 27, 35
    assert (bits.must, bits.may) == (0b000011, 0b111011)
    assert (bits.congruence.modulus, bits.congruence.residue) == (8, 3)


def test_congruence_joins_low_bits_and_odd_divisors():
    body = (
        "%c12 = arith.constant 12 : index\n%c9 = arith.constant 9 : index\n"
        "%m = arith.muli %x, %c12 : index\n%o = arith.addi %m, %c9 : index"
    )
    congruence = _last(_THREADS + body).congruence
    assert (congruence.modulus, congruence.residue) == (12, 9)


def test_negative_values_are_not_bounded():
    body = "%c = arith.constant -8 : index\n%o = arith.addi %x, %c : index"
    bits = _last(_THREADS + body)
    assert not bits.bounded
    body = "%c = arith.constant 63 : index\n%o = arith.subi %c, %x : index"
    assert _last(_THREADS + body).upper == 63


def test_odd_factors_do_not_survive_a_change_of_width():
    product = "%c = arith.constant 12 : index\n%m = arith.muli %p, %c overflow<nsw> : index\n"
    assert _last(product + "%o = arith.addi %m, %m overflow<nsw> : index").multiple == 12
    there = product + "%i = arith.index_cast %m : index to i32\n"
    assert _last(there + "%o = arith.index_castui %i : i32 to index").multiple == 4
    assert _last(there + "%o = arith.index_cast %i : i32 to index").multiple == 4
    triple = (
        "%i = arith.index_cast %p : index to i32\n%c = arith.constant 3 : i32\n"
        "%m = arith.muli %i, %c overflow<nsw> : i32\n"
    )
    assert _last(triple + "%o = arith.extui %m : i32 to i64").multiple == 1


_CONSTANTS = st.one_of(
    st.sampled_from([0, 1, 2, 3, 4, 7, 8, 12, 16, 24, 63, 64, 96, 128, 4096]),
    st.integers(-200, 5000),
    st.integers(-(1 << 40), 1 << 40),
)
_LEAF = st.one_of(st.integers(-70, 300), st.integers(-(1 << 31), (1 << 31) - 1))


def _check(bits: Bits, number: int, width: int) -> None:
    mask = (1 << width) - 1
    assert number & ~bits.may & mask == 0
    assert number & bits.must == bits.must
    assert number <= bits.upper
    if bits.multiple == 0:
        assert number == 0
        return
    value = number if bits.bounded else signed(number, width)
    assert value % bits.multiple == 0
    congruence = bits.congruence
    if congruence.modulus == 0:
        assert number == congruence.residue
    else:
        assert value % congruence.modulus == congruence.residue


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    body=index_programs({"index": ["%x", "%y", "%p", "%q"], "i1": ["%b"]}, _CONSTANTS),
    samples=st.lists(
        st.tuples(st.integers(0, 63), st.integers(0, 2), _LEAF, _LEAF, st.booleans()),
        min_size=3,
        max_size=6,
    ),
)
def test_facts_hold_for_every_value_of_random_programs(body, samples):
    parsed = _parse(_THREADS + body)
    analysis, operations = IndexBits(parsed.function), _body(parsed)
    arguments = list(parsed.function.regions[0].blocks[0].arguments)
    for x, y, p, q, b in samples:
        leaves = dict(zip(arguments, (p, q, int(b)), strict=True))
        leaves |= {operations[0].results[0]: x, operations[1].results[0]: y}
        leaves[operations[2].results[0]] = 0
        for width in (32, 64):
            for operation in operations[3:-1]:
                for result in operation.results:
                    try:
                        number = evaluate(result, leaves, width)
                    except UndefinedError:
                        continue
                    _check(analysis.of(result), number, width_of(result, width))


def test_induction_variables_of_a_forall():
    body = (
        "scf.forall (%i, %j) = (0, 32) to (16, %p) step (1, 64) {\n"
        "  %o = arith.addi %i, %j : index\n}"
    )
    parsed = _parse(body)
    (loop,) = parsed.operations("scf.forall")
    bits = IndexBits(parsed.function)
    first, second = (bits.of(argument) for argument in loop.regions[0].blocks[0].arguments)
    assert first.upper == 15
    assert (second.congruence.modulus, second.congruence.residue) == (64, 32)
    assert not second.bounded
