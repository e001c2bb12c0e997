# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR's element types: their bits, and as NumPy dtypes, those of `ml_dtypes` included."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np
from iree.compiler import ir

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
_INTEGER = re.compile(r"[su]?i(8|16|32|64)$")


class ElementTypeError(ValueError):
    """An element type that has no dtype, or the other way round."""


def dtype_of(element_type: str) -> np.dtype[Any]:
    """The dtype of an MLIR element type such as `bf16`, `i32`, `ui8` or `index`.

    Raises:
        ElementTypeError: it has none, as types that do not fill bytes.
    """
    if element_type in _FLOATS:
        return np.dtype(_FLOATS[element_type])
    if element_type == "i1":
        return np.dtype(np.bool_)
    if element_type == "index":
        return np.dtype(np.int64)
    match = _INTEGER.match(element_type)
    if match is None:
        known = ", ".join([*_FLOATS, "i1", "i8", "i16", "i32", "i64"])
        raise ElementTypeError(f"element type '{element_type}' is none of {known}")
    prefix = "uint" if element_type[0] == "u" else "int"
    return np.dtype(f"{prefix}{match[1]}")


def element_type_of(dtype: np.dtype[Any]) -> str:
    """The signless MLIR element type of a dtype.

    Raises:
        ElementTypeError: there is none.
    """
    for name, kind in _FLOATS.items():
        if dtype == np.dtype(kind):
            return name
    if dtype == np.dtype(np.bool_):
        return "i1"
    if dtype.kind in "iu" and dtype.itemsize in (1, 2, 4, 8):
        return f"i{dtype.itemsize * 8}"
    raise ElementTypeError(f"arrays of {dtype} have no element type")


def element_bits(kind: ir.Type) -> int | None:
    """Bits of a scalar element type (an index has 64, IREE's default); None for other types."""
    if isinstance(kind, ir.IndexType):
        return 64
    if isinstance(kind, ir.IntegerType | ir.FloatType):
        return kind.width
    return None
