# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The hinting pass: what it foresees is what IREE's vector distribution does, and hints last."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from iree.compiler import ir

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.layouts import PlainLayout, SwizzledLayout, layout_conflicts
from bankwise.bank_model.lds_tables import lds_of
from bankwise.bank_model.nested_layout import NestedLayout
from bankwise.bank_model.swizzles import Swizzle
from bankwise.dialect_utils.gpu_target import launch_of
from bankwise.dialect_utils.memory.flow import lds_allocations
from bankwise.dialect_utils.memory.memref_types import tile_of
from bankwise.dialect_utils.memory.staged_tensors import accesses_of, is_workgroup_alloc
from bankwise.dialect_utils.memory.vector_layouts import infer_vector_layouts
from bankwise.dialect_utils.swizzle_hint import hint_swizzle, is_hint
from bankwise.passes.decisions import Action, Decision
from bankwise.passes.swizzles.hint_vector_allocs import HintVectorAllocs

from ...functions import (
    HERE,
    LDS,
    Edit,
    Kept,
    Parsed,
    PassRun,
    assert_kept,
    each_kept,
    edited,
    gpu_target,
    launched,
    parse,
    run,
    traced,
)


def layout(*parts: list[int]) -> str:
    """Returns the attribute of a layout whose tiles and strides are these lists."""
    return str(NestedLayout(*map(tuple, parts)))


K_COPY = layout([1, 1], [4, 1], [1, 1], [16, 16], [1, 8], [0, 0], [16, 1])
K_OPERAND = layout([1, 1], [4, 4], [1, 1], [16, 4], [1, 8], [0, 0], [1, 16])


def staged(
    written: str,
    read: str,
    tile: str = "64x128xf16",
    vector: str = "64x128xf16",
    read_vector: str | None = None,
    write_map: str = "",
    read_map: str = "",
    write_at: tuple[int, ...] = (0, 0),
    read_at: tuple[int, ...] = (0, 0),
    threads: int = 256,
    wave: int = 64,
) -> str:
    """Returns a function that stages one vector through a tile; its arguments come from memory."""
    element = tile.rsplit("x", 1)[1]
    read_vector = read_vector or vector
    constants = sorted({*write_at, *read_at})
    declared = "\n".join(f"%c{i} = arith.constant {i} : index" for i in constants)
    at = [", ".join(f"%c{i}" for i in indices) for indices in (write_at, read_at)]

    def bounds(of: str, permutation_map: str) -> str:
        inside = ", ".join(["true"] * (len(of.split("x")) - 1))
        extra = f", permutation_map = affine_map<{permutation_map}>" if permutation_map else ""
        return f"{{in_bounds = [{inside}]{extra}}}"

    def tensor(of: str) -> str:
        return f"tensor<{of}>"

    staged_type = f"tensor<{tile}, {LDS}>"
    zeros = [", ".join(["%zero"] * (len(of.split("x")) - 1)) for of in (vector, read_vector)]
    return f"""
    func.func @f(%in: memref<{vector}>, %out: memref<{read_vector}>) attributes {{
        {launched(f"{threads}, 1, 1", wave)}}} {{
      {declared}
      %zero = arith.constant 0 : index
      %pad = ub.poison : {element}
      %x = vector.transfer_read %in[{zeros[0]}], %pad {bounds(vector, "")}
        : memref<{vector}>, vector<{vector}>
      %w = iree_vector_ext.to_layout %x to layout({written}) : vector<{vector}>
      %a = bufferization.alloc_tensor() <{{memory_space = {LDS}}}> : {staged_type}
      %t = vector.transfer_write %w, %a[{at[0]}] {bounds(vector, write_map)}
        : vector<{vector}>, {staged_type}
      %b = iree_gpu.value_barrier %t : {staged_type}
      %r = vector.transfer_read %b[{at[1]}], %pad {bounds(read_vector, read_map)}
        : {staged_type}, vector<{read_vector}>
      %l = iree_vector_ext.to_layout %r to layout({read}) : vector<{read_vector}>
      vector.transfer_write %l, %out[{zeros[1]}] {bounds(read_vector, "")}
        : vector<{read_vector}>, memref<{read_vector}>
      return
    }}"""


def allocation(of: ir.Operation) -> ir.Operation:
    return next(op.operation for op in of.regions[0].blocks[0] if is_workgroup_alloc(op))


def hinted(parsed: Parsed, arch: str = "gfx942", options: str = "") -> PassRun:
    return run(parsed, HintVectorAllocs.from_options(options), target=arch)


