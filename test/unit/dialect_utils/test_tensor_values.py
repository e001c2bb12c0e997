# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""dialect_utils/tensor_values: tensors that constant expressions make."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from iree.compiler import ir

from bankwise.dialect_utils.operations import children
from bankwise.dialect_utils.tensor_values import Array, NotComputed, TensorEvaluator

ROWS = "affine_map<(d0, d1) -> (d0)>"
COLUMNS = "affine_map<(d0, d1) -> (d1)>"
SWAPPED = "affine_map<(d0, d1) -> (d1, d0)>"
BOTH = "affine_map<(d0, d1) -> (d0, d1)>"
NUMBERS = np.arange(6, dtype=np.int64).reshape(2, 3) - 3
HALVES = np.array([[0.5, -2.0, 4.0], [1.0, 0.0, -0.25]], np.float32)


def computed(body: str, kind: str, **known: Array) -> Array:
    """Returns what an initializer stores that may load globals, each a tensor of its name."""
    stored = "x".join(map(str, (2, 3, kind)))
    declared = [f"util.global private @{name} : {type_of(each)}" for name, each in known.items()]
    loaded = [
        f"%{name} = util.global.load @{name} : {type_of(each)}" for name, each in known.items()
    ]
    text = f"""
      {" ".join(declared)}
      util.global private @made : tensor<{stored}>
      util.initializer {{
        {" ".join(loaded)}
        %e = tensor.empty() : tensor<{stored}>
        {body}
        util.global.store %made, @made : tensor<{stored}>
        util.return
      }}"""
    module = ir.Module.parse(text)
    (initializer,) = children(module.operation, "util.initializer")
    evaluator = TensorEvaluator({**known}, lambda _: np.zeros(6, np.int64))
    evaluator.run(initializer)
    return evaluator.globals_["made"]


def type_of(array: Array) -> str:
    kinds: dict[Any, str] = {np.dtype(np.int64): "i64", np.dtype(np.float32): "f32"}
    return f"tensor<{'x'.join(map(str, (*array.shape, kinds[array.dtype])))}>"


def generic(body: str, kind: str, *ins: tuple[str, str, str], of: str = "%e") -> str:
    """Returns a `linalg.generic` over [2, 3] whose body yields %r; an input is a value, its type
    and its map."""
    maps = ", ".join([*(access for *_, access in ins), BOTH])
    names = ", ".join(name for name, *_ in ins)
    types = ", ".join(each for _, each, _ in ins)
    arguments = [
        f"%in{n}: {each.rpartition('x')[2].strip('<>')}" for n, (_, each, _) in enumerate(ins)
    ]
    reads = f"ins({names} : {types})" if ins else ""
    made = f"tensor<2x3x{kind}>"
    return f"""%made = linalg.generic {{indexing_maps = [{maps}],
        iterator_types = ["parallel", "parallel"]}} {reads} outs({of} : {made}) {{
        ^bb0({", ".join([*arguments, f"%out: {kind}"])}):
          {body}
          linalg.yield %r : {kind}
        }} -> {made}"""


INTEGERS = ("%a", "tensor<2x3xi64>", BOTH)
FLOATS = ("%b", "tensor<2x3xf32>", BOTH)
THREE = "%c3 = arith.constant 3 : i64"
KNOWN = {
    "a": NUMBERS,
    "b": HALVES,
    "c": np.array([7, 8, 9]),
    "d": np.array([10, 20]),
    "t": np.arange(1, 7).reshape(3, 2),
}
SELECT = """
    %z = arith.constant 0.0 : f32
    %p = arith.cmpf une, %in0, %z : f32
    %h = arith.constant -100.0 : f32
    %r = arith.select %p, %h, %in0 : f32"""
GATHER = """
    %c3 = arith.constant 3 : index
    %i = linalg.index 1 : index
    %p = arith.cmpi ult, %i, %c3 : index
    cf.assert %p, "inside"
    %r = tensor.extract %c[%i] : tensor<3xi64>"""
GATHER_BEYOND = """
    %i = arith.index_cast %in0 : i64 to index
    %r = tensor.extract %c[%i] : tensor<3xi64>"""
SLICES = """
    %f = tensor.collapse_shape %a [[0, 1]] : tensor<2x3xi64> into tensor<6xi64>
    %s = tensor.extract_slice %f[1] [2] [3] : tensor<6xi64> to tensor<2xi64>
    %g = tensor.expand_shape %s [[0, 1]] output_shape [2, 1]
        : tensor<2xi64> into tensor<2x1xi64>
    %made = tensor.insert_slice %g into %a[0, 2] [2, 1] [1, 1]
        : tensor<2x1xi64> into tensor<2x3xi64>"""
SCAN = """
    %z = arith.constant 0 : i64
    %q = tensor.empty() : tensor<2xi64>
    %n = linalg.fill ins(%z : i64) outs(%q : tensor<2xi64>) -> tensor<2xi64>
    %made, %l = iree_linalg_ext.scan {operandSegmentSizes = array<i32: 1, 2>}
        dimension(1) inclusive(true)
        ins(%a : tensor<2x3xi64>) outs(%e, %n : tensor<2x3xi64>, tensor<2xi64>) {
    ^bb0(%x: i64, %y: i64):
      %s = arith.addi %x, %y : i64
      iree_linalg_ext.yield %s : i64
    } -> tensor<2x3xi64>, tensor<2xi64>"""
