# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which indices of a contraction may be renamed, and what the pass says of the others."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from bankwise.dialect_utils.diagnostics import Diagnostic, DiagnosticSink
from bankwise.passes.base import PassContext
from bankwise.passes.decisions import Action
from bankwise.tuning.contractions.index_blocks import IndexBlock, index_blocks
from bankwise.tuning.contractions.rename_contractions import RenameContractions

from .lane_functions import IN_BOUNDS, LDS, LaneFunction

SUM = "vector<1x4x4x1xf32>"
A, B, RESULT = (
    f"memref<1x16x2x4xf32, {LDS}>",
    f"memref<2x4x4x16xf32, {LDS}>",
    "memref<1x16x4x16xf32>",
)
FLAT = f"memref<8x64xf32, {LDS}>"


@dataclass(frozen=True)
class Contraction:
    """A wave multiplies A (16x8) and B (8x64) of f32, in 2 steps of k and 4 steps of columns.

    The fields are indices of its transfers, and what is done besides.
    """

    a_depth: str = "%group"
    b_depth: str = "%group"
    b_column: str = "%column"
    stored_column: str = "%column"
    bias: str = ""
    before: str = ""
    after: str = ""

    def function(self) -> LaneFunction:
        return LaneFunction.of(f"""
          %other_group = affine.apply affine_map<(d0) -> (3 - d0)>(%group)
          %other_column = affine.apply affine_map<(d0) -> (15 - d0)>(%column)
          %skewed = affine.apply affine_map<(d0, d1) -> ((d0 + d1) mod 4)>(%group, %column)
          %zero = arith.constant dense<0.0> : {SUM}
          %four = affine.apply affine_map<(d0) -> (4 * d0)>(%group)
          %fa = memref.alloc() : memref<16x8xf32, {LDS}>
          %fb = memref.alloc() : {FLAT}
          %a = memref.expand_shape %fa [[0, 1], [2, 3]] output_shape [1, 16, 2, 4]
              : memref<16x8xf32, {LDS}> into {A}
          %b = memref.expand_shape %fb [[0, 1], [2, 3]] output_shape [2, 4, 4, 16]
              : {FLAT} into {B}
          %out = memref.expand_shape %rows [[0, 1], [2, 3]] output_shape [1, 16, 4, 16]
              : memref<16x64xf32> into {RESULT}
          {self.before}
          %ar = vector.transfer_read %a[%c0, %column, %c0, {self.a_depth}], %pad {IN_BOUNDS[4]}
              : {A}, vector<1x1x2x1xf32>
          %at = vector.transpose %ar, [0, 2, 1, 3] : vector<1x1x2x1xf32> to vector<1x2x1x1xf32>
          %br = vector.transfer_read %b[%c0, {self.b_depth}, %c0, {self.b_column}], %pad
              {IN_BOUNDS[4]} : {B}, vector<2x1x4x1xf32>
          %bt = vector.transpose %br, [0, 2, 3, 1] : vector<2x1x4x1xf32> to vector<2x4x1x1xf32>
          %sum = iree_codegen.inner_tiled ins(%at, %bt) outs(%zero) <
            indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
                             affine_map<(m, n, k) -> (m, n)>],
            iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>,
                              #linalg.iterator_type<reduction>],
            kind = #iree_gpu.mma_layout<MFMA_F32_16x16x4_F32>,
            semantics = #iree_gpu.mma_semantics<distributed = true, opaque = true>
          > : vector<1x2x1x1xf32>, vector<2x4x1x1xf32> into {SUM}
          {self._biased()}
          %st = vector.transpose %biased, [0, 2, 1, 3] : {SUM} to {SUM}
          vector.transfer_write %st, %out[%c0, %four, %c0, {self.stored_column}] {IN_BOUNDS[4]}
              : {SUM}, {RESULT}
          {self.after}
        """)

    def _biased(self) -> str:
        if not self.bias:
            return f"%biased = arith.addf %sum, %zero : {SUM}"
        return f"""
          %one = vector.transfer_read %bias[{self.bias}], %pad {IN_BOUNDS[1]}
              : memref<16xf32>, vector<1xf32>
          %all = vector.broadcast %one : vector<1xf32> to {SUM}
          %biased = arith.addf %sum, %all : {SUM}"""


