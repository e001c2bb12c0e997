# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resolved offsets against the documented formulas of the swizzle attributes."""

from __future__ import annotations

from collections.abc import Iterable
from math import lcm

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from iree.compiler import ir

from bankwise.bank_model.swizzle_legality import contiguous_run
from bankwise.bank_model.swizzles import RotateRows, Swizzle, XorShuffle
from bankwise.dialect_utils.diagnostics import PassFailure
from bankwise.passes.decisions import Action, Decision
from bankwise.passes.swizzles.resolve_swizzle_hints import ResolveSwizzleHints
from bankwise.passes.swizzles.swizzle_arithmetic import XorNetwork

from ...functions import Parsed, PassRun, launched, lds, parse, run
from ...index_evaluator import UndefinedError, evaluate

_INFO = launched("64, 4, 1")
_SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much]


def _resolve(text: str) -> tuple[Parsed, PassRun]:
    parsed = parse(text)
    return parsed, run(parsed, ResolveSwizzleHints())


def _chain_text(chain: tuple[Swizzle, ...], kind: str) -> tuple[str, str]:
    """Returns hints of `%a` and the name of the last one's result."""
    lines, value = [], "%a"
    for number, swizzle in enumerate(chain):
        lines.append(
            f"%h{number} = iree_codegen.swizzle_hint {value}[#iree_codegen.{swizzle}] : {kind}"
        )
        value = f"%h{number}"
    return "\n".join(lines), value


def _apply(chain: tuple[Swizzle, ...], offsets: np.ndarray) -> np.ndarray:
    for swizzle in reversed(chain):
        offsets = swizzle.apply(offsets)
    return offsets


_POWERS = st.sampled_from([1, 2, 4, 8])


@st.composite
def _swizzles(draw: st.DrawFn, powers_only: bool = False) -> Swizzle:
    odd = st.just(1) if powers_only else st.sampled_from([1, 1, 1, 3, 5])
    access = draw(_POWERS) * draw(odd)
    if draw(st.booleans()) and not powers_only:
        return RotateRows(access * draw(st.sampled_from([1, 2, 3, 4, 6, 8, 16])), access)
    groups = draw(st.sampled_from([1, 2, 4, 8, 16]))
    row = access * groups
    stride = row * draw(st.sampled_from([1, 1, 2, 4, 8] if powers_only else [1, 1, 2, 3, 4]))
    phase = draw(st.sampled_from([p for p in (1, 1, 2, 4, 8) if p <= groups]))
    if not powers_only and groups > 2 and draw(st.booleans()):
        phase = 3
    return XorShuffle(row, access, stride, phase)


def _chains(powers_only: bool = False) -> st.SearchStrategy[tuple[Swizzle, ...]]:
    return st.lists(_swizzles(powers_only), min_size=1, max_size=3).map(tuple)


_RARE_CHAINS: tuple[tuple[Swizzle, ...], ...] = (
    # One after the other takes two terms, at once it would take three.
    (XorShuffle(16, 4, 16, 1), XorShuffle(64, 16, 256, 1)),
    # Single bits: 3 ^= 6 after 6 ^= 8.
    (XorShuffle(16, 8, 64, 1), XorShuffle(128, 64, 256, 1)),
    (RotateRows(64, 8),),
    (RotateRows(32, 4),),
    (RotateRows(24, 4),),
    (RotateRows(16, 4), XorShuffle(32, 8)),
)
_ALL_CHAINS = st.one_of(_chains(powers_only=True), _chains(), st.sampled_from(_RARE_CHAINS))


