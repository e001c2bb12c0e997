# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions as exporters write them: rows over several loops, shared heads, other heads of V."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bankwise.bench.forced_tiles.forcing import forcing_edits
from bankwise.bench.program_families.attention import Attention
from bankwise.bench.program_families.program import largest_error
from bankwise.bench.reference_attention import attention
from bankwise.emulator.counters import Counted
from bankwise.passes.decisions import Action
from bankwise.report.compile_decisions import decisions
from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags
from bankwise.tuning.costs.tile_cost import AttentionTile
from bankwise.tuning.forced_tile import ForceTile

from .program_runs import run_program

PASS = "bankwise-use-matrix-instructions"


def grouped(rows: int, head: int, group: int = 4, keys: int = 64, **changes: Any) -> Attention:
    """Returns an attention whose heads lie between rows and columns; several share two of K."""
    sizes = {"h": 2, "g": group, "m": rows, "n": head, "k1": head, "k2": keys}
    plain = Attention("", "f16", sizes, "m h g k1", "k2 h k1", "k2 h n", "m h g n")
    return replace(plain, **changes)


DEEPSEEK = Attention(
    *("", "f16", {"h": 2, "m": 64, "n": 128, "k1": 192, "k2": 64}),
    *("m h k1", "k2 h k1", "k2 h n", "m h n", "m k2"),
)


@pytest.mark.sampled(every=7)
@pytest.mark.parametrize(
    ("arch", "attention"),
    [
        ("gfx942", grouped(32, 48, mask="m k2")),
        ("gfx950", grouped(16, 80, group=7, dtype="bf16", mask="h g m k2", mask_dtype="bf16")),
        ("gfx942", grouped(1, 48, group=16, mask="m k2")),
        ("gfx942", grouped(32, 48, key="k2 k1")),
        ("gfx942", grouped(32, 48, value="k2 n", mask="m k2", causal=True)),
        # One row of each of four heads is padded to the rows of an instruction.
        ("gfx942", grouped(1, 48)),
        # 20 rows of each of seven heads: 32 of eight are the fewest that tiles divide.
        ("gfx950", grouped(20, 40, group=7, keys=77, mask="g m k2")),
        ("gfx942", DEEPSEEK),
        ("gfx950", replace(DEEPSEEK, query="h m k1", output="h m n", mask="h m k2")),
    ],
)
def test_rows_of_several_loops_use_matrix_instructions(arch: str, attention: Attention) -> None:
    run_program(attention.program(), arch).assert_tiled(PASS)


SIXTEEN = grouped(16, 64, mask="m k2")
TWO_BY_32 = {"h": 2, "m": 64, "n": 64, "k1": 64, "k2": 64}


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(
    ("attention", "tile"),
    [
        # Warps share the group.
        (SIXTEEN, AttentionTile(64, 64, 64, 4)),
        # A warp has two rows of the group.
        (SIXTEEN, AttentionTile(32, 64, 64, 1)),
        # Warps share the group and the rows of each.
        (grouped(64, 64), AttentionTile(256, 64, 64, 8)),
        # The columns are two loops.
        (
            Attention("", "f16", {**TWO_BY_32, "n": 2, "n2": 32}, "h m k1", "h k2 k1",
                      "n h k2 n2", "h n m n2"),
            AttentionTile(32, 64, 64, 2),
        ),
        # The head is two loops.
        (
            Attention("", "f16", {**TWO_BY_32, "k1": 2, "k3": 32}, "h k1 m k3", "k1 h k2 k3",
                      "h k2 n", "h m n"),
            AttentionTile(32, 64, 64, 2),
        ),
    ],
)  # fmt: skip
def test_tiles_over_several_loops_keep_the_bits(attention: Attention, tile: AttentionTile) -> None:
    program, force = attention.program(), ForceTile(tile)
    stock = run_program(program, mode="stock")
    ran = run_program(program, mode="auto/exact/on", edits=forcing_edits("auto/exact/on", force))
    assert not force.refusals
    assert ran.bits == stock.bits
    assert ran.run.counters[Counted.MFMA] > 0
    assert ran.run.counters[Counted.CONFLICTS] == 0


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(
    ("sizes", "operands"),
    [
        ((64, 128, 96), "qkk"),
        ((33, 77, 40), "qkk"),
        # Its rows are those of a tile and the keys of a step, and get one size.
        ((77, 77, 40), "qqq"),
        ((100, 100, 64), "qqq"),
    ],
)
def test_operands_may_be_one_tensor(sizes: tuple[int, int, int], operands: str) -> None:
    rows, keys, head = sizes
    dims = {"b": 2, "m": rows, "n": head, "k1": head, "k2": keys}
    attention = Attention("", "f16", dims).program()
    names = ", ".join(f"%{name}" for name in operands)
    program = replace(
        attention,
        source=attention.source.replace("ins(%q, %k, %v", f"ins({names}"),
        reference=lambda *given: attention.reference(*(given["qkv".index(x)] for x in operands)),
    )
    run_program(program).assert_tiled(PASS)


