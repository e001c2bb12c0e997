# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR's element types as NumPy dtypes, those of `ml_dtypes` included."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

_FLOATS: Mapping[str, type[Any]] = MappingProxyType(
    {
        "f16": np.float16,
        "f32": np.float32,
        "f64": np.float64,
        "bf16": ml_dtypes.bfloat16,
        "f8E4M3FN": ml_dtypes.float8_e4m3fn,
        "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
        "f8E5M2": ml_dtypes.float8_e5m2,
        "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    }
)
_COMPLEX: Mapping[str, type[Any]] = MappingProxyType(
    {"complex<f32>": np.complex64, "complex<f64>": np.complex128}
)
_NARROW: Mapping[str, type[Any]] = MappingProxyType(
    {"i4": ml_dtypes.int4, "ui4": ml_dtypes.uint4, "i2": ml_dtypes.int2, "ui2": ml_dtypes.uint2}
)
_INTEGER = re.compile(r"[su]?i(8|16|32|64)$")


class ElementTypeError(ValueError):
    """An element type that has no dtype, or the other way round."""


def dtype_of(element_type: str) -> np.dtype[Any]:
    """Returns the dtype of an MLIR element type such as `bf16`, `i32`, `ui8` or `index`.

    Raises:
        ElementTypeError: it has none.
    """
    if element_type in _COMPLEX:
        return np.dtype(_COMPLEX[element_type])
    if element_type.removeprefix("s") in _NARROW:
        return np.dtype(_NARROW[element_type.removeprefix("s")])
    if element_type in _FLOATS:
        return np.dtype(_FLOATS[element_type])
    if element_type == "i1":
        return np.dtype(np.bool_)
    if element_type == "index":
        return np.dtype(np.int64)
    match = _INTEGER.match(element_type)
    if match is None:
        known = ", ".join([*_FLOATS, *_COMPLEX, "i1", "i2", "i4", "i8", "i16", "i32", "i64"])
        raise ElementTypeError(f"element type '{element_type}' is none of {known}")
    prefix = "uint" if element_type[0] == "u" else "int"
    return np.dtype(f"{prefix}{match[1]}")


def element_type_of(dtype: np.dtype[Any]) -> str:
    """Returns the signless MLIR element type of a dtype.

    Raises:
        ElementTypeError: there is none.
    """
    for name, kind in [*_FLOATS.items(), *_COMPLEX.items(), *_NARROW.items()]:
        if dtype == np.dtype(kind):
            return name.removeprefix("u")
    if dtype == np.dtype(np.bool_):
        return "i1"
    if dtype.kind in "iu" and dtype.itemsize in (1, 2, 4, 8):
        return f"i{dtype.itemsize * 8}"
    raise ElementTypeError(f"arrays of {dtype} have no element type")


def bits_of(dtype: np.dtype[Any]) -> int:
    """Returns bits that an element takes on the device."""
    for name, kind in _NARROW.items():
        if dtype == np.dtype(kind):
            return int(name[-1])
    return 8 * dtype.itemsize


def is_integer(dtype: np.dtype[Any]) -> bool:
    """Returns whether elements are integers or truth values, those of `ml_dtypes` among them."""
    return dtype.kind in "iub" or bits_of(dtype) < 8


def is_unsigned(dtype: np.dtype[Any]) -> bool:
    """Returns whether elements are integers without a sign, those of `ml_dtypes` among them."""
    return dtype.kind == "u" or dtype.name.startswith("uint")


def packed_size(count: int, dtype: np.dtype[Any]) -> int:
    """Returns bytes that `count` elements take on the device."""
    return -(-count * bits_of(dtype) // 8)


def packed(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Returns the bytes of an array as IREE's ABI gives them to a device.

    An array of i4 has a byte for each element; on the device two elements lie in one byte, the
    first in its low half, and of i2 four. Zeros fill up the last byte. An i1 has a byte of its own
    in both forms.
    """
    flat = np.ascontiguousarray(array).reshape(-1)
    width = bits_of(array.dtype)
    if width >= 8:
        return flat.view(np.uint8)
    count = 8 // width
    codes = np.zeros(-(-len(flat) // count) * count, np.uint8)
    codes[: len(flat)] = flat.astype(np.int8).view(np.uint8) & ((1 << width) - 1)
    shifts = np.arange(count, dtype=np.uint8) * np.uint8(width)
    return np.bitwise_or.reduce(codes.reshape(-1, count) << shifts, axis=1).astype(np.uint8)


def unpacked(
    data: npt.NDArray[np.uint8], dtype: np.dtype[Any], shape: tuple[int, ...]
) -> npt.NDArray[Any]:
    """Returns the array whose bytes on the device are `data`, as `packed` gives them."""
    width = bits_of(dtype)
    if width >= 8:
        return data.view(dtype).reshape(shape)
    shifts = np.arange(8 // width, dtype=np.uint8) * np.uint8(width)
    codes = (data[:, None] >> shifts).reshape(-1)[: int(np.prod(shape, dtype=np.int64))]
    # Up to the top of a byte and back, which extends the sign.
    up = np.uint8(8 - width)
    signed = (codes << up).astype(np.uint8).view(np.int8) >> up.view(np.int8)
    values = signed if np.dtype(dtype).name.startswith("int") else codes & ((1 << width) - 1)
    return values.astype(dtype).reshape(shape)