DISTRIBUTION = (
    "canonicalize,cse,iree-codegen-gpu-combine-value-semantic-barriers,"
    "iree-eliminate-empty-tensors,empty-tensor-to-alloc-tensor,"
    "iree-codegen-gpu-infer-memory-space,iree-codegen-iree-comprehensive-bufferize,"
    "iree-codegen-canonicalize,cse,iree-codegen-cleanup-buffer-alloc-view,canonicalize,cse,"
    "iree-codegen-hoist-statically-bound-allocations,iree-llvmgpu-vector-distribute,"
    "canonicalize,cse"
)
"""What IREE runs from vector allocation to distribution."""


def issues(accesses: tuple[LdsAccess, ...]) -> Counter[tuple[object, ...]]:
    """Returns how often each row of lane addresses is issued."""
    counted: Counter[tuple[object, ...]] = Counter()
    for access in accesses:
        for i, row in enumerate(access.elements):
            lanes = row if access.active is None else np.where(access.active[i], row, -1)
            if (lanes >= 0).any():
                counted[access.kind, access.count, lanes.tobytes()] += access.weight
    return counted


ROWS_OF_4 = layout([1, 1], [2, 1], [1, 1], [16, 16], [1, 4], [0, 0], [16, 1])
CASES = {
    "thread tile over all waves": staged(K_COPY, K_OPERAND),
    "one wave per row block": staged(
        K_COPY, layout([4, 1], [1, 4], [1, 1], [16, 4], [1, 8], [1, 0], [1, 16])
    ),
    "outer tiles": staged(K_COPY, layout([2, 2], [2, 2], [1, 2], [16, 4], [1, 4], [2, 1], [1, 16])),
    "column elements": staged(
        K_COPY, layout([1, 1], [4, 8], [1, 1], [4, 16], [4, 1], [0, 0], [16, 1])
    ),
    "element tile of both dimensions": staged(
        K_COPY, layout([2, 2], [2, 4], [1, 1], [8, 8], [2, 2], [1, 2], [8, 1])
    ),
    "duplicated waves and threads": staged(
        layout([2, 1], [2, 2], [1, 1], [16, 4], [1, 16], [2, 0], [1, 16]),
        layout([1, 1], [4, 8], [1, 1], [16, 2], [1, 8], [0, 0], [4, 2]),
    ),
    "transposing write": staged(
        ROWS_OF_4.replace("batch_tile = [2, 1]", "batch_tile = [4, 1]"),
        layout([1, 1], [1, 4], [1, 1], [64, 4], [1, 4], [0, 0], [1, 64]),
        tile="64x64xf32",
        vector="64x64xf32",
        write_map="(d0, d1) -> (d1, d0)",
    ),
    "transposing read": staged(
        ROWS_OF_4.replace("batch_tile = [2, 1]", "batch_tile = [4, 1]"),
        layout([1, 1], [1, 4], [1, 1], [64, 4], [1, 4], [0, 0], [1, 64]),
        tile="64x64xf32",
        vector="64x64xf32",
        read_map="(d0, d1) -> (d1, d0)",
    ),
    "part of a larger tile": staged(
        ROWS_OF_4,
        ROWS_OF_4,
        tile="3x96x72xf16",
        vector="32x64xf16",
        write_map="(d0, d1, d2) -> (d1, d2)",
        read_map="(d0, d1, d2) -> (d1, d2)",
        write_at=(1, 32, 8),
        read_at=(2, 64, 4),
    ),
    "partial last wave": staged(
        layout([1, 1], [4, 1], [1, 1], [8, 12], [1, 4], [0, 0], [12, 1]),
        layout([1, 1], [4, 1], [1, 1], [8, 12], [1, 4], [0, 0], [1, 8]),
        tile="32x48xf16",
        vector="32x48xf16",
        threads=96,
    ),
}


def hint_chain(value: ir.Value) -> tuple[Swizzle, ...]:
    """Returns the swizzles of the hints that directly produce `value`, the innermost first."""
    if isinstance(value.owner, ir.Block) or not is_hint(value.owner):
        return ()
    return (*hint_chain(value.owner.operands[0]), hint_swizzle(value.owner))


def tile(alloc: ir.Operation) -> LdsTile:
    return tile_of(ir.RankedTensorType(alloc.results[0].type))


