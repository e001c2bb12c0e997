# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`bankwise-spread-images`: neighbouring lanes copy neighbouring elements of images.

IREE lets a lane copy 16 bytes of a row of a tile. Of an image with channels first these are 8
pixels, which begin anywhere in memory, may lie in two rows of the image, or are every second pixel.
Copies of fewer pixels are more indices and stores, but loads of all lanes touch fewer lines of
memory. Of a pointwise convolution of stride 2 a word of 16 bytes has 4 pixels, and lanes copy 4:
with a word of each lane, 32 of them touch 512 bytes that follow each other. On an H200, a
convolution of 8x256x56x56 by 512 filters takes 0.7 to 0.8 times as long so, in f16.

How wide copies are is what the model of times says (`tuning/costs/gathered_copies.py`), which has
counted the same copies when the tile was chosen. Tiles in the LDS are the same.

Runs in TileAndFuse on tiles of a step, on NVIDIA GPUs that the model knows, before IREE chooses how
wide copies are.
"""

from __future__ import annotations

from typing import ClassVar

from iree.compiler import ir

from ...dialect_utils.gpu_target import gpu_features_of
from ...dialect_utils.lowering_config import (
    CONFIG,
    THREAD,
    LoweringConfig,
    derived_threads,
    numbers_attribute,
)
from ...dialect_utils.operations import operations_in
from ...passes.base import FunctionPass, PassContext
from ..costs.processors import processor_of
from ..shapes.enlarged_shapes import gathered

_COPY = "linalg.copy"


class SpreadImages(FunctionPass):
    """Gives copies of images the width that takes the least time."""

    name: ClassVar[str] = "bankwise-spread-images"
    summary: ClassVar[str] = "let neighbouring lanes copy neighbouring elements of images"

    def run(self, function: ir.Operation, context: PassContext) -> None:
        """Says how many elements a lane copies at once; never fails."""
        function = function.operation
        processor = processor_of(gpu_features_of(function, context.test_target).arch)
        if processor is None:
            return
        derived = derived_threads(function.context)
        for copy in operations_in(function, _COPY):
            is_open = CONFIG in copy.attributes and copy.attributes[CONFIG] == derived
            gather = gathered(copy.operands[0]) if is_open else None
            if gather is None:
                continue
            shape = ir.ShapedType(copy.operands[0].type).shape
            width = gather.best(shape[-1], processor).width
            tile = numbers_attribute([1] * (len(shape) - 1) + [width], copy.context)
            copy.attributes[CONFIG] = LoweringConfig({THREAD: tile}).attribute(copy.context)
            elements = "one element" if width == 1 else f"{width} elements"
            context.sink.remark(copy.location, f"a lane copies {elements} of an image at once")
