# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The measured kernels: their MLIR, and what NumPy makes of the same inputs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..runtime.dtypes import dtype_of

F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


class AnyKernel(Protocol):
    """A kernel that can be compiled."""

    @property
    def name(self) -> str:
        """Returns a name fit for a file."""
        ...

    @property
    def dtype(self) -> str:
        """Returns the element type of the inputs."""
        ...

    def source(self) -> str:
        """Returns the kernel as MLIR."""
        ...


class HasOperands(AnyKernel, Protocol):
    """A kernel whose inputs can be drawn."""

    @property
    def operands(self) -> tuple[tuple[int, ...], ...]:
        """Returns the shapes of the inputs."""
        ...


_SHAPES = Path(__file__).parent / "attention_shapes.json"


@dataclass(frozen=True)
class Attention:
    """The attention softmax(q k^T / sqrt(head_dim)) v, all of shape [batch, seq, head_dim]."""

    batch: int
    seq: int
    head_dim: int
    dtype: str

    @property
    def name(self) -> str:
        """Returns a name fit for a file."""
        return f"attention_{self.batch}x{self.seq}x{self.head_dim}_{self.dtype}"

    @property
    def operands(self) -> tuple[tuple[int, ...], ...]:
        """Returns the shapes of the three inputs."""
        return ((self.batch, self.seq, self.head_dim),) * 3

    def source(self) -> str:
        """Returns the kernel as MLIR."""
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


def accumulator_of(dtype: str) -> str:
    """Returns the type that products of a type are summed in, and that the output has."""
    return "i32" if dtype == "i8" else "f32"


@dataclass(frozen=True)
class Matmul:
    """The matmul [m, k] x [k, n], or [m, k] x [n, k] if `transposed`."""

    m: int
    n: int
    k: int
    dtype: str
    transposed: bool = False

    @property
    def name(self) -> str:
        """Returns a name fit for a file."""
        order = "_transposed" if self.transposed else ""
        return f"matmul_{self.m}x{self.n}x{self.k}_{self.dtype}{order}"

    @property
    def operands(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Returns the shapes of the two inputs."""
        return (self.m, self.k), (self.n, self.k) if self.transposed else (self.k, self.n)

    @property
    def accumulator(self) -> str:
        """Returns the type that products are summed in, and that the output has."""
        return accumulator_of(self.dtype)

    def source(self) -> str:
        """Returns the kernel as MLIR."""
        operation = "linalg.matmul"
        if self.transposed:
            maps = ("(m, n, k) -> (m, k)", "(m, n, k) -> (n, k)", "(m, n, k) -> (m, n)")
            operation += f" indexing_maps = [{', '.join(f'affine_map<{each}>' for each in maps)}]"
        shapes = (*self.operands, (self.m, self.n))
        return product_source(self.dtype, shapes, "matmul", operation)

    def product(self, a: F64, b: F64, part: Mask) -> F64:
        """Returns the elements of the output that `part` marks.

        Only their rows and columns are summed.
        """
        rows, columns = (np.flatnonzero(part.any(axis=axis)) for axis in (1, 0))
        right = b[columns].T if self.transposed else b[:, columns]
        return (a[rows] @ right)[part[np.ix_(rows, columns)]]


def random_operands(kernel: HasOperands, seed: int = 3) -> list[npt.NDArray[Any]]:
    """Returns inputs of a kernel: all values of an integer type, normal values of others."""
    random = np.random.default_rng(seed)
    if kernel.dtype == "i8":
        return [random.integers(-128, 128, shape, dtype=np.int8) for shape in kernel.operands]
    values = [random.standard_normal(shape, np.float32) for shape in kernel.operands]
    return [each.astype(dtype_of(kernel.dtype)) for each in values]


def product_source(
    dtype: str, shapes: Iterable[tuple[int, ...]], function: str, operation: str
) -> str:
    """Returns the MLIR of a function that sums products of two operands.

    Args:
        dtype: the type of the operands.
        shapes: those of the operands and of the output.
        operation: the operation, which gets the operands and the output, as MLIR.
    """
    accumulator = accumulator_of(dtype)
    zero = "0" if accumulator == "i32" else "0.0"
    types = zip(shapes, (dtype, dtype, accumulator), strict=True)
    a, b, c = (f"tensor<{'x'.join(map(str, shape))}x{each}>" for shape, each in types)
    return f"""func.func @{function}(%a: {a}, %b: {b}) -> {c} {{
  %zero = arith.constant {zero} : {accumulator}
  %empty = tensor.empty() : {c}
  %init = linalg.fill ins(%zero : {accumulator}) outs(%empty : {c}) -> {c}
  %out = {operation} ins(%a, %b : {a}, {b}) outs(%init : {c}) -> {c}
  return %out : {c}
}}
"""


Kernel = Attention | Matmul


def swept_attentions(dtype: str) -> list[Attention]:
    """Returns the 110 attention shapes of the public sweep.

    attention_shapes.json names its source.
    """
    shapes = json.loads(_SHAPES.read_text())["shapes"]
    return [Attention(s["batch"], s["seq"], s["head_dim"], dtype) for s in shapes]