@pytest.mark.parametrize("case", CASES)
def test_foreseen_accesses_are_those_after_distribution(case: str) -> None:
    parsed = parse(CASES[case])
    f = parsed.function
    launch = launch_of(f)
    assert launch is not None
    alloc = allocation(f)
    foreseen = accesses_of(alloc, tile(alloc), infer_vector_layouts(f), launch)
    parsed.run_native(DISTRIBUTION)
    (found,) = traced(parsed, launch)
    assert not found.unknown
    assert issues(foreseen) == issues(found.accesses)


@pytest.mark.parametrize("case", ["thread tile over all waves", "column elements"])
def test_hints_last_until_distribution(case: str) -> None:
    parsed = parse(CASES[case])
    decision = hinted(parsed).decision
    assert decision.action is Action.HINT
    parsed.run_native(DISTRIBUTION)
    (buffer,) = lds_allocations(parsed.function)
    users = [use.owner for use in buffer.results[0].uses]
    (hint,) = [op for op in users if is_hint(op)]
    assert {op.operation.name for op in users if not is_hint(op)} <= {"memref.dealloc"}
    last, user = hint, next(use.owner for use in hint.results[0].uses)
    while is_hint(user):
        last, user = user, next(use.owner for use in user.results[0].uses)
    chain = hint_chain(last.results[0])
    assert " of ".join(map(str, chain)) == decision.detail


def test_chain_order_and_counts() -> None:
    """The hints as emitted, read back, have the conflict cycles that the decision states."""
    text = staged(
        layout([1, 1], [8, 1], [1, 1], [8, 32], [1, 4], [0, 0], [32, 1]),
        layout([4, 1], [1, 32], [1, 1], [16, 4], [1, 1], [1, 0], [1, 16]),
        tile="64x128xf32",
        vector="64x128xf32",
    )
    parsed = parse(text)
    f = parsed.function
    launch = launch_of(f)
    assert launch is not None
    alloc = allocation(f)
    held = tile(alloc)
    accesses = accesses_of(alloc, held, infer_vector_layouts(f), launch)
    found = hinted(parsed)
    write = parsed.operations("vector.transfer_write")[0]
    chain = hint_chain(write.operands[1])
    assert len(chain) > 1
    decision = found.decision
    assert " of ".join(map(str, chain)) == decision.detail
    lds = lds_of("gfx942")
    before = layout_conflicts(lds, held, PlainLayout(), accesses)
    after = layout_conflicts(lds, held, SwizzledLayout(chain), accesses)
    assert (decision.conflict_cycles_before, decision.conflict_cycles_after) == (before, after)
    assert decision.lds_bytes_before == decision.lds_bytes_after == 64 * 128 * 4
    assert found.messages == [
        f"allocation of tensor<64x128xf32> swizzled with {decision.detail}: "
        f"{before} conflict cycles -> {after}"
    ]


def test_max_chain_limits_the_hints() -> None:
    text = staged(
        layout([4, 1], [1, 1], [1, 1], [4, 16], [4, 1], [1, 0], [16, 1]),
        layout([4, 1], [1, 4], [1, 1], [16, 4], [1, 1], [1, 0], [1, 16]),
        tile="64x16xf32",
        vector="64x16xf32",
    )
    after = []
    for limit in (1, 3):
        parsed = parse(text)
        decision = hinted(parsed, options=f"max-chain={limit}").decision
        assert 1 <= str(parsed).count("iree_codegen.swizzle_hint") <= limit
        after.append(decision.conflict_cycles_after)
    assert after[0] > after[1] == 0


def test_defers_to_a_better_padding() -> None:
    """Columns of 16 rows in, columns of 8 row pairs out: one xor_shuffle leaves a conflict."""
    text = staged(
        layout([1, 1], [4, 2], [1, 1], [16, 2], [1, 1], [0, 0], [1, 16]),
        layout([1, 1], [4, 1], [1, 1], [8, 4], [2, 1], [0, 0], [1, 8]),
        tile="64x4xf32",
        vector="64x4xf32",
        threads=32,
        wave=32,
    )

    def decide(options: str) -> Decision:
        return hinted(parse(text), "sm_80", options).decision

    single = decide("max-chain=1")
    assert single.action is Action.HINT
    assert single.conflict_cycles_before is not None
    assert single.conflict_cycles_after is not None
    assert single.conflict_cycles_before > single.conflict_cycles_after > 0
    deferred = decide("max-chain=1 defer-to-padding=true")
    assert deferred.action is Action.KEEP
    assert "padding costs less than the best swizzle" in deferred.reason
    # A chain of two leaves no conflict, which no padding beats.
    chain = decide("max-chain=2 defer-to-padding=true")
    assert (chain.action, chain.conflict_cycles_after) == (Action.HINT, 0)


