# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-form-ldmatrix` leaves every register of every matrix operand as it was.

The operands of a function's `nvgpu.mma.sync` are followed back to the elements of LDS that they
hold, lane by lane, before and after the pass. What `ldmatrix` gives a lane is written down here
once more, from the PTX ISA.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iree.compiler import ir

from bankwise.dialect_utils.builders import Builder
from bankwise.dialect_utils.gpu_target import launch_of
from bankwise.dialect_utils.index.lane_values import LaneEvaluator, LaneValues
from bankwise.dialect_utils.operations import operations_in
from bankwise.passes.decisions import Action, Decision
from bankwise.passes.fragments import ldmatrix_emission
from bankwise.passes.fragments.form_ldmatrix import FormLdmatrix
from bankwise.passes.fragments.matrix_fragments import MatrixAddresses

from ...functions import launched, lds, parse, run

ITERATIONS = 3


@dataclass(frozen=True)
class Operand:
    """A fragment of a tile: `registers` matrices of 8 x 8, at steps of 8 rows and columns."""

    registers: int
    """4 for A, 2 for B."""
    transposed: bool
    row: int
    column: int
    across: bool
    """Whether register 1 is 8 columns on, and not 8 rows."""


@dataclass(frozen=True)
class Program:
    """A loop that multiplies fragments of one tile, with as many rows per warp and iteration."""

    warps: int
    columns: int
    padding: int
    operands: tuple[Operand, ...]
    seed: int

    @property
    def rows(self) -> int:
        """Returns the rows of the tile."""
        return 64 * self.warps + 8 * (ITERATIONS - 1)

    @property
    def memref(self) -> str:
        """Returns the type of the tile."""
        return lds(f"{self.rows}x{self.columns + self.padding}xf16")


def fragment_lines(program: Program, number: int, operand: Operand) -> list[list[str]]:
    """Loads and what follows them, per register, and at last the operand."""
    groups: list[list[str]] = []
    names: list[str] = []
    for register in range(operand.registers):
        first, second = register % 2, register // 2
        down, right = (second, first) if operand.across else (first, second)
        row, column = operand.row + 8 * down, operand.column + 8 * right
        base, lines = f"%o{number}_{register}", list[str]()
        if operand.transposed:
            for k in range(2):
                index = f"d0 floordiv 32 * 64 + d1 * 8 + d0 mod 4 * 2 + {row + k}"
                lines += [
                    f"{base}r{k} = affine.apply affine_map<(d0, d1) -> ({index})>(%t, %i)",
                    f"{base}c{k} = affine.apply affine_map<(d0) -> "
                    f"(d0 mod 32 floordiv 4 + {column})>(%t)",
                    f"{base}e{k} = memref.load %m[{base}r{k}, {base}c{k}] : {program.memref}",
                ]
        else:
            index = f"d0 floordiv 32 * 64 + d1 * 8 + d0 mod 32 floordiv 4 + {row}"
            lines = [
                f"{base}r = affine.apply affine_map<(d0, d1) -> ({index})>(%t, %i)",
                f"{base}c = affine.apply affine_map<(d0) -> (d0 mod 4 * 2 + {column})>(%t)",
                f"{base} = vector.load %m[{base}r, {base}c] : {program.memref}, vector<2xf16>",
                f"{base}e0 = vector.extract {base}[0] : f16 from vector<2xf16>",
                f"{base}e1 = vector.extract {base}[1] : f16 from vector<2xf16>",
            ]
        groups.append(lines)
        names += [f"{base}e0", f"{base}e1"]
    kind = f"vector<{operand.registers}x2xf16>"
    return [*groups, [f"%f{number} = vector.from_elements {', '.join(names)} : {kind}"]]


