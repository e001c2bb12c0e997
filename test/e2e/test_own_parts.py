# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of tensors that move within them, as caches and states of models do."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from bankwise.runtime.emulated_run import run_emulated
from bankwise.sweep.cases import target_flags

SHAPE = (6, 24)


class Move(NamedTuple):
    """Where a part is read and written, in both dimensions."""

    read: tuple[int, int]
    written: tuple[int, int]
    sizes: tuple[int, int]
    strides: tuple[int, int] = (1, 1)

    def apply(self, tensor: np.ndarray) -> np.ndarray:
        """Returns the tensor behind the move."""
        part = tensor[self._places(self.read, self.strides)]
        moved = tensor.copy()
        moved[self._places(self.written, (1, 1))] = part
        return moved

    def _places(self, starts: tuple[int, int], strides: tuple[int, int]) -> tuple[slice, ...]:
        triples = zip(starts, self.sizes, strides, strict=True)
        return tuple(slice(at, at + size * step, step) for at, size, step in triples)

    def source(self, *, computed: bool = False) -> str:
        """Returns a program with the move; of squares instead of an argument, if `computed`."""
        whole, part = (f"tensor<{m}x{n}xf32>" for m, n in (SHAPE, self.sizes))
        squares = f"""
          %e = tensor.empty() : {whole}
          %x = linalg.elementwise <square> ins(%a : {whole}) outs(%e : {whole}) -> {whole}"""
        return f"""
        func.func @main(%{"a" if computed else "x"}: {whole}) -> {whole} {{
          {squares if computed else ""}
          %part = tensor.extract_slice %x{[*self.read]} {[*self.sizes]} {[*self.strides]}
              : {whole} to {part}
          %0 = tensor.insert_slice %part into %x{[*self.written]} {[*self.sizes]} [1, 1]
              : {part} into {whole}
          return %0 : {whole}
        }}"""


MOVES = {
    "columns to the right": Move((0, 0), (0, 1), (6, 23)),
    "columns to the left": Move((0, 3), (0, 0), (6, 21)),
    "rows down": Move((0, 0), (2, 0), (4, 24)),
    "rows up": Move((1, 0), (0, 0), (5, 24)),
    "a half": Move((0, 12), (0, 0), (6, 12)),
    "a block": Move((1, 2), (2, 5), (3, 17)),
    "every other column": Move((0, 1), (0, 0), (6, 12), (1, 2)),
}


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_a_part_of_an_argument_moves(move: Move) -> None:
    tensor = np.arange(144, dtype=np.float32).reshape(SHAPE)
    ran = run_emulated(move.source(), target_flags("gfx942"), "auto/layout", [tensor])
    np.testing.assert_array_equal(ran.outputs[0], move.apply(tensor))


@pytest.mark.parametrize("mode", ["auto/exact", "auto/fast", "auto/fast/off", "swizzle/exact"])
def test_a_part_of_a_result_moves_in_every_mode(mode: str) -> None:
    tensor = np.arange(144, dtype=np.float32).reshape(SHAPE) / 8
    move = MOVES["a block"]
    source = move.source(computed=True)
    ran = run_emulated(source, target_flags("gfx942"), mode, [tensor])
    np.testing.assert_array_equal(ran.outputs[0], move.apply(tensor**2))


def test_a_cache_moves_in_each_step_of_a_loop() -> None:
    tensor = np.arange(144, dtype=np.float32).reshape(SHAPE)
    source = """
      func.func @main(%x: tensor<6x24xf32>) -> tensor<6x24xf32> {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c3 = arith.constant 3 : index
        %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%t = %x) -> tensor<6x24xf32> {
          %part = tensor.extract_slice %t[0, 1] [6, 23] [1, 1]
              : tensor<6x24xf32> to tensor<6x23xf32>
          %0 = tensor.insert_slice %part into %t[0, 0] [6, 23] [1, 1]
              : tensor<6x23xf32> into tensor<6x24xf32>
          scf.yield %0 : tensor<6x24xf32>
        }
        return %r : tensor<6x24xf32>
      }"""
    ran = run_emulated(source, target_flags("gfx942"), "auto/exact", [tensor])
    columns = [min(each + 3, 23) for each in range(24)]
    np.testing.assert_array_equal(ran.outputs[0], tensor[:, columns])


def test_a_dynamic_number_of_columns_moves() -> None:
    tensor = np.arange(144, dtype=np.float32).reshape(SHAPE)
    source = """
      func.func @main(%x: tensor<?x?xf32>, %places: tensor<i32>) -> tensor<?x?xf32> {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %rows = tensor.dim %x, %c0 : tensor<?x?xf32>
        %columns = tensor.dim %x, %c1 : tensor<?x?xf32>
        %by = tensor.extract %places[] : tensor<i32>
        %at = arith.index_cast %by : i32 to index
        %rest = arith.subi %columns, %at : index
        %part = tensor.extract_slice %x[0, 0] [%rows, %rest] [1, 1]
            : tensor<?x?xf32> to tensor<?x?xf32>
        %0 = tensor.insert_slice %part into %x[0, %at] [%rows, %rest] [1, 1]
            : tensor<?x?xf32> into tensor<?x?xf32>
        return %0 : tensor<?x?xf32>
      }"""
    inputs = [tensor, np.array(5, np.int32)]
    ran = run_emulated(source, target_flags("gfx942"), "auto/exact", inputs)
    np.testing.assert_array_equal(ran.outputs[0], Move((0, 0), (0, 5), (6, 19)).apply(tensor))
