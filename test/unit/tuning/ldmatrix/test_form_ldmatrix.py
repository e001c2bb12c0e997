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
from bankwise.dialect_utils.index.index_builder import EmittedIndex
from bankwise.dialect_utils.index.lane_values import LaneEvaluator, LaneValues
from bankwise.dialect_utils.operations import operations_in
from bankwise.passes.decisions import Action, Decision
from bankwise.tuning.ldmatrix import ldmatrix_emission
from bankwise.tuning.ldmatrix.form_ldmatrix import FormLdmatrix
from bankwise.tuning.ldmatrix.matrix_fragments import MatrixAddresses

from ...functions import HERE, Edit, Kept, assert_kept, each_kept, edited, launched, lds, parse, run

ITERATIONS = 3
UNALIGNED = "nvgpu.ldmatrix needs addresses that are multiples of 16 bytes"


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


def test_operands_that_are_used_one_after_the_other_are_read_together() -> None:
    # Pairs of operands in neighbouring rows, whose loads come in any order.
    operands = [Operand(2, False, row, column, True) for column in (0, 32) for row in (0, 8)]
    for seed in range(4):
        program = Program(1, 64, 0, tuple(operands), seed)
        assert formed(program).is_same
        parsed = parse(source(program))
        run(parsed, FormLdmatrix(), target="sm_80")
        ldmatrix = parsed.operations("nvgpu.ldmatrix")
        products = parsed.operations("nvgpu.mma.sync")
        found = [readers(product.operands[1], ldmatrix) for product in products]
        assert found in ([{0}, {0}, {1}, {1}], [{1}, {1}, {0}, {0}])


def readers(value: ir.Value, ldmatrix: list[ir.Operation]) -> set[int]:
    """Returns the numbers of the `ldmatrix` that read a value."""
    operation = value.owner.operation
    if operation in ldmatrix:
        return {ldmatrix.index(operation)}
    return {number for each in operation.operands for number in readers(each, ldmatrix)}


def test_an_operand_that_is_not_aligned_stays_beside_one_that_is() -> None:
    operands = (Operand(2, False, 0, 0, True), Operand(2, False, 0, 20, True))
    result = formed(Program(1, 64, 0, operands, seed=4))
    assert result.is_same
    assert (result.ldmatrix, result.loads) == (1, 2)
    assert result.decision.reason.endswith(f"; loads kept: 2 ({UNALIGNED})")


@pytest.mark.parametrize("padding", [4, 2, 20])
def test_rows_between_multiples_of_16_bytes_stay(padding: int) -> None:
    result = formed(Program(1, 64, padding, (Operand(4, False, 0, 0, False),), seed=2))
    assert result.is_same
    assert (result.ldmatrix, result.loads) == (0, 4)
    decision = result.decision
    assert (decision.action, decision.detail) == (Action.KEEP, "4 loads stay")
    assert decision.reason == UNALIGNED


@pytest.mark.parametrize("transposed", [False, True])
def test_a_wrong_source_lane_is_noticed(monkeypatch: pytest.MonkeyPatch, transposed: bool) -> None:
    # The proof of the emitted indices must not let a lane through that reads elsewhere.
    moved = "_moved"
    honest = getattr(ldmatrix_emission, moved)

    def moved_wrongly(
        at: Builder,
        index: ir.Value,
        thread: EmittedIndex,
        dimension: int,
        addresses: MatrixAddresses,
    ) -> ir.Value:
        return honest(at, thread.value if dimension == 0 else index, thread, dimension, addresses)

    monkeypatch.setattr(ldmatrix_emission, moved, moved_wrongly)
    operand = Operand(4, transposed, 0, 0, False)
    result = formed(Program(1, 64, 0, (operand,), seed=3))
    assert result.is_same
    assert result.ldmatrix == 0
    assert result.decision.action is Action.KEEP
    assert result.decision.reason == "no lane can compute where another one reads"


# Loads that are almost an operand.

