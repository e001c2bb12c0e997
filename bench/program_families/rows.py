# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that reduce the rows of a tensor of any shape, as linalg, each in the tensor's own type.

RowProgram("layernorm", "f16", (2, 5, 777)).program()
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..reference_attention import softmax
from .program import TOLERANCE, Array, Input, Program, Reference, file_source, normal, tensor
from .reductions import layernorm

_LEAST = {"f16": "0xFC00", "bf16": "0xFF80", "f32": "0xFF800000"}
"""Minus infinity."""


def _steps(kind: str, *shape: int) -> Input:
    """Makes few different values, so that the largest one is there several times."""
    draw = normal(kind, *shape, scale=3.0)
    return lambda random: (drawn := draw(random)).round().astype(drawn.dtype)


def _argmax(x: Array) -> Sequence[Array]:
    return [x.max(axis=-1), x.argmax(axis=-1)]


_REFERENCES: dict[str, tuple[int, Reference]] = {
    "softmax": (0, softmax),
    "masked_softmax": (1, lambda x, mask: softmax(x + mask)),
    "layernorm": (2, lambda x, gain, bias: layernorm(x) * gain + bias),
    "sum": (0, lambda x: x.sum(axis=-1)),
    "times_vector": (1, lambda x, vector: x @ vector),
    "argmax": (0, _argmax),
}
"""How many vectors as long as a row a program takes beside the rows, and what it computes."""
ROW_PROGRAMS = tuple(_REFERENCES)


class RowProgram(NamedTuple):
    """A program of one of `ROW_PROGRAMS`, whose rows lie along the last dimension.

    Attributes:
        extreme: how the largest element is computed where its place is asked for, too.
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    extreme: str = "maximumf"

    def program(self) -> Program:
        """Returns the program."""
        *outer, length = self.shape
        dims = [f"d{each}" for each in range(len(self.shape))]
        parallel = ['"parallel"'] * len(dims)
        source = file_source(
            f"rows_{self.name}",
            t=self.kind,
            x=tensor(self.kind, *self.shape),
            r=tensor(self.kind, *outer),
            c=tensor(self.kind, length),
            places=tensor("i64", *outer),
            dims=", ".join(dims),
            outer=", ".join(dims[:-1]),
            inner=dims[-1],
            last=len(outer),
            parallel=", ".join(parallel),
            reduced=", ".join([*parallel[:-1], '"reduction"']),
            count=float(length),
            least=_LEAST[self.kind],
            extreme=self.extreme,
        )
        vectors, reference = _REFERENCES[self.name]
        draw = _steps if self.name == "argmax" else normal
        inputs = [draw(self.kind, *self.shape)]
        inputs += [normal(self.kind, length) for _ in range(vectors)]
        precision = "f16 sums" if self.kind == "f16" else self.kind
        tolerance = TOLERANCE["exact" if self.name == "argmax" else precision]
        name = "_".join(["rows", self.name, self.kind, "x".join(map(str, self.shape))])
        return Program(name, source, tuple(inputs), reference, tolerance)
