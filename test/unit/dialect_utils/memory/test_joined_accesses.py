# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which accesses the backend may join."""

from __future__ import annotations

import pytest

from bankwise.bank_model.accesses import LdsAccess
from bankwise.dialect_utils.gpu_target import Launch
from bankwise.dialect_utils.index.lane_values import LaneEvaluator
from bankwise.dialect_utils.memory.allocation_traces import AllocationTraces
from bankwise.dialect_utils.memory.flow import lds_allocations
from bankwise.dialect_utils.memory.joined_accesses import (
    MOST_UNROLLED,
    BlockOrders,
    emitted_accesses,
    stand_among_conditions,
)
from bankwise.dialect_utils.memory.lds_accesses import ordinary_accesses

from ...functions import lds, parse, traced

TILE = lds("4096xf32")
LAUNCH = Launch((128, 1, 1), 64)


def emitted(
    body: str, tile: str = TILE, through_conditions: bool = False
) -> tuple[tuple[LdsAccess, ...], int]:
    """The accesses as the backend may emit them, and how many there are in the unrolled program."""
    constants = "\n".join(f"%c{n} = arith.constant {n} : index" for n in (0, 1, 2, 3, 4, 6, 8, 100))
    text = f"""
func.func @f(%v: f32, %condition: i1) {{
  {constants}
  %x = gpu.thread_id x
  %m = memref.alloc() : {tile}
  {body}
  return
}}"""
    parsed = parse(text.replace("TILE", tile))
    (found,) = traced(parsed, LAUNCH, MOST_UNROLLED)
    assert not found.unknown
    accesses = ordinary_accesses([found])
    assert stand_among_conditions(accesses, BlockOrders()) == ("scf.if" in body)
    return emitted_accesses(found.tile, accesses, through_conditions), len(accesses)


def joined(
    body: str, tile: str = TILE, through_conditions: bool = False
) -> tuple[LdsAccess, ...] | None:
    """The accesses as the backend may emit them; None if it may join none of them."""
    found, written = emitted(body, tile, through_conditions)
    return found if len(found) < written else None


def loop(iterations: int, stride: int, body: str = "%l = memref.load %m[%o] : TILE") -> str:
    return f"""scf.for %i = %c0 to %c{iterations} step %c1 {{
      %o = affine.apply affine_map<(d0)[s0] -> (d0 + s0 * {stride})>(%i)[%x]
      {body}
    }}"""


def shapes(accesses: tuple[LdsAccess, ...] | None) -> list[tuple[int, int]] | None:
    """Returns (first element of lane 1, elements) of each."""
    if accesses is None:
        return None
    return sorted((int(each.elements[0, 1]), each.count) for each in accesses)


