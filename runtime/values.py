# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Function inputs and outputs on a command line, in `iree-run-module`'s notation.

`4x8xf16=1.0` (one value for all elements), `2x2xi32=1 2 3 4`, `2x2xi32=[[1 2][3 4]]`,
`4x8xbf16=@data.bin`, `4x8xbf16=@array.npy`, `@array.npy`, and scalars such as `3.14`, `7` or
`i32=7`.
"""

from __future__ import annotations

import io
import math
import os
import re
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..iree_plugin.atomic_file import write_output
from .calls import InputTypeError, as_element_type, type_text
from .dtypes import (
    ElementTypeError,
    bits_of,
    dtype_of,
    element_type_of,
    is_integer,
    packed,
    packed_size,
    unpacked,
)

Array = npt.NDArray[Any]


class ValueTextError(ValueError):
    """A value that cannot be read; the message holds its text."""


_TYPED = re.compile(r"((?:\d+x)*)([a-z]\w*(?:<\w+>)?)(?:=(.*))?$", re.DOTALL)


def parse_values(text: str) -> list[Array | int | float]:
    """Returns the values that one `--input=` denotes: an .npy file may hold several.

    Tensors are arrays, also those of rank 0 from a file; scalars are Python numbers. Elements of a
    file that NumPy has no type for (bf16, 8-bit floats) stay raw bytes, if the text names no type.

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
    dimensions = [d for d in typed[1].split("x") if d]
    if any(len(d) > _MOST_DIGITS for d in dimensions):
        raise ValueTextError(f"'{shortened(text)}' has a dimension that no tensor can have")
    shape = tuple(map(int, dimensions))
    contents = typed[3]
    _check_size(shape, dtype, text)
    try:
        if contents is None:
            return [np.zeros(shape, dtype)]
        if contents.startswith("@") and contents.endswith(".npy"):
            return [_typed_npy(contents[1:], shape, typed[2], text)]
        if contents.startswith("@"):
            return [_load_binary(contents[1:], shape, dtype, text)]
        return [_elements(contents, shape, typed[2], text)]
    except MemoryError:
        raise ValueTextError(f"'{text}' does not fit into this machine's memory") from None


def path_in(text: str) -> str | None:
    """Returns the path of the file that the text of a value names, None if it names none."""
    before, names, path = text.partition("@")
    return path if names and before[-1:] in ("", "=") else None


def _check_size(shape: tuple[int, ...], dtype: np.dtype[Any], text: str) -> None:
    """Refuses tensors that are larger than the memory, which NumPy would start to fill."""
    size = packed_size(math.prod(shape), dtype)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if size > memory:
        raise ValueTextError(
            f"'{shortened(text)}' is a tensor of {size:,} bytes; this machine's memory has "
            f"{memory:,}"
        )
    if len(shape) > _MOST_DIMENSIONS:
        raise ValueTextError(
            f"'{shortened(text)}' has {len(shape)} dimensions; {_MOST_DIMENSIONS} are possible"
        )


_MOST_DIGITS = 30
# A NumPy array has at most this many dimensions.
_MOST_DIMENSIONS = 64


def shortened(text: str) -> str:
    """Returns how an error shows a text that may be long."""
    return text if len(text) <= 60 else f"{text[:57]}..."


def _scalar(text: str) -> int | float:
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise ValueTextError(
            f"'{shortened(text)}' is no value; write a number, 2x3xf16=1.0, 2x2xi32=1 2 3 4 or "
            "@file.npy"
        ) from None


def _elements(contents: str, shape: tuple[int, ...], kind: str, text: str) -> Array:
    """Reads elements in the text; floats beyond their type's range become infinite, as in IREE."""
    words = re.sub(r"[\[\],]", " ", contents).split()
    dtype = dtype_of(kind)
    try:
        if is_integer(dtype):
            values = _integers(words, dtype, kind, text)
        elif dtype.kind == "c":
            values = np.array([complex(word.replace("i", "j")) for word in words], dtype)
        else:
            with np.errstate(over="ignore"):
                values = np.array([float(word) for word in words]).astype(dtype)
    except (ValueError, OverflowError) as error:
        if isinstance(error, ValueTextError):
            raise
        raise ValueTextError(f"'{shortened(text)}' holds an element that is no {kind}") from None
    if len(values) == 1:
        return np.full(shape, values[0], dtype)
    count = math.prod(shape)
    if len(values) != count:
        raise ValueTextError(f"'{shortened(text)}' has {len(values)} elements, its shape {count}")
    return values.reshape(shape)


