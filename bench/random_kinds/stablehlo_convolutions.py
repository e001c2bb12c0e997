# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions as frameworks write them: grouped ones, and gradients by the image and the filter.

The dimensions are n of batches, c of channels, f of filters, y and x of the image and of the
output, p and q of the window.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..program_families.program import TOLERANCE, Array, Program, integers, tensor

_LETTERS = {
    "image": {"n": "b", "c": "f", "y": "0", "x": "1"},
    "filter": {"c": "i", "f": "o", "p": "0", "q": "1"},
    "output": {"n": "b", "f": "f", "y": "0", "x": "1"},
}
"""How `stablehlo.convolution` calls the dimensions of its operands."""


@dataclass(frozen=True)
class FrameworkConvolution:
    """A `stablehlo.convolution` of two dimensions.

    Attributes:
        image, filter, output: the shapes by dimension, in the order in which the operands have
            them. Of the image y and x are those without `holes` and margins.
        groups: how many there are; the filter has the channels of one, and the filters of all.
        stride, dilation: of both dimensions.
        holes: how many rows and columns of the image before others are one with elements.
        margins: of both dimensions, before the first and behind the last element.
        reverses: whether the window's elements are multiplied from the last one on.
    """

    dtype: str
    image: dict[str, int]
    filter: dict[str, int]
    output: dict[str, int]
    groups: int = 1
    stride: int = 1
    dilation: int = 1
    holes: int = 1
    margins: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0))
    reverses: bool = False

    def source(self) -> str:
        """Returns the program."""
        total = "i32" if self.dtype == "i8" else "f32"
        a, b = (tensor(self.dtype, *each.values()) for each in (self.image, self.filter))
        c = tensor(total, *self.output.values())
        names = [
            ", ".join(_LETTERS[name][dim] for dim in dims)
            for name, dims in (
                ("image", self.image), ("filter", self.filter), ("output", self.output)
            )
        ]  # fmt: skip
        turned, reversal = "%b", ""
        if self.reverses:
            turned, dims = "%r", [place for place, dim in enumerate(self.filter) if dim in "pq"]
            reversal = f"  %r = stablehlo.reverse %b, dims = {dims} : {b}\n"
        margins = [list(each) for each in self.margins]
        window = (
            f"stride = {[self.stride] * 2}, pad = {margins}, lhs_dilate = {[self.holes] * 2}, "
            f"rhs_dilate = {[self.dilation] * 2}"
        )
        return f"""func.func @main(%a: {a}, %b: {b}) -> {c} {{
{reversal}  %c = stablehlo.convolution(%a, {turned})
      dim_numbers = [{names[0]}]x[{names[1]}]->[{names[2]}], window = {{{window}}}
      {{batch_group_count = 1 : i64, feature_group_count = {self.groups} : i64}}
      : ({a}, {b}) -> {c}
  return %c : {c}
}}
"""

    def program(self, name: str) -> Program:
        """Returns the convolution of small integers, whose sums are exact in all types."""
        shapes = (self.image.values(), self.filter.values())
        inputs = tuple(integers(self.dtype, *shape, low=-4, high=5) for shape in shapes)
        return Program(name, self.source(), inputs, self._convolved, TOLERANCE["exact"])

    def _convolved(self, image: Array, window: Array) -> Array:
        """Returns the output, by NumPy."""
        image = np.einsum(f"{''.join(self.image)}->ncyx", image)
        window = np.einsum(f"{''.join(self.filter)}->fcpq", window)
        if self.reverses:
            window = window[:, :, ::-1, ::-1]
        batch, channels, *extents = image.shape
        spread = np.zeros((batch, channels, *((each - 1) * self.holes + 1 for each in extents)))
        spread[:, :, :: self.holes, :: self.holes] = image
        # Frameworks cut what margins below 0 leave out.
        for axis, (before, after) in enumerate(self.margins, 2):
            sizes = [(0, 0)] * 4
            sizes[axis] = (max(before, 0), max(after, 0))
            spread = np.pad(spread, sizes)
            kept = slice(max(-before, 0), spread.shape[axis] - max(-after, 0))
            spread = spread[(slice(None),) * axis + (kept,)]
        reach = [(size - 1) * self.dilation + 1 for size in window.shape[2:]]
        parts = np.lib.stride_tricks.sliding_window_view(spread, reach, (2, 3))  # pyright: ignore
        parts = parts[:, :, :: self.stride, :: self.stride, :: self.dilation, :: self.dilation]
        split = (self.groups, -1)
        parts = parts.reshape(batch, *split, *parts.shape[2:])
        window = window.reshape(*split, *window.shape[1:])
        found = np.einsum("ngcyxpq,gfcpq->ngfyx", parts, window, optimize=True)
        found = found.reshape(batch, -1, *found.shape[3:])
        return np.einsum(f"nfyx->{''.join(self.output)}", found)


