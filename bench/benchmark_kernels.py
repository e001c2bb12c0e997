# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that only benchmarks measure, beside the attentions and matmuls of sweeps."""

from __future__ import annotations

from dataclasses import dataclass

from ..sweep.swept_kernels import F64, Mask, Matmul, accumulator_of, product_source
from .program_families.convolutions import NHWC, Windowed


@dataclass(frozen=True)
class PackedMatmul:
    """`linalg.mmt4d` of matrices packed in tiles: [m, k, 16, 16] x [n, k, 16, 16]."""

    m: int
    n: int
    k: int
    dtype: str

    @property
    def name(self) -> str:
        """Returns a name fit for a file."""
        return f"mmt4d_{self.m}x{self.n}x{self.k}_{self.dtype}"

    def source(self) -> str:
        """Returns the kernel as MLIR."""
        tiles = ((self.m, self.k), (self.n, self.k), (self.m, self.n))
        shapes = [(*each, 16, 16) for each in tiles]
        return product_source(self.dtype, shapes, "mmt4d", "linalg.mmt4d")


@dataclass(frozen=True)
class Convolution:
    """A convolution without padding.

    The image is [batch, height, width, channels], the window [window, window, channels, filters].
    """

    batch: int
    height: int
    width: int
    channels: int
    filters: int
    window: int
    dtype: str
    stride: int = 1

    @property
    def name(self) -> str:
        """Returns a name fit for a file."""
        image = f"{self.batch}x{self.height}x{self.width}x{self.channels}"
        window = f"{self.window}x{self.window}x{self.filters}"
        stride = f"_stride{self.stride}" if self.stride > 1 else ""
        return f"conv_{image}_{window}_{self.dtype}{stride}"

    @property
    def _op(self) -> Windowed:
        image = {"n": self.batch, "h": self.height, "w": self.width, "c": self.channels}
        sizes = image | {"y": self.window, "x": self.window, "f": self.filters}
        return Windowed("", "conv_2d_nhwc_hwcf", self.dtype, *NHWC, sizes, self.stride)

    @property
    def accumulator(self) -> str:
        """Returns the type that products are summed in, and that the output has."""
        return accumulator_of(self.dtype)

    @property
    def operands(self) -> tuple[tuple[int, ...], ...]:
        """Returns the shapes of the two inputs."""
        return self._op.operands

    def source(self) -> str:
        """Returns the kernel as MLIR."""
        return self._op.source()

    def product(self, a: F64, b: F64, part: Mask) -> F64:
        """Returns the elements of the output that `part` marks."""
        return self._op.convolved(a, b)[part]


Product = Matmul | Convolution
