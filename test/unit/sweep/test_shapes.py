# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The shapes of kernels as an axis."""

from __future__ import annotations

import pytest

from bankwise.sweep.cases import SweptKernel, named_kernels
from bankwise.sweep.shapes import Level, ShapeAxis, Span


def axis(*names: str) -> ShapeAxis:
    return ShapeAxis.of({name: work for work, name in enumerate(names)})


def test_attentions_are_grouped_by_head_batch_and_sequence():
    found = axis(
        "attention_16x512x128", "attention_2x2048x64", "attention_16x1000x64",
        "attention_2x1024x64", "attention_16x512x64",
    )  # fmt: skip
    assert found.family == "attention"
    assert found.kernels == (
        "attention_2x1024x64", "attention_2x2048x64", "attention_16x512x64",
        "attention_16x1000x64", "attention_16x512x128",
    )  # fmt: skip
    sequence, batch, head = found.levels
    assert [span.label for span in sequence.spans] == ["1k", "2k", "512", "1000", "512"]
    # The batch of 16 comes under both sizes of a head, and is two groups.
    assert batch == Level("batch", (Span("2", 0, 1), Span("16", 2, 3), Span("16", 4, 4)))
    assert head == Level("head size", (Span("64", 0, 3), Span("128", 4, 4)))


def test_matmuls_are_named_by_their_sizes_and_ordered_by_work():
    found = ShapeAxis.of({"matmul_4096x64x64": 9, "matmul_128x128x128": 3})
    assert found.family == "matmul"
    (level,) = found.levels
    assert level.name == "M x N x K, by work"
    assert [span.label for span in level.spans] == ["128x128x128", "4096x64x64"]


@pytest.mark.parametrize(
    "names",
    [("softmax.mlir",), ("attention_1x64",), ("attention_1x64xf16",), ("matmul_axbxc",),
     ("attention_1x64x64", "matmul_8x8x8")],
)  # fmt: skip
def test_other_kernels_keep_their_names(names: tuple[str, ...]):
    found = axis(*names)
    assert found.family == ""
    assert [span.label for span in found.levels[0].spans] == list(names)


def test_a_long_name_keeps_its_end():
    (span,) = axis("folders/" * 5 + "softmax.mlir@main").levels[0].spans
    assert len(span.label) == 28
    assert span.label.startswith("...")
    assert span.label.endswith("/softmax.mlir@main")


@pytest.mark.parametrize("family", ["attention", "matmul"])
def test_the_swept_kernels_are_of_their_family(family: str):
    kernels: list[SweptKernel] = named_kernels(family, ["f16"])
    found = ShapeAxis.of({kernel.name: kernel.work for kernel in kernels})
    assert found.family == family
    assert {*found.kernels} == {kernel.name for kernel in kernels}
