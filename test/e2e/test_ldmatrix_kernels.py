# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels for sm_80 read their matrix operands by `ldmatrix` alone, once the pass is spliced in."""

from __future__ import annotations

import re

import pytest

from bankwise import PipelineEdit
from bankwise import compile as compile_mlir
from bankwise.passes.accesses.verify_lds_conflicts import VerifyLdsConflicts
from bankwise.passes.swizzles.flatten_swizzle_hints import FlattenSwizzleHints
from bankwise.passes.swizzles.reinsert_swizzle_hints import ReinsertSwizzleHints
from bankwise.passes.swizzles.resolve_swizzle_hints import ResolveSwizzleHints
from bankwise.passes.swizzles.swizzle_lds_allocs import SwizzleLdsAllocs
from bankwise.sweep.cases import target_flags
from bankwise.sweep.swept_kernels import Attention
from bankwise.tuning.ldmatrix.form_ldmatrix import FormLdmatrix

FLAT = "iree-codegen-reinsert-swizzle-hints"
RESOLVED = "iree-codegen-resolve-swizzle-hints"


def matmul(dtype: str, b_map: str) -> str:
    """128 x 128 x 128, the second operand by a map of (m, n, k)."""
    tensor, result = f"tensor<128x128x{dtype}>", "tensor<128x128xf32>"
    maps = ", ".join(f"affine_map<(m, n, k) -> ({each})>" for each in ("m, k", b_map, "m, n"))
    return f"""
func.func @matmul(%a: {tensor}, %b: {tensor}) -> {result} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {result}
  %c = linalg.fill ins(%zero : f32) outs(%empty : {result}) -> {result}
  %r = linalg.matmul indexing_maps = [{maps}]
    ins(%a, %b : {tensor}, {tensor}) outs(%c : {result}) -> {result}
  return %r : {result}
}}
"""


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("source", "transposing"),
    [
        (Attention(1, 128, 64, "f16").source(), True),
        (Attention(1, 128, 64, "bf16").source(), True),
        (matmul("f16", "k, n"), True),
        (matmul("bf16", "n, k"), False),
    ],
    ids=["attention-f16", "attention-bf16", "matmul-f16", "matmul-bf16-transposed"],
)
def test_every_matrix_operand_comes_by_ldmatrix_without_conflicts(
    source: str, transposing: bool
) -> None:
    edits = [
        # The layouts are chosen for what ldmatrix reads.
        PipelineEdit.before(FLAT, FormLdmatrix(), SwizzleLdsAllocs(), FlattenSwizzleHints()),
        PipelineEdit.before(FLAT, ReinsertSwizzleHints()),
        PipelineEdit.replace(RESOLVED, ResolveSwizzleHints(one_layout=True), VerifyLdsConflicts()),
    ]
    module = compile_mlir(source, target_flags("sm_80"), "none", edits=edits)
    code = module.decode("latin-1")
    assert "ldmatrix.sync.aligned.m8n8.x4.shared.b16" in code
    assert ("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16" in code) == transposing
    assert not re.findall(r"ld\.shared\S*", code)


def test_hinted_layouts_are_read_by_ldmatrix_too() -> None:
    edit = PipelineEdit.before("bankwise-reinsert-swizzle-hints", FormLdmatrix(), required=True)
    module = compile_mlir(
        matmul("f16", "k, n"), target_flags("sm_80"), "swizzle/layout", edits=[edit]
    )
    assert b"ldmatrix.sync.aligned.m8n8.x4.trans" in module
    assert b"ld.shared" not in module
