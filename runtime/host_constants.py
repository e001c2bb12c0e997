# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The bytes of a module's constants."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from iree.compiler import ir

from ..dialect_utils.operations import operations_in
from .dtypes import is_integer, packed
from .host_values import Array, HostProgramError, host_dtype, plain_value

_BLOB = re.compile(r'^\s*("(?:[^"\\]|\\.)*"|[\w$.-]+): "0x([0-9A-Fa-f]+)"', re.MULTILINE)


def resource_blobs(module: ir.Operation) -> Mapping[str, bytes]:
    """Returns the `dense_resource` blobs of a module by name, without their alignment.

    The alignment is 4 bytes in front.
    """
    constants = operations_in(module, "util.buffer.constant")
    if not any("dense_resource<" in str(op.attributes["value"]) for op in constants):
        return {}
    text = module.get_asm()
    return {
        match[1].strip('"'): bytes.fromhex(match[2])[4:]
        for match in _BLOB.finditer(text[text.rfind("dialect_resources:") :])
    }


_COMPOSITE_PART = re.compile(
    r'dense_resource<("(?:[^"\\]|\\.)*"|[^>"]+)> : TYPE|dense<.*?> : TYPE'.replace(
        "TYPE", r"[a-z]+<(?:[^<>]|<[^<>]*>)*>"
    ),
    re.DOTALL,
)


def constant_bytes(attribute: ir.Attribute, blobs: Mapping[str, bytes]) -> npt.NDArray[np.uint8]:
    """Returns the bytes of a `util.buffer.constant`."""
    if isinstance(attribute, ir.StringAttr):
        return np.frombuffer(attribute.value_bytes, np.uint8)
    text = str(attribute)
    parts: list[npt.NDArray[np.uint8]] = []
    if text.startswith("#util.composite<"):
        size = int(text[len("#util.composite<") :].split("x", 1)[0])
        elements = [match[0] for match in _COMPOSITE_PART.finditer(text)]
    else:
        size = None
        elements = [text]
    for element in elements:
        if match := re.match(r'dense_resource<("(?:[^"\\]|\\.)*"|[^>"]+)>', element):
            name = match[1].strip('"')
            if name not in blobs:
                raise HostProgramError(f"the module does not hold the constant '{name}'")
            parts.append(np.frombuffer(blobs[name], np.uint8))
        else:
            parts.append(_dense_bytes(ir.Attribute.parse(element, attribute.context)))
    data = np.concatenate(parts) if parts else np.zeros(0, np.uint8)
    if size is not None and size != len(data):
        raise HostProgramError(f"cannot read the constant {text[:60]}")
    return data


def _dense_bytes(attribute: ir.Attribute) -> npt.NDArray[np.uint8]:
    kind = ir.ShapedType(ir.DenseElementsAttr(attribute).type)
    dtype = host_dtype(str(kind.element_type))
    if not isinstance(attribute, ir.DenseElementsAttr):
        raise HostProgramError(f"cannot read the constant {str(attribute)[:60]}")
    if attribute.is_splat:
        array = np.full(kind.shape, plain_value(attribute.get_splat_value()), dtype)
    elif dtype.kind in "iubf":
        array = np.array(attribute, dtype)
    else:
        array = _elements_of_text(str(attribute), kind, dtype)
    return packed(array)


_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|[-+]?[\d.]+(?:[eE][-+]?\d+)?")


def _elements_of_text(text: str, kind: ir.ShapedType, dtype: np.dtype[Any]) -> Array:
    """Reads elements of types that the bindings do not return: bf16, 8-bit floats and i4.

    MLIR prints many elements as one string of bytes, and a float that has no short decimal form as
    its bits.
    """
    body = text[text.index("<") + 1 : text.rindex(":")].rstrip().removesuffix(">")
    if body.startswith('"0x'):
        return np.frombuffer(bytes.fromhex(body[3:-1]), np.uint8).view(dtype).reshape(kind.shape)
    words = _NUMBER.findall(body)
    if len(words) != math.prod(kind.shape) or dtype.kind == "c":
        raise HostProgramError(f"cannot read a constant of type {kind}")
    bits = np.dtype(f"u{dtype.itemsize}")
    array = np.zeros(len(words), dtype)
    for index, word in enumerate(words):
        exact = word.startswith("0x") and not is_integer(dtype)
        array[index] = np.array(int(word, 16), bits).view(dtype) if exact else float(word)
    return array.reshape(kind.shape)