def source(program: Program) -> str:
    """The program's text; the loads of all operands in any order."""
    order = random.Random(program.seed)
    loads: list[str] = []
    joins: list[str] = []
    waiting = [fragment_lines(program, n, o) for n, o in enumerate(program.operands)]
    groups = [group for fragment in waiting for group in fragment[:-1]]
    order.shuffle(groups)
    for group in groups:
        loads += group
    for fragment in waiting:
        joins += fragment[-1]
    sums, total = list[str](), "%x"
    for number, operand in enumerate(program.operands):
        a, b = (f"%f{number}", "%b") if operand.registers == 4 else ("%a", f"%f{number}")
        sums.append(
            f"%s{number} = nvgpu.mma.sync({a}, {b}, {total}) mmaShape = [16, 8, 16] : "
            "(vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>"
        )
        total = f"%s{number}"
    body = "\n    ".join([*loads, *joins, *sums, f"scf.yield {total} : vector<2x2xf32>"])
    return f"""
func.func @f(%a: vector<4x2xf16>, %b: vector<2x2xf16>, %c: vector<2x2xf32>) -> vector<2x2xf32>
    attributes {{{launched(f"{32 * program.warps}, 1, 1", 32)}}} {{
  %t = gpu.thread_id x
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %iterations = arith.constant {ITERATIONS} : index
  %m = memref.alloc() : {program.memref}
  %r = scf.for %i = %c0 to %iterations step %c1 iter_args(%x = %c) -> (vector<2x2xf32>) {{
    {body}
  }}
  return %r : vector<2x2xf32>
}}
"""


