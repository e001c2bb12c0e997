# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The values that a caller passes to a kernel of an assembly file, as bytes of its argument block.

On a command line a value is `@a.npy` or `16x16xf16=0` (a buffer, which the kernel reads and
writes), `4096:i32` or `1.5:f32` (a number), `null` (a pointer), or `4096:lds` (so many bytes of
dynamic LDS, to which the kernel gets a pointer).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from ..emulator.global_memory import GlobalMemory
from ..emulator.kernel_arguments import LDS_POINTER, POINTER, VALUE
from ..emulator.kernel_metadata import KernelArgument
from .calls import InputTypeError, as_element_type, type_text
from .dtypes import element_type_of, packed
from .values import ValueTextError, parse_values, shortened

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class LdsBytes:
    """Dynamic LDS of this size, to which the kernel gets a pointer."""

    count: int

    def __post_init__(self) -> None:
        if isinstance(self.count, bool) or not isinstance(self.count, Integral):
            raise TypeError(f"LdsBytes has {shown(self.count)}, where a whole number is expected")
        if self.count < 0:
            raise ArgumentError(f"LdsBytes has {self.count}, where numbers start at 0")


Value = Array | np.generic | LdsBytes | None
"""An argument: an array is a buffer, one of rank 0 a number, None is a null pointer."""


class ArgumentError(ValueError):
    """An argument of a kernel or of its launch that does not fit; the message says what would."""


def check_type(name: str, value: object) -> None:
    """Refuses what no argument of a kernel can be.

    Raises:
        TypeError: it is something else than NumPy has, `LdsBytes` and None.
        ArgumentError: it is an array of what no GPU has.
    """
    if value is None or isinstance(value, LdsBytes | bool | int | float):
        return
    if not isinstance(value, np.ndarray | np.generic):
        raise TypeError(
            f"{name} is {shown(value)}; give a NumPy array for a buffer, a NumPy number for a "
            "value, None for a null pointer, or LdsBytes"
        )
    if value.dtype.kind in "OSUMm" or value.dtype.hasobject:
        raise ArgumentError(f"{name} is an array of {value.dtype}, which no kernel takes")
    if value.dtype.byteorder == ">":
        raise ArgumentError(f"{name} has its high bytes first; give {name} in little-endian order")


def shown(value: object) -> str:
    """Returns how an error shows a value: shortened, in one line."""
    return shortened(" ".join(repr(value).split()))


_POINTER_BYTES = {POINTER: 8, LDS_POINTER: 4}
_NUMBER = re.compile(r"([^:=@\s]+):(\w+)$")
_TYPES_OF_SIZE: Mapping[int, Sequence[str]] = {
    1: ("i8",),
    2: ("i16", "f16"),
    4: ("i32", "f32"),
    8: ("i64", "f64"),
}


def parse_argument(text: str) -> Value:
    """Returns the value that one `--arg=` denotes.

    Raises:
        ArgumentError, ValueTextError: the text or its file cannot be read.
    """
    if text == "null":
        return None
    if found := _NUMBER.match(text):
        if found[2] == "lds":
            return LdsBytes(_size(found[1], text))
        (value,) = parse_values(f"{found[2]}={found[1]}")
        return np.asarray(value)
    values = parse_values(text)
    if len(values) != 1:
        raise ArgumentError(f"'{text}' holds {len(values)} arrays, where one is an argument")
    (value,) = values
    if not isinstance(value, np.ndarray):
        raise ArgumentError(f"'{text}' has no type: write {text}:i32 or {text}:f32")
    try:
        return as_element_type(value, "")
    except InputTypeError as error:
        raise ArgumentError(f"'{text}' {error}") from None


def with_element(text: str, element: str, pointer: bool) -> str:
    """Returns what `--arg=` says, with the element type where it names none: `64` becomes `64:i32`.

    Args:
        element: the type that the kernel's source has, as MLIR writes it.
        pointer: whether it points to such elements.
    """
    element = "i8" if element == "i1" else element
    if pointer:
        found = _UNTYPED_SHAPE.fullmatch(text)
        return f"{found[1]}x{element}{found[2] or ''}" if found else text
    return f"{text}:{element}" if _UNTYPED_NUMBER.fullmatch(text) else text


_UNTYPED_SHAPE = re.compile(r"(\d+(?:x\d+)*)(=.*)?", re.DOTALL)
_UNTYPED_NUMBER = re.compile(r"[-+]?[\d.][\w.+-]*|[-+]?(?:inf|nan)")


