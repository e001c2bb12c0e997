# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attentions as models have them: odd heads and sequences, masks, decoding, grouped queries.

The iteration space of `iree_linalg_ext.attention` has the batch dimensions, then m (a query's
row), n (a column of V), k1 (the head) and k2 (a row of K and V). Each operand is described by the
dimensions that index it, as in "b m k1".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...runtime.dtypes import dtype_of
from ..reference_attention import added_scores, softmax
from .program import (
    TIMED_CHIPS,
    TOLERANCE,
    Array,
    Input,
    Program,
    empty_tensor,
    indexing_map,
    integers,
    normal,
    shaped,
    sum_of_products,
    tensor,
)


@dataclass(frozen=True)
class Attention:
    """softmax(scale q k^T + mask) v.

    Attributes:
        sizes: the extent of each dimension, in the order of the iteration space.
        query, key, value, output: the dimensions of each operand.
        mask: the dimensions of a mask, or nothing. It is added to the scores, or hides the keys
            where it is false if its type is i1.
        scale: the factor of the scores; by default the inverse root of the head.
        dynamic: the dimensions whose sizes become known only when the program runs.
        causal: whether the program itself makes the mask: a row sees only the rows up to its own.
    """

    name: str
    dtype: str
    sizes: Mapping[str, int]
    query: str = "b m k1"
    key: str = "b k2 k1"
    value: str = "b k2 n"
    output: str = "b m n"
    mask: str = ""
    mask_dtype: str = "f16"
    dynamic: str = ""
    causal: bool = False
    output_dtype: str = ""
    scale: float = 0.0
    targets: tuple[str, ...] = TIMED_CHIPS

    def program(self) -> Program:
        """Returns the attention with its inputs and its reference."""
        return Program(
            name=self.name,
            source=self._source(),
            inputs=self.inputs(),
            reference=self.reference,
            tolerance=TOLERANCE["f8" if self.dtype.startswith("f8") else self.dtype],
            targets=self.targets,
        )

    @property
    def score_factor(self) -> float:
        """Returns what the scores are multiplied with."""
        return self.scale or self.sizes["k1"] ** -0.5

    def _shape(self, operand: str) -> tuple[int, ...]:
        return tuple(self.sizes[dim] for dim in operand.split())

    @property
    def _indexed(self) -> list[tuple[str, str]]:
        """Returns the dimensions and the type of q, k, v, and of a mask that is an input."""
        found = [(dims, self.dtype) for dims in (self.query, self.key, self.value)]
        return [*found, (self.mask, self.mask_dtype)] if self.mask and not self.causal else found

    @property
    def operands(self) -> list[tuple[tuple[int, ...], str]]:
        """Returns the shape and the type of q, k, v, and of a mask that is an input."""
        return [(self._shape(dims), dtype) for dims, dtype in self._indexed]

    def inputs(self) -> tuple[Input, ...]:
        """Returns normal values for each operand, and random bits for a mask of i1."""
        return tuple(
            integers(dtype, *shape, low=0, high=2) if dtype == "i1" else normal(dtype, *shape)
            for shape, dtype in self.operands
        )

    def _source(self) -> str:
        types = [shaped(dtype, self.sizes, dims, self.dynamic) for dims, dtype in self._indexed]
        names = ["%q", "%k", "%v", "%mask"][: len(types)]
        arguments = ", ".join(f"{name}: {kind}" for name, kind in zip(names, types, strict=True))
        result = shaped(self.output_dtype or self.dtype, self.sizes, self.output, self.dynamic)
        dims = [dims for dims, _ in self._indexed]
        known = dict(zip(names, zip(dims, types, strict=True), strict=True))
        # Scales of 8-bit floats are not exact enough, so those attentions take theirs as f32.
        scale_type = "f32" if self.dtype.startswith("f8") else self.dtype
        ins, kinds = [*names[:3], "%scale", *names[3:]], [*types[:3], scale_type, *types[3:]]
        made = ""
        if self.causal:
            made = _causal_mask(self.mask_dtype, *self._shape(self.mask))
            ins.append("%mask")
            kinds.append(tensor(self.mask_dtype, *self._shape(self.mask)))
        made += empty_tensor(result, self.output, self.dynamic, known)
        described = (self.query, self.key, self.value, "", *filter(None, [self.mask]), self.output)
        maps = ",\n      ".join(indexing_map(self.sizes, dims) for dims in described)
        return f"""func.func @attention({arguments}) -> {result} {{
  %scale = arith.constant {self.score_factor:.9e} : {scale_type}
{made}  %out = iree_linalg_ext.attention <{{indexing_maps = [
      {maps}]}}>
      ins({", ".join(ins)} : {", ".join(kinds)})
      outs(%empty : {result}) {{
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
  }} -> {result}
  return %out : {result}
}}
"""

    def reference(self, q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
        """Returns the output in float64."""
        return self._weighted(self._weights(q, k, mask), v)

    def rounded_reference(self, q: Array, k: Array, v: Array, mask: Array | None = None) -> Array:
        """Returns the output of weights rounded to the type of V, rounded to that type as well."""
        kind = dtype_of(self.dtype)
        weights = self._weights(q, k, mask).astype(kind).astype(np.float64)
        return self._weighted(weights, v).astype(kind).astype(np.float64)

    @property
    def _scored(self) -> str:
        """Returns the dimensions of the scores."""
        batches = [dim for dim in self.output.split() if dim not in ("m", "n")]
        return " ".join([*batches, "m", "k2"])

    def _weighted(self, weights: Array, v: Array) -> Array:
        """Returns the sums of V with some weights."""
        return sum_of_products(self.output, (weights, self._scored), (v, self.value))

    def _weights(self, q: Array, k: Array, mask: Array | None) -> Array:
        """Returns the weights of V in float64."""
        scored = self._scored
        scores = self.score_factor * sum_of_products(scored, (q, self.query), (k, self.key))
        if self.causal:
            rows, columns = np.indices(self._shape("m k2"))
            scores = np.where(columns <= rows, scores, -np.inf)
        elif mask is not None:
            ones = np.ones_like(scores)
            scores = scores + sum_of_products(
                scored, (added_scores(mask), self.mask), (ones, scored)
            )
        return softmax(scores)


def _causal_mask(dtype: str, rows: int, columns: int) -> str:
    """Returns MLIR that makes the mask: 0 on and below the diagonal, minus infinity above."""
    kind = tensor(dtype, rows, columns)
    minus_infinity = {"f16": "0xFC00", "f32": "0xFF800000"}[dtype]
    return f"""  %seen = arith.constant 0.0 : {dtype}
  %hidden = arith.constant {minus_infinity} : {dtype}
  %blank = tensor.empty() : {kind}
  %mask = linalg.generic {{indexing_maps = [affine_map<(m, k2) -> (m, k2)>],
      iterator_types = ["parallel", "parallel"]}} outs(%blank : {kind}) {{
    ^bb0(%unused: {dtype}):
      %row = linalg.index 0 : index
      %column = linalg.index 1 : index
      %past = arith.cmpi ule, %column, %row : index
      %value = arith.select %past, %seen, %hidden : {dtype}
      linalg.yield %value : {dtype}
  }} -> {kind}
"""


def plain_sizes(batch: int, rows: int, head: int, seen: int = 0) -> dict[str, int]:
    """Returns the sizes of a plain attention; K and V have `seen` rows, or as many as Q."""
    return {"b": batch, "m": rows, "n": head, "k1": head, "k2": seen or rows}


def _plain(dtype: str, batch: int, rows: int, head: int, seen: int = 0) -> Attention:
    seen_text = f"x{seen}" if seen else ""
    name = f"attention_{dtype}_{batch}x{rows}{seen_text}x{head}"
    return Attention(name, dtype, plain_sizes(batch, rows, head, seen))


def _grouped(name: str, dtype: str, rows: int) -> Attention:
    """Returns an attention in which four query heads share each of two heads of K and V."""
    sizes = {"b": 1, "h": 2, "g": 4, "m": rows, "n": 64, "k1": 64, "k2": 128}
    return Attention(name, dtype, sizes, "b h g m k1", "b h k2 k1", "b h k2 n", "b h g m n")


def programs() -> list[Program]:
    """Returns all attentions."""
    masked = plain_sizes(2, 128, 64, 256)
    f8 = plain_sizes(1, 128, 64)
    attentions = [
        *(_plain("f16", 1, 128, head) for head in (40, 64, 72, 96, 128, 192, 256)),
        _plain("f32", 1, 128, 64),
        _plain("f32", 1, 96, 96),
        _plain("bf16", 1, 128, 128),
        _plain("f16", 1, 77, 64),
        _plain("bf16", 4, 1, 64, seen=256),
        _plain("f16", 1, 64, 64, seen=320),
        Attention("attention_f16_mask_f16", "f16", masked, mask="b m k2"),
        Attention("attention_f16_causal", "f16", plain_sizes(2, 128, 64), mask="m k2", causal=True),
        replace(_plain("f16", 1, 128, 64), name="attention_f16_value_transposed", value="b n k2"),
        _grouped("attention_f16_grouped_queries", "f16", 64),
        _grouped("attention_f16_grouped_decode", "f16", 1),
        Attention("attention_f8_fnuz", "f8E4M3FNUZ", f8, output_dtype="f32", targets=("gfx942",)),
        Attention("attention_f8_fn", "f8E4M3FN", f8, output_dtype="f32", targets=("gfx950",)),
        Attention("attention_f8_fnuz_value_transposed", "f8E4M3FNUZ", f8, value="b n k2",
                  output_dtype="f32", targets=("gfx942",)),
    ]  # fmt: skip
    return [attention.program() for attention in attentions]
