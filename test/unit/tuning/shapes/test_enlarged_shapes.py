# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which tensors of a function get larger shapes with an operation, and which cannot."""

from __future__ import annotations

import pytest
from iree.compiler import ir

from bankwise.dialect_utils.diagnostics import Refusal
from bankwise.dialect_utils.indexing_maps import loops_of
from bankwise.dialect_utils.operations import operations_in
from bankwise.tuning.shapes.enlarged_shapes import (
    EnlargedShapes,
    check_zeros,
    enlarged_shapes,
    restored_bindings,
)
from bankwise.tuning.shapes.strided_buffers import StridedBuffer

from ...functions import Parsed, parse

MATMUL = "linalg.matmul"


_BINDING = "hal.interface.binding.subspan layout(#layout) binding(0) offset(%c0)"
_WHOLE = f"%bl = {_BINDING} : memref<30x20xf16>"


def function(
    between: str = "",
    left: str = "%l",
    behind: str = "",
    buffer: str = _WHOLE,
    kind: str = "memref<30x20xf16>",
) -> str:
    """Returns 30x20 times 20x40, with operations on the left operand and on the result.

    Args:
        buffer: what makes the left operand's buffer, which is a `kind`.
    """
    return f"""
      #layout = #hal.pipeline.layout<bindings = [
          #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>
      #same = affine_map<(i, j) -> (i, j)>
      func.func @f(%other: tensor<30x20xf16>, %scale: f16) {{
        %c0 = arith.constant 0 : index
        %half = arith.constant 0.5 : f16
        %inf = arith.constant 0x7C00 : f16
        %zero = arith.constant 0.0 : f32
        {buffer}
        %br = hal.interface.binding.subspan layout(#layout) binding(1) offset(%c0)
            : memref<20x40xf16>
        %l = iree_codegen.load_from_buffer %bl : {kind} -> tensor<30x20xf16>
        %r = iree_codegen.load_from_buffer %br : memref<20x40xf16> -> tensor<20x40xf16>
        %el = tensor.empty() : tensor<30x20xf16>
        {between}
        %eo = tensor.empty() : tensor<30x40xf32>
        %o = linalg.fill ins(%zero : f32) outs(%eo : tensor<30x40xf32>) -> tensor<30x40xf32>
        %x = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
            affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
            ins({left}, %r : tensor<30x20xf16>, tensor<20x40xf16>)
            outs(%o : tensor<30x40xf32>) -> tensor<30x40xf32>
        {behind}
        return
      }}"""


def elementwise(body: str, iterators: str = '"parallel", "parallel"') -> str:
    """Returns a `linalg.generic` that computes %c of %l, whose elements are %a."""
    return f"""
        %c = linalg.generic {{indexing_maps = [#same, #same], iterator_types = [{iterators}]}}
            ins(%l : tensor<30x20xf16>) outs(%el : tensor<30x20xf16>) {{
          ^bb0(%a: f16, %out: f16):
            {body}
        }} -> tensor<30x20xf16>"""


def enlarged(text: str) -> tuple[Parsed, ir.Operation, EnlargedShapes]:
    parsed = parse(text)
    (matmul,) = operations_in(parsed.function, MATMUL)
    return parsed, matmul, enlarged_shapes(matmul, loops_of(matmul), {0: 32, 1: 48, 2: 32})


def test_tensors_and_buffers_get_the_shapes_that_the_loops_ask_for(context: ir.Context) -> None:
    parsed, matmul, shapes = enlarged(function(elementwise("linalg.yield %a : f16"), "%c"))
    shapes.apply(parsed.function)
    kinds = [str(each.type) for each in matmul.operands]
    assert kinds == ["tensor<32x32xf16>", "tensor<32x48xf16>", "tensor<32x48xf32>"]
    assert parsed.module.operation.verify()
    found = restored_bindings(parsed.function)
    assert [(str(each.results[0].type), shape) for each, shape, _ in found] == [
        ("memref<32x32xf16>", (30, 20)),
        ("memref<32x48xf16>", (20, 40)),
    ]
    assert restored_bindings(parsed.function) == []


