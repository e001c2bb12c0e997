# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operands A, B and C of matrix instructions: which lane holds which of their elements.

AMD's are told in `matrix_instructions.py`. NVIDIA's `mma.sync` (PTX ISA, "Matrix fragments for
mma"): with group g = lane / 4, t = lane % 4, and e elements in a register of 32 bits (1 of f64),
register r of

* A holds the row g + 8 (r % R), R = M / 8, and the columns e t + j + 4 e (r / R), j < e;
* B holds the rows e t + j + 4 e r, and the column g;
* C holds, as element i, the row g + 8 (i / 2) and the column 2 t + i % 2.

Worked example: A of m16n8k16 on f16 has e = 2 and R = 2. Lane 5 (g = 1, t = 1) holds A[1, 2..3],
A[9, 2..3], A[1, 10..11] and A[9, 10..11].
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from .errors import InvalidParameterError
from .features import features_of
from .matrix_instructions import WAVE, MatrixShape, mfma_shapes
from .quick_dataclass import dataclass
from .quick_tuple import NamedTuple

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt


IntArray: TypeAlias = "npt.NDArray[np.int64]"
OPERANDS = ("A", "B", "C")


@dataclass(frozen=True, eq=False)
class MatrixOperand:
    """One operand of a matrix instruction, in the registers of a wave.

    Attributes:
        shape: its rows and columns.
        rows: [elements of a lane, lanes], the row of each element.
        columns: likewise.
    """

    shape: tuple[int, int]
    rows: IntArray
    columns: IntArray

    @property
    def transposed(self) -> MatrixOperand:
        """Returns the transposed matrix in the same registers."""
        rows, columns = self.shape
        return MatrixOperand((columns, rows), self.columns, self.rows)


class MatrixInstruction(NamedTuple):
    """A matrix instruction of one block, and the types that it takes.

    Attributes:
        source_bits: the possible widths of the elements of A and B.
    """

    name: str
    shape: MatrixShape
    source_bits: tuple[int, ...]
    lanes: int

    def operand(self, name: str, element_bits: int) -> MatrixOperand:
        """Returns operand A, B or C.

        Args:
            element_bits: the width of an element of A and B; of C, which may be stored in another
                type than it was computed in, any.

        Raises:
            InvalidParameterError: another name, or a width that the instruction does not take.
        """
        if name not in OPERANDS:
            raise InvalidParameterError("operand", name, ", ".join(OPERANDS))
        if name != "C" and element_bits not in self.source_bits:
            allowed = " or ".join(map(str, self.source_bits))
            raise InvalidParameterError(f"bits of {self.name}'s {name}", element_bits, allowed)
        place = _mfma_operand if self.lanes == WAVE else _mma_operand
        return place(self.shape, name, element_bits)


_SOURCE_BITS: Mapping[str, tuple[int, ...]] = {
    "f64": (64,),
    "f32": (32,),
    "f16": (16,),
    "bf16": (16,),
    "i8": (8,),
    "f8f6f4": (8, 4),
}


def matrix_instructions(arch: str) -> dict[str, MatrixInstruction]:
    """Returns the dense matrix instructions of a chip that compute one block, by name.

    Names are those of the ISA without `v_`, `mfma_f32_16x16x16_f16`, and `mma.m16n8k16`, which
    takes several types.
    """
    capability = features_of(arch).compute_capability
    if capability is None:
        shapes = mfma_shapes(arch).items()
        found = {name.removeprefix("v_"): shape for name, shape in shapes if shape.blocks == 1}
        return {
            name: MatrixInstruction(name, shape, _SOURCE_BITS.get(shape.source, (8,)), WAVE)
            for name, shape in found.items()
        }
    instructions: dict[str, MatrixInstruction] = {}
    for name, (since, bits) in _MMA.items():
        known = tuple(b for b, first in zip(bits, since, strict=True) if first <= capability)
        match = re.fullmatch(r"mma\.m(\d+)n(\d+)k(\d+)", name)
        assert match is not None
        m, n, k = map(int, match.groups())
        if known:
            shape = MatrixShape(m, n, k, 1, "", "")
            instructions[name] = MatrixInstruction(name, shape, known, 32)
    return instructions


_MMA: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    # The first compute capability for each width of A and B (PTX ISA, "mma": target notes).
    "mma.m8n8k4": ((80,), (64,)),
    "mma.m8n8k16": ((75,), (8,)),
    "mma.m8n8k32": ((75,), (4,)),
    "mma.m16n8k4": ((90, 80), (64, 32)),
    "mma.m16n8k8": ((90, 80, 75), (64, 32, 16)),
    "mma.m16n8k16": ((90, 80, 80), (64, 16, 8)),
    "mma.m16n8k32": ((80, 80), (8, 4)),
    "mma.m16n8k64": ((80,), (4,)),
}


def _mfma_operand(shape: MatrixShape, name: str, element_bits: int) -> MatrixOperand:
    lane = np.arange(WAVE, dtype=np.int64)
    if name == "C":
        height, beside = shape.row_group, shape.groups_beside
        elements = shape.m * shape.n // WAVE
        element = np.arange(elements, dtype=np.int64)[:, None]
        group = lane // shape.n + beside * (element // height)
        rows = element % height + height * group
        return MatrixOperand((shape.m, shape.n), rows, np.broadcast_to(lane % shape.n, rows.shape))
    size = shape.m if name == "A" else shape.n
    elements = size * shape.k // WAVE
    element = np.arange(elements, dtype=np.int64)[:, None]
    run = 16 if shape.source == "f8f6f4" and element_bits == 8 else elements
    part = lane // size
    steps = element % run + run * part + element // run * (run * (WAVE // size))
    lines = np.broadcast_to(lane % size, steps.shape)
    if name == "A":
        return MatrixOperand((size, shape.k), lines, steps)
    return MatrixOperand((shape.k, size), steps, lines)


def _mma_operand(shape: MatrixShape, name: str, element_bits: int) -> MatrixOperand:
    lane = np.arange(32, dtype=np.int64)
    group, thread = lane // 4, lane % 4
    groups = shape.m // 8
    if name == "C":
        element = np.arange(2 * groups, dtype=np.int64)[:, None]
        rows, columns = group + 8 * (element // 2), 2 * thread + element % 2
        return MatrixOperand((shape.m, shape.n), rows, columns)
    per_register = max(32 // element_bits, 1)
    depth = shape.k // (4 * per_register)
    number = groups * depth if name == "A" else depth
    element = np.arange(number * per_register, dtype=np.int64)[:, None]
    register, inside = element // per_register, element % per_register
    along = per_register * thread + inside
    if name == "A":
        rows = group + 8 * (register % groups)
        columns = along + 4 * per_register * (register // groups)
        return MatrixOperand((shape.m, shape.k), rows, columns)
    rows = along + 4 * per_register * register
    return MatrixOperand((shape.k, shape.n), rows, np.broadcast_to(group, rows.shape))