NEXT = "affine.apply affine_map<()[s0] -> (s0 * 4 + {})>()[%x]"
LOAD, STORE = "%l = memref.load %m[%o] : TILE", "memref.store %v, %m[%o] : TILE"
ROW = "\n".join(f"%o{i} = {NEXT.format(i)}" for i in range(4))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # The iterations of a loop, as many as fit into 16 aligned bytes.
        (loop(4, 4), [(4, 4)]),
        (loop(3, 4), [(4, 2), (6, 1)]),
        (loop(8, 8), [(8, 4), (12, 4)]),
        (loop(6, 6), [(6, 2), (8, 2), (10, 2)]),
        # No address but lane 0's is aligned to two elements.
        (loop(4, 5), None),
        # No neighbours: the iterations are rows.
        (loop(4, 1, "%r = arith.muli %o, %c4 : index\n%l = memref.load %m[%r] : TILE"), None),
        # Neighbours one after the other, in any order, also vectors.
        (f"{ROW}\n%a = memref.load %m[%o1] : TILE\n%b = memref.load %m[%o0] : TILE", [(4, 2)]),
        (
            f"{ROW}\n%a = vector.load %m[%o0] : TILE, vector<2xf32>\n"
            "%b = memref.load %m[%o2] : TILE\n%c = memref.load %m[%o3] : TILE",
            [(4, 4)],
        ),
        # Two of the same elements stay two.
        (
            f"{ROW}\n%a = memref.load %m[%o0] : TILE\n%b = memref.load %m[%o1] : TILE\n"
            "%c = memref.load %m[%o0] : TILE",
            [(4, 1), (4, 2)],
        ),
        # Two buffers of one layout are filled one after the other: two rows of two.
        (
            f"{ROW}\n%a = memref.load %m[%o0] : TILE\n%b = memref.load %m[%o1] : TILE\n"
            "%c = memref.load %m[%o0] : TILE\n%d = memref.load %m[%o1] : TILE",
            [(4, 2), (4, 2)],
        ),
        # Stores are joined with stores, and not over a barrier, or into another block.
        (f"{ROW}\nmemref.store %v, %m[%o0] : TILE\nmemref.store %v, %m[%o1] : TILE", [(4, 2)]),
        (f"{ROW}\nmemref.store %v, %m[%o0] : TILE\n%a = memref.load %m[%o1] : TILE", None),
        (
            f"{ROW}\nmemref.store %v, %m[%o0] : TILE\n%a = memref.load %m[%o3] : TILE\n"
            "memref.store %v, %m[%o1] : TILE",
            [(4, 2), (7, 1)],
        ),
        # What was stored before is loaded after it, which keeps what is around it apart.
        (
            f"{ROW}\nmemref.store %v, %m[%o0] : TILE\n%a = memref.load %m[%o0] : TILE\n"
            "memref.store %v, %m[%o1] : TILE",
            None,
        ),
        # Another lane has stored it: no lane waits for what others do.
        (
            f"{ROW}\nmemref.store %v, %m[%o0] : TILE\n"
            "%n = affine.apply affine_map<()[s0] -> (s0 * 4 + 4)>()[%x]\n"
            "%a = memref.load %m[%n] : TILE\nmemref.store %v, %m[%o1] : TILE",
            [(4, 2), (8, 1)],
        ),
        # A loop may load what an iteration stores itself, but not what an earlier one has stored.
        (loop(4, 4, f"{LOAD}\n{STORE}"), [(4, 4), (4, 4)]),
        (loop(4, 4, f"{STORE}\n{LOAD}"), None),
        (
            loop(4, 4, f"%n = arith.addi %o, %c1 : index\n%l = memref.load %m[%n] : TILE\n{STORE}"),
            [(4, 4), (5, 1), (6, 2), (8, 1)],
        ),
        (
            loop(4, 4, f"%n = arith.addi %o, %c1 : index\n{LOAD}\n{STORE.replace('%o', '%n')}"),
            None,
        ),
        (
            f"{ROW}\nmemref.store %v, %m[%o0] : TILE\ngpu.barrier\nmemref.store %v, %m[%o1] : TILE",
            None,
        ),
        (
            f"{ROW}\nmemref.store %v, %m[%o0] : TILE\n"
            "scf.if %condition { memref.store %v, %m[%o1] : TILE }",
            None,
        ),
        (
            f"{ROW}\nmemref.store %v, %m[%o0] : TILE\nscf.if %condition {{ gpu.barrier }}\n"
            "memref.store %v, %m[%o1] : TILE",
            None,
        ),
        # Lanes leave the loop one after the other.
        (loop(4, 4).replace("to %c4", "to %x"), None),
        # Too many iterations to unroll.
        (loop(100, 28), None),
        # A barrier in each iteration keeps the iterations apart.
        (loop(4, 4, "%l = memref.load %m[%o] : TILE\ngpu.barrier"), None),
        # So does a condition, which every iteration asks anew.
        (loop(4, 4, "scf.if %condition { %l = memref.load %m[%o] : TILE }"), None),
        # What is around an unrolled loop is not in its block.
        (f"{ROW}\n{loop(2, 4)}\n%l = memref.load %m[%o2] : TILE", [(4, 2), (6, 1)]),
    ],
)
def test_neighbours_are_joined(body: str, expected: list[tuple[int, int]] | None) -> None:
    assert shapes(joined(body)) == expected


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ("scf.if %d { %b = memref.load %m[%o1] : TILE }", [(4, 2)]),
        # In other lanes, or behind a barrier.
        ("scf.if %e { %b = memref.load %m[%o1] : TILE }", None),
        ("gpu.barrier\nscf.if %d { %b = memref.load %m[%o1] : TILE }", None),
        # Behind a store to another element, or to its own.
        (
            "memref.store %v, %m[%o3] : TILE\nscf.if %d { %b = memref.load %m[%o1] : TILE }",
            [(4, 2), (7, 1)],
        ),
        ("memref.store %v, %m[%o1] : TILE\nscf.if %d { %b = memref.load %m[%o1] : TILE }", None),
    ],
)
def test_neighbours_under_equal_conditions_can_be_joined(
    second: str, expected: list[tuple[int, int]] | None
) -> None:
    body = f"""{ROW}
    %d = arith.cmpi ult, %o0, %c100 : index
    %e = arith.cmpi ult, %o0, %c8 : index
    scf.if %d {{ %a = memref.load %m[%o0] : TILE }}
    {second}"""
    assert joined(body) is None
    assert shapes(joined(body, through_conditions=True)) == expected


