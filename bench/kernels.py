# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR sources of the measured kernels."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

_SHAPES = Path(__file__).parent / "attention_shapes.json"


@dataclass(frozen=True)
class Attention:
    """softmax(q k^T / sqrt(head_dim)) v with q, k, v, out of shape [batch, seq, head_dim]."""

    batch: int
    seq: int
    head_dim: int
    dtype: str

    @property
    def name(self) -> str:
        """A name fit for a file."""
        return f"attention_{self.batch}x{self.seq}x{self.head_dim}_{self.dtype}"

    def source(self) -> str:
        """The kernel as MLIR."""
        kind = f"tensor<{self.batch}x{self.seq}x{self.head_dim}x{self.dtype}>"
        scale = self.head_dim**-0.5
        return f"""func.func @attention(%q: {kind}, %k: {kind}, %v: {kind}) -> {kind} {{
  %scale = arith.constant {scale:.9e} : {self.dtype}
  %empty = tensor.empty() : {kind}
  %out = iree_linalg_ext.attention <{{indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, k2, n)>,
      affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>]}}>
      ins(%q, %k, %v, %scale : {kind}, {kind}, {kind}, {self.dtype})
      outs(%empty : {kind}) {{
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
  }} -> {kind}
  return %out : {kind}
}}
"""


@dataclass(frozen=True)
class Matmul:
    """[m, k] x [k, n], accumulated in f32."""

    m: int
    n: int
    k: int
    dtype: str

    @property
    def name(self) -> str:
        """A name fit for a file."""
        return f"matmul_{self.m}x{self.n}x{self.k}_{self.dtype}"

    def source(self) -> str:
        """The kernel as MLIR."""
        a, b = f"tensor<{self.m}x{self.k}x{self.dtype}>", f"tensor<{self.k}x{self.n}x{self.dtype}>"
        c = f"tensor<{self.m}x{self.n}xf32>"
        return f"""func.func @matmul(%a: {a}, %b: {b}) -> {c} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {c}
  %init = linalg.fill ins(%zero : f32) outs(%empty : {c}) -> {c}
  %out = linalg.matmul ins(%a, %b : {a}, {b}) outs(%init : {c}) -> {c}
  return %out : {c}
}}
"""


Kernel = Attention | Matmul


def swept_attentions(dtype: str) -> list[Attention]:
    """The 110 attention shapes of the public sweep (attention_shapes.json names its source)."""
    shapes = json.loads(_SHAPES.read_text())["shapes"]
    return [Attention(s["batch"], s["seq"], s["head_dim"], dtype) for s in shapes]
