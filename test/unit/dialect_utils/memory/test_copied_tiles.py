# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tiles that are copies of others go; what MLIR's `canonicalize` would not fold stays."""

from __future__ import annotations

import pytest
from iree.compiler import ir

from bankwise.dialect_utils.diagnostics import Diagnostic, DiagnosticSink, Refusal
from bankwise.dialect_utils.memory.copied_tiles import merge_copied_tiles
from bankwise.dialect_utils.memory.staged_tensors import is_workgroup_alloc, transfers_of

from ...functions import LDS, Parsed, parse

TILE = f"tensor<16x32xf16, {LDS}>"
ALLOC = f"bufferization.alloc_tensor() <{{memory_space = {LDS}}}> : {TILE}"
IN = "{in_bounds = [true, true]}"
VECTOR = "vector<16x32xf16>"


def staged(*lines: str) -> str:
    """Returns a function that writes a vector to a tile, waits, and goes on with `lines`."""
    body = "\n".join(lines)
    return f"""
    func.func @f(%x: {VECTOR}, %out: memref<16x32xf16>) {{
      %c0 = arith.constant 0 : index
      %c8 = arith.constant 8 : index
      %pad = ub.poison : f16
      %a = {ALLOC}
      %w = vector.transfer_write %x, %a[%c0, %c0] {IN} : {VECTOR}, {TILE}
      %b = iree_gpu.value_barrier %w : {TILE}
      {body}
      return
    }}"""


def read(name: str, tile: str, at: str = "%c0, %c0", vector: str = VECTOR, how: str = IN) -> str:
    return f"%{name} = vector.transfer_read %{tile}[{at}], %pad {how} : {TILE}, {vector}"


def copied(number: int, vector: str, at: str = "%c0, %c0", kind: str = VECTOR) -> str:
    """Returns lines that write a vector to tile `a<number>`, which is ready as `b<number>`."""
    return f"""
      %a{number} = {ALLOC}
      %w{number} = vector.transfer_write %{vector}, %a{number}[{at}] {IN} : {kind}, {TILE}
      %b{number} = iree_gpu.value_barrier %w{number} : {TILE}"""


def stored(vector: str, kind: str = VECTOR) -> str:
    zeros = "%c0, %c0"
    return f"vector.transfer_write %{vector}, %out[{zeros}] {IN} : {kind}, memref<16x32xf16>"


def merged(text: str) -> tuple[Parsed, list[Diagnostic]]:
    parsed = parse(text)
    remarks: list[Diagnostic] = []
    merge_copied_tiles(parsed.function, DiagnosticSink(remarks.append, remarks=True))
    assert parsed.module.operation.verify()
    return parsed, remarks


def tiles(parsed: Parsed) -> list[ir.Operation]:
    return list(filter(is_workgroup_alloc, parsed.operations()))


def readers_after_canonicalize(text: str) -> int:
    """Returns how many reads of the first tile are left by MLIR's own pass."""
    parsed = parse(text)
    parsed.run_native("canonicalize,cse")
    return sum(
        transfer.op.name == "vector.transfer_read" for transfer in transfers_of(tiles(parsed)[0])
    )


TWO_READERS = staged(read("r", "b"), stored("r"), copied(1, "r"), read("s", "b1"), stored("s"))


def test_both_readers_read_one_tile() -> None:
    parsed, remarks = merged(TWO_READERS)
    (tile,) = tiles(parsed)
    kinds = sorted(transfer.op.name for transfer in transfers_of(tile))
    assert kinds == ["vector.transfer_read", "vector.transfer_read", "vector.transfer_write"]
    assert readers_after_canonicalize(TWO_READERS) == 2
    assert [each.message for each in remarks] == [
        "allocation of tensor<16x32xf16> removed: it is a copy of another one"
    ]


def test_a_vector_that_is_only_copied_is_read_once() -> None:
    parsed, _ = merged(staged(read("r", "b"), copied(1, "r"), read("s", "b1"), stored("s")))
    (tile,) = tiles(parsed)
    assert len(transfers_of(tile)) == 2


def test_copies_of_copies_and_second_copies_go() -> None:
    chain = staged(
        read("r", "b"),
        *(copied(1, "r"), read("s", "b1"), stored("s")),
        *(copied(2, "s"), read("t", "b2"), stored("t")),
        *(copied(3, "r"), read("u", "b3"), stored("u")),
    )
    parsed, remarks = merged(chain)
    (tile,) = tiles(parsed)
    assert len(transfers_of(tile)) == 4
    assert len(remarks) == 3


HALF = "vector<8x32xf16>"
TURNED = IN.replace("}", ", permutation_map = affine_map<(i, j) -> (j, i)>}")
SQUARE = "vector<16x16xf16>"


@pytest.mark.parametrize(
    "kept",
    [
        staged(
            read("r", "b", "%c8, %c0", HALF),
            copied(1, "r", kind=HALF),
            read("s", "b1"),
            stored("s"),
        ),
        staged(
            read("r", "b", vector=HALF), copied(1, "r", kind=HALF), read("s", "b1"), stored("s")
        ),
        staged(
            read("r", "b", vector=SQUARE, how=TURNED),
            copied(1, "r", kind=SQUARE),
            read("s", "b1"),
            stored("s"),
        ),
        staged(
            read("r", "b"),
            f"%n = arith.negf %r : {VECTOR}",
            copied(1, "n"),
            read("s", "b1"),
            stored("s"),
        ),
    ],
    ids=["another place", "a part", "transposed", "changed"],
)
def test_other_vectors_keep_their_tiles(kept: str) -> None:
    parsed, remarks = merged(kept)
    assert len(tiles(parsed)) == 2
    assert not remarks
    assert str(parsed) == str(parse(kept))
    assert readers_after_canonicalize(kept) == 1


def test_a_tile_that_is_overwritten_beside_a_reader_is_refused() -> None:
    """Barriers may branch; a write behind one of them leaves the other's readers a copy."""
    text = staged(
        f"%b1 = iree_gpu.value_barrier %w : {TILE}",
        f"%w2 = vector.transfer_write %x, %b1[%c0, %c0] {IN} : {VECTOR}, {TILE}",
        read("r", "b"),
        read("s", "w2"),
        *(stored("r"), stored("s")),
    )
    parsed = parse(text)
    with pytest.raises(Refusal, match="overwritten"):
        transfers_of(tiles(parsed)[0])