def held(function: ir.Operation) -> list[np.ndarray]:
    """The tile's element in each register element of each operand: [iterations, waves, 32, n]."""
    launch = launch_of(function)
    assert launch is not None
    evaluator = LaneEvaluator(launch)
    shape = (ITERATIONS, launch.waves, 32)

    def address(operation: ir.Operation) -> np.ndarray:
        memref, row, column = operation.operands
        width = ir.MemRefType(memref.type).shape[1]
        values: list[np.ndarray] = []
        for index in (row, column):
            value = evaluator.evaluate(index)
            assert isinstance(value, LaneValues)
            full = value.full(launch)
            values.append(np.broadcast_to(full, shape))
        return values[0] * width + values[1]

    def ldmatrix(operation: ir.Operation) -> np.ndarray:
        rows = address(operation)
        lanes = np.arange(32)
        registers: list[np.ndarray] = []
        for matrix in range(ir.IntegerAttr(operation.attributes["numTiles"]).value):
            for k in range(2):
                if ir.BoolAttr(operation.attributes["transpose"]).value:
                    registers.append(rows[..., 8 * matrix + lanes % 4 * 2 + k] + lanes // 4)
                else:
                    registers.append(rows[..., 8 * matrix + lanes // 4] + lanes % 4 * 2 + k)
        return np.stack(registers, -1)

    def elements(value: ir.Value) -> np.ndarray:
        operation = value.owner.operation
        number = ir.OpResult(value).result_number
        if operation.name == "nvgpu.ldmatrix":
            return ldmatrix(operation)
        if operation.name in ("vector.load", "memref.load"):
            count = value.type.shape[0] if isinstance(value.type, ir.VectorType) else 1
            return address(operation)[..., None] + np.arange(count)
        if operation.name == "vector.from_elements":
            return np.concatenate([elements(each) for each in operation.operands], -1)
        assert operation.name == "vector.extract", operation.name
        assert number == 0
        source = operation.operands[0]
        position = list(ir.DenseI64ArrayAttr(operation.attributes["static_position"]))
        found = elements(source).reshape(*shape, *ir.VectorType(source.type).shape)
        return found[(..., *position, *[slice(None)] * (found.ndim - 3 - len(position)))].reshape(
            *shape, -1
        )

    return [
        elements(operand)
        for mma in operations_in(function, "nvgpu.mma.sync")
        for operand in list(mma.operands)[:2]
        if not isinstance(operand.owner, ir.Block)
    ]


@dataclass(frozen=True)
class Formed:
    """What the operands hold before and after the pass, and what it leaves of a program."""

    before: list[np.ndarray]
    after: list[np.ndarray]
    ldmatrix: int
    loads: int
    decision: Decision

    @property
    def is_same(self) -> bool:
        """Returns whether every register holds what it held."""
        pairs = zip(self.before, self.after, strict=True)
        return all(np.array_equal(before, after) for before, after in pairs)


def formed(program: Program) -> Formed:
    """Runs the pass on a program."""
    parsed = parse(source(program))
    before = held(parsed.function)
    found = run(parsed, FormLdmatrix(), target="sm_80")
    loads = parsed.operations("vector.load", "memref.load")
    matrices = parsed.operations("nvgpu.ldmatrix")
    assert not found.context.log.stands(found.decision)
    return Formed(before, held(parsed.function), len(matrices), len(loads), found.decision)


PLACES = st.integers(0, 5).map(lambda n: 8 * n)
OPERANDS = st.builds(Operand, st.sampled_from([2, 4]), st.booleans(), PLACES, PLACES, st.booleans())
PROGRAMS = st.builds(
    Program,
    warps=st.integers(1, 2),
    columns=st.just(64),
    padding=st.sampled_from([0, 8, 24]),
    operands=st.lists(OPERANDS, min_size=1, max_size=5).map(tuple),
    seed=st.integers(0, 1 << 16),
)


@settings(max_examples=60, deadline=None)
@given(PROGRAMS)
def test_registers_hold_the_same_elements(program: Program) -> None:
    result = formed(program)
    assert result.is_same
    assert result.loads == 0
    # Four registers at a time; an operand of two registers may stay alone, one per kind.
    registers = {
        kind: sum(o.registers for o in set(program.operands) if o.transposed is kind)
        for kind in (False, True)
    }
    assert result.ldmatrix >= sum(-(-count // 4) for count in registers.values())
    assert result.decision.action is Action.LDMATRIX
    # Every load takes a cycle of the LDS without conflicts, and so does every matrix.
    matrices = sum(each.registers for each in program.operands)
    loads = sum(each.registers * (1 + each.transposed) for each in program.operands)
    assert result.decision.detail.startswith(f"{loads} loads become {result.ldmatrix} ldmatrix")
    assert result.decision.detail.endswith(f": {loads} -> {matrices}")


def test_operands_in_order_fill_four_registers_at_a_time() -> None:
    # As IREE's matmuls read them: two A operands, and four B operands side by side.
    a = [Operand(4, False, 16 * n, 0, False) for n in range(2)]
    b = [Operand(2, True, 0, 8 * n, False) for n in range(4)]
    result = formed(Program(2, 64, 0, (*a, *b), seed=1))
    assert result.is_same
    assert (result.ldmatrix, result.loads) == (4, 0)


@pytest.mark.parametrize("padding", [4, 2, 20])
def test_rows_between_multiples_of_16_bytes_stay(padding: int) -> None:
    result = formed(Program(1, 64, padding, (Operand(4, False, 0, 0, False),), seed=2))
    assert result.is_same
    assert (result.ldmatrix, result.loads) == (0, 4)
    decision = result.decision
    assert (decision.action, decision.detail) == (Action.KEEP, "4 loads stay")
    assert decision.reason == "nvgpu.ldmatrix needs addresses that are multiples of 16 bytes"


@pytest.mark.parametrize("transposed", [False, True])
def test_a_wrong_source_lane_is_noticed(monkeypatch: pytest.MonkeyPatch, transposed: bool) -> None:
    # The proof of the emitted indices must not let a lane through that reads elsewhere.
    moved = "_moved"
    honest = getattr(ldmatrix_emission, moved)

    def moved_wrongly(
        at: Builder,
        index: ir.Value,
        thread: ir.Value,
        dimension: int,
        addresses: MatrixAddresses,
    ) -> ir.Value:
        return honest(at, thread if dimension == 0 else index, thread, dimension, addresses)

    monkeypatch.setattr(ldmatrix_emission, moved, moved_wrongly)
    operand = Operand(4, transposed, 0, 0, False)
    result = formed(Program(1, 64, 0, (operand,), seed=3))
    assert result.is_same
    assert result.ldmatrix == 0
    assert result.decision.action is Action.KEEP
    assert result.decision.reason == "no lane can compute where another one reads"