def read(contraction: Contraction) -> tuple[list[IndexBlock], list[str]]:
    """Returns the indices that may be renamed, and the reasons why others may not."""
    found = contraction.function()
    blocks, refusals = index_blocks(found.function, found.evaluator)
    return blocks, [refusal.reason for refusal in refusals]


@pytest.mark.parametrize("bias", ["", "%group"])
def test_columns_and_what_is_summed_over(bias: str) -> None:
    (summed, columns), reasons = read(Contraction(bias=bias))
    assert not reasons
    assert (summed.summed, summed.steps, summed.slots, summed.unit) == (True, 2, 4, 1)
    assert (columns.summed, columns.steps, columns.slots, columns.unit) == (False, 4, 16, 1)
    assert (summed.aligned, columns.aligned) == (2, 4)
    names = [use.transfer.operation.name for use in columns.uses]
    assert sorted(names) == ["vector.transfer_read", "vector.transfer_write"]
    assert [use.outer for use in summed.uses] == [2, 0]


@pytest.mark.parametrize(
    ("contraction", "reason", "kept"),
    [
        (Contraction(stored_column="%other_column"), "do not lie alike in the lanes", [True]),
        (Contraction(a_depth="%other_group"), "pair the elements that lie alike", [False]),
        (Contraction(b_depth="%skewed"), "do not access slots side by side", []),
        (Contraction(b_depth="%skewed"), "depends on the slot of another one", []),
        (Contraction(bias="%column"), "what an accumulator meets differs between lanes", [True]),
        (Contraction(b_column="%i"), "is not known: block argument of func.func", []),
        (Contraction(b_column="%c0"), "do not access slots side by side", [True]),
        (Contraction(after=f"vector.transfer_write %st, %out[%c0, %four, %c0, %c0] {IN_BOUNDS[4]}"
                     f" : {SUM}, {RESULT}"), "slots side by side", [True]),
        (Contraction(before=f"%v = vector.transfer_read %fb[%c0, %c0], %pad {IN_BOUNDS[2]} "
                     f": {FLAT}, vector<1x4xf32>\n"
                     f"vector.transfer_write %v, %fb[%c0, %c0] {IN_BOUNDS[2]} "
                     f": vector<1x4xf32>, {FLAT}"), "no barrier is between", []),
    ],
)  # fmt: skip
def test_what_is_not_proven_stays(contraction: Contraction, reason: str, kept: list[bool]) -> None:
    """`kept` says of the indices that may be renamed whether they are summed over."""
    blocks, reasons = read(contraction)
    assert [block.summed for block in blocks] == kept
    assert any(reason in each for each in reasons)


COLUMNS = "renamed 4 steps of an index of the result side by side: LDS instructions 4 -> 2, "
DEPTH = "renamed 2 steps of an index summed over side by side: LDS instructions 4 -> 3, "
KEPT = "an index is not renamed: an operand and the result do not lie alike in the lanes"


@pytest.mark.parametrize(
    ("contraction", "reductions", "remarks"),
    [
        (Contraction(), True, [DEPTH + "LDS cycles 20 -> 20", COLUMNS + "LDS cycles 16 -> 16"]),
        (Contraction(stored_column="%other_column"), False, [KEPT]),
    ],
)
def test_the_pass_says_what_it_does(
    contraction: Contraction, reductions: bool, remarks: list[str]
) -> None:
    said: list[Diagnostic] = []
    context = PassContext(DiagnosticSink(said.append, remarks=True), test_target="gfx942")
    found = contraction.function()
    RenameContractions(reductions).run(found.function, context)
    assert found.module.operation.verify()
    assert [each.message for each in said] == remarks
    details = [f"renamed {each.detail}" for each in context.log if each.action is Action.RENAME]
    assert details == [remark for remark in remarks if remark.startswith("renamed")]