def _integers(words: Sequence[str], dtype: np.dtype[Any], kind: str, text: str) -> Array:
    """Reads integers that their bits can hold with some sign: 255 is an i8 as well as -1."""
    bits = 1 if dtype == np.bool_ else bits_of(dtype)
    low = 0 if kind.startswith("ui") or bits == 1 else -(1 << bits - 1)
    numbers = [int(w == "true") if w in ("true", "false") else int(w, 0) for w in words]
    for number in numbers:
        if not low <= number < 1 << bits:
            raise ValueTextError(f"'{shortened(text)}' holds {number}, which does not fit {kind}")
    if low < 0:
        numbers = [n - (1 << bits) if n >= 1 << bits - 1 else n for n in numbers]
    return np.array(numbers, np.uint64 if low == 0 and bits == 64 else np.int64).astype(dtype)


def _load_npy(path: str, text: str) -> list[Array]:
    arrays: list[Array] = []
    try:
        with Path(path).open("rb") as file:
            if file.read(4) == b"PK\3\4":
                raise ValueTextError(
                    f"'{text}': '{path}' is an .npz archive; save each array with np.save "
                    "and give one --input=@file.npy for each"
                )
            file.seek(0)
            size = Path(path).stat().st_size
            while file.tell() < size:
                arrays.append(_native(np.lib.format.read_array(file, allow_pickle=False)))
    except OSError as error:
        raise ValueTextError(f"'{text}': cannot read '{path}': {error.strerror}") from None
    except ElementTypeError as error:
        raise ValueTextError(f"'{text}': '{path}': {error}") from None
    except _UNREADABLE as error:
        if isinstance(error, ValueTextError):
            raise
        raise ValueTextError(f"'{text}': '{path}' is no .npy file of numbers") from None
    if not arrays:
        raise ValueTextError(f"'{text}': '{path}' is empty")
    return arrays


# What NumPy raises on files that end early, hold Python objects, or have a broken header.
_UNREADABLE = (
    *(ValueError, EOFError, SyntaxError, TypeError, KeyError, OverflowError, MemoryError),
    tokenize.TokenError,
)


def _native(array: Array) -> Array:
    """Returns the array in this machine's byte order, if its elements can be those of a tensor."""
    if array.dtype.type is not np.void or array.dtype.names is not None:
        element_type_of(array.dtype.newbyteorder("="))
    return np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="))).reshape(array.shape)


def _typed_npy(path: str, shape: tuple[int, ...], kind: str, text: str) -> Array:
    """Reads the only array of a file, whose type the text says."""
    arrays = _load_npy(path, text)
    try:
        array = as_element_type(arrays[0], kind)
    except InputTypeError as error:
        raise ValueTextError(f"'{text}': '{path}' {error}") from None
    if len(arrays) > 1:
        raise ValueTextError(f"'{text}': '{path}' holds {len(arrays)} arrays")
    if array.shape != shape or array.dtype != dtype_of(kind):
        raise ValueTextError(f"'{text}': '{path}' holds {type_text(array)}")
    return array