def _ordered(
    random: np.random.Generator, sizes: dict[str, int], orders: tuple[str, ...]
) -> dict[str, int]:
    """Returns sizes in one of some orders; with none, in any order."""
    order = orders[random.integers(len(orders))] if orders else random.permutation([*sizes])
    return {dim: sizes[dim] for dim in order}


def grouped(random: np.random.Generator, name: str) -> Program:
    """Returns a grouped convolution."""
    pick = lambda *of: int(random.choice(of))  # noqa: E731
    window, stride, dilation = (pick(1, 2, 3), pick(1, 3)), pick(1, 1, 2), pick(1, 1, 2)
    groups, channels, filters = pick(2, 3, 4), pick(1, 2, 4, 8, 16), pick(1, 3, 4, 8, 16)
    places = (pick(1, 2, 4, 5), pick(2, 3, 4))
    margins = ((pick(0, 0, 1), pick(0, 0, 1)), (0, pick(0, 0, 1)))
    extents = [
        max((n - 1) * stride + (k - 1) * dilation + 1 - sum(margin), 1)
        for n, k, margin in zip(places, window, margins, strict=True)
    ]
    batch = pick(1, 2)
    outputs = [
        (size + sum(margin) - (k - 1) * dilation - 1) // stride + 1
        for size, k, margin in zip(extents, window, margins, strict=True)
    ]
    image = {"n": batch, "c": groups * channels, "y": extents[0], "x": extents[1]}
    weights = {"f": groups * filters, "c": channels, "p": window[0], "q": window[1]}
    output = {"n": batch, "f": groups * filters, "y": outputs[0], "x": outputs[1]}
    last = random.random() < 0.5
    return FrameworkConvolution(
        ("f16", "f16", "bf16", "f32", "i8")[random.integers(5)],
        _ordered(random, image, ("nyxc",) if last else ("ncyx",)),
        _ordered(random, weights, ("pqcf", "fcpq", "fpqc")),
        _ordered(random, output, ("nyxf",) if last else ("nfyx",)),
        *(groups, stride, dilation, 1, margins),
    ).program(name)


def gradient(random: np.random.Generator, name: str) -> Program:
    """Returns the gradient of a convolution by its image, or sometimes by its filter."""
    pick = lambda *of: int(random.choice(of))  # noqa: E731
    stride, window, batch = pick(1, 1, 2), (pick(1, 2, 3), pick(1, 2, 3)), pick(1, 2)
    channels, filters = pick(1, 3, 4, 8, 16), pick(2, 8, 16, 20)
    outputs = (pick(1, 2, 4, 5), pick(2, 3, 4))
    # Rows that no window of the convolution reached have a gradient of 0.
    sizes = [
        (n - 1) * stride + k + pick(*range(stride)) for n, k in zip(outputs, window, strict=True)
    ]
    dtype = ("f16", "f16", "bf16", "f32")[random.integers(4)]
    last = random.random() < 0.5
    if random.random() < 0.2:
        # Batches are summed over, channels are the batches.
        image = {"n": channels, "c": batch, "y": sizes[0], "x": sizes[1]}
        weights = {"f": filters, "c": batch, "p": outputs[0], "q": outputs[1]}
        output = {"n": channels, "f": filters, "y": window[0], "x": window[1]}
        margins = [
            (0, k + (n - 1) * stride - size)
            for n, k, size in zip(outputs, window, sizes, strict=True)
        ]
        return FrameworkConvolution(
            dtype,
            _ordered(random, image, ("cyxn",) if last else ("cnyx",)),
            _ordered(random, weights, ("cpqf",) if last else ("cfpq",)),
            _ordered(random, output, ("yxnf",) if last else ("fnyx",)),
            *(1, 1, stride, 1, (margins[0], margins[1])),
        ).program(name)
    image = {"n": batch, "c": filters, "y": outputs[0], "x": outputs[1]}
    weights = {"f": channels, "c": filters, "p": window[0], "q": window[1]}
    output = {"n": batch, "f": channels, "y": sizes[0], "x": sizes[1]}
    margins = [
        (k - 1, size - (n - 1) * stride - 1)
        for n, k, size in zip(outputs, window, sizes, strict=True)
    ]
    return FrameworkConvolution(
        dtype,
        _ordered(random, image, ("nyxc",) if last else ("ncyx",)),
        _ordered(random, weights, () if random.random() < 0.5 else ("pqfc", "cfpq", "cpqf")),
        _ordered(random, output, ("nyxf",) if last else ("nfyx",)),
        *(1, 1, 1, stride, (margins[0], margins[1]), random.random() < 0.8),
    ).program(name)
