# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many registers the values of a loop are counted to fill."""

from __future__ import annotations

import pytest

from bankwise.tuning.fragments.live_registers import LoopRegisters

from ...functions import lds, parse

LDS = lds("512xf16")


def counted(body: str, before: str = "", reloaded: bool = False) -> int:
    """Returns the registers of a loop that carries %x, a vector<4xf32>, and yields %y.

    Args:
        reloaded: whether the vectors of the function's arguments are reloaded.
    """
    text = f"""
        func.func @f(%a: vector<8xf32>, %b: vector<8xf32>, %h: vector<2xf16>, %c: f32,
            %tile: {LDS}, %global: memref<512xf16>, %i: index, %begin: vector<4xf32>) {{
          {before}
          %r = scf.for %t = %i to %i step %i iter_args(%x = %begin) -> (vector<4xf32>) {{
            {body}
            scf.yield %y : vector<4xf32>
          }}
          return
        }}"""
    parsed = parse(text)
    (loop,) = parsed.operations("scf.for")[:1]
    arguments = list(parsed.function.regions[0].blocks[0].arguments)
    return LoopRegisters(loop).count(arguments[:2] if reloaded else ())


PASSED_ON = "%y = arith.negf %x : vector<4xf32>"
"""The carried value needs 4 registers, before and after."""


def twice(value: str, kind: str, name: str) -> str:
    """Uses a value before anything else and behind it."""
    return f"%{name} = arith.addf {value}, {value} : {kind}"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (PASSED_ON, 4),
        # What comes from before the loop lives through all of it: 8 registers, and 1 for two f16.
        (f"{twice('%a', 'vector<8xf32>', 'n')}\n{PASSED_ON}", 12),
        (f"{twice('%h', 'vector<2xf16>', 'n')}\n{PASSED_ON}", 5),
        # A result lives until its last use.
        (f"%n = arith.negf %c : f32\n{PASSED_ON}\n{twice('%n', 'f32', 'm')}", 6),
        # Constants and indices are not counted.
        (
            "%k = arith.constant dense<1.0> : vector<4xf32>\n%j = arith.addi %i, %t : index\n"
            "%y = arith.addf %x, %k : vector<4xf32>",
            4,
        ),
        # What moves elements takes nothing: a broadcast value is in one register,
        (
            "%n = vector.broadcast %c : f32 to vector<4xf32>\n"
            "%y = arith.addf %x, %n : vector<4xf32>",
            5,
        ),
        # and of a vector only those elements live that are used.
        (
            "%n = vector.extract_strided_slice %a offsets = [4], sizes = [4], strides = [1] : "
            "vector<8xf32> to vector<4xf32>\n%y = arith.addf %x, %n : vector<4xf32>",
            8,
        ),
        # At a dynamic place it makes elements of its own: those of %a, and 8 more.
        (
            "%n = vector.insert %c, %a[%t] : f32 into vector<8xf32>\n"
            f"{twice('%n', 'vector<8xf32>', 'm')}\n{twice('%a', 'vector<8xf32>', 'k')}\n"
            f"{PASSED_ON}",
            20,
        ),
        # Integers that are no vectors are not counted, nor what moves make of them.
        (
            "%k = arith.index_cast %t : index to i32\n"
            "%n = vector.broadcast %k : i32 to vector<4xi32>\n"
            f"%m = arith.muli %n, %n : vector<4xi32>\n{PASSED_ON}",
            4,
        ),
    ],
)
def test_elements_are_counted_where_they_live(body: str, expected: int) -> None:
    assert counted(body) == expected


def test_carried_values_live_until_their_last_use() -> None:
    wide = "%n = arith.addf %a, %b : vector<8xf32>\n%m = arith.negf %n : vector<8xf32>"
    late = f"{wide}\n%y = arith.negf %x : vector<4xf32>"
    early = f"%u = arith.negf %c : f32\n%y = vector.broadcast %u : f32 to vector<4xf32>\n{wide}"
    # %a, %b, %c and %n, beside %x.
    assert counted(late) == 8 + 8 + 8 + 4
    # The 4 equal elements of %y are one.
    assert counted(early) == 8 + 8 + 1 + 8 + 1


@pytest.mark.parametrize(
    # With two addresses in the LDS.
    ("memory", "kind", "expected"),
    [("tile", LDS, 4 + 4 + 2), ("global", "memref<512xf16>", 4 + 4 + 4)],
)
def test_reads_of_the_lds_wait_for_their_first_use(memory: str, kind: str, expected: int) -> None:
    body = f"""
        %p = vector.load %{memory}[%i] : {kind}, vector<8xf16>
        %q = vector.load %{memory}[%t] : {kind}, vector<8xf16>
        %n = arith.negf %p : vector<8xf16>
        %m = arith.negf %q : vector<8xf16>
        {PASSED_ON}"""
    assert counted(body) == expected


def test_what_is_only_stored_is_not_counted() -> None:
    body = f"""
        %p = vector.load %global[%i] : memref<512xf16>, vector<8xf16>
        %yes = arith.constant true
        scf.if %yes {{
          vector.store %p, %tile[%i] : {LDS}, vector<8xf16>
        }}
        {PASSED_ON}"""
    assert counted(body) == 4


def test_addresses_that_differ_by_constants_are_one() -> None:
    body = f"""
        %k = arith.constant 64 : index
        %at = arith.addi %i, %t : index
        %further = arith.addi %at, %k : index
        %p = vector.load %tile[%at] : {LDS}, vector<2xf16>
        %q = vector.load %tile[%further] : {LDS}, vector<2xf16>
        %n = arith.addf %p, %q : vector<2xf16>
        {PASSED_ON}"""
    assert counted(body) == 4 + 2 + 1


def test_reads_are_counted_at_their_first_use() -> None:
    body = f"""
        %p = vector.load %tile[%i] : {LDS}, vector<8xf16>
        %n = arith.negf %p : vector<8xf16>
        {PASSED_ON}
        %m = arith.addf %a, %b : vector<8xf32>
        %o = arith.negf %p : vector<8xf16>
        %q = arith.negf %m : vector<8xf32>"""
    # %a, %b, %m and %y, and an address, but no more %p.
    assert counted(body) == 8 + 8 + 8 + 4 + 1


def test_reloaded_values_are_counted_at_their_first_use() -> None:
    body = f"""
        %n = arith.negf %a : vector<8xf32>
        %m = arith.negf %b : vector<8xf32>
        {PASSED_ON}"""
    assert counted(body) == 8 + 8 + 4
    assert counted(body, reloaded=True) == 8 + 4


def test_values_inside_of_one_operation_are_not_counted() -> None:
    body = f"""
        %yes = arith.constant true
        %n = scf.if %yes -> vector<8xf32> {{
          %u = arith.negf %a : vector<8xf32>
          %v = arith.negf %u : vector<8xf32>
          scf.yield %v : vector<8xf32>
        }} else {{
          scf.yield %b : vector<8xf32>
        }}
        {twice("%n", "vector<8xf32>", "m")}
        {PASSED_ON}"""
    # %a and %b, used inside, and %n, beside %x.
    assert counted(body) == 8 + 8 + 8 + 4


def test_a_move_outside_of_the_loop_takes_nothing() -> None:
    before = "%f = vector.shape_cast %a : vector<8xf32> to vector<2x4xf32>"
    body = f"""
        {twice("%a", "vector<8xf32>", "n")}
        {twice("%f", "vector<2x4xf32>", "m")}
        {PASSED_ON}"""
    assert counted(body, before) == 8 + 4