def check_element(value: Value, element: str) -> None:
    """Refuses a buffer whose elements are of another type than the kernel's source says.

    Raises:
        ArgumentError: the types differ; integers are alike with and without a sign.
    """
    if not isinstance(value, np.ndarray) or value.ndim == 0 or value.dtype.kind == "V":
        return
    given = element_type_of(value.dtype)
    wanted = "i8" if element == "i1" else element
    if given.removeprefix("u") != wanted and not (given == "i1" and wanted == "i8"):
        raise ArgumentError(f"points to {element} in the kernel's source, and {given} is given")


def _size(digits: str, text: str) -> int:
    try:
        return int(digits, 0)
    except ValueError:
        raise ValueTextError(f"'{text}': write a number of bytes, as 4096:lds") from None


def value_bytes(
    argument: KernelArgument, value: Value, memory: GlobalMemory, name: str, lds_offset: int
) -> tuple[bytes, int | None]:
    """Returns the bytes of a value in the argument block, and the address of its buffer.

    A buffer is put into `memory`. The address is None for anything else.

    Args:
        name: what messages call the argument.
        lds_offset: where a pointer into the LDS points.

    Raises:
        ArgumentError: the value does not fit the argument's kind or size.
    """
    if argument.kind in (POINTER, LDS_POINTER) and argument.size < _POINTER_BYTES[argument.kind]:
        raise ArgumentError(
            f"is a pointer of {argument.size} bytes in the metadata, which is wrong"
        )
    if argument.kind == POINTER:
        address = _buffer(value, memory, name)
        return (address or 0).to_bytes(argument.size, "little"), address
    if argument.kind == VALUE:
        return _number(argument, value), None
    if argument.kind == LDS_POINTER:
        if not isinstance(value, LdsBytes):
            raise ArgumentError("is a pointer into the LDS: give it bytes of LDS, as " + _LDS)
        return lds_offset.to_bytes(argument.size, "little"), None
    raise ArgumentError(f"is a '{argument.kind}', which the emulator does not pass")


_ARRAY, _LDS = "@file.npy, 16x16xf16=0 or null", "4096:lds"
_NUMPY = {"i": "int", "f": "float"}


@contextmanager
def in_python() -> Iterator[None]:
    """Lets errors say what a caller from Python writes, where values are no texts."""
    try:
        yield
    except ArgumentError as error:
        text = str(error).replace(_ARRAY, "a NumPy array or None").replace(_LDS, "LdsBytes(4096)")
        written = re.sub(
            r"\bNUMBER:([if])(\d+)", lambda each: f"np.{_NUMPY[each[1]]}{each[2]}(...)", text
        )
        raise ArgumentError(written) from None


def forms_for(argument: KernelArgument) -> str:
    """Returns how a value for an argument is written."""
    if argument.kind == POINTER:
        return _ARRAY
    if argument.kind == LDS_POINTER:
        return _LDS
    types = _TYPES_OF_SIZE.get(argument.size)
    if types:
        return " or ".join(f"NUMBER:{name}" for name in types)
    return f"an array of {argument.size} bytes, as {argument.size}xi8=@file.bin"


def _buffer(value: Value, memory: GlobalMemory, name: str) -> int | None:
    """Puts a buffer into memory and returns its address; None for a null pointer."""
    if value is None:
        memory.name_null(name)
        return None
    if isinstance(value, LdsBytes) or np.ndim(value) == 0:
        raise ArgumentError(
            f"is a pointer to a buffer, and {_value_name(value)} is none: write {_ARRAY}"
        )
    return memory.allocate(packed(np.asarray(value)), name=name)


def _number(argument: KernelArgument, value: Value) -> bytes:
    """Returns the bytes of a number or of a structure that is passed by value."""
    if value is not None and not isinstance(value, LdsBytes):
        contents = packed(np.asarray(value)).tobytes()
        if len(contents) == argument.size:
            return contents
    raise ArgumentError(
        f"takes a value of {argument.size} bytes, not {_value_name(value)}: write "
        f"{forms_for(argument)}"
    )


def _value_name(value: Value) -> str:
    """Returns what messages call a value, with its size where it has one."""
    if value is None:
        return "null"
    if isinstance(value, LdsBytes):
        return f"{value.count}:lds"
    array = np.asarray(value)
    kind = str(array.dtype) if array.dtype.kind == "V" else type_text(array)
    what = "an" if kind[:1] in "aefio8" else "a"
    return f"{what} {kind} of {packed(array).nbytes} bytes"