@st.composite
def _offsets(draw: st.DrawFn, align: int, row: int) -> str:
    """Returns lines that define %o0, %o1, ... from %x, %y, %i (a loop's) and %p (anything)."""
    lines: list[str] = []
    count = draw(st.integers(1, 4))
    constants = st.one_of(
        st.one_of(st.integers(0, 20), st.integers(-40, 400)).map(lambda c: c * align),
        st.tuples(st.integers(0, 9), st.integers(0, 3)).map(lambda c: c[0] * row + c[1] * align),
    )
    for n in range(count):
        lines.append(f"%c{n} = arith.constant {draw(constants)} : index")
    lines.append(f"%ca = arith.constant {align} : index")
    lines.append("%pa = arith.muli %p, %ca overflow<nsw> : index")
    a, b = (draw(st.sampled_from(["%x", "%y", "%i", "%c0"])) for _ in range(2))
    strides = [*(factor * align for factor in (1, 2, 3, 4, 8, 16)), row, row, 2 * row, 4 * row]
    s, t = (draw(st.sampled_from(strides)) for _ in range(2))
    base = draw(st.integers(0, 5))
    lines.append("%d:2 = affine.delinearize_index %x into (8) : index, index")
    if base == 0:
        lines.append(
            f"%b = affine.apply affine_map<()[s0, s1] -> (s0 * {s} + s1 * {t} + {4 * align})>()"
            f"[{a}, {b}]"
        )
    elif base == 1:
        lines.append("%z = arith.constant 0 : index")
        lines.append(
            f"%b = affine.linearize_index [{a}, %d#1, {b}, %z] by (8, 16, {align}) : index"
        )
    elif base == 2:
        lines.append("%z = arith.constant 0 : index\n%s = arith.constant 3 : index")
        lines.append("%a3 = arith.addi %d#0, %s : index")
        lines.append(
            "%b = affine.linearize_index disjoint [%s, %d#1, %a3, %z] "
            f"by (4, 8, 16, {align}) : index"
        )
    elif base == 5:
        lines.append("%z = arith.constant 0 : index\n%s = arith.constant 7 : index")
        lines.append("%p7 = arith.addi %p, %s : index")
        lines.append(
            f"%b = affine.linearize_index disjoint [%d#1, %p7, %z] by (8, 16, {align}) : index"
        )
    elif base == 3:
        lines.append("%b = arith.addi %pa, %c0 overflow<nsw> : index")
    else:
        lines.append(f"%ba = arith.muli {a}, %ca overflow<nsw> : index")
        lines.append("%b = arith.addi %ba, %pa overflow<nsw> : index")
    for n in range(count):
        op = draw(st.sampled_from(["addi", "addi", "addi", "subi", "xori", "ori"]))
        lines.append(f"%o{n} = arith.{op} %b, %c{n} : index")
    return "\n".join(lines)


def _accesses(offsets: str, value: str, kind: str, width: int) -> tuple[str, int]:
    count = offsets.count("%o")
    vector = f"vector<{width}xf16>"
    lines: list[str] = []
    for n in range(count):
        lines.append(f"%v{n} = vector.load {value}[%o{n}] : {kind}, {vector}")
        lines.append(f"vector.store %v{n}, {value}[%o{n}] : {kind}, {vector}")
        lines.append(f"%s{n} = memref.load {value}[%o{n}] : {kind}")
        lines.append(f"memref.store %s{n}, {value}[%o{n}] : {kind}")
    return "\n".join(lines), count


_ACCESSES = ("vector.load", "vector.store", "memref.load", "memref.store")


def _buffer_accesses(parsed: Parsed) -> list[tuple[ir.Operation, ir.Value, list[int]]]:
    """Returns all accesses in program order, as (operation, offset, places of its elements).

    The places count from the offset.
    """
    found: list[tuple[ir.Operation, ir.Value, list[int]]] = []
    for operation in parsed.operations(*_ACCESSES):
        places = [0]
        if operation.name == "vector.load":
            masks = [_mask(use.owner.operation) for use in operation.results[0].uses]
            taken = masks[0] if masks else None
            count = ir.VectorType(operation.results[0].type).shape[0]
            places = taken or list(range(count))
        elif operation.name == "vector.store":
            value = operation.operands[0]
            taken = _mask(value.owner.operation)
            # A shuffle right behind a load is the load's.
            if taken and value.owner.operation.operands[0].owner.operation.name == "vector.load":
                taken = None
            count = ir.VectorType(value.type).shape[0]
            places = np.argsort(taken).tolist() if taken else list(range(count))
        found.append((operation, operation.operands[-1], places))
    return found


