# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of vectors, as IREE makes multiplications and additions of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iree.compiler import ir

from bankwise.dialect_utils.operations import children
from bankwise.passes.base import PassContext
from bankwise.tuning.workarounds.order_products import OrderProducts

from ...functions import parse

pytestmark = pytest.mark.usefixtures("context")

_LOOPS = "bmnpjk"
_SUMMED = {"j", "k"}


class Product:
    """A product of vectors.

    Attributes:
        loops: its loops, in the order of their numbers.
        operands: the loops that index the two factors and the sums.
        sizes: how often each loop is run.
    """

    def __init__(self, loops: str, operands: Sequence[str], sizes: dict[str, int]) -> None:
        self.loops, self.operands, self.sizes = loops, operands, sizes

    def __repr__(self) -> str:
        return f"Product({self.loops!r}, {self.operands}, {self.sizes})"

    @property
    def shapes(self) -> list[list[int]]:
        """Returns the shapes of the factors and of the sums."""
        return [[self.sizes[loop] for loop in each] for each in self.operands]

    def text(self) -> str:
        """Returns a function that computes the product."""
        names = ", ".join(self.loops)
        maps = ", ".join(f"affine_map<({names}) -> ({', '.join(e)})>" for e in self.operands)
        words = ", ".join('"reduction"' if each in _SUMMED else '"parallel"' for each in self.loops)
        a, b, c = (f"vector<{'x'.join(map(str, each))}xf32>" for each in self.shapes)
        return f"""
          func.func @f(%a: {a}, %b: {b}, %c: {c}) -> {c} {{
            %0 = vector.contract {{indexing_maps = [{maps}], iterator_types = [{words}],
                                   kind = #vector.kind<add>}} %a, %b, %c : {a}, {b} into {c}
            return %0 : {c}
          }}"""

    def expected(self, left: np.ndarray, right: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Returns the product of factors, added to sums."""
        left_loops, right_loops, of_sums = self.operands
        return sums + np.einsum(f"{left_loops},{right_loops}->{of_sums}", left, right)


def lowered(product: Product, inputs: Sequence[np.ndarray], *, ordered: bool) -> np.ndarray:
    """Returns what IREE's multiplications and additions give for inputs."""
    parsed = parse(product.text())
    if ordered:
        OrderProducts().run(parsed.function, PassContext())
    parsed.run_native("iree-llvmgpu-vector-lowering")
    return evaluated(parsed.function, inputs)


def evaluated(function: ir.Operation, inputs: Sequence[np.ndarray]) -> np.ndarray:
    """Returns what a function of vectors returns for inputs."""
    arguments = function.regions[0].blocks[0].arguments
    values: dict[ir.Value, np.ndarray] = dict(zip(arguments, inputs, strict=True))
    for op in children(function):
        if op.name == "func.return":
            return values[op.operands[0]]
        operands = [values[each] for each in op.operands]
        for result, value in zip(op.results, _results(op, operands), strict=True):
            values[result] = value.reshape(_shape(result.type))
    raise AssertionError("the function returns nothing")


def _shape(kind: ir.Type) -> list[int]:
    return ir.VectorType(kind).shape if isinstance(kind, ir.VectorType) else []


def _results(op: ir.Operation, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
    shape = _shape(op.results[0].type)
    match op.name, operands:
        case "ub.poison", []:
            return [np.full(shape, np.nan)]
        case "arith.constant", []:
            value = ir.DenseElementsAttr(op.attributes["value"])
            return [np.broadcast_to(np.array(value), shape)]
        case "vector.transpose", [vector]:
            return [vector.transpose(_numbers(op, "permutation"))]
        case (("vector.shape_cast" | "vector.broadcast"), [vector]):
            cast = op.name == "vector.shape_cast"
            return [vector.reshape(shape) if cast else np.broadcast_to(vector, shape)]
        case "vector.extract", [vector]:
            return [vector[tuple(_numbers(op, "static_position"))]]
        case "vector.insert", [part, vector]:
            made = vector.copy()
            made[tuple(_numbers(op, "static_position"))] = part
            return [made]
        case "vector.extract_strided_slice", [vector]:
            starts, sizes = _numbers(op, "offsets"), _numbers(op, "sizes")
            return [vector[tuple(map(slice, starts, np.add(starts, sizes)))]]
        case "vector.insert_strided_slice", [part, vector]:
            made, starts = vector.copy(), _numbers(op, "offsets")
            leading = starts[: len(starts) - part.ndim]
            inner = starts[len(leading) :]
            made[(*leading, *map(slice, inner, np.add(inner, part.shape)))] = part
            return [made]
        case "vector.shuffle", [first, second]:
            return [np.concatenate([first, second])[_numbers(op, "mask")]]
        case "vector.to_elements", [vector]:
            return [*vector.reshape(-1)]
        case "vector.from_elements", _:
            return [np.array(operands)]
        case "math.fma", [left, right, added]:
            return [left * right + added]
        case (("arith.mulf" | "arith.addf"), [left, right]):
            return [left * right if op.name == "arith.mulf" else left + right]
        case _:
            raise AssertionError(f"{op.name} is not evaluated")


def _numbers(op: ir.Operation, name: str) -> list[int]:
    attribute = op.attributes[name]
    if isinstance(attribute, ir.DenseI64ArrayAttr):
        return [*attribute]
    return [ir.IntegerAttr(each).value for each in ir.ArrayAttr(attribute)]


def inputs_of(product: Product) -> list[np.ndarray]:
    """Returns the same inputs at every call."""
    random = np.random.default_rng(5)
    return [random.integers(-8, 9, each).astype(float) for each in product.shapes]


@st.composite
def products(draw: st.DrawFn) -> Product:
    """Draws products whose operands have their loops in any order."""
    loops = "".join(draw(st.permutations(draw(st.sampled_from(("mnk", "bmnk", "mpnjk", _LOOPS))))))
    orders = (
        "".join(draw(st.permutations([loop for loop in loops if loop not in left_out])))
        for left_out in ("n", "mp", "jk")
    )
    sizes = {loop: draw(st.integers(1, 3)) for loop in loops}
    return Product(loops, tuple(orders), sizes)


@given(product=products())
@settings(deadline=None, max_examples=60)
def test_sums_are_right_in_whatever_order_the_loops_are_numbered(product: Product) -> None:
    inputs = inputs_of(product)
    found = lowered(product, inputs, ordered=True)
    np.testing.assert_array_equal(found, product.expected(*inputs))


def test_without_the_pass_sums_are_those_of_other_elements() -> None:
    product = Product("mnk", ("km", "kn", "nm"), {"m": 4, "n": 4, "k": 3})
    inputs = inputs_of(product)
    assert not np.array_equal(lowered(product, inputs, ordered=False), product.expected(*inputs))
