# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Barriers between writes and reads of the LDS."""

from __future__ import annotations

import pytest

from bankwise.dialect_utils.diagnostics import Refusal
from bankwise.dialect_utils.memory.barrier_order import check_barriers

from ...functions import parse

TILE = "memref<64xf32, #gpu.address_space<workgroup>>"
WRITE = f"vector.store %v, %a[%i] : {TILE}, vector<4xf32>"
READ = f"%{{name}} = vector.load %a[%i] : {TILE}, vector<4xf32>"
BARRIER = "gpu.barrier"


def read(name: str) -> str:
    return READ.format(name=name)


def looped(*body: str) -> str:
    return "scf.for %k = %i to %n step %n {\n" + "\n".join(body) + "\n}"


def guarded(*body: str) -> str:
    return "scf.if %c {\n" + "\n".join(body) + "\n}"


def function(*body: str) -> str:
    return f"""
      func.func @f(%i: index, %n: index, %c: i1, %v: vector<4xf32>) {{
        %a = memref.alloc() : {TILE}
        %b = memref.alloc() : {TILE}
        {chr(10).join(body)}
        return
      }}"""


def shared(loop: str, *body: str) -> str:
    return "scf.forall (%g) = (0) to (64) step (8) {\n" + "\n".join(body) + f"\n}} {loop}"


WORKGROUPS = "{mapping = [#iree_codegen.workgroup_mapping<x>]}"
OTHER = f"vector.store %v, %b[%i] : {TILE}, vector<4xf32>"
GLOBAL = "gpu.barrier memfence [#gpu.address_space<global>]"
LOCAL = "gpu.barrier memfence [#gpu.address_space<workgroup>]"


@pytest.mark.parametrize(
    "body",
    [
        (WRITE, WRITE, BARRIER, read("x"), read("y"), BARRIER, WRITE),
        (WRITE, LOCAL, read("x")),
        (OTHER, read("x"), OTHER),
        # Copies of the next iteration behind the reads of this one.
        (WRITE, looped(BARRIER, read("x"), BARRIER, WRITE), BARRIER, read("y")),
        (looped(BARRIER, guarded(WRITE), BARRIER, read("x")),),
        (f"memref.dealloc %a : {TILE}", WRITE),
        (shared(WORKGROUPS, WRITE, BARRIER, read("x")),),
        (f"%s = memref.subview %a[%i] [4] [1] : {TILE} to "
         "memref<4xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>", WRITE),
    ],
)  # fmt: skip
def test_barriers_in_their_places_are_enough(body: tuple[str, ...]) -> None:
    parsed = parse(function(*body))
    check_barriers(parsed.function)


@pytest.mark.parametrize(
    "body",
    [
        (WRITE, read("x")),
        (read("x"), WRITE),
        (WRITE, GLOBAL, read("x")),
        (WRITE, guarded(BARRIER), read("x")),
        (WRITE, looped(BARRIER), read("x")),
        (guarded(WRITE), read("x")),
        (WRITE, looped(read("x"))),
        # The next iteration writes what this one reads.
        (looped(WRITE, BARRIER, read("x")),),
        (looped(read("x"), BARRIER, WRITE),),
        (shared("", WRITE, BARRIER, read("x")),),
        (shared(WORKGROUPS, WRITE, read("x")),),
        (WRITE, BARRIER, looped(guarded(read("x")), guarded(WRITE))),
        (f"%s = memref.subview %a[%i] [4] [1] : {TILE} to "
         "memref<4xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>",
         "%z = vector.load %s[%i] : memref<4xf32, strided<[1], offset: ?>, "
         "#gpu.address_space<workgroup>>, vector<4xf32>", WRITE),
    ],
)  # fmt: skip
def test_a_missing_barrier_is_found(body: tuple[str, ...]) -> None:
    parsed = parse(function(*body))
    with pytest.raises(Refusal, match="no barrier parts"):
        check_barriers(parsed.function)


def test_what_is_not_known_is_refused() -> None:
    call = f"func.call @g(%a) : ({TILE}) -> ()"
    text = f"func.func private @g({TILE})" + function(call)
    parsed = parse(text)
    with pytest.raises(Refusal, match="unknown way"):
        check_barriers(parsed.operations()[-1].parent.operation)
