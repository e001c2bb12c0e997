# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random products: of packed matrices, in batches, with loops in any order, scaled, pointwise."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..program_families.attention import Attention
from ..program_families.matmuls import Contraction
from ..program_families.program import TOLERANCE, Array, Input, Program, integers, normal, tensor
from ..scaled_matmuls import DTYPES, ScaledMatmul


def packed(random: np.random.Generator, name: str) -> Program:
    """Returns a `linalg.mmt4d`, or one of several batches."""
    kind, total = (
        ("f32", "f32"), ("f32", "f32"), ("f16", "f32"), ("f16", "f16"), ("bf16", "f32"),
        ("i8", "i32")
    )[random.integers(6)]  # fmt: skip
    rows, columns, summed = (int(random.integers(1, top)) for top in (6, 6, 20))
    of_rows, of_columns = (int(random.choice([1, 2, 4, 8, 16])) for _ in range(2))
    of_sums = int(random.choice([1, 1, 2, 4, 8]))
    batch = (int(random.integers(1, 4)),) if random.random() < 0.25 else ()
    a = tensor(kind, *batch, rows, summed, of_rows, of_sums)
    b = tensor(kind, *batch, columns, summed, of_columns, of_sums)
    c = tensor(total, *batch, rows, columns, of_rows, of_columns)
    operation = "batch_mmt4d" if batch else "mmt4d"
    source = f"""func.func @main(%a: {a}, %b: {b}) -> {c} {{
  %zero = arith.constant {"0" if total == "i32" else "0.0"} : {total}
  %empty = tensor.empty() : {c}
  %filled = linalg.fill ins(%zero : {total}) outs(%empty : {c}) -> {c}
  %product = linalg.{operation} ins(%a, %b : {a}, {b}) outs(%filled : {c}) -> {c}
  return %product : {c}
}}
"""
    inputs = (
        integers(kind, *batch, rows, summed, of_rows, of_sums, low=-3, high=4),
        integers(kind, *batch, columns, summed, of_columns, of_sums, low=-3, high=4),
    )
    return Program(
        *(name, source, inputs),
        lambda a, b: np.einsum("...mkac,...nkbc->...mnab", a, b),
        TOLERANCE["exact"],
    )


def ragged_batch(random: np.random.Generator, name: str) -> Program:
    """Returns a batched product whose sum no tile divides."""
    sizes = {
        "b": int(random.integers(1, 4)),
        **{each: int(random.integers(1, top)) for each, top in (("m", 40), ("n", 40), ("k", 70))},
    }
    left, right = ("b k m", "b m k")[random.integers(2)], ("b k n", "b n k")[random.integers(2)]
    kind = ("f16", "f16", "bf16", "i8", "f32")[random.integers(5)]
    return _named(Contraction(name, kind, sizes, left, right, "b m n").program(), name)


def _named(program: Program, name: str) -> Program:
    return Program(
        name, program.source, program.inputs, program.reference, program.tolerance, program.flags
    )


def several_sums(random: np.random.Generator, name: str) -> Program:
    """Returns a product over two or three summed dimensions, with all dimensions in any order."""
    sizes = {"b": int(random.integers(1, 5)), "m": int(random.choice([1, 8, 64, 100]))}
    sizes |= {"n": int(random.choice([1, 1, 4, 16]))}
    summed = ("k", "l", "j")[: int(random.integers(2, 4))]
    sizes |= {each: int(random.choice([1, 2, 3, 7])) for each in summed}
    left, right, output = (
        " ".join(random.permutation([*dims]))
        for dims in (("b", "m", *summed), ("b", "n", *summed), "bmn")
    )
    kind = ("f16", "bf16", "i8", "f32")[random.integers(4)]
    return _named(Contraction(name, kind, sizes, left, right, output).program(), name)


def dilated_row(random: np.random.Generator, name: str) -> Program:
    """Returns the filters of a convolution of one place, of which a dilated window takes all."""
    filters, channels = int(random.choice([4, 5, 16, 33])), int(random.choice([8, 32, 50, 64]))
    taps, step = int(random.choice([2, 3, 5, 7, 9])), int(random.choice([2, 3]))
    kind = ("f16", "f32", "f32")[random.integers(3)]
    extent = (taps - 1) * step + 1
    x, part = tensor(kind, channels, extent), tensor(kind, channels, taps)
    w, out = tensor(kind, filters, channels, taps), tensor("f32", filters)
    widen = kind == "f16"
    lines = [f"%{each} = arith.extf %{each[1:]} : f16 to f32" for each in ("wa", "wb") if widen]
    source = f"""func.func @main(%image: {x}, %w: {w}) -> {out} {{
  %zero = arith.constant 0.0 : f32
  %x = tensor.extract_slice %image[0, 0] [{channels}, {taps}] [1, {step}] : {x} to {part}
  %empty = tensor.empty() : {out}
  %init = linalg.fill ins(%zero : f32) outs(%empty : {out}) -> {out}
  %out = linalg.generic {{
      indexing_maps = [affine_map<(m, k, l) -> (k, l)>, affine_map<(m, k, l) -> (m, k, l)>,
                       affine_map<(m, k, l) -> (m)>],
      iterator_types = ["parallel", "reduction", "reduction"]}}
      ins(%x, %w : {part}, {w}) outs(%init : {out}) {{
    ^bb0(%a: {kind}, %b: {kind}, %s: f32):
      {" ".join(lines)}
      %p = arith.mulf {"%wa, %wb" if widen else "%a, %b"} : f32
      %t = arith.addf %s, %p : f32
      linalg.yield %t : f32
  }} -> {out}
  return %out : {out}
}}
"""
    inputs = (
        integers(kind, channels, extent, low=-3, high=4),
        integers(kind, filters, channels, taps, low=-3, high=4),
    )

    def reference(image: Array, w: Array) -> Array:
        return np.einsum("kl,mkl->m", image[:, ::step], w)

    return Program(name, source, inputs, reference, TOLERANCE["exact"])


