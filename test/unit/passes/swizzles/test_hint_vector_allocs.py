# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The hinting pass: what it foresees is what IREE's vector distribution does, and hints last."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from iree.compiler import ir

from bankwise.bank_model.accesses import LdsAccess, LdsTile
from bankwise.bank_model.layouts import PlainLayout, SwizzledLayout, layout_conflicts
from bankwise.bank_model.nested_layout import NestedLayout
from bankwise.bank_model.swizzles import Swizzle
from bankwise.bank_model.targets import target
from bankwise.dialect_utils.gpu_target import launch_of
from bankwise.dialect_utils.memory.flow import lds_allocations
from bankwise.dialect_utils.memory.memref_types import tile_of
from bankwise.dialect_utils.memory.staged_tensors import accesses_of, is_workgroup_alloc
from bankwise.dialect_utils.memory.vector_layouts import infer_vector_layouts
from bankwise.dialect_utils.swizzle_hint import hint_swizzle, is_hint
from bankwise.passes.decisions import Action, Decision
from bankwise.passes.swizzles.hint_vector_allocs import HintVectorAllocs

from ...functions import LDS, Parsed, PassRun, launched, parse, run, traced


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
    lds = target("gfx942")
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
    found = hinted(parsed, arch="gfx1100")
    assert str(parsed) == before
    assert found.messages == ["allocations not swizzled: the LDS of gfx1100 is not known"]
    assert found.decision.action is Action.KEEP


def test_running_twice_changes_nothing() -> None:
    parsed = parse(CASES["thread tile over all waves"])
    hinted(parsed)
    once = str(parsed)
    decision = hinted(parsed).decision
    assert str(parsed) == once
    assert decision.reason == "it has a swizzle hint already"
