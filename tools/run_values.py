# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Function inputs and outputs on a command line, in `iree-run-module`'s notation.

`4x8xf16=1.0` (one value for all elements), `2x2xi32=1 2 3 4`, `2x2xi32=[[1 2][3 4]]`,
`4x8xbf16=@data.bin`, `@array.npy`, and scalars such as `3.14`, `7` or `i32=7`.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dialect_utils.element_types import ElementTypeError, dtype_of, element_type_of
from ..iree_plugin.atomic_file import write_output

Array = npt.NDArray[Any]


class ValueTextError(ValueError):
    """A value that cannot be read; the message holds its text."""


_TYPED = re.compile(r"((?:\d+x)*)([a-z]\w*)(?:=(.*))?$", re.DOTALL)


def parse_values(text: str) -> list[Array | int | float]:
    """The values that one `--input=` denotes: an .npy file may hold several.

    Tensors are arrays, also those of rank 0 from a file; scalars are Python numbers.

    Raises:
        ValueTextError: the text or its file cannot be read.
    """
    if text.startswith("@"):
        return list(_load_npy(text[1:], text))
    typed = _TYPED.match(text)
    if typed is None or (not typed[1] and typed[3] is None):
        return [_scalar(text)]
    try:
        dtype = dtype_of(typed[2])
    except ElementTypeError as error:
        raise ValueTextError(f"'{text}': {error}") from None
    shape = tuple(int(d) for d in typed[1].split("x") if d)
    contents = typed[3]
    if contents is None:
        return [np.zeros(shape, dtype)]
    if contents.startswith("@"):
        return [_load_binary(contents[1:], shape, dtype, text)]
    return [_elements(contents, shape, dtype, text)]


def _scalar(text: str) -> int | float:
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise ValueTextError(
            f"'{text}' is no value; write a number, 2x3xf16=1.0, 2x2xi32=1 2 3 4 or @file.npy"
        ) from None


def _elements(contents: str, shape: tuple[int, ...], dtype: np.dtype[Any], text: str) -> Array:
    words = re.sub(r"[\[\],]", " ", contents).split()
    try:
        if dtype.kind in "iub":
            numbers = [int(w, 0) if w not in ("true", "false") else int(w == "true") for w in words]
        else:
            numbers = [float(w) for w in words]
        values = np.array(numbers).astype(dtype)
    except (ValueError, OverflowError):
        raise ValueTextError(f"'{text}' holds an element that is no {dtype}") from None
    count = int(np.prod(shape, dtype=np.int64))
    if len(values) == 1:
        return np.full(shape, values[0], dtype)
    if len(values) != count:
        raise ValueTextError(f"'{text}' has {len(values)} elements, its shape {count}")
    return values.reshape(shape)


def _load_npy(path: str, text: str) -> list[Array]:
    arrays: list[Array] = []
    try:
        with Path(path).open("rb") as file:
            size = Path(path).stat().st_size
            while file.tell() < size:
                arrays.append(np.load(file, allow_pickle=False))
    except OSError as error:
        raise ValueTextError(f"'{text}': cannot read '{path}': {error.strerror}") from None
    except ValueError:
        raise ValueTextError(f"'{text}': '{path}' is no .npy file") from None
    if not arrays:
        raise ValueTextError(f"'{text}': '{path}' is empty")
    return arrays


def _load_binary(path: str, shape: tuple[int, ...], dtype: np.dtype[Any], text: str) -> Array:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ValueTextError(f"'{text}': cannot read '{path}': {error.strerror}") from None
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if len(data) != size:
        raise ValueTextError(f"'{text}': '{path}' has {len(data)} bytes, the tensor {size}")
    return np.frombuffer(data, dtype).reshape(shape).copy()


def type_text(value: Array) -> str:
    """The type of a value in the same notation: `4x8xf16`."""
    return "x".join([*map(str, value.shape), element_type_of(value.dtype)])


def value_text(value: Array, max_elements: int) -> str:
    """A value in the same notation, elements beyond `max_elements` elided."""
    flat = value.reshape(-1)
    shown = flat[:max_elements]
    if value.dtype.kind in "iub":
        words = [str(int(x)) for x in shown]
    else:
        words = [f"{float(x):g}" for x in shown]
    rest = "..." if len(flat) > max_elements else ""
    if value.ndim == 0:
        return words[0]
    return f"{type_text(value)}={' '.join(words)}{rest}"


def array_path(destination: str) -> str:
    """The path that `@file.npy` or `@file.bin` names; ValueTextError where it is neither."""
    path = destination[1:]
    if not destination.startswith("@") or not path.endswith((".npy", ".bin")):
        raise ValueTextError(f"--output={destination}: expects @file.npy, @file.bin or -")
    return path


def save_array(destination: str, value: Array) -> None:
    """Writes one output to `@file.npy` or `@file.bin`.

    Types that .npy cannot hold (bf16, 8-bit floats) go into it as unsigned integers of their size.

    Raises:
        ValueTextError: the destination is neither.
        OutputError: the file cannot be written.
    """
    path = array_path(destination)
    contents = io.BytesIO()
    if path.endswith(".bin"):
        contents.write(np.ascontiguousarray(value).tobytes())
    else:
        plain = value if value.dtype.isbuiltin == 1 else value.view(f"u{value.dtype.itemsize}")
        np.save(contents, plain)
    write_output(path, contents.getvalue())


@dataclass(frozen=True)
class Tolerances:
    """Absolute tolerances by element type, and a relative one for all floats."""

    absolute: dict[str, float]
    relative: float

    def mismatch(self, actual: Array, expected: Array | int | float) -> str:
        """How `actual` differs from `expected`, or nothing.

        As `iree-run-module`: |actual - expected| <= absolute + relative * |expected|, NaN equal
        to NaN; integers are equal or not.
        """
        wanted = np.asarray(expected)
        if actual.ndim == 0:
            wanted = wanted.astype(actual.dtype)
        if wanted.dtype != actual.dtype and wanted.dtype == f"u{actual.dtype.itemsize}":
            wanted = wanted.view(actual.dtype)
        if wanted.shape != actual.shape or wanted.dtype != actual.dtype:
            return f"is {type_text(actual)}, expected is {type_text(wanted)}"
        if actual.dtype.kind in "iub":
            wrong = actual != wanted
        else:
            a, b = actual.astype(np.float64), wanted.astype(np.float64)
            allowed = self.absolute.get(element_type_of(actual.dtype), 0.0)
            with np.errstate(invalid="ignore"):
                close = np.abs(a - b) <= allowed + self.relative * np.abs(b)
            wrong = ~(close | (a == b) | (np.isnan(a) & np.isnan(b)))
        if not wrong.any():
            return ""
        where = tuple(np.argwhere(wrong)[0].tolist())
        return (
            f"differs in {int(wrong.sum())} of {wrong.size} elements, first at "
            f"{list(where)}: {float(actual[where]):g}, expected {float(wanted[where]):g}"
        )