# A B operand of two matrices: rows of a column-major tile, lane l at row l / 4, column 2 (l mod 4),
# and 8 columns further right.
_B_OPERAND = f"""
!tile = memref<8x16xf16, #gpu.address_space<workgroup>>
func.func @f(%a: vector<4x2xf16>, %c: vector<2x2xf32>, %first: i1) -> vector<2x2xf32>
    attributes {{{launched("32, 1, 1", 32)}}} {{
  %t = gpu.thread_id x
  %m = memref.alloc() : !tile // here
  %r = affine.apply affine_map<(t) -> (t floordiv 4)>(%t)
  %k = affine.apply affine_map<(t) -> (t mod 4 * 2)>(%t)
  %k8 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 8)>(%t)
  %0 = vector.load %m[%r, %k] : !tile, vector<2xf16>
  %1 = vector.load %m[%r, %k8] : !tile, vector<2xf16>
  %e0:2 = vector.to_elements %0 : vector<2xf16>
  %e1:2 = vector.to_elements %1 : vector<2xf16>
  %b = vector.from_elements %e0#0, %e0#1, %e1#0, %e1#1 : vector<2x2xf16>
  %x = nvgpu.mma.sync(%a, %b, %c) mmaShape = [16, 8, 16]
      : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %x : vector<2x2xf32>
}}
"""


def _wide(columns: int) -> Edit:
    return ("!tile = memref<8x16x", f"!tile = memref<8x{columns}x")


def _through(line: str, kind: str) -> tuple[Edit, ...]:
    """Returns edits that let both loads be from `%v` of a type, which a line defines."""
    return (
        ("  %r = affine", f"  %v = {line}\n  %r = affine"),
        ("%m[%r, %k] : !tile", f"%v[%r, %k] : {lds(kind)}"),
        ("%m[%r, %k8] : !tile", f"%v[%r, %k8] : {lds(kind)}"),
    )


def _subview(part: str, kind: str) -> tuple[Edit, ...]:
    return _through(f"memref.subview {part} : !tile to {lds(kind)}", kind)


def _where(*condition: str) -> tuple[Edit, ...]:
    """Returns edits that let only those lanes come to the loads for which lines compute `%on`."""
    head = "".join(f"  {line}\n" for line in (*condition, "%s = scf.if %on -> vector<2x2xf32> {"))
    kind = ": vector<2x2xf32>\n"
    tail = f"scf.yield %x {kind}  }} else {{\n  scf.yield %c {kind}  }}\n  return %s"
    return ("  %r = affine", f"{head}  %r = affine"), ("return %x", tail)


_BETWEEN = "a store, a barrier or a branch may come between them"
_OTHER_LANES = "their lanes do not read the rows or columns of an 8x8 matrix"
_SECOND = "  %1 = vector.load"

KEPT: Kept = {
    # Rows of 40 bytes: every other one begins between multiples of 16.
    "misaligned": (UNALIGNED, _wide(20)),
    # The view's rows begin 8 bytes behind those of the allocation.
    "starts at 8 bytes": (
        UNALIGNED,
        _wide(24),
        *_subview("%m[0, 4] [8, 16] [1, 1]", "8x16xf16, strided<[24, 1], offset: 4>"),
    ),
    # Lanes 16 to 31 do not come here.
    "divergent": (
        "not all lanes take part",
        *_where("%c16 = arith.constant 16 : index", "%on = arith.cmpi ult, %t, %c16 : index"),
    ),
    # Nobody knows which lanes come here.
    "condition not known": (
        "not all lanes may take part: the lanes of a wave may differ in whether an scf.if runs it",
        *_where(
            "%flag = memref.load %m[%t, %t] : !tile",
            "%zero = arith.constant 0.0 : f16",
            "%on = arith.cmpf oeq, %flag, %zero : f16",
        ),
    ),
    # The second warp has 16 lanes.
    "not whole warps": ("a warp of the workgroup is not full", ("[32, 1, 1]", "[48, 1, 1]")),
    # Lane 16 of a warp has thread id 0 along x.
    "warps across rows": (
        "the lanes of a warp are not neighbours along x",
        ("[32, 1, 1]", "[16, 2, 1]"),
    ),
    # The second load may read what the store writes, and must not move before it.
    "store between": (
        _BETWEEN,
        (_SECOND, f"  vector.store %0, %m[%r, %k8] : !tile, vector<2xf16>\n{_SECOND}"),
    ),
    # Other warps may store before the second load.
    "barrier between": (_BETWEEN, (_SECOND, f"  gpu.barrier\n{_SECOND}")),
    # Lane l reads at column 2 (l / 8).
    "other lanes": (
        _OTHER_LANES,
        ("(t floordiv 4)", "(t mod 8)"),
        ("(t mod 4 * 2)", "(t floordiv 8 * 2)"),
        ("(t mod 4 * 2 + 8)", "(t floordiv 8 * 2 + 8)"),
    ),
    # Lanes of a row are 4 elements apart.
    "other step": (
        _OTHER_LANES,
        _wide(32),
        ("(t mod 4 * 2)", "(t mod 4 * 4)"),
        ("(t mod 4 * 2 + 8)", "(t mod 4 * 4 + 8)"),
    ),
    # Neighbouring columns are those of different rows.
    "other rows": (_OTHER_LANES, ("(t floordiv 4)", "((t floordiv 4 + t mod 4) mod 8)")),
    # The second matrix is further away in odd rows.
    "uneven": (
        "they are not equally far apart in all lanes",
        _wide(32),
        ("(t mod 4 * 2 + 8)", "(t mod 4 * 2 + 8 + t floordiv 4 mod 2 * 8)"),
    ),
    # The swizzle moves 8 bytes at a time.
    "parted by a swizzle": (
        "a swizzle takes the rows of 16 bytes apart",
        ("!tile = memref<8x16x", "!tile = memref<128x"),
        *_through(
            f"memref.expand_shape %h [[0, 1]] output_shape [8, 16] : !tile into {lds('8x16xf16')}",
            "8x16xf16",
        ),
        (
            "  %v",
            "  %h = iree_codegen.swizzle_hint %m[#iree_codegen.xor_shuffle<64, 4>] : !tile\n  %v",
        ),
    ),
    # A row of 16 bytes would run over the end of the view's row of 12.
    "short rows": (
        "a row of 16 bytes leaves the last dimension of the memref",
        *_subview("%m[0, 0] [8, 12] [1, 1]", "8x12xf16, strided<[16, 1]>"),
    ),
    # A load of the first operand fills a register of the second one too. Each load becomes part of
    # one ldmatrix at most, so that what is left of the second operand stays.
    "shares a load": (
        f"{UNALIGNED}), 1 (another operand has some of the loads of theirs)",
        _wide(20),
        (_SECOND, f"  %k12 = affine.apply affine_map<(t) -> (t mod 4 * 2 + 12)>(%t)\n{_SECOND}"),
        (
            "  return %x",
            """  %2 = vector.load %m[%r, %k12] : !tile, vector<2xf16>
  %e2:2 = vector.to_elements %2 : vector<2xf16>
  %d = vector.from_elements %e1#0, %e1#1, %e2#0, %e2#1 : vector<2x2xf16>
  %y = nvgpu.mma.sync(%a, %d, %x) mmaShape = [16, 8, 16]
      : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
  return %y""",
        ),
    ),
}