def test_unknown_target_is_one_remark() -> None:
    parsed = parse(CASES["column elements"])
    before = str(parsed)
    found = hinted(parsed, arch="gfx908")
    assert str(parsed) == before
    assert found.messages == ["allocations not swizzled: the LDS of gfx908 is not known"]
    assert found.decision.action is Action.KEEP


def test_running_twice_changes_nothing() -> None:
    parsed = parse(CASES["thread tile over all waves"])
    hinted(parsed)
    once = str(parsed)
    decision = hinted(parsed).decision
    assert str(parsed) == once
    assert decision.reason == "it has a swizzle hint already"


# Allocations that stay as they are.

# The K tile of an attention: copied in rows, read as a matrix operand, 16 rows at a time.
_LAUNCH = launched("256, 1, 1")
_K_TILE = f"""
!tile = tensor<64x128xf16, {LDS}>
!v = vector<64x128xf16>
func.func @f(%k: !v, %v: !v, %m: vector<64x128xi1>, %s: vector<f16>, %i: index) -> !v
    attributes {{{_LAUNCH}}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %pad = ub.poison : f16
  %x = iree_vector_ext.to_layout %k to layout({K_COPY}) : !v
  %a = bufferization.alloc_tensor() <{{memory_space = {LDS}}}> : !tile // here
  %w = vector.transfer_write %x, %a[%c0, %c0] {{in_bounds = [true, true]}} : !v, !tile
  %r = vector.transfer_read %w[%c0, %c0], %pad {{in_bounds = [true, true]}} : !tile, !v
  %y = iree_vector_ext.to_layout %r to layout({K_OPERAND}) : !v
  return %y : !v
}}
"""
_ALLOC, _WRITE, _READ, _ANCHOR, _RETURN = _K_TILE.splitlines()[-6:-1]
_TWO_RESULTS = ("-> !v", "-> (!v, !v)")


def _of(element: str) -> tuple[Edit, ...]:
    """Returns edits that let all values have elements of a type."""
    ends = ("tensor<64x128x", "!v = vector<64x128x", "ub.poison : ")
    return tuple((f"{end}f16", f"{end}{element}") for end in ends)


