# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions and poolings: both image layouts, grouped, depthwise, strided, dilated, 1-D.

The dimensions of the operands are h and w in the image and the output, y and x in the window;
n is the batch, c the channels, f the filters, g the groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from .program import TOLERANCE, Array, Input, Program, integers, normal, tensor

_SPATIAL = {"h": "y", "w": "x"}


@dataclass(frozen=True)
class Windowed:
    """A named op of linalg that moves a window over an image; the image has no margins.

    Attributes:
        op: the name behind `linalg.`.
        image, window, output: the dimensions of the operands.
        sizes: the extent of every dimension but the output's h and w, which follow.
    """

    name: str
    op: str
    dtype: str
    image: str
    window: str
    output: str
    sizes: Mapping[str, int]
    stride: int = 1
    dilation: int = 1

    @property
    def _is_pooling(self) -> bool:
        return self.op.startswith("pooling")

    @property
    def sum_type(self) -> str:
        """Returns the type of the output."""
        if self._is_pooling:
            return self.dtype
        return "i32" if self.dtype == "i8" else "f32"

    def _extent(self, dim: str) -> int:
        """Returns the output's height or width."""
        reach = (self.sizes[_SPATIAL[dim]] - 1) * self.dilation + 1
        return (self.sizes[dim] - reach) // self.stride + 1

    def _shape(self, dims: str, output: bool = False) -> tuple[int, ...]:
        return tuple(
            self._extent(dim) if output and dim in _SPATIAL else self.sizes[dim]
            for dim in dims.split()
        )

    def program(self) -> Program:
        """Returns the op with its inputs and its reference."""
        exact = self.sum_type == "i32" or self.op.endswith("max")
        return Program(
            name=self.name,
            source=self.source(),
            inputs=self.inputs(),
            reference=self._pooled if self._is_pooling else self.convolved,
            tolerance=TOLERANCE["exact" if exact else self.sum_type],
        )

    @property
    def operands(self) -> tuple[tuple[int, ...], ...]:
        """Returns the shapes of the inputs."""
        dims = [self.image] if self._is_pooling else [self.image, self.window]
        return tuple(map(self._shape, dims))

    def inputs(self) -> tuple[Input, ...]:
        """Returns all values of i8, normal values of other types."""
        if self.dtype == "i8":
            return tuple(integers("i8", *shape, low=-128, high=128) for shape in self.operands)
        return tuple(normal(self.dtype, *shape) for shape in self.operands)

    def source(self) -> str:
        """Returns the op as MLIR."""
        image = tensor(self.dtype, *self._shape(self.image))
        window = tensor(self.dtype, *self._shape(self.window))
        result = tensor(self.sum_type, *self._shape(self.output, output=True))
        arguments, made = f"%image: {image}, %window: {window}", ""
        if self._is_pooling:
            arguments, made = f"%image: {image}", f"  %window = tensor.empty() : {window}\n"
        start = {"max": "0xFF800000", "sum": "0.0"}.get(self.op.rpartition("_")[2], "0.0")
        start = "0" if self.sum_type == "i32" else start
        vector = f"tensor<{sum(dim in _SPATIAL for dim in self.image.split())}xi64>"
        return f"""func.func @conv({arguments}) -> {result} {{
  %start = arith.constant {start} : {self.sum_type}
{made}  %empty = tensor.empty() : {result}
  %init = linalg.fill ins(%start : {self.sum_type}) outs(%empty : {result}) -> {result}
  %out = linalg.{self.op}
      {{dilations = dense<{self.dilation}> : {vector}, strides = dense<{self.stride}> : {vector}}}
      ins(%image, %window : {image}, {window}) outs(%init : {result}) -> {result}
  return %out : {result}
}}
"""

    def _steps(self, image: Array) -> Iterator[tuple[dict[str, int], Array]]:
        """Yields each place in the window with the part of the image that it meets."""
        dims = self.image.split()
        spatial = [dim for dim in dims if dim in _SPATIAL]
        window = [self.sizes[_SPATIAL[dim]] for dim in spatial]
        for place in np.ndindex(*window):
            at = dict(zip(spatial, place, strict=True))
            slices = [
                slice(at[dim] * self.dilation, None, self.stride) if dim in at else slice(None)
                for dim in dims
            ]
            limits = [slice(self._extent(dim)) if dim in at else slice(None) for dim in dims]
            yield {_SPATIAL[dim]: i for dim, i in at.items()}, image[tuple(slices)][tuple(limits)]

    def convolved(self, image: Array, window: Array) -> Array:
        """Returns the output in float64, or exactly."""
        dims = self.window.split()
        rest = "".join(dim for dim in dims if dim not in _SPATIAL.values())
        spec = f"{self.image},{rest}->{self.output}".replace(" ", "")
        total = np.zeros(self._shape(self.output, output=True), np.result_type(image, window))
        for place, part in self._steps(image):
            taps = window[tuple(place.get(dim, slice(None)) for dim in dims)]
            total += np.einsum(spec, part, taps, optimize=True)
        return total

    def _pooled(self, image: Array) -> Array:
        """Returns the maxima or the sums of the windows."""
        parts = np.stack([part for _, part in self._steps(image)])
        return parts.max(axis=0) if self.op.endswith("max") else parts.sum(axis=0)