def begun(random: np.random.Generator, name: str) -> Program:
    """Returns a product that begins with a tensor, which is added once more behind it."""
    kind = ("i8", "i16", "f16", "f32")[random.integers(4)]
    m, n = (int(random.choice([1, 5, 24, 31, 48, int(random.integers(1, 100))])) for _ in range(2))
    k = int(random.choice([1, 3, 13, int(random.integers(1, 50))]))
    left = ("m, k", "k, m")[random.integers(2)]
    x = tensor(kind, *((m, k) if left == "m, k" else (k, m)))
    w, y = tensor("f32", k, n), tensor("f32", m, n)
    widen = {"f16": "%f = arith.extf %a : f16 to f32", "f32": "%f = arith.mulf %a, %one : f32"}
    source = f"""func.func @main(%x: {x}, %w: {w}, %y: {y}) -> {y} {{
  %one = arith.constant 1.0 : f32
  %empty = tensor.empty() : {y}
  %sum = linalg.generic {{
      indexing_maps = [affine_map<(m, n, k) -> ({left})>, affine_map<(m, n, k) -> (k, n)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%x, %w : {x}, {w}) outs(%y : {y}) {{
    ^bb0(%a: {kind}, %b: f32, %total: f32):
      {widen.get(kind, f"%f = arith.sitofp %a : {kind} to f32")}
      %p = arith.mulf %f, %b : f32
      %s = arith.addf %total, %p : f32
      linalg.yield %s : f32
  }} -> {y}
  %out = linalg.map {{ arith.addf }} ins(%sum, %y : {y}, {y}) outs(%empty : {y})
  return %out : {y}
}}
"""
    sizes = ((m, k) if left == "m, k" else (k, m), (k, n), (m, n))
    kinds = (kind, "f32", "f32")
    inputs = tuple(
        integers(each, *size, low=-3, high=4) for each, size in zip(kinds, sizes, strict=True)
    )

    def reference(x: Array, w: Array, y: Array) -> Array:
        return (x if left == "m, k" else x.T) @ w + 2 * y

    return Program(name, source, inputs, reference, TOLERANCE["exact"])


def small(random: np.random.Generator, name: str) -> Program:
    """Returns a product of few rows and summed elements, with few or many columns."""
    summed = int(random.choice([5, 6, 7, int(random.integers(1, 21))]))
    columns = int(random.choice([int(random.integers(1, 21)), 100, 257, 1000]))
    sizes = {"m": int(random.integers(1, 21)), "n": columns, "k": summed}
    left, right = ("m k", "k m")[random.integers(2)], ("n k", "n k", "k n")[random.integers(3)]
    kind = ("f16", "f16", "bf16")[random.integers(3)]
    return _named(Contraction(name, kind, sizes, left, right, "m n").program(), name)


def loop_order(random: np.random.Generator, name: str) -> Program:
    """Returns a product or an attention of whole fragments whose loops have any order."""
    if random.random() < 0.5:
        sizes = {"b": 2, **{each: 16 * int(random.integers(1, 9)) for each in "mnk"}}
        if random.random() < 0.5:
            del sizes["b"]
        batch = "b " if "b" in sizes else ""
        left, right = ("m k", "k m")[random.integers(2)], ("k n", "n k")[random.integers(2)]
        order = {each: sizes[each] for each in random.permutation([*sizes])}
        kind = ("f16", "bf16")[random.integers(2)]
        output = batch + ("m n", "n m")[random.integers(2)]
        made = Contraction(name, kind, order, batch + left, batch + right, output)
        return _named(made.program(), name)
    sizes = {"b": int(random.integers(1, 4)), "m": 16 * int(random.integers(1, 9))}
    sizes |= {"k1": int(random.choice([32, 64, 128])), "k2": 32 * int(random.integers(1, 9))}
    sizes |= {"n": sizes["k1"]}
    inner = {each: sizes[each] for each in random.permutation(["m", "n", "k1", "k2"])}
    kind = ("f16", "bf16")[random.integers(2)]
    return Attention(name, kind, {"b": sizes["b"], **inner}).program()


