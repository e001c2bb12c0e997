# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matmuls as models have them: skinny, ragged, batched, dynamic, transposed, with epilogues.

Each operand is described by the dimensions that index it: "m k" and "k n" are a plain matmul,
"n k" is a transposed right operand, a "b" in front is a batch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

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
)

_ERF = np.vectorize(math.erf)


def gelu(x: Array) -> Array:
    """Returns x times the probability that a normal variable is below x."""
    return x * (1 + _ERF(x / math.sqrt(2))) / 2


_EPILOGUE_LINES: Mapping[str, tuple[str, ...]] = {
    "bias": ("%{out} = arith.addf %{x}, %bias : f32",),
    "residual": ("%{out} = arith.addf %{x}, %residual : f32",),
    "relu": ("%{out} = arith.maximumf %{x}, %zero : f32",),
    "gelu": (
        "%scaled = arith.mulf %{x}, %root_half : f32",
        "%erf = math.erf %scaled : f32",
        "%erf1 = arith.addf %erf, %one : f32",
        "%half_x = arith.mulf %{x}, %half : f32",
        "%{out} = arith.mulf %half_x, %erf1 : f32",
    ),
}
"""What each step of an epilogue computes from `x`; `bias` is indexed by n, `residual` as the
output."""


@dataclass(frozen=True)
class Contraction:
    """A sum of products over the dimensions that the output lacks, as `linalg.generic`.

    Attributes:
        kind: what is special about it, for the name.
        sizes: the extent of each dimension.
        left, right, output: the dimensions of each operand.
        epilogue: steps of `_EPILOGUE_LINES` on the f32 output.
        dynamic: the dimensions whose sizes become known only when the program runs.
        accumulator: the type of the sums; by default f32, for integers i32.
        flags: of the compiler, beside those that name the target.
    """

    kind: str
    dtype: str
    sizes: Mapping[str, int]
    left: str = "m k"
    right: str = "k n"
    output: str = "m n"
    epilogue: tuple[str, ...] = ()
    dynamic: str = ""
    accumulator: str = ""
    targets: tuple[str, ...] = TIMED_CHIPS
    flags: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Returns the kind, the type and the sizes."""
        return f"matmul_{self.kind}_{self.dtype}_{'x'.join(map(str, self.sizes.values()))}"

    @property
    def sum_type(self) -> str:
        """Returns the type of the sums and of the output."""
        return self.accumulator or ("i32" if self.dtype.startswith("i") else "f32")

    def program(self) -> Program:
        """Returns the contraction with its inputs and its reference."""
        exact = self.sum_type.startswith("i")
        return Program(
            name=self.name,
            source=self._source(),
            inputs=self.inputs(),
            reference=self.reference,
            tolerance=TOLERANCE["exact" if exact else self.sum_type],
            flags=self.flags,
            targets=self.targets,
        )

    def shape(self, dims: str) -> tuple[int, ...]:
        """Returns the extents of an operand."""
        return tuple(self.sizes[dim] for dim in dims.split())

    def _type(self, dims: str, element_type: str) -> str:
        return shaped(element_type, self.sizes, dims, self.dynamic)

    @property
    def _extras(self) -> list[tuple[str, str]]:
        """Returns the operands of the epilogue and their dimensions."""
        dims = {"bias": "n", "residual": self.output}
        return [(step, dims[step]) for step in self.epilogue if step in dims]

    def inputs(self) -> tuple[Input, ...]:
        """Returns all values of an integer type, normal values of others."""
        shapes = [self.shape(dims) for dims in (self.left, self.right)]
        if self.dtype.startswith("i"):
            bits = int(self.dtype[1:])
            bounds = {"low": -(2 ** (bits - 1)), "high": 2 ** (bits - 1)}
            return tuple(integers(self.dtype, *shape, **bounds) for shape in shapes)
        operands = tuple(normal(self.dtype, *shape) for shape in shapes)
        return (*operands, *(normal("f32", *self.shape(dims)) for _, dims in self._extras))

    def _source(self) -> str:
        a, b = (self._type(dims, self.dtype) for dims in (self.left, self.right))
        c, extras = self._type(self.output, self.sum_type), self._extras
        arguments = [f"%a: {a}", f"%b: {b}"]
        arguments += [f"%{name}_in: {self._type(dims, 'f32')}" for name, dims in extras]
        zero = "0" if self.sum_type.startswith("i") else "0.0"
        out_dims = self.output.split()
        kinds = ['"parallel"' if dim in out_dims else '"reduction"' for dim in self.sizes]
        result = "%sum" if not self.epilogue else "%out"
        empty = empty_tensor(
            c, self.output, self.dynamic, {"%a": (self.left, a), "%b": (self.right, b)}
        )
        return f"""func.func @matmul({", ".join(arguments)}) -> {c} {{
  %zero = arith.constant {zero} : {self.sum_type}
{empty}  %init = linalg.fill ins(%zero : {self.sum_type}) outs(%empty : {c}) -> {c}
  %sum = linalg.generic {{indexing_maps = [
      {indexing_map(self.sizes, self.left)},
      {indexing_map(self.sizes, self.right)},
      {indexing_map(self.sizes, self.output)}],
      iterator_types = [{", ".join(kinds)}]}}
      ins(%a, %b : {a}, {b}) outs(%init : {c}) {{
    ^bb0(%x: {self.dtype}, %y: {self.dtype}, %acc: {self.sum_type}):
{_product_lines(self.dtype, self.sum_type)}
      linalg.yield %next : {self.sum_type}
  }} -> {c}
{self._epilogue_source(c)}  return {result} : {c}
}}
"""

    def _epilogue_source(self, kind: str) -> str:
        """Returns MLIR that applies the steps of the epilogue to %sum."""
        if not self.epilogue:
            return ""
        extras = self._extras
        operands = [self.output, *(dims for _, dims in extras), self.output]
        maps = ",\n      ".join(indexing_map(self.output.split(), dims) for dims in operands)
        ins = ["%sum", *(f"%{name}_in" for name, _ in extras)]
        types = [kind, *(self._type(dims, "f32") for _, dims in extras)]
        block = ["%x0: f32", *(f"%{name}: f32" for name, _ in extras), "%unused: f32"]
        steps = "\n".join(
            f"      {line.format(x=f'x{i}', out=f'x{i + 1}')}"
            for i, step in enumerate(self.epilogue)
            for line in _EPILOGUE_LINES[step]
        )
        parallel = ", ".join(['"parallel"'] * len(self.output.split()))
        return f"""  %half = arith.constant 0.5 : f32
  %one = arith.constant 1.0 : f32
  %root_half = arith.constant 0.70710678118 : f32
  %out = linalg.generic {{indexing_maps = [
      {maps}],
      iterator_types = [{parallel}]}}
      ins({", ".join(ins)} : {", ".join(types)}) outs(%empty : {kind}) {{
    ^bb0({", ".join(block)}):
{steps}
      linalg.yield %x{len(self.epilogue)} : f32
  }} -> {kind}