def _mask(operation: ir.Operation) -> list[int] | None:
    if operation.name != "vector.shuffle":
        return None
    return list(ir.DenseI64ArrayAttr(operation.attributes["mask"]))


def _alignment(operation: ir.Operation, unless: int) -> int:
    """Returns the alignment that an operation promises in bytes, `unless` it promises none."""
    promised = "alignment" in operation.attributes
    return ir.IntegerAttr(operation.attributes["alignment"]).value if promised else unless


def _alignments(parsed: Parsed) -> list[int]:
    """Returns the alignment that each access promises in bytes, in program order; 1 if none."""
    return [_alignment(each, 1) for each in parsed.operations(*_ACCESSES)]


def _program(
    chain: tuple[Swizzle, ...], size: int, offsets: str, width: int, in_lds: bool = False
) -> str:
    """Returns accesses to the argument %a, or to an allocation in the LDS."""
    kind = lds(f"{size}xf16") if in_lds else f"memref<{size}xf16>"
    hints, value = _chain_text(chain, kind)
    accesses, _ = _accesses(offsets, value, kind, width)
    argument, allocation = ("%a", "") if not in_lds else ("%_", f"%a = memref.alloc() : {kind}")
    return f"""
func.func @f({argument}: {kind}, %p: index) attributes {{{_INFO}}} {{
  {allocation}
  %x = gpu.thread_id x
  %y = gpu.thread_id y
  %l = arith.constant 0 : index
  %u = arith.constant 6 : index
  %st = arith.constant 2 : index
  {hints}
  scf.for %i = %l to %u step %st {{
    {offsets}
    {accesses}
  }}
  return
}}"""