def pointwise(random: np.random.Generator, name: str) -> Program:
    """Returns a pointwise convolution, maybe strided, of an image that a ReLU makes."""
    is_first = random.random() < 0.7
    stride = int(random.choice([1, 2, 2]))
    batch, side = int(random.choice([1, 2, 8])), int(random.choice([4, 7, 8, 14]))
    channels, filters = (int(random.choice([16, 64, 100, 256, 512])) for _ in range(2))
    relu = random.random() < 0.7
    extent = (side - 1) * stride + 1 + int(random.integers(stride))
    shape = (batch, channels, extent, extent) if is_first else (batch, extent, extent, channels)
    window = (filters, channels, 1, 1) if is_first else (1, 1, channels, filters)
    out = (batch, filters, side, side) if is_first else (batch, side, side, filters)
    a, b, c = tensor("f16", *shape), tensor("f16", *window), tensor("f32", *out)
    made, image = "", "%a"
    if relu:
        image = "%relu"
        space = "(n, x, y, z) -> (n, x, y, z)"
        made = f"""  %low = arith.constant 0.0 : f16
  %blank = tensor.empty() : {a}
  %relu = linalg.generic {{indexing_maps = [affine_map<{space}>, affine_map<{space}>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
      ins(%a : {a}) outs(%blank : {a}) {{
    ^bb0(%x: f16, %unused: f16):
      %y = arith.maximumf %x, %low : f16
      linalg.yield %y : f16
  }} -> {a}
"""
    operation = "conv_2d_nchw_fchw" if is_first else "conv_2d_nhwc_hwcf"
    source = f"""func.func @main(%a: {a}, %b: {b}) -> {c} {{
{made}  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {c}
  %filled = linalg.fill ins(%zero : f32) outs(%empty : {c}) -> {c}
  %out = linalg.{operation} {{dilations = dense<1> : tensor<2xi64>,
      strides = dense<{stride}> : tensor<2xi64>}}
      ins({image}, %b : {a}, {b}) outs(%filled : {c}) -> {c}
  return %out : {c}
}}
"""

    def reference(x: Array, w: Array) -> Array:
        x = np.maximum(x, 0.0) if relu else x
        if is_first:
            return np.einsum("nchw,fc->nfhw", x[:, :, ::stride, ::stride], w[:, :, 0, 0])[
                :, :, :side, :side
            ]
        return np.einsum("nhwc,cf->nhwf", x[:, ::stride, ::stride], w[0, 0])[:, :side, :side]

    inputs = (normal("f16", *shape), normal("f16", *window))
    return Program(name, source, inputs, reference, TOLERANCE["f32"])


def unsigned_stablehlo(random: np.random.Generator, name: str) -> Program:
    """Returns a product of StableHLO with a factor of unsigned integers or of booleans."""
    kind, top = (("ui8", 256), ("ui8", 256), ("i1", 2), ("ui16", 1 << 16))[random.integers(4)]
    wide = "f32" if kind == "ui16" else ("f32", "f16", "i32")[random.integers(3)]
    total = "i32" if wide == "i32" else "f32"
    rows, columns, summed = (int(random.choice([1, 7, 16, 40, 64])) for _ in range(3))
    is_moved = random.random() < 0.3
    shape = (summed, rows) if is_moved else (rows, summed)
    a, b, c = tensor(kind, *shape), tensor(wide, summed, columns), tensor(total, rows, columns)
    x, left = tensor(wide, *shape), tensor(wide, rows, summed)
    moved = f"stablehlo.transpose %x, dims = [1, 0] : ({x}) -> {left}"
    source = f"""func.func @main(%a: {a}, %b: {b}) -> {c} {{
  %x = stablehlo.convert %a : ({a}) -> {x}
  {f"%left = {moved}" if is_moved else ""}
  %r = stablehlo.dot_general {"%left" if is_moved else "%x"}, %b, contracting_dims = [1] x [0]
      : ({left}, {b}) -> {c}
  return %r : {c}
}}
"""
    inputs = (
        integers(kind, *shape, low=0, high=top),
        integers(wide, summed, columns, low=-3, high=4),
    )

    def reference(a: Array, b: Array) -> Array:
        return (a.T if is_moved else a).astype(b.dtype) @ b

    return Program(name, source, inputs, reference, TOLERANCE["f32" if total == "f32" else "exact"])


def scaled(random: np.random.Generator, name: str) -> Program:
    """Returns a scaled product of f8 or f4."""
    rows, columns = (int(random.choice([16, 32, 48, 64, 100])) for _ in range(2))
    kind = [*DTYPES][random.integers(len(DTYPES))]
    matmul = ScaledMatmul(rows, columns, 32 * int(random.integers(1, 13)), kind)
    octets, (left, right) = matmul.operands(int(random.integers(1 << 30)))
    inputs: tuple[Input, ...] = tuple(partial(_given, each) for each in octets)
    return Program(*(name, matmul.source(), inputs), lambda *_: left @ right.T, TOLERANCE["f32"])


def _given(array: Array, random: np.random.Generator) -> Array:
    """Returns an input that was drawn before."""
    del random
    return array
