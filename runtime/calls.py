# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What callers of a module's functions must know: their names, and the types of their inputs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from .dtypes import bits_of, dtype_of, element_type_of, is_integer, is_unsigned

Array = npt.NDArray[Any]


class InputTypeError(ValueError):
    """An input whose elements cannot be read as the type that a function wants."""


def callable_names(names: Iterable[str]) -> list[str]:
    """Returns the functions of which a caller need not name the only one.

    `iree-run-module` picks the same ones. Names with `__` in front belong to the compiler, and a
    `$` marks a variant of a function: `main$async` is `main` with fences to wait for and to signal.
    """
    return [name for name in names if not name.startswith("__") and "$" not in name]


_PARAMETERS = re.compile(r"@[^(]*\((?P<list>.*?)\)(?: ->|\s*$)")
_TENSOR = re.compile(r"^%\w+: tensor<(?:[\d?]+x)*(?P<type>[^,<>]*(?:<[^>]*>)?)[,>]")


def declared_element_types(declaration: str) -> list[str]:
    """Returns the element types of a function's parameters; empty for one that is no tensor.

    Args:
        declaration: such as `sync func @main(%input0: tensor<4x?xbf16>, %input1: i32) -> i32`.
    """
    match = _PARAMETERS.search(declaration)
    if match is None or not match["list"].strip():
        return []
    tensors = (_TENSOR.match(each.strip()) for each in re.split(r", (?=%)", match["list"]))
    return [tensor["type"] if tensor else "" for tensor in tensors]


def as_element_type(array: Array, wanted: str) -> Array:
    """Reads an array as `wanted` if its own dtype is only a container for that type.

    NumPy's files have no bf16, 8-bit floats, i4 and i2: they hold raw bytes (a void dtype, as
    `np.save` writes arrays of `ml_dtypes`), unsigned integers of the same size, or bytes with a
    narrow integer in each. Any other array is returned as it is.

    Raises:
        InputTypeError: the elements do not fit `wanted`.
    """
    if not wanted:
        if array.dtype.type is np.void:
            raise InputTypeError(
                f"holds {array.dtype.itemsize} bytes an element and does not say of which type; "
                "write --input=1x4xbf16=@file.npy"
            )
        return array
    dtype = dtype_of(wanted)
    if array.dtype == dtype:
        return array
    if bits_of(dtype) < 8 and array.dtype.kind in "iu" and array.dtype.itemsize == 1:
        return _narrowed(array, dtype, wanted)
    same_size = array.dtype.itemsize == dtype.itemsize
    if array.dtype.type is np.void:
        if not same_size:
            raise InputTypeError(
                f"holds {array.dtype.itemsize} bytes an element, where {wanted} is wanted"
            )
        return array.view(dtype)
    if same_size and array.dtype.kind == "u" and dtype.kind == "V" and not is_integer(dtype):
        return array.view(dtype)
    return array


def _narrowed(array: Array, dtype: np.dtype[Any], wanted: str) -> Array:
    """Reads bytes as i4 or i2."""
    width = bits_of(dtype)
    wide = array.astype(np.int16)
    if wide.size and (wide.min() < -(1 << width - 1) or wide.max() >= 1 << width):
        raise InputTypeError(f"has elements that do not fit {wanted}")
    # Both readings of a signless integer, -1 and 15 of an i4, have the same bits.
    signed = ((wide + (1 << width - 1)) % (1 << width)) - (1 << width - 1)
    return (signed if dtype.name.startswith("int") else wide % (1 << width)).astype(dtype)


def type_text(value: Array) -> str:
    """Returns the type of a value in `iree-run-module`'s notation: `4x8xf16`, `4xui8`."""
    sign = "u" if is_unsigned(value.dtype) else ""
    return "x".join([*map(str, value.shape), sign + element_type_of(value.dtype)])
