# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""dialect_utils/operations: what operations have in common that compute the same."""

from __future__ import annotations

from bankwise.dialect_utils.operations import likeness

from ..functions import parse

FUNCTION = """
func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>) {{
  %0 = linalg.generic {{{first}}} ins(%a, %b : tensor<4xf32>, tensor<4xf32>)
    outs(%c : tensor<4xf32>) {{ ^bb0(%x: f32, %y: f32, %z: f32):
      %s = arith.addf %x, %y : f32
      linalg.yield %s : f32 }} -> tensor<4xf32>
  %1 = linalg.generic {{{second}}} ins({operands} : tensor<4xf32>, tensor<4xf32>)
    outs(%0 : tensor<4xf32>) {{ ^bb0(%p: f32, %q: f32, %r: f32):
      %t = {body} : f32
      linalg.yield %t : f32 }} -> tensor<4xf32>
  return
}}
"""
MAP = "affine_map<(i) -> (i)>"
LOOPS = f'indexing_maps = [{MAP}, {MAP}, {MAP}], iterator_types = ["parallel"]'


def are_alike(
    operands: str = "%b, %c", body: str = "arith.addf %p, %q", second: str = LOOPS
) -> bool:
    module = parse(FUNCTION.format(first=LOOPS, second=second, operands=operands, body=body))
    one, other = module.operations("linalg.generic")
    return likeness(one) == likeness(other)


def test_operations_are_alike_whose_operands_alone_differ() -> None:
    assert are_alike()
    assert are_alike(operands="%b, %a")


def test_operations_are_not_alike_that_compute_something_else() -> None:
    assert not are_alike(operands="%a, %a")
    assert not are_alike(body="arith.mulf %p, %q")
    assert not are_alike(body="arith.addf %q, %p")
    assert not are_alike(body="arith.addf %p, %r")
    assert not are_alike(second=f"{LOOPS}, mine")


def test_maps_are_part_of_what_operations_have_in_common() -> None:
    """Though they are no attributes but properties of an operation."""
    text = FUNCTION.format(first=LOOPS, second=LOOPS, operands="%a, %b", body="arith.addf %p, %q")
    broadcast = parse(text.replace(MAP, "affine_map<(i) -> (0)>", 1))
    one, other = broadcast.operations("linalg.generic")
    assert likeness(one) != likeness(other)