def viewed(behind: str = "", offset: str = "70") -> str:
    """Returns the same product, whose left operand is a part of 30x400 elements."""
    kind = f"memref<30x20xf16, strided<[400, 1], offset: {offset.replace('%c0', '?')}>>"
    whole = f"%whole = {_BINDING} : memref<30x400xf16>"
    part = f"memref.subview %whole[0, {offset}] [30, 20] [1, 1] : memref<30x400xf16> to {kind}"
    return function(behind=behind, buffer=f"{whole}\n%bl = {part}", kind=kind)


def test_a_part_of_a_buffer_that_is_read_becomes_a_binding(context: ir.Context) -> None:
    parsed, _, shapes = enlarged(viewed())
    shapes.apply(parsed.function)
    assert parsed.module.operation.verify()
    found = [(str(b.results[0].type), *rest) for b, *rest in restored_bindings(parsed.function)]
    part = StridedBuffer((((30, 400),), ((20, 1),)), 12000, 70)
    assert ("memref<32x32xf16>", (30, 20), part) in found
    assert len(found) == 2


@pytest.mark.parametrize(
    "text",
    [
        viewed(
            "iree_codegen.store_to_buffer %other, %bl : tensor<30x20xf16>"
            " into memref<30x20xf16, strided<[400, 1], offset: 70>>"
        ),
        viewed(offset="%c0"),
    ],
    ids=["written", "unknown"],
)
def test_other_parts_of_buffers_are_refused(context: ir.Context, text: str) -> None:
    with pytest.raises(Refusal, match="is written, or has sizes"):
        enlarged(text)


@pytest.mark.parametrize(
    "body",
    [
        "linalg.yield %a : f16",
        "%b = arith.mulf %a, %half : f16\n linalg.yield %b : f16",
        "%b = arith.negf %a : f16\n %s = arith.addf %a, %b : f16\n linalg.yield %s : f16",
    ],
)
def test_zeros_stay_zeros(context: ir.Context, body: str) -> None:
    _, matmul, shapes = enlarged(function(elementwise(body), "%c"))
    check_zeros(matmul.operands[0], shapes)


@pytest.mark.parametrize(
    "body",
    [
        "linalg.yield %half : f16",
        "%b = arith.addf %a, %half : f16\n linalg.yield %b : f16",
        "%b = arith.mulf %a, %inf : f16\n linalg.yield %b : f16",
        "%b = arith.mulf %a, %scale : f16\n linalg.yield %b : f16",
        "%b = math.cos %a : f16\n linalg.yield %b : f16",
        "%b = arith.addf %a, %out : f16\n linalg.yield %b : f16",
    ],
)
def test_what_need_not_be_zero_is_refused(context: ir.Context, body: str) -> None:
    _, matmul, shapes = enlarged(function(elementwise(body), "%c"))
    with pytest.raises(Refusal, match="zero"):
        check_zeros(matmul.operands[0], shapes)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (function(left="%other"), "tensor<30x20xf16> is no buffer's"),
        (
            function(
                "%t = tensor.extract_slice %l[0, 0] [4, 4] [1, 1]"
                " : tensor<30x20xf16> to tensor<4x4xf16>"
            ),
            "tensor.extract_slice uses",
        ),
        (
            function(elementwise("linalg.yield %a : f16", '"reduction", "parallel"'), "%c"),
            "a reduction uses",
        ),
        (
            function(
                elementwise(
                    "%b = tensor.extract %other[%c0, %c0] : tensor<30x20xf16>\n"
                    "linalg.yield %b : f16"
                ),
                "%c",
            ),
            "tensor.extract uses",
        ),
        (
            function(
                elementwise(
                    "%i = linalg.index 0 : index\n %d = arith.divui %c0, %i : index\n"
                    "%n = arith.index_cast %d : index to i16\n"
                    "%b = arith.bitcast %n : i16 to f16\n linalg.yield %b : f16"
                ),
                "%c",
            ),
            "arith.divui is not defined for zeros",
        ),
        (
            function(
                behind="iree_codegen.store_to_buffer %l, %bl"
                " : tensor<30x20xf16> into memref<30x20xf16>"
            ),
            "both read and written",
        ),
    ],
)
def test_what_cannot_be_larger_is_refused(context: ir.Context, text: str, reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        enlarged(text)