KEPT: Kept = {
    "dynamic shape": (
        "its shape is dynamic",
        ("tensor<64x", "tensor<?x"),
        ("alloc_tensor()", "alloc_tensor(%i)"),
    ),
    "rank 0": (
        "it has rank 0",
        ("tensor<64x128x", "tensor<"),
        (_WRITE, "%w = vector.transfer_write %s, %a[] : vector<f16>, !tile"),
        (_READ, "%r = vector.transfer_read %w[], %pad : !tile, vector<f16>"),
        (_ANCHOR, ""),
        (_RETURN, "return %x : !v"),
    ),
    "parts of bytes": ("its elements of type i4 do not fill bytes", *_of("i4")),
    "indices": ("its element type index has no fixed size", *_of("index")),
    "unknown layout of the reader": (
        "reader layout not found: reaches func.return through vector.interleave",
        (_ANCHOR, "%y = vector.interleave %r, %r : !v -> vector<64x256xf16>"),
        (_RETURN, "return %y : vector<64x256xf16>"),
        ("-> !v\n", "-> vector<64x256xf16>\n"),
    ),
    "unknown layout of the writer": (
        "writer layout not found: comes from a block argument",
        ("transfer_write %x", "transfer_write %v"),
    ),
    # The reads are one value with two to_layout users.
    "readers disagree": (
        "reader layout is not unique: 2 layouts reach it",
        _TWO_RESULTS,
        (
            _RETURN,
            f"%z = iree_vector_ext.to_layout %r to layout({K_COPY}) : !v\nreturn %y, %z : !v, !v",
        ),
    ),
    "layouts meet in an elementwise op": (
        "writer layout is not unique: 2 layouts reach it",
        (
            _ALLOC,
            f"%o = iree_vector_ext.to_layout %k to layout({K_OPERAND}) : !v\n"
            f"%sum = arith.addf %x, %o : !v\n{_ALLOC}",
        ),
        ("transfer_write %x", "transfer_write %sum"),
    ),
    # A to_layout that converts through LDS says nothing of its input.
    "conversion through LDS": (
        "reader layout not found: reaches func.return through iree_vector_ext.to_layout",
        (
            f"{K_OPERAND})",
            f"{K_OPERAND}) <{{shared_memory_conversion = #iree_gpu.derived_thread_config}}>",
        ),
    ),
    "index not constant": (
        "a reader's index is not constant",
        ("%w[%c0, %c0], %pad {in_bounds = [true", "%w[%i, %c0], %pad {in_bounds = [false"),
    ),
    "masked": ("a reader is masked", ("%pad {", "%pad, %m {")),
    "masked write": ("a writer is masked", ("%a[%c0, %c0]", "%a[%c0, %c0], %m")),
    "out of bounds": (
        "reader layout cannot be distributed: the transfer leaves dimension 0 of the tile",
        ("%w[%c0, %c0], %pad {in_bounds = [true", "%w[%c1, %c0], %pad {in_bounds = [false"),
    ),
    "view": (
        "tensor.extract_slice uses it",
        (_READ, f"%s = tensor.extract_slice %w[0, 0] [64, 128] [1, 1] : !tile to !tile\n{_READ}"),
        ("%s: vector<f16>", "%scalar: vector<f16>"),
        ("transfer_read %w", "transfer_read %s"),
    ),
    "written twice": (
        "it is used after it was overwritten, which copies it",
        _TWO_RESULTS,
        (_READ, f"{_WRITE.replace('%w', '%w2')}\n{_READ}"),
        (
            _RETURN,
            "\n".join(
                line.replace("%r", "%r2").replace("%w", "%w2").replace("%y", "%y2")
                for line in (_READ, _ANCHOR)
            )
            + "\nreturn %y, %y2 : !v, !v",
        ),
    ),
    "never read": ("nothing reads it", (_READ, ""), (_ANCHOR, ""), (_RETURN, "return %x : !v")),
    "never written": ("nothing writes it", (_WRITE, ""), ("transfer_read %w", "transfer_read %a")),
    "a loop swaps two buffers": (
        "a loop carries it together with another tensor",
        (_ALLOC, f"{_ALLOC}\n{_ALLOC.replace('%a', '%a2')}"),
        (
            _WRITE,
            "%w:2 = scf.for %n = %c0 to %i step %c1 iter_args(%t = %a, %u = %a2) -> (!tile, !tile)"
            f"{{\n{_WRITE.replace('%w', '%z').replace('%a', '%t')}\n"
            "scf.yield %u, %z : !tile, !tile\n}",
        ),
        ("transfer_read %w", "transfer_read %w#0"),
    ),
    "hinted": (
        "it has a swizzle hint already",
        ("%a = bufferization", "%a0 = bufferization"),
        (
            _WRITE,
            "%a = iree_codegen.swizzle_hint %a0[#iree_codegen.rotate_rows<128, 8>] : !tile\n"
            f"{_WRITE}",
        ),
    ),
    "plain is free of conflicts": ("its plain layout has no bank conflict", (K_OPERAND, K_COPY)),
}


@each_kept(KEPT)
def test_allocations_that_stay_plain(reason: str, edits: list[Edit]) -> None:
    text = edited(_K_TILE, *edits)
    assert_kept(text, HintVectorAllocs(), said=f"not swizzled: {reason}", target="gfx942")


def test_no_row_of_a_power_of_two_fills_a_tile_of_61_x_33() -> None:
    rows = layout([1, 1], [1, 33], [1, 1], [61, 1], [1, 1], [0, 0], [1, 0])
    text = staged(rows, rows, tile="61x33xf64", vector="61x33xf64", threads=64)
    text = "\n".join(
        f"{each} {HERE}" if "alloc_tensor" in each else each for each in text.splitlines()
    )
    assert_kept(
        text,
        HintVectorAllocs(),
        said="not swizzled: no legal swizzle has fewer than its",
        target="gfx942",
    )


@pytest.mark.parametrize(
    ("attributes", "target", "reason"),
    [
        ("", "gfx942", "the function has no translation_info with workgroup and subgroup size"),
        (
            launched("256, 1, 1", 32),
            "gfx942",
            "waves of 32 lanes: the LDS of gfx942 is only known for 64",
        ),
        (f"{gpu_target('gfx908')}, {_LAUNCH}", "gfx942", "the LDS of gfx908 is not known"),
        (_LAUNCH, None, "the function has no GPU target"),
    ],
)
def test_a_function_whose_lanes_or_lds_are_not_known(
    attributes: str, target: str | None, reason: str
) -> None:
    text = edited(_K_TILE, (f" {HERE}", ""), ("-> !v\n", f"-> !v {HERE}\n"), (_LAUNCH, attributes))
    assert_kept(text, HintVectorAllocs(), said=f"allocations not swizzled: {reason}", target=target)
