# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions as exporters write them that have no operation for one: two products and a softmax."""

from __future__ import annotations

from .attention import Attention
from .program import tensor

_DIMS = ("b m k1", "b k2 k1", "b k2 n", "b m k2", "b m n")


def written_out(attention: Attention) -> str:
    """Returns MLIR of an attention as two products with a softmax between them.

    The products have f32 results, in which scores are scaled. Weights are rounded to the type of V.
    A mask is of all rows and keys of each head, of f32 or i1.

    Args:
        attention: of the dimensions "b m k1", "b k2 k1", "b k2 n", and "b m k2" for its mask.
    """
    dtype, has_mask = attention.dtype, bool(attention.mask)
    shapes = {dims: [attention.sizes[dim] for dim in dims.split()] for dims in _DIMS}
    q, k, v, weights, result = (tensor(dtype, *shapes[dims]) for dims in _DIMS)
    scores, sums = (tensor("f32", *shapes[dims]) for dims in _DIMS[3:])
    mask = tensor(attention.mask_dtype, *shapes["b m k2"])
    arguments = f"%q: {q}, %k: {k}, %v: {v}" + (f", %mask: {mask}" if has_mask else "")
    return f"""func.func @attention({arguments}) -> {result} {{
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant {attention.score_factor:.9e} : f32
  %se = tensor.empty() : {scores}
  %sz = linalg.fill ins(%zero : f32) outs(%se : {scores}) -> {scores}
  %s = linalg.batch_matmul indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>,
      affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      ins(%q, %k : {q}, {k}) outs(%sz : {scores}) -> {scores}
  %scaled = {_parallel(1)} ins(%s : {scores}) outs(%se : {scores}) {{
    ^bb0(%x: f32, %unused: f32):
      %y = arith.mulf %x, %scale : f32
      linalg.yield %y : f32
  }} -> {scores}
{_masked(attention.mask_dtype, mask, scores) if has_mask else ""}
  %w = linalg.softmax dimension(2) ins({"%masked" if has_mask else "%scaled"} : {scores})
      outs(%se : {scores}) -> {scores}
{_rounded("%narrow", "%w", scores, dtype, weights)}
  %oe = tensor.empty() : {sums}
  %oz = linalg.fill ins(%zero : f32) outs(%oe : {sums}) -> {sums}
  %o = linalg.batch_matmul ins(%narrow, %v : {weights}, {v}) outs(%oz : {sums}) -> {sums}
{_rounded("%r", "%o", sums, dtype, result)}
  return %r : {result}
}}
"""


def _rounded(name: str, value: str, wide: str, dtype: str, kind: str) -> str:
    """Returns MLIR that rounds a tensor of f32."""
    return f"""  {name}_empty = tensor.empty() : {kind}
  {name} = {_parallel(1)} ins({value} : {wide}) outs({name}_empty : {kind}) {{
    ^bb0(%x: f32, %unused: {dtype}):
      %y = arith.truncf %x : f32 to {dtype}
      linalg.yield %y : {dtype}
  }} -> {kind}"""


def _masked(dtype: str, mask: str, scores: str) -> str:
    """Returns MLIR that masks scores."""
    if dtype == "i1":
        setup = "  %none = arith.constant 0xFF800000 : f32\n"
        body = "      %y = arith.select %b, %x, %none : f32"
    else:
        setup, body = "", "      %y = arith.addf %x, %b : f32"
        assert dtype == "f32"
    return f"""{setup}  %masked = {_parallel(2)} ins(%scaled, %mask : {scores}, {mask})
      outs(%se : {scores}) {{
    ^bb0(%x: f32, %b: {dtype}, %unused: f32):
{body}
      linalg.yield %y : f32
  }} -> {scores}"""


def _parallel(inputs: int) -> str:
    """Returns the head of an elementwise operation on three dimensions."""
    maps = ", ".join(["affine_map<(a, b, c) -> (a, b, c)>"] * (inputs + 1))
    kinds = ", ".join(['"parallel"'] * 3)
    return f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}"