def _load_binary(path: str, shape: tuple[int, ...], dtype: np.dtype[Any], text: str) -> Array:
    """Reads bytes as they lie on the device, where two i4 share one."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ValueTextError(f"'{text}': cannot read '{path}': {error.strerror}") from None
    size = packed_size(math.prod(shape), dtype)
    if len(data) != size:
        raise ValueTextError(f"'{text}': '{path}' has {len(data)} bytes, the tensor {size}")
    return unpacked(np.frombuffer(data, np.uint8).copy(), dtype, shape)


def value_text(value: Array, max_elements: int) -> str:
    """Writes a value in the same notation, without the elements beyond `max_elements`."""
    flat = value.reshape(-1)
    words = [_word(element) for element in flat[:max_elements]]
    rest = "..." if len(flat) > max_elements else ""
    if value.ndim == 0:
        return words[0]
    return f"{type_text(value)}={' '.join(words)}{rest}"


def _word(element: Any) -> str:
    """Returns one element as text."""
    if is_integer(element.dtype):
        return str(int(element))
    if element.dtype.kind == "c":
        return f"{element.real:g}{element.imag:+g}j"
    return f"{float(element):g}"


def array_path(destination: str) -> str:
    """Returns the path that `@file.npy` or `+file.bin` names; raises ValueTextError if neither."""
    path = destination[1:]
    if destination[:1] not in ("@", "+") or not path.endswith((".npy", ".bin")):
        raise ValueTextError(
            f"--output={destination}: expects @file.npy, @file.bin, +file.npy, +file.bin or -"
        )
    return path


def save_array(destination: str, value: Array) -> None:
    """Writes one output to `@file.npy` or `@file.bin`, or behind what a `+file` holds.

    Types that .npy cannot hold (bf16, 8-bit floats) go into it as unsigned integers of their size,
    i4 and i2 as bytes.

    Raises:
        ValueTextError: the destination is neither.
        OutputError: the file cannot be written.
        OSError: the file to append to cannot be read.
    """
    path = array_path(destination)
    contents = io.BytesIO()
    if destination.startswith("+") and Path(path).exists():
        contents.write(Path(path).read_bytes())
    if path.endswith(".bin"):
        contents.write(packed(value).tobytes())
    else:
        np.save(contents, _for_npy(value))
    write_output(path, contents.getvalue())


def _for_npy(value: Array) -> Array:
    """Returns the value in a dtype that .npy files have."""
    if value.dtype.isbuiltin == 1:
        return value
    if is_integer(value.dtype):
        return value.astype(np.int8 if value.dtype.name.startswith("int") else np.uint8)
    return value.view(f"u{value.dtype.itemsize}")


@dataclass(frozen=True)
class Tolerances:
    """Absolute tolerances by element type, and a relative one for all floats.

    With `exact`, only equal bits are equal.
    """

    absolute: Mapping[str, float]
    relative: float
    exact: bool = False

    def mismatch(self, actual: Array, expected: Array | int | float) -> str:
        """Says how `actual` differs from `expected`; empty if it does not.

        As in `iree-run-module`, floats may differ by absolute + relative * |expected|, NaN equals
        NaN, and integers must be equal.
        """
        wanted = np.asarray(expected)
        if actual.ndim == 0:
            wanted = wanted.astype(actual.dtype)
        try:
            wanted = as_element_type(wanted, element_type_of(actual.dtype))
        except InputTypeError as error:
            return f"is {type_text(actual)}, expected {error}"
        if wanted.shape != actual.shape or wanted.dtype != actual.dtype:
            return f"is {type_text(actual)}, expected is {type_text(wanted)}"
        wrong = self._wrong(actual, wanted)
        if not wrong.any():
            return ""
        where = tuple(np.argwhere(wrong)[0].tolist())
        return (
            f"differs in {int(wrong.sum())} of {wrong.size} elements, first at "
            f"{list(where)}: {_word(actual[where])}, expected {_word(wanted[where])}"
        )

    def _wrong(self, actual: Array, wanted: Array) -> npt.NDArray[np.bool_]:
        if self.exact:
            size = actual.dtype.itemsize
            pairs = (np.ascontiguousarray(x).reshape(-1, 1).view("u1") for x in (actual, wanted))
            left, right = (x.reshape(*actual.shape, size) for x in pairs)
            return (left != right).any(axis=-1)
        if is_integer(actual.dtype):
            return actual != wanted
        wide = np.complex128 if actual.dtype.kind == "c" else np.float64
        a, b = actual.astype(wide), wanted.astype(wide)
        allowed = self.absolute.get(element_type_of(actual.dtype), 0.0)
        with np.errstate(invalid="ignore"):
            close = np.abs(a - b) <= allowed + self.relative * np.abs(b)
        return ~(close | (a == b) | (np.isnan(a) & np.isnan(b)))