LOADS = "\n".join(f"%l{i} = memref.load %m[%o{i}] : TILE" for i in range(4))


@pytest.mark.parametrize("body", [f"{ROW}\n{LOADS}", loop(4, 4), loop(4, 5)])
def test_without_conditions_both_readings_are_one(body: str) -> None:
    assert shapes(emitted(body)[0]) == shapes(emitted(body, through_conditions=True)[0])


def test_a_reading_is_made_once_and_apart_from_the_other_where_conditions_are() -> None:
    text = f"""func.func @f(%condition: i1) {{
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %x = gpu.thread_id x
      %m = memref.alloc() : {TILE}
      %n = memref.alloc() : {TILE}
      scf.for %i = %c0 to %c4 step %c4 {{ %a = memref.load %m[%x] : {TILE} }}
      scf.if %condition {{ %b = memref.load %n[%x] : {TILE} }}
      return
    }}"""
    parsed = parse(text)
    traces = AllocationTraces(parsed.function, LaneEvaluator(LAUNCH))
    plain, conditional = lds_allocations(parsed.function)
    assert traces.emitted([plain], True) is traces.emitted([plain])
    assert traces.emitted([conditional], True) is not traces.emitted([conditional])
    assert traces.emitted([conditional]) is not traces.emitted([plain])


@pytest.mark.parametrize(("iterations", "once"), [(4, False), (4096, True)])
def test_accesses_are_traced_once_where_the_backend_unrolls_no_loop(
    iterations: int, once: bool
) -> None:
    tile = lds("4096xf32")
    parsed = parse(f"""func.func @f() {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %last = arith.constant {iterations} : index
      %m = memref.alloc() : {tile}
      scf.for %i = %c0 to %last step %c1 {{ %l = memref.load %m[%i] : {tile} }}
      return
    }}""")
    traces = AllocationTraces(parsed.function, LaneEvaluator(LAUNCH))
    (allocation,) = lds_allocations(parsed.function)
    assert (traces.unrolled(allocation) is traces.written(allocation)) == once


def test_an_instruction_of_its_own_is_joined_with_nothing() -> None:
    tile = lds("4096xf16")
    reads = "\n".join(
        f"%a{i} = amdgpu.transpose_load %m[%o{i}] : TILE -> vector<4xf16>" for i in range(2)
    )
    places = "\n".join(
        f"%o{i} = affine.apply affine_map<()[s0] -> (s0 * 8 + {4 * i})>()[%x]" for i in range(2)
    )
    assert joined(f"{places}\n{reads}", tile) is None
    loads = reads.replace("amdgpu.transpose_load", "vector.load").replace(" -> ", ", ")
    assert shapes(joined(f"{places}\n{loads}", tile)) == [(8, 8)]


def test_a_vector_is_aligned_in_the_iterations_in_which_it_is() -> None:
    # Rows of 65 elements: two of them begin at an even one in rows 0 and 2 only.
    body = loop(
        4,
        2,
        "%r = affine.apply affine_map<(d0)[s0] -> (d0 * 65 + s0 * 2)>(%i)[%x]\n"
        "%l = vector.load %m[%r] : TILE, vector<2xf32>",
    )
    assert shapes(emitted(body)[0]) == [(2, 2), (67, 2), (132, 2), (197, 2)]
    once = body.replace("d0 * 65", "0")
    assert shapes(emitted(once)[0]) == [(2, 2)]


def test_lanes_that_are_off_stay_off() -> None:
    body = f"""%c64 = arith.constant 64 : index
    %on = arith.cmpi ult, %x, %c3 : index
    scf.if %on {{ {ROW}
      memref.store %v, %m[%o0] : TILE
      memref.store %v, %m[%o1] : TILE
    }}"""
    accesses = joined(body)
    assert accesses is not None
    (access,) = accesses
    assert access.count == 2
    assert access.active is not None
    assert access.active.sum() == 3


def test_outer_loops_keep_their_weight() -> None:
    accesses = joined(f"scf.for %k = %c0 to %c6 step %c1 {{ {loop(4, 4)} }}")
    assert accesses is not None
    assert [(access.count, access.weight) for access in accesses] == [(4, 6)]