def test_tiles_of_grouped_queries_are_replaced_at_exact() -> None:
    source = grouped(1024, 128, keys=1024).program().source
    log = decisions(source, target_flags("sm_80"), "auto/exact")
    actions = {each.action for each in log}
    assert {Action.RETILE, Action.LDMATRIX, Action.HINT, Action.OVERLAP} <= actions


EXPORTED = """
func.func @main(%q: !Q, %k: !KV, %v: !KV, %mask: !torch.vtensor<[1,1,32,64],i1>) -> !Q {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %group = torch.constant.int 4
  %keys = torch.constant.int 64
  %head = torch.constant.int 48
  %eight = torch.constant.int 8
  %false = torch.constant.bool false
  %none = torch.constant.none
  %p = torch.constant.float 0.0
  %expanded = torch.prim.ListConstruct %one, %two, %group, %keys, %head
      : (!torch.int, !torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %joined = torch.prim.ListConstruct %one, %eight, %keys, %head
      : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
REPEATED
  %qt = torch.aten.transpose.int %q, %one, %two
      : !Q, !torch.int, !torch.int -> !torch.vtensor<[1,8,32,48],f16>
  %o = torch.aten.scaled_dot_product_attention %qt, %k5, %v5, %mask, %p, %false, %none, %false
      : !torch.vtensor<[1,8,32,48],f16>, !torch.vtensor<[1,8,64,48],f16>,
        !torch.vtensor<[1,8,64,48],f16>, !torch.vtensor<[1,1,32,64],i1>, !torch.float, !torch.bool,
        !torch.none, !torch.bool -> !torch.vtensor<[1,8,32,48],f16>
  %r = torch.aten.transpose.int %o, %one, %two
      : !torch.vtensor<[1,8,32,48],f16>, !torch.int, !torch.int -> !Q
  return %r : !Q
}"""
REPEATED = """
  %X1 = torch.aten.transpose.int %X, %one, %two
      : !KV, !torch.int, !torch.int -> !torch.vtensor<[1,2,64,48],f16>
  %X2 = torch.aten.unsqueeze %X1, %two
      : !torch.vtensor<[1,2,64,48],f16>, !torch.int -> !torch.vtensor<[1,2,1,64,48],f16>
  %X3 = torch.aten.expand %X2, %expanded, %false
      : !torch.vtensor<[1,2,1,64,48],f16>, !torch.list<int>, !torch.bool
      -> !torch.vtensor<[1,2,4,64,48],f16>
  %X4 = torch.aten.clone %X3, %zero
      : !torch.vtensor<[1,2,4,64,48],f16>, !torch.int -> !torch.vtensor<[1,2,4,64,48],f16>
  %X5 = torch.aten._unsafe_view %X4, %joined
      : !torch.vtensor<[1,2,4,64,48],f16>, !torch.list<int> -> !torch.vtensor<[1,8,64,48],f16>
"""


def test_torch_s_grouped_queries_use_matrix_instructions() -> None:
    source = EXPORTED.replace("REPEATED", "".join(REPEATED.replace("X", x) for x in "kv"))
    source = source.replace("!Q", "!torch.vtensor<[1,32,8,48],f16>")
    source = source.replace("!KV", "!torch.vtensor<[1,64,2,48],f16>")
    random = np.random.default_rng(5)
    shapes = (1, 32, 8, 48), (1, 64, 2, 48), (1, 64, 2, 48)
    q, k, v = (random.standard_normal(each).astype(np.float16) for each in shapes)
    mask = np.tril(np.ones((1, 1, 32, 64), bool), 16)
    done = run_emulated(source, target_flags("gfx942"), "auto/fast", [q, k, v, mask])
    queries, keys, values = (each.astype(np.float64).swapaxes(1, 2) for each in (q, k, v))
    keys, values = (each.repeat(4, axis=1) for each in (keys, values))
    expected = attention(queries, keys, values, 48**-0.5, np.where(mask, 0.0, -np.inf))
    assert largest_error(done.outputs[0], expected.swapaxes(1, 2)) < 2.0**-7
    assert done.counters[Counted.MFMA] > 0
    assert done.counters[Counted.CONFLICTS] == 0