FILL = """
    %z = arith.constant 5 : i64
    %made = linalg.fill ins(%z : i64) outs(%e : tensor<2x3xi64>) -> tensor<2x3xi64>"""
BYTES = "%made = arith.constant dense<[[1, 2, 3], [4, 5, -6]]> : tensor<2x3xi8>"
CONDITIONS = (
    "%made = arith.constant dense<[[true, false, true], [true, true, true]]> : tensor<2x3xi1>"
)
NEVER = '%f = arith.constant false cf.assert %f, "never" %r = arith.addi %in0, %in0 : i64'
FUSED = "%p = arith.mulf %in0, %in0 : f32 %r = arith.addf %p, %in0 : f32"
SMALL = "%u = arith.constant 1.0e-38 : f32 %r = arith.mulf %in0, %u : f32"
ROUNDED = "%u = arith.constant 16777217 : i64 %r = arith.sitofp %u : i64 to f32"
POSITIVE = "%z = arith.constant 0.0 : f32 %r = arith.cmpf ogt, %in0, %z : f32"
INDEX = "%i = linalg.index 1 : index %r = arith.index_cast %i : index to i64"


def _of_integers(body: str, kind: str = "i64") -> tuple[str, str]:
    return generic(body, kind, INTEGERS), kind


def _of_floats(body: str, kind: str = "f32") -> tuple[str, str]:
    return generic(body, kind, FLOATS), kind


@pytest.mark.parametrize(
    ("made", "right"),
    [
        ((generic(INDEX, "i64"), "i64"), [[0, 1, 2], [0, 1, 2]]),
        (_of_integers(f"{THREE} %r = arith.subi %in0, %c3 : i64"), NUMBERS - 3),
        (_of_integers("%r = arith.trunci %in0 : i64 to i1", "i1"), -(NUMBERS % 2)),
        (_of_integers("%r = arith.sitofp %in0 : i64 to f16", "f16"), NUMBERS),
        (_of_floats("%r = arith.addf %in0, %in0 : f32"), 2 * HALVES),
        (_of_floats("%r = arith.mulf %in0, %in0 : f32"), HALVES * HALVES),
        (_of_floats(POSITIVE, "i1"), -(HALVES > 0).astype(np.int64)),
        (_of_floats(SELECT), np.where(HALVES != 0, -100, HALVES)),
        ((generic(GATHER, "i64"), "i64"), [[7, 8, 9], [7, 8, 9]]),
        ((FILL, "i64"), np.full((2, 3), 5)),
        ((BYTES, "i8"), [[1, 2, 3], [4, 5, -6]]),
        ((SLICES, "i64"), [[-3, -2, -2], [0, 1, 1]]),
        ((SCAN, "i64"), [[-3, -5, -6], [0, 1, 3]]),
    ],
)
def test_what_an_initializer_stores(made: tuple[str, str], right: Any) -> None:
    stored = computed(*made, **KNOWN)
    assert stored.shape == (2, 3)
    assert (stored == right).all()


def test_operands_are_read_by_their_maps() -> None:
    columns, rows = ("%c", "tensor<3xi64>", COLUMNS), ("%d", "tensor<2xi64>", ROWS)
    added = generic("%r = arith.addi %in0, %in1 : i64", "i64", INTEGERS, columns)
    assert (computed(added, "i64", **KNOWN) == NUMBERS + np.array([7, 8, 9])).all()
    swapped = generic(
        "%r = arith.muli %in0, %in1 : i64", "i64", rows, ("%t", "tensor<3x2xi64>", SWAPPED)
    )
    assert (computed(swapped, "i64", **KNOWN) == [[10, 30, 50], [40, 80, 120]]).all()


def test_integers_wrap_at_their_width() -> None:
    body = generic(
        "%c = arith.constant 100 : i8 %r = arith.addi %in0, %c : i8",
        "i8",
        ("%k", "tensor<2x3xi8>", BOTH),
    )
    constant = "%k = arith.constant dense<[[27, 28, 29], [0, -128, 1]]> : tensor<2x3xi8>"
    assert (computed(f"{constant} {body}", "i8") == [[127, -128, -127], [100, -28, 101]]).all()


@pytest.mark.parametrize(
    "made",
    [
        _of_floats("%r = math.sin %in0 : f32"),
        _of_floats(FUSED),
        _of_floats(SMALL),
        _of_integers(ROUNDED, "f32"),
        _of_integers("%r = arith.divsi %in0, %in0 : i64"),
        _of_integers(GATHER_BEYOND),
        _of_integers(NEVER),
        _of_integers("%r = arith.trunci %in0 : i64 to i4", "i4"),
        (CONDITIONS, "i1"),
        ("%made = util.global.load @made : tensor<2x3xi64>", "i64"),
    ],
)
def test_what_has_no_one_right_result_is_not_computed(made: tuple[str, str]) -> None:
    with pytest.raises(NotComputed):
        computed(*made, **KNOWN)