@each_kept(KEPT)
def test_loads_that_are_almost_an_operand_stay(reason: str, edits: list[Edit]) -> None:
    text = edited(_B_OPERAND, *edits)
    assert_kept(text, FormLdmatrix(), said=f" loads kept: 2 ({reason}", target="sm_80")


def test_the_operand_itself_is_read_by_ldmatrix() -> None:
    parsed = parse(_B_OPERAND)
    (said,) = run(parsed, FormLdmatrix(), target="sm_80").messages
    assert "2 loads become 1 ldmatrix" in said
    assert len(parsed.operations("nvgpu.ldmatrix")) == 1


def test_an_amd_gpu_has_no_ldmatrix() -> None:
    text = edited(_B_OPERAND, (launched("32, 1, 1", 32), launched("64, 1, 1", 64)))
    parsed = parse(text)
    assert not run(parsed, FormLdmatrix(), target="gfx942").messages
    assert str(parsed) == str(parse(text))


def test_nobody_knows_how_many_lanes_a_function_without_a_launch_has() -> None:
    launch = f"\n    attributes {{{launched('32, 1, 1', 32)}}} {{"
    text = edited(_B_OPERAND, (f" {HERE}", ""), (launch, f" {{ {HERE}"))
    assert_kept(text, FormLdmatrix(), said="no operand is read by ldmatrix: ", target="sm_80")


def test_a_lane_does_not_know_which_of_two_equal_tiles_it_reads() -> None:
    either = _through("arith.select %first, %m, %n : !tile", "8x16xf16")
    text = edited(_B_OPERAND, *either, ("  %v", "  %n = memref.alloc() : !tile\n  %v"))
    parsed = parse(text)
    said = run(parsed, FormLdmatrix(), target="sm_80").said
    assert str(parsed) == str(parse(text))
    tile = "of memref<8x16xf16>"
    lines = text.splitlines()
    found = {
        lines[each.location.line - 1].split()[0]: each.message for each in said if each.location
    }
    assert len(said) == len(found) == 3
    assert all(f"{tile} nothing becomes ldmatrix" in found[name] for name in ("%m", "%n"))
    kept = f"{tile} loads kept: 2 (what they read may be one of several allocations)"
    assert kept in found["%v"]