NCHW = ("n c h w", "f c y x", "n f h w")
NHWC = ("n h w c", "y x c f", "n h w f")


def _image(n: int, side: int, c: int, f: int, window: int) -> dict[str, int]:
    return {"n": n, "h": side, "w": side, "c": c, "f": f, "y": window, "x": window}


def negated(
    op: str, dims: tuple[str, str, str], dtype: str, stride: int, *extents: int, f: int
) -> Program:
    """Returns a convolution with windows of one element, of an image that is negated first.

    Args:
        extents: those of the image.
    """
    image, window, output = dims
    sizes = dict(zip(image.split(), extents, strict=True)) | {"f": f, "x": 1, "y": 1}
    case = Windowed("strided", op, dtype, image, window, output, sizes, stride)
    kind = tensor(dtype, *case.operands[0])
    loops = ", ".join(image.split())
    identity = f"affine_map<({loops}) -> ({loops})>"
    kinds = ", ".join(['"parallel"'] * len(extents))
    made = f"""  %made = tensor.empty() : {kind}
  %negated = linalg.generic {{indexing_maps = [{identity}, {identity}], iterator_types = [{kinds}]}}
      ins(%image : {kind}) outs(%made : {kind}) {{
  ^bb0(%in: {dtype}, %out: {dtype}):
    %0 = arith.negf %in : {dtype}
    linalg.yield %0 : {dtype}
  }} -> {kind}
  %out ="""
    source = case.source().replace("  %out =", made, 1)
    source = source.replace("ins(%image, %window", "ins(%negated, %window")

    def reference(image: Array, window: Array) -> Array:
        return case.convolved(-image, window)

    return replace(case.program(), source=source, reference=reference)


def programs() -> list[Program]:
    """Returns all convolutions and poolings."""
    nchw, nhwc = "conv_2d_nchw_fchw", "conv_2d_nhwc_hwcf"
    depthwise = {"n": 1, "h": 18, "w": 18, "c": 64, "y": 3, "x": 3}
    flat = {"n": 2, "w": 66, "c": 32, "f": 64, "x": 3}
    pooled = {"n": 1, "h": 17, "w": 17, "c": 64, "y": 3, "x": 3}
    ops = [
        Windowed("conv_nchw_strided_f16", nchw, "f16", *NCHW, _image(1, 19, 32, 64, 3), stride=2),
        Windowed("conv_nhwc_f16", nhwc, "f16", *NHWC, _image(1, 18, 32, 64, 3)),
        Windowed("conv_nhwc_bf16_odd", nhwc, "bf16", *NHWC, _image(1, 15, 24, 40, 3)),
        Windowed("conv_nhwc_i8", nhwc, "i8", *NHWC, _image(1, 18, 32, 64, 3)),
        Windowed("conv_nhwc_f32_dilated", nhwc, "f32", *NHWC, _image(1, 20, 16, 32, 3),
                 dilation=2),
        Windowed("conv_nhwc_1x1_f16", nhwc, "f16", *NHWC, _image(1, 16, 64, 128, 1)),
        Windowed("conv_nhwc_depthwise_f32", "depthwise_conv_2d_nhwc_hwc", "f32", "n h w c",
                 "y x c", "n h w c", depthwise),
        Windowed("conv_1d_f16", "conv_1d_nwc_wcf", "f16", "n w c", "x c f", "n w f", flat),
        Windowed("pooling_max_f32", "pooling_nhwc_max", "f32", "n h w c", "y x", "n h w c", pooled,
                 stride=2),
        Windowed("pooling_sum_f32", "pooling_nhwc_sum", "f32", "n h w c", "y x", "n h w c", pooled),
    ]  # fmt: skip
    return [op.program() for op in ops]