"""

    def reference(self, a: Array, b: Array, *extras: Array) -> Array:
        """Returns the output in float64, or exactly."""
        x = sum_of_products(self.output, (a, self.left), (b, self.right))
        operands = iter(extras)
        for step in self.epilogue:
            if step in ("bias", "residual"):
                x = x + next(operands)
            elif step == "relu":
                x = np.maximum(x, 0)
            else:
                x = gelu(x)
        return x


def _product_lines(dtype: str, sum_type: str) -> str:
    """Returns MLIR that adds the product of `x` and `y`, in the sum's type, to `acc`."""
    extension = "extsi" if dtype.startswith("i") else "extf"
    lines: list[str] = []
    left, right = "%x", "%y"
    if dtype != sum_type:
        lines += [f"%wide_{v} = arith.{extension} %{v} : {dtype} to {sum_type}" for v in "xy"]
        left, right = "%wide_x", "%wide_y"
    letter = "i" if sum_type.startswith("i") else "f"
    lines += [
        f"%product = arith.mul{letter} {left}, {right} : {sum_type}",
        f"%next = arith.add{letter} %acc, %product : {sum_type}",
    ]
    return "\n".join(f"      {line}" for line in lines)


_KEEP_F64 = ("--iree-input-demote-f64-to-f32=false",)
"""Without this flag IREE computes in f32 what a program says in f64."""


def _mnk(m: int, n: int, k: int) -> dict[str, int]:
    return {"m": m, "n": n, "k": k}


def programs() -> list[Program]:
    """Returns all matmuls."""
    batched = ("b m k", "b k n", "b m n")
    contractions = [
        Contraction("plain", "f16", _mnk(128, 128, 128)),
        Contraction("plain", "bf16", _mnk(128, 128, 128)),
        Contraction("plain", "f32", _mnk(128, 128, 64)),
        Contraction("plain", "f64", _mnk(64, 64, 64), accumulator="f64", flags=_KEEP_F64),
        Contraction("plain", "i8", _mnk(128, 128, 256)),
        Contraction("plain", "f8E4M3FNUZ", _mnk(128, 128, 128), targets=("gfx942",)),
        Contraction("plain", "f8E4M3FN", _mnk(128, 128, 128), targets=("gfx950",)),
        Contraction("vector_times_matrix", "f16", _mnk(1, 512, 512), right="n k"),
        Contraction("matrix_times_vector", "f32", _mnk(256, 1, 512)),
        Contraction("skinny", "f16", _mnk(4, 256, 512), right="n k"),
        Contraction("skinny", "bf16", _mnk(16, 128, 1024)),
        Contraction("narrow", "f16", _mnk(512, 4, 256)),
        Contraction("ragged", "f16", _mnk(100, 130, 70)),
        Contraction("ragged", "f32", _mnk(67, 45, 33)),
        Contraction("ragged", "i8", _mnk(99, 65, 130), right="n k"),
        Contraction("dynamic", "f32", _mnk(70, 50, 40), dynamic="m n k"),
        Contraction("batched", "f16", {"b": 4, "m": 64, "n": 64, "k": 64}, *batched),
        Contraction("batched", "bf16", {"b": 3, "m": 48, "n": 80, "k": 96}, *batched),
        Contraction("left_transposed", "f16", _mnk(128, 128, 128), left="k m"),
        Contraction("both_transposed", "f16", _mnk(128, 64, 128), left="k m", right="n k"),
        Contraction("right_transposed", "i8", _mnk(64, 128, 256), right="n k"),
        Contraction("bias_relu", "f16", _mnk(128, 128, 64), epilogue=("bias", "relu")),
        Contraction("bias_gelu", "bf16", _mnk(64, 128, 128), epilogue=("bias", "gelu")),
        Contraction("bias_residual", "f32", _mnk(64, 64, 64), epilogue=("bias", "residual")),
    ]
    return [contraction.program() for contraction in contractions]