@settings(max_examples=30, deadline=None, suppress_health_check=_SLOW)
@given(chain=_ALL_CHAINS, data=st.data())
def test_resolved_offsets_equal_the_formula(chain, data):
    rows = data.draw(st.integers(1, 24))
    size = lcm(*(s.row_width for s in chain)) * rows
    run = contiguous_run(chain)
    width = data.draw(st.sampled_from([1, 3, run, run, 2 * run, 4 * run, max(run // 2, 1)]))
    align = data.draw(st.sampled_from([run, run, width, max(run // 2, 1), 1]))
    lds = data.draw(st.booleans())
    text = _program(chain, size, data.draw(_offsets(align, chain[0].row_width)), width, lds)
    samples = data.draw(
        st.lists(
            st.tuples(
                st.integers(0, 63),
                st.integers(0, 3),
                st.sampled_from([0, 2, 4]),
                st.one_of(st.integers(-24, 9), st.integers(-400, size // align)),
            ),
            min_size=12,
            max_size=12,
        )
    )
    module, decision = _check_against_formula(chain, size, text, samples, lds)
    if decision.action is Action.DROP:
        assert width > 1, decision.reason
        assert module.count("vector.load") == text.count("vector.load")


@settings(max_examples=30, deadline=None, suppress_health_check=_SLOW)
@given(chain=_ALL_CHAINS, data=st.data())
def test_vectors_that_may_begin_anywhere_equal_the_formula(chain, data):
    size = lcm(*(s.row_width for s in chain)) * data.draw(st.integers(1, 8))
    run = contiguous_run(chain)
    width = run * data.draw(st.integers(1, 3))
    addend = data.draw(st.sampled_from([0, 0, run, 1, size // 2]))
    offsets = f"%c0 = arith.constant {addend} : index\n%o0 = arith.addi %p, %c0 : index"
    text = _program(chain, size, offsets, width, data.draw(st.booleans()))
    samples = data.draw(st.lists(st.integers(-addend, size), min_size=12, max_size=12))
    samples = [(0, 0, 0, p) for p in (*samples, 0, run)]
    module, decision = _check_against_formula(chain, size, text, samples, None)
    assert decision.action is Action.RESOLVE
    assert module.count("scf.if") == (2 if run > 1 else 0)


def _check_against_formula(
    chain: tuple[Swizzle, ...],
    size: int,
    text: str,
    samples: Iterable[tuple[int, int, int, int]],
    lds: bool | None,
) -> tuple[str, Decision]:
    """Resolves a program and looks where its accesses go for samples of %x, %y, %i and %p."""
    before = parse(text)
    originals = _buffer_accesses(before)
    parsed, found = _resolve(text)
    assert "swizzle_hint" not in str(parsed)
    if lds is not None:
        assert max(_alignments(parsed)) <= _allocation_alignment(parsed, lds)
    decision = found.decision
    for sample in samples:
        leaves = _leaves(parsed, *sample)
        old_leaves = _leaves(before, *sample)
        resolved = iter(zip(_buffer_accesses(parsed), _alignments(parsed), strict=True))
        for _, offset, elements in originals:
            count = len(elements)
            branches = [_pieces(resolved, count)]
            choice = _choice(branches[0][0][1])
            if choice is not None:
                branches.append(_pieces(resolved, count))
            for bits in (32, 64):
                try:
                    logical = evaluate(offset, old_leaves, bits)
                except UndefinedError:
                    continue
                if logical > size - count:
                    continue
                taken = 0 if choice is None or _holds(choice, leaves, bits) else 1
                for start, _, value, places, alignment in branches[taken]:
                    assert evaluate(value, leaves, bits) * 2 % alignment == 0
                    physical = evaluate(value, leaves, bits) + np.array(places)
                    expected = logical + start + np.arange(len(places))
                    if decision.action is Action.RESOLVE:
                        expected = _apply(chain, expected)
                    np.testing.assert_array_equal(physical, expected)
    return str(parsed), decision


_Resolved = tuple[int, ir.Operation, ir.Value, list[int], int]
"""First element, operation, offset, where behind it each element lies, alignment in bytes."""


def _pieces(resolved, count: int) -> list[_Resolved]:
    """Returns the next accesses that together are one of `count` elements."""
    pieces: list[_Resolved] = []
    covered = 0
    while covered < count:
        (operation, value, places), alignment = next(resolved)
        pieces.append((covered, operation, value, places, alignment))
        covered += len(places)
    return pieces


def _choice(operation: ir.Operation) -> ir.Operation | None:
    """Returns the `scf.if` that an access is in."""
    parent = operation.parent.operation
    return parent if parent.name == "scf.if" else None


def _holds(choice: ir.Operation, leaves: dict[ir.Value, int], bits: int) -> bool:
    left, right = choice.operands[0].owner.operation.operands
    return evaluate(left, leaves, bits) == evaluate(right, leaves, bits)


def _allocation_alignment(parsed: Parsed, lds: bool) -> int:
    """Returns what is known of the buffer's address.

    Of an argument only its elements' alignment is known.
    """
    if not lds:
        return 2
    (allocation,) = parsed.operations("memref.alloc")
    return _alignment(allocation, 2)


def _leaves(parsed: Parsed, x: int, y: int, i: int, p: int) -> dict[ir.Value, int]:
    leaves: dict[ir.Value, int] = {parsed.function.regions[0].blocks[0].arguments[1]: p}
    threads = parsed.operations("gpu.thread_id")
    leaves |= {each.results[0]: number for each, number in zip(threads, (x, y), strict=False)}
    loops = parsed.operations("scf.for")
    return leaves | {each.regions[0].blocks[0].arguments[0]: i for each in loops}


@settings(max_examples=30, deadline=None, suppress_health_check=_SLOW)
@given(chain=_ALL_CHAINS, rows=st.integers(1, 8))
def test_a_resolved_chain_permutes_the_allocation(chain, rows):
    """Thread %p reads element %p: all threads together must read every element once."""
    size = lcm(*(s.row_width for s in chain)) * rows
    kind = f"memref<{size}xf16>"
    hints, value = _chain_text(chain, kind)
    parsed, found = _resolve(
        f"func.func @f(%a: {kind}) {{\n%p = gpu.thread_id x upper_bound {size}\n{hints}\n"
        f"%v = memref.load {value}[%p] : {kind}\nreturn\n}}",
    )
    assert found.decision.action is Action.RESOLVE
    ((_, offset, _),) = _buffer_accesses(parsed)
    thread = parsed.operations("gpu.thread_id")[0].results[0]
    offsets = np.arange(0, size, max(1, size // 512))
    resolved = [evaluate(offset, {thread: int(o)}) for o in offsets]
    np.testing.assert_array_equal(resolved, _apply(chain, offsets))
    assert (np.sort(_apply(chain, np.arange(size))) == np.arange(size)).all()


@pytest.mark.parametrize(
    "chain",
    [
        (XorShuffle(16, 4),),
        (XorShuffle(8, 2, 16, 2),),
        (RotateRows(24, 4),),
        (RotateRows(16, 4), XorShuffle(32, 8)),
    ],
)
@pytest.mark.parametrize("length", [1, 6, 15, 24, 31, 32, 48, 70, 96])
def test_a_buffer_of_any_length_is_permuted(chain, length):
    """Element by element and in vectors of two runs, which must find the same places."""
    run = contiguous_run(chain)
    hints, value = _chain_text(chain, "memref<?xf16>")
    parsed, found = _resolve(
        f"func.func @f(%a: memref<?xf16>, %p: index) {{\n{hints}\n"
        f"%v = memref.load {value}[%p] : memref<?xf16>\n"
        f"%q = affine.apply affine_map<()[s0] -> (s0 * {2 * run})>()[%p]\n"
        f"%w = vector.load {value}[%q] : memref<?xf16>, vector<{2 * run}xf16>\nreturn\n}}",
    )
    assert found.decision.action is Action.RESOLVE
    block = parsed.function.regions[0].blocks[0]
    dims = parsed.operations("memref.dim")
    whole = length % lcm(*(s.row_width for s in chain)) == 0
    offsets = np.arange(length)
    wanted = _apply(chain, offsets) if whole else offsets

    def place(offset: ir.Value, p: int) -> int:
        leaves = {dim.results[0]: length for dim in dims}
        return evaluate(offset, leaves | {block.arguments[1]: p})

    (_, single, _), *runs = _buffer_accesses(parsed)
    assert [place(single, o) for o in range(length)] == wanted.tolist()
    assert sorted(wanted) == offsets.tolist()
    assert len(runs) == 2
    for p in range(length // (2 * run)):
        firsts = [2 * run * p, 2 * run * p + run]
        assert [place(offset, p) for _, offset, _ in runs] == wanted[firsts].tolist()


@pytest.mark.parametrize(
    ("chain", "base", "constants"),
    [
        # Row and group of the constant, in bits that the base leaves free.
        ((RotateRows(64, 8),), "%b = affine.apply affine_map<()[s0] -> (s0 * 8)>()[%y]", (0, 992)),
        ((RotateRows(64, 8),), "%b = affine.apply affine_map<()[s0] -> (s0 * 64)>()[%y]", (0, 760)),
        ((XorShuffle(64, 8),), "%b = affine.apply affine_map<()[s0] -> (s0 * 64)>()[%y]", (0, 760)),
        # A base that can be negative, with more than a period added to it.
        ((RotateRows(24, 4),), "%b = arith.addi %p, %l : index", (200, 384)),
        ((XorShuffle(24, 3, 24, 3),), "%b = arith.addi %p, %l : index", (200, 384)),
        ((RotateRows(64, 8),), "%b = arith.addi %p, %l : index", (200, 800)),
    ],
)
def test_constants_of_every_kind(chain, base, constants):
    size = lcm(*(s.row_width for s in chain)) * 16
    values = range(constants[0], constants[1], 8)
    lines = [base]
    for n, c in enumerate(values):
        lines += [f"%c{n} = arith.constant {c} : index", f"%o{n} = arith.addi %b, %c{n} : index"]
    kind = f"memref<{size}xf16>"
    hints, value = _chain_text(chain, kind)
    loads = [f"%s{n} = memref.load {value}[%o{n}] : {kind}" for n in range(len(values))]
    body = "\n".join([hints, *lines, *loads])
    parsed, found = _resolve(
        f"func.func @f(%a: {kind}, %p: index) attributes {{{_INFO}}} {{\n"
        f"%x = gpu.thread_id x\n%y = gpu.thread_id y\n%l = arith.constant 0 : index\n"
        f"{body}\nreturn\n}}",
    )
    assert found.decision.action is Action.RESOLVE
    resolved = _buffer_accesses(parsed)
    assert len(resolved) == len(values)
    scale = int(base.partition("* ")[2].partition(")")[0] or 1)
    for sample in range(4) if "%y" in base else range(-constants[0], 0, 13):
        leaves = _leaves(parsed, 0, sample, 0, sample)
        for (_, offset, _), c in zip(resolved, values, strict=True):
            logical = sample * scale + c
            assert 0 <= logical < size
            assert evaluate(offset, leaves) == _apply(chain, np.array([logical])).item()


@pytest.mark.parametrize(
    "chain",
    [chain for chain in _RARE_CHAINS if all(isinstance(s, XorShuffle) for s in chain)]
    + [(XorShuffle(128, 8, 256, 4),), (XorShuffle(32, 8), XorShuffle(32, 16), XorShuffle(8, 1))],
)
def test_networks_equal_the_formula(chain):
    network = XorNetwork.of(chain)
    assert network is not None
    for bits in (4095, 0b1101_1011_0111, 0b1111_0000_0000):
        trimmed, parallel = network.trimmed(bits), network.parallel(bits)
        for offset in range(4096):
            offset &= bits
            expected = _apply(chain, np.array([offset])).item()
            assert network.apply(offset) == expected
            assert trimmed.apply(offset) == expected
            at_once = offset
            for term in parallel:
                at_once ^= offset >> term.distance & term.mask
            assert at_once == expected
            assert expected & ~network.image(bits) == 0


def _resolved_in_lds(
    chain: tuple[Swizzle, ...],
    offset: str,
    width: int,
    waves: int = 4,
    stored: bool = True,
) -> Parsed:
    """Returns a function that loads `width` elements from an LDS array, and stores them.

    They begin at `offset`, an operation on %x and %y, the threads of [64, waves].
    """
    kind, vector = lds("4096xf16"), f"vector<{width}xf16>"
    hints, value = _chain_text(chain, kind)
    store = f"vector.store %v, {value}[%o] : {kind}, {vector}\n" if stored else ""
    parsed, _ = _resolve(
        f"func.func @f() attributes {{{launched(f'64, {waves}, 1')}}} {{\n"
        f"%a = memref.alloc() : {kind}\n"
        f"%x = gpu.thread_id x upper_bound 64\n%y = gpu.thread_id y upper_bound {waves}\n"
        f"%o = {offset}\n{hints}\n"
        f"%v = vector.load {value}[%o] : {kind}, {vector}\n{store}return\n}}"
    )
    return parsed


# A tile of 256 columns, each thread moves 4 elements of one row.
_ROW_OF_FOURS = "affine.apply affine_map<()[s0, s1] -> (s0 * 4 + s1 * 256 + {first})>()[%x, %y]"


@pytest.mark.parametrize(
    ("chain", "first", "order"),
    [
        # Rows 2 and 3 swap the halves of all vectors.
        ((XorShuffle(4, 2, 512, 1),), 512, [2, 3, 0, 1]),
        # All bits of a row of 4: 3 - i.
        ((XorShuffle(4, 1, 256, 1),), 768, None),
        ((XorShuffle(4, 1, 1024, 1),), 3072, [3, 2, 1, 0]),
        # In rows 0 and 1 nothing moves.
        ((XorShuffle(4, 2, 512, 1),), 0, [0, 1, 2, 3]),
        # Pairs swap by rows: waves differ.
        ((XorShuffle(4, 2, 256, 1),), 0, None),
        # Vectors change places in pairs, with their halves swapped.
        ((XorShuffle(8, 2, 1024, 1),), 3072, [2, 3, 0, 1]),
    ],
)
def test_vectors_stay_whole_that_all_lanes_reorder_alike(chain, first, order):
    waves = 2 if chain[0].row_stride == 512 else 4
    parsed = _resolved_in_lds(chain, _ROW_OF_FOURS.format(first=first), 4, waves=waves)
    if order is None:
        found = _buffer_accesses(parsed)
        assert {len(places) for *_, places in found} == {chain[0].access_width}
    else:
        _check_reordered(parsed, chain, order, 4 + 256 + first)


def test_a_vector_that_is_rotated_alike_in_all_lanes_stays_whole():
    """Row 1 of every four: element i of the row lies at (i + 1) mod 4."""
    chain = (RotateRows(4, 1),)
    offset = "affine.apply affine_map<()[s0] -> (s0 * 16 + 4)>()[%x]"
    _check_reordered(_resolved_in_lds(chain, offset, 4), chain, [1, 2, 3, 0], 16 + 4)


def _check_reordered(parsed: Parsed, chain: tuple[Swizzle, ...], order: list[int], start: int):
    """Asserts that a load and a store of four elements are whole, `start` being thread (1, 1)'s."""
    leaves = {each.results[0]: 1 for each in parsed.operations("gpu.thread_id")}
    assert _alignments(parsed) == [8, 8]
    for _, offset, places in _buffer_accesses(parsed):
        assert places == order
        assert evaluate(offset, leaves) * 2 % 8 == 0
        physical = evaluate(offset, leaves) + np.array(places)
        np.testing.assert_array_equal(physical, _apply(chain, start + np.arange(4)))


@pytest.mark.parametrize(
    ("chain", "offset", "width", "alignments"),
    [
        ((XorShuffle(64, 8),), "s0 * 8", 8, [16]),
        ((XorShuffle(64, 8),), "s0 * 8 + 4", 4, [8]),
        ((XorShuffle(64, 8),), "s0 * 2", 2, [4]),
        ((XorShuffle(64, 4),), "s0 * 8", 8, [8, 8]),
        # Three elements are in one register pair or more: 8 bytes help, 16 would not.
        ((XorShuffle(64, 8),), "s0 * 8", 3, [8]),
        # Odd offsets promise nothing.
        ((XorShuffle(64, 8),), "s0 * 8 + 1", 3, [1]),
    ],
)
def test_accesses_say_how_they_are_aligned(chain, offset, width, alignments):
    place = f"affine.apply affine_map<()[s0] -> ({offset})>()[%x]"
    parsed = _resolved_in_lds(chain, place, width, stored=False)
    assert _alignments(parsed) == alignments
    assert _allocation_alignment(parsed, True) == max(2, *alignments)


def test_no_division_and_no_multiplication_for_powers_of_two():
    text = _program(
        (XorShuffle(64, 8, 128, 2), XorShuffle(32, 8)),
        8192,
        "%o0 = affine.apply affine_map<()[s0, s1] -> (s0 * 8 + s1 * 512)>()[%x, %i]",
        8,
    )
    parsed, _ = _resolve(text)
    for name in ("div", "rem", "muli"):
        assert f"arith.{name}" not in str(parsed)


def test_the_pass_fails_for_gather_to_lds_and_leaves_the_function_alone():
    text = """
func.func @f(%g: memref<2048xf32>) {
  %a = memref.alloc() : LDS
  %c0 = arith.constant 0 : index
  %h = iree_codegen.swizzle_hint %a[#iree_codegen.rotate_rows<64, 4>] : LDS
  amdgpu.gather_to_lds %g[%c0], %h[%c0] : vector<4xf32>, memref<2048xf32>, LDS
  %v = vector.load %h[%c0] : LDS, vector<f32>
  return
}""".replace("LDS", lds("2048xf32"))
    parsed = parse(text)
    before = str(parsed)
    with pytest.raises(PassFailure, match=r"must resolve: vector\.load of vector"):
        run(parsed, ResolveSwizzleHints())
    assert str(parsed) == before
